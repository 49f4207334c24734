# SPDX-License-Identifier: MIT
"""The numbers of a step compared with the numbers that are read from its picture."""

from fractions import Fraction

from tests.viz.explanation_reader import Read, number
from wmma_emu.arithmetic.explanation import (
    AlignedSum,
    BitCount,
    Conversion,
    IntegerSum,
    MultiplyAdd,
    Rounding,
    Step,
)


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def check(step: Step, found: Read) -> None:
    """All numbers of a step are in its picture, and no others."""
    match step:
        case AlignedSum():
            check_aligned_sum(step, found)
        case MultiplyAdd():
            check_multiply_add(step, found)
        case IntegerSum():
            check_integer_sum(step, found)
        case BitCount():
            check_bit_count(step, found)
        case Conversion():
            check_conversion(step, found)
    if step.number:
        assert found.patterns[-1][1] == step.result


def check_aligned_sum(step: AlignedSum, found: Read) -> None:
    unit = step.exponent - step.fraction_bits
    kinds = {kind: [t.name for t in step.terms if t.kind == kind] for kind in ("zero", "finite", "infinity", "nan")}
    assert found.listed.get("zero", []) == kinds["zero"]
    if step.special is not None:
        assert found.listed.get("finite", []) == kinds["finite"]
        drawn = [t.name for t in step.terms if t.kind in ("infinity", "nan")]
        assert list(found.rows) == drawn
        assert [found.rows[x].attributes["data-kind"] for x in drawn] == [t.kind for t in step.terms if t.name in drawn]
        assert any(step.special.rule[:20] in text for text in found.texts)
        return
    ends = ["sum", "rounded"] if step.rounding is not None else ["sum"]
    assert list(found.rows) == [*kinds["finite"], *ends]
    for t in step.terms:
        if t.kind != "finite":
            continue
        row = found.rows[t.name]
        size = t.significand * power(t.exponent - t.fraction_bits)
        assert row.value == (-size if t.sign else size) and row.sign == t.sign
        assert row.stays == t.kept * power(unit)
        assert number(row.struck) == t.cut * power(t.exponent - t.fraction_bits)
        assert all(x >= unit for x in row.digits) and all(x < unit for x in row.struck)
        assert int(row.attributes["data-shift"]) == t.shift
        assert (unit - min(row.struck) if row.struck else 0) == t.cut_bits
    assert found.rows["sum"].value == step.total * power(unit)
    check_rounding(step.rounding, found, "sum")


def check_rounding(r: Rounding | None, found: Read, last: str) -> None:
    if r is None:
        assert "rounded" not in found.rows
        return
    exact, kept = r.significand * power(r.exponent), r.kept * power(r.kept_exponent)
    assert found.rows[last].value == (-exact if r.sign else exact)
    assert found.rows["rounded"].value == (-kept if r.sign else kept)
    assert number(found.rows[last].struck) == r.dropped * power(r.exponent)


def check_multiply_add(step: MultiplyAdd, found: Read) -> None:
    if step.special is not None:
        assert not found.rows and any(step.special.rule[:20] in text for text in found.texts)
        return
    values = [(-1) ** x.sign * x.significand * power(x.exponent - x.fraction_bits) if x.kind == "finite" else 0
              for x in step.operands]  # fmt: skip
    exact = (-1) ** step.sign * step.significand * power(step.exponent)
    rounded = [] if step.rounding is None else ["rounded"]
    if not any(values[:2]) and not any(values):
        return
    if step.operation == "add":
        expected = {"term0": values[0], "term1": values[1], "sum": exact}
    elif step.operation == "fma":
        expected = {"product": values[0] * values[1], "addend": values[2], "sum": exact}
    else:
        expected = {"product": values[0] * values[1]}
    assert list(found.rows) in ([*expected, *rounded], [])
    if found.rows:
        assert {name: found.rows[name].value for name in expected} == expected
        check_rounding(step.rounding, found, list(expected)[-1])
    else:
        assert not any(expected.values())


def check_integer_sum(step: IntegerSum, found: Read) -> None:
    products = {f"k={t.k}": t.product for t in step.terms if t.product}
    expected = {**products, step.c_name: step.c_value, "sum": step.total}
    assert {name: row.value for name, row in found.rows.items() if name != "complement"} == expected
    assert found.listed.get("zero", []) == [f"k={t.k}" for t in step.terms if not t.product]
    check_complement(step, found)


def check_complement(step: IntegerSum | BitCount, found: Read) -> None:
    shown = step.limit == "wrapped" or (step.limit == "none" and step.total < 0)
    assert ("complement" in found.rows) == shown
    if shown:
        row = found.rows["complement"]
        assert row.stays == step.result
        assert row.value == step.total % (1 << len(row.digits) + len(row.struck))


def check_bit_count(step: BitCount, found: Read) -> None:
    for word in step.words:
        for name, value in (("a", word.a), ("b", word.b), (f"a-{step.operation}-b", word.combined)):
            row = found.rows.pop(f"{name}-{word.k}")
            assert row.value == value and len(row.digits) == 32
        assert f"{word.count} set" in found.texts
    assert found.rows["count"].value == step.count == sum(word.count for word in step.words)
    assert (found.rows[step.c_name].value, found.rows["sum"].value) == (step.c_value, step.total)
    check_complement(step, found)


def check_conversion(step: Conversion, found: Read) -> None:
    if step.number:
        assert found.patterns[0] == (step.source, step.numbers[0].bits)
        check_rounding(step.rounding, found, "number")
        return
    expected = [(x.bits, x.result) for x in step.numbers]
    drawn = []
    for names, (bits, result) in found.converted:
        first, _, last = names.removeprefix("k=").partition("..")
        drawn += [(bits, result)] * (int(last) - int(first) + 1 if last else 1)
    assert drawn == expected
