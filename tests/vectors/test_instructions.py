# SPDX-License-Identifier: MIT
"""Every matrix instruction of a Hopper GPU, slowly every input generator: D equals the recording, by digest."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tools.record_instructions import case_of, differing, emulate, keeps_a_tile, load
from wmma_emu.instructions import instructions_of

FILE = Path(__file__).parents[1] / "data" / "sm90_instructions.npz"
PARTS = 48

pytestmark = pytest.mark.vectors


@cache
def recording():
    return load(FILE)


def test_the_recording_holds_every_instruction_of_the_chip():
    digests, tiles, _ = recording()
    rows = instructions_of("sm_90")
    assert sorted(digests) == sorted(row.mnemonic for row in rows)
    assert sorted(tiles) == sorted(row.mnemonic for row in rows if keeps_a_tile(row))


def differences(part, every):
    """Input generators with other registers than the recorded ones; one of ``every``, of the next entry the next."""
    digests, _, about = recording()
    return [
        (row.mnemonic, generator)
        for i, row in enumerate(instructions_of("sm_90")[part::PARTS])
        for generator in differing(
            row, "sm_90", about["seed"], dict(list(digests[row.mnemonic].items())[i % every :: every]), emulate
        )
    ]


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("part", range(PARTS))
def test_registers_equal_those_that_the_gpu_returned(part):
    assert differences(part, every=2) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_registers_of_every_input_generator_equal_those_that_the_gpu_returned(part):
    assert differences(part, every=1) == []


@pytest.mark.parametrize("kind", ["mma.sp", "mma.sp::ordered_metadata", "wgmma", "wgmma.sp"])
def test_whole_tiles_equal_those_that_the_gpu_returned(kind):
    """What the digests say, bit by bit, so that a difference can be seen."""
    digests, tiles, about = recording()
    rows = [row for row in instructions_of("sm_90") if row.family == kind and keeps_a_tile(row)]
    assert rows
    for row in rows:
        ins = we.instruction(row.mnemonic, arch="sm_90")
        for generator, tile in list(zip(digests[row.mnemonic], tiles[row.mnemonic], strict=True))[::5]:
            case = case_of(ins, generator, about["seed"])
            d = emulate(ins, *case.operands, **case.keywords)[:, 0, 0]
            np.testing.assert_array_equal(d, tile, err_msg=f"{row.mnemonic} {generator}")
