# SPDX-License-Identifier: MIT
"""Every atomic operation, type and space, compared with the memory and return values of a GPU."""

from functools import cache
from pathlib import Path

import pytest

from tools.ptx_atomic_cases import atomic_cases
from tools.ptx_text_recording import emulated, load, samples
from tools.recordings import digest
from wmma_emu.ptx.steps.atomic_table import TYPES

RECORDING = Path(__file__).parents[2] / "data" / "sm90_ptx_atomics.npz"
GROUPS = 4


@cache
def cases():
    return list(atomic_cases())


@cache
def recording():
    return load(RECORDING, cases())


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.vectors
@pytest.mark.parametrize("group", range(GROUPS))
def test_atomics_match_the_memory_and_return_values_of_the_gpu(group):
    for case in cases()[group::GROUPS]:
        number, stored = recording()[case.rows[0]]
        (results,) = emulated(case)
        assert samples(results).tobytes() == stored, case.rows
        assert digest(results) == number, case.rows


def test_every_operation_and_type_is_recorded_in_every_space():
    rows = {name.replace(".noftz", "") for name in recording()}
    for name, kinds in TYPES.items():
        for kind in kinds:
            for mnemonic in ("atom", "red") if name not in ("exch", "cas") else ("atom",):
                wanted = {f"{mnemonic}.{space}.{name}.{kind}" for space in ("global", "shared")}
                wanted |= {f"{mnemonic}.{name}.{kind} generic to {space}" for space in ("global", "shared")}
                assert wanted <= rows


def test_spaces_differ_exactly_as_in_the_table():
    digests = {name: number for name, (number, _) in recording().items()}
    differ = {name for name in digests if ".global." in name and " by " not in name and ".v" not in name}
    differ = {x for x in differ if digests[x] != digests[x.replace(".global.", ".shared.")]}
    assert differ == {f"{x}.global.add.{kind}" for x in ("atom", "red") for kind in ("f32", "f64")}
    for name, number in digests.items():
        plain, _, space = name.partition(" generic to ")
        if space and ".v" not in plain:
            assert number == digests[plain.replace(".", f".{space}.", 1)]
