# SPDX-License-Identifier: MIT
"""The approximations of f64: MUFU.RCP64H and MUFU.RSQ64H read only the upper words and use the tables of f32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import format_of
from wmma_emu.scalar.approx_datapath import interpolate, select
from wmma_emu.scalar.fused import fma, mul

_NAN, _INFINITY, _SIGN = 0x7FFF_FFFF, 0x7FF0_0000, 0x8000_0000
_LEAST_NORMAL = 0x0010_0000

_ONE, _HALF, _THREE_EIGHTHS = 0x3FF0 << 48, 0x3FE0 << 48, 0x3FD8 << 48
_2_TO_54, _2_TO_27 = (1023 + 54) << 52, (1023 + 27) << 52
_INFINITE, _NEGATIVE_NAN = 0x7FF0 << 48, 0xFFF8 << 48


def rcp64h(word: Any) -> Any:
    """Compute the upper word of 1/x from the upper word of x: 20 fraction bits, truncated.

    Subnormal numbers and results are zero. A NaN whose payload is only in the lower word is read as an infinity.

    Examples
    --------
    >>> hex(rcp64h(np.array([0x40080000]))[0])                                        # 3
    '0x3fd55555'
    """
    magnitude = word & _NAN
    sign = word - magnitude
    exponent, fraction = magnitude >> 20, (magnitude & 0xF_FFFF) << 3
    total = interpolate("rcp", fraction >> 16, (fraction & 0xFFFF) << 1)
    result = (total >> 20) + ((2044 - exponent) << 20)
    result *= result >= _LEAST_NORMAL
    return select(
        result + sign,
        (magnitude > _INFINITY, _NAN), (exponent == 0, sign + _INFINITY), (magnitude == _INFINITY, sign),
    )  # fmt: skip


def rsqrt64h(word: Any) -> Any:
    """Compute the upper word of the reciprocal square root from the upper word of x, truncated.

    Examples
    --------
    >>> hex(rsqrt64h(np.array([0x40100000]))[0])                                      # 4
    '0x3fe00000'
    """
    magnitude = word & _NAN
    sign = word - magnitude
    exponent, fraction = magnitude >> 20, (magnitude & 0xF_FFFF) << 3
    odd = ~exponent & 1
    total = interpolate("rsqrt", (odd << 6) + (fraction >> 17), fraction & 0x1_FFFF)
    result = (total >> 20) + ((1021 - ((exponent - 1023) >> 1)) << 20)
    result += (fraction == 0) & (odd == 0)
    return select(
        result,
        (magnitude > _INFINITY, _NAN), (exponent == 0, sign + _INFINITY), (sign != 0, _NAN),
        (magnitude == _INFINITY, 0),
    )  # fmt: skip


def upper(function: Any, bits: Any) -> Any:
    """Apply a function of upper words to f64 patterns; the lower word of the result is zero."""
    return function((bits >> np.uint64(32)).astype(np.int64)).astype(np.uint64) << np.uint64(32)


def rsqrt_f64(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Compute ``rsqrt.approx.f64``: MUFU.RSQ64H and one step of third order; subnormal numbers are scaled by 2**54.

    Examples
    --------
    >>> hex(rsqrt_f64(np.array([0x4000000000000000], np.uint64))[0])                  # 2
    '0x3fe6a09e667f3bcd'
    """
    magnitude = bits & np.uint64((1 << 63) - 1)
    small = (magnitude < np.uint64(1 << 52)) & (magnitude != 0)
    scaled = _step(mul(bits, _constant(_2_TO_54), "f64"))
    result = np.where(small, mul(scaled, _constant(_2_TO_27), "f64"), _step(bits))
    sign = bits - magnitude
    quiet = fma(_constant(_ONE), bits, bits, format_of("f64"), nan="propagate")
    chosen: NDArray[np.uint64] = select(
        result,
        (magnitude == 0, sign | np.uint64(_INFINITE)),
        (magnitude > np.uint64(_INFINITE), quiet),
        (sign != 0, np.uint64(_NEGATIVE_NAN)),
        (magnitude == np.uint64(_INFINITE), np.uint64(0)),
    )
    return chosen


def _constant(pattern: int) -> NDArray[np.uint64]:
    return np.array([pattern], np.uint64)


def _step(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return y + y e (1/2 + 3/8 e), where e = 1 - x y**2."""
    y = upper(rsqrt64h, x)
    square = mul(y, y, "f64")
    e = fma(x, square ^ np.uint64(1 << 63), _constant(_ONE), "f64")
    factor = fma(e, _constant(_THREE_EIGHTHS), _constant(_HALF), "f64")
    result: NDArray[np.uint64] = fma(factor, mul(y, e, "f64"), y, "f64")
    return result
