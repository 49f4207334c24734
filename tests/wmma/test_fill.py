# SPDX-License-Identifier: MIT
"""What `fill_fragment` rounds, keeps and refuses."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wmma.fragment_types import B1, FRAGMENTS, S4, TF32, U4, A, C, filled, identity
from wmma_emu import wmma
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats import decode, format_of


def fragment_of(type_):
    return wmma.fragment(*next(row for row in FRAGMENTS if row[4] is type_))


def pattern(type_, value):
    frag = fragment_of(type_)
    wmma.fill_fragment(frag, value)
    assert len(set(frag.bits("x").flat)) == 1
    return int(frag.bits("x").flat[0])


@pytest.mark.parametrize("row", FRAGMENTS, ids=[identity(*row) for row in FRAGMENTS])
def test_every_fragment_is_filled_in_all_its_warps(row):
    frag = wmma.fragment(*row)
    wmma.fill_fragment(frag, 1)
    assert frag.x.shape == (frag.num_elements, 32) and (frag.x == 1).all()
    frag = filled(*row, warps=(2, 3))
    x = frag.x
    wmma.fill_fragment(frag, 0)
    assert frag.warps == (2, 3) and np.shares_memory(frag.x, x) and not frag.bits("x").any()


@pytest.mark.parametrize(
    ("type_", "value", "bits"),
    [
        (wmma.half, 1 + 2**-11, 0x3C00),
        (wmma.half, 1 + 2**-11 + 2**-40, 0x3C01),
        (wmma.half, 65520, 0x7C00),
        (wmma.half, 65519.999, 0x7BFF),
        (wmma.half, -0.0, 0x8000),
        (wmma.half, float("nan"), 0x7FFF),
        (wmma.half, float("-inf"), 0xFC00),
        (wmma.half, 2**-25, 0x0000),
        (wmma.half, 10**400, 0x7C00),
        (wmma.bfloat16, 1 + 2**-8 + 2**-40, 0x3F81),
        (wmma.bfloat16, 2**60 + 2**52 + 1, 0x5D81),
        (wmma.bfloat16, 2**60 + 2**52, 0x5D80),
        (wmma.float32, 2**24 + 1, 0x4B800000),
        (wmma.float32, 0.1, 0x3DCCCCCD),
        (TF32, 0.1, 0x3DCCCCCD),
        (wmma.double, 0.1, 0x3FB999999999999A),
        (wmma.int8, -128, 0x80),
        (wmma.int8, 5.0, 5),
        (wmma.uint8, 255, 255),
        (wmma.int32, -(2**31), 0x80000000),
        (wmma.int32, True, 1),
        (S4, -8, 8),
        (U4, 15, 15),
        (B1, True, 1),
        (B1, 0, 0),
    ],
)
def test_numbers_are_rounded_once_and_integers_kept(type_, value, bits):
    assert pattern(type_, value) == bits


@pytest.mark.parametrize(
    ("type_", "scalar", "bits"),
    [
        (wmma.half, np.uint16(0x7C01).view(np.float16), 0x7C01),
        (wmma.bfloat16, np.uint16(0xFF81).view(ml_dtypes.bfloat16), 0xFF81),
        (wmma.float32, np.uint32(0x7F812345).view(np.float32), 0x7F812345),
        (TF32, np.uint32(0x3F800001).view(np.float32), 0x3F800001),
        (wmma.double, np.uint64(0x7FF0000000000001).view(np.float64), 0x7FF0000000000001),
        (wmma.int8, np.int8(-1), 0xFF),
        (S4, ml_dtypes.int4(-1), 0xF),
        (B1, np.bool_(True), 1),
        (wmma.float32, np.array(2.0, np.float32), 0x40000000),
        (wmma.float32, np.float16(0.1), 0x3DCCC000),
        (wmma.half, np.float32(1 + 2**-11 + 2**-23), 0x3C01),
        (wmma.half, ml_dtypes.bfloat16(-2), 0xC000),
        (wmma.half, np.uint16(1), 0x3C00),
        (wmma.int32, np.int64(-5), 0xFFFFFFFB),
        (wmma.float32, np.float32("nan"), 0x7FC00000),
        (wmma.half, np.float32("nan"), 0x7FFF),
    ],
)
def test_scalars_of_the_elements_dtype_keep_their_bits_and_others_their_value(type_, scalar, bits):
    assert pattern(type_, scalar) == bits


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (wmma.int8, 128), (wmma.int8, -129), (wmma.uint8, -1), (wmma.uint8, 256), (wmma.int32, 2**31),
        (wmma.int8, 0.5), (wmma.int32, float("nan")), (wmma.int32, float("inf")), (wmma.int32, 10**400),
        (S4, 8), (U4, 16), (B1, 2), (B1, -1), (wmma.int8, np.uint8(200)), (wmma.int32, np.uint32(2**31)),
        (wmma.half, "1"), (wmma.half, None), (wmma.half, 1j), (wmma.half, [1.0]), (wmma.half, np.zeros(3)),
        (wmma.half, np.complex64(1)), (wmma.float32, Fraction(1, 3)), (wmma.half, np.str_("1")),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_and_the_fragment_stays_as_it_was(type_, value):
    frag = fragment_of(type_)
    with pytest.raises(FragmentMismatchError):
        wmma.fill_fragment(frag, value)
    assert not frag.is_initialised


@given(st.fractions(min_value=-70000, max_value=70000).map(float), st.sampled_from([wmma.half, wmma.bfloat16]))
@pytest.mark.property
def test_the_nearest_number_of_the_format_is_taken(value, type_):
    fmt = format_of(type_.format)
    bits = pattern(type_, value)
    magnitude = bits & (fmt.mask >> 1)
    if magnitude >= fmt.max_finite:
        return
    around = np.array([max(magnitude - 1, 0), magnitude, magnitude + 1], fmt.storage)
    low, here, high = (Fraction(x) for x in decode(around, fmt).tolist())
    exact = abs(Fraction(value))
    assert abs(here - exact) <= min(abs(low - exact) if magnitude else abs(here - exact), abs(high - exact))
    tie = abs(here - exact) in (abs(high - exact), abs(low - exact) if magnitude else None)
    assert not tie or magnitude % 2 == 0


def test_only_fragments_are_filled():
    with pytest.raises(FragmentMismatchError, match="frag is a fragment"):
        wmma.fill_fragment(np.zeros((8, 32)), 0.0)
    wmma.fill_fragment(wmma.fragment(A, 8, 8, 4, wmma.double, wmma.row_major), 1)
    wmma.fill_fragment(wmma.fragment(C, 8, 8, 4, wmma.double), np.float64(1))
