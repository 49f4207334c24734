# SPDX-License-Identifier: MIT
"""tcgen05.cp: which row of shared memory lands in which lanes, decompressed or not, on one CTA and on two."""

import numpy as np
import pytest

from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnsupportedInstructionError,
    UnverifiedModelWarning,
)
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.instructions.tensor import tensor_instruction
from wmma_emu.tcgen05 import SharedMemoryDescriptor, TensorMemory, address, bound_tensor_instruction, cp, image_of

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

SHAPES = {"128x256b": (128, 8), "4x256b": (4, 8), "128x128b": (128, 4), "64x128b.warpx2::02_13": (64, 4),
          "64x128b.warpx2::01_23": (64, 4), "32x128b.warpx4": (32, 4)}  # fmt: skip
"""Rows, and columns of 32 bits."""

CUTE = {
    "128x256b": ((128, 8), (1, 128)), "128x128b": ((128, 4), (1, 128)), "4x256b": ((4, 8), (32, 128)),
    "64x128b.warpx2::02_13": ((64, 4, 2), (1, 128, 64)), "64x128b.warpx2::01_23": ((32, 4, 2, 2), (1, 128, 64, 32)),
    "32x128b.warpx4": ((32, 4, 4), (1, 128, 32)),
}  # fmt: skip
"""CuTe's ValID of SM100_UTCCP_*, as text: from (row, column, ...) to lane + 128 * column. After the row and the column,
the last mode copies; the third mode of 01_23 continues the rows."""


def memory(columns=32):
    tmem = TensorMemory()
    tmem.alloc(columns)
    return tmem


def shared_rows(rows, columns, swizzle=0, seed=0):
    """Words, and a shared memory that has them K-major."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, (-(-rows // 8) * 8, columns), np.uint32)
    data, descriptor = image_of(words, "s32", swizzle=swizzle, start=2048)
    return words[:rows], data, descriptor


def expected_lanes(shape):
    """Return the lanes of each row according to the manual: PTX ISA, 9.7.16.9.2."""
    rows, _ = SHAPES[shape]
    if shape == "4x256b":
        return [[32 * row] for row in range(4)]
    if shape == "32x128b.warpx4":  # all four warps get all rows
        return [[32 * warp + row for warp in range(4)] for row in range(rows)]
    if shape == "64x128b.warpx2::02_13":  # of each pair of warps, both get the same half
        return [[32 * warp + row % 32 for warp in ((0, 2), (1, 3))[row // 32]] for row in range(rows)]
    if shape == "64x128b.warpx2::01_23":
        return [[32 * warp + row % 32 for warp in ((0, 1), (2, 3))[row // 32]] for row in range(rows)]
    return [[row] for row in range(rows)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_every_row_lands_in_its_lanes(shape, swizzle):
    tmem, (words, data, descriptor) = memory(), shared_rows(*SHAPES[shape], swizzle)
    cp(tmem, 4, data, descriptor, f"tcgen05.cp.cta_group::1.{shape}")
    untouched = np.ones((128, 512), np.bool_)
    for row, lanes in enumerate(expected_lanes(shape)):
        for lane in lanes:
            assert np.array_equal(tmem.read(lane, 4 + np.arange(SHAPES[shape][1])), words[row])
            untouched[lane, 4 : 4 + SHAPES[shape][1]] = False
    assert np.array_equal(tmem.written, ~untouched)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_word_lands_where_cutes_layouts_have_it(shape):
    tmem, (words, data, descriptor) = memory(), shared_rows(*SHAPES[shape])
    cp(tmem, 0, data, descriptor, f"tcgen05.cp.cta_group::1.{shape}")
    sizes, steps = CUTE[shape]
    for index in np.ndindex(*sizes):
        lane, column = np.dot(index, steps) % 128, np.dot(index, steps) // 128
        row = index[0] + (32 * index[2] if shape.endswith("01_23") else 0)
        assert tmem.words[lane, column] == words[row, index[1]]


def test_a_copy_without_swizzle_matches_the_published_result_of_a_b200():
    # Word i of shared memory holds 0xc0000000 | i; leading 16 and stride 128 bytes; lane r begins at word 4 * r.
    data = (np.uint32(0xC0000000) | np.arange(1024, dtype=np.uint32)).view(np.uint8)
    tmem = memory()
    cp(tmem, 0, data, SharedMemoryDescriptor(0, 16, 128), "tcgen05.cp.cta_group::1.128x256b")
    lanes = np.arange(128)[:, None]
    assert np.array_equal(tmem.words[:, :8], 0xC0000000 | 4 * lanes + np.arange(8))


@pytest.mark.parametrize("shape", SHAPES)
def test_elements_of_6_bits_become_bytes(shape):
    rows, columns = SHAPES[shape]
    elements = np.random.default_rng(1).integers(0, 64, (-(-rows // 8) * 8, 4 * columns), np.uint8)
    data, descriptor = image_of(elements, "e2m3", swizzle=32 if columns == 8 else 0, container=8)
    data.reshape(-1, 16)[:, 12:] = 0xFF
    tmem = memory()
    cp(tmem, 0, data, descriptor, f"tcgen05.cp.cta_group::1.{shape}.b8x16.b6x16_p32")
    for row, lanes in enumerate(expected_lanes(shape)):
        for lane in lanes:
            assert np.array_equal(tmem.read(lane, np.arange(columns)).view(np.uint8), elements[row])


@pytest.mark.parametrize("shape", SHAPES)
def test_elements_of_4_bits_become_the_middle_bits_of_bytes(shape):
    # As TVM's tests of tcgen05 expect: two elements a byte, the lower nibble first, and then 8 bytes of padding.
    rows, columns = SHAPES[shape]
    codes = np.random.default_rng(2).integers(0, 16, (-(-rows // 8) * 8, 4 * columns), np.uint8)
    chunks = np.full((len(codes), columns // 4, 16), 0xFF, np.uint8)
    chunks[..., :8] = (codes[:, 0::2] | codes[:, 1::2] << 4).reshape(len(codes), -1, 8)
    data, descriptor = image_of(chunks.reshape(len(codes), -1), "u8")
    tmem = memory()
    cp(tmem, 0, data, descriptor, f"tcgen05.cp.cta_group::1.{shape}.b8x16.b4x16_p64")
    for row, lanes in enumerate(expected_lanes(shape)):
        for lane in lanes:
            assert np.array_equal(tmem.read(lane, np.arange(columns)).view(np.uint8), codes[row] << 2)


def test_a_decompressed_a_is_multiplied_from_tensor_memory():
    for fmt, way in (("e2m1", "b4x16_p64"), ("e3m2", "b6x16_p32")):
        row = tensor_instruction("f8f6f4", 128, 16, "f32", fmt, "e4m3")
        ins = bound_tensor_instruction(row, "sm_100")
        draw = np.random.default_rng(3)
        a = draw.integers(0, 1 << ins.a.format.bits, (128, 32), np.uint8)
        b = draw.integers(0x30, 0x40, (32, 16), np.uint8)
        shared_b = ins.in_shared_memory("b", from_bits(b, "e4m3"))
        tmem = memory(512)
        data, descriptor = image_of(a, fmt, container=8)
        cp(tmem, 256, data, descriptor, f"tcgen05.cp.cta_group::1.128x256b.b8x16.{way}")
        ins.execute(tmem, 0, 256, shared_b, enable_input_d=False)
        want = ins(from_bits(a, fmt), from_bits(b, "e4m3"))
        assert np.array_equal(ins.load(tmem, 0).view(np.uint32), want.view(np.uint32))


@pytest.mark.filterwarnings("error::wmma_emu.errors.UnverifiedModelWarning")
def test_copies_that_nobody_has_read_back_warn():
    _, data, descriptor = shared_rows(128, 8)
    for form in ("128x256b", "32x128b.warpx4", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23"):
        cp(memory(), 0, data, descriptor, f"tcgen05.cp.cta_group::1.{form}")  # recorded or documented: no warning
    for form in ("128x128b", "4x256b", "32x128b.warpx4.b8x16.b4x16_p64", "128x256b.b8x16.b6x16_p32"):
        with pytest.warns(UnverifiedModelWarning, match=rf"{form}: the words' positions are (inferred|literature)"):
            cp(memory(), 0, data, descriptor, f"tcgen05.cp.cta_group::1.{form}")


def test_an_absolute_leading_dimension_is_for_sm_103():
    _, data, _ = shared_rows(128, 8)
    descriptor = SharedMemoryDescriptor(0, 2048, 1024, 128, leading_absolute=True)
    for given in (descriptor, descriptor.encode()):
        with pytest.raises(UnsupportedInstructionError, match=r"bit 52 .* exists on sm_103, not on sm_100"):
            cp(memory(), 0, data, given, "tcgen05.cp.cta_group::1.128x256b")
        with pytest.raises(UnsupportedInstructionError, match="48 bytes of k"):
            cp(memory(), 0, data, given, "tcgen05.cp.cta_group::1.128x256b", arch="sm_103")


def test_rows_of_4x256b_go_to_the_last_lanes_of_each_warp_too():
    tmem, (words, data, descriptor) = memory(), shared_rows(4, 8)
    cp(tmem, address(31, 8), data, descriptor, "tcgen05.cp.cta_group::1.4x256b")
    assert np.array_equal(tmem.words[31::32, 8:16], words)
    with pytest.raises(OutOfBoundsError, match="there is no lane 128"):
        cp(tmem, address(32, 8), data, descriptor, "tcgen05.cp.cta_group::1.4x256b")


@pytest.mark.parametrize("shape", [x for x in SHAPES if x != "4x256b"])
def test_other_shapes_begin_in_lane_0(shape):
    _, data, descriptor = shared_rows(*SHAPES[shape])
    tmem = memory()
    with pytest.raises(OutOfBoundsError, match="there is no lane 128"):
        cp(tmem, address(16, 0), data, descriptor, f"tcgen05.cp.cta_group::1.{shape}")
    assert not tmem.written.any()


def test_each_cta_of_a_pair_reads_its_own_shared_memory():
    (first, data, descriptor), (second, others, _) = shared_rows(32, 4, seed=1), shared_rows(32, 4, seed=2)
    pair = memory(), memory()
    cp(pair, 0, (data, others), descriptor, "tcgen05.cp.cta_group::2.32x128b.warpx4")
    assert np.array_equal(pair[0].words[:32, :4], first)
    assert np.array_equal(pair[1].words[96:, :4], second)


def test_a_descriptor_may_be_64_bits():
    words, data, descriptor = shared_rows(128, 4, 128)
    tmem = memory()
    cp(tmem, 0, data, descriptor.encode(), "tcgen05.cp.cta_group::1.128x128b")
    assert np.array_equal(tmem.words[:, :4], words)
    with pytest.raises(UnsupportedInstructionError, match="0b000 in bits 48 to 46"):
        cp(tmem, 0, data, 0, "tcgen05.cp.cta_group::1.128x128b")


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_outside_of_shared_memory_are_errors_and_nothing_is_written(shape):
    rows, columns = SHAPES[shape]
    _, data, descriptor = shared_rows(rows, columns)
    last = descriptor.start + (rows - 1) // 8 * descriptor.stride + (rows - 1) % 8 * 16
    last += (columns // 4 - 1) * descriptor.leading + 16
    tmem = memory()
    with pytest.raises(OutOfBoundsError, match=f"shared memory has {last - 1} bytes"):
        cp(tmem, 0, data[: last - 1], descriptor, f"tcgen05.cp.cta_group::1.{shape}")
    assert not tmem.written.any()
    cp(tmem, 0, data[:last], descriptor, f"tcgen05.cp.cta_group::1.{shape}")


def test_columns_that_are_not_allocated_are_errors_and_neither_cta_is_written():
    _, data, descriptor = shared_rows(128, 8)
    first, second = memory(64), memory(32)
    with pytest.raises(OutOfBoundsError, match="column 32 of tensor memory is not allocated"):
        cp((first, second), 28, (data, data), descriptor, "tcgen05.cp.cta_group::2.128x256b")
    assert not first.written.any() and not second.written.any()


@pytest.mark.parametrize("column", [1, 2, 3, 6])
def test_columns_are_multiples_of_four(column):
    _, data, descriptor = shared_rows(128, 4)
    with pytest.raises(AlignmentError, match=r"multiples of 4 columns \(128 bits\)"):
        cp(memory(), column, data, descriptor, "tcgen05.cp.cta_group::1.128x128b")


def test_rows_lie_k_major():
    _, data, _ = shared_rows(128, 8)
    descriptor = SharedMemoryDescriptor(0, 1024, 1024, "128B with 32B atoms")
    with pytest.raises(UnsupportedInstructionError, match="K-major with the swizzle modes 0, 32, 64, 128"):
        cp(memory(), 0, data, descriptor, "tcgen05.cp.cta_group::1.128x256b")


def test_as_many_memories_as_ctas_are_given():
    _, data, descriptor = shared_rows(32, 4)
    one, two = "tcgen05.cp.cta_group::1.32x128b.warpx4", "tcgen05.cp.cta_group::2.32x128b.warpx4"
    tmem, peer = memory(), memory()
    for given, bytes_of, name in (
        ((tmem, peer), (data, data), one), (tmem, (data, data), one), ((tmem, peer), data, two), (tmem, data, two),
        ((tmem, tmem), (data, data), two), (tmem, data.view(np.uint16), one), (tmem, data.reshape(2, -1), one),
        (tmem, None, one), (None, data, one),
    ):  # fmt: skip
        with pytest.raises(FragmentMismatchError):
            cp(given, 0, bytes_of, descriptor, name)
    assert not tmem.written.any()
