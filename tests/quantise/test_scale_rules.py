# SPDX-License-Identifier: MIT
"""A rule's scale is the only power of two whose interval contains the largest magnitude."""

import ml_dtypes
import numpy as np
import pytest

from tests.quantise.arrays import BF16, EMAX, FRACTION_BITS, LARGEST, MX, MX_RULES, spread
from wmma_emu.formats.dtypes import format_of_dtype
from wmma_emu.quantise import BLOCK_FORMATS, quantise
from wmma_emu.quantise.rules import scale_exponents

pytest.importorskip("gfloat")
from gfloat import compute_scale_amax


def scales_of(amax, name, rule):
    """Return the exponents of the scales of blocks with these magnitudes."""
    fmt = format_of_dtype(amax.dtype)
    return scale_exponents(amax.view(fmt.storage), fmt, BLOCK_FORMATS[name], rule)


@pytest.mark.parametrize("rule", MX_RULES)
@pytest.mark.parametrize("name", MX)
def test_a_block_is_scaled_by_its_largest_magnitude_wherever_it_is(name, rule):
    x = spread(1, (64, 64))
    ours = quantise(x, name, rule=rule).scale_bits
    assert (ours == scales_of(np.abs(x).reshape(64, 2, 32).max(axis=-1), name, rule) + 127).all()


def intervals(name, rule):
    """Return the lower and upper end of amax / scale, and whether the lower end (not the upper) is included."""
    top, largest = 2.0 ** EMAX[name], LARGEST[name]
    carry = 2 - 2.0 ** -(FRACTION_BITS[name] + 1)
    return {
        "floor": (top, 2 * top, True),
        "ceil": (top / 2, top, False),
        "rceil": (largest / 2, largest, False),
        "even": (carry * top / 2, carry * top, True),
        "rne": (0.75 * largest, 1.5 * largest, True),
    }[rule]


def is_within(amax, name, rule, exponent):
    """Return whether amax / 2**exponent is in the rule's interval; ldexp of few bits is exact in float64."""
    low, high, closed_below = intervals(name, rule)
    quotient = np.ldexp(amax.astype(np.float64), -exponent)
    return (quotient >= low) & (quotient < high) if closed_below else (quotient > low) & (quotient <= high)


def check(amax, name, rule):
    exponent = scales_of(amax, name, rule)
    low, high, _ = intervals(name, rule)
    quotient = np.ldexp(amax.astype(np.float64), -exponent)
    right = is_within(amax, name, rule, exponent)
    right |= (exponent == -127) & (quotient <= high)
    right |= (exponent == 127) & (quotient >= low)
    assert right.all(), amax[~right][:5]


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", MX_RULES)
@pytest.mark.parametrize("name", MX)
def test_every_bfloat16_gets_the_scale_whose_interval_contains_it(name, rule):
    check(BF16, name, rule)


@pytest.mark.parametrize("rule", MX_RULES)
@pytest.mark.parametrize("name", MX)
def test_numbers_next_to_a_boundary_of_a_rule_get_the_scale_of_their_side(name, rule):
    low, high, _ = intervals(name, rule)
    ends = np.ldexp([[low], [high], [1.0]], np.arange(-130, 128)).ravel()
    for dtype, bits in ((np.float32, np.uint32), (np.float64, np.uint64)):
        kept = ends[ends < np.finfo(dtype).max].astype(dtype)
        near = np.concatenate([(kept.view(bits) + bits(step)).view(dtype) for step in (0, 1, 2)])
        near = np.concatenate([near, (kept[kept > 0].view(bits) - bits(1)).view(dtype)])
        check(near[np.isfinite(near)], name, rule)


@pytest.mark.parametrize("rule", MX_RULES)
def test_float64_numbers_beyond_the_scales_get_the_first_or_last_scale(rule):
    amax = np.array([2.0**1000, np.finfo(np.float64).max, 2.0**-1000, 5e-324, 0.0])
    assert scales_of(amax, "mxfp8_e4m3", rule).tolist() == [127, 127, -127, -127, -127]


@pytest.mark.oracle
@pytest.mark.parametrize("name", MX)
def test_floor_matches_gfloat(name):
    fractions = np.array([0, 1, 63, 64, 65, 126, 127], np.uint16)
    amax = (np.arange(255, dtype=np.uint16)[:, None] << 7 | fractions).ravel().view(ml_dtypes.bfloat16)
    wanted = [np.log2(compute_scale_amax(EMAX[name], np.array([x]))) for x in amax.astype(np.float64)]
    assert scales_of(amax, name, "floor").tolist() == wanted


@pytest.mark.oracle
@pytest.mark.parametrize("name", MX[:5])
def test_rne_is_the_cast_of_ml_dtypes_if_the_quotient_is_a_float32(name):
    # Only quotients of at least 2**-126: below, ml_dtypes 0.6.0 casts 1.25 * 2**-128 to 2**-126.
    random = np.random.RandomState(6)
    exponent = np.arange(1, 254 - EMAX[name], dtype=np.uint32)[:, None] << np.uint32(23)
    fraction = np.concatenate([random.randint(0, 1 << 23, 20), [0, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFF]])
    quotient = (exponent | fraction.astype(np.uint32)).ravel().view(np.float32)
    wanted = quotient.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8).astype(int) - 127
    assert (scales_of(quotient.astype(np.float64) * LARGEST[name], name, "rne") == wanted).all()


def rceil_in_float32(amax, largest, way):
    """Return the scale as computed by libraries: a float32 quotient, its exponent plus 1 if a fraction bit is set."""
    with np.errstate(under="ignore"):
        scale = amax / np.float32(largest) if way == "divide" else amax * (np.float32(1) / np.float32(largest))
    bits = scale.view(np.uint32).astype(int)
    field, fraction = bits >> 23, bits & 0x7FFFFF
    return field + np.where(field == 0, fraction > 0x400000, fraction != 0) - 127


@pytest.mark.parametrize("way", ["divide", "multiply"])
@pytest.mark.parametrize("name", MX[:5])
def test_rceil_in_float32_differs_for_only_one_amax(name, way):
    largest = LARGEST[name]
    ends = np.ldexp(np.float32(largest), np.arange(-127, 127 - EMAX[name]))
    steps = np.arange(-40, 41, dtype=np.int64)
    near = (ends.view(np.uint32).astype(np.int64)[:, None] + steps).ravel().astype(np.uint32).view(np.float32)
    amax = np.unique(np.concatenate([near, BF16.astype(np.float32)]))
    differ = amax[scales_of(amax, name, "rceil") != rceil_in_float32(amax, largest, way)]
    after = np.nextafter(np.float32(np.ldexp(largest, -127)), np.float32(1))
    assert differ.tolist() == [after]


@pytest.mark.slow
@pytest.mark.parametrize("name", MX[:5])
def test_rceil_in_float32_is_exact_for_every_fraction(name):
    amax = np.arange(1 << 23, dtype=np.uint32) + np.uint32(127 << 23)
    for piece in np.split(amax.view(np.float32), 64):
        wanted = rceil_in_float32(piece, LARGEST[name], "multiply")
        assert (scales_of(piece, name, "rceil") == wanted).all()


def even_by_adding_half(amax, name):
    """Return the scale as in torchao: add half of the last kept bit to the float32's bits, then read the exponent."""
    bits = amax.view(np.uint32) + np.uint32(1 << (23 - FRACTION_BITS[name] - 1))
    return np.clip((bits >> np.uint32(23)).astype(int) - 127 - EMAX[name], -127, 127)


def ceil_by_adding_one(amax, name):
    bits = amax.view(np.uint32).astype(int)
    return np.clip((bits >> 23) - 127 + ((bits & 0x7FFFFF) > 0) - EMAX[name], -127, 127)


@pytest.mark.parametrize("name", MX[:5])
@pytest.mark.parametrize(("rule", "way"), [("even", even_by_adding_half), ("ceil", ceil_by_adding_one)])
def test_even_and_ceil_are_the_bit_operations_of_torchao(rule, way, name):
    random = np.random.RandomState(5)
    amax = np.concatenate(
        [random.randint(0, 0x7F800000, 4000).astype(np.uint32).view(np.float32), BF16[::5].astype(np.float32)]
    )
    assert (scales_of(amax, name, rule) == way(amax, name)).all()
