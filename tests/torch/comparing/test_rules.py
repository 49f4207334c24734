# SPDX-License-Identifier: MIT
"""Rules of comparisons of chips on a model: what differs, why, and what is printed, from data alone."""

from html.parser import HTMLParser

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we
from wmma_emu.gemm import DistanceStatistics
from wmma_emu.torch.comparing import (
    MECHANISMS,
    ChangedDecision,
    LayerDifference,
    MechanismEffect,
    ModelComparison,
    ProductDifference,
)
from wmma_emu.torch.comparing.distances import TensorDistance
from wmma_emu.torch.comparing.text import share, shown_layers


def apart(differing, relative=0.01, elements=100):
    ulps = (1, 1.0, 1.0) if differing else (None, None, None)
    return TensorDistance(
        DistanceStatistics(elements, differing, differing, 0, 0, *ulps, ()), relative if differing else 0
    )


LAYERS = (("a", apart(0)), ("b<i>", apart(10)), ("output", apart(50, 0.02)))
FOUND = ModelComparison(
    ("a100", "h100"),
    tuple(LayerDifference("h100", *x) for x in LAYERS),
    (ProductDifference("h100", "a", "mm", "1x2x3", apart(80), apart(1)),),
    (MechanismEffect("h100", "bits cut", "", apart(40), apart(5)),),
    (ChangedDecision("h100", 7, 1, (2, 3), 11, 4, 0.125),),
    {"h100": True},
    {"a100": "one product", "h100": "one product"},
)
FIRST = (
    "h100: the first layer with other bits is b<i> (10 % of its elements); 50 % of the output differs, 0.02 of its norm"
)


def test_sentences_and_tables_say_where_why_and_which_token():
    text = str(FOUND)
    for line in (
        FIRST,
        "h100: with bits cut switched to a100's, no bit differs",
        "h100: 1 of 7 rows choose another; the first is row 2, 3: 4 instead of 11, which led by 0.125",
        "output       100    50 %            1             1      0.02    2.00",
        "h100  bits cut            40 %      0.01                 5 %      0.01",
        "h100  mm                1         80 %             1 %",
    ):
        assert line in text.splitlines(), text


def test_rows_are_plain_data():
    assert FOUND.to_dicts()[1] == {
        "chip": "h100", "layer": "b<i>", "elements": 100, "differing": 10, "share": 0.1, "median_ulps": 1.0,
        "largest_ulps": 1, "relative": 0.01,
    }  # fmt: skip
    assert FOUND.to_dicts("products")[0]["share_of_accumulators"] == 0.8
    assert FOUND.to_dicts("mechanisms")[0]["share_without"] == 0.05


def test_shares_of_a_few_elements_are_not_printed_as_none():
    assert [share(x) for x in (0, 1e-5, 0.0123, 0.5, 1)] == ["0 %", "0.001 %", "1.2 %", "50 %", "100 %"]


def test_a_long_table_leaves_out_the_innermost_layers():
    layers = [LayerDifference("h100", f"{i}.{j}.x", apart(0)) for i in range(10) for j in range(10)]
    layers += [LayerDifference("h100", f"{i}", apart(0)) for i in range(10)]
    assert [x.layer for x in shown_layers(layers)] == [str(i) for i in range(10)]


def test_every_mechanism_has_fields_or_options_and_no_field_is_in_two():
    for names in ([y for x in MECHANISMS for y in x.fields], [y for x in MECHANISMS for y in x.options]):
        assert len(set(names)) == len(names)
    assert all(x.fields or x.options for x in MECHANISMS)


def test_the_page_is_whole_escaped_and_has_a_picture_of_each_kind():
    page = FOUND.to_html()
    tags = []

    class TagReader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append(tag)

    TagReader().feed(page)
    assert tags.count("svg") == 3 and tags.count("table") == 3 and "b&lt;i&gt;" in page and "b<i>" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_rich_prints_the_same_cells():
    rich = pytest.importorskip("rich.console")
    console = rich.Console(width=200, file=None, record=True, force_terminal=False)
    with console.capture() as capture:
        console.print(FOUND)
    assert "b<i>" in capture.get() and "bits cut" in capture.get()


def test_a_chip_that_was_not_compared_has_no_layers():
    assert FOUND.of("v100") == [] and we.torch.comparing.compare is we.torch.compare
