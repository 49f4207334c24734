# SPDX-License-Identifier: MIT
"""The rules of native lane operations: the operands of an instruction, its name, and the lanes that it writes."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.ptx.native.operations.native_rows import case_of, compiled, native_results
from wmma_emu.llvm.values import NotTraceableError
from wmma_emu.ptx.native.operations import row_of
from wmma_emu.ptx.native.operations.code import Slot, define
from wmma_emu.ptx.native.rows import NotNativeError
from wmma_emu.ptx.program.program import (
    Immediate,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)

D, A, B, C = (Register(i, f"%r{i}", "b32") for i in range(4))
P, Q, S = (Register(i, f"%p{i}", "pred") for i in range(3))
EVERY = 0xFFFF_FFFF
LANES = np.arange(32, dtype=np.uint32)


def case(opcode, *operands):
    mnemonic, *modifiers = opcode.split(".")
    return case_of(PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, 1, 1))


def results(found, *sources, mask=EVERY):
    return native_results(found, compiled([found])[0], sources, mask)


def test_lanes_outside_of_the_mask_are_not_written():
    add, less = case("add.u32", D, A, B), case("setp.lt.u32", P, *(Register(i, "%r", "b32") for i in (1, 2)))
    (total,) = results(add, LANES, LANES, mask=0x8000_0005)
    assert total.tolist() == [0, EVERY, 4, *[EVERY] * 28, 62]
    (found,) = results(less, LANES, LANES, mask=0x8000_0005)
    assert found.tolist() == [False, True, False, *[True] * 28, False]


def test_a_register_may_be_source_and_destination():
    (total,) = results(case("add.u32", D, D, A), LANES, LANES + 1)
    assert total.tolist() == (2 * LANES + 1).tolist()


def test_constants_are_in_the_record_and_equal_code_has_one_name():
    two, seven = case("add.s32", D, A, Immediate("int", -2)), case("add.s32", D, A, Immediate("int", 7))
    assert two.row.name == seven.row.name == case("add.s32", D, A, B).row.name
    assert results(two, LANES, LANES)[0].tolist() == ((LANES - np.uint32(2)).tolist())


def test_the_table_of_lop3_and_a_constant_selector_are_in_the_code():
    names = {case("lop3.b32", D, A, B, C, Immediate("int", table)).row.name for table in (0x80, 0xFE)}
    names |= {case("prmt.b32", D, A, B, x).row.name for x in (Immediate("int", 0x5410), C)}
    assert len(names) == 4


def test_a_predicate_may_be_negated():
    chosen = case("selp.b32", D, A, B, Predicate(Register(3, "%p", "pred"), negated=True))
    (found,) = results(chosen, LANES, LANES + 100, LANES % 2 == 0)
    assert found.tolist() == [x + 100 if x % 2 == 0 else x for x in range(32)]


def test_a_sink_is_not_written():
    both = case("setp.lt.u32", PairOperand(None, P), *(Register(i, "%r", "b32") for i in (1, 2)))
    (opposite,) = results(both, LANES, np.full(32, 7, np.uint32))
    assert opposite.tolist() == [x >= 7 for x in range(32)]
    high = case("mov.b64", VectorOperand((None, D)), Register(1, "%d", "b64"))
    assert results(high, LANES.astype(np.uint64) << np.uint64(32))[0].tolist() == LANES.tolist()


def test_the_carry_flag_is_a_source_and_a_destination():
    total, carry = results(case("addc.cc.u32", D, A, B), LANES, np.full(32, EVERY, np.uint32), LANES % 2 == 1)
    assert total[:4].tolist() == [EVERY, 1, 1, 3]
    assert carry[:4].tolist() == [False, True, True, True]


def test_cvt_reads_and_writes_wider_registers():
    (found,) = results(case("cvt.s8.s32", D, A), np.full(32, 0x1FE, np.uint32))
    assert found.tolist() == [0xFFFF_FFFE] * 32
    (found,) = results(case("cvt.u32.u8", D, A), np.full(32, 0x1FE, np.uint32))
    assert found.tolist() == [0xFE] * 32


def test_special_registers_and_addresses_are_values_that_the_machine_writes():
    lane = case("mov.u32", D, SpecialRegister("laneid"))
    address = case("mov.u64", Register(0, "%d", "b64"), Symbol("shared", 16, "x", 4))
    assert lane.row.record == (lane.layout.offset_of(D), lane.layout.specials["laneid", 32])
    assert address.row.record[1] in address.layout.symbols.values()


def test_other_instructions_have_no_row_here():
    load = PtxInstruction("ld.global.u32", "ld", ("global", "u32"), (), None, 1, 1)
    assert row_of(load, case("add.u32", D, A, B).layout, None) is None


def test_a_function_that_branches_on_data_has_no_native_code():
    from llvmlite import ir

    with pytest.raises(NotNativeError, match="odd: a branch depends on the elements") as raised:
        define(ir.Module(), "odd", lambda a: a if a[0] == 1 else a + a, (Slot(32, 32),), (Slot(32, 32),))
    assert isinstance(raised.value.__cause__, NotTraceableError)


def test_shifts_by_the_width_and_more_are_defined():
    amounts = np.resize(np.array([0, 31, 32, 33, EVERY], np.uint32), 32)
    ones = np.full(32, 0x8000_0001, np.uint32)
    assert results(case("shl.b32", D, A, B), ones, amounts)[0][:5].tolist() == [0x8000_0001, 0x8000_0000, 0, 0, 0]
    assert results(case("shr.s32", D, A, B), ones, amounts)[0][:5].tolist() == [0x8000_0001, *[EVERY] * 4]


def test_division_by_zero_and_of_the_least_number_do_not_trap():
    a, b = (np.resize(np.array(x, np.uint32), 32) for x in ([7, 1 << 31], [0, EVERY]))
    assert results(case("div.s32", D, A, B), a, b)[0][:2].tolist() == [EVERY, 1 << 31]


def test_nan_results_are_canonical():
    nan, one = np.full(32, 0xFF80_0001, np.uint32), np.full(32, 0x3F80_0000, np.uint32)
    assert results(case("fma.rn.f32", D, A, B, C), nan, one, one)[0][0] == 0x7FFF_FFFF
