# SPDX-License-Identifier: MIT
"""Numbers as the ``%a`` of C writes them."""

__all__ = ["hexadecimal"]

_DIGITS = 13


def hexadecimal(number: float, precision: int = -1) -> str:
    """Write a finite float64 with so many hexadecimal digits, to nearest even; with as many as it needs for -1.

    Examples
    --------
    >>> hexadecimal(1.5), hexadecimal(1.7, 2), hexadecimal(0.0), hexadecimal(5e-324)
    ('0x1.8p+0', '0x1.b3p+0', '0x0p+0', '0x0.0000000000001p-1022')
    """
    before, _, power = number.hex().partition("p")
    start, _, digits = before.partition(".")
    digits = digits.ljust(_DIGITS, "0")
    if precision < 0:
        digits = digits.rstrip("0")
    elif precision < _DIGITS:
        sign, _, lead = start.partition("0x")
        whole, drop = int(lead + digits, 16), 4 * (_DIGITS - precision)
        kept, rest, half = whole >> drop, whole & ((1 << drop) - 1), 1 << (drop - 1)
        kept += rest > half or (rest == half and kept & 1)
        shown = f"{kept:x}".rjust(precision + 1, "0")
        start, digits = f"{sign}0x{shown[: len(shown) - precision]}", shown[len(shown) - precision :]
    else:
        digits = digits.ljust(precision, "0")
    return f"{start}{'.' * bool(digits)}{digits}p{power}"
