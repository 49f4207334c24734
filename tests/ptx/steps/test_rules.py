# SPDX-License-Identifier: MIT
"""The semantics of PTX instructions, one rule for each test, with bits from the PTX ISA or an H200's recordings."""

import numpy as np
import pytest

from tests.ptx.steps.by_hand import ByHand
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import Immediate, PtxInstruction, Register
from wmma_emu.ptx.steps.availability import first_chip_of
from wmma_emu.ptx.steps.lane_operand_rules import require_legal_operation
from wmma_emu.ptx.steps.patterns import unsigned_of
from wmma_emu.ptx.steps.spelling import ordered
from wmma_emu.ptx.steps.values import VALUE_STEPS

WORD = Register(0, "%r1", "b32")


def operation_of(opcode, *operands):
    mnemonic, *modifiers = opcode.split(".")
    instruction = PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, 1, 1)
    return instruction, VALUE_STEPS[mnemonic](instruction)


def compute(opcode, *values):
    """Return the result of a lane operation for one thread, as an integer."""
    _, found = operation_of(opcode, *[WORD] * (len(values) + 1))
    words = [np.full((1, 1, 1), x, unsigned_of(kind)) for x, kind in zip(values, found.sources, strict=True)]
    return int(found.compute(*words).flat[0])


def test_integer_sums_wrap_unless_they_saturate():
    assert compute("add.s32", 0x7FFFFFFF, 1) == 0x80000000
    assert compute("add.sat.s32", 0x7FFFFFFF, 1) == 0x7FFFFFFF


def test_a_shift_by_the_width_or_more_shifts_everything_out():
    assert compute("shl.b32", 1, 32) == 0
    assert compute("shr.u32", 0xFFFFFFFF, 40) == 0
    assert compute("shr.s32", 0x80000000, 40) == 0xFFFFFFFF


def test_integer_division_rounds_toward_zero_and_by_zero_gives_all_ones():
    assert compute("div.s32", -7 & 0xFFFFFFFF, 2) == -3 & 0xFFFFFFFF
    assert compute("div.u32", 7, 0) == 0xFFFFFFFF


def test_a_fused_multiply_add_rounds_once():
    x, minus_one = 0x3F800002, 0xBF800000  # (1 + 2**-22)**2 - 1 = 2**-21 + 2**-44
    assert compute("fma.rn.f32", x, x, minus_one) == 0x35000001
    assert compute("add.rn.f32", compute("mul.rn.f32", x, x), minus_one) == 0x35000000


def test_the_rounding_modifier_selects_the_direction():
    one, tiny = 0x3F800000, 0x2F800000  # 1 + 2**-32
    assert [compute(f"add.{x}.f32", one, tiny) for x in ("rn", "rz", "rm", "rp")] == [one, one, one, one + 1]


def test_ftz_replaces_subnormal_numbers_by_zeros_of_their_sign():
    assert compute("add.f32", 0x80000001, 0x80000000) == 0x80000001
    assert compute("add.ftz.f32", 0x80000001, 0x80000000) == 0x80000000


def test_a_float_nan_becomes_the_canonical_one_and_a_move_keeps_its_bits():
    assert compute("add.f32", 0xFF812345, 0) == 0x7FFFFFFF
    assert compute("mov.f32", 0xFF812345) == 0xFF812345


def test_min_and_max_order_zeros_and_prefer_numbers_to_nan():
    assert compute("min.f32", 0x00000000, 0x80000000) == 0x80000000
    assert compute("max.f32", 0x7FC00000, 0x3F800000) == 0x3F800000
    assert compute("max.NaN.f32", 0x7FC00000, 0x3F800000) == 0x7FFFFFFF


def test_lop3_looks_each_bit_up_in_its_table():
    _, found = operation_of("lop3.b32", WORD, WORD, WORD, WORD, Immediate("int", 0x80))  # a & b & c
    words = [np.full((1, 1, 1), x, np.uint32) for x in (0xFF, 0x3C, 0x18, 0x80)]
    assert int(found.compute(*words).flat[0]) == 0x18


def test_a_conversion_to_an_integer_rounds_and_saturates():
    assert compute("cvt.rni.s32.f32", 0x40200000) == 2  # 2.5, ties to even
    assert compute("cvt.rzi.u8.f32", 0x43960000) == 255  # 300


def test_a_shuffle_reads_the_register_of_another_lane():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.run("shfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1")
    assert machine.get("%r2")[0, 0].tolist() == [lane ^ 1 for lane in range(32)]
    assert machine.get("%p1").all() and machine.found == []


def test_a_lane_outside_its_own_membermask_is_a_finding():
    machine = ByHand()
    machine.set("%r1", np.arange(32))
    machine.run("shfl.sync.idx.b32 %r2, %r1, 0, 31, 0x0000ffff")
    assert machine.found == ["illegal operand"]


def test_a_vote_collects_the_predicates_of_a_warp():
    machine = ByHand()
    machine.set("%p1", np.arange(32) % 2 == 0)
    machine.run("vote.sync.ballot.b32 %r1, %p1, -1")
    assert (machine.get("%r1") == 0x55555555).all()


def test_modifiers_may_be_written_in_any_order_but_types_keep_theirs():
    assert ordered("add", ("f32", "ftz", "rn")) == ("rn", "ftz", "f32")
    assert ordered("cvt", ("f16", "rn", "f32")) == ("rn", "f16", "f32")
    assert ordered("mul", ("s32", "lo")) is None  # lo belongs to the name


def test_an_instruction_exists_from_its_first_chip_on():
    fence = PtxInstruction("mbarrier.try_wait.b64", "mbarrier", ("try_wait", "b64"), (), None, 1, 1)
    assert first_chip_of(fence) == "sm_90"
    assert operation_of("add.bf16", WORD, WORD, WORD)[1].first == "sm_90"


def test_a_refusal_names_the_nearest_spelling():
    with pytest.raises(UnsupportedInstructionError, match=r"add\.s33 does not exist or is not modelled.*add\.s32"):
        operation_of("add.s33", WORD, WORD, WORD)


def test_a_register_of_another_type_is_refused():
    instruction, operation = operation_of("add.s32", WORD, Register(1, "%f1", "f32"), WORD)
    with pytest.raises(UnsupportedInstructionError, match=r"add\.s32: %f1 is a register of \.f32; expected \.s32"):
        require_legal_operation(instruction, operation)
