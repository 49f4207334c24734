# SPDX-License-Identifier: MIT
"""The table of formats: one entry each, with its source."""

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.formats.other_names import OTHER_NAMES, TWO_MEANINGS
from wmma_emu.formats.spec import Format
from wmma_emu.suggestions import nearest, question

_IEEE = "IEEE 754-2019, table 3.5"
_PTX = "PTX ISA 9.1, section 5.2.3 (alternate floating-point formats)"
_OFP8 = "OCP 8-bit Floating Point Specification 1.0, table 1"
_MX = "OCP Microscaling Formats 1.0, section 5.3"
_PTX_INT = "PTX ISA 9.1, section 5.2.1 (fundamental types) and 9.7.14 (sub-byte operands of mma)"
_MEASURED_NAN = "; canonical NaN measured on an NVIDIA H200, driver 580.159.04, 2026-11-21"


def _float(name: str, bits: int, exponent_bits: int, fraction_bits: int, bias: int, **rest: object) -> Format:
    row: dict[str, object] = {"signed": True, "has_infinity": True, "nan": "ieee", **rest}
    row |= {"exponent_bits": exponent_bits, "fraction_bits": fraction_bits, "bias": bias}
    return Format(name, "float", bits, **row)  # type: ignore[arg-type]


def _integer(name: str, bits: int, signed: bool) -> Format:
    return Format(name, "integer", bits, signed, source=_PTX_INT)


_ENTRIES = (
    _float("f64", 64, 11, 52, 1023, canonical_nan=0xFFF8_0000_0000_0000, source=_IEEE + _MEASURED_NAN),
    _float("f32", 32, 8, 23, 127, canonical_nan=0x7FFF_FFFF, source=_IEEE + _MEASURED_NAN),
    # tf32 is held in float32 registers and arrays, whose low 13 bits the instructions ignore. So the format has 32
    # bits, not 19 with a conversion: inputs are unchanged, a NaN whose payload is in the ignored bits is the infinity
    # that the chip reads, and packing works as for float32. e8m13, the part of a float32 that Ada's FP8 unit keeps,
    # also has ignored bits.
    _float(
        "tf32",
        32,
        8,
        10,
        127,
        ignored_low_bits=13,
        canonical_nan=0x7FFF_E000,
        source=_PTX + "; the low 13 bits are not read, canonical NaN (cvt.rn, cvt.rz): measured on an NVIDIA H200, "
        "driver 580.159.04, 2026-11-21",
    ),
    _float("bf16", 16, 8, 7, 127, canonical_nan=0x7FFF, source=_PTX),
    _float("f16", 16, 5, 10, 15, canonical_nan=0x7FFF, source=_IEEE + _MEASURED_NAN),
    _float("e4m3", 8, 4, 3, 7, has_infinity=False, nan="all_ones", canonical_nan=0x7F, source=_OFP8),
    _float("e5m2", 8, 5, 2, 15, canonical_nan=0x7F, source=_OFP8),
    _float("e3m2", 6, 3, 2, 3, has_infinity=False, nan="none", source=_MX),
    _float("e2m3", 6, 2, 3, 1, has_infinity=False, nan="none", source=_MX),
    _float("e2m1", 4, 2, 1, 1, has_infinity=False, nan="none", source=_MX),
    _float(
        "ue8m0",
        8,
        8,
        0,
        127,
        signed=False,
        has_infinity=False,
        nan="all_ones",
        has_zero=False,
        canonical_nan=0xFF,
        source=_MX + " (E8M0)",
    ),
    _float(
        "ue4m3",
        8,
        4,
        3,
        7,
        signed=False,
        has_infinity=False,
        nan="all_ones",
        canonical_nan=0x7F,
        source=_PTX + ": the byte's top bit is padding",
    ),
    _integer("s32", 32, True),
    _integer("s8", 8, True),
    _integer("u8", 8, False),
    _integer("s4", 4, True),
    _integer("u4", 4, False),
    Format("b1", "bit", 1, False, source=_PTX_INT),
)

FORMATS: dict[str, Format] = {entry.name: entry for entry in _ENTRIES}
"""Every format by its PTX name."""

FP8, FP6, FP4 = (tuple(x.name for x in _ENTRIES if x.is_float and x.signed and x.bits == bits) for bits in (8, 6, 4))
"""The names of the signed floating-point formats of eight, six and four bits."""


def format_of(name: "str | Format") -> Format:
    """Look up a format by its PTX name; a `Format` is returned unchanged.

    Raises
    ------
    UnknownNameError
        If the name is not in the table; the message lists the names that are.

    Examples
    --------
    >>> f16 = format_of("f16")
    >>> hex(f16.max_finite), hex(f16.infinity), f16.emin
    ('0x7bff', '0x7c00', -14)
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, str) or name not in FORMATS:
        raise UnknownNameError(f"there is no format {shorten(name)}{_hint(name)}")
    return FORMATS[name]


def _hint(given: object) -> str:
    """Return the formats that another name or a dtype stands for, or the nearest, and the legal names."""
    word = given if isinstance(given, str) else getattr(given, "__name__", getattr(given, "name", ""))
    plain = word.strip().casefold() if isinstance(word, str) else ""
    if clash := TWO_MEANINGS.get(plain):
        return f": {plain} is {clash}; the formats are {', '.join(FORMATS)}"
    called = [name for name in FORMATS if plain and plain in (name, *OTHER_NAMES.get(name, "").split())]
    return question(called or nearest(plain, FORMATS), f"the formats are {', '.join(FORMATS)}")
