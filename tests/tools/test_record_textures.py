# SPDX-License-Identifier: MIT
"""The recording of textures: its cases run on the emulator, and a recording that differs in a bit is noticed."""

import numpy as np
import pytest

from tools.record_textures import compared, emulated, main, stored
from tools.recordings import save_arrays
from tools.texture_cases import KERNELS, cases
from wmma_emu import ptx
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.textures.facts import FACTS

NAMES = ("nearest texel of 7", "border of 5 texels, linear", "gather0_u, clamp", "stores, zero")


@pytest.fixture(scope="module")
def module():
    return ptx.Module(KERNELS.read_text(), "sm_90", findings="raise")


def test_every_case_has_its_own_name_and_settles_a_fact():
    found = list(cases())
    assert len({x.name for x in found}) == len(found)
    assert {x.fact for x in found} == set(FACTS)


def test_a_case_runs_on_the_emulator_without_a_finding(module):
    for case in cases():
        if case.name in NAMES:
            results = emulated(module, case)
            assert results.any() and len(results) == (case.count if case.kind == "texture" else len(case.array))


@pytest.mark.slow
def test_all_cases_run_on_the_emulator(module):
    for case in cases():
        if case.fact == "formatted" and case.array.dtype == np.float16:
            with pytest.raises(UnsupportedInstructionError, match="formatted stores"):
                emulated(module, case)
        else:
            emulated(module, case)


def test_a_recording_that_differs_in_one_bit_is_noticed(module, tmp_path, monkeypatch, capsys):
    chosen = [x for x in cases() if x.name in NAMES]
    monkeypatch.setattr("tools.record_textures.cases", lambda: iter(chosen))
    results = {x.name: emulated(module, x) for x in chosen}
    assert compared(stored(results)) == 0
    results[NAMES[0]] = results[NAMES[0]].copy()
    results[NAMES[0]][5, 0] ^= 1
    save_arrays(tmp_path / "textures.npz", stored(results), gpu="none")
    capsys.readouterr()
    assert main([str(tmp_path / "textures.npz"), "--check"]) == 1
    said = capsys.readouterr().out
    assert f"{NAMES[0]}: 1 of {chosen[0].count} stored results differ: [5, 0]" in said
    assert "nearest                 0      1                    0" in said


def test_the_structures_of_the_driver_have_the_sizes_of_its_header():
    from tools.cuda_textures import SIZES

    assert sorted(SIZES.values()) == [40, 104, 144, 200]


def test_coordinates_of_points_are_below_and_above_an_edge():
    (case,) = (x for x in cases() if x.name == "nearest texel of 4")
    x = case.x.view(np.float32)
    assert {float(np.nextafter(np.float32(2), np.float32(y))) for y in (0, 3)} <= set(x.tolist())
