# SPDX-License-Identifier: MIT
"""Cases for probing conversions and moves of matrices on a GPU: complete, well formed, the same on every machine."""

import hashlib

import numpy as np
import pytest

from tools.cvt_probe_cases import cvt_cases, inputs_of_type, prmt_cases
from tools.matrix_move_probe_cases import SHARED_BYTES, matrix_move_cases
from wmma_emu.scalar.cvt import cvt
from wmma_emu.scalar.cvt_table import CVT_FORMS, CVT_TYPES
from wmma_emu.warp.ldmatrix import ldmatrix
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES


@pytest.mark.parametrize(("chip", "count"), [("sm_75", 706), ("sm_90", 840), ("sm_100", 921)])
def test_every_conversion_of_a_chip_is_probed_once(chip, count):
    names = [case.mnemonic for case in cvt_cases(chip)]
    assert len(names) == len(set(names)) == count
    assert set(names) == {x.mnemonic for x in CVT_FORMS.values() if chip in x.archs and x.rounding != "rs"} - {
        f"cvt.{x}{y}.bf16" for x in ("rni.", "rzi.", "rmi.", "rpi.") for y in ("s8", "u8")
    } - {f"cvt.{x}.bf16.{y}" for x in ("rn", "rz", "rm", "rp") for y in ("s8", "u8")}


def test_inputs_are_of_the_width_that_the_instruction_takes():
    for case in cvt_cases("sm_90"):
        row = CVT_TYPES[case.mnemonic.split(".")[-1]]
        assert {x.itemsize * 8 for x in case.inputs.values()} == {row.bits}
        assert len({len(x) for x in case.inputs.values()}) == 1
        few = [x[:8] for x in case.inputs.values()]
        assert cvt(few[0], case.mnemonic, *few[1:]).itemsize * 8 == case.result_bits


def test_lines_name_each_register_once_in_its_order():
    lines = {case.mnemonic: case.line for case in cvt_cases("sm_90")}
    assert lines["cvt.rn.f16.f32"] == "cvt.rn.f16.f32 %d, %a;"
    assert lines["cvt.rn.relu.bf16x2.f32"] == "cvt.rn.relu.bf16x2.f32 %d, %a, %b;"
    assert [case.line for case in prmt_cases()][:2] == ["prmt.b32 %d, %a, %b, %c;", "prmt.b32.f4e %d, %a, %b, %c;"]


@pytest.mark.parametrize(
    ("name", "count", "digest"),
    [
        ("f32", 49850, "078ad93f706c8dab"),
        ("f64", 64624, "aa91c4794f8eb858"),
        ("u32", 4452, "aa79775918f70f3a"),
        ("s64", 5412, "606d6058349dab40"),
        ("f16x2", 65536, "467d4bbbf8e8bb24"),
    ],
)
def test_inputs_stay_the_same(name, count, digest):
    inputs = inputs_of_type(name)
    assert (len(inputs), hashlib.sha256(inputs.tobytes()).hexdigest()[:16]) == (count, digest)


def test_wide_inputs_hold_edges_and_a_random_part():
    floats = set(inputs_of_type("f32").tolist())
    assert {0x7F800000, 0xFF800001, 0x7FFFFFFF, 1, 0x80000000, 0x807FFFFF, 0x43E80000, 0x477FF000} <= floats
    assert {0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x01000001} <= set(inputs_of_type("s32").tolist())
    assert {0x380FFFFFF0000000, 0x380FFFFFE0000000} <= set(inputs_of_type("f64").tolist())


def test_selectors_of_prmt_are_all_there():
    case = next(prmt_cases())
    assert (np.unique(case.inputs["c"] & np.uint32(0xFFFF)) == np.arange(1 << 16)).all()


def test_moves_have_valid_addresses_and_distinct_rows():
    cases = list(matrix_move_cases("sm_90"))
    assert [case.move.mnemonic for case in cases] == [x for x, row in MATRIX_MOVES.items() if "sm_90" in row.archs]
    for case in cases:
        assert case.shared.shape == (SHARED_BYTES,) and len(set(case.addresses.tolist())) == 32
        assert case.registers.shape == (case.move.num_registers, 32)
        assert case.line.startswith(case.move.mnemonic)
        if case.move.family == "ldmatrix":
            assert len(np.unique(ldmatrix(case.shared, case.addresses, case.move.mnemonic))) > 31
