# SPDX-License-Identifier: MIT
"""Elements become cells: one each, or the worst of a block."""

import numpy as np
import pytest

from wmma_emu.formats.distance import NOT_COMPARABLE
from wmma_emu.viz.comparisons.cells import Reduction, cells


def slow_cells(ulps, differ, r):
    """The same, element by element, in Python's integers."""
    out = {}
    for where in np.ndindex(ulps.shape):
        *_, row, column = where
        place = row // r.block_rows, column // r.block_columns
        if differ[where]:
            worst, count = out.get(place, (None, 0))
            if worst is None or ulps[where] > ulps[worst]:
                worst = where
            out[place] = worst, count + 1
    return out


@pytest.mark.parametrize("shape", [
    (1, 1), (16, 8), (5, 129), (129, 5), (300, 200), (3, 140, 7), (2, 2, 9, 260), (1, 4, 5), (600, 1),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("panels", [1, 8])
def test_a_cell_is_the_first_worst_element_of_its_block(shape, panels):
    rng = np.random.default_rng(len(shape) + panels)
    ulps = np.where(rng.random(shape) < 0.5, 0, rng.integers(0, 6, shape)).astype(np.uint64)
    ulps[rng.random(shape) < 0.02] = NOT_COMPARABLE
    differ = (ulps != 0) | (rng.random(shape) < 0.1)
    r = Reduction.of(shape, panels)
    found = list(cells(ulps, differ, r))
    assert [(c.row, c.column) for c in found] == sorted((c.row, c.column) for c in found)
    assert {(c.row, c.column): (c.where, c.differing) for c in found} == slow_cells(ulps, differ, r)
    for cell in found:
        inside = ulps[..., cell.row * r.block_rows : (cell.row + 1) * r.block_rows,
                      cell.column * r.block_columns : (cell.column + 1) * r.block_columns]  # fmt: skip
        assert cell.elements == inside.size


@pytest.mark.parametrize("shape", [(128, 128), (1, 1), (129, 1), (10**6, 3), (4096, 4096), (7, 5, 200, 90)], ids=str)
@pytest.mark.parametrize("panels", [0, 1, 2, 8])
def test_no_panel_has_too_many_lines_and_no_picture_too_many_cells(shape, panels):
    r = Reduction.of(shape, panels)
    assert max(r.cell_rows, r.cell_columns) <= 128
    assert r.cell_rows * r.cell_columns * panels <= 128 * 128
    assert (r.cell_rows - 1) * r.block_rows < shape[-2] <= r.cell_rows * r.block_rows
    assert (r.cell_columns - 1) * r.block_columns < shape[-1] <= r.cell_columns * r.block_columns


def test_small_matrices_are_not_reduced():
    assert Reduction.of((128, 128), 1).note == "" == Reduction.of((1, 1, 32, 64), 8).note
    assert Reduction.of((129, 128), 1).note == "Each cell is the worst element of 2 × 1 neighbours."
    assert Reduction.of((6, 4, 4), 1).note == "Each cell is the worst element of the 6 matrices of the batch."
    assert Reduction.of((2, 3, 256, 4), 1).note == (
        "Each cell is the worst element of 2 × 1 neighbours, in the 6 matrices of the batch."
    )


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (0, 4, 4), (0, 300, 300)], ids=str)
def test_a_matrix_without_elements_has_no_cells(shape):
    empty = np.zeros(shape, np.uint64)
    assert list(cells(empty, empty != 0, Reduction.of(shape, 2))) == []
