# SPDX-License-Identifier: MIT
import csv
import io
import json
import re
from argparse import Namespace

import numpy as np
import pytest

import wmma_emu as we
from tests.representatives import REPRESENTATIVES
from wmma_emu.cli import main
from wmma_emu.cli.grid import grid_of as grid_of_layout
from wmma_emu.cli.operand import asked_for, selections_of
from wmma_emu.cli.register_lines import register_lines
from wmma_emu.instructions import ARCHS, DEFAULT_ARCH, INSTRUCTIONS, OPERANDS
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.palette import INK
from wmma_emu.viz import draw_matrix, draw_registers, lane_colour
from wmma_emu.viz.operands.windows import RegisterWindow

from .layouts import CASES, LayoutWords

F16 = "m16n8k16.f32.f16.f16.f32"
VOLTA = "m8n8k4.f32.f16.f16.f32"
WMMA = "wmma.mma.m16n16k16.f32.f32"
B1 = "m16n8k256.s32.b1.b1.s32.xor.popc"
CELL = re.compile(r"T([\d,]+) x(\d+)(?:-(\d+))?\*?")
SHORT = re.compile(r"([\d,]+)(?::(\d+))?\*?")
RULE = re.compile(r"the element is x\[([a-z0-9 %*/+()]+)\]")


def selected(instruction: str, operand: str, chip: str | None):
    """What a command line with an operand asks for."""
    return selections_of(asked_for(Namespace(instruction=instruction, words=[], operand=operand, arch=chip)))[0]


def joined(text: str) -> str:
    """Undo the wrapping of lines."""
    return " ".join(text.split())


def numbers(text: str) -> range:
    """The range that ``4-7`` or ``4`` means."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def grid_of(out: str) -> str:
    """The part below the description."""
    return out.split("\n\n", 1)[1]


def rules_of(out: str, layout: LaneMap) -> tuple[range, range, int]:
    """Parse the rows, columns and elements by which the picture continues, from the description above it."""
    if layout.num_lanes == 32:
        assert "more rows" not in out
        return range(1), range(1), 0
    head = joined(out.split("\n\n", 1)[0])
    height = re.search(r"more rows (\d+) further down: the next warp, T \+ 32\b", head)
    across = re.search(r"more columns 8 further on: the same lanes, x \+ (\d+)", head)
    rows = range(0, layout.rows, int(height[1]))
    return rows, range(0, layout.cols, 8) if across else range(1), int(across[1]) if across else 0


def read_cell(cell: str, layout: LaneMap, rule: re.Match | None, row: int, col: int) -> tuple[list[int], range]:
    """The lanes and elements of a cell: in full, by register, or by lane with a rule for the element."""
    if full := CELL.fullmatch(cell):
        lanes, first, last = full[1], int(full[2]), int(full[3] or full[2])
    else:
        lanes, register = SHORT.fullmatch(cell).groups()
        count = layout.elements_per_register
        if register is None:
            first = eval(rule[1].replace("/", "//"), {"row": row, "col": col})
        else:
            first = int(register) * count
        last = first + count - 1
    return [int(x) for x in lanes.split(",")], range(first, last + 1)


def read_grid(out: str, layout: LaneMap) -> np.ndarray:
    """Count for every element and lane that the picture names it, at its row and column; wrong ones fail."""
    seen = np.zeros((layout.num_elements, layout.num_lanes), int)
    drawn = np.zeros_like(seen)
    rows_on, cols_on, step = rules_of(out, layout)
    picture = grid_of(out)
    rule = RULE.search(joined(out))
    for block in picture.split("\n\n"):
        lines = block.splitlines()
        matrices = [int(x) for x in re.findall(r"matrix (\d)", lines[0])] or [0]
        ruler, *rows = lines[1:] if "matrix" in lines[0] else lines
        heads = re.findall(r"\d+(?:-\d+)?", ruler)
        columns = [numbers(x) for x in heads]
        for line in rows:
            parts = re.findall(r" *(\d+(?:-\d+)?)((?:\|[T\d][^|]*)+)\|", line)
            cells = [(numbers(label), x.strip()) for label, row in parts for x in row[1:].split("|")]
            assert len(parts) == len(matrices) and len(cells) == len(columns)
            for i, ((rows_here, cell), cols_here) in enumerate(zip(cells, columns, strict=True)):
                matrix = matrices[i * len(matrices) // len(columns)]
                places = [(r, c) for r in rows_here for c in cols_here]
                lanes, elements = read_cell(cell, layout, rule, *places[0])
                assert len(places) == len(elements)
                for lane in lanes:
                    assert layout.matrix_of_lane.flat[lane] == matrix
                    drawn[list(elements), lane] += 1
                    for warp, down in enumerate(rows_on):
                        for tile, right in enumerate(cols_on[: (layout.cols - places[0][1] + 7) // 8]):
                            there, at = [i + tile * step for i in elements], lane + 32 * warp
                            expected = [[r + down, c + right] for r, c in places]
                            assert layout.coords_of_lanes[there, at].tolist() == expected
                            seen[there, at] = 1
    assert drawn.max() == 1
    return seen


@pytest.mark.thorough
@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("columns", [40, 60, 100, 300])
def test_every_grid_fits_the_terminal_and_shows_every_element_that_is_read_once(screen, monkeypatch, columns):
    for case in CASES:
        out = screen(columns)
        monkeypatch.setenv("NO_COLOR", "1")
        assert main(["layout", *case.words]) == 0
        assert max(map(len, out.text.splitlines())) <= columns, str(case)
        seen = read_grid(out.text, case.layout)
        read = case.layout.read_elements
        assert (seen[:read] == 1).all() and not seen[read:].any(), str(case)


@pytest.mark.thorough
@pytest.mark.parametrize("columns", [60, 120])
def test_every_list_fits_the_terminal(screen, monkeypatch, columns):
    for case in CASES:
        for words in (["layout", *case.words, "--lane", "31"],
                      ["where", *case.words, "--row", "3", "--col", "3"],
                      ["what", *case.words, "--lane", "31", "--register", "0"]):  # fmt: skip
            out = screen(columns)
            monkeypatch.setenv("NO_COLOR", "1")
            assert main(words) == 0
            assert max(map(len, out.text.splitlines())) <= columns, words


def test_no_line_ends_in_spaces(run):
    for case in CASES:
        assert not re.search(r" +$", run("layout", *case.words).out, re.MULTILINE), str(case)


def test_the_grid_in_a_file_has_full_names_in_a_hundred_columns(run, screen, monkeypatch):
    questions = [["layout", *x] for x in ((F16, "--operand", "A"), (B1, "--operand", "D"), (WMMA, "--operand", "C"))]
    in_files = [run(*words).out for words in questions]
    for words, in_file in zip(questions, in_files, strict=True):
        out = screen(100)
        monkeypatch.setenv("NO_COLOR", "1")
        main(words)
        assert (in_file == out.text) == (WMMA not in words)  # which does not fit, and is shortened on a terminal
    blocks = grid_of(in_files[-1]).split("\n\n")
    assert len(blocks) == 2 and all(x.splitlines()[1].startswith(" 0|T0 x") for x in blocks)
    assert max(map(len, in_files[-1].splitlines())) <= 100


FIGURES = [
    # figures of the PTX manual: A, B and accumulators of m16n8k16 and m16n8k8, by rows of the picture
    (F16, "A", {"0": "T0 x0-1|T1 x0-1|T2 x0-1|T3 x0-1|T0 x4-5|T1 x4-5|T2 x4-5|T3 x4-5",
                "7": "T28 x0-1|T29 x0-1|T30 x0-1|T31 x0-1|T28 x4-5|T29 x4-5|T30 x4-5|T31 x4-5",
                "8": "T0 x2-3|T1 x2-3|T2 x2-3|T3 x2-3|T0 x6-7|T1 x6-7|T2 x6-7|T3 x6-7"}),
    (F16, "B", {"0-1": "T0 x0-1|T4 x0-1|T8 x0-1|T12 x0-1|T16 x0-1|T20 x0-1|T24 x0-1|T28 x0-1",
                "14-15": "T3 x2-3|T7 x2-3|T11 x2-3|T15 x2-3|T19 x2-3|T23 x2-3|T27 x2-3|T31 x2-3"}),
    (F16, "C", {"0": "T0 x0|T0 x1|T1 x0|T1 x1|T2 x0|T2 x1|T3 x0|T3 x1",
                "15": "T28 x2|T28 x3|T29 x2|T29 x3|T30 x2|T30 x3|T31 x2|T31 x3"}),
    ("m16n8k8.f32.tf32.tf32.f32", "A", {"0": "T0 x0|T1 x0|T2 x0|T3 x0|T0 x2|T1 x2|T2 x2|T3 x2",
                                        "8": "T0 x1|T1 x1|T2 x1|T3 x1|T0 x3|T1 x3|T2 x3|T3 x3"}),
    ("m16n8k32.s32.s8.s8.s32", "A", {"0": "T0 x0-3|T1 x0-3|T2 x0-3|T3 x0-3|T0 x8-11|T1 x8-11|T2 x8-11|T3 x8-11"}),
    ("m8n8k4.f64.f64.f64.f64", "B", {"3": "T3 x0|T7 x0|T11 x0|T15 x0|T19 x0|T23 x0|T27 x0|T31 x0"}),
]  # fmt: skip


@pytest.mark.parametrize(("instruction", "operand", "rows"), FIGURES, ids=lambda x: x if isinstance(x, str) else "")
def test_the_picture_is_the_figure_of_the_manual(run, instruction, operand, rows):
    lines = grid_of(run("layout", instruction, "--operand", operand).out).splitlines()
    drawn = {label.strip(): cells for label, _, cells in (x.rstrip("|").partition("|") for x in lines)}
    for label, cells in rows.items():
        assert [x.strip() for x in drawn[label].split("|")] == cells.split("|")


def test_the_head_says_matrix_chip_registers_and_source(run):
    out = run("layout", F16, "--operand", "a").out
    assert out.splitlines()[0] == "A of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    text = joined(out)
    layout = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "a", "sm_90")
    for part in ("matrix 16 x 16 (m x k) f16, row ",
                 "chip sm_90 (Hopper); the same on sm_80 sm_86 sm_89 sm_100 sm_103 sm_120 sm_121 ",
                 "a lane 8 elements, x0-7, in 4 registers of 32 bits, 2 a register, lowest bits first ",
                 f"known from {layout.source} ({layout.status}) ",
                 "a cell T0 x0-1: lane 0, elements 0 to 1, which share a register: 2 neighbouring columns ",
                 ):  # fmt: skip
        assert part in text
    assert "copies" not in text


def test_the_head_names_the_chips_where_elements_live_elsewhere(run):
    text = joined(run("layout", WMMA, "--operand", "d").out)
    assert (
        "sm_90 (Hopper); the same on sm_75 sm_80 sm_86 sm_89 sm_100 sm_103 sm_120 sm_121; other layouts on sm_70 sm_72 "
        in text
    )
    text = joined(run("layout", WMMA, "--operand", "d", "--arch", "Titan V").out)
    assert "sm_70 (Volta); the same on sm_72; other layouts on sm_75 sm_80 " in text


def test_copies_are_named_where_the_instruction_reads_the_first_ones(run):
    text = joined(run("layout", WMMA, "--operand", "A").out)
    assert "each element is held 2 times: x8-15 repeat x0-7; the instruction reads only x0-7" in text
    text = joined(run("layout", "wmma.mma.m32n8k16.f32.f32", "--operand", "B").out)
    assert "each element is held 4 times: x4-15 repeat x0-3; the instruction reads only x0-3" in text


def test_cells_name_all_lanes_that_hold_a_copy(run):
    out = run("layout", WMMA, "--operand", "A", "--arch", "v100").out
    assert "each element is held by 2 lanes, as A[0, 0] by T0 T8; all copies are read" in joined(out)
    assert " 0|T0,8 x0-1 " in out


def test_four_products_have_a_picture_each(run):
    out = run("layout", VOLTA, "--operand", "A", "--arch", "v100").out
    titles = re.findall(r"matrix \d: (?:T[\d-]+ ?)+", out)
    assert [x.strip() for x in titles] == [
        "matrix 0: T0-3 T16-19", "matrix 1: T4-7 T20-23", "matrix 2: T8-11 T24-27", "matrix 3: T12-15 T28-31",
    ]  # fmt: skip
    assert "4 x 8 x 4 (independent products x m x k)" in out


def test_wide_operands_have_a_cell_for_each_register(run):
    for operand, ruler, lines in (("A", ["0-31", "32-63", "64-95"], 17), ("B", ["0", "1", "2"], 9)):
        picture = grid_of(run("layout", B1, "--operand", operand).out).splitlines()
        assert picture[0].split()[:3] == ruler and len(picture) == lines


def test_a_lane_alone_is_a_list_of_its_elements(run):
    lines = run("layout", F16, "--operand", "A", "--lane", "5").out.splitlines()
    assert lines[0] == "Lane 5 of A of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    table = [x.split() for x in lines[lines.index("") + 1 :]]
    assert table[0] == ["LANE", "REGISTER", "BITS", "ELEMENT", "ROW", "COL"]
    assert table[1:4] == [["5", "0", "15:0", "x0", "1", "2"], ["5", "0", "31:16", "x1", "1", "3"],
                          ["5", "1", "15:0", "x2", "9", "2"]]  # fmt: skip
    assert len(table) == 9


def test_bits_of_a_lane_are_listed_by_register(run):
    out = run("layout", B1, "--operand", "A", "--lane", "5").out
    table = [x.split() for x in grid_of(out).splitlines()]
    assert table[1] == ["5", "0", "31:0", "x0-31", "1", "32-63"] and len(table) == 5
    assert grid_of(run("layout", B1, "--operand", "A", "--lane", "5", "--format", "table").out).count("\n") == 129


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_csv_lists_every_element_of_every_lane_of_the_layout(run, case: LayoutWords):
    status, out, err = run("layout", *case.words, "--format", "csv")
    assert (status, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    layout = case.layout
    assert len(rows) == layout.num_lanes * layout.num_elements
    expected = ["lane", "register", "bit_low", "bit_high", "element", "row", "col"]
    assert list(rows[0]) == [*expected, *(["matrix"] if layout.num_matrices > 1 else []), "read"]
    for i, row in enumerate(rows):
        lane, element = divmod(i, layout.num_elements)
        number = {key: int(row[key]) for key in expected}
        assert (number["lane"], number["element"]) == (lane, element)
        at = (number["lane"], number["register"])
        assert layout.element_at(*at, number["bit_low"]) == (number["row"], number["col"])
        assert layout.element_at(*at, number["bit_high"]) == (number["row"], number["col"])
        assert number["bit_high"] - number["bit_low"] + 1 == layout.element_bits
        assert number["register"] * layout.elements_per_register + number["bit_low"] // layout.element_bits == element
        assert row["read"] == ("true" if element < layout.read_elements else "false")
        assert int(row.get("matrix", 0)) == layout.matrix_of_lane.flat[lane]


def test_the_manuals_formula_gives_the_rows_of_the_csv(run):
    for row in csv.DictReader(io.StringIO(run("layout", F16, "--operand", "A", "--format", "csv").out)):
        lane, i = int(row["lane"]), int(row["element"])
        group, thread = lane >> 2, lane % 4
        assert int(row["row"]) == (group if i in (0, 1, 4, 5) else group + 8)
        assert int(row["col"]) == thread * 2 + (i & 1) + (8 if i >= 4 else 0)


def test_json_has_numbers_and_truth_values(run):
    records = json.loads(run("layout", WMMA, "--operand", "A", "--lane", "5", "--format", "json").out)
    assert records[1] == {"lane": 5, "register": 0, "bit_low": 16, "bit_high": 31, "element": 1,
                          "row": 1, "col": 3, "read": True}  # fmt: skip
    assert [x["read"] for x in records] == [True] * 8 + [False] * 8
    assert [x["matrix"] for x in json.loads(run("layout", VOLTA, "--operand", "D", "--format", "json").out)][::8] == [
        lane % 16 // 4 for lane in range(32)
    ]


@pytest.mark.parametrize("words", [[F16, "--operand", "A"], [WMMA, "--operand", "B"], [VOLTA, "--operand", "D"]])
def test_markdown_and_table_say_the_same(run, words):
    markdown = run("layout", *words, "--format", "markdown").out.splitlines()
    table = grid_of(run("layout", *words, "--format", "table").out).splitlines()
    assert markdown[1].replace("| --- ", "") == "|"
    assert [x.strip("| ").split(" | ") for x in markdown[2:]] == [x.split() for x in table[1:]]
    assert markdown[0].strip("| ").upper().split(" | ") == table[0].split()


def test_every_operand_of_every_instruction_on_every_chip_can_be_requested():
    for row in REPRESENTATIVES.values():
        for chip in row.archs:
            for operand in (x for x in OPERANDS if row.registers(x)):
                found = selected(row.mnemonic, operand, chip)
                assert found == (row, operand, ARCHS[chip], layout_for(row, operand, chip))


def test_without_a_chip_it_is_the_default_one_or_the_first_that_has_the_instruction():
    for row in INSTRUCTIONS.values():
        chip = selected(row.mnemonic, "d", None).chip.name
        assert chip == (DEFAULT_ARCH if DEFAULT_ARCH in row.archs else row.archs[0])


def test_operands_instructions_and_chips_do_not_mind_the_case(run):
    assert run("layout", F16.upper(), "--operand", "b", "--arch", "H100", "--format", "GRID") == run(
        "layout", F16, "--operand", "B"
    )


def test_the_picture_of_four_warps_shows_the_first_and_the_rule_for_the_others(run):
    out = run("layout", "wgmma.m64n256k16.f32.f16.f16", "--operand", "D").out
    assert "more rows     16 further down: the next warp, T + 32\n" in out
    assert "more columns  8 further on: the same lanes, x + 4\n" in out
    drawn = grid_of(out).splitlines()
    assert len(drawn) == 2 * 17 + 1 and drawn[0].split() == [str(i) for i in range(8)]
    packed = run("layout", "wgmma.m64n256k16.f16.f16.f16", "--operand", "D").out
    assert "more columns  8 further on: the same lanes, x + 4\n" in packed and "T0 x0-1" in packed
    assert "more columns" not in run("layout", "wgmma.m64n32k16.f32.f16.f16", "--operand", "D").out
    a = run("layout", "wgmma.m64n256k16.f32.f16.f16", "--operand", "A").out
    assert "64 x 16 (m x k) f16, read from registers" in a and "more columns" not in a


@pytest.mark.parametrize(("columns", "first"), [(120, " 0|T0 x0 |T0 x1 |T1 x0 "), (90, " 0|0:0 |0:1 |1:0 "),
                                                (60, " 0|0 |0 |1 |1 "), (50, " 0|T0 x0 |T0 x1 |T1 x0 ")])  # fmt: skip
def test_cells_shrink_before_the_matrix_is_split(screen, monkeypatch, columns, first):
    out = screen(columns)
    monkeypatch.setenv("NO_COLOR", "1")
    main(["layout", WMMA, "--operand", "C"])
    blocks = grid_of(out.text).split("\n\n")
    assert blocks[0].splitlines()[1].startswith(first) and (len(blocks) == 1) == (columns > 50)


def test_a_terminal_with_colours_shows_each_cell_on_the_colour_of_its_lane(screen):
    pytest.importorskip("rich")
    out = screen(80)
    main(["layout", F16, "--operand", "A"])
    assert len(re.findall(r"\x1b\[38;[\d;]+;48;[\d;]+mT\d+ x", out.text)) == 16 * 8
    layout = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "a", "sm_90")
    cells = [x for line in grid_of_layout(layout, 80).lines() for x in line if x.text.startswith("T")]
    assert len(cells) == 16 * 8
    for text, style in cells:
        assert style == f"{INK} on {lane_colour(int(CELL.fullmatch(text.strip())[1]))}"
    marked = [x for line in grid_of_layout(layout, 80, {(0, 9, 3)}).lines() for x in line if " on #" in x.style]
    assert marked == [("T5 x2-3*", f"bold {INK} on {lane_colour(5)}")]


@pytest.mark.parametrize(
    "words", [["--lane", "5", "--view", "matrix"], ["--register", "1"], ["--row", "9", "--col", "3"]]
)
def test_highlighted_elements_have_a_mark_that_needs_no_colour(run, words):
    out = run("layout", F16, "--operand", "A", *words).out
    given = dict(zip([x.removeprefix("--") for x in words[::2]], words[1::2], strict=True))
    layout = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "a", "sm_90")
    seen = read_grid(out, layout)
    assert (seen == 1).all()
    marked = re.findall(r"T(\d+) x(\d+)-(\d+)\*", grid_of(out))
    wanted = {
        (lane, i // 2 * 2) for i in range(8) for lane in range(32)
        if int(given.get("lane", lane)) == lane and int(given.get("register", i // 2)) == i // 2
        and ("row" not in given or layout.coords[i, lane].tolist() == [9, 3])
    }  # fmt: skip
    assert {(int(lane), int(i)) for lane, i, _ in marked} == wanted
    sentences = {"lane": "Lane 5 holds rows 1, 9, columns 2-3, 10-11 of A", "register": "Register a1 holds rows 8-15, "
                 "columns 0-7 of A", "row": "A[9, 3] is in lane 5, register a1, bits 16 to 31 (x3)"}  # fmt: skip
    assert f"marked * {sentences[next(iter(given))]} " in joined(out)


def test_a_large_matrix_is_drawn_around_the_highlighted_elements(run):
    out = run("layout", "wgmma.m64n256k16.f32.f16.f16", "--operand", "D", "--row", "40", "--col", "200").out
    picture = grid_of(out)
    assert "T64 x102*" in picture and picture.count("*") == 1 and picture.split()[:2] == ["192", "193"]


def test_registers_of_all_lanes_name_their_elements(run, screen, monkeypatch):
    out = run("layout", F16, "--operand", "B", "--view", "registers").out
    assert out.startswith("Registers of B of mma.sync.aligned.m16n8k16")
    lines = [x.split() for x in grid_of(out).splitlines()]
    assert lines[0] == ["LANE", "0", "1"] and lines[6] == ["T5", "2-3,1", "10-11,1"] and len(lines) == 33
    assert "*" not in grid_of(out)
    marked = run("layout", F16, "--operand", "B", "--view", "registers", "--row", "10", "--col", "1").out
    assert re.findall(r"T\d+ .*\*", marked) == ["T5    2-3,1  10-11,1*"]
    wide = run(
        "layout", "wgmma.m64n256k16.f32.f16.f16", "--operand", "D", "--view", "registers", "--register", "40"
    ).out
    assert "T0 " in wide and "T32 " not in wide and wide.count("*\n") + wide.count("* ") >= 32
    for columns in (40, 80):
        out = screen(columns)
        monkeypatch.setenv("NO_COLOR", "1")
        main(["layout", "m16n8k256.s32.b1.b1.s32.xor.popc", "--operand", "A", "--view", "registers"])
        assert max(map(len, out.text.splitlines())) <= columns and "T31 " in out.text


def test_only_highlighted_registers_are_bold_and_coloured():
    layout = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "a", "sm_90")
    window = RegisterWindow.of(layout, None)
    held = (layout.coords == (9, 3)).all(axis=-1)
    cells = [x for line in register_lines(layout, window, None, held) for x in line if re.search(r"\d,\d", x.text)]
    assert len(cells) == 32 * 4
    assert [x for x in cells if x.style] == [("9,2-3*", f"bold {INK} on {lane_colour(5)}")]
    plain = [list(line) for line in register_lines(layout, window, None)][1:]
    for lane, line in enumerate(plain):
        styles = {x.style for x in line if re.search(r"\d,\d", x.text)}
        assert styles == {f"{INK} on {lane_colour(lane)}"}


def test_registers_of_a_lane_are_a_list_of_the_highlighted_elements(run):
    whole = run("layout", F16, "--operand", "A", "--lane", "5").out
    assert run("layout", F16, "--operand", "A", "--lane", "5", "--view", "registers").out == whole
    lines = grid_of(run("layout", F16, "--operand", "A", "--lane", "5", "--register", "1").out).splitlines()
    assert [x.split()[3] for x in lines[1:]] == ["x2", "x3"]
    lines = grid_of(run("layout", F16, "--operand", "A", "--lane", "5", "--row", "9", "--col", "3").out).splitlines()
    assert [x.split()[3] for x in lines[1:]] == ["x3"]


def test_pictures_equal_the_pictures_of_the_library(run, tmp_path):
    a = we.instruction("m16n8k32.s32.s8.s8.s32").a
    words = ["layout", "m16n8k32.s32.s8.s8.s32", "--operand", "A"]
    element = [*words, "--row", "9", "--col", "17"]
    assert run(*element, "--format", "svg").out == str(draw_matrix(a, element=(9, 17)))
    assert run(*words, "--format", "svg", "--view", "registers", "--lane", "4").out == str(draw_registers(a, lane=4))
    one = run(*element, "--format", "html", "--view", "matrix").out
    assert one == draw_matrix(a, element=(9, 17)).html()
    both = run(*element, "--format", "HTML").out
    assert str(draw_matrix(a, element=(9, 17))) in both and str(draw_registers(a, element=(9, 17))) in both
    assert both.startswith("<!doctype html>") and "<title>A[9, 17] is in lane 4" in both


def test_functions_equal_the_functions_of_the_library(run):
    formulas = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "c", "sm_90").formulas
    assert run("layout", F16, "--operand", "C", "--format", "c").out == formulas.c("C")
    text = run("layout", F16, "--operand", "C", "--format", "python").out
    assert text == formulas.python("C")
    names: dict = {}
    exec(text, names)
    assert (names["C_lane"](9, 3), names["C_index"](9, 3)) == (5, 3)


@pytest.mark.parametrize("output", ["grid", "table", "csv", "json", "markdown", "svg", "html", "c", "python"])
def test_a_file_holds_what_standard_output_would(run, tmp_path, screen, output):
    words = ["layout", F16, "--operand", "B", "--format", output]
    path = tmp_path / "b"
    expected = run(*words).out
    assert run(*words, "-o", "-").out == expected
    assert run(*words, "-o", path) == (0, "", "") and path.read_text(encoding="utf-8") == expected
    screen(60)
    main([*words, "--output", str(path)])  # the terminal's width and colours are not the file's
    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(("words", "message"), [
    (["--view", "registers", "--format", "csv"], "--view registers applies only to drawings; add --format grid, svg "
                                                 "or"),
    (["--view", "columns"], "--view 'columns' is not one of matrix, registers"),
    (["--register", "1", "--format", "json"], "--register applies only to drawings.*wmma-emu what lists a register's"),
    (["--row", "1", "--col", "1", "--format", "table"], "--row and --col highlight an element of a drawing; "
                                                        ".*wmma-emu where lists"),
    (["--row", "1"], "--row 1 is only half of an element's position; add --col"),
    (["--col", "1"], "--col 1 is only half of an element's position; add --row"),
    (["--lane", "1", "--format", "c"], "--lane: functions in c cover all lanes; omit it"),
    (["--view", "matrix", "--format", "python"], "--view matrix applies only to drawings"),
    (["--row", "16", "--col", "0"], "--row 16: A has 16 rows; legal values are 0 to 15"),
    (["--register", "4"], "--register 4: a lane holds A in 4 registers; legal values are 0 to 3"),
    (["--lane", "0", "--row", "9", "--col", "3"], "have no element in common; A.9, 3. is in lane 5"),
    (["--format", "pdf"], "--format 'pdf' is not one of grid, svg, html, png, tex, tikz, table, csv, json, markdown, "
     "cute, c, python"),
    (["--grid", "-o", "a.svg"], "a.svg: the output has format grid; add --format svg, or give the file another name"),
    (["--format", "html", "-o", "a.py"], "a.py: the output has format html; add --format python"),
    (["-o", "nowhere/a.txt"], "the directory .* does not exist"),
    (["-o", ""], "is not a file name"),
])  # fmt: skip
def test_options_that_do_not_go_together_are_errors_that_say_what_does(run, here, words, message):
    status, out, err = run("layout", F16, "--operand", "A", *words)
    assert (status, out) == (2, "") and err.startswith("wmma-emu: error: ") and err.count("\n") == 1
    assert re.search(message, err)
    assert sorted(x.name for x in here.iterdir()) == ["a.npy", "b.npy"]
