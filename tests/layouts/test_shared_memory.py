# SPDX-License-Identifier: MIT
"""Matrices in shared memory: descriptors bit by bit, every element's address, images, and what is refused."""

import itertools

import numpy as np
import pytest

from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnsupportedInstructionError,
)
from wmma_emu.formats import format_of
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import addresses, image_of, read_matrix

SWIZZLES = (0, 32, 64, 128)
SWIZZLE_BITS = {0: 0, 32: 1, 64: 2, 128: 3}
FORMATS = ("f16", "bf16", "tf32", "e4m3", "s8", "b1")
K_OF = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "s8": 32, "b1": 256}


def canonical_index(shape, stride, *coordinates):
    """CuTe's rule: split each coordinate by its mode's shape, the first part fastest; add up the strides."""
    total = 0
    for coordinate, parts, steps in zip(coordinates, shape, stride, strict=True):
        for part, step in zip(parts, steps, strict=True):
            total += coordinate % part * step
            coordinate //= part
        assert coordinate == 0
    return total


def swizzled(address, bits):
    """CuTe's Swizzle<bits, 4, 3>: bits 7 and up are XORed onto bits 4 and up."""
    for bit in range(bits):
        address ^= (address >> (7 + bit) & 1) << (4 + bit)
    return address


def canonical_bit_addresses(start, leading, stride, swizzle, rows, k, bits, major):
    """The canonical layouts of CuTe's mma_traits_sm90_gmma.hpp, element by element, in bits."""
    t = 128 // bits
    lbo, sbo = 8 * leading // bits, 8 * stride // bits
    wide = {0: 1, 32: 2, 64: 4, 128: 8}[swizzle]
    if major == "k" and swizzle == 0:
        shape, steps = ((8, rows // 8), (t, k // t)), ((t, sbo), (1, lbo))
    elif major == "k":
        shape, steps = ((8, rows // 8), (t, k // t)), ((wide * t, sbo), (1, t))
    elif swizzle == 0:
        shape, steps = ((t, 1, rows // t), (8, k // 8)), ((1, t, sbo), (t, lbo))
    else:
        atoms = -(-rows // (t * wide))
        shape, steps = ((t, wide, atoms), (8, k // 8)), ((1, t, lbo), (wide * t, sbo))
    found = []
    for i, j in itertools.product(range(rows), range(k)):
        byte, bit = divmod(canonical_index(shape, steps, i, j) * bits, 8)
        found.append(8 * swizzled(start + byte, SWIZZLE_BITS[swizzle]) + bit)
    return np.array(found).reshape(rows, k)


def _layouts():
    """Every format, swizzle and major that exists, with several sizes and offsets that are not compact."""
    for fmt, swizzle, major, rows in itertools.product(FORMATS, SWIZZLES, ("k", "mn"), (8, 24, 72, 144)):
        if rows > 72 and format_of(fmt).bits != 16:
            continue
        if major == "k" or format_of(fmt).bits == 16:
            yield fmt, swizzle, major, rows


LAYOUTS = list(_layouts())


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(("fmt", "swizzle", "major", "rows"), LAYOUTS)
def test_every_address_matches_the_canonical_layout(fmt, swizzle, major, rows):
    k, bits = K_OF[fmt], format_of(fmt).bits
    atom = 8 * (swizzle or 16)
    for start, leading, stride in ((0, atom, 3 * atom), (5 * 1024, 7 * atom, 2 * atom), (3072, 16 * atom, atom)):
        found = addresses(MatrixDescriptor(start, leading, stride, swizzle), rows, k, fmt, major)
        expected = canonical_bit_addresses(start, leading, stride, swizzle, rows, k, bits, major)
        assert np.array_equal(found if bits < 8 else 8 * found, expected)


@pytest.mark.parametrize(("fmt", "swizzle", "major", "rows"), LAYOUTS)
def test_an_image_reads_back_bit_by_bit_and_no_two_elements_share_an_address(fmt, swizzle, major, rows):
    spec, k = format_of(fmt), K_OF[fmt]
    rng = np.random.default_rng(rows)
    bits = (rng.integers(0, 2**32, (2, 3, rows, k), np.uint32) & np.uint32(spec.mask)).astype(spec.storage)
    memory, descriptor = image_of(bits, fmt, swizzle=swizzle, major=major)
    assert memory.dtype == np.uint8
    assert memory.shape[:-1] == (2, 3)
    back = read_matrix(memory, descriptor, rows, k, fmt, major)
    assert back.dtype == bits.dtype
    assert np.array_equal(back, bits)
    where = addresses(descriptor, rows, k, fmt, major)
    assert len(np.unique(where)) == where.size


@pytest.mark.parametrize(("fmt", "swizzle", "major", "rows"), LAYOUTS)
def test_a_read_takes_each_element_from_its_address_alone(fmt, swizzle, major, rows):
    spec, k = format_of(fmt), K_OF[fmt]
    image, descriptor = image_of(np.zeros((rows, k), spec.storage), fmt, swizzle=swizzle, major=major, start=1024)
    memory = np.random.default_rng(rows).integers(0, 256, image.size, np.uint8)
    where = addresses(descriptor, rows, k, fmt, major)
    number = int.from_bytes(memory.tobytes(), "little")
    some = where.ravel()[:: rows // 8].tolist()
    expected = [number >> (at if spec.bits < 8 else 8 * at) & spec.mask for at in some]
    assert read_matrix(memory, descriptor, rows, k, fmt, major).ravel()[:: rows // 8].tolist() == expected


@pytest.mark.parametrize("swizzle", (32, 64, 128))
def test_k_advances_within_a_line_of_the_swizzle(swizzle):
    k_all = swizzle // 2
    A = np.arange(64 * k_all, dtype=np.uint16).reshape(64, k_all)
    memory, d = image_of(A, "f16", swizzle=swizzle)
    for first in range(0, k_all, 16):
        part = MatrixDescriptor(d.start + 2 * first, d.leading, d.stride, swizzle)
        assert np.array_equal(read_matrix(memory, part, 64, 16, "f16"), A[:, first : first + 16])


@pytest.mark.parametrize("major", ("k", "mn"))
@pytest.mark.parametrize("swizzle", (32, 64, 128))
def test_with_the_base_offset_of_its_start_an_image_is_the_aligned_one_moved(swizzle, major):
    A = np.arange(64 * 16, dtype=np.uint16).reshape(64, 16)
    aligned, _ = image_of(A, "f16", swizzle=swizzle, major=major)
    for lines in range(8):
        start = 128 * lines
        memory, moved = image_of(A, "f16", swizzle=swizzle, major=major, start=start, base_offset=lines)
        assert moved.base_offset == lines
        assert np.array_equal(memory[start:], aligned)
        assert not memory[:start].any()
        assert np.array_equal(read_matrix(memory, moved, 64, 16, "f16", major), A)


@pytest.mark.parametrize("leading", (0, 16, 128, 4096))
@pytest.mark.parametrize("swizzle", (32, 64, 128))
def test_with_a_swizzle_and_k_contiguous_the_leading_offset_is_not_used(swizzle, leading):
    plain = MatrixDescriptor(0, 16, 8 * swizzle, swizzle)
    other = MatrixDescriptor(0, leading, 8 * swizzle, swizzle)
    assert np.array_equal(addresses(plain, 64, 16, "f16"), addresses(other, 64, 16, "f16"))


@pytest.mark.parametrize(
    ("change", "bits"),
    (
        ({}, 0),
        ({"start": 16}, 1),
        ({"start": 0x3FFF0}, 0x3FFF),
        ({"leading": 16}, 1 << 16),
        ({"leading": 0x3FFF0}, 0x3FFF << 16),
        ({"stride": 16}, 1 << 32),
        ({"stride": 0x3FFF0}, 0x3FFF << 32),
        ({"swizzle": 128}, 1 << 62),
        ({"swizzle": 64}, 2 << 62),
        ({"swizzle": 32}, 3 << 62),
        ({"swizzle": 32, "base_offset": 7}, 3 << 62 | 7 << 49),
    ),
)
def test_each_field_has_its_bits(change, bits):
    fields = {"start": 0, "leading": 0, "stride": 0} | change
    descriptor = MatrixDescriptor(**fields)
    assert descriptor.encode() == bits
    assert MatrixDescriptor.decode(bits) == descriptor
    assert MatrixDescriptor.decode(np.uint64(bits)) == descriptor


@pytest.mark.parametrize("bit", (14, 15, 30, 31, 46, 47, 48, *range(52, 62)))
def test_reserved_bits_are_refused_and_shown(bit):
    with pytest.raises(UnsupportedInstructionError, match=f"reserved bits set: {bit};"):
        MatrixDescriptor.decode(1 << bit)


def test_all_other_bits_are_fields():
    legal = set(range(64)) - {14, 15, 30, 31, 46, 47, 48, *range(52, 62)} - {49, 50, 51}
    for bit in legal:
        assert MatrixDescriptor.decode(1 << bit).encode() == 1 << bit
    for bit in (49, 50, 51):
        assert MatrixDescriptor.decode(1 << bit | 1 << 62).encode() == 1 << bit | 1 << 62


@pytest.mark.parametrize("given", (-1, 1 << 64, 1.0, "0", None, True))
def test_anything_but_a_64_bit_word_is_refused(given):
    with pytest.raises(FragmentMismatchError, match="64 bits"):
        MatrixDescriptor.decode(given)


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    (
        ({"start": 8}, AlignmentError, "start is 8 bytes; .* nearest is 16"),
        ({"leading": 17}, AlignmentError, "leading is 17 bytes; .* nearest is 16"),
        ({"stride": -16}, OutOfBoundsError, "stride is -16 bytes"),
        ({"start": 1 << 18}, OutOfBoundsError, "0 to 262128"),
        ({"swizzle": 16}, UnsupportedInstructionError, "no swizzle of 16 bytes"),
        ({"swizzle": 64, "base_offset": 8}, UnsupportedInstructionError, "base offset is 8"),
        ({"base_offset": 1}, UnsupportedInstructionError, "0 without one"),
        ({"start": 16.0}, FragmentMismatchError, "is an integer, not 16.0"),
    ),
)
def test_fields_that_a_descriptor_does_not_have_are_refused(fields, error, text):
    with pytest.raises(error, match=text):
        MatrixDescriptor(**({"start": 0, "leading": 16, "stride": 128} | fields))


@pytest.mark.parametrize(
    ("descriptor", "found"),
    [
        # What an NVIDIA H200 read: (row 0, k 0), (row 1, k 0), (last row, last k); bytes.
        ((128, 16, 256, 32), (144, 176, 638)),
        ((0, 16, 256, 32, 1), (16, 48, 510)),
        ((0, 16, 384, 32), (0, 32, 638)),
    ],
)
def test_a_swizzle_pattern_is_aligned_to_absolute_addresses_minus_the_base_offset(descriptor, found):
    where = addresses(MatrixDescriptor(*descriptor), 16, 16, "f16", "k")
    assert (where[0, 0], where[1, 0], where[-1, -1]) == found


@pytest.mark.parametrize(
    ("descriptor", "rows", "k", "fmt", "major", "error", "text"),
    (
        ((112, 16, 1024, 128), 64, 16, "f16", "k", AlignmentError, "starts 112 bytes into a line of 128"),
        ((16, 1024, 1024, 128), 128, 16, "f16", "mn", AlignmentError, "starts 16 bytes into a line of 128"),
        ((0, 128, 256), 64, 8, "tf32", "mn", UnsupportedInstructionError, "tf32 must be K-major"),
        ((0, 128, 256), 64, 32, "e4m3", "mn", UnsupportedInstructionError, "MN-major elements must have 16 bits"),
        ((0, 128, 256), 64, 256, "b1", "mn", UnsupportedInstructionError, "b1 must be K-major"),
        ((0, 128, 256), 64, 16, "f16", "n", UnsupportedInstructionError, "major is 'n'; it must be"),
        ((0, 128, 256), 12, 16, "f16", "k", FragmentMismatchError, "12 rows and 16 of k"),
        ((0, 128, 256), 8, 4, "f16", "k", FragmentMismatchError, "8 lines of 16 bytes"),
    ),
)
def test_descriptors_and_operands_that_do_not_fit_are_refused(descriptor, rows, k, fmt, major, error, text):
    with pytest.raises(error, match=text):
        addresses(MatrixDescriptor(*descriptor), rows, k, fmt, major)


def test_offsets_that_no_element_needs_may_be_anything():
    few = addresses(MatrixDescriptor(0, 48, 16, 128), 8, 16, "f16")
    assert np.array_equal(few, addresses(MatrixDescriptor(0, 16, 1024, 128), 8, 16, "f16"))


def test_a_read_outside_of_the_memory_names_element_address_and_size():
    memory = np.zeros((2, 2040), np.uint8)
    with pytest.raises(OutOfBoundsError, match=r"\(row 63, k 12\) of 64 x 16 f16 is at address 2040, .* 2040 bytes"):
        read_matrix(memory, MatrixDescriptor(0, 128, 256), 64, 16, "f16")
    with pytest.raises(OutOfBoundsError, match=r"\(row 7, k 248\) of 8 x 256 b1 is at address 255, .* 255 bytes"):
        read_matrix(memory[0, :255], MatrixDescriptor(0, 128, 256), 8, 256, "b1")


@pytest.mark.parametrize("memory", (np.zeros(512, np.int8), np.zeros((), np.uint8), np.zeros(256, np.float16)))
def test_memory_is_bytes(memory):
    with pytest.raises(FragmentMismatchError, match="uint8 array of shape"):
        read_matrix(memory, MatrixDescriptor(0, 128, 256), 8, 16, "f16")


def test_an_image_does_not_put_two_elements_at_one_address():
    A = np.zeros((64, 16), np.uint16)
    with pytest.raises(FragmentMismatchError, match="for adjacent atoms use leading=128, stride=256"):
        image_of(A, "f16", leading=128, stride=128)


@pytest.mark.parametrize("bits", (np.zeros((64, 16), np.float16), np.zeros(16, np.uint16), [[0]]))
def test_an_image_is_of_patterns(bits):
    with pytest.raises(FragmentMismatchError, match="patterns of f16, uint16"):
        image_of(bits, "f16")


def test_a_descriptor_is_decoded_before_its_addresses_are_computed():
    with pytest.raises(FragmentMismatchError, match=r"MatrixDescriptor\.decode"):
        addresses(0, 8, 16, "f16")


@pytest.mark.parametrize(
    ("bits", "fmt", "options", "error", "text"),
    [
        (
            np.full((8, 32), 5, np.uint8),
            "s4",
            {},
            UnsupportedInstructionError,
            "cannot read s4 in 4 bits K-major from shared memory",
        ),
        (np.full((8, 256), 2, np.uint8), "b1", {}, FragmentMismatchError, "nothing outside of 1 bits"),
        (np.zeros((64, 16), np.uint16), "f16", {"start": 2**18 - 1024}, OutOfBoundsError, "reach to address 263168"),
        (
            np.zeros((64, 16), np.uint16),
            "f16",
            {"swizzle": [128]},
            UnsupportedInstructionError,
            "no swizzle of",
        ),
        (np.zeros((64, 16), np.uint16), "f16", {"major": ["k"]}, UnsupportedInstructionError, "major is \\['k'\\]"),
    ],
)
def test_images_of_what_no_descriptor_can_name_are_refused(bits, fmt, options, error, text):
    with pytest.raises(error, match=text):
        image_of(bits, fmt, **options)


@pytest.mark.parametrize("rows", [None, 0, -8, 1 << 40, 8.0])
def test_an_illegal_number_of_rows_is_refused(rows):
    with pytest.raises(FragmentMismatchError, match="rows is"):
        addresses(MatrixDescriptor(0, 16, 256), rows, 16, "f16")


def test_an_element_beyond_the_eighteen_bits_of_an_address_is_refused_however_large_the_memory():
    with pytest.raises(OutOfBoundsError, match="the operand with MatrixDescriptor"):
        read_matrix(np.zeros(1 << 19, np.uint8), MatrixDescriptor((1 << 18) - 1024, 128, 256), 64, 16, "f16")
