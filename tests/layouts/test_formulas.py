# SPDX-License-Identifier: MIT
"""Rules of thumb against the tables that they are read off: each layout and element, both ways, in two languages."""

import dataclasses
import shutil
import subprocess

import numpy as np
import pytest

from wmma_emu.errors import WmmaEmuError
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.layouts.formulas import formulas_of

COMPILER = shutil.which("gcc") or shutil.which("cc")


def distinct_layouts():
    found = {}
    for row in INSTRUCTIONS.values():
        for arch in row.archs:
            for operand in "acd" if row.is_warpgroup else "abcd":
                found.setdefault(layout_for(row, operand, arch))
    return list(found)


DISTINCT = distinct_layouts()


def places(layout):
    """Row, column and matrix of every lane and element: the table, with lanes first."""
    row, col = np.moveaxis(layout.coords_of_lanes.swapaxes(0, 1), -1, 0)
    return row, col, np.broadcast_to(layout.matrix_of_lane.reshape(-1, 1), row.shape)


def first_holders(layout):
    """Lane and index of the first place of (matrix, row, col), found by going through the table from its end."""
    found = np.full((2, layout.num_matrices, layout.rows, layout.cols), -1)
    row, col, matrix = places(layout)
    for index in reversed(range(layout.num_elements)):
        for lane in reversed(range(layout.num_lanes)):
            found[:, matrix[lane, index], row[lane, index], col[lane, index]] = lane, index
    return found


@pytest.mark.parametrize("layout", DISTINCT, ids=repr)
def test_the_functions_in_python_are_the_table(layout):
    functions = {}
    exec(layout.formulas.python("A"), functions)
    several = layout.num_matrices > 1
    lane, index = np.arange(layout.num_lanes)[:, None], np.arange(layout.num_elements)
    row, col, matrix = places(layout)
    assert (functions["A_row"](lane, index) == row).all()
    assert (functions["A_col"](lane, index) == col).all()
    assert ("A_matrix" in functions) == several
    if several:
        assert (functions["A_matrix"](lane) == matrix).all()

    matrices, rows, cols = np.ogrid[: layout.num_matrices, : layout.rows, : layout.cols]
    asked = (rows, cols, matrices) if several else (rows, cols)
    first_lane, first_index = first_holders(layout)
    assert (functions["A_lane"](*asked) == first_lane).all()
    assert (functions["A_index"](*asked) == first_index).all()
    assert first_index.max() < layout.read_elements

    registers, bits = functions["A_register"](index), functions["A_bit"](index)
    for element in range(layout.num_elements):
        assert np.broadcast_to(registers, index.shape)[element] == layout.register_of(element)
        assert np.broadcast_to(bits, index.shape)[element] == layout.bit_of(element)


def test_locate_gives_the_same_place_first_and_then_the_copies():
    generator = np.random.default_rng(8)
    for layout in DISTINCT:
        formulas, several = layout.formulas, layout.num_matrices > 1
        for _ in range(8):
            cell = [int(generator.integers(x)) for x in (layout.rows, layout.cols, layout.num_matrices)]
            lane, index = (linear(*cell[: 2 + several]) for linear in (formulas.lane, formulas.index))
            first, *others = layout.locate(*cell)
            assert first == (lane, formulas.register(index), formulas.bit(index), index), layout
            moved = [(lane + copy.lane, index + copy.index, copy.is_read) for copy in formulas.copies]
            assert moved == [(x.lane, x.element, x.element < layout.read_elements) for x in others], layout


def c_program(layouts):
    """A program that writes row and col (and matrix) of all lanes and elements of all layouts, and the inverse."""
    functions, calls = ["#include <stdio.h>", "#include <stdint.h>"], []
    for number, layout in enumerate(layouts):
        name, several = f"L{number}", layout.num_matrices > 1
        functions.append(layout.formulas.c(name))
        matrix = f"{name}_matrix(lane)" if several else "0"
        cell = "row, col, matrix" if several else "row, col"
        calls.append(
            f"for (int lane = 0; lane < {layout.num_lanes}; lane++)\n"
            f"for (int index = 0; index < {layout.num_elements}; index++) {{ put({name}_row(lane, index)); "
            f"put({name}_col(lane, index)); put({matrix}); put({name}_register(index)); put({name}_bit(index)); }}\n"
            f"for (int matrix = 0; matrix < {layout.num_matrices}; matrix++)\n"
            f"for (int row = 0; row < {layout.rows}; row++)\n"
            f"for (int col = 0; col < {layout.cols}; col++) {{ put({name}_lane({cell})); put({name}_index({cell})); }}"
        )
    put = "static void put(int x) { int16_t y = (int16_t)x; fwrite(&y, 2, 1, stdout); }"
    return "\n".join([*functions, put, "int main(void) {", *calls, "return 0; }"])


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_the_functions_in_c_are_the_tables(tmp_path):
    source, program = tmp_path / "all.c", tmp_path / "all"
    source.write_text(c_program(DISTINCT))
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run([COMPILER, *strict, str(source), "-o", str(program)], check=True)
    written = np.frombuffer(subprocess.run([program], check=True, capture_output=True).stdout, np.int16)
    read = 0
    for layout in DISTINCT:
        index = np.arange(layout.num_elements)
        registers, bits = ([f(int(i)) for i in index] for f in (layout.register_of, layout.bit_of))
        row, col, matrix = places(layout)
        expected = np.stack(np.broadcast_arrays(row, col, matrix, registers, bits), axis=-1).ravel()
        assert np.array_equal(written[read : read + expected.size], expected), layout
        read += expected.size
        expected = np.moveaxis(first_holders(layout), 0, -1).ravel()
        assert np.array_equal(written[read : read + expected.size], expected), layout
        read += expected.size
    assert read == written.size


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_in_cuda_the_functions_are_of_host_and_device(tmp_path):
    source = tmp_path / "cuda.c"
    source.write_text(DISTINCT[0].formulas.c("A") + DISTINCT[1].formulas.c("B"))
    command = [COMPILER, "-E", "-P", "-D__CUDACC__", str(source)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line.strip()]
    begin = "static __host__ __device__ inline int "
    assert all(line.startswith(begin) for line in lines)
    names = [line.removeprefix(begin).partition("(")[0] for line in lines]
    assert names == [f"{x}_{y}" for x in "AB" for y in ("row", "col", "matrix", "lane", "index", "register", "bit")]


def test_tables_with_one_wrong_entry_are_refused():
    generator = np.random.default_rng(147)
    for layout in DISTINCT:
        coords = layout.coords.copy()
        place = int(generator.integers(coords.size))
        stop = (layout.rows, layout.cols)[place % 2]
        coords.flat[place] = (coords.flat[place] + 1 + generator.integers(stop - 1)) % stop
        corrupted = dataclasses.replace(layout, coords=coords)
        with pytest.raises(
            WmmaEmuError, match=r"has no formulas: (row|col) is not a sum over the bits of lane and index: at "
        ):
            formulas_of(corrupted)


def own_layout(coords, rows, cols):
    coords = np.stack(np.broadcast_arrays(*coords), axis=-1)
    return LaneMap(coords, rows, cols, 32, len(coords), "my own", "documented")


def test_a_layout_of_ones_own_has_formulas_if_it_is_such_a_sum():
    lane, index = np.arange(32), np.arange(3)[:, None]
    mine = own_layout((lane // 2 % 2 * 8 + lane // 4, lane % 2 + index * 2), 16, 6).formulas
    assert mine.one_line() == {
        "row": "8 * (lane / 2 % 2) + lane / 4",
        "col": "lane % 2 + index * 2",
        "lane": "row % 8 * 4 + row / 8 * 2 + col % 2",
        "index": "col / 2",
        "register": "index",
        "bit": "0",
    }


def test_rows_of_which_one_is_three_lanes_wide_have_a_way_there_but_none_back():
    lane, index = np.arange(32), np.arange(3)[:, None]
    with pytest.raises(WmmaEmuError, match="lane is not a sum over the bits of row and col: at row 3, col 0 it is 1"):
        own_layout((lane % 2 * 3 + index, lane // 2), 6, 16).formulas


def test_an_exclusive_or_is_not_a_sum_over_bits():
    lane, index = np.arange(32), np.arange(4)[:, None]
    with pytest.raises(
        WmmaEmuError, match=r"row is not a sum .*: at lane 1, index 1 it is 0, and the bits give 2; `coords`"
    ):
        own_layout((lane % 4 ^ index, lane // 4 + 0 * index), 4, 8).formulas


@pytest.mark.parametrize("given", [None, "D", np.zeros((4, 32, 2))], ids=["nothing", "a name", "an array"])
def test_only_layouts_have_formulas(given):
    with pytest.raises(WmmaEmuError, match=r"formulas need a LaneMap, such as `ins\.d\.layout`, not "):
        formulas_of(given)
