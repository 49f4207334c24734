# SPDX-License-Identifier: MIT
"""Recording every instruction: what is drawn, what is kept, and that the file gives it back."""

import numpy as np
import pytest

import wmma_emu as we
from tools import record_instructions
from tools.record_instructions import case_of, differing, digest, emulate, generators_recorded, keeps_a_tile, load, main
from wmma_emu.testing import generators

SPARSE = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def test_a_digest_is_the_same_for_equal_bits_only():
    words = np.arange(8, dtype=np.uint32)
    assert digest(words) == digest(words.astype(">u4")) == digest(words[::-1][::-1])
    assert digest(words) != digest(words + 1)


def test_every_input_generator_is_recorded_except_most_n_of_wgmma():
    small, odd = (we.INSTRUCTIONS[f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"] for n in (8, 40))
    assert generators_recorded(small) == generators.generators_of(small)
    assert len(generators_recorded(odd)) == 3
    taken = {
        name
        for n in range(8, 257, 8)
        for name in generators_recorded(we.INSTRUCTIONS[f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"])
    }
    assert taken == set(generators.generators_of(small))


def test_selectors_and_options_take_turns():
    sparse = we.instruction(SPARSE)
    names = generators_recorded(sparse.instruction)
    assert {case_of(sparse, name, 1).keywords["selector"] for name in names} == {0, 1, 2, 3}
    group = we.instruction("wgmma.m64n8k16.f32.f16.f16")
    options = [case_of(group, name, 1).keywords for name in generators_recorded(group.instruction)]
    for name in ("scale_d", "negate_a", "negate_b"):
        assert {int(x[name]) for x in options} == {0, 1}


@pytest.mark.thorough
def test_a_recording_is_read_back_and_equals_the_emulator(tmp_path):
    path = tmp_path / "recording.npz"
    assert main(["--emulate", "--only", "mma.sp.*m16n8k16.*f32.f16|m8n8k4.row.col.f32.f16", "--out", str(path)]) == 0
    digests, tiles, about = load(path)
    rows = [we.INSTRUCTIONS[x] for x in digests]
    assert SPARSE in digests and any(row.products == 4 for row in rows)
    assert sorted(tiles) == sorted(row.mnemonic for row in rows if keeps_a_tile(row))
    for row in rows:
        assert list(differing(row, "sm_90", about["seed"], digests[row.mnemonic], emulate)) == []
        wrong = {name: found + np.uint64(1) for name, found in digests[row.mnemonic].items()}
        assert list(differing(row, "sm_90", about["seed"], wrong, emulate)) == list(wrong)


def test_another_version_of_the_inputs_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "recording.npz"
    main(["--emulate", "--only", "m8n8k16.row.col.s32.s8.s8.s32$", "--out", str(path)])
    monkeypatch.setattr(record_instructions.generators, "VERSION", 99)
    with pytest.raises(ValueError, match="families version 1, this is 99"):
        load(path)
