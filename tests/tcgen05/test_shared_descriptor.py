# SPDX-License-Identifier: MIT
"""The shared-memory descriptor of tcgen05: every field in both directions, and every illegal word."""

import numpy as np
import pytest

from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnsupportedInstructionError,
    WmmaEmuError,
)
from wmma_emu.instructions import arch_of
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.tcgen05 import SharedMemoryDescriptor
from wmma_emu.tcgen05.shared_descriptor import descriptor_on

CODES = {0: 0, "128B with 32B atoms": 1, 128: 2, 64: 4, 32: 6}
"""Swizzle modes and bits 63 to 61 (PTX ISA, 9.7.16.4.1)."""

LEGAL = 0x4000404000010040
"""start 1024, leading 16, stride 1024, swizzle of 128 bytes."""


def field(word, high, low):
    return word >> low & (1 << high - low + 1) - 1


def test_a_word_has_its_fields_where_the_manual_has_them():
    d = SharedMemoryDescriptor(start=0x12340, leading=0x2540, stride=0x3F0, swizzle=64, base_offset=5)
    word = d.encode()
    assert field(word, 13, 0) == 0x1234
    assert field(word, 29, 16) == 0x254
    assert field(word, 45, 32) == 0x3F
    assert field(word, 48, 46) == 0b001
    assert field(word, 51, 49) == 5
    assert field(word, 52, 52) == 0
    assert field(word, 63, 61) == 4
    assert word == 0x1234 | 0x254 << 16 | 0x3F << 32 | 1 << 46 | 5 << 49 | 4 << 61


@pytest.mark.parametrize("name", ["start", "leading", "stride"])
def test_every_value_of_an_address_field_returns(name):
    low = {"start": 0, "leading": 16, "stride": 32}[name]
    others = dict.fromkeys({"start", "leading", "stride"} - {name}, 48)
    for units in (*range(0, 1 << 14, 7), (1 << 14) - 1):
        d = SharedMemoryDescriptor(**others, **{name: 16 * units})
        assert field(d.encode(), low + 13, low) == units
        assert SharedMemoryDescriptor.decode(d.encode()) == d


@pytest.mark.parametrize(("swizzle", "code"), CODES.items(), ids=str)
def test_every_swizzle_mode_returns_with_every_base_offset(swizzle, code):
    for base_offset in range(8 if swizzle else 1):
        d = SharedMemoryDescriptor(0, 16, 1024, swizzle, base_offset)
        assert (field(d.encode(), 63, 61), field(d.encode(), 51, 49)) == (code, base_offset)
        assert SharedMemoryDescriptor.decode(d.encode()) == d


def test_an_absolute_leading_dimension_returns():
    d = SharedMemoryDescriptor(0, 2048, 1024, 128, leading_absolute=True)
    assert field(d.encode(), 52, 52) == 1
    assert SharedMemoryDescriptor.decode(d.encode()) == d
    assert SharedMemoryDescriptor(0, 2048, 1024, 128, leading_absolute=1) == d


def test_random_fields_return():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        start, leading, stride = (16 * int(x) for x in rng.integers(0, 1 << 14, 3))
        swizzle = list(CODES)[rng.integers(5)]
        absolute = bool(swizzle == 128 and rng.integers(2))
        base_offset = int(rng.integers(8)) if swizzle and not absolute else 0
        d = SharedMemoryDescriptor(start, leading, stride, swizzle, base_offset, absolute)
        assert SharedMemoryDescriptor.decode(d.encode()) == d
        assert SharedMemoryDescriptor.decode(np.uint64(d.encode())) == d


def is_legal(word):
    """Whether 64 bits are a descriptor, after the manual's table."""
    if field(word, 15, 14) or field(word, 31, 30) or field(word, 60, 53) or field(word, 48, 46) != 1:
        return False
    code, base_offset, absolute = field(word, 63, 61), field(word, 51, 49), field(word, 52, 52)
    if code in (3, 5, 7) or (base_offset and code == 0):
        return False
    return not absolute or (code == 2 and base_offset == 0)


def test_a_thousand_random_words_are_errors():
    rng = np.random.default_rng(1)
    words = [int(x) for x in rng.integers(0, 1 << 64, 1000, np.uint64)]
    assert not any(is_legal(word) for word in words)
    for word in words:
        with pytest.raises(UnsupportedInstructionError, match=hex(word)[2:].zfill(16)):
            SharedMemoryDescriptor.decode(word)


def test_words_with_one_or_two_wrong_bits_are_errors_and_all_others_are_read():
    refused = 0
    for first in range(64):
        for second in range(first, 64):
            word = LEGAL ^ (1 << first) ^ (0 if second == first else 1 << second)
            if is_legal(word):
                assert SharedMemoryDescriptor.decode(word).encode() == word
                continue
            refused += 1
            with pytest.raises(UnsupportedInstructionError):
                SharedMemoryDescriptor.decode(word)
    assert refused > 700


@pytest.mark.parametrize(("bit", "text"), [
    (14, "reserved bits set: 14; reserved bits are 14, 15, 30, 31 and 53 to 60"), (60, "reserved bits set: 60"),
    (46, "0b000 in bits 48 to 46, which must be 0b001"), (48, "0b101 in bits 48 to 46"),
    (61, r"swizzle code 3 in bits 63 to 61; legal codes are 0 \(0\), 6 \(32\), 4 \(64\), 2 \(128\), 1 \(128B with 32B"),
])  # fmt: skip
def test_messages_say_which_bits_are_wrong_and_what_is_legal(bit, text):
    with pytest.raises(UnsupportedInstructionError, match=text):
        SharedMemoryDescriptor.decode(LEGAL ^ 1 << bit)


def test_a_descriptor_of_wgmma_is_none():
    word = MatrixDescriptor(1024, 16, 1024, 128).encode()
    with pytest.raises(UnsupportedInstructionError, match="descriptor of wgmma"):
        SharedMemoryDescriptor.decode(word)


@pytest.mark.parametrize("word", [-1, 1 << 64, 1.5, "0x0", None, LEGAL + 0.0])
def test_a_word_is_an_integer_of_64_bits(word):
    with pytest.raises(FragmentMismatchError, match="64 bits"):
        SharedMemoryDescriptor.decode(word)


@pytest.mark.parametrize(("fields", "error"), [
    ({"start": 8}, AlignmentError), ({"leading": 1}, AlignmentError), ({"stride": 1032}, AlignmentError),
    ({"start": 1 << 18}, OutOfBoundsError), ({"leading": -16}, OutOfBoundsError),
    ({"stride": 1 << 40}, OutOfBoundsError),
    ({"swizzle": 16}, UnsupportedInstructionError), ({"swizzle": "128"}, UnsupportedInstructionError),
    ({"swizzle": None}, UnsupportedInstructionError), ({"swizzle": True}, UnsupportedInstructionError),
    ({"base_offset": 1}, UnsupportedInstructionError),
    ({"base_offset": 8, "swizzle": 128}, UnsupportedInstructionError),
    ({"base_offset": -1, "swizzle": 128}, UnsupportedInstructionError), ({"base_offset": 0.5}, FragmentMismatchError),
    ({"leading_absolute": True}, UnsupportedInstructionError), ({"start": "0"}, FragmentMismatchError),
    ({"leading_absolute": True, "swizzle": 64}, UnsupportedInstructionError),
    ({"leading_absolute": True, "swizzle": 128, "base_offset": 1}, UnsupportedInstructionError),
    ({"leading_absolute": 2, "swizzle": 128}, UnsupportedInstructionError), ({"stride": None}, FragmentMismatchError),
])  # fmt: skip
def test_fields_that_do_not_exist_are_refused(fields, error):
    with pytest.raises(error) as caught:
        SharedMemoryDescriptor(**({"start": 0, "leading": 16, "stride": 128} | fields))
    assert isinstance(caught.value, WmmaEmuError)


def test_a_descriptor_moves_by_bytes():
    d = SharedMemoryDescriptor(1024, 16, 1024, 128, base_offset=3)
    assert d.moved(32).encode() == d.encode() + 2 and d.moved(np.int64(-1024)).start == 0 and d.moved(0) == d
    for by, error in (
        (8, AlignmentError), (-2048, OutOfBoundsError), (1 << 18, OutOfBoundsError), ("32", FragmentMismatchError),
        (32.0, FragmentMismatchError), (True, FragmentMismatchError),
    ):  # fmt: skip
        with pytest.raises(error):
            d.moved(by)


def test_an_absolute_leading_dimension_is_read_on_sm_103_alone():
    plain = SharedMemoryDescriptor(0, 2048, 1024, 128)
    absolute = SharedMemoryDescriptor(0, 2048, 1024, 128, leading_absolute=True)
    for chip in ("sm_100", "sm_103"):
        assert descriptor_on(plain.encode(), arch_of(chip)) == plain
    assert descriptor_on(absolute, arch_of("sm_103")) is absolute
    for given in (absolute, absolute.encode(), np.uint64(absolute.encode())):
        with pytest.raises(UnsupportedInstructionError, match="exists on sm_103, not on sm_100"):
            descriptor_on(given, arch_of("sm_100"))
