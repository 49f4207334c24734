# SPDX-License-Identifier: MIT
"""The f64 pipes on patterns, in every rounding: computed on floats to nearest, on integers otherwise."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Rounding, format_of
from wmma_emu.formats.rounding import Bits
from wmma_emu.scalar import fused
from wmma_emu.scalar.digits import quotient, root

_F64 = format_of("f64")
_QUIET = np.uint64(1 << 51)
_MAGNITUDE, _INFINITY = np.uint64((1 << 63) - 1), np.uint64(0x7FF << 52)
_ONE, _SIGN = np.uint64(0x3FF << 52), np.uint64(1 << 63)
_CANONICAL = np.uint64(_F64.canonical_nan)


def add(a: Bits, b: Bits, rounding: Rounding = "RNE") -> Bits:
    """Compute ``a + b``, rounded once; the first NaN of b and a is returned, made quiet.

    Examples
    --------
    >>> one, tiny = np.array([0x3FF0 << 48], np.uint64), np.array([1], np.uint64)
    >>> hex(add(one, tiny, "RU")[0])
    '0x3ff0000000000001'
    """
    if rounding != "RNE":
        return fused.add(b, a, _F64, rounding, "propagate")
    with np.errstate(all="ignore"):
        return _with_nan(a.view(np.float64) + b.view(np.float64), b, a)


def sub(a: Bits, b: Bits, rounding: Rounding = "RNE") -> Bits:
    """Compute ``a - b``, rounded once; the first NaN of b and a is returned, made quiet, with its sign.

    Examples
    --------
    >>> one = np.array([0x3FF0 << 48], np.uint64)
    >>> hex(sub(one, one, "RD")[0])
    '0x8000000000000000'
    """
    # A NaN keeps its sign.
    return add(a, np.where(b & _MAGNITUDE > _INFINITY, b, b ^ _SIGN), rounding)


def mul(a: Bits, b: Bits, rounding: Rounding = "RNE") -> Bits:
    """Compute ``a * b``, rounded once; the first NaN of b and a is returned, made quiet.

    Examples
    --------
    >>> x = np.array([0x3FF0 << 48 | 1], np.uint64)
    >>> hex(mul(x, x)[0])
    '0x3ff0000000000002'
    """
    if rounding != "RNE":
        return fused.mul(a, b, _F64, rounding, "propagate")
    with np.errstate(all="ignore"):
        return _with_nan(a.view(np.float64) * b.view(np.float64), b, a)


def fma(a: Bits, b: Bits, c: Bits, rounding: Rounding = "RNE") -> Bits:
    """Compute ``a * b + c``, rounded once; the first NaN of b, c and a is returned, made quiet.

    Examples
    --------
    >>> x = np.array([0x3FF0 << 48 | 1], np.uint64)
    >>> hex(fma(x, x, np.array([0xBFF0 << 48 | 2], np.uint64))[0])
    '0x3970000000000000'
    """
    return fused.fma(a, b, c, _F64, rounding, "propagate")


def div(a: Bits, b: Bits, rounding: Rounding = "RNE") -> Bits:
    """Compute ``a / b``, rounded once.

    Examples
    --------
    >>> one, three = np.array([0x3FF0 << 48], np.uint64), np.array([0x4008 << 48], np.uint64)
    >>> hex(div(one, three, "RU")[0])
    '0x3fd5555555555556'
    """
    if rounding != "RNE":
        return quotient(a, b, _F64, rounding, "propagate")
    with np.errstate(all="ignore"):
        return _with_nan(a.view(np.float64) / b.view(np.float64), a, b)


def rcp(a: Bits, rounding: Rounding = "RNE") -> Bits:
    """Compute ``1 / a``, rounded once.

    Examples
    --------
    >>> hex(rcp(np.array([0x4008 << 48], np.uint64))[0])
    '0x3fd5555555555555'
    """
    return div(np.full((1,) * a.ndim, _ONE), a, rounding)


def sqrt(a: Bits, rounding: Rounding = "RNE") -> Bits:
    """Compute the square root, rounded once.

    Examples
    --------
    >>> hex(sqrt(np.array([0x4000 << 48], np.uint64), "RD")[0])
    '0x3ff6a09e667f3bcc'
    """
    if rounding != "RNE":
        return root(a, _F64, rounding, "propagate")
    with np.errstate(all="ignore"):
        return _with_nan(np.sqrt(a.view(np.float64)), a)


def _with_nan(result: NDArray[np.float64], *operands: Bits) -> Bits:
    bits: Bits = result.view(np.uint64)
    wrong = result != result
    if not wrong.any():
        return bits
    word = np.where(wrong, _CANONICAL, bits)
    for operand in reversed(operands):
        word = np.where(operand & _MAGNITUDE > _INFINITY, operand | _QUIET, word)
    return word
