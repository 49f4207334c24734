# SPDX-License-Identifier: MIT
"""A drawing of one aligned sum: the terms on one ruler, truncated bits struck out, the sum, the rounded bits."""

from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.arithmetic.explanation.notation import exact, pattern
from wmma_emu.arithmetic.explanation.rounding_text import direction
from wmma_emu.arithmetic.explanation.steps import AlignedSum, AlignedTerm, Rounding
from wmma_emu.viz.arithmetic.bit_rows import HEIGHT, PITCH, SMALL, Bits, Ruler, bit_row, boundary, marks
from wmma_emu.viz.arithmetic.step_drawing import Drawing, mono_width
from wmma_emu.viz.svg import element, text_width

_FAR = 12
"""The columns after the bar: a term that begins further away is drawn there, off the ruler, after a broken arrow."""

_GAP = 14
_RULER = 30


class _Columns(NamedTuple):
    """The positions of the words left of the bits (right edges, except the first), and of the signs."""

    names: float
    operands: float
    exponents: float
    shifts: float
    signs: float
    bits: float


def draw_aligned_sum(step: AlignedSum) -> Drawing:
    """Draw one rounding step of a matrix unit."""
    if step.special is not None:
        return _special(step)
    drawing = Drawing(_title(step))
    finite = [t for t in step.terms if t.kind == "finite"]
    columns = _columns(step)
    unit = step.exponent - step.fraction_bits
    bits = {t.name: Bits.of(t.significand, t.exponent - t.fraction_bits, t.exponent) for t in finite}
    near = [x for x in bits.values() if x.highest >= unit - _FAR]
    total = Bits.of(abs(step.total), unit, step.exponent)
    kept = _kept(step)
    # The arrow begins at the position of the unshifted term's first digit.
    begins = [bits[t.name].highest + t.shift for t in finite]
    top = max([total.highest, *begins, *(x.highest for x in near), *([kept.highest] if kept else [])])
    ruler = Ruler(columns.bits, top, min([unit, *(x.lowest for x in near)]))
    carries_above = max([step.exponent, *(x.highest for x in near)])
    _heading(drawing, columns, ruler, unit, "carry" if total.highest > carries_above else "")
    start = drawing.y
    for t in finite:
        _term(drawing, step, t, bits[t.name], columns, ruler, unit)
    drawing.add(element("path", d=f"M0 {drawing.y:g}H{ruler.x(unit - 1):g}", class_="line"))
    drawing.y += 4
    _sum(drawing, step, total, columns, ruler, carries_above)
    end = drawing.y - PITCH + HEIGHT
    _rounded(drawing, step, kept, columns, ruler)
    drawing.add(boundary(ruler, unit, start - 8, end + 2))
    drawing.widen(ruler.right)
    _listed(drawing, "zero", step)
    if step.rounding is None:
        drawing.words("The sum is zero: +0.")
    else:
        _cancelled(drawing, step, total)
        drawing.words(_rounding_words(step.rounding), data_dropped_bits=str(step.rounding.dropped_bits))
    drawing.result(step.result, step.format)
    return drawing


def _title(step: AlignedSum) -> str:
    count = f"step {step.number}: {len(step.terms) - 1} products and {step.terms[-1].name}"
    if step.special is not None:
        return f"{count}, infinities or NaN among them"
    why = "the lowest that the unit aligns to" if step.floor else f"the largest exponent ({step.aligned_to})"
    unit = step.exponent - step.fraction_bits
    return f"{count}, aligned to 2^{step.exponent}, {why}; truncated toward zero below 2^{unit}"


def _columns(step: AlignedSum) -> _Columns:
    names = max(mono_width(t.name) for t in step.terms)
    names = max(names, mono_width(step.result_format), mono_width("term"))
    operands = names + _GAP + max(mono_width(_operands(t, step)) for t in step.terms)
    exponents = operands + _GAP + max(mono_width(x) for x in ["exp", *(str(t.exponent) for t in step.terms)])
    shifts = exponents + _GAP + mono_width("shift")
    return _Columns(0, operands, exponents, shifts, shifts + _GAP + 6, shifts + _GAP + 16)


def _operands(t: AlignedTerm, step: AlignedSum) -> str:
    if t.a is None or t.b is None:
        return pattern(t.bits or 0, step.format)
    return f"{pattern(t.a, step.a_format)} × {pattern(t.b, step.b_format)}"


def _heading(drawing: Drawing, columns: _Columns, ruler: Ruler, unit: int, carry: str) -> None:
    drawing.y += _RULER - HEIGHT
    for text, x in (("exp", columns.exponents), ("shift", columns.shifts)):
        drawing.mono(text, x, anchor="end", quiet=True)
    drawing.mono("term", 0, quiet=True)
    drawing.mono("a × b", columns.operands, anchor="end", quiet=True)
    drawing.y += HEIGHT
    drawing.add(*marks(ruler, drawing.y, unit))
    x, y = ruler.x(unit) + ruler.cell, drawing.y - 22
    label = f"truncated below 2^{unit}"
    drawing.add(element("text", label, x=x + 4, y=y, font_size=SMALL))
    drawing.add(boundary(ruler, unit, y - 8, drawing.y))
    drawing.widen(x + 4 + text_width(label, SMALL))
    if carry:
        drawing.add(element("text", carry, x=ruler.left, y=y, font_size=SMALL))
    drawing.y += 4


def _term(
    drawing: Drawing, step: AlignedSum, t: AlignedTerm, bits: Bits, columns: _Columns, ruler: Ruler, unit: int
) -> None:
    drawing.mono(t.name, columns.names)
    drawing.mono(_operands(t, step), columns.operands, anchor="end")
    drawing.mono(str(t.exponent), columns.exponents, anchor="end")
    drawing.mono(str(t.shift), columns.shifts, anchor="end")
    drawing.mono("−" if t.sign else "+", columns.signs, anchor="middle")
    far = bits.highest < unit - _FAR
    own = ruler.moved(bits.highest, ruler.x(unit - 1 - _FAR)) if far else ruler
    value = exact(t.sign, t.significand, t.exponent - t.fraction_bits)
    lost = f", of which {t.cut_bits} bits are cut" if t.cut_bits else ""
    tip = f"{t.name}: {_operands(t, step)} = {value}, shifted by {t.shift}{lost}"
    elements = [*_arrow(drawing.y, t, bits, ruler, own, far), *bit_row(own, drawing.y, bits, cut_below=unit)]
    if far:
        x = own.x(bits.lowest - 1) + 5
        label = f"from 2^{bits.highest}"
        elements.append(element("text", label, x=x, y=drawing.y + HEIGHT - 5, font_size=SMALL, class_="quiet"))
        drawing.widen(x + text_width(label, SMALL))
    drawing.row(elements, tip, data_term=t.name, data_sign=t.sign, data_shift=t.shift, data_cut_bits=t.cut_bits)


def _arrow(y: float, t: AlignedTerm, bits: Bits, ruler: Ruler, own: Ruler, far: bool) -> Iterator[str]:
    """Return the arrow of a term's shift: from the alignment's column to its own, broken if that is far away."""
    if not t.shift:
        return
    start, end = ruler.x(bits.highest + t.shift) + 2, own.x(bits.highest) - 2
    middle = y + HEIGHT / 2
    shaft = f"M{start:g} {middle:g}H{end:g}m-4 -3l4 3l-4 3"
    if far:  # two strokes across the arrow
        x = end - 14
        shaft = f"M{start:g} {middle:g}H{x:g}m-2 5l4 -10m4 0l-4 10m2 -5H{end:g}m-4 -3l4 3l-4 3"
    yield element("path", d=shaft, class_="line shift", data_shift=t.shift)
    label = str(t.shift)
    room = text_width(label, SMALL) + 4
    if end - start > room + 12:
        x = (start + min(end, ruler.x(bits.highest + t.shift) + 26 * ruler.cell)) / 2
        yield element("rect", x=x - room / 2, y=y + 2, width=room, height=HEIGHT - 4, class_="back")
        yield element("text", label, x=x, y=y + HEIGHT - 5, font_size=SMALL, text_anchor="middle", class_="quiet")


def _sum(drawing: Drawing, step: AlignedSum, total: Bits, columns: _Columns, ruler: Ruler, carries_above: int) -> None:
    drawing.mono("sum", columns.names)
    if step.total:
        drawing.mono("−" if step.total < 0 else "+", columns.signs, anchor="middle")
    end = _last_kept(step)
    row = bit_row(ruler, drawing.y, total, cut_below=end, new_above=carries_above)
    tip = f"sum: {exact(int(step.total < 0), abs(step.total), total.lowest)}"
    drawing.row(row, tip, data_term="sum", data_sign=int(step.total < 0))


def _last_kept(step: AlignedSum) -> int | None:
    """Return the power below which rounding drops digits of the sum."""
    r = step.rounding
    return r.exponent + r.dropped_bits if r is not None and r.dropped_bits else None


def _kept(step: AlignedSum) -> Bits | None:
    """Return the bits that rounding keeps, at most down to the ruler's last column; None for a zero result."""
    r = step.rounding
    if r is None or not r.kept:
        return None
    unit = step.exponent - step.fraction_bits
    missing = max(unit - r.kept_exponent, 0)
    return Bits.of(r.kept >> missing, r.kept_exponent + missing)


def _rounded(drawing: Drawing, step: AlignedSum, kept: Bits | None, columns: _Columns, ruler: Ruler) -> None:
    r = step.rounding
    if r is None:
        return
    top = drawing.y - PITCH
    drawing.mono(step.result_format, columns.names)
    if kept is None:
        drawing.mono("0", ruler.x(ruler.highest) + ruler.cell / 2, anchor="middle")
        drawing.row([], data_term="rounded", data_sign=0)
    else:
        drawing.mono("−" if r.sign else "+", columns.signs, anchor="middle")
        tip = f"{step.result_format}: {exact(r.sign, r.kept, r.kept_exponent)}"
        drawing.row(bit_row(ruler, drawing.y, kept), tip, data_term="rounded", data_sign=r.sign)
    end = _last_kept(step)
    if end is not None and end <= ruler.highest:
        drawing.add(boundary(ruler, end, top - 1, drawing.y - PITCH + HEIGHT + 1, "edge"))
        label = f"{step.result_format} ends at 2^{end}"
        x = ruler.x(end) + ruler.cell + 4
        drawing.add(element("text", label, x=x, y=drawing.y - PITCH + HEIGHT - 4, font_size=SMALL, class_="quiet"))
        drawing.widen(x + text_width(label, SMALL))


def _cancelled(drawing: Drawing, step: AlignedSum, total: Bits) -> None:
    """Return a sentence on the position of the sum's leading one, if terms of both signs moved it far down."""
    leading = total.lowest + abs(step.total).bit_length() - 1
    if step.exponent - leading > 1 and len({t.sign for t in step.terms if t.kept}) == 2:
        lost = step.exponent - leading
        place = f"{lost} places below 2^{step.exponent}"
        drawing.words(f"Terms of both signs cancel: the sum begins at 2^{leading}, {place}.")


def _rounding_words(r: Rounding) -> str:
    zero = "; a zero result is +0" if r.kept == 0 else ""
    return f"Rounded {r.mode} to {r.format}: {direction(r)}{zero}."


def _listed(drawing: Drawing, kind: str, step: AlignedSum) -> None:
    terms = [t for t in step.terms if t.kind == kind]
    others = [(t.name, f"{t.name} {_operands(t, step)}") for t in terms if t.k is None]
    drawing.listed(f"{kind}:", [(t.k, _operands(t, step)) for t in terms if t.k is not None], others)


def _special(step: AlignedSum) -> Drawing:
    drawing = Drawing(_title(step))
    columns = _columns(step)
    for t in step.terms:
        if t.kind not in ("infinity", "nan"):
            continue
        kind = {"infinity": "−infinity" if t.sign else "+infinity", "nan": "NaN"}[t.kind]
        why = f" ({t.a_kind} × {t.b_kind})" if t.k is not None else ""
        drawing.mono(t.name, columns.names)
        drawing.mono(_operands(t, step), columns.operands, anchor="end")
        drawing.mono(kind + why, columns.operands + _GAP)
        drawing.widen(columns.operands + _GAP + mono_width(kind + why))
        drawing.row([], data_term=t.name, data_kind=t.kind, data_sign=t.sign)
    _listed(drawing, "finite", step)
    _listed(drawing, "zero", step)
    if step.special is not None:
        drawing.special(step.special)
    drawing.result(step.result, step.format)
    return drawing
