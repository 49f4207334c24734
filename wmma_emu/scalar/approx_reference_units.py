# SPDX-License-Identifier: MIT
"""The function unit of a Hopper GPU, one number at a time, on Python integers: the specification of its operations.

A sum of the datapath is an integer in units of 2**-41.
"""

from collections.abc import Callable

from wmma_emu.scalar.approx_tables import POSITION_BITS, SQUARE_CUT, TABLES, TANH_BINADES, rows

_NAN, _INFINITY, _SIGN, _ONE = 0x7FFF_FFFF, 0x7F80_0000, 0x8000_0000, 0x3F80_0000
_LEAST_NORMAL = 0x0080_0000


def _square(position: int) -> int:
    """Add up the partial products of a position with itself, except for the columns below the 19th."""
    bits = [position >> i & 1 for i in range(POSITION_BITS)]
    total = 0
    for i in range(POSITION_BITS):
        for j in range(i + 1):
            column = 2 * i if i == j else i + j + 1
            if column >= SQUARE_CUT:
                total += (bits[i] & bits[j]) << column
    return total >> SQUARE_CUT


def _polynomial(name: str, segment: int, position: int) -> int:
    c0, c1, c2 = (int(c) for c in rows(name)[segment])
    return (c0 << 15) + TABLES[name].bias + c1 * position + (c2 * _square(position) << 2)


def _pattern(total: int, unit: int = -41) -> int:
    """Truncate ``total * 2**unit`` to 24 bits and return the f32 pattern; all results are normal or zero."""
    if total == 0:
        return 0
    exponent = total.bit_length() - 1
    significand = total << 23 >> exponent
    return (exponent + unit + 126 << 23) + significand


def _fields(x: int) -> tuple[int, int, int]:
    """Return the sign bit in its position, the exponent, and the significand of 24 bits."""
    return x & _SIGN, (x >> 23 & 0xFF) - 127, x & 0x7F_FFFF | 0x80_0000


def _rcp(x: int) -> int:
    sign, exponent, significand = _fields(x)
    if x & _NAN > _INFINITY:
        return _NAN
    if exponent == -127:
        return sign | _INFINITY
    if exponent == 128:
        return sign
    total = _polynomial("rcp", significand >> 16 & 127, (significand & 0xFFFF) << 1)
    result = _pattern(total) - (exponent << 23)
    return sign | (result if result >= _LEAST_NORMAL else 0)


def _rsqrt(x: int) -> int:
    sign, exponent, significand = _fields(x)
    if x & _NAN > _INFINITY:
        return _NAN
    if exponent == -127:
        return sign | _INFINITY
    if sign:
        return _NAN
    if exponent == 128:
        return 0
    if exponent % 2 == 0 and significand == 0x80_0000:
        return _ONE - (exponent // 2 << 23)
    return _pattern(_polynomial("rsqrt", *_half_segment(exponent, significand))) - (exponent // 2 << 23)


def _sqrt(x: int) -> int:
    sign, exponent, significand = _fields(x)
    if x & _NAN > _INFINITY:
        return _NAN
    if exponent == -127:
        return sign
    if sign:
        return _NAN
    if exponent == 128:
        return _INFINITY
    return _pattern(_polynomial("sqrt", *_half_segment(exponent, significand))) + (exponent // 2 << 23)


def _half_segment(exponent: int, significand: int) -> tuple[int, int]:
    return (64 if exponent % 2 else 0) + (significand >> 17 & 63), significand & 0x1_FFFF


def _ex2(x: int) -> int:
    sign, exponent, significand = _fields(x)
    if x & _NAN > _INFINITY:
        return _NAN
    if exponent >= 7:
        return 0 if sign else _INFINITY
    fixed = 0 if exponent == -127 else significand << 7 >> (7 - exponent)
    if sign:
        fixed = ~fixed if fixed % (1 << 23) else -fixed
    whole, fraction = divmod(fixed, 1 << 23)
    if whole < -126:
        return 0
    return _pattern(_polynomial("ex2", fraction >> 17, fraction & 0x1_FFFF)) + (whole + 1 << 23)


def _lg2(x: int) -> int:
    sign, exponent, significand = _fields(x)
    if x & _NAN > _INFINITY:
        return _NAN
    if exponent == -127:
        return _SIGN | _INFINITY
    if sign:
        return _NAN
    if exponent == 128:
        return _INFINITY
    if x == _ONE:
        return 0
    total = (exponent << 41) + _polynomial("lg2", significand >> 17 & 63, significand & 0x1_FFFF) >> 5
    return _SIGN | _pattern(~total, -36) if total < 0 else _pattern(total, -36)


def _turns(x: int) -> int:
    """Return the number of turns in units of 2**-25, of which 25 bits count."""
    _, exponent, significand = _fields(x)
    return 0 if exponent == -127 else significand << 25 >> (23 - exponent) if exponent <= 23 else 0


def _quarters(sign: int, turns: int) -> int:
    quarter, position = turns >> 23 & 3, turns & 0x7F_FFFF
    if quarter & 1:
        position ^= 0x7F_FFFF
    if quarter & 2:
        sign ^= _SIGN
    return sign | _pattern(_polynomial("sin", position >> 17, position & 0x1_FFFF))


def _sin(x: int) -> int:
    return _NAN if x & _NAN >= _INFINITY else _quarters(x & _SIGN, _turns(x))


def _cos(x: int) -> int:
    return _NAN if x & _NAN >= _INFINITY else _quarters(0, _turns(x) + (1 << 23))


def _tanh(x: int) -> int:
    sign, exponent, significand = _fields(x)
    if x & _NAN > _INFINITY:
        return _NAN
    if exponent < min(TANH_BINADES):
        return x
    if exponent > max(TANH_BINADES):
        return sign | _ONE
    first = sum(1 << bits for binade, bits in TANH_BINADES.items() if binade < exponent)
    position = significand >> (6 - TANH_BINADES[exponent])
    segment = first + (position >> POSITION_BITS) - (1 << TANH_BINADES[exponent])
    return sign | _pattern(_polynomial("tanh", segment, position & 0x1_FFFF))


UNITS: dict[str, Callable[[int], int]] = {
    "rcp": _rcp,
    "rsqrt": _rsqrt,
    "sqrt": _sqrt,
    "ex2": _ex2,
    "lg2": _lg2,
    "sin": _sin,
    "cos": _cos,
    "tanh": _tanh,
}
"""The MUFU function of f32 patterns for each name. Subnormal numbers are zero, except for tanh."""
