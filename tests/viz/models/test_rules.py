# SPDX-License-Identifier: MIT
"""Charts of comparisons on models: a point for each layer, a bar for each value, and nothing that is not finite."""

import re
from xml.etree import ElementTree

from wmma_emu.viz.models.charts import Bar, Line, bars, growth

SVG = "{http://www.w3.org/2000/svg}"


def parsed(picture):
    return ElementTree.fromstring(picture)


def test_a_line_has_a_point_for_each_layer_and_equal_bits_are_at_the_bottom():
    tree = parsed(growth([Line("h100", [0.0, 1e-6, 1e-3])], ["a", "b", "c"], "growth", []))
    points = [(float(x.get("cx")), float(x.get("cy"))) for x in tree.iter(f"{SVG}circle")]
    assert len(points) == 3 and points == sorted(points) and points[0][1] > points[1][1] > points[2][1]
    assert [x.find(f"{SVG}title").text for x in tree.iter(f"{SVG}circle")] == [
        "h100, a: 0",
        "h100, b: 1e-06",
        "h100, c: 0.001",
    ]


def test_a_chart_without_differences_or_layers_is_drawn():
    for lines, layers in (([Line("h100", [0.0, 0.0])], ["a", "b"]), ([Line("h100", [])], []), ([], [])):
        assert "nan" not in growth(lines, layers, "growth", ["a note"])


def test_bars_are_proportional_and_the_largest_is_full():
    tree = parsed(
        bars([("h100", [Bar("one", 0.2, "20 %"), Bar("two", 0.1, "10 %"), Bar("three", 0, "0 %")])], "bars", [])
    )
    widths = [float(x.get("width")) for x in tree.iter(f"{SVG}rect") if x.find(f"{SVG}title") is not None]
    assert widths[0] == 2 * widths[1] and widths[2] == 1
    assert not re.search("nan|inf", bars([("h100", [Bar("one", 0, "0 %")])], "bars", []))
