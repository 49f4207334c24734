# SPDX-License-Identifier: MIT
"""The notation of numbers in explanations: hexadecimal patterns, exact values as in C's ``%a``, bits on a ruler."""

import re
from itertools import groupby
from textwrap import wrap

import numpy as np

from wmma_emu.formats import Format, format_of
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.formats.reference import unpack

WIDTH = 118
_RUN = 12
_MANY = 32


def pattern(bits: int, fmt: "Format | str") -> str:
    """Write a bit pattern with all digits of its format: ``0x3c00``.

    Examples
    --------
    >>> pattern(1, "f16"), pattern(5, "s4")
    ('0x0001', '0x5')
    """
    return f"0x{bits:0{-(-format_of(fmt).bits // 4)}x}"


def abbreviated(digits: str) -> str:
    """Shorten long runs of one digit: ``0(37)`` stands for 37 zeros.

    Examples
    --------
    >>> abbreviated("1" + 20 * "0" + "11")
    '10(20)11'
    """
    return re.sub(rf"(.)\1{{{_RUN - 1},}}", lambda run: f"{run[1]}({len(run[0])})", digits)


def binary(value: int, count: int) -> str:
    """Write the given number of binary digits.

    Examples
    --------
    >>> binary(5, 4), binary(5, 40), binary(0, 0)
    ('0101', '0(37)101', '')
    """
    return abbreviated(f"{value:0{count}b}") if count else ""


def binary_or_hex(value: int, count: int) -> str:
    """Write the given number of bits, in hexadecimal if there are many.

    Examples
    --------
    >>> binary_or_hex(5, 4), binary_or_hex(5, 40)
    ('0101', '0x0000000005')
    """
    return binary(value, count) if count <= _MANY else "0x" + abbreviated(f"{value:0{-(-count // 4)}x}")


def fixed(value: int, places: int, whole: int, shown: int | None = None) -> str:
    """Write ``value * 2**-places`` in binary with ``whole`` integer digits, and ``shown`` fraction digits if given.

    Examples
    --------
    >>> fixed(0b1011, 3, 2), fixed(0b1011, 3, 2, 1)
    ('01.011', '01.0')
    """
    digits = f"{value:0{whole + places}b}"
    point = len(digits) - places
    end = places if shown is None else max(min(shown, places), 0)
    return f"{digits[:point]}.{digits[point : point + end]}"


def significand(value: int, fraction_bits: int) -> str:
    """Write a significand that is not normalised in the style of C's ``%a``: ``0x2.4``.

    Examples
    --------
    >>> significand(0x240000, 20), significand(1, 23)
    ('0x2.40000', '0x0.000002')
    """
    places = -(-fraction_bits // 4)
    value <<= 4 * places - fraction_bits
    return f"0x{value >> 4 * places:x}.{value & ((1 << 4 * places) - 1):0{places}x}"


def exact(sign: int, value: int, exponent: int) -> str:
    """Write ``(-1)**sign * value * 2**exponent`` exactly, normalised: ``+0x1.8p+1``.

    Examples
    --------
    >>> exact(0, 3, 0), exact(1, 0, 0), exact(0, 1 << 80 | 1, -149)
    ('+0x1.8p+1', '-0x0p+0', '+0x1.0(19)1p-69')
    """
    mark = "-" if sign else "+"
    if value == 0:
        return f"{mark}0x0p+0"
    leading = value.bit_length() - 1
    places = -(-leading // 4)
    fraction = f"{(value << 4 * places - leading) & ((1 << 4 * places) - 1):0{places}x}".rstrip("0") if places else ""
    point = "." if fraction else ""
    return f"{mark}0x1{point}{abbreviated(fraction)}p{exponent + leading:+d}"


def shown(bits: int, fmt: "Format | str") -> str:
    """Write the exact value of a floating-point pattern."""
    fmt = format_of(fmt)
    u = unpack(bits, fmt)
    if u.kind == "nan":
        return "NaN"
    if u.kind == "infinity":
        return "-infinity" if u.sign else "+infinity"
    return exact(u.sign, u.significand, u.exponent - fmt.fraction_bits)


def decimal(bits: int, fmt: Format) -> str:
    """Return the shortest decimal that distinguishes a value from its neighbours in the format; integers in full.

    Examples
    --------
    >>> decimal(0x3DCCCCCD, format_of("f32")), decimal(0x2E66, format_of("f16")), decimal(0xFFFFFFFF, format_of("s32"))
    ('0.1', '0.1', '-1')
    """
    if not fmt.is_float:
        return str(bits - (1 << fmt.bits) if bits & fmt.sign_mask else bits)
    if unpack(bits, fmt).kind == "nan":
        return "nan"
    return str(from_bits(np.array([bits], fmt.storage), fmt)[0])


def grouped(terms: list[tuple[int, str]]) -> list[str]:
    """Label strings with their k, and join neighbours with equal strings: ``k=3..9 0x0000 x 0x0000``.

    Examples
    --------
    >>> grouped([(0, "p"), (1, "q"), (2, "q"), (4, "q")])
    ['k=0 p', 'k=1..2 q', 'k=4 q']
    """
    out = []
    for (_, text), run in groupby(enumerate(terms), key=lambda item: (item[1][0] - item[0], item[1][1])):
        ks = [k for _, (k, _) in run]
        out.append(f"k={ks[0]} {text}" if len(ks) == 1 else f"k={ks[0]}..{ks[-1]} {text}")
    return out


def paragraph(head: str, text: str, indent: int) -> list[str]:
    """Wrap a paragraph after its head; further lines are indented to the start of the paragraph."""
    return _hang(head, wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False), indent)


def listing(head: str, items: list[str], indent: int) -> list[str]:
    """Write a head and items in a row, wrapped between items.

    Examples
    --------
    >>> listing("  zero:", ["k=0 0x0000 x 0x3c00", "c 0x00000000"], 9)
    ['  zero:  k=0 0x0000 x 0x3c00,  c 0x00000000']
    """
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 3 <= WIDTH - indent:
            lines[-1] += f",  {item}"
        else:
            lines = [*lines[:-1], *(f"{line}," for line in lines[-1:]), item]
    return _hang(head, lines, indent)


def _hang(head: str, lines: list[str], indent: int) -> list[str]:
    first, *rest = lines or [""]
    return [f"{head:<{indent}}{first}".rstrip(), *(" " * indent + line for line in rest)]
