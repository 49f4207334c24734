# SPDX-License-Identifier: MIT
"""Errors of pictures for illegal input, which name the legal values; and the bounds of pictures."""

from xml.etree import ElementTree

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma
from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError, WmmaEmuError
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.viz import (
    draw_explanation,
    draw_ldmatrix,
    draw_load_matrix_sync,
    draw_matrix,
    draw_registers,
    draw_schedule,
    draw_shared_operand,
    lane_colour,
)
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.svg import document, text_lines

A = we.instruction("m16n8k16.f32.f16.f16.f32").a
LOAD = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)

NO_SUBJECT = {
    "None": None, "a number": 5, "a name": "m16n8k16", "a list": [], "a class": LaneMap, "an array": np.zeros(3),
    "an operand": A,
}  # fmt: skip


@pytest.mark.parametrize("given", NO_SUBJECT.values(), ids=NO_SUBJECT)
@pytest.mark.parametrize("step", [None, 0], ids=["whole", "one step"])
def test_an_object_that_is_not_a_schedule_or_explanation_is_named(given, step):
    with pytest.raises(FragmentMismatchError, match=r"expected a Schedule, such as ins\.schedule of .*, not "):
        draw_schedule(given, step=step)
    with pytest.raises(
        FragmentMismatchError,
        match=r"expected an Explanation, as wmma_emu\.explain\(\.\.\.\) .*, "
        r"not ",
    ):
        draw_explanation(given, step=step)


@pytest.mark.parametrize(
    ("lane", "error", "message"),
    [
        pytest.param(
            None,
            FragmentMismatchError,
            "the lane is None, not an integer; legal values are 0 to 127",
            id="None",
        ),
        pytest.param(1.5, FragmentMismatchError, "the lane is 1.5, not an integer", id="a fraction"),
        pytest.param(1.0, FragmentMismatchError, "the lane is 1.0, not an integer", id="a whole fraction"),
        pytest.param("5", FragmentMismatchError, "the lane is '5', not an integer", id="a text"),
        pytest.param(True, FragmentMismatchError, "the lane is True, not an integer", id="True"),
        pytest.param(-1, OutOfBoundsError, "there is no lane -1; legal values are 0 to 127", id="below"),
        pytest.param(128, OutOfBoundsError, "there is no lane 128; legal values are 0 to 127", id="beyond"),
        pytest.param(10**9999, OutOfBoundsError, "there is no lane <int>; legal", id="far beyond"),
    ],
)
def test_an_illegal_lane_does_not_have_a_colour(lane, error, message):
    with pytest.raises(error, match=message):
        lane_colour(lane)


def test_integers_of_numpy_are_lanes():
    assert lane_colour(np.uint8(127)) == lane_colour(31)


@pytest.mark.parametrize("pitch", [286331152, 10**30 // 16 * 16, 16 * 10**9999], ids=["one more", "large", "huge"])
def test_a_pitch_whose_last_row_has_no_address_is_refused_with_the_bound(pitch):
    with pytest.raises(OutOfBoundsError, match=r"pitch is .*; legal values are 32 to 286331136"):
        draw_ldmatrix("ldmatrix.m8n8.x4.b16", pitch=pitch)


def test_the_largest_pitch_is_drawn():
    assert "rows 286331136 bytes apart" in draw_ldmatrix("ldmatrix.m8n8.x4.b16", pitch=286331136).title


DRAWN = {
    "matrix": lambda title: draw_matrix(A, title=title),
    "registers": lambda title: draw_registers(A, title=title),
    "one lane": lambda title: draw_registers(A, lane=3, title=title),
    "ldmatrix": lambda title: draw_ldmatrix("ldmatrix.m8n8.x1.b16", title=title),
    "movmatrix": lambda title: draw_ldmatrix("movmatrix.m8n8.trans.b16", title=title),
    "load": lambda title: draw_load_matrix_sync(LOAD, 16, title=title),
    "shared": lambda title: draw_shared_operand(MatrixDescriptor(0, 16, 1024, swizzle=128), 8, 64, "f16", title=title),
}
NO_TITLES = {
    "5": (5, "the title is 5; expected a string"), "a fraction": (1.5, "the title is 1.5; expected a string"),
    "True": (True, "the title is True; expected a string"), "False": (False, "the title is False; expected a string"),
    "bytes": (b"5", "the title is b'5'; expected a string"), "a dict": ({}, r"the title is \{\}; expected a string"),
    "0": (0, "the title is 0; expected a string"), "controls": ("\x00\x01", "SVG cannot contain its character "),
    "a surrogate": ("\ud800", "SVG cannot contain its character "), "no character": ("a\ufffe", "SVG cannot contain "
        "its "),
}  # fmt: skip


@pytest.mark.parametrize(("title", "message"), NO_TITLES.values(), ids=NO_TITLES)
@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_an_illegal_title_is_rejected_by_every_picture(draw, title, message):
    with pytest.raises(FragmentMismatchError, match=message):
        draw(title)


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_any_other_text_is_a_title_and_the_picture_is_xml(draw):
    title = "<b>& \"'\U0001f600 é"
    picture = draw(title)
    assert picture.title == title
    assert ElementTree.fromstring(picture.svg)[0].text == title
    assert draw("").title == draw(None).title != ""


def test_characters_that_xml_cannot_contain_are_replaced_in_quotations():
    text = document("x", 1, 1, "a\x00", "b\ud800", "", "", text_lines(["c\x1b"], 1, 1, 1, 1, fill="d\uffff"))
    root = ElementTree.fromstring(text)
    assert (root[0].text, root[1].text, root[-1].text, root[-1].get("fill")) == (
        "a\ufffd", "b\ufffd", "c\ufffd", "d\ufffd"
    )  # fmt: skip


MOST = {
    "text": "5", "None": None, "a dict": {}, "-1": -1, "0": 0, "nan": float("nan"), "True": True, "a fraction": 2.0,
    "infinity": float("inf"),
}  # fmt: skip


@pytest.mark.parametrize("most", MOST.values(), ids=MOST)
@pytest.mark.parametrize("name", ["m16n8k16.f32.f16.f16.f32", "wgmma.m64n256k16.f32.f16.f16"])
def test_most_cells_is_a_number_for_every_operand(name, most):
    with pytest.raises(FragmentMismatchError, match=r"most_cells is .*; expected a positive integer"):
        draw_matrix(we.instruction(name).d, most_cells=most)


@pytest.mark.parametrize(
    ("title", "svg", "message"),
    [
        pytest.param(None, None, "the title of a picture must be a string, not None", id="nothing"),
        pytest.param("a", None, "the svg of a picture must be a string, not None", id="no svg"),
        pytest.param("a", b"<svg/>", "the svg of a picture must be a string, not b'<svg/>'", id="bytes"),
        pytest.param(5, "<svg/>", "the title of a picture must be a string, not 5", id="a number"),
        pytest.param("\x00", "<svg/>", "SVG cannot contain its character", id="a control character"),
    ],
)
def test_a_picture_requires_two_strings(title, svg, message):
    with pytest.raises(FragmentMismatchError, match=message):
        Picture(title, svg)


def own(num_elements, lanes, rows, cols, bits=32, seed=None):
    """Return a user's layout: elements in the order of registers and lanes, or anywhere."""
    places = np.arange(num_elements * int(np.prod(lanes)))
    places = (places if seed is None else np.random.default_rng(seed).permutation(places)) % (rows * cols)
    coords = np.stack([places // cols, places % cols], axis=-1).reshape(num_elements, *lanes, 2)
    return LaneMap(coords, rows, cols, bits, num_elements, "mine", "inferred")


OWN = {
    "one element": own(1, (32,), 1, 1),
    "held unevenly": own(4, (32,), 5, 7),
    "anywhere": own(8, (32,), 16, 16, 16, seed=1),
    "anywhere and unevenly": own(6, (32,), 5, 7, 16, seed=1),
    "bits": own(32, (32,), 32, 32, 1, seed=2),
    "all in one": LaneMap(np.zeros((4, 32, 2), int), 8, 8, 32, 4, "mine", "inferred"),
    "one row": own(128, (32,), 1, 4096),
    "one column": own(128, (32,), 4096, 1),
    "many": own(4096, (32,), 2048, 64),
    "many anywhere": own(4096, (32,), 2048, 64, seed=3),
    "four warps": own(4, (4, 32), 16, 32, seed=4),
    "four warps of few rows": own(2, (4, 32), 2, 128),
    "many of four warps": own(512, (4, 32), 256, 256, 8, seed=5),
    "a matrix a lane": LaneMap(np.arange(64).reshape(32, 1, 2).repeat(32, 1) % 2, 2, 2, 8, 32, "m", "s", np.arange(32)),
    "64 bits": own(4, (32,), 8, 16, 64),
}


@pytest.mark.thorough
@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("layout", OWN.values(), ids=OWN)
def test_every_layout_that_can_be_made_shows_itself_in_a_page_of_bounded_size(layout):
    assert len(layout._repr_html_()) < 1_200_000
    assert repr(layout).startswith("<LaneMap ")
    for draw in (draw_matrix, draw_registers):
        ElementTree.fromstring(draw(layout).svg)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("layout", OWN.values(), ids=OWN)
def test_every_layout_that_can_be_made_is_drawn_or_refused_with_an_error_of_the_package(layout):
    last = (layout.rows - 1, layout.cols - 1)
    for use in (
        lambda: layout.locate(*last), lambda: layout.formulas, layout.owners,
        lambda: draw_matrix(layout, element=last),
        lambda: draw_registers(layout, element=last), lambda: draw_registers(layout, register=layout.num_registers - 1),
    ):  # fmt: skip
        try:
            use()
        except WmmaEmuError as error:
            assert str(error)


@pytest.mark.thorough
def test_a_large_layout_is_drawn_around_the_highlighted_element():
    text = draw_matrix(OWN["many"], element=(2047, 63)).svg
    assert 'data-row="2047" data-col="63"' in text and 'data-row="0" ' not in text
    assert "Drawn are rows 2016–2047, columns 32–63; the rest:" in " ".join(ElementTree.fromstring(text).itertext())
    text = draw_registers(OWN["many"], register=4095).svg
    assert 'data-register="4095"' in text and 'data-register="0"' not in text
    assert "the rest: register=... draws" in " ".join(ElementTree.fromstring(text).itertext())


def test_the_picture_notes_elements_that_are_held_unevenly():
    text = " ".join(ElementTree.fromstring(draw_matrix(OWN["held unevenly"]).svg).itertext())
    assert "Its elements are held from 3 to 4 times" in text
    assert "not each held equally often" in repr(OWN["held unevenly"])
