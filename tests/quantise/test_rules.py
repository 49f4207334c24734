# SPDX-License-Identifier: MIT
"""Facts about block-scaled formats, one at a time, with bits from the OCP specification and from cuBLAS's manual."""

import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError
from wmma_emu.quantise import blocked_offset, dequantise, quantise, to_blocked

NAN = float("nan")


def block(*numbers: float, size: int = 32) -> np.ndarray:
    """Return one block of float32: the given numbers, padded with zeros."""
    return np.array([*numbers, *[0.0] * (size - len(numbers))], np.float32)


def quantised(name: str, *numbers: float, **options: object) -> tuple[int, list[int]]:
    """Return the scale of a block of 32 and the elements of its first numbers."""
    result = quantise(block(*numbers), name, **options)
    return int(result.scale_bits[0]), result.element_bits[: len(numbers)].tolist()


def test_a_block_of_32_elements_shares_a_power_of_two():
    # 448 has the exponent 8, and so has the largest e4m3: the scale is 2**0, byte 127.
    assert quantised("mxfp8_e4m3", 448.0, 1.0, -0.3) == (0x7F, [0x7E, 0x38, 0xAA])
    # 1.0 is 2**8 times 2**-8.
    assert quantised("mxfp8_e4m3", 1.0) == (0x77, [0x78])


def test_elements_are_rounded_to_nearest_even():
    assert quantised("mxfp4_e2m1", 6.0, 0.25, 0.75, 2.5, 5.0, -1.5) == (0x7F, [0x7, 0x0, 0x2, 0x4, 0x6, 0xB])


@pytest.mark.parametrize(("rule", "scale", "element"), [
    ("floor", 0x7F, 0x7), ("ceil", 0x80, 0x6), ("rceil", 0x80, 0x6), ("even", 0x80, 0x6), ("rne", 0x7F, 0x7),
])  # fmt: skip
def test_rules_differ_for_a_magnitude_above_the_largest_element(rule, scale, element):
    # 7.9 is 1.32 * 6. It saturates to 6 with the scale 1; with the scale 2 it is 3.95, rounded to 4.
    assert quantised("mxfp4_e2m1", 7.9, rule=rule) == (scale, [element])


@pytest.mark.parametrize(("rule", "scale"), [("floor", 0x7F), ("ceil", 0x80), ("rceil", 0x80), ("even", 0x7F)])
def test_even_rounds_the_magnitude_before_its_exponent_is_taken(rule, scale):
    # 6.5 is rounded to 6 with one fraction bit; 6.5 / 6 is above 1.
    assert quantised("mxfp4_e2m1", 6.5, rule=rule)[0] == scale


def test_an_mxint8_element_counts_64ths():
    assert quantised("mxint8", 1.0, -1.0, 1 / 64) == (0x7F, [0x40, 0xC0, 0x01])


def test_the_smallest_mxint8_element_is_minus_127_unless_symmetric_is_false():
    assert quantised("mxint8", 1.999, -1.999) == (0x7F, [0x7F, 0x81])
    assert quantised("mxint8", 1.999, -1.999, symmetric=False) == (0x7F, [0x7F, 0x80])


def test_a_block_of_zeros_has_the_smallest_scale_and_keeps_its_signs():
    assert quantised("mxfp8_e4m3", 0.0, -0.0) == (0x00, [0x00, 0x80])


def test_a_nan_or_an_infinity_affects_only_its_block():
    result = quantise(np.concatenate([block(1.0, NAN), block(448.0)]), "mxfp8_e4m3")
    assert result.scale_bits.tolist() == [0xFF, 0x7F]
    assert result.element_bits[:2].tolist() == [0x7F, 0x7F] and result.element_bits[32] == 0x7E


def test_a_short_last_block_is_rejected_or_padded_with_zeros():
    x = np.ones(33, np.float32)
    with pytest.raises(FragmentMismatchError, match="has 33 elements, and mxint8 has blocks of 32"):
        quantise(x, "mxint8")
    padded = quantise(x, "mxint8", pad=True)
    assert padded.elements.shape == (64,) and padded.element_bits[32:].tolist() == [0x40, *[0] * 31]


def test_nvfp4_scales_blocks_of_16_with_e4m3_and_the_tensor_with_float32():
    x = np.concatenate([block(2688.0, size=16), block(1.0, size=16)])
    result = quantise(x, "nvfp4")
    # 2688 = 448 * 6, so the tensor scale is 1 and the first block scale 448. 1 / 6 is rounded to 11 / 64.
    assert result.tensor_scale == np.float32(1.0)
    assert result.scale_bits.tolist() == [0x7E, 0x23]
    # 1 / (11 / 64) is 5.8, rounded to 6.
    assert (result.element_bits[0], result.element_bits[16]) == (0x7, 0x7)
    assert result.dequantise()[16] == 6 * 11 / 64


def test_an_element_times_its_scale_is_exact():
    assert dequantise(np.full(32, 0x38, np.uint8), np.array([0x80], np.uint8), "mxfp8_e4m3")[0] == 2.0
    assert np.isnan(dequantise(np.zeros(32, np.uint8), np.array([0xFF], np.uint8), "mxfp8_e4m3")).all()


@pytest.mark.parametrize(("row", "column", "offset"), [(0, 3, 3), (32, 0, 4), (1, 0, 16), (0, 4, 512), (128, 0, 1024)])
def test_the_blocked_order_has_tiles_of_128_rows_by_4_columns(row, column, offset):
    assert blocked_offset(row, column, 8) == offset
    scales = np.zeros((256, 8), np.uint8)
    scales[row, column] = 0x7F
    assert np.flatnonzero(to_blocked(scales)).tolist() == [offset]
