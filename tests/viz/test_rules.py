# SPDX-License-Identifier: MIT
"""The rules of pictures, one fact each: SVG, pages, files, colours, and what each kind of picture shows."""

from xml.etree import ElementTree

import numpy as np
import pytest

import wmma_emu as we
from tests.viz.operand_pictures import cells_of, texts_of
from wmma_emu import viz
from wmma_emu.errors import OutOfBoundsError
from wmma_emu.schedule import schedule_of
from wmma_emu.viz import Picture, PictureFileError
from wmma_emu.viz.svg import document, element, wrapped

A = we.instruction("m16n8k16.f32.f16.f16.f32").a
PICTURE = Picture("a < b", "<svg/>")


def test_a_picture_is_its_svg():
    assert (str(PICTURE), repr(PICTURE)) == ("<svg/>", "<Picture: a < b>")


def test_a_notebook_gets_the_picture_in_a_box_that_scrolls_with_the_escaped_title():
    assert PICTURE._repr_html_() == (
        '<figure tabindex="0" role="group" aria-label="a &lt; b" style="margin:0;overflow-x:auto"><svg/></figure>'
    )


def test_a_page_has_the_title_and_the_picture():
    page = PICTURE.html()
    assert page.startswith("<!doctype html>\n") and "<title>a &lt; b</title>" in page and "<svg/></figure>" in page


@pytest.mark.parametrize(("name", "start"), [
    ("a.svg", "<svg"), ("a.SVG", "<svg"), ("a.html", "<!doctype html>"), ("a.tikz", r"\begin{tikzpicture}"),
    ("a.tex", r"\documentclass"),
])  # fmt: skip
def test_the_ending_of_a_file_determines_its_contents(tmp_path, name, start):
    viz.draw_registers(A, lane=5).save(tmp_path / name)
    assert start in (tmp_path / name).read_text(encoding="utf-8")[:200]


def test_another_ending_is_an_error_that_names_the_legal_ones_and_writes_nothing(tmp_path):
    with pytest.raises(PictureFileError, match=r"legal endings are \.svg, \.html, \.tex, \.tikz or \.png"):
        PICTURE.save(tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_title_and_a_description_are_in_the_svg_for_screen_readers():
    root = ElementTree.fromstring(str(viz.draw_matrix(A)))
    title, description = list(root)[:2]
    assert title.text == "A of m16n8k16.f32.f16.f16.f32"
    assert description.text.startswith("16 × 16 (m × k) f16, row; sm_90 (Hopper); a lane holds 8 elements in 4 reg")


def test_an_element_of_svg_has_escaped_attributes_and_short_numbers():
    assert element("rect", x=1 / 3, y=2.0, text_anchor="end", class_="<") == (
        '<rect x="0.333333" y="2" text-anchor="end" class="&lt;"/>'
    )


def test_styles_begin_with_the_class_of_their_picture_so_that_they_leave_the_page_alone():
    style = document("pic", 1, 1, "", "", ".pic .day {}", ".pic .night {}", [])
    rules = [x.strip() for x in style.splitlines() if x.rstrip().endswith("}") and "{" in x]
    assert rules and all(x.startswith((".pic", "@media")) for x in rules)


def test_text_is_wrapped_between_words():
    assert wrapped("one two three", 50, 10) == ["one two", "three"]


def test_lanes_that_are_32_apart_have_one_colour_and_neighbours_have_two():
    assert viz.lane_colour(0) == viz.lane_colour(32) == viz.lane_color(0)
    assert viz.lane_colour(0) != viz.lane_colour(1)


def test_a_lane_beyond_a_warpgroup_has_no_colour():
    with pytest.raises(OutOfBoundsError, match="legal values are 0 to 127"):
        viz.lane_colour(128)


def test_a_matrix_is_drawn_as_cells_that_name_lane_register_and_elements():
    (cell,) = (x for x in cells_of(viz.draw_matrix(A)) if (x.data["row"], x.data["col"]) == (9, 2))
    assert cell.tip == "A[9, 2–3]: T5 a1 x2–3"
    assert (cell.lanes, cell.data["register"], cell.data["bit"]) == ([5], 1, 0)


def test_registers_are_drawn_as_boxes_that_name_their_elements_from_the_highest_bits_down():
    (box,) = (x for x in cells_of(viz.draw_registers(A)) if (x.lanes, x.data["register"]) == ([5], 1))
    assert box.texts == ["9,3", "9,2"]


def test_an_explanation_is_titled_by_its_result():
    e = we.explain(None, np.ones((1, 2), np.float16), np.ones((2, 1), np.float16), row=0, col=0, arch="h100")
    assert viz.draw_explanation(e).title == "D[0, 0] = 0x40000000 (f32) = 2.0 = +0x1p+1"


def test_a_schedule_is_titled_by_instruction_and_chip():
    picture = viz.draw_schedule(schedule_of("m16n8k8.f32.f16.f16.f32", "sm_75"))
    assert picture.title == "m16n8k8.f32.f16.f16.f32 on sm_75 (Turing)"
    assert any("HMMA.1688.F32" in x for x in texts_of(picture) if x)
