# SPDX-License-Identifier: MIT
"""The values of texels: bits of channels, as registers of 32 bits, and the weighted sums of filtering."""

from math import fsum, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import encode, format_of
from wmma_emu.ptx.textures.coordinates import Doubles
from wmma_emu.ptx.textures.texels import Indices, Texels
from wmma_emu.scalar.exact_sums import to_odd, two_sum

Words = NDArray[np.uint32]

_F32 = format_of("f32")
_ONE = np.uint32(0x3F80_0000)


def divisor_of(texels: Texels) -> int:
    """Return the number by which integers that are read as fractions are divided: the fact "fractions".

    Examples
    --------
    >>> from wmma_emu.ptx.textures.texels import texels_of
    >>> [divisor_of(texels_of(np.zeros(1, x), None, False, "a texture")) for x in (np.uint8, np.int16)]
    [255, 32767]
    """
    bits = 8 * texels.element_bytes
    return (1 << (bits - (texels.kind == "i"))) - 1


def exact_values(bits: NDArray[Any], texels: Texels, *, as_fractions: bool) -> Doubles:
    """Return the values of channels as float64, exactly; fractions are still to be divided by their divisor."""
    numbers = np.asarray(bits.view(f"{texels.kind}{texels.element_bytes}"), np.float64)
    return np.maximum(numbers, -float(divisor_of(texels))) if as_fractions else numbers


def words_of(bits: NDArray[Any], texels: Texels, *, as_fractions: bool) -> Words:
    """Return what a register gets of a channel: integers extended to 32 bits, floats and fractions as f32.

    Examples
    --------
    >>> from wmma_emu.ptx.textures.texels import texels_of
    >>> texels = texels_of(np.zeros(1, np.int8), None, False, "a texture")
    >>> bits = np.array([0x80, 0x7F, 1], np.uint8)
    >>> [[hex(x) for x in words_of(bits, texels, as_fractions=y)] for y in (False, True)]
    [['0xffffff80', '0x7f', '0x1'], ['0xbf800000', '0x3f800000', '0x3c010204']]
    """
    if as_fractions:
        return rounded(exact_values(bits, texels, as_fractions=True) / divisor_of(texels))
    if texels.array.dtype == np.float32:
        return np.asarray(bits, np.uint32)
    if texels.kind == "f":
        return bits.view(np.float16).astype(np.float32).view(np.uint32)
    return np.asarray(bits.view(f"{texels.kind}{texels.element_bytes}").astype(f"{texels.kind}4").view(np.uint32))


def filtered(terms: list[tuple[Indices, Doubles]], weight_bits: int, divisor: int) -> Words:
    """Return the sum of weights, in units of 2**-weight_bits, times values, divided, as f32: the fact "sum".

    Examples
    --------
    >>> terms = [(np.array([192]), np.array([1.0])), (np.array([64]), np.array([3.0]))]
    >>> filtered(terms, 8, 1).view(np.float32)
    array([1.5], dtype=float32)
    """
    products = np.stack(np.broadcast_arrays(*(np.asarray(weight, np.float64) * value for weight, value in terms)))
    total = _sum_to_odd(products)
    if divisor == 1:
        return rounded(total * 2.0**-weight_bits)
    # The dividend is an integer below 2**40, the divisor 2**k times at most 2**16 - 1. The distance of such a quotient
    # to the middle of two f32 is 0, or at least 2**-41 of its size: rounding it to float64 first changes nothing.
    return rounded(total / (divisor << weight_bits))


def rounded(values: Doubles) -> Words:
    """Round once to the nearest f32."""
    return np.asarray(encode(values, _F32), np.uint32).reshape(values.shape)


def _sum_to_odd(terms: Doubles) -> Doubles:
    """Return sums along the first axis, rounded to odd; most are exact in float64."""
    total: Doubles = terms[0]
    is_exact: NDArray[np.bool_] = np.ones(terms.shape[1:], np.bool_)
    for term in terms[1:]:
        total, error = two_sum(total, term)
        is_exact &= error == 0
    if is_exact.all():
        return total
    total = np.array(total)
    for place in zip(*np.nonzero(~is_exact & np.isfinite(total)), strict=True):
        total[place] = _one_to_odd([float(x) for x in terms[(slice(None), *place)]])
    return total


def _one_to_odd(terms: list[float]) -> float:
    nearest = fsum(terms)
    error = fsum([*terms, -nearest])
    return float(to_odd(np.array([nearest]), np.array([error]))[0]) if isfinite(nearest) else nearest


def missing(channel: int, *, floats: bool) -> np.uint32:
    """Return the word of a channel that a texture lacks: the fact "missing"."""
    return np.uint32(0) if channel < 3 else _ONE if floats else np.uint32(1)
