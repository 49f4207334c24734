# SPDX-License-Identifier: MIT
"""The shared datapath of the approximate functions: look up, square with truncation, add, keep the leading 24 bits.

Arrays belong to NumPy or CuPy. All operations are elementwise integer operations and look-ups; float64 is used only to
find the leading bit of integers below 2**53, which it represents exactly.
"""

import sys
from functools import cache
from typing import Any

import numpy as np

from wmma_emu.scalar.approx_tables import TABLES, rows, squares, truncated_square
from wmma_emu.scalar.traceable import looked_up, tabulated

NAN, SIGN, INFINITY = 0x7FFF_FFFF, 0x8000_0000, 0x7F80_0000

SUM_BITS = 41
"""The fraction bits of a sum, which is in units of 2**-41."""

_C0_SHIFT, _C2_SHIFT = 15, 2
_DOUBLE_BIAS, _SINGLE_BIAS = 1023, 127


def namespace(array: Any) -> Any:
    """Return the module that an array belongs to: NumPy or CuPy. A symbol names the module whose functions accept it.

    Examples
    --------
    >>> namespace(np.zeros(1)).__name__
    'numpy'
    """
    if isinstance(array, np.ndarray | np.generic):
        return np
    return getattr(type(array), "array_module", None) or sys.modules[type(array).__module__.partition(".")[0]]


@cache
def _on(module: str, name: str) -> tuple[Any, ...]:
    """Return the squarer, or a table's coefficients shifted to their positions in the sum, as arrays of a module."""
    if not name:
        found: tuple[Any, ...] = (squares(),)
    else:
        c0, c1, c2 = rows(name).T
        found = ((c0 << _C0_SHIFT) + TABLES[name].bias, c1.copy(), c2 << _C2_SHIFT)
    return tuple(sys.modules[module].asarray(x) for x in found)


class Fields:
    """The fields of an f32 word. The word is an int64 array with values from 0 to 2**32 - 1, and so is each field.

    Examples
    --------
    >>> x = Fields(np.array([0xC0490FDB]))
    >>> x.sign[0], x.exponent[0], hex(x.fraction[0])
    (np.int64(2147483648), np.int64(128), '0x490fdb')
    """

    __slots__ = ("exponent", "fraction", "magnitude", "sign")

    def __init__(self, word: Any) -> None:
        self.magnitude = word & 0x7FFF_FFFF
        self.sign = word - self.magnitude
        self.exponent = self.magnitude >> 23
        self.fraction = self.magnitude & 0x7F_FFFF

    @property
    def significand(self) -> Any:
        """The fraction with the leading one of a normal number."""
        return self.fraction | 0x80_0000

    @property
    def is_zero(self) -> Any:
        """Whether the unit reads the number as zero, as it does subnormal numbers."""
        return self.exponent == 0

    @property
    def is_infinite(self) -> Any:
        """Whether the number is an infinity of either sign."""
        return self.magnitude == INFINITY

    @property
    def is_nan(self) -> Any:
        """Whether the word is a NaN."""
        return self.magnitude > INFINITY


def interpolate(name: str, segment: Any, position: Any) -> Any:
    """Compute the sum of a table's polynomial: c0, c1 times the position, c2 times its truncated square.

    A position has 17 bits. The sum is in units of 2**-41 and exact, except for the bits that the squarer omits.

    Examples
    --------
    >>> interpolate("ex2", np.array([32]), np.array([0])) / 2.0**41              # 2**0.5 / 2
    array([0.70710682])
    """
    module = namespace(position).__name__
    c0, c1, c2 = (looked_up(x, segment) for x in _on(module, name))
    (square,) = _on(module, "")
    c1 *= position
    c2 *= tabulated(square, truncated_square, position)
    c0 += c1
    c0 += c2
    return c0


def leading_bits(total: Any, fraction_bits: int = SUM_BITS) -> Any:
    """Return the leading 24 bits of a non-negative sum below 2**53 as an f32 pattern, rounded toward zero.

    Examples
    --------
    >>> [hex(x) for x in leading_bits(np.array([1 << 41, (1 << 40) - 1, 3, 0]))]
    ['0x3f800000', '0x3effffff', '0x2bc00000', '0x0']
    """
    double = total.astype(np.float64).view(np.int64)
    pattern = (double >> 29) - ((_DOUBLE_BIAS - _SINGLE_BIAS + fraction_bits) << 23)
    return pattern * (total != 0)


def select(default: Any, *cases: tuple[Any, Any]) -> Any:
    """Replace elements of a new array where a condition holds; the first condition that holds counts."""
    where = namespace(default).where
    for condition, value in reversed(cases):
        default = where(condition, value, default)
    return default
