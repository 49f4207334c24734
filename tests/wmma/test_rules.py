# SPDX-License-Identifier: MIT
"""Facts about `mma.h` in Python, one at a time: fragments, loads, stores, fills, products."""

import numpy as np
import pytest

from wmma_emu import wmma
from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
)


def accumulator(type_=wmma.float32, **options):
    return wmma.fragment(wmma.accumulator, 16, 16, 16, type_, **options)


def multiplicand(use=wmma.matrix_a, type_=wmma.half, **options):
    return wmma.fragment(use, 16, 16, 16, type_, wmma.row_major, **options)


def test_a_fragment_of_eight_elements_a_lane_is_a_16x16_accumulator():
    assert accumulator().num_elements == 8


def test_a_new_fragment_is_uninitialised_and_cannot_be_read():
    with pytest.raises(FragmentMismatchError, match="uninitialised"):
        accumulator().to_matrix()


def test_the_elements_of_a_fragment_are_its_x():
    c = accumulator()
    wmma.fill_fragment(c, 1.5)
    for i in range(c.num_elements):
        c.x[i] *= 2
    assert (c.registers() == 0x4040_0000).all()  # 3.0


def test_mma_h_multiplies_tf32_with_k_of_8_only():
    with pytest.raises(UnsupportedInstructionError, match="m, n, k = 16, 16, 8"):
        multiplicand(type_=wmma.precision.tf32)


def test_a_fill_is_rounded_once_to_nearest_even():
    c = accumulator(wmma.half)
    wmma.fill_fragment(c, 1 + 2**-11 + 2**-40)  # just above a tie, which float32 would lose
    assert (c.x.view(np.uint16) == 0x3C01).all()


def test_a_load_takes_the_tile_at_the_pointer():
    a = wmma.fragment(wmma.matrix_a, 16, 16, 8, wmma.precision.tf32, wmma.row_major)
    wmma.load_matrix_sync(a, np.arange(32 * 16, dtype=np.float32), 32)
    assert a.x[:, 5].tolist() == [33, 289, 37, 293]  # rows 1 and 9, columns 1 and 5


def test_ldm_is_a_multiple_of_16_bytes():
    with pytest.raises(AlignmentError, match="legal values are multiples of"):
        wmma.load_matrix_sync(multiplicand(), np.zeros(1024, np.float16), 20)


def test_a_pointer_is_a_multiple_of_32_bytes_for_f16_multiplicands():
    with pytest.raises(AlignmentError, match="multiples of 32 bytes"):
        wmma.load_matrix_sync(multiplicand(), np.zeros(1024, np.float16)[8:], 16)


def test_a_tile_must_be_inside_the_array():
    with pytest.raises(OutOfBoundsError):
        wmma.load_matrix_sync(multiplicand(), np.zeros(255, np.float16), 16)


def test_a_store_changes_only_its_tile():
    c = wmma.fragment(wmma.accumulator, 8, 8, 32, wmma.int32)
    wmma.fill_fragment(c, 7)
    D = np.zeros((16, 16), np.int32)
    wmma.store_matrix_sync(D[8:, 8:], c, layout=wmma.mem_row_major)
    assert (D[8:, 8:] == 7).all()
    assert D.sum() == 7 * 64


def test_only_accumulators_are_stored():
    a = multiplicand()
    wmma.fill_fragment(a, 1)
    with pytest.raises(FragmentMismatchError, match=r"mma.h stores accumulators only"):
        wmma.store_matrix_sync(np.zeros((16, 16), np.float16), a)


def test_a_product_adds_c():
    a, b, c = multiplicand(), multiplicand(wmma.matrix_b), accumulator()
    for fragment, value in (a, 1), (b, 1), (c, 0.5):
        wmma.fill_fragment(fragment, value)
    wmma.mma_sync(c, a, b, c)
    assert (c.x == 16.5).all()


@pytest.mark.parametrize(("satf", "bits"), [(False, 0x8002_70FF), (True, 0x7FFF_FFFF)])
def test_integers_wrap_or_are_clamped_with_satf(satf, bits):
    a, b, c = multiplicand(type_=wmma.int8), multiplicand(wmma.matrix_b, wmma.int8), accumulator(wmma.int32)
    for fragment, value in (a, 100), (b, 100), (c, 2**31 - 1):
        wmma.fill_fragment(fragment, value)
    wmma.mma_sync(c, a, b, c, satf=satf)  # 2**31 - 1 + 16 * 10000
    assert (c.x.view(np.uint32) == bits).all()


def test_satf_on_f16_products_warns_because_chips_since_ampere_ignore_it():
    a, b, c = multiplicand(), multiplicand(wmma.matrix_b), accumulator()
    for fragment in (a, b, c):
        wmma.fill_fragment(fragment, np.inf)
    with pytest.warns(UnspecifiedBehaviourWarning):
        wmma.mma_sync(c, a, b, c, satf=True)
    assert (c.x.view(np.uint32) == 0x7F7F_FFFF).all()  # the largest finite float32


def test_the_conversion_to_tf32_rounds_ties_away_from_zero():
    given = np.array([0x3F80_0FFF, 0x3F80_1000, 0xBF80_1000], np.uint32)
    rounded = wmma.float_to_tf32(given.view(np.float32)).view(np.uint32)
    assert rounded.tolist() == [0x3F80_0000, 0x3F80_2000, 0xBF80_2000]
