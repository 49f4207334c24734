# SPDX-License-Identifier: MIT
"""The labels and boxes of pictures of memory, and their positions, compared with the plans."""

from collections import defaultdict
from itertools import product
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from wmma_emu import wmma
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.viz import draw_ldmatrix, draw_load_matrix_sync, draw_shared_operand
from wmma_emu.viz.memory.ldmatrix_plan import ldmatrix_plan, plain_addresses
from wmma_emu.viz.memory.load_plan import load_plan
from wmma_emu.viz.memory.shared_plan import shared_plan

SVG = "{http://www.w3.org/2000/svg}"
MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"


class Box(NamedTuple):
    """A cell: where it is, what it says in data attributes and in visible letters."""

    left: float
    top: float
    right: float
    bottom: float
    data: dict[str, str]
    texts: list[str]


class Label(NamedTuple):
    """A label next to the cells: its anchor, its base line."""

    x: float
    y: float
    text: str


def boxes(picture, kind):
    """Return every cell of a class, with its frame and its labels."""
    found = []
    for group in ElementTree.fromstring(str(picture)).iter(f"{SVG}g"):
        if kind not in group.get("class", "").split():
            continue
        frames = [tuple(float(x.get(name)) for name in ("x", "y", "width", "height")) for x in group.iter(f"{SVG}rect")]
        left, top = min(x for x, *_ in frames), min(y for _, y, *_ in frames)
        right, bottom = max(x + w for x, _, w, _ in frames), max(y + h for _, y, _, h in frames)
        texts = list(group.iter(f"{SVG}text"))
        assert all(left < float(x.get("x")) < right and top < float(x.get("y")) < bottom for x in texts)
        data = {name[5:]: value for name, value in group.items() if name.startswith("data-")}
        found.append(Box(left, top, right, bottom, data, [x.text for x in texts]))
    return found


def labels(picture):
    """Return every label outside the cells."""
    root = ElementTree.fromstring(str(picture))
    within = {x for group in root.iter(f"{SVG}g") if group.get("class") != "count" for x in group.iter(f"{SVG}text")}
    return [Label(float(x.get("x")), float(x.get("y")), x.text) for x in root.iter(f"{SVG}text") if x not in within]


def numbers_of(box, *names):
    return tuple(int(box.data[name]) for name in names)


def in_reading_order(found, down, across):
    """Boxes in rows from top to bottom, and in each from left to right, as their data count."""
    order = sorted(found, key=lambda box: (box.top, box.left))
    return [(*numbers_of(box, *down), *numbers_of(box, *across)) for box in order]


def beside(found, box):
    """Return the labels on the line of a box."""
    return [x for x in found if box.top < x.y < box.bottom]


def above(found, box, within):
    """Return the labels above the middle of a box, within a distance."""
    middle = (box.left + box.right) / 2
    return [x.text for x in found if abs(x.x - middle) < 0.01 and 0 < box.top - x.y < within]


@pytest.mark.parametrize("name", [
    "ldmatrix.m8n8.x1.b16", "ldmatrix.m8n8.x2.trans.b16", "stmatrix.m8n8.x4.b16", "stmatrix.m16n8.x2.trans.b8",
    "ldmatrix.m16n16.x1.trans.b8",
])  # fmt: skip
def test_rows_their_lanes_addresses_and_elements_are_at_their_positions(name):
    plan = ldmatrix_plan(name)
    rows = np.random.default_rng(len(name)).permutation(64)[:32] * 16
    picture = draw_ldmatrix(name, rows)
    heads, cells, beginnings = labels(picture), boxes(picture, "cell"), boxes(picture, "row")
    matrices, per_row = range(plan.matrices), range(plan.row_elements)
    assert in_reading_order(beginnings, ("matrix", "row"), ()) == list(product(matrices, range(plan.rows)))
    assert in_reading_order(cells, ("matrix", "row"), ("col",)) == list(product(matrices, range(plan.rows), per_row))
    assert len({box.left for box in beginnings}) == 1 and len({box.left for box in cells}) == plan.row_elements
    parts = ("lo", "hi") if plan.element_bits == 16 else ("b0", "b1", "b2", "b3")
    for box in beginnings:
        lane = int(plan.address_lanes[numbers_of(box, "matrix", "row")])
        assert box.texts == [f"T{lane}"]
        line = [cell for cell in cells if cell.top == box.top]
        assert {numbers_of(cell, "matrix", "row") for cell in line} == {numbers_of(box, "matrix", "row")}
        address = [x.text for x in beside(heads, box) if box.right < x.x < min(cell.left for cell in line)]
        assert address == [str(rows[lane])]
    for box in cells:
        holder, register, part = plan.holders[numbers_of(box, "matrix", "row", "col")].tolist()
        assert box.texts == [f"T{holder}", f"r{register}.{parts[part]}"]
    for matrix in matrices:
        first = [box for box in cells if numbers_of(box, "matrix", "row") == (matrix, 0)]
        assert [above(heads, box, 10) for box in first] == [[str(i)] for i in per_row]
        over = [x for x in heads if 0 < first[0].top - x.y < 42]
        texts = [x.text for x in over]
        assert f"matrix {matrix}" in texts and f"element of the row, {plan.source_bits} bits each" in texts
        assert {"lane", "address", "banks"} <= set(texts)
        assert "banks" in texts and texts.count(f"matrix {matrix}") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ldmatrix.m8n8.x4.b16", "stmatrix.m16n8.x4.trans.b8", MOVMATRIX])
def test_registers_stand_lane_by_lane_lowest_bits_first_below_their_names(name):
    plan = ldmatrix_plan(name)
    picture = draw_ldmatrix(name)
    heads = labels(picture)
    kinds = {"held": plan.held, "given": plan.elements} if name == MOVMATRIX else {"held": plan.elements}
    assert {x.text for x in heads if x.text.startswith("register ") and x.text.endswith("afterwards")} == (
        {"register 0 of each lane, afterwards"} if name == MOVMATRIX else set()
    )
    holders = boxes(picture, "holder")
    assert all(box.texts == [f"T{box.data['lane']}"] for box in holders)
    for kind, elements in kinds.items():
        cells = boxes(picture, kind)
        bits, per_register = plan.element_bits, plan.elements_per_register
        lanes = [(r, row, 4 * row + i, bit) for r in range(len(elements)) for row in range(8) for i in range(4)
                 for bit in range(0, 32, bits)]  # fmt: skip
        order = sorted(cells, key=lambda box: (box.top, box.left))
        assert [numbers_of(box, "register", "lane", "bit") for box in order] == [(r, x, bit) for r, _, x, bit in lanes]
        for box in cells:
            lane, register, bit = numbers_of(box, "lane", "register", "bit")
            _, row, col = elements[register, bit // bits, lane].tolist()
            assert box.texts == [f"{row},{col}"]
            own = [x for x in holders if x.bottom == box.top and x.left <= box.left and box.right <= x.right]
            assert [x.texts for x in own] == [[f"T{lane}"]]
            if lane < 4:
                low = bit % 32
                assert above(heads, box, 20)[-1] == f"{low}–{low + bits - 1}"
            if lane == 0 and bit == 0:
                ways = [x.text for x in heads if x.x == box.left and 18 < box.top - 12 - x.y < 22]
                assert ways == [f"register {register} of each lane" + ", afterwards" * (kind == "given")]
        assert len(cells) == 32 * per_register * len(elements)
    if name == MOVMATRIX:
        assert max(x.right for x in boxes(picture, "held")) < min(x.left for x in boxes(picture, "given"))


@pytest.mark.parametrize("pitch", [32, 48, 64, 128])
def test_banks_are_named_above_their_rows_and_counted_below(pitch):
    name = "ldmatrix.m8n8.x4.b16"
    rows = plain_addresses(name, pitch)
    picture = draw_ldmatrix(name, pitch=pitch)
    heads, banks, lines = labels(picture), boxes(picture, "bank"), boxes(picture, "row")
    root = ElementTree.fromstring(str(picture))
    counts = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("class") == "count":
            [text] = group.iter(f"{SVG}text")
            counts[int(group.get("data-phase")), float(text.get("x"))] = (text.text, float(text.get("y")))
    said = " ".join(x.text for x in heads)
    for phase in range(4):
        words = [set() for _ in range(32)]
        for lane in range(8 * phase, 8 * phase + 8):
            for word in range(rows[lane] // 4, rows[lane] // 4 + 4):
                words[word % 32].add(word)
        here = [box for box in banks if int(box.data["phase"]) == phase]
        assert [box.texts for box in here] == [[f"T{lane}"] for lane in range(8 * phase, 8 * phase + 8)]
        top, bottom = min(box.top for box in here), max(box.bottom for box in here)
        columns = {x.x: x.text for x in heads if 0 < top - x.y < 10 and any(x.text == f"{i}–{i + 3}" for i in range(32))
                   and x.x in {place for of, place in counts if of == phase}}  # fmt: skip
        assert [columns[x] for x in sorted(columns)] == [f"{4 * i}–{4 * i + 3}" for i in range(8)]
        for box, lane in zip(here, range(8 * phase, 8 * phase + 8), strict=True):
            first = rows[lane] // 4 % 32
            assert columns[(box.left + box.right) / 2] == f"{first}–{first + 3}"
            assert [x.texts for x in lines if x.top == box.top] == [[f"T{lane}"]]
        for i, x in enumerate(sorted(columns)):
            count = len(words[4 * i])
            assert counts[phase, x][0] == (f"{count} ×" if count else "–") and 0 < counts[phase, x][1] - bottom < 16
        worst = max(map(len, words))
        who = f"Lanes {8 * phase} to {8 * phase + 7}: "
        if worst == 1:
            assert f"{who}no bank conflict." in said
        else:
            fours = [i for i in range(0, 32, 4) if len(words[i]) == worst]
            runs = [[i, i + 3] for i in fours if i - 4 not in fours]
            for run in runs:
                while run[1] + 1 in fours:
                    run[1] += 4
            names = ", ".join(f"{first}–{last}" for first, last in runs)
            assert f"{who}{worst}-way bank conflict, {worst} words in each of banks {names}." in said


LOADS = [
    ("sm_90", wmma.matrix_a, (16, 16, 16), wmma.half, wmma.row_major, None, 24, 0),
    ("sm_70", wmma.matrix_b, (16, 16, 16), wmma.half, wmma.col_major, None, 16, 32),
    ("sm_80", wmma.accumulator, (16, 16, 16), wmma.float32, None, wmma.mem_col_major, 20, 8),
    ("sm_90", wmma.matrix_a, (8, 8, 32), wmma.experimental.precision.s4, wmma.row_major, None, 64, 0),
]


@pytest.mark.parametrize(
    ("arch", "use", "shape", "kind", "layout", "order", "ldm", "start"), LOADS, ids=["A", "B", "C", "s4"]
)
def test_lines_of_a_tile_have_their_numbers_their_elements_their_lanes_and_their_padding(
    arch, use, shape, kind, layout, order, ldm, start
):  # fmt: skip
    fragment = wmma.fragment(use, *shape, kind, layout, arch=arch)
    plan = load_plan(fragment, ldm, order, start=start)
    picture = draw_load_matrix_sync(fragment, ldm, order, start=start)
    heads, cells = labels(picture), boxes(picture, "cell")
    down, across = ("row", "col") if plan.order == "row" else ("col", "row")
    line, along = ("row", "column") if plan.order == "row" else ("column", "row")
    rows, cols = plan.positions.shape
    lines, extent = (rows, cols) if plan.order == "row" else (cols, rows)
    together = int(cells[0].data["elements"])
    assert together == (8 if plan.format.bits == 4 else 1)
    expected = list(product(range(lines), range(0, extent, together)))
    assert in_reading_order(cells, (down,), (across,)) == expected
    by_line = defaultdict(list)
    for box in cells:
        by_line[int(box.data[down])].append(box)
        holders = plan.holders(*numbers_of(box, "row", "col"))
        names = [f"T{lane} x" + ",".join(str(i) if together == 1 else f"{i}–{i + together - 1}" for i in elements)
                 for lane, elements in holders]  # fmt: skip
        assert box.texts == names
    for number, found in by_line.items():
        left, right = min(box.left for box in found), max(box.right for box in found)
        texts = [x for x in beside(heads, found[0]) if x.x < left]
        at = (number, 0) if down == "row" else (0, number)
        position = int(plan.positions[at])
        assert [x.text for x in sorted(texts)] == [f"{line} {number}", str(position),
                                                   str(position * plan.format.bits // 8)]  # fmt: skip
        behind = [x.text for x in beside(heads, found[0]) if x.x > right]
        shown = ldm > extent and number < lines - 1
        assert behind == [f"padding: {ldm - extent} elements"] * shown
    first = sorted(by_line[0])
    assert [above(heads, box, 8) for box in first] == [
        [str(i) if together == 1 else f"{i}–{i + together - 1}"] for i in range(0, extent, together)
    ]
    over = [(x.text, x.x) for x in sorted(heads) if 0 < first[0].top - x.y < 25 and x.x <= first[0].left]
    assert {line, "element", "byte", along} <= {text for text, _ in over}
    places = {text: x for text, x in over}
    assert places[line] < places["element"] < places["byte"] < places[along] == first[0].left


SHARED = [(0, "k", 128, 256), (32, "k", 16, 256), (64, "k", 16, 512), (128, "k", 16, 1024), (128, "mn", 1024, 2048)]


@pytest.mark.parametrize(("swizzle", "major", "leading", "stride"), SHARED, ids=[f"{x[0]}-{x[1]}" for x in SHARED])
def test_chunks_of_a_shared_operand_are_at_their_addresses_and_name_their_elements(swizzle, major, leading, stride):
    descriptor = MatrixDescriptor(1024, leading, stride, swizzle)
    plan = shared_plan(descriptor, 64, 16, "f16", major)
    picture = draw_shared_operand(descriptor, 64, 16, "f16", major, memory_rows=64)
    heads, cells = labels(picture), boxes(picture, "cell")
    by_address = {chunk.address: chunk for chunk in plan.chunks}
    assert len(cells) == len(by_address)
    lefts = sorted({x.x for x in heads if x.text.startswith("+")})
    assert [x.text for x in sorted(heads) if x.text.startswith("+")] == [f"+{16 * i}" for i in range(8)]
    names = [x.text for x in sorted(heads) if x.text.startswith("banks ")]
    assert names == [f"banks {4 * i}–{4 * i + 3}" for i in range(8)]
    assert sorted({x.x for x in heads if x.text.startswith("banks ")}) == lefts
    rows = sorted({box.top for box in cells})
    for box in cells:
        [address] = [int(x.text) for x in beside(heads, box) if x.x < min(lefts) and x.text.isdigit()]
        address += 16 * lefts.index((box.left + box.right) / 2)
        chunk = by_address[address]
        assert int(box.data["address"]) == address
        row = f"row {chunk.row}" if major == "k" else f"row {chunk.row}–{chunk.last_row}"
        assert box.texts == [row, f"k {chunk.k}–{chunk.last_k}" if major == "k" else f"k {chunk.k}"]
    order = [min(int(box.data["address"]) for box in cells if box.top == top) for top in rows]
    assert order == sorted(order)
    marks = {x.text for x in heads if x.text.startswith("←")}
    assert any("start 1024" in x for x in marks)
    across = f"start + {'SBO' if (major, swizzle) != ('mn', 0) else 'LBO'} = "
    assert any(across in x for x in marks) or major == "mn"
    for x in heads:
        if x.text.startswith("←"):
            [line] = [int(y.text) for y in heads if y.y == pytest.approx(x.y, abs=0.01) and y.text.isdigit()]
            named = [int(part.rpartition(" ")[2]) for part in x.text.split("; ")]
            assert all(line <= address < line + 128 for address in named)


@pytest.mark.parametrize(("swizzle", "leading", "stride", "fmt", "k"), [
    (0, 128, 256, "f16", 16), (0, 16, 1024, "f16", 64), (0, 2048, 128, "s8", 64), (32, 16, 256, "f16", 16),
    (32, 16, 512, "f16", 16), (64, 16, 512, "e4m3", 64), (128, 16, 1024, "f16", 64), (128, 16, 2048, "tf32", 32),
    (0, 0, 256, "f16", 16),
])  # fmt: skip
@pytest.mark.parametrize("start", [0, 1024])
def test_words_of_a_bank_in_eight_neighbouring_lines_are_those_that_are_counted_one_by_one(
    swizzle, leading, stride, fmt, k, start
):  # fmt: skip
    plan = shared_plan(MatrixDescriptor(start, leading, stride, swizzle), 64, k, fmt)
    most = 0
    for eight, number in product(range(8), {chunk.number for chunk in plan.chunks}):
        words = defaultdict(set)
        for chunk in plan.chunks:
            if chunk.line in range(8 * eight, 8 * eight + 8) and chunk.number == number:
                for word in range(chunk.address // 4, chunk.address // 4 + 4):
                    words[word % 32].add(word)
        most = max(most, *map(len, words.values()))
    assert plan.conflict_of_chunks == most
    said = " ".join(x.text for x in labels(draw_shared_operand(plan.descriptor, 64, k, fmt)))
    assert ("each bank holds one word" if most == 1 else f"one bank holds up to {most} words") in said
