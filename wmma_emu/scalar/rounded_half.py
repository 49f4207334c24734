# SPDX-License-Identifier: MIT
"""The half-precision pipes on patterns of f16 and bf16: sums, products, fused multiply-adds, to nearest even.

For f16 the intermediate rounding of sums and products does not matter: they are exact in f32 or rounded harmlessly (24
bits are twice 11 plus two). The sum of a fused multiply-add is rounded to odd if that matters, in f32 for f16, and in
float64 for bf16, which has the range of f32.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from wmma_emu.scalar.exact_sums import to_odd
from wmma_emu.scalar.traceable import corrected

Bits = NDArray[np.uint16]

_FLUSHED_BELOW = 2.0**-14 - 2.0**-26

_BELOW_F16, _TIE_OF_F16 = np.uint32(0x1FFF), np.uint32(0x1000)
_BELOW_BF16, _TIE_OF_BF16 = np.uint32(0xFFFF), np.uint32(0x8000)
"""The f32 fraction bits that the formats lack, and half of them."""


class Half:
    """One of the two formats ``f16`` and ``bf16``: its widening, and the rounding of float64 to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.infinity = np.uint16(0x7C00 if name == "f16" else 0x7F80)
        self.one = np.uint16(0x3C00 if name == "f16" else 0x3F80)
        self.nan = np.uint16(0x7FFF)

    def flush(self, bits: Bits) -> Bits:
        """Flush subnormal numbers to zeros of their sign."""
        small = bits & self.infinity == 0
        return np.where(small, bits & np.uint16(0x8000), bits) if small.any() else bits

    def saturate(self, bits: Bits) -> Bits:
        """Clamp to [+0, 1]; NaN becomes +0."""
        return np.where(bits > self.infinity, np.uint16(0), np.minimum(bits, self.one))

    def relu(self, bits: Bits) -> Bits:
        """Replace negative numbers by +0; NaN is unchanged."""
        return np.where(bits >= np.uint16(0x8000), np.uint16(0), bits)

    def single(self, bits: Bits) -> NDArray[np.float32]:
        """Widen to f32."""
        if self.name == "f16":
            return bits.view(np.float16).astype(np.float32)
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)

    def double(self, bits: Bits) -> NDArray[np.float64]:
        """Widen to float64."""
        return self.single(bits).astype(np.float64)

    def round_single(self, number: NDArray[np.float32]) -> Bits:
        """Round f32 to the format, to nearest even."""
        if self.name == "f16":
            bits = number.astype(np.float16).view(np.uint16)
        else:
            word = number.view(np.uint32)
            bits = ((word + (np.uint32(0x7FFF) + (word >> np.uint32(16) & np.uint32(1)))) >> np.uint32(16)).astype(
                np.uint16
            )
        nan = number != number
        return np.where(nan, self.nan, bits) if nan.any() else bits

    def round_double(self, number: NDArray[np.float64], ftz: bool = False) -> Bits:
        """Round float64 once to the format, to nearest even; ``ftz`` flushes f16 below the smallest normal number.

        The value is compared with the smallest normal number after rounding with an unbounded exponent.
        """
        if self.name == "f16":
            bits = number.astype(np.float16).view(np.uint16)
            nan = number != number
            bits = np.where(nan, self.nan, bits) if nan.any() else bits
        else:
            bits = self.round_single(_single_to_odd(number))
        if ftz:
            bits = np.where(np.abs(number) < _FLUSHED_BELOW, bits & np.uint16(0x8000), bits)
        return bits


HALVES = {name: Half(name) for name in ("f16", "bf16")}
"""The two formats by name."""


def add(a: Bits, b: Bits, half: Half, ftz: bool = False) -> Bits:
    """Compute ``a + b``, rounded once.

    Examples
    --------
    >>> hex(add(np.array([0x3C00], np.uint16), np.array([0x1000], np.uint16), HALVES["f16"])[0])
    '0x3c00'
    """
    with np.errstate(all="ignore"):
        # A sum of two bf16 may need more bits than f32 has, but is then next to one of the operands.
        result = half.round_single(half.single(a) + half.single(b))
    # A subnormal sum is exact.
    return half.flush(result) if ftz else result


def mul(a: Bits, b: Bits, half: Half, ftz: bool = False) -> Bits:
    """Compute ``a * b``, rounded once.

    Examples
    --------
    >>> hex(mul(np.array([0x3F81], np.uint16), np.array([0x3F81], np.uint16), HALVES["bf16"])[0])
    '0x3f82'
    """
    with np.errstate(all="ignore"):
        if half.name == "f16" and not ftz:
            return half.round_single(half.single(a) * half.single(b))
        # A subnormal product of bf16 would be rounded to f32 first.
        return half.round_double(half.double(a) * half.double(b), ftz)


def fma(a: Bits, b: Bits, c: Bits, half: Half, ftz: bool = False) -> Bits:
    """Compute ``a * b + c``, rounded once.

    Examples
    --------
    >>> x = np.array([0x3C01], np.uint16)
    >>> hex(fma(x, x, np.array([0xBC02], np.uint16), HALVES["f16"])[0])
    '0x10'
    """
    with np.errstate(all="ignore"):
        if half.name == "f16":
            # The product is exact. Results that are subnormal, or next to subnormal numbers, are always recomputed.
            single = half.single(a) * half.single(b) + half.single(c)
            hard = (single.view(np.uint32) & _BELOW_F16 == _TIE_OF_F16) | (np.abs(single) < 2.0**-13)
            hard &= single != 0
        else:
            total = half.double(a) * half.double(b) + half.double(c)
            single = total.astype(np.float32)
            hard = single.view(np.uint32) & _BELOW_BF16 == _TIE_OF_BF16
        result = half.round_single(single)
        # Double rounding changes a sum only if the first rounding produces a tie of the second.
        if hard.any():
            result = corrected(result, hard, partial(_fma_to_odd, half=half, ftz=ftz), a, b, c)
        return result


def _fma_to_odd(a: Bits, b: Bits, c: Bits, half: Half, ftz: bool) -> Bits:
    if half.name == "bf16":
        return half.round_double(to_odd(half.double(a) * half.double(b), half.double(c)))
    product: NDArray[np.float32] = half.single(a) * half.single(b)
    exact = to_odd(product, half.single(c))
    bits = half.round_single(exact)
    return np.where(np.abs(exact) < np.float32(_FLUSHED_BELOW), bits & np.uint16(0x8000), bits) if ftz else bits


def _single_to_odd(number: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round float64 to f32 so that it may be rounded again: to the neighbour whose last bit is 1."""
    nearest = number.astype(np.float32)
    back = nearest.astype(np.float64)
    wrong = back != number
    if not wrong.any():
        return nearest
    word = nearest.view(np.int32)
    wrong &= (word & 1 == 0) & (number == number)
    step = np.where(np.abs(back) < np.abs(number), np.int32(1), np.int32(-1))
    return np.where(wrong, word + step, word).view(np.float32)
