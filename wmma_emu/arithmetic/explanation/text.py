# SPDX-License-Identifier: MIT
"""Steps as text: chains of multiply-adds, conversions, integers, bits. Aligned sums are in `aligned_text`."""

from wmma_emu.arithmetic.explanation.aligned_text import aligned_sum_lines
from wmma_emu.arithmetic.explanation.notation import WIDTH, exact, grouped, listing, pattern, shown
from wmma_emu.arithmetic.explanation.rounding_text import rounding_words
from wmma_emu.arithmetic.explanation.steps import AlignedSum, BitCount, Conversion, IntegerSum, MultiplyAdd, Step
from wmma_emu.formats import format_of


def step_lines(step: Step) -> list[str]:
    """Return all lines of one step."""
    match step:
        case AlignedSum():
            return aligned_sum_lines(step)
        case MultiplyAdd():
            return _multiply_add(step)
        case Conversion():
            return _conversion(step)
        case IntegerSum():
            return _integer_sum(step)
        case BitCount():
            return _bit_count(step)


def _conversion(step: Conversion) -> list[str]:
    """Return lines of conversions: inputs of the unit, many on a line, or one result."""
    if step.number:
        [one] = step.numbers
        head = f"step {step.number}: {one.name} converted from {step.source} to {step.target}"
        if step.rounding is None:
            how = "not rounded"
        else:
            how = rounding_words(step.rounding)
        value = f"{pattern(one.bits, step.source)} = {shown(one.bits, step.source)}"
        return [head, f"    {value}", f"    {how}", f"    -> {pattern(step.result, step.target)}"]
    head = f"{step.operand} converted from {step.source} to {step.target}, exactly:"
    pairs = [f"{pattern(one.bits, step.source)} -> {pattern(one.result, step.target)}" for one in step.numbers]
    if step.operand in "AB":
        ks = [int(one.name[2:-1]) for one in step.numbers]
        pairs = grouped(list(zip(ks, pairs, strict=True)))
    return [head, *listing("", pairs, 4)]


def _multiply_add(step: MultiplyAdd) -> list[str]:
    names = {"fma": "{} x {} + {}", "mul": "{} x {}", "add": "{} + {}"}[step.operation]
    bits = [pattern(x.bits, step.format) for x in step.operands]
    values = [shown(x.bits, step.format) for x in step.operands]
    lines = [
        f"step {step.number}: {names.format(*(x.name for x in step.operands))}",
        f"    {names.format(*bits)}",
        f"    {names.format(*values)}",
    ]
    if step.special is not None:
        lines.append(f"    = {step.special.result}: {step.special.rule} ({', '.join(step.special.causes)})")
    elif step.rounding is None:
        lines.append(f"    = 0 exactly; rounded {step.mode} to {step.format}")
    else:
        value = exact(step.sign, step.significand, step.exponent)
        lines += [f"    = {value} exactly", f"    {rounding_words(step.rounding)}"]
    return [*lines, f"    -> {pattern(step.result, step.format)}"]


def _integer_sum(step: IntegerSum) -> list[str]:
    a_format, b_format = format_of(step.a_format), format_of(step.b_format)
    lines = [f"step {step.number}: products of {a_format} and {b_format}, and {step.c_name}, added exactly"]
    rows, zeros = [], []
    for t in step.terms:
        bits = f"{pattern(t.a, a_format)} x {pattern(t.b, b_format)}"
        if t.product:
            rows.append(f"k={t.k:<3} {bits} = {t.a_value} x {t.b_value} = {t.product}")
        else:
            zeros.append((t.k, bits))
    lines += _columns(rows)
    if zeros:
        lines += listing("    zero:", grouped(zeros), 12)
    lines += [
        f"    products    {sum(t.product for t in step.terms):+d}",
        f"    {step.c_name:<11} {step.c_value:+d} ({pattern(step.c, step.format)})",
        f"    total       {step.total:+d}{_limited(step)}",
    ]
    return [*lines, f"    -> {pattern(step.result, step.format)} = {step.value:+d}"]


def _limited(step: "IntegerSum | BitCount") -> str:
    fmt = format_of(step.format)
    match step.limit:
        case "none":
            return ", within the format's range"
        case "wrapped":
            return f", wrapped: the low {fmt.bits} bits stay"
        case "lowest":
            return f", clamped (.satfinite) to the lowest number, {fmt.min_integer}"
        case "highest":
            return f", clamped (.satfinite) to the highest number, {fmt.max_integer}"


def _columns(rows: list[str]) -> list[str]:
    """Arrange rows of text in as many columns as fit, filled downwards."""
    width = max(map(len, rows), default=1)
    height = -(-len(rows) // (WIDTH // (width + 4)))
    columns = [rows[i : i + height] for i in range(0, len(rows), max(height, 1))]
    return [
        "    " + "    ".join(f"{column[i]:<{width}}" for column in columns if i < len(column)).rstrip()
        for i in range(height)
    ]


def _bit_count(step: BitCount) -> list[str]:
    lines = [
        f"step {step.number}: bits set in a {step.operation} b, counted, and {step.c_name}; 32 k a word, lowest first",
        f"    {'k':>8}  {'a':>10}  {'b':>10}  {'a ' + step.operation + ' b':>10}  count",
    ]
    for word in step.words:
        ks = f"{word.k}..{word.k + 31}"
        lines.append(f"    {ks:>8}  0x{word.a:08x}  0x{word.b:08x}  0x{word.combined:08x}  {word.count:>5}")
    return [
        *lines,
        f"    count       {step.count:+d}",
        f"    {step.c_name:<11} {step.c_value:+d} ({pattern(step.c, step.format)})",
        f"    total       {step.total:+d}{_limited(step)}",
        f"    -> {pattern(step.result, step.format)} = {step.value:+d}",
    ]
