# SPDX-License-Identifier: MIT
"""The rules of `nvcuda::wmma::experimental`, one fact each: types of less than a byte, and products of single bits."""

import numpy as np
import pytest

from wmma_emu import wmma
from wmma_emu.errors import WmmaEmuError
from wmma_emu.wmma import experimental
from wmma_emu.wmma.experimental import precision

K = 128


def product(a, b, c, *operation):
    """Return an element of D for the first elements of A and B along k; all others are 0."""
    A, B = np.zeros((8, K), np.uint8), np.zeros((K, 8), np.uint8)
    A[:, : len(a)], B[: len(b)] = a, np.array(b)[:, None]
    # In memory, 8 elements are a byte, the first in the lowest bit.
    bytes_of_a, bytes_of_b = (np.packbits(x, bitorder="little") for x in (A, B.T))
    of_a = wmma.fragment(wmma.matrix_a, 8, 8, K, precision.b1, wmma.row_major)
    of_b = wmma.fragment(wmma.matrix_b, 8, 8, K, precision.b1, wmma.col_major)
    of_c = wmma.fragment(wmma.accumulator, 8, 8, K, wmma.int32)
    wmma.load_matrix_sync(of_a, bytes_of_a, K)
    wmma.load_matrix_sync(of_b, bytes_of_b, K)
    wmma.fill_fragment(of_c, c)
    experimental.bmma_sync(of_c, of_a, of_b, of_c, *operation)
    (value,) = set(of_c.to_matrix().reshape(-1).tolist())
    return value


def test_types_of_less_than_a_byte_are_named_after_their_bits():
    assert [x.name for x in (precision.s4, precision.u4, precision.b1)] == ["s4", "u4", "b1"]


def test_a_product_of_bits_counts_the_differing_bits_by_default():
    assert product([1, 1, 0, 0], [1, 0, 1, 0], 0) == 2
    assert product([1, 1, 0, 0], [1, 0, 1, 0], 5) == 7


def test_with_and_a_product_of_bits_counts_the_common_bits():
    assert product([1, 1, 0, 1], [1, 0, 1, 1], 0, experimental.bmmaBitOpAND) == 2
    assert product([1, 1, 0, 1], [1, 0, 1, 1], 0, experimental.bmmaBitOpXOR) == 2
    assert product([1, 1, 1, 1], [1, 1, 1, 1], 0, experimental.bmmaBitOpAND) == 4
    assert product([1, 1, 1, 1], [1, 1, 1, 1], 0, experimental.bmmaBitOpXOR) == 0


def test_counts_are_added():
    both = experimental.bmmaBitOpAND, experimental.bmmaAccumulateOpPOPC
    assert product([1], [1], -3, *both) == -2


@pytest.mark.parametrize("layout", [wmma.col_major, None])
def test_a_of_4_bits_or_1_bit_is_row_major_only(layout):
    for element in (precision.s4, precision.u4):
        with pytest.raises(WmmaEmuError):
            wmma.fragment(wmma.matrix_a, 8, 8, 32, element, layout)
    with pytest.raises(WmmaEmuError):
        wmma.fragment(wmma.matrix_a, 8, 8, K, precision.b1, layout)


def test_4_bit_integers_have_one_shape():
    assert wmma.fragment(wmma.matrix_a, 8, 8, 32, precision.s4, wmma.row_major).num_elements == 8
    with pytest.raises(WmmaEmuError):
        wmma.fragment(wmma.matrix_a, 16, 16, 16, precision.s4, wmma.row_major)
