# SPDX-License-Identifier: MIT
"""Operands of tcgen05.mma in shared memory: every address after CuTe's canonical layouts, and no read outside."""

import itertools

import numpy as np
import pytest

from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnsupportedInstructionError,
    WmmaEmuError,
)
from wmma_emu.formats import format_of
from wmma_emu.instructions.spec import Container
from wmma_emu.layouts import shared_memory
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.tcgen05 import SharedMemoryDescriptor, addresses, image_of, read_matrix

ATOMS = "128B with 32B atoms"
PLAIN = (0, 32, 64, 128)
SWIZZLE = {0: (0, 4, 3), 32: (1, 4, 3), 64: (2, 4, 3), 128: (3, 4, 3), ATOMS: (2, 5, 2)}
"""CuTe's Swizzle<bits, base, shift>, in bytes."""

OPERANDS = [
    *((fmt, None, "k", mode) for fmt in ("e2m1", "e4m3", "s8", "f16", "tf32") for mode in PLAIN),
    *((fmt, 8, "k", mode) for fmt in ("e2m1", "e3m2", "e2m3") for mode in PLAIN),
    *((fmt, None, "mn", mode) for fmt in ("e5m2", "u8", "bf16") for mode in PLAIN),
    *((fmt, 8, "mn", mode) for fmt in ("e2m1", "e2m3") for mode in PLAIN),
    ("tf32", None, "mn", ATOMS),
]
"""Format, container, major and swizzle of everything that exists (PTX ISA, 9.7.16.10.3)."""


def apply_swizzle(address, mode):
    """XOR the bits base + shift and up onto the bits base and up."""
    bits, base, shift = SWIZZLE[mode]
    return address ^ (address >> base + shift & (1 << bits) - 1) << base


def chunk_address(d, major, line, chunk):
    """Byte address of 16 bytes, by CuTe's canonical layouts in units of them (make_umma_desc), as tables of strides."""
    wide = {0: 1, 32: 2, 64: 4, 128: 8, ATOMS: 8}[d.swizzle]
    deep = 4 if d.swizzle == ATOMS else 8
    leading, stride = d.leading // 16, d.stride // 16
    if d.leading_absolute:  # PTX ISA, 9.7.16.3.1.2: the part of a line after its 128 bytes is elsewhere
        at = chunk + d.start % 128 // 16
        base = d.start // 128 * 128 if at < 8 else d.leading
        address = base + 16 * (at % 8 + line % 8 * 8) + line // 8 * d.stride
    elif major == "k" and not d.swizzle:
        address = d.start + 16 * (line % 8 + line // 8 * stride + chunk * leading)
    elif major == "k":
        address = d.start + 16 * (line % 8 * wide + line // 8 * stride + chunk % wide + chunk // wide * leading)
    elif not d.swizzle:
        address = d.start + 16 * (chunk * stride + line % 8 + line // 8 * leading)
    else:
        address = d.start + 16 * (chunk % wide + chunk // wide * leading + line % deep * wide + line // deep * stride)
    pattern = 128 * d.base_offset
    return apply_swizzle(address - pattern, d.swizzle) + pattern


def model_addresses(d, rows, k, bits, slot, major):
    """Bit address of every element, one at a time."""
    found = []
    for row, column in itertools.product(range(rows), range(k)):
        line, along = (row, column) if major == "k" else (column, row)
        chunk, element = divmod(along, 128 // slot)
        found.append(8 * chunk_address(d, major, line, chunk) + element * bits)
    return np.array(found).reshape(rows, k)


def model_read(memory, where, bits):
    """Patterns bit by bit, from an array of bytes."""
    single = np.unpackbits(memory, bitorder="little")
    return sum(single[where + i].astype(np.uint64) << np.uint64(i) for i in range(bits))


def shape_of(fmt, container, major):
    """Rows and k of a small operand: 32 bytes of k, as every dense instruction has."""
    slot = container or format_of(fmt).bits
    return (24 if major == "k" else 144), 256 // slot


@pytest.mark.parametrize(("fmt", "container", "major", "mode"), OPERANDS, ids=str)
def test_every_address_matches_the_canonical_layout(fmt, container, major, mode):
    bits = format_of(fmt).bits
    rows, k = shape_of(fmt, container, major)
    if major == "mn":
        rows = 128 * 8 // (container or bits) + 16 * 8 // (container or bits)
    for start, leading, stride in ((0, 4096, 1024), (5 * 1024, 7 * 1024, 2048), (3072, 16 * 512, 1024)):
        d = SharedMemoryDescriptor(start, leading, stride, mode)
        expected = model_addresses(d, rows, k, bits, container or bits, major)
        assert np.array_equal(addresses(d, rows, k, fmt, major, container), expected)


@pytest.mark.parametrize(("fmt", "container", "major", "mode"), OPERANDS, ids=str)
def test_what_an_image_holds_is_read_back(fmt, container, major, mode):
    fmt = format_of(fmt)
    rows, k = shape_of(fmt.name, container, major)
    rows, k = (rows, 4 * k) if major == "k" else (rows, 2 * k)
    given = np.random.default_rng(0).integers(0, 1 << fmt.bits, (2, rows, k), np.uint64).astype(fmt.storage)
    memory, d = image_of(given, fmt, swizzle=mode, major=major, container=container, start=1024)
    assert np.array_equal(read_matrix(memory, d, rows, k, fmt, major, container), given)
    where = model_addresses(d, rows, k, fmt.bits, container or fmt.bits, major)
    assert np.array_equal(model_read(memory[1], where, fmt.bits), given[1])
    assert not memory[:, :1024].any()


def test_images_without_gaps_are_as_large_as_their_elements():
    given = np.zeros((64, 64), np.uint16)
    for mode in PLAIN:
        for major in ("k", "mn"):
            assert image_of(given, "f16", swizzle=mode, major=major)[0].shape == (64 * 64 * 2,)
    assert image_of(np.zeros((64, 32), np.uint32), "tf32", swizzle=ATOMS, major="mn")[0].shape == (64 * 32 * 4,)


@pytest.mark.parametrize("mode", PLAIN)
@pytest.mark.parametrize("major", ["k", "mn"])
def test_16_bit_operands_have_the_layout_of_wgmma(mode, major):
    given = np.random.default_rng(1).integers(0, 1 << 16, (64, 16), np.uint16)
    memory, d = image_of(given, "f16", swizzle=mode, major=major, base_offset=3 if mode else 0)
    old, of_wgmma = shared_memory.image_of(given, "f16", swizzle=mode, major=major, base_offset=3 if mode else 0)
    assert np.array_equal(memory, old)
    assert (d.start, d.leading, d.stride) == (of_wgmma.start, of_wgmma.leading, of_wgmma.stride)


@pytest.mark.parametrize(("fmt", "bits", "padding"), [("e2m1", 4, 8), ("e3m2", 6, 4), ("e2m3", 6, 4)])
def test_sixteen_narrow_elements_are_contiguous_and_then_comes_padding(fmt, bits, padding):
    given = np.random.default_rng(2).integers(0, 1 << bits, (8, 32), np.uint8)
    memory, d = image_of(given, fmt, container=Container(8, 2))
    chunk = memory[:16]
    number = int.from_bytes(chunk.tobytes(), "little")
    assert [number >> bits * i & (1 << bits) - 1 for i in range(16)] == given[0, :16].tolist()
    assert not chunk[16 - padding :].any()
    dirty = memory.copy()
    dirty.reshape(-1, 16)[:, 16 - padding :] = 0xFF
    assert np.array_equal(read_matrix(dirty, d, 8, 32, fmt, container=8), given)


def test_packed_elements_of_4_bits_are_two_a_byte():
    given = np.random.default_rng(3).integers(0, 16, (8, 64), np.uint8)
    memory, _ = image_of(given, "e2m1")
    assert np.array_equal(memory[:16], given[0, 0:32:2] | given[0, 1:32:2] << 4)


@pytest.mark.parametrize("column", range(8))
def test_48_bytes_of_k_continue_at_an_absolute_address(column):
    rows, k, start = 24, 96, 2048 + 16 * column
    given = np.random.default_rng(column).integers(0, 16, (rows, k), np.uint8)
    memory, d = image_of(given, "e2m1", swizzle=128, start=start, leading=8192, stride=1024, leading_absolute=True)
    assert np.array_equal(read_matrix(memory, d, rows, k, "e2m1"), given)
    where = model_addresses(d, rows, k, 4, 4, "k")
    assert np.array_equal(model_read(memory, where, 4), given)
    assert bool((where >= 8 * 8192).any()) == (column > 5)


def test_absolute_addresses_are_of_48_bytes_of_k_alone():
    d = SharedMemoryDescriptor(0, 8192, 1024, 128, leading_absolute=True)
    memory = np.zeros(16384, np.uint8)
    for rows, k, fmt, major in (
        (8, 64, "e2m1", "k"),
        (8, 16, "f16", "k"),
        (24, 16, "f16", "mn"),
        (8, 128, "e2m1", "k"),
    ):
        with pytest.raises(UnsupportedInstructionError, match="48 bytes of k"):
            read_matrix(memory, d, rows, k, fmt, major)
    d = SharedMemoryDescriptor(0, 8192 + 128, 1024, 128, leading_absolute=True)
    with pytest.raises(AlignmentError, match="multiple of 1024"):
        read_matrix(memory, d, 8, 96, "e2m1")


def random_descriptor(rng, mode):
    start, leading, stride = (16 * int(x) for x in rng.integers(0, 1 << 10, 3))
    base_offset = int(rng.integers(8)) if mode and rng.integers(2) else 0
    return SharedMemoryDescriptor(start, leading, stride, mode, base_offset)


def test_a_thousand_random_descriptors_are_read_right_or_not_at_all():
    rng = np.random.default_rng(4)
    memory = rng.integers(0, 256, 1 << 15, np.uint8)
    outcomes = {"read": 0, "outside": 0, "refused": 0}
    for _ in range(1000):
        fmt, container, major, mode = OPERANDS[rng.integers(len(OPERANDS))]
        bits = format_of(fmt).bits
        slot = container or bits
        lines, along = int(rng.integers(1, 3)) * 8, 128 // slot * int(rng.integers(1, 4))
        rows, k = (lines, along) if major == "k" else (along, lines)
        d = random_descriptor(rng, mode)
        small = memory[: int(rng.integers(1, 1 << 15))]
        where = model_addresses(d, rows, k, bits, slot, major)
        end = (int(where.max()) + bits - 1) // 8 + 1
        if slot != bits:
            end = -(-end // 16) * 16
        try:
            found = read_matrix(small, d, rows, k, fmt, major, container)
        except OutOfBoundsError:
            assert end > len(small)
            outcomes["outside"] += 1
            continue
        except WmmaEmuError as error:
            assert isinstance(error, AlignmentError | UnsupportedInstructionError)
            assert d.start % max(16, 128 if mode == ATOMS else mode) or (mode == ATOMS and d.base_offset)
            outcomes["refused"] += 1
            continue
        assert end <= len(small)
        assert np.array_equal(found, model_read(small, where, bits))
        outcomes["read"] += 1
    assert all(count > 100 for count in outcomes.values()), outcomes


@pytest.mark.parametrize(("fmt", "container", "major", "mode"), OPERANDS, ids=str)
def test_memory_that_is_one_byte_too_small_is_out_of_bounds(fmt, container, major, mode):
    rows, k = shape_of(fmt, container, major)
    given = np.zeros((rows, k), format_of(fmt).storage)
    memory, d = image_of(given, fmt, swizzle=mode, major=major, container=container)
    with pytest.raises(OutOfBoundsError, match=f"the shared memory has {memory.size - 1} bytes"):
        read_matrix(memory[:-1], d, rows, k, fmt, major, container)


def test_an_operand_that_leaves_what_descriptors_speak_of_is_out_of_bounds():
    memory = np.zeros((1 << 18) + 4096, np.uint8)
    d = SharedMemoryDescriptor((1 << 18) - 16, 128, 256)
    with pytest.raises(OutOfBoundsError, match="row 1, k 0"):
        read_matrix(memory, d, 8, 8, "f16")
    with pytest.raises(OutOfBoundsError, match="262144 bytes"):
        image_of(np.zeros((16, 16), np.uint16), "f16", start=(1 << 18) - 256)


@pytest.mark.parametrize(("fmt", "container", "major", "mode", "text"), [
    ("tf32", None, "mn", 128, "MN-major with the swizzle modes 128B with 32B atoms"),
    ("f16", None, "mn", ATOMS, "swizzle modes 0, 32, 64, 128, not 128B"), ("f16", None, "k", ATOMS, "K-major with"),
    ("e4m3", None, "mn", ATOMS, "8 bits is read MN-major"), ("e2m1", None, "mn", 0, "cannot read e2m1 in 4 bits "
                                                                                    "MN-major"),
    ("e3m2", None, "k", 0, "6-bit elements need container=8"), ("f64", None, "k", 0, "cannot read f64 in 64 bits"),
    ("b1", None, "k", 0, "cannot read b1 in 1 bits"), ("f16", 8, "k", 0, "an element of f16 takes 16 bits"),
    ("e2m1", 6, "k", 0, "4 bits of shared memory, or 8 with padding; not 6"), ("f16", None, "row", 0, "'k' or 'mn'"),
    ("f16", None, [], 0, "'k' or 'mn'"), ("f16", [], "k", 0, "takes 16 bits"),
])  # fmt: skip
def test_operands_that_do_not_exist_are_refused(fmt, container, major, mode, text):
    d = SharedMemoryDescriptor(0, 1024, 1024, mode)
    with pytest.raises(UnsupportedInstructionError, match=text):
        addresses(d, 64, 64, fmt, major, container)
    with pytest.raises(UnsupportedInstructionError, match=text):
        image_of(np.zeros((64, 64), format_of(fmt).storage), fmt, swizzle=mode, major=major, container=container)


@pytest.mark.parametrize(("rows", "k", "major", "mode"), [
    (8, 12, "k", 0), (12, 16, "k", 0), (0, 16, "k", 0), (8, -16, "k", 0), (8, 8.0, "k", 0), (8, 1 << 20, "k", 0),
    (12, 8, "mn", 0), (16, 4, "mn", 0),
])  # fmt: skip
def test_shapes_that_are_not_multiples_of_chunks_and_atoms_are_refused(rows, k, major, mode):
    with pytest.raises(FragmentMismatchError):
        addresses(SharedMemoryDescriptor(0, 1024, 1024, mode), rows, k, "f16", major)


def test_lines_stay_within_their_atom():
    for mode, start in ((32, 16), (64, 48), (128, 112)):
        with pytest.raises(AlignmentError, match="would cross its end"):
            addresses(SharedMemoryDescriptor(start, 16, 1024, mode), 8, 16, "f16")


def test_what_a_base_offset_does_to_32_byte_atoms_is_not_guessed():
    with pytest.raises(UnsupportedInstructionError, match="not documented"):
        addresses(SharedMemoryDescriptor(0, 1024, 1024, ATOMS, base_offset=1), 32, 8, "tf32", "mn")


def test_illegal_descriptors_memories_and_bits_are_refused():
    d = SharedMemoryDescriptor(0, 128, 256)
    with pytest.raises(FragmentMismatchError, match="decode reads an integer"):
        addresses(d.encode(), 8, 16, "f16")
    with pytest.raises(FragmentMismatchError):
        addresses(MatrixDescriptor(0, 128, 256), 8, 16, "f16")
    with pytest.raises(FragmentMismatchError, match="uint8 array"):
        read_matrix(np.zeros(1024, np.uint16), d, 8, 16, "f16")
    with pytest.raises(FragmentMismatchError, match="nothing outside of 4 bits"):
        image_of(np.full((8, 32), 16, np.uint8), "e2m1")
    with pytest.raises(FragmentMismatchError, match="share an address"):
        image_of(np.zeros((16, 16), np.uint16), "f16", leading=128, stride=128)
    with pytest.raises(FragmentMismatchError, match="pass leading="):
        image_of(np.zeros((8, 96), np.uint8), "e2m1", swizzle=128, leading_absolute=True)
    with pytest.raises(UnsupportedInstructionError, match="no swizzle of 256 bytes"):
        image_of(np.zeros((8, 16), np.uint16), "f16", swizzle=256)
