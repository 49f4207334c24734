# SPDX-License-Identifier: MIT
"""The matrix view: every cell agrees with the table of the layout, and is at the position of its element."""

import itertools
import re

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma
from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.layouts import LaneMap
from wmma_emu.viz import draw_matrix, draw_registers, lane_colour
from wmma_emu.viz.operands.windows import RegisterWindow, Viewport
from wmma_emu.viz.svg import text_width

from .operand_pictures import ALL, SVG, box_of, cells_of, held_by, root_of, texts_of

F16 = we.instruction("m16n8k16.f32.f16.f16.f32")
S8 = we.instruction("m16n8k32.s32.s8.s8.s32")
B1 = we.instruction("m16n8k256.s32.b1.b1.s32.xor.popc", arch="sm_80")
QUADS = we.instruction("m8n8k4.f32.f16.f16.f32", arch="sm_70")
VOLTA = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70")
AMPERE = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_80")
WGMMA = we.instruction("wgmma.m64n256k16.f32.f16.f16")


def window_of(operand, cells):
    """Return the rows and columns of the drawn cells."""
    rows = {x.data["row"] + i for x in cells for i in range(x.data.get("rows", 1))}
    cols = {x.data["col"] + i for x in cells for i in range(x.data.get("cols", 1))}
    assert rows == set(range(min(rows), max(rows) + 1)) and cols == set(range(min(cols), max(cols) + 1))
    return rows, cols


@pytest.mark.thorough
@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("part", range(4))
def test_the_cells_of_every_layout_are_the_table(part):
    for operand in ALL[part::4]:
        layout = operand.layout
        cells = cells_of(draw_matrix(operand))
        rows, cols = window_of(operand, cells)
        if layout.num_lanes == 32 or layout.rows * layout.cols <= 512 * layout.elements_per_register:
            assert (len(rows), len(cols)) == (layout.rows, layout.cols)
        else:
            assert len(rows) == 16 and len(cols) == (layout.cols if layout.cols <= 32 else 16)
        expected = [
            x for x in held_by(layout, range(layout.read_elements)) if x.row in rows and x.col in cols
        ]  # fmt: skip
        drawn = [x for cell in cells for x in cell.elements(layout.element_bits)]
        assert sorted(drawn) == sorted(expected), operand


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("operand", ALL[::6], ids=repr)
def test_cells_are_at_their_row_and_column_name_their_lanes_and_have_their_colour(operand):
    picture = draw_matrix(operand)
    style = str(picture).split("</style>")[0]
    cells = cells_of(picture)
    layout = operand.layout
    first = {}
    for cell in cells:
        matrix = cell.data.get("matrix", 0)
        x, y, width, height = cell.box
        rows, cols = (cell.data.get(name, 1) for name in ("rows", "cols"))
        left, top = x - width * cell.data["col"] / cols, y - height * cell.data["row"] / rows
        assert first.setdefault(matrix, (round(left, 3), round(top, 3))) == (round(left, 3), round(top, 3))
        i, count = cell.data["index"], layout.elements_per_register
        span = f" x{i}–{i + count - 1}" if count > 1 else ""
        lanes = ",".join(map(str, cell.lanes))
        assert cell.texts == [f"T{lanes}", f"{operand.operand}{cell.data['register']}{span}"]
        assert cell.classes == ["cell", f"l{cell.lanes[0] % 32}"]
        assert f".l{cell.lanes[0] % 32} {{ fill: {lane_colour(cell.lanes[0])}; }}" in style
        stripes = [x.get("class") for x in cell.group.findall(f"{SVG}path")]
        assert stripes == [f"l{lane}" for lane in cell.lanes[1:]]


def by_hand(name, lane, x):
    """Rows and columns of `mma.m16n8k8` in tf32 and of `wmma` m16n16k16, from the manual and from Volta's SASS."""
    g, t = lane >> 2, lane % 4
    bit = [(lane >> i) & 1 for i in range(5)]
    octet_row, octet_col = 8 * bit[2] + 4 * bit[4], 8 * bit[3] + 4 * bit[4]
    match name:
        case "tf32 a":
            return g + 8 * (x & 1), t + 4 * (x >> 1)
        case "tf32 b":
            return t + 4 * x, g
        case "tf32 c":
            return g + 8 * (x >> 1), 2 * t + (x & 1)
        case "volta a":
            return t + octet_row, x
        case "volta b":
            return x, t + octet_col
        case "volta c":
            row = bit[0] + 2 * ((x >> 1) & 1) + octet_row
            return row, 2 * bit[1] + (x & 1) + 4 * (x >> 2) + 8 * bit[3]
        case "ampere a" | "ampere c":
            return g + 8 * ((x >> 1) & 1), 2 * t + (x & 1) + 8 * (x >> 2)
        case "ampere b":
            return 2 * t + (x & 1) + 8 * ((x >> 1) & 1), g + 8 * (x >> 2)


BY_HAND = [
    ("tf32", we.instruction("m16n8k8.f32.tf32.tf32.f32", arch="sm_90"), (4, 2, 4)),
    ("volta", VOLTA, (16, 16, 8)),
    ("ampere", AMPERE, (8, 8, 8)),
]


@pytest.mark.parametrize("operand", ["a", "b", "c"])
@pytest.mark.parametrize(("name", "instruction", "counts"), BY_HAND, ids=[x[0] for x in BY_HAND])
def test_the_pictures_are_the_formulas_written_by_hand(name, instruction, counts, operand):
    bound = getattr(instruction, operand)
    count = counts["abc".index(operand)]
    expected = {(*by_hand(f"{name} {operand}", lane, x), lane, x) for lane in range(32) for x in range(count)}
    drawn = [x for cell in cells_of(draw_matrix(bound)) for x in cell.elements(bound.layout.element_bits)]
    assert {(x.row, x.col, x.lane, x.index) for x in drawn} == expected and len(drawn) == 32 * count


@pytest.mark.parametrize(("operand", "options", "title"), [
    (S8.a, {"element": (9, 17)}, "A[9, 17] is in lane 4, register a3, bits 8 to 15 (x13)"),
    (AMPERE.c, {"element": (1, 12)}, "C[1, 12] is in lane 6, register c4, bits 0 to 31 (x4)"),
    (VOLTA.a, {"element": (0, 3)}, "A[0, 3] is in lanes 0 and 8, register a1, bits 16 to 31 (x3)"),
    (VOLTA.a, {"element": (0, 3), "lane": 8}, "A[0, 3] is in lane 8, register a1, bits 16 to 31 (x3)"),
    (AMPERE.a, {"element": (0, 1)}, "A[0, 1] is in lane 0, register a0, bits 16 to 31 (x1)"),
    (B1.a, {"element": (3, 100)}, "A[3, 100] is in lane 15, register a0, bit 4 (x4)"),
    (WGMMA.d, {"element": (40, 200)}, "D[40, 200] is in thread 64, register d102, bits 0 to 31 (x102)"),
    (F16.a, {"lane": 5}, "Lane 5 holds rows 1, 9, columns 2–3, 10–11 of A"),
    (F16.b, {"register": 1}, "Register b1 holds rows 8–15, columns 0–7 of B"),
    (F16.a, {"lane": 5, "register": 2}, "Register a2 of lane 5 holds row 1, columns 10–11 of A"),
    (QUADS.a, {"lane": 5}, "Lane 5 holds row 1, columns 0–3 of A, matrix 1"),
    (WGMMA.d, {"lane": 127}, "Thread 127 holds rows 55, 63, 64 columns from 6 to 255 of D"),
    (F16.a.layout, {"element": (0, 0)}, "Element [0, 0] is in lane 0, register r0, bits 0 to 15 (x0)"),
])  # fmt: skip
def test_only_the_highlighted_elements_are_described_and_marked(operand, options, title):
    picture = draw_matrix(operand, **options)
    assert picture.title == title
    layout = operand if isinstance(operand, LaneMap) else operand.layout
    wanted = set()
    for x in held_by(layout, range(layout.read_elements)):
        given = {"lane": x.lane, "register": x.register, "element": (x.row, x.col)}
        if all(given[name] == value for name, value in options.items()):
            wanted.add((x.matrix, x.row, x.col))
    cells, seen = cells_of(picture), set()
    for cell in cells:
        places = [(x.matrix, x.row, x.col) for x in cell.elements(layout.element_bits)]
        there = wanted.intersection(places)
        seen |= there
        assert cell.classes[2] == ("on" if there else "off")
        assert len(cell.rects("mark")) == bool(there)
        assert len(cell.rects("bar")) == (2 if 0 < len(there) < layout.elements_per_register else 0)
    assert seen and (seen == wanted or layout.num_lanes > 32)
    assert "".join(title.split()) in "".join(x for x in texts_of(picture) if x).replace(" ", "")


def test_bars_stand_along_the_element_in_its_cell():
    for operand, element, axis in ((S8.a, (9, 17), 0), (S8.b, (17, 3), 1), (B1.b, (70, 2), 1)):
        [cell] = [x for x in cells_of(draw_matrix(operand, element=element)) if "on" in x.classes]
        count = operand.layout.elements_per_register
        share = (element[1 - axis] - cell.data["col" if axis == 0 else "row"]) / count
        for bar in cell.rects("bar"):
            start, size = box_of(bar)[axis], box_of(bar)[axis + 2]
            whole, length = cell.box[axis], cell.box[axis + 2]
            assert start == pytest.approx(whole + share * length, abs=1e-3)
            assert size == pytest.approx(length / count, abs=1e-3)


def test_one_of_four_matrices_can_be_drawn_alone():
    alone = cells_of(draw_matrix(QUADS.c, matrix=2))
    assert {x.data["matrix"] for x in alone} == {2} and len(alone) == 64
    assert {lane for x in alone for lane in x.lanes} == {8, 9, 10, 11, 24, 25, 26, 27}
    boxes = {}
    for cell in cells_of(draw_matrix(QUADS.c)):
        boxes.setdefault(cell.data["matrix"], set()).add(cell.box)
    corners = [min(x) for x in boxes.values()]
    assert len(set(corners)) == 4


def test_the_part_of_a_large_matrix_is_around_the_highlighted_element():
    picture = draw_matrix(WGMMA.d, lane=70)
    rows, cols = window_of(WGMMA.d, cells_of(picture))
    assert (rows, cols) == (set(range(32, 48)), set(range(16)))
    words = " ".join(x for x in texts_of(picture) if x)
    assert "Drawn are rows 32–47, columns 0–15; more rows: 16 further down: the next warp, T + 32" in words
    assert "warp 2: T64–95, rows 32–47" in words
    whole = cells_of(draw_matrix(we.instruction("wgmma.m64n8k16.f32.f16.f16").d))
    assert {lane for x in whole for lane in x.lanes} == set(range(128))


def numbers_beside(picture, axis):
    """Return the ruler above (axis 0) or at the left (axis 1) of the cells: each number with its middle."""
    found = cells_of(picture)
    edge = min(x.box[1 - axis] for x in found)
    texts = [x for x in root_of(picture).findall(f"{SVG}text") if x.text and x.text.isdigit()]
    place, across = ("x", "y") if axis == 0 else ("y", "x")
    beside = {"x": 5, "y": 5}[across]
    on_it = [x for x in texts if float(x.get(across)) == pytest.approx(edge - beside, abs=1e-2)]
    return {round(float(x.get(place)) - 3 * axis, 1): (int(x.text), x.get("class")) for x in on_it}


@pytest.mark.parametrize(("operand", "options"), [
    (WGMMA.d, {"element": (40, 200)}), (WGMMA.d, {"element": (63, 255)}), (WGMMA.a, {"element": (17, 3), "most": 64}),
    (F16.c, {"element": (9, 3)}), (F16.a, {"lane": 5}), (S8.b, {"register": 1}), (QUADS.c, {"lane": 21}),
], ids=str)  # fmt: skip
def test_rulers_number_the_rows_and_columns_of_the_cells_and_bold_numbers_are_highlighted(operand, options):
    options = dict(options)
    most = options.pop("most", 512)
    picture = draw_matrix(operand, most_cells=most, **options, **({"matrix": 1} if operand is QUADS.c else {}))
    drawn = cells_of(picture)
    bits = operand.layout.element_bits
    marked = {x for cell in drawn if "on" in cell.classes for x in cell.elements(bits)}
    wanted = [
        x for x in marked
        if (x.row, x.col) == options.get("element", (x.row, x.col)) and x.lane == options.get("lane", x.lane)
    ]  # fmt: skip
    rulers = [numbers_beside(picture, axis) for axis in (0, 1)]
    for cell in drawn:
        for axis, name, counts in ((0, "col", "cols"), (1, "row", "rows")):
            count = cell.data.get(counts, 1)
            for i in range(count):
                middle = cell.box[axis] + cell.box[axis + 2] * (i + 0.5) / count
                near = [x for x in rulers[axis] if abs(x - middle) < 0.11]
                [(number, class_)] = [rulers[axis][x] for x in near]
                assert number == cell.data[name] + i
                assert ("here" in class_) == (number in {getattr(x, name) for x in wanted})


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(("element", "columns"), [((0, 0), 0), ((40, 200), 192), ((63, 255), 240), ((17, 100), 96)])
def test_the_map_of_a_large_matrix_marks_the_part_that_is_drawn(element, columns):
    root = root_of(draw_matrix(WGMMA.d, element=element))
    bands = [box_of(x) for x in root.findall(f"{SVG}rect") if x.get("class") == "line"]
    [drawn] = [box_of(x) for x in root.findall(f"{SVG}rect") if x.get("class") == "drawn"]
    x, y, width, height = bands[element[0] // 16]
    assert len(bands) == 4 and [b[1] for b in bands] == sorted({b[1] for b in bands})
    assert drawn == pytest.approx((x + width * columns / 256, y, width * 16 / 256, height), abs=1e-3)
    labels = {x.text: float(x.get("y")) for x in root.findall(f"{SVG}text") if x.text.startswith("warp ")}
    for warp, (_, top, _, high) in enumerate(bands):
        text = f"warp {warp}: T{32 * warp}–{32 * warp + 31}, rows {16 * warp}–{16 * warp + 15}"
        assert top < labels[text] < top + high


@pytest.mark.parametrize("operand", [F16.a, F16.b, S8.a, S8.b], ids=repr)
def test_ticks_at_the_edges_of_cells_separate_their_elements(operand):
    picture = draw_matrix(operand)
    [path] = [x.get("d") for x in root_of(picture).findall(f"{SVG}path") if x.get("class") == "tick"]
    number = r"(-?[\d.]+)"
    seen = set()
    for x, y, a, length, b in re.findall(rf"M{number} {number}[vh]{number}m(?:0 )?{number}(?: 0)?[vh]{number}", path):
        across = (float(a), float(length), float(b))
        seen.add((round(float(x), 2), round(float(y), 2), *(round(z, 2) for z in across)))
    wanted = set()
    for cell in cells_of(picture):
        x, y, width, height = cell.box
        cols, rows = cell.data.get("cols", 1), cell.data.get("rows", 1)
        wanted |= {(round(x + width * i / cols, 2), round(y, 2), 4, round(height - 8, 2), 4) for i in range(1, cols)}
        wanted |= {(round(x, 2), round(y + height * i / rows, 2), 4, round(width - 8, 2), 4) for i in range(1, rows)}
    assert seen == wanted and len(path.split("M")) - 1 == len(wanted)
    assert ("h" in path) == (operand.operand == "b")


@pytest.mark.thorough
def test_the_last_element_of_every_large_matrix_is_in_its_picture():
    for i, operand in enumerate(x for x in ALL if x.layout.num_lanes > 32):
        layout = operand.layout
        last = (layout.rows - 1, layout.cols - 1)
        window = RegisterWindow.of(layout, (layout.coords_of_lanes == last).all(axis=-1))
        assert window.lanes == range(96, 128) and window.registers[-1] == layout.num_registers - 1
        assert last in itertools.product(*Viewport.of(layout, 0, last).ranges)
        for draw in (draw_matrix, draw_registers) if i % 16 == 5 else ():
            found = [x for x in cells_of(draw(operand, element=last)) if "on" in x.classes]
            [drawn] = [x for cell in found for x in cell.elements(layout.element_bits) if (x.row, x.col) == last]
            assert drawn in set(held_by(layout))


def test_a_fragment_is_drawn_as_its_layout_is():
    fragment = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major, arch="sm_70")
    drawn = [x for cell in cells_of(draw_matrix(fragment)) for x in cell.elements(16)]
    assert sorted(drawn) == sorted(held_by(fragment.lane_map))
    assert draw_matrix(fragment).title == "B of fragment<matrix_b, 16, 16, 16, half, col_major>"


def test_a_layout_of_ones_own_is_drawn_without_formulas():
    order = np.random.default_rng(3).permutation(64)
    coords = np.stack([order // 8, order % 8], axis=-1).reshape(2, 32, 2)
    own = LaneMap(coords, 8, 8, 32, 2, "mine", "inferred")
    picture = draw_matrix(own)
    assert sorted(x for cell in cells_of(picture) for x in cell.elements(32)) == sorted(held_by(own))
    words = " ".join(x for x in texts_of(picture) if x)
    assert "Known from: mine (inferred)" in words and "lane =" not in words


def test_the_head_and_the_foot_say_shape_chip_order_formulas_and_source():
    words = " ".join(x for x in texts_of(draw_matrix(AMPERE.c)) if x)
    for text in ("C of wmma.mma.m16n16k16.f32.f32", "16 × 16 (m × n) f32; sm_80 (Ampere); a lane holds 8 elements",
                 "lane = row % 8 * 4 + col % 8 / 2", "index = col / 8 * 4 + row / 8 * 2 + col % 2",
                 f"Known from: {AMPERE.c.layout.source} ({AMPERE.c.layout.status})"):  # fmt: skip
        assert text in words
    root = root_of(draw_matrix(AMPERE.c))
    assert root.find(f"{SVG}title").text == "C of wmma.mma.m16n16k16.f32.f32"
    assert "lane = row % 8" in root.find(f"{SVG}desc").text
    assert "is the first of 2" in " ".join(texts_of(draw_matrix(VOLTA.a)))
    assert "x8–15 repeat x0–7" in " ".join(texts_of(draw_matrix(AMPERE.a)))


@pytest.mark.parametrize("draw", [{"element": (9, 17)}, {}], ids=["pointed out", "plain"])
@pytest.mark.parametrize("operand", [F16.a, F16.b, S8.b, B1.a, B1.b, QUADS.c, VOLTA.a, VOLTA.c, WGMMA.d], ids=repr)
def test_labels_are_within_their_cells_and_everything_within_the_picture(operand, draw):
    if draw and operand not in (B1.a, WGMMA.d):
        draw = {"element": (3, 3)}
    picture = draw_matrix(operand, **draw)
    root = root_of(picture)
    width, height = (float(root.get(x)) for x in ("width", "height"))
    for cell in cells_of(picture):
        x, y, across, down = cell.box
        assert x >= 0 and y >= 0 and x + across <= width and y + down <= height
        for text in cell.group.findall(f"{SVG}text"):
            size = 11 * 1.1 if text.get("class") == "t" else 9.5
            assert abs(float(text.get("x")) - x - across / 2) < 1e-3
            assert text_width(text.text, size) <= across
            assert y + size * 0.75 <= float(text.get("y")) <= y + down


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"lane": 32}, OutOfBoundsError, "there is no lane 32; legal values are 0 to 31"),
    ({"lane": 1.5}, FragmentMismatchError, "the lane is 1.5, not an integer"),
    ({"register": 4}, OutOfBoundsError, "there is no register 4; legal values are 0 to 3"),
    ({"element": (16, 0)}, OutOfBoundsError, "there is no row 16; legal values are 0 to 15"),
    ({"element": (0, -1)}, OutOfBoundsError, "there is no column -1; legal values are 0 to 15"),
    ({"element": 3}, FragmentMismatchError, r"the element is 3; give \(row, column\), as in element=\(9, 17\)"),
    ({"element": (1, 2, 3)}, FragmentMismatchError, r"give \(row, column\)"),
    ({"matrix": 1}, OutOfBoundsError, "there is no matrix 1; legal values are 0 to 0"),
    ({"lane": 3, "element": (9, 3)}, UnsupportedInstructionError,
     r"lane=3 and element=\(9, 3\) have no element in common; A\[9, 3\] is in lane 5, register a1, bits 16 to 31 "
     r"\(x3\); omit one of them"),
])  # fmt: skip
def test_what_the_operand_does_not_have_is_an_error_that_says_what_it_has(options, error, message):
    with pytest.raises(error, match=message):
        draw_matrix(F16.a, **options)


@pytest.mark.parametrize(("operand", "error", "message"), [
    (WGMMA.b, UnsupportedInstructionError, "is in shared memory, not in registers.*draw_shared_operand draws it"),
    (F16, FragmentMismatchError, r"not BoundInstruction; choose an operand of it, such as ins\.a"),
    (np.zeros((2, 2)), FragmentMismatchError, r"a wmma\.fragment or a LaneMap, not ndarray$"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_an_error_that_says_what_can(operand, error, message):
    with pytest.raises(error, match=message):
        draw_matrix(operand)


def test_pictures_are_small_and_a_title_is_escaped():
    assert max(len(str(draw_matrix(x))) for x in (F16.a, F16.b, F16.c, S8.a, S8.b)) < 56_000
    assert max(len(str(draw_matrix(x))) for x in (AMPERE.c, VOLTA.c, WGMMA.d)) < 84_000
    words = texts_of(draw_matrix(F16.b, title="Mine", lane=3))
    assert words[:3] == ["Mine", "Lane 3 holds rows 6–7, 14–15, column 0 of B", "B of m16n8k16.f32.f16.f16.f32"]
    picture = draw_matrix(F16.b, title="<b>&")
    assert picture.title == "<b>&" and root_of(picture).find(f"{SVG}title").text == "<b>&"
    assert not re.search(r"<b>", str(picture))
