# SPDX-License-Identifier: MIT
"""Tiles of several warps: compared with a separate definition and with CuTe's Python, and in both directions."""

import re

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.instructions import lookup
from wmma_emu.layouts.cute_layout import CuteLayout
from wmma_emu.layouts.tiled import TiledLayout, tiled_layout

F16 = "m16n8k16.f32.f16.f16.f32"

BY_PYCUTE = [
    # CUTLASS 7107b055, python/pycute: TiledMMA's thrfrg evaluated for every thread and value (2026-11-23)
    (F16, "d", (2, 2), (64, 64, 16), None, "((4,8,2,2),(2,2,2,4)):((128,1,16,512),(64,8,32,1024))"),
    (F16, "a", (2, 2), (64, 64, 16), None, "((4,8,2,2),(2,2,2,2)):((128,1,16,0),(64,8,512,32))"),
    (F16, "a", (4, 1), (64, 16, 16), None, "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"),
    (F16, "b", (4, 1), (64, 16, 16), None, "((4,8,4),(2,2,2)):((32,1,0),(16,128,8))"),
    (F16, "d", (2, 2), (64, 64, 16), "(2,4,4):(1,8,2)", "((4,8,2,2),(2,2,2,2,2)):((512,1,16,128),(64,8,32,256,2048))"),
]


@pytest.mark.parametrize(("name", "operand", "warps", "tile", "permutation", "text"), BY_PYCUTE)
def test_a_tile_is_what_cute_makes(name, operand, warps, tile, permutation, text):
    tiled = tiled_layout(name, operand, warps, tile, permutations=(None, permutation, None))
    assert str(tiled.cute) == text


def by_definition(tiled: TiledLayout, grid, number) -> dict[tuple[int, int, int], tuple[int, int]]:
    """(warp, lane, value) to (row, column), one instruction after another."""
    ins, atom = tiled.instruction, tiled.atom
    axes = {"a": "mk", "b": "kn"}.get(tiled.operand, "mn")
    counts = {"m": tiled.tile[0] // ins.m, "n": tiled.tile[1] // ins.n, "k": tiled.tile[2] // ins.k}
    size = dict(zip("mnk", grid, strict=True))
    held: dict[tuple[int, int, int], tuple[int, int]] = {}
    seen: dict[int, int] = {}
    order = "kn" if tiled.operand == "b" else axes  # the axis that CuTe counts last moves slowest
    slow, fast = ("k", "n") if tiled.operand == "b" else (order[1], order[0])
    for at_slow in range(counts[slow]):
        for at_fast in range(counts[fast]):
            at = {slow: at_slow, fast: at_fast}
            third = next(x for x in "mnk" if x not in at)
            for copy in range(size[third]):
                place = {**{x: at[x] % size[x] for x in at}, third: copy}
                warp = number(place["m"], place["n"], place["k"])
                first = seen.get(warp, 0)
                seen[warp] = first + atom.num_elements
                for value in range(atom.num_elements):
                    for lane in range(32):
                        row, col = atom.coords[value, lane].tolist()
                        held[warp, lane, first + value] = (row + atom.rows * at[axes[0]], col + atom.cols * at[axes[1]])
    return held


@pytest.mark.parametrize("operand", "abcd")
@pytest.mark.parametrize("name", [F16, "m16n8k32.s32.s8.s8.s32", "m8n8k4.f64.f64.f64.f64", "wmma.mma.m16n16k16.f32.f32",
                                  "mma.sp.m16n8k32.f32.f16.f16.f32"])  # fmt: skip
@pytest.mark.parametrize(("grid", "times"), [((2, 2, 1), (1, 2, 2)), ((1, 4, 1), (2, 1, 1)), ((2, 1, 2), (1, 2, 1))])
def test_every_lane_holds_what_the_definition_says(operand, name, grid, times):
    ins = lookup(name)
    tile = tuple(size * count * more for size, count, more in zip((ins.m, ins.n, ins.k), grid, times, strict=True))
    tiled = tiled_layout(ins, operand, grid, tile)
    held = by_definition(tiled, grid, lambda m, n, k: m + grid[0] * (n + grid[1] * k))
    assert len(held) == tiled.num_values * tiled.num_warps * 32
    for (warp, lane, value), place in held.items():
        assert tuple(tiled.coords[value, warp, lane].tolist()) == place


@pytest.mark.parametrize("operand", "abd")
def test_locate_and_element_at_are_each_others_way_back(operand):
    tiled = tiled_layout(F16, operand, (2, 2), (32, 32, 16))
    rows, cols = tiled.shape
    found = {(row, col): tiled.locate(row, col) for row in range(rows) for col in range(cols)}
    assert {len(x) for x in found.values()} == {1 if operand == "d" else 2}
    for place, holders in found.items():
        for x in holders:
            assert tiled.element_at(x.warp, x.lane, x.register, x.bit) == place
    assert sum(len(x) for x in found.values()) == tiled.num_values * tiled.num_warps * 32


def test_warps_are_numbered_as_the_atom_layout_says():
    columns_first = tiled_layout(F16, "d", "(2,2,1):(2,1,0)", (32, 16, 16))
    rows_first = tiled_layout(F16, "d", (2, 2), (32, 16, 16))
    assert columns_first.locate(0, 8)[0].warp == 1 and rows_first.locate(0, 8)[0].warp == 2
    assert (columns_first.coords[:, [0, 2, 1, 3]] == rows_first.coords).all()


def test_warpgroups_are_placed_side_by_side_too():
    tiled = tiled_layout("wgmma.m64n64k16.f32.f16.f16", "d", (2, 1))
    assert tiled.num_warps == 8 and tiled.shape == (128, 64)
    assert [x.warp for x in tiled.locate(64 + 17, 0)] == [5]
    assert str(tiled.cute) == "((4,8,8),(2,2,8)):((256,1,16),(128,8,1024))"


def test_a_permutation_moves_columns_as_a_whole():
    plain = tiled_layout(F16, "d", (1, 2), (16, 32, 16))
    moved = tiled_layout(F16, "d", (1, 2), (16, 32, 16), permutations=(None, "(2,4,4):(1,8,2)", None))
    table = CuteLayout.parse("(2,4,4):(1,8,2)").table().ravel(order="F")
    assert (moved.coords[..., 1] == table[plain.coords[..., 1]]).all()
    assert (moved.coords[..., 0] == plain.coords[..., 0]).all()
    row = [moved.element_at(0, 0, r)[1] for r in (0, 1, 4, 5)]
    assert row == [0, 1, 4, 5] and [plain.element_at(0, 0, r)[1] for r in (0, 1, 4, 5)] == [0, 1, 16, 17]


@pytest.mark.parametrize(
    ("warps", "tile", "permutations", "said"),
    [
        ((2,), None, None, "give the number of warps along m, n"),
        ((2, 0), None, None, "give the number of warps along m, n"),
        ("(2,2):(1,2)", None, None, "has 2 modes; an AtomLayoutMNK has three"),
        ("(2,2,1):(1,1,0)", None, None, "does not number 4 warps"),
        ((2, 2), (32, 24, 16), None, "must be multiples of (32, 16, 16)"),
        ((2, 2), (32, 16), None, "must be multiples of (32, 16, 16)"),
        ((2, 2), (32, 16, 16), (None, "(2,4):(1,4)", None), "is not a permutation of n"),
        ((2, 2), (32, 16, 16), (None, "32:1", None), "32 has to divide 16"),
        ((8, 8), (4096, 4096, 16), None, "at most 1048576 are supported"),
    ],
)
def test_what_does_not_fit_is_told_why(warps, tile, permutations, said):
    with pytest.raises(FragmentMismatchError) as caught:
        tiled_layout(F16, "d", warps, tile, permutations=permutations)
    assert said in str(caught.value)


def test_quad_pairs_have_no_tiles_of_whole_warps():
    with pytest.raises(UnsupportedInstructionError, match="executed by quad pairs"):
        tiled_layout("m8n8k4.f32.f16.f16.f32", "d", arch="v100")


def test_places_are_checked():
    tiled = tiled_layout(F16, "a")
    for wrong in (lambda: tiled.element_at(4, 0, 0), lambda: tiled.element_at(0, 32, 0), lambda: tiled.locate(32, 0)):
        with pytest.raises(OutOfBoundsError):
            wrong()


def test_a_tile_is_drawn_with_every_warp_in_its_colour():
    tiled = we.instruction(F16).a.tiled((2, 2), (32, 32, 16))
    svg = we.viz.draw_tile(tiled).svg
    assert svg.count('class="cell l') == 32 * 8 + 4
    assert svg.count('data-warp="0 2"') == svg.count('data-warp="1 3"') == 16 * 8
    assert tiled._repr_html_().count("<svg") == 1
    lit = we.viz.draw_tile(tiled, warp=3, lane=5)
    assert lit.title == "What lane 5 of warp 3 holds of A" and lit.svg.count('class="mark"') == 4
    one = we.viz.draw_tile(we.instruction(F16).d.tiled((2, 2), (32, 32, 16)), element=(17, 9))
    assert one.title == "D[17, 9] is in warp 3, lane 4, register d1" and one.svg.count('class="mark"') == 1


def test_every_cell_of_a_drawn_tile_is_where_the_layout_says():
    for operand in "abd":
        tiled = we.instruction(F16).__getattribute__(operand).tiled((2, 2), (32, 32, 32))
        names = ("row", "col", "warp", "lane", "value")
        cells = re.findall(" ".join(f'data-{x}="([\\d ]+)"' for x in names), we.viz.draw_tile(tiled).svg)
        shown = set()
        for row, col, warps, lane, value in cells:
            for warp in warps.split():
                assert tiled.coords[int(value), int(warp), int(lane)].tolist() == [int(row), int(col)]
                shown.add((int(value), int(warp), int(lane)))
        assert len(shown) * 2 == tiled.num_values * tiled.num_warps * 32


@pytest.mark.thorough
def test_a_tile_that_is_too_large_to_draw_is_an_error():
    tiled = tiled_layout("m16n8k16.f16.f16.f16.f16", "d", (2, 2), (256, 256, 16))
    with pytest.raises(FragmentMismatchError, match="at most 4096 can be drawn"):
        we.viz.draw_tile(tiled)
    assert "is not drawn" in tiled._repr_html_()
    assert np.unique(tiled.coords.reshape(-1, 2), axis=0).shape == (256 * 256, 2)
