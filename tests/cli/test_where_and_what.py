# SPDX-License-Identifier: MIT
import csv
import io
import json
import random

import pytest

from .layouts import CASES, LayoutWords

F16 = "m16n8k16.f32.f16.f16.f32"
VOLTA = "m8n8k4.f32.f16.f16.f32"
WMMA = "wmma.mma.m16n16k16.f32.f32"


def table_of(out: str) -> list[list[str]]:
    return [x.split() for x in out.split("\n\n", 1)[1].splitlines()]


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_where_lists_the_positions_of_the_layout_and_what_is_its_inverse(run, case: LayoutWords):
    layout, draw = case.layout, random.Random(str(case))
    corners = [(0, 0), (layout.rows - 1, layout.cols - 1)]
    for row, col in [*corners, *((draw.randrange(layout.rows), draw.randrange(layout.cols)) for _ in range(4))]:
        command = ("where", *case.words, "--row", row, "--col", col, "--format", "json")
        matrices = range(layout.num_matrices)
        places = [(*x, i) for i in matrices for x in layout.locate(row, col, i)]
        found = json.loads(run(*command).out)
        assert [(x["lane"], x["register"], x["bit_low"], x["element"], x.get("matrix", 0)) for x in found] == places
        assert all((x["row"], x["col"]) == (row, col) for x in found)
        assert [x["read"] for x in found] == [x[3] < layout.read_elements for x in places]
        there = draw.choice(found)
        place = ("--lane", there["lane"], "--register", there["register"])
        assert there in json.loads(run("what", *case.words, *place, "--format", "json").out)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_a_registers_part_of_the_layout(run, case: LayoutWords):
    whole = list(csv.DictReader(io.StringIO(run("layout", *case.words, "--format", "csv").out)))
    draw = random.Random(str(case))
    lanes = case.layout.num_lanes
    for lane, register in ((0, 0), (lanes - 1, case.layout.num_registers - 1),
                           (draw.randrange(lanes), draw.randrange(case.layout.num_registers))):  # fmt: skip
        words = ("--lane", lane, "--register", register, "--format", "csv")
        part = list(csv.DictReader(io.StringIO(run("what", *case.words, *words).out)))
        assert len(part) == case.layout.elements_per_register
        assert part == [x for x in whole if (int(x["lane"]), int(x["register"])) == (lane, register)]


def test_where_names_lane_register_bits_and_element(run):
    out = run("where", F16, "--operand", "A", "--row", "9", "--col", "3").out
    assert out.startswith("A[9, 3] of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n")
    assert table_of(out) == [["LANE", "REGISTER", "BITS", "ELEMENT", "ROW", "COL"], ["5", "1", "31:16", "x3", "9", "3"]]


def test_where_says_which_copies_are_read(run):
    out = run("where", WMMA, "--operand", "A", "--row", "9", "--col", "3").out
    assert table_of(out)[0][-1] == "READ"
    assert [(x[0], x[3], x[-1]) for x in table_of(out)[1:]] == [("5", "x3", "yes"), ("5", "x11", "no")]
    out = run("where", WMMA, "--operand", "A", "--row", "9", "--col", "3", "--arch", "v100").out
    assert [(x[0], x[-1]) for x in table_of(out)[1:]] == [("5", "yes"), ("13", "yes")]


def test_where_finds_an_element_of_each_product_or_of_one(run):
    command = ("where", VOLTA, "--operand", "D", "--row", "7", "--col", "5")
    assert [(x[0], x[-1]) for x in table_of(run(*command).out)[1:]] == [
        ("17", "0"),
        ("21", "1"),
        ("25", "2"),
        ("29", "3"),
    ]
    assert table_of(run(*command, "--matrix", "2").out)[1:] == [["25", "7", "31:0", "x7", "7", "5", "2"]]


def test_what_lists_the_elements_of_a_register_from_the_lowest_bits_up(run):
    out = run("what", "m16n8k64.s32.s4.s4.s32", "--operand", "B", "--lane", "5", "--register", "1").out
    assert out.startswith("Register 1 of lane 5 of B of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32\n")
    assert [x[2:] for x in table_of(out)[1:]] == [
        [f"{4 * i + 3}:{4 * i}", f"x{8 + i}", str(40 + i), "1"] for i in range(8)
    ]


def test_one_bit_and_sixty_four_bits_are_shown_as_such(run):
    b1 = run("what", "m8n8k128.s32.b1.b1.s32.xor.popc", "--operand", "A", "--lane", "0", "--register", "0").out
    assert [x[2] for x in table_of(b1)[1:]] == [str(i) for i in range(32)]
    f64 = run("where", "m8n8k4.f64.f64.f64.f64", "--operand", "A", "--row", "1", "--col", "2").out
    assert table_of(f64)[1] == ["6", "0", "63:0", "x0", "1", "2"] and "in 1 register of 64 bits" in f64


def test_markdown_has_the_rows_of_the_table(run):
    command = ("where", WMMA, "--operand", "A", "--row", "9", "--col", "3")
    lines = run(*command, "--format", "markdown").out.splitlines()
    assert [x.strip("| ").split(" | ") for x in lines[2:]] == table_of(run(*command).out)[1:]


SPARSE = "mma.sp.m16n8k32.f32.f16.f16.f32"
WGMMA = "wgmma.m64n64k16.f32.f16.f16"


def test_a_packed_a_is_half_as_wide_as_k(run):
    out = run("where", SPARSE, "--operand", "A", "--row", "9", "--col", "15").out
    assert "16 x 16 (m x k/2, packed) f16, row" in out
    assert table_of(out)[1] == ["7", "3", "31:16", "x7", "9", "15"]
    assert "A has 16 columns" in run("where", SPARSE, "--operand", "A", "--row", "9", "--col", "16").err


def test_lanes_of_wgmma_are_the_threads_of_four_warps(run):
    out = run("where", WGMMA, "--operand", "D", "--row", "37", "--col", "11").out
    assert table_of(out)[1] == ["85", "5", "31:0", "x5", "37", "11"]
    out = run("what", WGMMA, "--operand", "A", "--lane", "127", "--register", "3").out
    assert [x[-2:] for x in table_of(out)[1:]] == [["63", "14"], ["63", "15"]]


@pytest.mark.parametrize("command", [("where", "--row", "0", "--col", "0"), ("what", "--lane", "0", "--register", "0"),
                                     ("layout",)], ids=lambda x: x[0])  # fmt: skip
def test_b_of_wgmma_is_in_no_register(run, command):
    outcome = run(command[0], WGMMA, "--operand", "B", *command[1:])
    assert (outcome.status, outcome.out) == (2, "")
    assert "has no operand b in registers: it reads B from shared memory" in outcome.err


def test_a_warpgroup_has_no_lane_128(run):
    assert (
        "a warpgroup has 128 lanes, 32 in each warp; legal values are 0 to 127"
        in run("what", WGMMA, "--operand", "D", "--lane", "128", "--register", "0").err
    )
