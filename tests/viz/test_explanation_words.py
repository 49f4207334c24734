# SPDX-License-Identifier: MIT
"""The words and labels of explanations' pictures, and the chosen steps, compared with the numbers."""

import re
from fractions import Fraction
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.arithmetic.test_engines import PRODUCTS, mixture
from tests.viz.explanation_reader import SVG, groups, row_of
from wmma_emu.arithmetic.explanation import AlignedSum, BitCount, IntegerSum, MultiplyAdd, explain_dot
from wmma_emu.formats import format_of
from wmma_emu.viz import draw_explanation
from wmma_emu.viz.arithmetic.chosen_steps import loss
from wmma_emu.viz.arithmetic.pattern_fields import fields_of


def power(exponent):
    return Fraction(2) ** exponent


def signed(sign, size):
    return -size if sign else size


def column(*values, dtype=np.float16):
    """A row of A and a column of B, from pairs."""
    return np.array([[x for x, _ in values]], dtype), np.array([[y] for _, y in values], dtype)


@pytest.mark.parametrize("name", PRODUCTS)
def test_what_a_step_loses_is_the_exact_sum_less_what_it_gives(name):
    """Terms of both signs, so that what is cut of one may make up for what rounding drops, or add to it."""
    product = PRODUCTS[name]
    rng = np.random.default_rng(len(name) + 1)
    k = max(product.k, 2)
    for _ in range(3):
        a, b, c = (mixture(fmt, (1, count), rng)[0].tolist()
                   for fmt, count in ((product.a, k), (product.b, k), (product.c, 1)))  # fmt: skip
        for step in explain_dot(product, a, b, c[0], instruction=name, arch="chip").steps[:8]:
            if isinstance(step, IntegerSum | BitCount):
                assert loss(step) == abs(step.total - step.value)
            elif step.rounding is not None and getattr(step, "special", None) is None:
                r = step.rounding
                exact = signed(r.sign, r.significand * power(r.exponent))
                if isinstance(step, AlignedSum):
                    finite = [t for t in step.terms if t.kind == "finite"]
                    exact = sum(signed(t.sign, t.significand * power(t.exponent - t.fraction_bits)) for t in finite)
                assert loss(step) == abs(exact - signed(r.sign, r.kept * power(r.kept_exponent)))


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize(("sign", "expected"), [(1, 2.0**-26 + 2.0**-24), (-1, 2.0**-24 - 2.0**-26)])
def test_a_negative_term_that_is_cut_takes_back_what_rounding_drops(sign, expected):
    values = ((1, 1), (2.0**-12, 2.0**-12), (sign * 2.0**-13, 2.0**-13))
    [step] = we.explain("m16n8k8.f32.f16.f16.f32", *column(*values), row=0, col=0, arch="a100").steps
    cut = {t.name: t.cut_bits for t in step.terms if t.kind == "finite" and t.cut_bits}
    exact = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in values)
    given = signed(step.rounding.sign, step.rounding.kept * power(step.rounding.kept_exponent))
    assert cut and loss(step) == abs(exact - given) == Fraction(expected)


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "f16", "bf16", "tf32"])
def test_an_exponent_is_labelled_as_what_the_number_is(name):
    fmt = format_of(name)
    numbers = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "f16": np.float16,
               "bf16": ml_dtypes.bfloat16, "tf32": np.float32}[name]  # fmt: skip
    storage = np.dtype(f"u{np.dtype(numbers).itemsize}")
    spread = np.random.default_rng(3).integers(0, 1 << fmt.bits, 400).tolist() if fmt.bits > 8 else range(256)
    low = fmt.ignored_low_bits
    edges = [x << low for x in (0, 1, (1 << fmt.fraction_bits) - 1, 1 << fmt.fraction_bits, 3 << fmt.fraction_bits - 1)]
    seen = set()
    for bits in (*edges, *spread):
        value = float(np.array([bits >> low << low], storage).view(numbers)[0])
        [label] = [field.label for field in fields_of(bits, fmt) if field.kind == "exponent"]
        smallest = 2.0 ** float(1 - fmt.bias)
        if np.isnan(value):
            expected = "NaN"
        elif np.isinf(value):
            expected = "infinity"
        elif value == 0:
            expected = "zero"
        else:
            expected = "subnormal" if abs(value) < smallest else f"2^{np.frexp(value)[1] - 1}"
        assert label == expected, hex(bits)
        seen.add(expected)
    assert {"zero", "subnormal", f"2^{1 - fmt.bias}"} <= seen


@pytest.mark.parametrize("size", [2.0**-16, 2.0**-12])
def test_a_result_says_below_its_exponent_whether_it_is_subnormal(size):
    a, b = column((size, 2.0**-2))
    explanation = we.explain("wmma.mma.m16n16k16.f16.f16", a, b, row=0, col=0)
    texts = [x.text for x in ElementTree.fromstring(str(draw_explanation(explanation, step=1))).iter(f"{SVG}text")]
    assert texts.count("subnormal") == (size * 2.0**-2 < 2.0**-14) and texts.count("2^-14") <= 1
    assert ("2^-14" in texts) or size < 2.0**-12


FAR = {
    "a thousand binades": column((1.0, 1.0), (1e-300, 1e10), (-1e200, 1e50), (3.0, 1e-300), dtype=np.float64),
    "f64 near its end": column((2.0**-1074, 0.75), (2.0**1000, 2.0**1000), (3.0, 5.0), dtype=np.float64),
    "two binades of ones": column((1.0, 1.0), (2.0**-40 - 2.0**-90, 1.0), dtype=np.float64),
}


@pytest.mark.parametrize("name", FAR)
def test_a_break_says_how_many_digits_and_which_it_stands_for(name):
    """Check that every row is complete: the drawn and the folded powers are all powers from its first to its last."""
    explanation = we.explain(None, *FAR[name], row=0, col=0)
    folded = 0
    for step in explanation.steps:
        if not isinstance(step, MultiplyAdd) or not step.number:
            continue
        root = ElementTree.fromstring(str(draw_explanation(explanation, step=step.number)))
        ruler = [x.text for x in root.iter(f"{SVG}text") if re.fullmatch(r"\d+ powers", x.text or "")]
        counts = set()
        for row in groups(root, "row"):
            found = row_of(row)
            powers = sorted([*found.digits, *found.struck], reverse=True)
            if not powers:
                continue
            assert powers == list(range(powers[0], powers[-1] - 1, -1)), row.get("data-term")
            drawn = {int(x.get("data-exponent")) for x in row.iter(f"{SVG}rect") if x.get("data-bit")}
            for gap in groups(row, "break"):
                first, count, bit = (int(gap.get(f"data-{x}")) for x in ("exponent", "count", "bit"))
                assert not drawn & set(range(first - count + 1, first + 1))
                assert {first + 1, first - count} <= drawn
                assert gap.find(f"{SVG}title").text == f"{count} digits {bit}"
                assert gap.find(f"{SVG}text").text == f"{bit}…{bit}"
                counts.add(f"{count} powers")
                folded += 1
        assert counts <= set(ruler)
    assert folded


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize("below", [2, 5, 9, 20])
def test_what_cancels_is_counted_in_places_from_where_the_terms_were_aligned(below):
    a, b = column((1, 1), (-1, 1), (2.0**-below, 1))
    [step] = we.explain("m16n8k8.f32.f16.f16.f32", a, b, row=0, col=0, arch="a100").steps
    assert step.exponent == 0 and step.total * power(-step.fraction_bits) == power(-below)
    texts = " ".join(x.text for x in ElementTree.fromstring(
        str(draw_explanation(we.explain("m16n8k8.f32.f16.f16.f32", a, b, row=0, col=0, arch="a100"), step=1))
    ).iter(f"{SVG}text"))  # fmt: skip
    assert f"Terms of both signs cancel: the sum begins at 2^-{below}, {below} places below 2^0." in texts


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
@pytest.mark.parametrize("values", [((1, 1), (2.0**-9, 1)), ((1, 1), (-0.5, 1), (2.0**-9, 1)), ((1, 1), (-1, 1))])
def test_nothing_cancels_in_a_sum_of_one_sign_or_one_place_below_or_in_none(values):
    svg = str(draw_explanation(we.explain("m16n8k8.f32.f16.f16.f32", *column(*values), row=0, col=0, arch="a100")))
    assert "cancel" not in svg
