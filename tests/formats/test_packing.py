# SPDX-License-Identifier: MIT
"""Packing of elements into registers and unpacking."""

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats import FORMATS, format_of
from wmma_emu.formats.packing import elements_per_register, pack_words, unpack_axis, unpack_words


def random_elements(fmt, shape, seed=5):
    rng = np.random.default_rng(seed)
    return rng.integers(0, fmt.mask, shape, np.uint64, endpoint=True).astype(fmt.storage)


@pytest.mark.parametrize(
    ("name", "elements", "words"),
    [
        ("f64", [0x3FF0000000000000], [0x3FF0000000000000]),
        ("tf32", [0x3F800001, 2], [0x3F800001, 2]),
        ("f16", [0x1111, 0x2222, 0x3333, 0x4444], [0x22221111, 0x44443333]),
        ("s8", [0x80, 1, 2, 0xFF], [0xFF020180]),
        ("e3m2", [0x3F, 1, 2, 3], [0x0302013F]),
        ("s4", [0, 1, 2, 3, 4, 5, 6, 15], [0xF6543210]),
        ("b1", [1, 0, 1] + [0] * 28 + [1], [0x80000005]),
    ],
)
def test_the_first_element_is_in_the_lowest_bits(name, elements, words):
    fmt = format_of(name)
    got = pack_words(np.array(elements, fmt.storage), fmt)
    assert [hex(w) for w in got] == [hex(w) for w in words]
    assert unpack_words(got, fmt).tolist() == elements and got.dtype == (np.uint64 if name == "f64" else np.uint32)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("rest", [(), (32,), (2, 3, 32), (0, 32)])
def test_unpacking_inverts_packing_with_any_batch_between_registers_and_lanes(name, rest):
    fmt = format_of(name)
    for registers in (0, 1, 4):
        elements = random_elements(fmt, (registers * elements_per_register(fmt), *rest))
        words = pack_words(elements, fmt)
        assert words.shape == (registers, *rest)
        back = unpack_words(words, fmt)
        assert np.array_equal(back, elements) and back.dtype == fmt.storage


def test_strides_do_not_matter():
    fmt = format_of("e4m3")
    elements = random_elements(fmt, (32, 8))
    assert np.array_equal(pack_words(elements.T, fmt), pack_words(elements.T.copy(), fmt))


def test_elements_that_do_not_fill_registers_are_rejected():
    f16, s4 = format_of("f16"), format_of("s4")
    with pytest.raises(FragmentMismatchError, match="2 elements of f16 fill a register"):
        pack_words(np.zeros(3, np.uint16), f16)
    with pytest.raises(FragmentMismatchError, match="not float16"):
        pack_words(np.zeros(2, np.float16), f16)
    with pytest.raises(FragmentMismatchError, match="bits set outside the 4 of s4"):
        pack_words(np.full(8, 0xFF, np.uint8), s4)
    with pytest.raises(FragmentMismatchError, match="registers of f16 are uint32"):
        unpack_words(np.zeros(2, np.uint64), f16)
    with pytest.raises(FragmentMismatchError, match="registers of f64 are uint64"):
        unpack_words(np.zeros(2, np.uint32), format_of("f64"))


@pytest.mark.parametrize(("name", "count"), [("s4", 2), ("u4", 2), ("e2m1", 2), ("b1", 8)])
def test_packed_bytes_are_unpacked_along_either_axis(name, count):
    fmt = format_of(name)
    packed = np.random.default_rng(1).integers(0, 256, (3, 4, 5), np.uint8)
    along_rows, along_columns = unpack_axis(packed, fmt, -1), unpack_axis(packed, fmt, -2)
    assert along_rows.shape == (3, 4, 5 * count) and along_columns.shape == (3, 4 * count, 5)
    for e in range(count):
        want = (packed >> (e * fmt.bits)) & fmt.mask
        assert np.array_equal(along_rows[..., e::count], want)
        assert np.array_equal(along_columns[:, e::count, :], want)
    with pytest.raises(FragmentMismatchError, match="packed along axis -2, one of the last two"):
        unpack_axis(packed[0, 0], fmt, -2)
