# SPDX-License-Identifier: MIT
"""OCP Microscaling Formats 1.0: the values of its tables in section 5, and its conversion of section 6.3."""

from bisect import bisect_left
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.quantise.arrays import EMAX, MX, spread
from wmma_emu.quantise import BLOCK_FORMATS, dequantise, quantise

VALUES = {
    "mxfp8_e4m3": {0x00: 0.0, 0x01: 2.0**-9, 0x07: 0.875 * 2.0**-6, 0x08: 2.0**-6, 0x7E: 448.0, 0xFE: -448.0},
    "mxfp8_e5m2": {0x00: 0.0, 0x01: 2.0**-16, 0x03: 0.75 * 2.0**-14, 0x04: 2.0**-14, 0x7B: 57344.0, 0x7C: np.inf},
    "mxfp6_e3m2": {0x00: 0.0, 0x01: 0.0625, 0x03: 0.1875, 0x04: 0.25, 0x1F: 28.0, 0x3F: -28.0},
    "mxfp6_e2m3": {0x00: 0.0, 0x01: 0.125, 0x07: 0.875, 0x08: 1.0, 0x1F: 7.5, 0x3F: -7.5},
    "mxfp4_e2m1": {0x0: 0.0, 0x1: 0.5, 0x2: 1.0, 0x3: 1.5, 0x4: 2.0, 0x5: 3.0, 0x6: 4.0, 0x7: 6.0, 0xF: -6.0},
    "mxint8": {0x00: 0.0, 0x01: 1 / 64, 0x40: 1.0, 0x7F: 1 + 63 / 64, 0x81: -1 - 63 / 64, 0x80: -2.0, 0xFF: -1 / 64},
}
"""Values of patterns: zero, the smallest and largest subnormal and normal numbers, infinity, integers."""


@pytest.mark.parametrize("name", MX)
def test_elements_have_the_values_of_the_tables_in_section_5(name):
    codes = np.resize(np.array(list(VALUES[name]), np.uint8), 32)
    values = dequantise(codes, np.array([127], np.uint8), name)
    assert values.tolist() == np.resize(list(VALUES[name].values()), 32).tolist()


def test_a_scale_is_a_power_of_two_or_nan():
    ones = np.full((256, 32), 0x40, np.uint8)
    values = dequantise(ones, np.arange(256, dtype=np.uint8)[:, None], "mxint8")[:, 0]
    assert values[:255].tolist() == [2.0 ** (x - 127) for x in range(255)]
    assert np.isnan(values[255])


@pytest.mark.parametrize("name", MX)
def test_blocks_are_of_32_elements_with_eight_bits_of_scale(name):
    row = BLOCK_FORMATS[name]
    assert (row.block, row.scale.name, row.max_exponent) == (32, "ue8m0", EMAX[name])
    assert row.bits_per_element == row.element.bits + 0.25


def by_section_6_3(block, name):
    """Return shared scale and elements in fractions: the nearer of two neighbours, ties to the even code."""
    amax = max(abs(Fraction(float(x))) for x in block)
    power = Fraction(1, 2**200)
    while power * 2 <= amax:
        power *= 2
    scale = power / 2 ** EMAX[name]
    dtype = BLOCK_FORMATS[name].element
    codes = np.arange(1 << dtype.bits, dtype=np.uint8)
    values = dequantise(np.resize(codes, 256), np.full(8, 127, np.uint8), name)[: len(codes)]
    table = [(Fraction(v), int(c)) for v, c in zip(values.tolist(), codes, strict=True) if np.isfinite(v)]
    positive = sorted(entry for entry in table if entry[0] >= 0 and not entry[1] >> (dtype.bits - 1))
    return scale, [_nearest(Fraction(float(x)) / scale, positive) for x in block]


def _nearest(x, positive):
    place = bisect_left(positive, (abs(x), 0))
    around = positive[max(place - 1, 0) : place + 1]
    magnitude = min(around, key=lambda entry: (abs(entry[0] - abs(x)), entry[1] % 2))[0]
    return magnitude if x > 0 else -magnitude


@pytest.mark.parametrize("name", MX)
def test_blocks_are_converted_as_in_section_6_3(name):
    blocks = spread(8, (4, 32), low=-60, high=60)
    blocks[0] = np.linspace(-6, 6, 32)
    blocks[1] = np.ldexp(1 + np.arange(32) / 32, 3)
    ours = quantise(blocks, name)
    for block, elements, byte in zip(blocks, ours.dequantise(), ours.scale_bits[:, 0], strict=True):
        scale, wanted = by_section_6_3(block, name)
        assert Fraction(2) ** (int(byte) - 127) == scale
        assert [Fraction(x) for x in elements.tolist()] == [x * scale for x in wanted]


@pytest.mark.oracle
@pytest.mark.parametrize("name", MX[:5])
def test_elements_are_the_casts_of_ml_dtypes_from_float32(name):
    blocks = spread(9, (400, 32), low=-20, high=20)
    ours = quantise(blocks, name)
    scaled = np.ldexp(blocks, 127 - ours.scale_bits.astype(np.int32))
    limit = np.float32(BLOCK_FORMATS[name].max_element)
    theirs = np.clip(scaled, -limit, limit).astype(ours.elements.dtype)
    assert theirs.dtype.type.__module__ == ml_dtypes.__name__
    assert (ours.element_bits == (theirs.view(np.uint8) & BLOCK_FORMATS[name].element.mask)).all()
