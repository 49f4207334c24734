# SPDX-License-Identifier: MIT
"""The rules of pictures of comparisons, one fact each: kinds of distances, cells, blocks of elements, bits."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tests.viz.chosen_distances import ONE, comparison_of, distances
from wmma_emu.formats import NOT_COMPARABLE
from wmma_emu.viz.comparisons.cells import Reduction, cells
from wmma_emu.viz.comparisons.distance_scale import KINDS, kinds_of

SVG = "{http://www.w3.org/2000/svg}"


def found_in(ulps, reduction):
    ulps = np.array(ulps, np.uint64)
    return list(cells(ulps, ulps != 0, reduction))


@pytest.mark.parametrize(("ulps", "label"), [
    (1, "1 ulp"), (2, "2–3"), (3, "2–3"), (4, "4–7"), (15, "8–15"), (16, "16–63"), (4095, "256–4095"),
    (4096, "4096 up"), (2**40, "4096 up"), (NOT_COMPARABLE, "NaN"),
])  # fmt: skip
def test_a_distance_has_the_last_kind_that_it_reaches(ulps, label):
    (kind,) = kinds_of(np.array([ulps], np.uint64), np.array([True]))
    assert KINDS[kind].label == label


def test_equal_bits_and_zeros_of_two_signs_are_separate_kinds():
    kinds = kinds_of(np.array([0, 0], np.uint64), np.array([False, True]))
    assert [KINDS[x].label for x in kinds] == ["same bits", "sign of 0"]


@pytest.mark.parametrize(("shape", "panels", "block"), [
    ((128, 128), 1, (1, 1)), ((129, 5), 1, (2, 1)), ((5, 129), 1, (1, 2)), ((300, 20), 1, (3, 1)),
    ((128, 128), 4, (2, 2)),
])  # fmt: skip
def test_elements_are_cells_up_to_128_rows_and_columns_and_blocks_beyond(shape, panels, block):
    r = Reduction.of(shape, panels)
    assert (r.block_rows, r.block_columns) == block


def test_a_note_explains_a_cell_of_several_elements():
    assert Reduction.of((128, 128), 1).note == ""
    assert Reduction.of((2, 3, 256, 4), 1).note == (
        "Each cell is the worst element of 2 × 1 neighbours, in the 6 matrices of the batch."
    )


def test_a_cell_is_the_first_element_with_the_greatest_distance_and_counts_those_that_differ():
    (cell,) = found_in([[0, 3], [7, 7]], Reduction(1, 2, 2, 2, 2))
    assert (cell.where, cell.differing, cell.elements) == ((1, 0), 3, 4)


def test_nan_is_worse_than_every_number():
    (cell,) = found_in([[2**50, NOT_COMPARABLE]], Reduction(1, 1, 2, 1, 2))
    assert cell.where == (0, 1)


def test_cells_without_a_difference_are_left_out():
    assert [(x.row, x.column) for x in found_in([[0, 1], [2, 0]], Reduction.of((2, 2), 1))] == [(0, 1), (1, 0)]
    assert found_in([[0, 0]], Reduction.of((1, 2), 1)) == []


def test_a_picture_names_bits_and_distance_of_each_element_that_differs():
    root = ElementTree.fromstring(distances(np.array([[0, 3]])).svg())
    tips = [x.text for x in root.iter(f"{SVG}title") if x.text.startswith("D[")]
    assert tips == [f"D[0, 1]: sm_80 0x{ONE:08x}, sm_90 0x3f800003: 3 ulps"]


def test_a_picture_has_a_panel_for_each_chip_except_the_reference():
    ones = np.full((2, 2), ONE, np.uint32)
    text = comparison_of(ones, sm_86=ones, sm_90=ones + np.uint32(1)).svg()
    assert "sm_86" in text and "sm_90" in text and "sm_89" not in text
