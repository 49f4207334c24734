# SPDX-License-Identifier: MIT
"""Patterns of operands as the values with which native code computes."""

from typing import Any, NamedTuple

import numpy as np

from wmma_emu.formats import Format
from wmma_emu.llvm.values import Symbol

NONE = -(1 << 14)
"""The exponent of zeros: a sum with it is below all others."""

SPECIAL = 1 << 16
"""The exponent of infinities and NaN: a sum with it is above all others."""


class Number(NamedTuple):
    """Numbers of an operand: float32 or float64 values, and for aligned sums their exponents, int32."""

    value: Any
    exponent: Any = None


def exponent_of(value: Symbol, smallest: int) -> Any:
    """Return the exponents of float32 values; subnormals of a format with this smallest exponent share it."""
    field = (value.view(np.int32) >> 23 & 255) - 127
    exponent = np.maximum(field, np.int32(smallest))
    exponent = np.where(field == 128, np.int32(SPECIAL), exponent)
    return np.where(value == np.float32(0), np.int32(NONE), exponent)


def value_of(pattern: Symbol, fmt: Format) -> Any:
    """Convert patterns, uint32 (uint64 for f64), to values in float32 (float64): exactly, with some NaN for a NaN."""
    if fmt.name == "f64":
        return pattern.view(np.float64)
    if not fmt.is_float:
        return _integer(pattern, fmt)
    if fmt.exponent_bits == 8 and fmt.bias == 127 and fmt.nan == "ieee":
        word = pattern << (32 - fmt.bits) if fmt.bits < 32 else pattern
        return (word & np.uint32((1 << 32) - (1 << fmt.ignored_low_bits))).view(np.float32)
    if fmt.exponent_bits == 5 and fmt.bias == 15 and fmt.nan == "ieee":
        half = (pattern << (10 - fmt.fraction_bits)).astype(np.uint16).view(np.float16)
        return half.astype(np.float32)
    return _small_float(pattern, fmt)


def scale_of(pattern: Symbol, fmt: Format, *, only_exponents: bool = False) -> Number:
    """Return block scales as significands, zero or NaN, and exponents; if only exponents count, significands are 1."""
    if not fmt.has_zero:
        is_nan: Any = pattern == fmt.canonical_nan
        exponent, significand = pattern.view(np.int32) - fmt.bias, np.float32(1)
    else:
        value = value_of(pattern & np.uint32((1 << fmt.magnitude_bits) - 1), fmt)
        is_nan = value != value
        exponent = np.clip((value.view(np.int32) >> 23 & 255) - 127, fmt.emin, fmt.emax)
        significand = np.float32(1)
        if not only_exponents:
            significand = value * (127 - exponent << 23).view(np.float32)
            exponent = np.where(value == np.float32(0), np.int32(NONE), exponent)
    return Number(np.where(is_nan, np.float32(np.nan), significand), np.where(is_nan, np.int32(SPECIAL), exponent))


def _integer(pattern: Symbol, fmt: Format) -> Any:
    if not fmt.signed:
        return pattern.astype(np.float32)
    unused = 32 - fmt.bits
    return ((pattern << unused).view(np.int32) >> unused).astype(np.float32)


def _small_float(pattern: Symbol, fmt: Format) -> Any:
    """Convert patterns of at most 8 bits: the fields, read as a float32, only lack a power of two."""
    magnitude = pattern & np.uint32((1 << fmt.magnitude_bits) - 1)
    value = (magnitude << (23 - fmt.fraction_bits)).view(np.float32) * np.float32(2.0 ** (127 - fmt.bias))
    if fmt.nan == "all_ones":
        value = np.where(magnitude == (1 << fmt.magnitude_bits) - 1, np.float32(np.nan), value)
    sign = (pattern & np.uint32(fmt.sign_mask)) << (31 - fmt.magnitude_bits)
    return (value.view(np.uint32) | sign).view(np.float32)
