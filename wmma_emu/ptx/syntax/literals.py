# SPDX-License-Identifier: MIT
"""Values of number literals: signed or unsigned 64-bit integers, and floating-point numbers as bit patterns.

Source: PTX ISA 9.1, Constants.
"""

import re
import struct
from functools import lru_cache
from typing import NamedTuple

_LONGEST = 1000
"""The most characters in a number: converting a longer one would not take linear time."""

_NUMBER = re.compile(
    r"0[xX](?P<hexadecimal>[0-9a-fA-F]+)(?P<u16>U?)"
    r"|0[bB](?P<binary>[01]+)(?P<u2>U?)"
    r"|0(?P<octal>[0-7]*)(?P<u8>U?)"
    r"|(?P<decimal>[1-9][0-9]*)(?P<u10>U?)"
    r"|0[fF](?P<single>[0-9a-fA-F]{8})"
    r"|0[dD](?P<double>[0-9a-fA-F]{16})"
    r"|(?P<real>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\.(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
)

_BASES = {"hexadecimal": 16, "binary": 2, "octal": 8, "decimal": 10}


class Constant(NamedTuple):
    """A number: ``kind`` is "s64" or "u64" (value: the number), "f32" or "f64" (value: the bit pattern)."""

    kind: str
    value: int


@lru_cache(maxsize=4096)
def constant_of(text: str) -> Constant | str:
    """Return the value of a number, or a string with the reason why the text is not a number.

    Examples
    --------
    >>> constant_of("0x1F"), constant_of("017"), constant_of("0b101U"), constant_of("1.5")[1] == 0x3FF8 << 48
    (Constant(kind='s64', value=31), Constant(kind='s64', value=15), Constant(kind='u64', value=5), True)
    >>> hex(constant_of("0f3F800000").value), constant_of("09")
    ('0x3f800000', 'is not a number')
    """
    if len(text) > _LONGEST:
        return f"is a number of more than {_LONGEST} characters"
    match = _NUMBER.fullmatch(text)
    if match is None or match.lastgroup is None:
        return "is not a number"
    for name, base in _BASES.items():
        digits = match[name]
        if digits is not None:
            value = int(digits or "0", base)
            if value >= 2**64:
                return "does not fit 64 bits"
            return Constant("u64" if match[f"u{base}"] or value >= 2**63 else "s64", value)
    if match["single"]:
        return Constant("f32", int(match["single"], 16))
    if match["double"]:
        return Constant("f64", int(match["double"], 16))
    return Constant("f64", bits_of_double(float(match["real"])))


def bits_of_double(value: float) -> int:
    """Return the bit pattern of a float64."""
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def double_of_bits(bits: int) -> float:
    """Return the float64 with a bit pattern."""
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def wrap(kind: str, value: int) -> Constant:
    """Reduce an integer to the 64 bits of its kind, "s64" or "u64"."""
    value &= 2**64 - 1
    return Constant(kind, value - 2**64 if kind == "s64" and value >> 63 else value)
