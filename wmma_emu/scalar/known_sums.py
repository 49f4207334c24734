# SPDX-License-Identifier: MIT
"""Sums and differences of f32 constants in ptxas: some releases truncate a difference that the chip rounds to even.

``docs/decisions/0024-constants-that-ptxas-knows.md`` explains how the rule was determined.
"""

from wmma_emu.formats import format_of
from wmma_emu.formats.reference import value

RELEASE_OF_THE_DRIVER = "driver 580.159.04"

RELEASES = {
    "ptxas 12.9.86": True, "ptxas 13.0.88": False, "ptxas 13.4.59": False, "ptxas 13.5.37": True,
    RELEASE_OF_THE_DRIVER: True,
}  # fmt: skip
"""Whether a release truncates ties of differences: three releases of ptxas examined on 23 November 2026, and the
compiler in the driver of the NVIDIA H200 recorded on that day."""

_F32 = format_of("f32")
_MAGNITUDE, _INFINITY, _EXPONENT = 0x7FFF_FFFF, 0x7F80_0000, 23


def cut_tie(a: int, b: int, rounded: int, release: str = RELEASE_OF_THE_DRIVER) -> int:
    """Correct the sum of two f32, rounded to nearest even, to the result of a release.

    A difference halfway between two numbers is rounded toward zero if it has the exponent of the larger operand.

    All are patterns; ``release`` is a key of `RELEASES`.

    Examples
    --------
    >>> numbers = 0x38F896AD, 0xB727C5AC, 0x38E39DF8
    >>> hex(cut_tie(*numbers)), hex(cut_tie(*numbers, "ptxas 13.0.88"))
    ('0x38e39df7', '0x38e39df8')
    """
    largest = max(a & _MAGNITUDE, b & _MAGNITUDE)
    if not RELEASES[release] or (a ^ b) >> 31 == 0 or largest >= _INFINITY:
        return rounded
    below = rounded - 1
    exact, nearest, lower = value(a, _F32) + value(b, _F32), value(rounded, _F32), value(below, _F32)
    is_above = abs(nearest) - abs(exact) == abs(nearest - lower) / 2
    return below if is_above and (below & _MAGNITUDE) >> _EXPONENT == largest >> _EXPONENT else rounded
