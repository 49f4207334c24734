# SPDX-License-Identifier: MIT
"""Pictures of explanations are read back: the digits in them are the terms, the sums and the results, exactly."""

import re
import warnings
from typing import get_args
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.arithmetic.test_engines import PRODUCTS, mixture
from tests.viz.explanation_checks import check
from tests.viz.explanation_reader import groups, read
from wmma_emu.arithmetic.explanation import (
    Explanation,
    MultiplyAdd,
    Step,
    explain_dot,
)
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.viz import draw_explanation
from wmma_emu.viz.arithmetic.explanation import html
from wmma_emu.viz.arithmetic.multiply_add_view import draw_conversion
from wmma_emu.viz.svg import document

MOST_COLUMNS, MOST_OF_F64 = 120, 180


def explain(a, b, c=None, instr=None, **options) -> Explanation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        return we.explain(instr, a, b, c, row=0, col=0, **options)


def half(*values) -> tuple[np.ndarray, np.ndarray]:
    """A row and a column of f16, from pairs."""
    return np.array([[x for x, _ in values]], np.float16), np.array([[y] for _, y in values], np.float16)


def picture_of(explanation: Explanation, step: Step) -> str:
    if step.number:
        return str(draw_explanation(explanation, step=step.number))
    return document("x", 1, 1, "", "", "", "", draw_conversion(step).body)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", PRODUCTS)
def test_every_step_of_every_model_is_drawn_with_its_exact_numbers(name):
    product = PRODUCTS[name]
    rng = np.random.default_rng(len(name))
    k = max(product.k, 2)
    a, b, c = (mixture(fmt, (1, count), rng)[0].tolist()
               for fmt, count in ((product.a, k), (product.b, k), (product.c, 1)))  # fmt: skip
    explanation = explain_dot(product, a, b, c[0], instruction=name.rpartition("|")[2], arch="chip")
    for step in explanation.steps[:6]:
        check(step, read(picture_of(explanation, step)))


def test_the_models_make_steps_of_every_kind():
    rng = np.random.default_rng(1)
    kinds = set()
    for name, product in PRODUCTS.items():
        a, b = (mixture(fmt, (1, product.k), rng)[0].tolist() for fmt in (product.a, product.b))
        if {type(x) for x in explain_dot(product, a, b, 0, instruction=name, arch="chip").steps} - kinds:
            kinds |= {type(x) for x in explain_dot(product, a, b, 0, instruction=name, arch="chip").steps}
        if len(kinds) == len(get_args(Step)):
            break
    assert kinds == set(get_args(Step))


SMALL = 2.0**-24

CASES = {
    "subnormal factors": (half((SMALL, SMALL), (3 * SMALL, 2.0**-23), (2.0**-20, 2.0**-14)), {}),
    "catastrophic cancellation": ((*half((1 + 2**-10, 1 + 2**-10), (1, 1), (-1, 1)),
                                   np.array([[-(1 + 2**-9)]], np.float32)), {}),
    "an exact zero": (half((1, 1), (-1, 1)), {}),
    "f16 results that are subnormal": (half(*[(2.0**-20, 2.0**-8)] * 16), {"instr": "wmma.mma.m16n16k16.f16.f16"}),
    "f16 results that round to zero": (half(*[(2.0**-20, 2.0**-20)] * 16), {"instr": "wmma.mma.m16n16k16.f16.f16"}),
    "f16 results that overflow": (half(*[(255.0, 255.0)] * 16), {"instr": "wmma.mma.m16n16k16.f16.f16"}),
    "infinities of both signs": (half((np.inf, 1), (2, 3), (0, 5), (-np.inf, 1)), {}),
    "NaN beside infinity": (half((np.nan, 1), (2, 3), (np.inf, 0), (-np.inf, 1)), {}),
    "no finite term": (half((0, 1), (0, 2)), {}),
    "products of 200 binades apart": ((np.array([[1, 2**-100.0, 3]], ml_dtypes.bfloat16),
                                       np.array([[1], [2**-100.0], [2**-28.0]], ml_dtypes.bfloat16)), {}),
    "products below the floor of the alignment": ((np.array([[2**-70.0, 2**-120.0]], ml_dtypes.bfloat16),
                                                   np.array([[2**-70.0], [2**-120.0]], ml_dtypes.bfloat16)), {}),
    "f64 of a thousand binades apart": ((np.array([[1.0, 1e-300, -1e200, 3.0]]),
                                         np.array([[1.0], [1e10], [1e50], [1e-300]])), {}),
    "f64 near its end": ((np.array([[2.0**-1074, 2.0**1000, 3.0]]), np.array([[0.75], [2.0**1000], [5.0]])), {}),
    "f64 products below every number": ((np.array([[2.0**-1074]]), np.array([[2.0**-1000]])), {}),
    "a wrapped sum": ((np.full((1, 32), 127, np.int8), np.full((32, 1), 127, np.int8),
                       np.array([[2**31 - 1]], np.int32)), {}),
    "a sum wrapped from below": ((np.full((1, 32), -128, np.int8), np.full((32, 1), 127, np.int8),
                                  np.array([[-(2**31)]], np.int32)), {}),
    "a clamped sum": ((np.full((1, 32), -128, np.int8), np.full((32, 1), 127, np.int8),
                       np.array([[-(2**31)]], np.int32)), {"instr": "m16n8k32.s32.s8.s8.s32.satfinite"}),
    "counted bits that wrap": ((np.ones((1, 256), np.bool_), np.zeros((256, 1), np.bool_),
                                np.array([[2**31 - 1]], np.int32)), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_rare_is_drawn_with_its_exact_numbers_and_not_too_wide(name):
    operands, options = CASES[name]
    explanation = explain(*operands, **options)
    for step in explanation.steps:
        svg = picture_of(explanation, step)
        check(step, read(svg))
        for row in groups(ElementTree.fromstring(svg), "row"):
            cells = [x for x in row.iter() if x.get("data-bit")]
            assert len(cells) <= (MOST_OF_F64 if isinstance(step, MultiplyAdd) else MOST_COLUMNS)


@pytest.mark.parametrize("name", ["products of 200 binades apart", "f64 of a thousand binades apart", "a wrapped sum"])
def test_a_picture_with_another_digit_anywhere_is_noticed(name):
    operands, options = CASES[name]
    explanation = explain(*operands, **options)
    step = explanation.steps[1 if len(explanation.steps) > 1 else 0]
    svg = picture_of(explanation, step)
    digits = [x.start(1) for x in re.finditer(r'data-bit="([01])"', svg)]
    for place in digits[:: max(len(digits) // 7, 1)]:
        with pytest.raises(AssertionError):
            check(step, read(f"{svg[:place]}{1 - int(svg[place])}{svg[place + 1 :]}"))


def test_a_distant_term_is_drawn_off_the_ruler_after_a_broken_arrow():
    (a, b), _ = CASES["products of 200 binades apart"]
    svg = str(draw_explanation(explain(a, b), step=1))
    root = ElementTree.fromstring(svg)
    rows = {g.get("data-term"): g for g in groups(root, "row")}
    first, far, near = (
        min(float(x.get("x")) for x in rows[k].iter() if x.get("data-bit")) for k in ("k=0", "k=1", "k=2")
    )
    assert first < near < far < first + 60 * 11
    assert [x.text for x in rows["k=1"].iter() if x.text and "from" in x.text] == ["from 2^-200"]
    assert [g.find("{*}path").get("data-shift") for g in (rows["k=1"], rows["k=2"])] == ["200", "27"]


def test_truncated_bits_are_struck_out_after_a_bar_in_the_same_column():
    a, b = half((1, 1), (2.0**-13 * 1.75, 2.0**-12))
    step = explain(a, b).steps[0]
    root = ElementTree.fromstring(str(draw_explanation(explain(a, b), step=1)))
    unit = step.exponent - step.fraction_bits
    bars = [x for x in root.iter() if x.get("class") == "bar"]
    assert [x.get("data-power") for x in bars] == [str(unit)] * 2
    bar = {float(re.match(r"M([\d.]+) ", x.get("d"))[1]) for x in bars}
    row = next(g for g in groups(root, "row") if g.get("data-term") == "k=1")
    cells = [x for x in row.iter() if x.get("data-bit")]
    (edge,) = bar
    assert {float(x.get("x")) > edge for x in cells if x.get("data-cut")} == {True}
    assert {float(x.get("x")) < edge for x in cells if not x.get("data-cut")} == {True}
    strike = next(x for x in row.iter() if x.get("class") == "strike").get("d")
    left, right = map(float, re.fullmatch(r"M([\d.]+) [\d.]+H([\d.]+)", strike).groups())
    struck = [float(x.get("x")) for x in cells if x.get("data-cut")]
    assert left <= min(struck) and right >= max(struck) + 10


def test_each_power_of_two_is_in_one_column_of_all_rows():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((1, 16)).astype(np.float16), rng.standard_normal((16, 1)).astype(np.float16)
    root = ElementTree.fromstring(str(draw_explanation(explain(a, b, arch="a100"), step=2)))
    columns: dict[str, set[str]] = {}
    for cell in root.iter():
        if cell.get("data-bit"):
            columns.setdefault(cell.get("data-exponent"), set()).add(cell.get("x"))
    assert len(columns) > 24 and {len(x) for x in columns.values()} == {1}


def test_a_picture_of_all_steps_has_them_in_turn_and_one_step_alone_is_that_step():
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((1, 16)).astype(np.float16), rng.standard_normal((16, 1)).astype(np.float16)
    explanation = explain(a, b, arch="v100")
    whole = str(draw_explanation(explanation))
    assert re.findall(r">step (\d): 4 products", whole) == ["1", "2", "3", "4"]
    places = [float(x) for x in re.findall(r'transform="translate\(16 ([\d.]+)\)"', whole)]
    assert places == sorted(places) and len(places) == 1 + 4 + 4
    third = str(draw_explanation(explanation, step=3))
    assert set(re.findall(r'data-term="(k=\d+)"', third)) == {"k=8", "k=9", "k=10", "k=11"}


@pytest.mark.parametrize("step", [0, 5, -1, "one", None])
def test_a_step_that_there_is_not_is_refused_with_those_that_there_are(step):
    a, b = half((1, 1))
    explanation = explain(a, b, arch="v100")
    if step is None:
        assert draw_explanation(explanation, step=None).title == explanation.headline
        return
    with pytest.raises(UnsupportedInstructionError, match=f"no step {step!r}; .* 1 to 1"):
        draw_explanation(explanation, step=step)


def test_of_many_steps_the_ends_and_those_that_lose_most_are_drawn_and_any_other_can_be():
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((1, 4096)).astype(np.float16), rng.standard_normal((4096, 1)).astype(np.float16)
    b[2048] = 1000  # after this term the sum is large, and more of each term is truncated
    explanation = explain(a, b)
    whole = str(draw_explanation(explanation))
    drawn = [int(x) for x in re.findall(r">step (\d+): 16 products", whole)]
    assert drawn[:4] == [1, 2, 3, 4] and drawn[-4:] == [253, 254, 255, 256] and len(drawn) == 12
    assert min(drawn[4:8]) >= 129
    missing = [(int(x), int(y or x)) for x, y in re.findall(r">Steps? (\d+)(?: to (\d+))? (?:is|are) not drawn", whole)]
    assert sorted([*drawn, *(n for x, y in missing for n in range(x, y + 1))]) == list(range(1, 257))
    assert "draw_explanation(explanation, step=5) draws any one" in " ".join(re.findall(r">([^<>]+)</text>", whole))
    assert len(whole) < 1_500_000 and len(html(explanation)) < 1_500_000
    check(explanation.steps[99], read(str(draw_explanation(explanation, step=100))))


def test_products_that_pad_k_with_zeros_are_not_drawn_in_a_chain():
    explanation = explain(np.array([[1.5]]), np.array([[2.5]]))
    whole = str(draw_explanation(explanation))
    assert whole.count('data-term="product"') == 1 and len(explanation.steps) == 16
    assert "Steps 2 to 16 add products that are zero, and change nothing" in whole


def test_a_sum_without_products_is_described():
    explanation = explain(np.zeros((1, 0), np.float16), np.zeros((0, 1), np.float16), np.ones((1, 1), np.float32))
    assert "No products: D is C." in str(draw_explanation(explanation)) and "D is C" in html(explanation)


def test_html_has_every_fact_figures_and_the_text_and_asks_for_nothing_else():
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((1, 64)).astype(np.float16), rng.standard_normal((64, 1)).astype(np.float16)
    explanation = explain(a, b)
    found = html(explanation)
    root = ElementTree.fromstring(found)
    assert [x.get("open") is not None for x in root.findall("details")] == [True, False, False, True, False]
    assert [len(x.findall("figure")) for x in root.findall("details")] == [1, 1, 1, 1, 0]
    assert root.findall("details")[-1].find("pre").text == str(explanation)
    assert [(x.find("th").text, x.find("td").text) for x in root.find("table")] == explanation.facts()
    assert [x.find("strong/code").text for x in (root.findall("p")[0], root.findall("p")[-1])] == [
        explanation.headline
    ] * 2
    outside = re.findall(r"https?://[^\"' <]+", found)
    assert set(outside) == {"http://www.w3.org/2000/svg"} and not re.search(r"<script|<link|@import|url\(", found)


def test_every_picture_has_a_description():
    a, b = half((1.5, 1.5), (2.0**-13, 2.0**-12))
    explanation = explain(a, b, arch="a100")
    for svg in (str(draw_explanation(explanation)), *re.findall(r"<svg.*?</svg>", html(explanation), re.DOTALL)):
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img" and root.find("{*}title").text
        assert root.find("{*}desc").text in str(explanation) and "rounded RZ to f32" in root.find("{*}desc").text


def test_an_explanation_shows_itself_in_a_notebook():
    a, b = half((1.5, 1.5))
    explanation = explain(a, b)
    assert explanation._repr_html_() == html(explanation)
