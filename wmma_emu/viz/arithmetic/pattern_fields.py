# SPDX-License-Identifier: MIT
"""A bit pattern in boxes: sign, exponent, fraction and ignored bits, or a whole integer."""

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from wmma_emu.arithmetic.explanation.notation import pattern, shown
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.reference import unpack
from wmma_emu.viz.arithmetic.bit_rows import HEIGHT, SMALL, TEXT
from wmma_emu.viz.svg import element, text_width

FIELDS_HEIGHT = HEIGHT + 14
_DIGIT = 7.0
_PADDING = 8.0


class Field(NamedTuple):
    """A field of a pattern: its name, its bits, and the label below it."""

    kind: str
    digits: str
    label: str


def fields_of(bits: int, fmt: Format) -> list[Field]:
    """Cut a pattern into its fields, the highest first.

    Examples
    --------
    >>> [(x.kind, x.digits) for x in fields_of(0xBC01, format_of("f16"))]
    [('sign', '1'), ('exponent', '01111'), ('fraction', '0000000001')]
    """
    text = f"{bits:0{fmt.bits}b}"
    if not fmt.is_float:
        return [Field("fraction", text, "two's complement" if fmt.signed else "unsigned")]
    unread = fmt.bits - fmt.signed - fmt.magnitude_bits - fmt.ignored_low_bits
    sizes = {"unread": unread, "sign": int(fmt.signed), "exponent": fmt.exponent_bits,
             "fraction": fmt.fraction_bits, "ignored": fmt.ignored_low_bits}  # fmt: skip
    found, place = [], 0
    for kind, size in sizes.items():
        digits = text[place : place + size]
        place += size
        if not size:
            continue
        label = kind
        if kind == "exponent":
            label = _exponent(bits, fmt, int(digits, 2))
        elif kind == "sign":
            label = "−" if digits == "1" else "+"
        found.append(Field("ignored" if kind == "unread" else kind, digits, label))
    return found


def _exponent(bits: int, fmt: Format, field: int) -> str:
    """Describe the number by its exponent field."""
    kind = unpack(bits, fmt).kind
    if kind == "finite":
        return "subnormal" if field == 0 and fmt.has_zero else f"2^{field - fmt.bias}"
    return {"zero": "zero", "infinity": "infinity", "nan": "NaN"}[kind]


def _width(field: Field, labelled: bool) -> float:
    digits = len(field.digits) * _DIGIT + _PADDING
    return max(digits, text_width(field.label, SMALL) + 4) if labelled else digits


def fields_width(fmt: Format, labelled: bool = True) -> float:
    """Return the largest width of a format's patterns."""
    longest = [_width(x, labelled) for x in fields_of(1 << fmt.ignored_low_bits, fmt)]  # a subnormal number
    return sum(longest) + 2 * len(longest)


def draw_fields(bits: int, fmt: Format | str, left: float, top: float, labelled: bool = True) -> Iterator[str]:
    """Draw the fields of a pattern, with labels below them if requested."""
    fmt = format_of(fmt) if isinstance(fmt, str) else fmt
    value = f" = {shown(bits, fmt)}" if fmt.is_float else ""
    boxes, x = [element("title", escape(f"{pattern(bits, fmt)} ({fmt}){value}"))], left
    for field in fields_of(bits, fmt):
        width = _width(field, labelled)
        boxes.append(element("rect", x=x + 0.5, y=top + 0.5, width=width - 1, height=HEIGHT - 1, class_=field.kind,
                             data_field=field.kind, data_digits=field.digits))  # fmt: skip
        middle = x + width / 2
        boxes.append(element("text", field.digits, x=middle, y=top + HEIGHT - 4, font_size=TEXT, class_="mono",
                             text_anchor="middle"))  # fmt: skip
        if labelled:
            boxes.append(element("text", escape(field.label), x=middle, y=top + HEIGHT + 10, font_size=SMALL,
                                 class_="quiet", text_anchor="middle"))  # fmt: skip
        x += width + 2
    yield element("g", *boxes, class_="pattern", data_pattern=pattern(bits, fmt), data_format=fmt.name)
