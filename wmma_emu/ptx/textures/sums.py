# SPDX-License-Identifier: MIT
"""The weighted sums of filtering, for each format of texels: the facts "sum" and "sum of fractions"."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import encode
from wmma_emu.ptx.textures.coordinates import FRACTION_BITS, Doubles
from wmma_emu.ptx.textures.texels import Indices, Texels
from wmma_emu.ptx.textures.values import Words, rounded

Terms = list[tuple[Indices, NDArray[Any]]]
"""The weights of the texels of a fetch, in units of 1/256, and the bits of one of their channels."""

_IN_A_SLICE = 4
"""The most texels that are added at once: those of one z."""

_KEPT = {"f16": 14, "f32": 27}
"""The bits below the first one of the largest texel that a sum keeps of every texel: three more than the format has."""

_NAN = {"f16": np.uint32(0x7FFFE000), "f32": np.uint32(0x7FFFFFFF)}
"""The NaN of a sum: that of f16 is the canonical one, as f32."""

_MAGNITUDE, _INFINITY = np.uint32(0x7FFFFFFF), np.uint32(0x7F800000)

_SMALLEST_NORMAL = 2.0**-126
_NO_EXPONENT = -300
"""The exponent of a sum of zeros, below those of all numbers."""

_HALF = 1 << (FRACTION_BITS - 1)


def filtered(terms: Terms, texels: Texels) -> Words:
    """Return the weighted sum of texels, as f32.

    Examples
    --------
    >>> from wmma_emu.ptx.textures.texels import texels_of
    >>> def added(dtype, *values):
    ...     elements = np.array(values, dtype).view(f"u{np.dtype(dtype).itemsize}")
    ...     terms = [(np.array([weight]), elements[[k]]) for k, weight in enumerate((192, 64))]
    ...     return hex(filtered(terms, texels_of(np.zeros(1, dtype), None, False, "a texture"))[0])
    >>> added(np.float32, 1, 3), added(np.float16, 1, 1 + 2**-10), added(np.uint8, 0, 255), added(np.int8, 0, 127)
    ('0x3fc00000', '0x3f800000', '0x3e800080', '0x3e800100')
    """
    if texels.kind == "f":
        return _sum_of_floats(terms, f"f{8 * texels.element_bytes}")
    return _sum_of_fractions(terms, texels)


def _sum_of_fractions(terms: Terms, texels: Texels) -> Words:
    kind = f"{texels.kind}{texels.element_bytes}"
    total = sum((weight * bits.view(kind).astype(np.int64) for weight, bits in terms), start=np.asarray(0))
    wide = _SIXTEEN_BITS[kind](np.asarray(total, np.int64))
    largest = (1 << (16 - (texels.kind == "i"))) - 1
    return rounded(np.maximum(wide, -largest).astype(np.float64) / largest)


def _from_u1(total: Indices) -> Indices:
    """Multiply by 257/256 and round: 255 becomes 65535."""
    return total + ((total + _HALF) >> FRACTION_BITS)


def _from_i1(total: Indices) -> Indices:
    """Multiply by nearly 32767/32512, a sum of shifted numbers: 127 becomes 32767."""
    return total + ((total + 16 * (total >> 12) + 64) >> 7)


def _from_2(total: Indices) -> Indices:
    return (total + _HALF) >> FRACTION_BITS


_SIXTEEN_BITS: dict[str, Callable[[Indices], Indices]] = {
    "u1": _from_u1, "i1": _from_i1, "u2": _from_2, "i2": _from_2,
}  # fmt: skip
"""From a sum in units of 1/256 to the 16-bit fraction that it is rounded to, ties up."""


def _sum_of_floats(terms: Terms, format: str) -> Words:
    values = np.stack(np.broadcast_arrays(*(_used(weight, _numbers(bits, format)) for weight, bits in terms)))
    weights = np.stack(np.broadcast_arrays(*(weight for weight, _ in terms), values[0])[:-1])
    with np.errstate(invalid="ignore"):
        plain = reduce(np.add, values)  # an infinity, a NaN, or a zero, whose sign np.sum loses
    is_finite = np.isfinite(values).all(axis=0)
    finite = np.where(is_finite, values, 0.0)
    total = _aligned_sum(weights, finite, _KEPT[format])
    result = rounded(np.where(is_finite & (values != 0).any(axis=0), _rounded_to(total, format), plain))
    return np.where(result & _MAGNITUDE > _INFINITY, _NAN[format], result)


def _numbers(bits: NDArray[Any], format: str) -> Doubles:
    """Return values as float64; subnormal f32 are zeros of their sign."""
    if format == "f16":
        return bits.view(np.float16).astype(np.float64)
    values = bits.view(np.float32).astype(np.float64)
    return np.where(np.abs(values) < _SMALLEST_NORMAL, np.copysign(0.0, values), values)


def _used(weight: Indices, values: Doubles) -> Doubles:
    """Replace texels without weight by -0, which changes no sum."""
    return np.where(weight > 0, values, -0.0)


def _aligned_sum(weights: Indices, values: Doubles, kept: int) -> Doubles:
    """Add in fixed point below the largest texel: texels are truncated, and so is the sum of one z below the other."""
    exponents, sums = [], []
    for k in range(0, len(values), _IN_A_SLICE):
        here = values[k : k + _IN_A_SLICE]
        exponent = np.where(here != 0, np.frexp(here)[1], _NO_EXPONENT).max(axis=0)
        whole = np.trunc(np.ldexp(here, kept + 1 - exponent)).astype(np.int64)
        exponents.append(exponent)
        sums.append((weights[k : k + _IN_A_SLICE] * whole).sum(axis=0))
    largest = np.max(exponents, axis=0)
    total = sum(x >> np.minimum(largest - e, 63) for x, e in zip(sums, exponents, strict=True))
    return np.asarray(np.ldexp(np.asarray(total, np.float64), largest - kept - 1 - FRACTION_BITS))


def _rounded_to(values: Doubles, format: str) -> Doubles:
    """Round to the nearest number of a format; ties go away from zero."""
    bits = np.asarray(encode(values, format, "RNA"), f"u{int(format[1:]) // 8}").reshape(values.shape)
    return _numbers(bits, format)
