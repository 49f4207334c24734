# SPDX-License-Identifier: MIT
"""One aligned sum as text: all terms on one ruler, truncated bits after a bar, the sum, and its rounding."""

from wmma_emu.arithmetic.explanation.notation import binary, exact, fixed, grouped, listing, pattern, significand
from wmma_emu.arithmetic.explanation.rounding_text import direction
from wmma_emu.arithmetic.explanation.steps import AlignedSum, AlignedTerm, Special


def aligned_sum_lines(step: AlignedSum) -> list[str]:
    """Return all lines of one aligned sum."""
    if step.special is not None:
        return _special_lines(step, step.special)
    return _finite_lines(step)


def _finite_lines(step: AlignedSum) -> list[str]:
    unit = step.exponent - step.fraction_bits
    why = f"the largest exponent ({step.aligned_to})" if not step.floor else "the lowest that the unit aligns to"
    lines = [
        f"step {step.number}: {_count(step)} aligned to 2^{step.exponent}, {why};"
        f" cut toward zero at 2^{unit}, {step.fraction_bits} bits below"
    ]
    finite = [t for t in step.terms if t.kind == "finite"]
    # The longest of all rows determines the number of integer digits.
    largest = max([abs(step.total), *(abs(t.kept) for t in finite)])
    whole = max(largest.bit_length() - step.fraction_bits, 1)
    heading = f"{f'  bits x 2^{step.exponent}':<{3 + whole + step.fraction_bits}}|cut"
    lines += _scale_lines(step)
    heads = ("sA", "sB") if _has_groups(step) else ("a", "b")
    lines.append(_row(step, "term", *heads, "exp", "shift", "significand", heading))
    for t in finite:
        row = f"{'-' if t.sign else '+'} {fixed(abs(t.kept), step.fraction_bits, whole)}|{binary(t.cut, t.cut_bits)}"
        lines.append(_term_row(t, row, step))
    if step.total:
        row = f"{'-' if step.total < 0 else '+'} {fixed(abs(step.total), step.fraction_bits, whole)}|"
        lines.append(_row(step, "sum", "", "", "", "", "", row))
    lines += _zero_lines(step)
    return [*lines, *_rounding_lines(step, whole), f"    -> {pattern(step.result, step.format)}"]


def _count(step: AlignedSum) -> str:
    what = "groups" if _has_groups(step) else "products"
    return f"{len(step.terms) - 1} {what} and {step.terms[-1].name}"


def _has_groups(step: AlignedSum) -> bool:
    return bool(step.blocks and step.blocks[0].ks)


def _scale_lines(step: AlignedSum) -> list[str]:
    """Return lines with the scales of each block, and with the operands and the sum of each group."""
    lines = []
    for block in step.blocks:
        pair = f"{pattern(block.scale_a, step.scale_format)} x {pattern(block.scale_b, step.scale_format)}"
        value = {"nan": "NaN", "zero": "0"}.get(block.kind, f"2^{block.exponent}")
        if block.kind == "finite" and block.fraction_bits:
            value += f" x {significand(block.significand, block.fraction_bits)}"
        line = f"    scales of {block.name}: {pair} ({step.scale_format}) = {value}"
        if not block.ks:
            lines.append(line)
            continue
        total = exact(int(block.total < 0), abs(block.total), -block.total_bits)
        a_format, b_format = step.operand_formats
        pairs = [f"{pattern(a, a_format)} x {pattern(b, b_format)}" for a, b in zip(block.a, block.b, strict=True)]
        lines.append(f"{line}; the sum of the products is {total}:")
        lines += listing("", grouped(list(zip(block.ks, pairs, strict=True))), 8)
    return lines


def _row(step: AlignedSum, name: str, a: str, b: str, exp: str, shift: str, significand: str, row: str) -> str:
    x, y = len(pattern(0, step.a_format)), len(pattern(0, step.b_format))
    # The addend occupies the columns of a and b.
    operands = f"{a:>{x}}  {b:>{y}}" if b or not a else f"{a:>{x + y + 2}}"
    return f"    {name:<{_width(step)}}{operands}  {exp:>4}  {shift:>5}  {significand:>11}  {row}".rstrip()


def _width(step: AlignedSum) -> int:
    return max(8, *(len(t.name) + 1 for t in step.terms))


def _term_row(t: AlignedTerm, row: str, step: AlignedSum) -> str:
    a, b = _operands(t, step)
    return _row(step, t.name, a, b, str(t.exponent), str(t.shift), significand(t.significand, t.fraction_bits), row)


def _operands(t: AlignedTerm, step: AlignedSum) -> tuple[str, str]:
    if t.a is None or t.b is None:
        return pattern(t.bits or 0, step.format), ""
    return pattern(t.a, step.a_format), pattern(t.b, step.b_format)


def _zero_lines(step: AlignedSum) -> list[str]:
    return _listed("zero: ", [t for t in step.terms if t.kind == "zero"], step)


def _listed(head: str, terms: list[AlignedTerm], step: AlignedSum) -> list[str]:
    """List terms without a separate row, with their bits."""
    products = [(t.k, " x ".join(_operands(t, step))) for t in terms if t.k is not None]
    texts = grouped(products)
    texts += [f"{t.name} {' x '.join(filter(None, _operands(t, step)))}" for t in terms if t.k is None]
    return listing(f"    {head}", texts, 12) if texts else []


def _rounding_lines(step: AlignedSum, whole: int) -> list[str]:
    r = step.rounding
    if r is None:
        return ["    the sum is zero: +0"]
    places = step.exponent - r.kept_exponent
    value = r.kept << max(r.kept_exponent - (step.exponent - step.fraction_bits), 0)
    value >>= max((step.exponent - step.fraction_bits) - r.kept_exponent, 0)
    row = f"{'-' if r.sign else '+'} {fixed(value, step.fraction_bits, whole, places)}"
    zero = "; a zero result is +0" if r.kept == 0 else ""
    return [
        _row(step, step.result_format, "", "", "", "", "", row),
        f"    rounded {r.mode} to {r.format}: {direction(r)}{zero}",
    ]


def _is_nan_itself(t: AlignedTerm, step: AlignedSum) -> bool:
    """Return whether a term is NaN because of its operands, not only because of its scales."""
    return (
        not step.blocks
        or _has_groups(step)
        or "nan" in (t.a_kind, t.b_kind)
        or t.b is None
        or ({t.a_kind, t.b_kind} == {"infinity", "zero"})
    )


def _special_lines(step: AlignedSum, special: Special) -> list[str]:
    lines = [f"step {step.number}: {_count(step)}, infinities or NaN among them", *_scale_lines(step)]
    by_scale = [t for t in step.terms if t.kind == "nan" and not _is_nan_itself(t, step)]
    for t in step.terms:
        if t.kind in ("infinity", "nan") and t not in by_scale:
            a, b = _operands(t, step)
            kind = {"infinity": "-infinity" if t.sign else "+infinity", "nan": "NaN"}[t.kind]
            why = f"  ({t.a_kind} x {t.b_kind})" if t.b is not None else ""
            lines.append(_row(step, t.name, a, b, "", "", "", kind + why))
    lines += _listed("NaN:    ", by_scale, step)
    lines += _listed("finite:", [t for t in step.terms if t.kind == "finite"], step)
    lines += _zero_lines(step)
    lines.append(f"    = {special.result}: {special.rule} ({', '.join(special.causes)})")
    return [*lines, f"    -> {pattern(step.result, step.format)}"]
