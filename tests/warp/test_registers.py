# SPDX-License-Identifier: MIT
"""Operands as registers: what `pack` puts where, that `unpack` undoes it, and what both refuse."""

import numpy as np
import pytest

from tests.representatives import REPRESENTATIVES
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.instructions.spec import OPERANDS
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.warp.registers import BoundOperand

F16 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
QUAD_PAIRS = INSTRUCTIONS["mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"]
WMMA = INSTRUCTIONS["wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"]
F64 = INSTRUCTIONS["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"]


def distinct_operands():
    """One operand for every layout and format, each on the first and the last chip that supports it."""
    found = {}
    for row in REPRESENTATIVES.values():
        for arch in (row.archs[0], row.archs[-1]):
            for operand in OPERANDS:
                if not row.registers(operand):  # B of wgmma
                    continue
                bound = BoundOperand(row, operand, arch)
                found.setdefault((bound.layout, bound.format.name), bound)
    return list(found.values())


DISTINCT = distinct_operands()


def random_bits(bound, *warps, seed=0):
    shape = (*warps, *bound.layout.matrix_shape)
    bits = np.random.default_rng(seed).integers(0, 2**64, shape, np.uint64, endpoint=False)
    return (bits & np.uint64(bound.format.mask)).astype(bound.format.storage)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("bound", DISTINCT, ids=repr)
def test_every_bit_is_packed_where_the_layout_locates_it(bound):
    layout, bits = bound.layout, random_bits(bound)
    # In kinds with a byte per element, e2m1 is in bits 5 to 2 of it, the others begin at bit 0.
    shift = 2 if bound.format.name == "e2m1" and layout.element_bits == 8 else 0
    expected = [[0] * layout.num_lanes for _ in range(layout.num_registers)]
    for index, element in np.ndenumerate(bits):
        *matrix, row, col = index
        for lane, register, bit, _ in layout.locate(row, col, *matrix):
            expected[register][lane] |= int(element) << bit + shift
    registers = bound.pack_bits(bits)
    assert registers.dtype == bound.register_dtype
    assert registers.shape == (layout.num_registers, *layout.lane_shape)
    assert registers.reshape(layout.num_registers, -1).tolist() == expected


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("warps", [(), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("bound", DISTINCT, ids=repr)
def test_unpack_undoes_pack_for_any_batch_of_warps(bound, warps):
    bits = random_bits(bound, *warps)
    before = bits.copy()
    registers = bound.pack_bits(bits)
    assert registers.shape == (bound.num_registers, *warps, *bound.layout.lane_shape)
    back = bound.unpack_bits(registers)
    assert back.dtype == bits.dtype
    assert np.array_equal(back, before)
    assert np.array_equal(bits, before)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("bound", DISTINCT, ids=repr)
def test_matrices_of_the_format_keep_dtype_and_bits(bound):
    matrix = from_bits(random_bits(bound, 2), bound.format)
    back = bound.unpack(bound.pack(matrix))
    assert back.dtype == matrix.dtype
    assert np.array_equal(to_bits(back, bound.format, "A"), to_bits(matrix, bound.format, "A"))


def test_pack_takes_values_of_the_dtype_or_raw_bits():
    a = BoundOperand(F16, "a", "sm_90")
    matrix = np.arange(256).reshape(16, 16).astype(np.float16)
    assert np.array_equal(a.pack(matrix), a.pack(matrix.view(np.uint16)))
    assert a.pack(matrix)[1, 5] == 0x5898_5890  # A[9, 2:4]: 146, 147


def test_m8n8k4_of_f16_takes_four_matrices_a_warp():
    for operand, legal in (("a", (4, 8, 4)), ("b", (4, 4, 8)), ("c", (4, 8, 8))):
        bound = BoundOperand(QUAD_PAIRS, operand, "sm_70")
        matrix = from_bits(random_bits(bound, 5), bound.format)
        assert matrix.shape == (5, *legal)
        assert np.array_equal(bound.unpack(bound.pack(matrix)), matrix, equal_nan=True)
        with pytest.raises(FragmentMismatchError, match="stack 4 matrices in the axis before the rows"):
            bound.pack(matrix[0, 0])


def test_f64_registers_are_64_bits_wide():
    a = BoundOperand(F64, "a", "sm_80")
    registers = a.pack(np.arange(32.0).reshape(8, 4))
    assert registers.dtype == np.uint64
    assert registers.view(np.float64).tolist() == [[float(lane) for lane in range(32)]]


def test_duplicates_are_packed_and_their_edits_ignored_since_turing():
    a = BoundOperand(WMMA, "a", "sm_90")
    bits = random_bits(a)
    registers = a.pack_bits(bits)
    assert np.array_equal(registers[4:], registers[:4])
    registers[4:] = 0
    assert np.array_equal(a.unpack_bits(registers), bits)


def test_copies_that_differ_on_volta_are_refused_because_each_is_read():
    a = BoundOperand(WMMA, "a", "sm_70")
    registers = a.pack_bits(random_bits(a))
    registers[0, 3] ^= 1
    with pytest.raises(FragmentMismatchError, match="change all replicas in the same way"):
        a.unpack_bits(registers)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((16, 8), r"\(\.\.\., 16, 16\); pad with zeros or crop to 16 x 16"),
        ((16,), "pad with zeros or crop"),
        ((), "pad with zeros or crop"),
        ((16, 16, 3), "pad with zeros or crop"),
    ],
)
def test_a_matrix_of_another_shape_is_refused_with_the_legal_one(shape, message):
    with pytest.raises(FragmentMismatchError, match=message):
        BoundOperand(F16, "a", "sm_90").pack(np.zeros(shape, np.float16))


def test_a_transposed_matrix_is_recognised():
    with pytest.raises(FragmentMismatchError, match=r"the transpose: pass B\.swapaxes\(-1, -2\)"):
        BoundOperand(F16, "b", "sm_90").pack(np.zeros((7, 8, 16), np.float16))


@pytest.mark.parametrize(
    ("registers", "message"),
    [
        (np.zeros((4, 32), np.int32), r"\.view\(np\.uint32\)"),
        (np.zeros((4, 32), np.float32), r"\.view\(np\.uint32\)"),
        (np.zeros((4, 32), np.uint64), "uint32 of shape"),
        (np.zeros((4, 32), [("a long name " * 20, "u4")]), r"\.\.\. of shape"),
        (np.ma.masked_array(np.zeros((4, 32), np.uint32), False), r"masked array; pass registers\.filled\(value\)"),
        (np.zeros((4, *(1,) * 30, 32), np.uint32)[None], "registers has 33 axes; at most 32"),
        ([[1], [2, 3]], "registers is a Python list"),
        (np.zeros((32, 4), np.uint32), "move axis 0 to the end"),
        (np.zeros((4, 31), np.uint32), "lanes come last"),
        (np.zeros(32, np.uint32), "lanes come last"),
        (np.zeros((2, 5, 32), np.uint32), "has 4 registers a lane, not 2"),
    ],
)
def test_registers_of_another_dtype_or_shape_are_refused(registers, message):
    with pytest.raises(FragmentMismatchError, match=message):
        BoundOperand(F16, "a", "sm_90").unpack(registers)


def test_registers_of_the_other_byte_order_or_with_thirty_axes_of_warps_are_read():
    bound = BoundOperand(F16, "a", "sm_90")
    bits = random_bits(bound, *(1,) * 30)
    registers = bound.pack_bits(bits)
    assert registers.ndim == 32
    assert np.array_equal(bound.unpack_bits(registers), bits)
    assert np.array_equal(bound.unpack_bits(registers.astype(">u4")), bits)


def test_an_operand_of_a_chip_without_the_instruction_cannot_be_made():
    with pytest.raises(UnsupportedInstructionError, match=r"sm_70 \(Volta\) has no"):
        BoundOperand(F16, "a", "sm_70")
