# SPDX-License-Identifier: MIT
"""The rules of the explorer, one fact each: its page, its handouts, and its data as few numbers."""

import json
import re

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.applications.explorer import explorer_page, handout_page
from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.applications.explorer.names import coded_names
from wmma_emu.applications.explorer.numbered import Numbered
from wmma_emu.applications.explorer.weights import coded_layout, expression, linear, weights_of
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import lookup

F16 = "m16n8k16.f32.f16.f16.f32"
A = we.instruction(F16).a.layout


@pytest.fixture(scope="module")
def handout():
    return handout_page(F16, "a100")


def test_each_bit_of_an_index_adds_its_weight():
    assert weights_of(np.array([0, 2, 4, 6, 1, 3, 5, 7])) == (2, 4, 1)
    assert linear(8, (2, 4, 1)).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_a_layout_is_its_shape_and_the_weights_of_lanes_and_indices():
    coded = coded_layout(A)
    assert (coded.rows, coded.cols, coded.matrices, coded.bits, coded.elements) == (16, 16, 1, 16, 8)
    # Lane bits: two columns, four columns, then one, two and four rows of 16 elements.
    assert coded.lane_weights == (2, 4, 16, 32, 64)
    # Index bits: the next column, 8 rows further down, 8 columns to the right.
    assert coded.index_weights == (1, 8 * 16, 8)


def test_weights_give_the_element_of_a_lane():
    coded = coded_layout(A)
    element = linear(32, coded.lane_weights)[5] + linear(8, coded.index_weights)[2]
    assert divmod(int(element), 16) == (9, 2)


@pytest.mark.parametrize(("weights", "text"), [
    ((1, 2, 4, 8, 0), "lane % 16"), ((0, 0, 0, 0, 8), "lane / 16 * 8"), ((0, 0), "0"),
    ((1, 2, 4, 0, 8), "lane / 16 * 8 + lane % 8"), ((2, 4, 8, 16, 32), "lane * 2"),
])  # fmt: skip
def test_weights_are_written_as_a_sum_in_c(weights, text):
    assert expression(weights, "lane") == text


def test_equal_values_are_stored_once_and_have_one_number():
    numbered = Numbered()
    assert [numbered(x) for x in ("a", "b", "a")] == [0, 1, 0]
    assert list(numbered.rows()) == ["a", "b"]


def test_names_of_an_instruction_are_in_the_data_with_a_sign_for_the_shape():
    names = coded_names((lookup("m16n8k8.f32.f16.f16.f32"),))
    assert names["cute"] == [("SM75_@_F32F16F16F32_TN", "SM80_@_F32F16F16F32_TN")]
    assert [x[1:] for x in names["machine"][0]] == [("HMMA.1688.F32",)]


def test_the_data_of_one_instruction_has_its_operands_only():
    data = explorer_data((lookup(F16),), moves=False, tensor_memory=False)
    assert [x[0] for x in data["instructions"]] == ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    assert [tuple(x[:2]) for x in data["layouts"]] == [(16, 16), (16, 8), (16, 8)]
    assert data["moves"] == [] and json.dumps(data)


def test_a_handout_is_titled_by_instruction_and_chip(handout):
    assert f"<title>{F16} on sm_80: which lane holds what</title>" in handout


@pytest.fixture(scope="module")
def page():
    return explorer_page(documentation="./")


@pytest.mark.thorough
def test_a_page_loads_nothing_from_elsewhere(handout, page):
    for text in (handout, page):
        assert text.startswith("<!doctype html>")
        assert not re.search(r"<link[^>]*href=(?!.data:)|<script[^>]* src=|@import|url\(\s*[\"']?https?:", text)


@pytest.mark.thorough
def test_links_to_the_documentation_are_relative_to_its_address_or_absent(page):
    assert '<a href="./lessons/index.html">Lessons</a>' in page
    assert '<nav class="links"' not in explorer_page(documentation="")


def test_no_text_of_the_data_can_end_its_element(handout):
    (data,) = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', handout, re.DOTALL)
    assert "<" not in data and json.loads(data)["default"]["chip"] == "sm_80"


@pytest.mark.parametrize("arguments", [("m16n8k16.f16",), (F16, "t4")])
def test_a_handout_of_an_instruction_that_the_chip_lacks_is_an_error(arguments):
    with pytest.raises(UnsupportedInstructionError):
        handout_page(*arguments)
