# SPDX-License-Identifier: MIT
"""Drawings of integer sums and bit counts: products on one ruler, the total, and its wrapped or clamped value."""

from wmma_emu.arithmetic.explanation.notation import pattern
from wmma_emu.arithmetic.explanation.steps import BitCount, IntegerSum, IntegerTerm
from wmma_emu.formats import Format, format_of
from wmma_emu.viz.arithmetic.bit_rows import HEIGHT, SMALL, Bits, Ruler, bit_row, boundary, marks
from wmma_emu.viz.arithmetic.step_drawing import Drawing, mono_width
from wmma_emu.viz.svg import element

_GAP = 14
_RULER = 22
_WORD = 32


def draw_integer_sum(step: IntegerSum) -> Drawing:
    """Draw the products of an instruction, c, their total, and how it is wrapped or clamped."""
    a_format, b_format = format_of(step.a_format), format_of(step.b_format)
    drawing = Drawing(
        f"step {step.number}: {len(step.terms)} products of {a_format} and {b_format}, and {step.c_name}, added exactly"
    )
    shown = [t for t in step.terms if t.product]
    rows = [(f"k={t.k}", _product(t, a_format, b_format), t.product) for t in shown]
    rows.append((step.c_name, f"{pattern(step.c, step.format)} = {step.c_value}", step.c_value))
    _sum(drawing, rows, step)
    zeros = [(t.k, f"{pattern(t.a, a_format)} × {pattern(t.b, b_format)}") for t in step.terms if not t.product]
    drawing.listed("zero:", zeros)
    drawing.words(_limited(step))
    drawing.result(step.result, step.format, f"→ {pattern(step.result, step.format)} = {step.value:+d}")
    return drawing


def _product(t: IntegerTerm, a_format: Format, b_format: Format) -> str:
    return f"{pattern(t.a, a_format)} × {pattern(t.b, b_format)} = {t.a_value} × {t.b_value} = {t.product}"


def _sum(drawing: Drawing, rows: list[tuple[str, str, int]], step: IntegerSum | BitCount) -> None:
    """Draw magnitudes with signs on one ruler; below them the total, and its two's complement if it differs."""
    fmt, total = format_of(step.format), step.total
    places = total.bit_length() + 1
    complement = step.limit == "wrapped" or (total < 0 and step.limit == "none")
    highest = max([abs(x).bit_length() - 1 for *_, x in rows] + [abs(total).bit_length() - 1, 7])
    if complement:
        highest = max(highest, places - 1, fmt.bits - 1)
    names = max(mono_width(x) for x in [*(name for name, *_ in rows), "complement"]) + _GAP
    signs = names + max(mono_width(text) for _, text, _ in rows) + _GAP
    ruler = Ruler(signs + 10, highest, 0)
    drawing.y += _RULER
    drawing.add(*marks(ruler, drawing.y))
    drawing.y += 4
    carries_above = max([abs(x).bit_length() - 1 for *_, x in rows] + [0])
    for name, text, value in rows:
        _row(drawing, name, text, value, name, signs, ruler)
    drawing.add(element("path", d=f"M0 {drawing.y:g}H{ruler.right:g}", class_="line"))
    drawing.y += 4
    _row(drawing, "total", f"{total:+d}", total, "sum", signs, ruler, carries_above)
    if complement:
        drawing.mono("complement", 0)
        digits = total & ((1 << highest + 1) - 1)
        cells = [*bit_row(ruler, drawing.y, Bits(digits & fmt.mask, 0, fmt.bits - 1))]
        if highest >= fmt.bits:  # the digits beyond the format, which wrapping drops
            above = Bits(digits >> fmt.bits, fmt.bits, highest)
            cells += bit_row(ruler, drawing.y, above, cut_below=highest + 1)
            cells.append(boundary(ruler, fmt.bits, drawing.y - 3, drawing.y + HEIGHT + 3, "edge"))
        drawing.row(cells, data_term="complement", data_sign=0)
    drawing.widen(ruler.right)


def _row(
    drawing: Drawing, name: str, text: str, value: int, term: str, signs: float, ruler: Ruler,
    carries_above: int | None = None,
) -> None:  # fmt: skip
    drawing.mono(name, 0)
    drawing.mono(text, signs - _GAP, anchor="end")
    drawing.mono("−" if value < 0 else "+", signs, anchor="middle")
    cells = bit_row(ruler, drawing.y, Bits.of(abs(value), 0), new_above=carries_above)
    drawing.row(cells, f"{name}: {text}", data_term=term, data_sign=int(value < 0))


def _limited(step: IntegerSum | BitCount) -> str:
    fmt = format_of(step.format)
    match step.limit:
        case "none":
            return f"The total, {step.total:+d}, is within the range of {fmt}."
        case "wrapped":
            return f"The total, {step.total:+d}, is wrapped: the low {fmt.bits} bits of its two's complement stay."
        case "lowest":
            return f"The total, {step.total:+d}, is clamped (.satfinite) to the lowest number, {fmt.min_integer}."
        case "highest":
            return f"The total, {step.total:+d}, is clamped (.satfinite) to the highest number, {fmt.max_integer}."


def draw_bit_count(step: BitCount) -> Drawing:
    """Draw words of a and b, their combination, the count of its ones, and the sum with c."""
    drawing = Drawing(
        f"step {step.number}: bits set in a {step.operation} b, counted, and {step.c_name}; 32 k a word, lowest first"
    )
    names = mono_width("k=992..1023") + _GAP
    middle = names + mono_width("a xor b") + _GAP
    left = middle + mono_width("0x00000000") + _GAP
    ruler = Ruler(left, _WORD - 1, 0)
    counts = ruler.right + 10
    for word in step.words:
        for place in range(0, _WORD, 4):
            label = str(word.k + place)
            x = ruler.x(place) + ruler.cell / 2
            drawing.add(element("text", label, x=x, y=drawing.y + 9, font_size=SMALL, text_anchor="middle",
                                class_="quiet"))  # fmt: skip
        drawing.y += 12
        for name, value in (("a", word.a), ("b", word.b), (f"a {step.operation} b", word.combined)):
            if name == "a":
                drawing.mono(f"k={word.k}..{word.k + _WORD - 1}", 0)
            elif name != "b":
                drawing.mono(f"{word.count} set", counts)
            drawing.mono(name, names)
            drawing.mono(f"0x{value:08x}", middle)
            term = f"{name.replace(' ', '-')}-{word.k}"
            drawing.row(bit_row(ruler, drawing.y, Bits(value, 0, _WORD - 1)), data_term=term, data_sign=0,
                        data_count=value.bit_count())  # fmt: skip
        drawing.y += 6
    drawing.widen(counts + mono_width("32 set"))
    c = f"{pattern(step.c, step.format)} = {step.c_value}"
    _sum(drawing, [("count", f"{step.count} bits set", step.count), (step.c_name, c, step.c_value)], step)
    drawing.words(_limited(step))
    drawing.result(step.result, step.format, f"→ {pattern(step.result, step.format)} = {step.value:+d}")
    return drawing
