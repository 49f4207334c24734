# SPDX-License-Identifier: MIT
"""Pictures of layouts of a user's own, whose elements may be anywhere: they say what `element_at` says."""

import re

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.layouts import LaneMap
from wmma_emu.viz import draw_matrix, draw_registers

from .operand_pictures import SVG, cells_of, held_by, root_of, texts_of

F16 = we.instruction("m16n8k16.f32.f16.f16.f32").a.layout
S8 = we.instruction("m16n8k32.s32.s8.s8.s32").b.layout
S4 = we.instruction("m16n8k64.s32.s4.s4.s32", arch="sm_80").a.layout
B1 = we.instruction("m8n8k128.s32.b1.b1.s32.xor.popc", arch="sm_80").a.layout
VOLTA = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").a.layout
QUADS = we.instruction("m8n8k4.f32.f16.f16.f32", arch="sm_70").a.layout
WARPS = we.instruction("wgmma.m64n8k16.f16.f16.f16").d.layout


def own(layout, coords, **changed):
    given = {"read_elements": layout.read_elements, "matrix_of_lane": layout.matrix_of_lane, **changed}
    return LaneMap(
        coords.reshape(layout.coords.shape), layout.rows, layout.cols, layout.element_bits,
        source="mine", status="inferred", **given,
    )  # fmt: skip


def shuffled(layout, seed):
    """Indices of all lanes in another order, the same in each."""
    return own(layout, np.random.default_rng(seed).permutation(layout.coords))


def shuffled_in_lane(layout, lane, seed):
    """Lane's indices alone in another order."""
    coords = layout.coords_of_lanes.copy()
    coords[:, lane] = np.random.default_rng(seed).permutation(coords[:, lane])
    return own(layout, coords)


def everywhere(layout, seed):
    """Every element anywhere."""
    return own(layout, np.random.default_rng(seed).permutation(layout.coords.reshape(-1, 2)))


def shifted(layout):
    """Return a layout shifted by one column: elements are still adjacent, but across the edges of the former cells."""
    coords = layout.coords.copy()
    coords[..., 1] = (coords[..., 1] + 1) % layout.cols
    return own(layout, coords)


OWN = {
    **{f"f16-{i}": shuffled(F16, i) for i in range(4)},
    "s8": shuffled(S8, 1), "s4": shuffled(S4, 2), "b1": shuffled(B1, 3), "volta": shuffled(VOLTA, 4),
    "quads": shuffled(QUADS, 5), "warps": shuffled(WARPS, 6),
    "f16-lane-7": shuffled_in_lane(F16, 7, 0), "s8-lane-7": shuffled_in_lane(S8, 7, 1),
    "warps-lane-71": shuffled_in_lane(WARPS, 71, 2),
    "f16-everywhere": everywhere(F16, 7), "s4-everywhere": everywhere(S4, 8), "warps-everywhere": everywhere(WARPS, 9),
    "f16-reversed": own(F16, F16.coords[::-1]), "f16-shifted": shifted(F16),
}  # fmt: skip


def said(picture, bits):
    return sorted(x for cell in cells_of(picture) for x in cell.elements(bits))


def at(layout, held):
    return layout.element_at(held.lane, held.register, held.bit)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", OWN)
def test_both_views_say_what_the_layout_says(name):
    layout = OWN[name]
    bits = layout.element_bits
    for draw, wanted in ((draw_matrix, range(layout.read_elements)), (draw_registers, None)):
        drawn = said(draw(layout), bits)
        lanes = range(32) if (name, draw) == ("warps", draw_registers) else None  # the warps are equal: one is drawn
        assert drawn == sorted(held_by(layout, wanted, lanes))
        assert all(at(layout, x) == (x.row, x.col) for x in drawn)
    for lane in (0, 7, layout.num_lanes - 1):
        assert said(draw_registers(layout, lane=lane), bits) == sorted(held_by(layout, lanes=[lane]))


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", OWN)
def test_cells_do_not_overlap_and_their_labels_are_their_elements(name):
    layout = OWN[name]
    for draw in (draw_matrix, draw_registers):
        cells = cells_of(draw(layout))
        assert len({x.box[:2] for x in cells}) == len(cells)
        for cell in cells:
            row, col, i, register = (cell.data[x] for x in ("row", "col", "index", "register"))
            assert cell.data.get("rows", 1) == cell.data.get("cols", 1) == 1
            if draw is draw_matrix:
                assert cell.texts == [f"T{','.join(map(str, cell.lanes))}", f"r{register} x{i}"]
                assert cell.tip == f"[{row}, {col}]: {cell.texts[0]} r{register} x{i}"
            else:
                assert cell.texts == [f"{row},{col}"]
                assert cell.tip.startswith(f"T{cell.lanes[0]} r{register}: [{row}, {col}], x{i}")
    lane = cells_of(draw_registers(layout, lane=7))
    assert [x.texts for x in lane] == [[f"[{x.data['row']}, {x.data['col']}]", f"x{x.data['index']}"] for x in lane]


@pytest.mark.parametrize("name", ["f16-0", "s8", "b1", "warps"])
def test_the_bits_above_the_registers_belong_to_the_elements_below(name):
    layout = OWN[name]
    picture = draw_registers(layout)
    cells = [x for x in cells_of(picture) if x.lanes == [0]]
    top = min(x.box[1] for x in cells)
    texts = [x for x in root_of(picture).findall(f"{SVG}text") if x.text and re.fullmatch(r"\d+(–\d+)?", x.text)]
    ruler = {round(float(x.get("x")), 2): x.text for x in texts if float(x.get("y")) < top}
    bits = layout.element_bits
    for cell in cells:
        low = cell.data["bit"]
        text = str(low) if bits == 1 else f"{low + bits - 1}–{low}"
        assert ruler[round(cell.box[0] + cell.box[2] / 2, 2)] == text


def test_neighbours_of_ones_own_are_one_cell():
    layout = own(F16, F16.coords[:, ::-1])
    assert {x.data["cols"] for x in cells_of(draw_matrix(layout))} == {2}
    assert said(draw_matrix(layout), 16) == sorted(held_by(layout))
    down = own(F16, F16.coords[..., ::-1])
    assert {x.data["rows"] for x in cells_of(draw_registers(down))} == {2}


def test_warps_with_different_layouts_have_no_rule():
    layout = WARPS.coords_of_lanes.copy()
    layout[:, 64:96] = layout[::-1, 64:96]
    picture = draw_matrix(own(WARPS, layout), most_cells=1)
    words = " ".join(x for x in texts_of(picture) if x)
    assert "more rows" not in words and len({x.data["row"] for x in cells_of(picture)}) == 64
    assert "more rows" in " ".join(x for x in texts_of(draw_matrix(WARPS, most_cells=1)) if x)


def test_a_highlighted_element_marks_only_its_own_cell():
    layout = OWN["f16-0"]
    row, col = layout.coords[3, 5].tolist()
    for draw in (draw_matrix, draw_registers):
        [cell] = [x for x in cells_of(draw(layout, element=(row, col))) if "on" in x.classes]
        assert (cell.lanes, cell.data["index"], cell.data["bit"]) == ([5], 3, 16)
        assert len(cell.rects("mark")) == 1 and not cell.rects("bar")


def test_copies_in_other_registers_are_said_and_not_given_the_first_ones_register():
    coords = VOLTA.coords.copy()
    coords[:, 8:12] = coords[::-1, 8:12]  # lanes 8 to 11 hold what 0 to 3 do, the other way round
    layout = own(VOLTA, coords)
    picture = draw_matrix(layout)
    drawn = said(picture, 16)
    assert all(at(layout, x) == (x.row, x.col) for x in drawn)
    assert "Further copies, in other registers" in " ".join(x for x in texts_of(picture) if x)
    assert not any("Further copies" in x for x in texts_of(draw_matrix(VOLTA)) if x)
    assert draw_matrix(layout, element=(0, 0)).title == (
        "Element [0, 0] is in lane 0, register r0, bits 0 to 15 (x0) and in lane 8, register r7, bits 16 to 31 (x15)"
    )
