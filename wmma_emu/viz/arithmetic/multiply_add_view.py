# SPDX-License-Identifier: MIT
"""A drawing of a multiply-add, multiplication or addition: exact numbers on one ruler, and the rounded bits.

A number that is converted from one format to another is drawn in the same way.
"""

from wmma_emu.arithmetic.explanation.notation import exact, grouped, pattern, shown
from wmma_emu.arithmetic.explanation.rounding_text import direction
from wmma_emu.arithmetic.explanation.steps import Conversion, Converted, MultiplyAdd, Number, Rounding
from wmma_emu.formats import format_of
from wmma_emu.viz.arithmetic.bit_rows import HEIGHT, PITCH, SMALL, Bits, Ruler, bit_row, boundary, gaps_of, marks
from wmma_emu.viz.arithmetic.pattern_fields import draw_fields, fields_width
from wmma_emu.viz.arithmetic.step_drawing import Drawing, mono_width
from wmma_emu.viz.svg import element, text_width

_FORMULAS = {"fma": "{} × {} + {}", "mul": "{} × {}", "add": "{} + {}"}
_GAP = 14

_Row = tuple[str, str, int, Bits | None]
"""The role of a row (``product``, ``addend``, ``sum``, ...), its name, its sign, and its digits (None for zero)."""


def draw_multiply_add(step: MultiplyAdd) -> Drawing:
    """Draw one multiply-add of a chain."""
    formula = _FORMULAS[step.operation]
    drawing = Drawing(f"step {step.number}: {formula.format(*(x.name for x in step.operands))} ({step.format})")
    _operands(drawing, step)
    if step.special is not None:
        drawing.special(step.special)
    else:
        _digits(drawing, _rows(step), step.rounding, step.format)
        if step.rounding is None:
            drawing.words(f"The result is exactly 0; rounded {step.mode} to {step.format}.")
        else:
            drawing.words(_words(step.rounding), data_dropped_bits=str(step.rounding.dropped_bits))
    drawing.result(step.result, step.format)
    return drawing


def _operands(drawing: Drawing, step: MultiplyAdd) -> None:
    room = max(mono_width(x.name) for x in step.operands) + _GAP
    for x in step.operands:
        text = f"{pattern(x.bits, step.format)} = {shown(x.bits, step.format)}"
        drawing.mono(x.name, 0)
        drawing.mono(text, room)
        drawing.widen(room + mono_width(text))
        drawing.row([], data_operand=x.name, data_bits=pattern(x.bits, step.format))
    drawing.y += 4


def _rows(step: MultiplyAdd) -> list[_Row]:
    if step.operation == "add":
        rows = [_number(x, f"term{i}") for i, x in enumerate(step.operands)]
    else:
        a, b = step.operands[:2]
        lowest = a.exponent + b.exponent - a.fraction_bits - b.fraction_bits
        product = Bits.stripped(a.significand * b.significand, lowest) if a.significand * b.significand else None
        rows = [("product", f"{a.name} × {b.name}", a.sign ^ b.sign, product)]
        rows += [_number(x, "addend") for x in step.operands[2:]]
    if step.operation != "mul":
        total = Bits.stripped(step.significand, step.exponent) if step.significand else None
        rows.append(("sum", "exact sum", step.sign, total))
    return rows


def _number(x: Number, kind: str) -> _Row:
    bits = Bits.stripped(x.significand, x.exponent - x.fraction_bits) if x.kind == "finite" else None
    return (kind, x.name, x.sign, bits)


def _kept(r: Rounding) -> Bits | None:
    """Return the kept digits, down to the format's last digit, or down to the last digit without a drop."""
    if not r.kept:
        return None
    return Bits.of(r.kept, r.kept_exponent) if r.dropped_bits else Bits.stripped(r.kept, r.kept_exponent)


def _words(r: Rounding) -> str:
    return f"Rounded {r.mode} to {r.format}: keeps {exact(r.sign, r.kept, r.kept_exponent)}, {direction(r)}."


def _digits(drawing: Drawing, rows: list[_Row], r: Rounding | None, fmt: str) -> None:
    """Draw rows of exact numbers on one ruler, and the rounding of the last number below."""
    kept = _kept(r) if r is not None else None
    named = [*rows, ("rounded", fmt, r.sign if r is not None else 0, kept)] if r is not None else rows
    drawn = [bits for *_, bits in named if bits is not None]
    if not drawn:
        return
    end = r.exponent + r.dropped_bits if r is not None and r.dropped_bits else None
    left = max(mono_width(name) for _, name, *_ in named) + _GAP + 16
    # A line marks the end of the format, so a run of equal columns must end there too.
    edges = [Bits(0, end, end)] if end is not None else []
    gaps = gaps_of([*drawn, *edges])
    extent = [*drawn, *edges]
    ruler = Ruler(left, max(x.highest for x in extent), min(x.lowest for x in extent), gaps)
    drawing.y += 34
    drawing.add(*marks(ruler, drawing.y))
    drawing.y += 4
    for i, (kind, name, sign, bits) in enumerate(named):
        if kind in ("sum", "rounded") and i:
            drawing.add(element("path", d=f"M0 {drawing.y:g}H{ruler.right:g}", class_="line"))
            drawing.y += 4
        rounded = end is not None and i == len(rows) - 1
        drawing.mono(name, 0)
        drawing.mono("−" if sign else "+", left - 10, anchor="middle")
        tip = f"{name}: {exact(sign, bits.value, bits.lowest) if bits else '0'}"
        if bits is None:
            drawing.mono("0", ruler.x(ruler.highest) + ruler.cell / 2, anchor="middle")
        cells = bit_row(ruler, drawing.y, bits, cut_below=end if rounded else None) if bits else ()
        if rounded and end is not None:
            bottom = drawing.y + PITCH + HEIGHT + 5
            drawing.add(boundary(ruler, end, drawing.y - 2, bottom, "edge"))
        drawing.row(cells, tip, data_term=kind, data_sign=sign)
    if end is not None:
        label = f"{fmt} ends at 2^{end}"
        x = ruler.x(end) + ruler.cell + 4
        drawing.add(element("text", label, x=x, y=drawing.y - PITCH + HEIGHT - 4, font_size=SMALL, class_="quiet"))
        drawing.widen(x + text_width(label, SMALL))
    drawing.widen(ruler.right)


def draw_conversion(step: Conversion) -> Drawing:
    """Draw the conversion of a unit's result, or of all numbers of an operand."""
    if not step.number:
        return _converted_operand(step)
    [one] = step.numbers
    drawing = Drawing(f"step {step.number}: {one.name} converted from {step.source} to {step.target}")
    drawing.result(one.bits, step.source, f"{one.name}  {pattern(one.bits, step.source)}")
    if step.rounding is None:
        drawing.words("Not rounded.")
    else:
        r = step.rounding
        _digits(drawing, [("number", one.name, r.sign, Bits.stripped(r.significand, r.exponent))], r, step.target)
        drawing.words(_words(r), data_dropped_bits=str(r.dropped_bits))
    drawing.result(step.result, step.target)
    return drawing


def _converted_operand(step: Conversion) -> Drawing:
    """Draw patterns in fields before and after a conversion; equal neighbours are drawn once."""
    drawing = Drawing(f"{step.operand} converted from {step.source} to {step.target}, exactly")
    runs: list[tuple[str, Converted]] = [(one.name, one) for one in step.numbers]
    if step.operand in ("A", "B"):
        alike = {(one.bits, one.result): one for one in step.numbers}
        ks = [(int(one.name[2:-1]), f"{one.bits} {one.result}") for one in step.numbers]
        runs = []
        for text in grouped(ks):
            name, bits, result = text.split(" ")
            runs.append((name, alike[int(bits), int(result)]))
    room = max(mono_width(name) for name, _ in runs) + _GAP
    source = fields_width(format_of(step.source), labelled=False)
    wide = source + 18 + fields_width(format_of(step.target), labelled=False)
    count = max(int((drawing.width + _GAP) // (room + wide + 2 * _GAP)), 1)
    height = -(-len(runs) // count)
    top = drawing.y
    for i, (name, one) in enumerate(runs):
        left = (i // height) * (room + wide + 2 * _GAP)
        drawing.y = top + (i % height) * PITCH
        drawing.mono(name, left)
        drawing.mono("→", left + room + source + 8, anchor="middle")
        boxes = [
            *draw_fields(one.bits, step.source, left + room, drawing.y, labelled=False),
            *draw_fields(one.result, step.target, left + room + source + 18, drawing.y, labelled=False),
        ]
        drawing.add(element("g", *boxes, class_="converted", data_terms=name))
        drawing.widen(left + room + wide)
    drawing.y = top + height * PITCH
    return drawing
