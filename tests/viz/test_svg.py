# SPDX-License-Identifier: MIT
"""SVG as text: escaped, in lines that fit, with styles that leave other elements of a page alone."""

import re
from xml.etree import ElementTree

import pytest

from wmma_emu.viz.svg import document, element, text_lines, text_width, wrapped

HOSTILE = "<script>alert('&\"')</script>"


def test_what_is_hostile_is_escaped_everywhere():
    text = document("x", 10, 20, HOSTILE, HOSTILE, "", "", text_lines([HOSTILE], 1, 2, 3, 4, fill=HOSTILE))
    root = ElementTree.fromstring(text)
    texts = [x.text for x in root.iter() if not x.tag.endswith("style") and x.text and x.text.strip()]
    assert texts == [HOSTILE] * 3
    assert [x.get("fill") for x in root.iter() if x.tag.endswith("}text")] == [HOSTILE]


def test_numbers_are_short_and_names_are_the_names_of_svg():
    assert element("rect", x=1 / 3, y=2.0, width=10**5, text_anchor="end", class_="a") == (
        '<rect x="0.333333" y="2" width="100000" text-anchor="end" class="a"/>'
    )


@pytest.mark.parametrize("width", [1, 30, 100, 400])
def test_lines_fit_and_lose_no_word(width):
    text = "16 a step, 25 bits, RZ to f32 mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 (measured)"
    lines = wrapped(text, width, 10)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(text_width(line, 10) * 0.9 <= max(width, 10) for line in lines)


def test_every_style_rule_begins_with_the_class_of_the_picture():
    text = document("pic", 1, 1, "", "", ".pic .by-day {}", ".pic .by-night {}", [])
    style = re.search(r"<style>(.*)</style>", text, re.DOTALL)
    day, night = style[1].split("@media (prefers-color-scheme: dark) {")
    selectors = re.findall(r"^([^{}\n]+)\{", day + night, re.MULTILINE)
    assert len(selectors) > 6 and all(x.startswith(".pic") for x in selectors)
    assert "by-day" in day and "by-night" in night and "by-night" not in day
