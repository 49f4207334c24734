# SPDX-License-Identifier: MIT
"""The pictures of the explorer: labels and colours of cells, copies, and what an element meets, as the layouts say."""

import re

import pytest

from tests.browser.explorer_page import A16, LDMATRIX, LOOK, WMMA, answer_of, bands, css, product, upto
from wmma_emu.instructions import lookup
from wmma_emu.layouts import granularity_of, layout_for, metadata_map, selectors_of
from wmma_emu.viz import lane_colour, ldmatrix_plan

pytestmark = pytest.mark.slow

NARROW = "wmma.mma.m32n8k16.f32.f32"
SPARSE = "mma.sp.m16n8k16.f32.f16.f16.f32"
SPARSE_TF32 = "mma.sp.m16n8k8.f32.tf32.tf32.f32"
SPARSE_S4 = "mma.sp.m16n8k64.s32.s4.s4.s32"
X2_TRANS = "ldmatrix.m8n8.x2.trans.shared.b16"


# --- the matrix ----------------------------------------------------------------------------------

OPERANDS = [
    (A16, "sm_90", "A"), (WMMA, "sm_70", "A"), (SPARSE, "sm_90", "A"), (A16, "sm_90", "B"), (WMMA, "sm_90", "B"),
]  # fmt: skip


@pytest.mark.parametrize("name, chip, letter", OPERANDS)
def test_a_cell_of_the_matrix_names_the_lanes_that_hold_its_element(looks, name, chip, letter):
    layout = layout_for(lookup(name), letter.lower(), chip)
    picture, _ = looks(name, chip, letter)
    cells = sorted(picture["cells"], key=lambda x: (x["y"], x["x"]))  # in their order on the page
    assert len(cells) == layout.rows * layout.cols
    assert len({x["y"] for x in cells}) == layout.rows and len({x["x"] for x in cells}) == layout.cols
    for number, cell in enumerate(cells):
        row, col = divmod(number, layout.cols)
        places = layout.locate(row, col)
        first, lanes = places[0], sorted({x.lane for x in places})
        indices = sorted({x.element for x in places})
        lines = [" ".join(f"T{x}" for x in lanes[i : i + 2]) for i in range(0, len(lanes), 2)]
        assert cell["texts"] == [*lines, " ".join(f"x{x}" for x in indices)]
        assert cell["fills"] == [css(lane_colour(x)) for x in lanes]
        assert re.match(r"row (\d+), column (\d+): ", cell["name"]).groups() == (str(row), str(col))
        assert [int(x) for x in re.findall(r"\blane (\d+)", cell["name"])] == lanes
        assert re.search(r"x\[(\d+)\]", cell["name"])[1] == str(first.element)
        assert re.search(r"register (\w+)", cell["name"])[1] == f"{letter.lower()}{first.register}"
        assert re.search(r"bits? ([\d–]+)", cell["name"])[1] == upto(first.bit, layout.element_bits)
    rulers = [text for *_, text in sorted(picture["around"])]
    assert rulers == [*map(str, range(layout.cols)), *map(str, range(layout.rows))]


def test_a_cell_of_a_move_shows_the_lane_that_gets_its_element(turned):
    for name in (LDMATRIX, X2_TRANS):
        plan = ldmatrix_plan(name, "sm_90")
        page = turned(chip="sm_90", i=name)
        cells = page.evaluate(LOOK, "matrix")["cells"]
        assert len(cells) == plan.matrices * 64
        places = page.evaluate(
            "[...document.querySelectorAll('#matrix .cell')].map(x => ['matrix', 'row', 'col'].map(y => +x.dataset[y]))"
        )
        for cell, (matrix, row, col) in zip(cells, places, strict=True):
            lane, register, half = plan.holders[matrix, row, col].tolist()
            assert cell["texts"] == [f"T{lane}", f"x{2 * register + half}"]
            assert cell["fills"] == [css(lane_colour(lane))]
            assert re.findall(r"row (\d+), column (\d+): lane (\d+), .*register r(\d+), bits (\d+)–", cell["name"]) == [
                tuple(map(str, (row, col, lane, register, 16 * half)))
            ]
        said = page.evaluate("[...document.querySelectorAll('#matrix .ruler')].map(x => x.textContent)")
        assert [x for x in said if x.startswith("T")] == [
            f"T{lane} → row {row}" for lanes in plan.address_lanes.tolist() for row, lane in enumerate(lanes)
        ]
        for matrix, row, col in ((1, 3, 5), (plan.matrices - 1, 7, 7)):
            answer = answer_of(page, f"M{matrix}[{row}][{col}]")
            assert f"the address that lane {plan.address_lanes[matrix, row]} gives" in answer
            assert f"bytes {2 * col}–{2 * col + 1} of the row" in answer


# --- the registers -------------------------------------------------------------------------------


@pytest.mark.parametrize("name, chip, letter", OPERANDS)
def test_a_cell_of_the_registers_shows_and_names_what_is_in_its_bits(looks, name, chip, letter):
    layout = layout_for(lookup(name), letter.lower(), chip)
    _, picture = looks(name, chip, letter)
    cells = sorted(picture["cells"], key=lambda x: (x["y"], x["x"]))
    assert len(cells) == 32 * layout.num_elements and len({x["y"] for x in cells}) == 32
    for number, cell in enumerate(cells):
        lane, index = divmod(number, layout.num_elements)
        register, bit = layout.register_of(index), layout.bit_of(index)
        row, col = layout.element_at(lane, register, bit)
        read = index < layout.read_elements
        assert cell["texts"] == [f"{row}, {col}"]
        assert cell["fills"] == [css(lane_colour(lane))]
        assert (cell["opacity"] == [1]) is read
        bits = upto(bit, layout.element_bits)
        assert cell["name"].startswith(
            f"lane {lane}, register {letter.lower()}{register}, bits {bits}: {letter}[{row}][{col}], x[{index}]"
        )
        assert ("not read" in cell["name"]) is not read


@pytest.mark.parametrize("name, chip, letter", OPERANDS)
def test_columns_of_the_registers_bear_the_letter_of_the_operand_and_stand_over_their_elements(
    looks, name, chip, letter
):
    layout = layout_for(lookup(name), letter.lower(), chip)
    _, picture = looks(name, chip, letter)
    around = sorted(picture["around"])
    registers = [f"{letter.lower()}{x}" for x in range(layout.num_registers)]
    index = range(layout.num_elements)
    bits = [upto(layout.bit_of(x), layout.element_bits) for x in index]
    assert [text for *_, text in around] == [*registers, *bits, *(f"T{x}" for x in range(32))]
    middles = [x["x"] + x["width"] / 2 for x in sorted(picture["cells"], key=lambda x: (x["y"], x["x"]))][: len(index)]
    for register in range(layout.num_registers):
        above = [middles[x] for x in index if layout.register_of(x) == register]
        assert min(above) - 1 <= around[register][1] <= max(above) + 1


# --- copies --------------------------------------------------------------------------------------


def copies_said(page):
    facts = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll("#facts dt")].map(
        x => [x.textContent, x.nextElementSibling.textContent]))""")
    return facts.get("copies")


def test_facts_say_how_many_copies_there_are_and_whether_they_are_read(turned):
    for name, chip, letter in (
        (A16, "sm_90", "A"), (WMMA, "sm_70", "A"), (WMMA, "sm_90", "A"),
        (NARROW, "sm_75", "B"), (WMMA, "sm_90", "D"),
    ):  # fmt: skip
        layout = layout_for(lookup(name), letter.lower(), chip)
        said = copies_said(turned(chip=chip, i=name, op=letter))
        if layout.is_bijection:
            assert said is None
        elif layout.reads_copies:
            assert said.startswith(f"{layout.multiplicity} lanes hold each element") and "each copy is read" in said
            assert "not read" not in said
        else:
            assert re.findall(r"x\[(\d+)\]", said) == [str(layout.read_elements), str(layout.num_elements - 1)]
            assert said.endswith("not read")


@pytest.mark.parametrize("name, chip, letter", [(WMMA, "sm_70", "A"), (WMMA, "sm_90", "A"), (NARROW, "sm_90", "B")])
def test_an_answer_lists_the_other_copies_of_an_element(turned, name, chip, letter):
    layout = layout_for(lookup(name), letter.lower(), chip)
    page = turned(chip=chip, i=name, op=letter)
    for lane, index in ((0, 0), (13, 1), (31, layout.num_elements - 1)):
        row, col = layout.coords[index, lane].tolist()
        answer = answer_of(page, f"T{lane} x{index}")
        assert f"{letter}[{row}][{col}]" in answer.split("It ")[0]
        others = [x for x in layout.locate(row, col) if (x.lane, x.element) != (lane, index)]
        (line,) = (x for x in answer.splitlines() if re.search("hold it|read", x))
        if layout.reads_copies:
            assert "each copy is read" in line
            assert re.findall(r"x\[(\d+)\] of lane (\d+)", line) == [(str(x.element), str(x.lane)) for x in others]
        else:
            assert re.findall(r"x\[(\d+)\]", line) == [str(x.element) for x in others]
            assert ("the same element" in line) is (index >= layout.read_elements)


# --- what an element meets -----------------------------------------------------------------------


def test_an_element_of_a_lights_the_row_of_b_that_it_meets_and_of_b_the_column_of_a(turned):
    page = turned(chip="sm_90", i=A16, op="A")
    answer_of(page, "A[9][3]")
    lit = bands(page)
    assert lit["B"] == product([3], range(8))
    assert lit["C"] == lit["D"] == product([9], range(8))
    answer_of(page, "B[13][4]")
    lit = bands(page)
    assert lit["A"] == product(range(16), [13])
    assert lit["C"] == lit["D"] == product(range(16), [4])


@pytest.mark.parametrize("name", [SPARSE, SPARSE_TF32])
def test_elements_of_a_sparse_product_light_the_chunk_that_they_may_meet(turned, name):
    row, kind = lookup(name), granularity_of(lookup(name))
    packed, wide = layout_for(row, "a", "sm_90").cols, layout_for(row, "b", "sm_90").rows
    kept = kind.chunk * packed // wide
    page = turned(chip="sm_90", i=name, op="A")
    answer_of(page, "D[3][5]")
    lit = bands(page)
    assert lit["A"] == product([3], range(packed)) and lit["B"] == product(range(wide), [5])
    for k in (0, wide // 2 + 1):  # a row of B: packed columns of A that metadata may send to it
        answer = answer_of(page, f"B[{k}][2]")
        assert "column 2 of D" in answer and re.search(rf"\bcolumn {k} of (the whole )?A\b", answer)
        first = k // kind.chunk * kept
        page.evaluate("document.querySelector('.at-A .name').click()")
        drawn = page.evaluate(
            "[...document.querySelectorAll('#matrix .band')].map(x => [+x.dataset.row, +x.dataset.col])"
        )
        assert bands(page)["A"] == drawn == product(range(16), range(first, first + kept))
        assert bands(page)["D"] == product(range(16), [2])
    for col in (1, packed - 1):  # a packed column of A: rows of B that metadata may choose from
        answer = answer_of(page, f"A[6][{col}]")
        first = col // kept * kind.chunk
        assert re.search(rf"\bcolumns {upto(first, kind.chunk)}\b", answer) and "row 6 of D" in answer
        assert bands(page)["B"] == product(range(first, first + kind.chunk), range(8))
        assert bands(page)["D"] == product([6], range(8))


@pytest.mark.parametrize("name", [SPARSE, SPARSE_TF32, SPARSE_S4])
def test_the_metadata_table_says_lane_and_nibble_of_each_chunk_and_which_nibbles_are_legal(turned, name):
    row = lookup(name)
    kind = granularity_of(row)
    for selector in selectors_of(row):
        found = metadata_map(row, selector)
        page = turned(chip="sm_90", i=name, op="A", view="metadata", selector=selector)
        table = page.evaluate("""() => [...document.querySelectorAll("#view-metadata table tr")].map(
            row => [...row.cells].map(x => [x.textContent, getComputedStyle(x).backgroundColor]))""")
        rows, chunks = found.lane.shape
        assert [x for x, _ in table[0][1:]] == [upto(c * kind.chunk, kind.chunk) for c in range(chunks)]
        assert [line[0][0] for line in table[1:]] == [f"row {x}" for x in range(rows)]
        assert [line[1:] for line in table[1:]] == [
            [[f"T{lane} n{nibble}", css(lane_colour(lane))] for lane, nibble in zip(*line, strict=True)]
            for line in zip(found.lane.tolist(), found.nibble.tolist(), strict=True)
        ]
    said = re.findall(r"\b([01]{4})\s+keeps columns? (\d+(?:, \d+)*)", page.inner_text("#view-metadata"))
    assert {int(x, 2): tuple(map(int, cols.split(", "))) for x, cols in said} == dict(kind.nibbles)
    assert len(said) == len(kind.nibbles)


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(("chip", "letter"), [("sm_90", "A"), ("sm_90", "B"), ("sm_70", "A"), ("sm_70", "C")])
def test_no_text_runs_out_of_its_cell(turned, chip, letter, width):
    page = turned(chip=chip, i=WMMA, op=letter, width=width)
    script = """() => [...document.querySelectorAll(".figure .cell")].filter((cell) => {
        const box = cell.querySelector(".edge").getBoundingClientRect();
        return [...cell.querySelectorAll("text")].some((x) => x.getBoundingClientRect().width > box.width);
      }).length"""
    assert page.evaluate(script) == 0
