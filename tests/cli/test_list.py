# SPDX-License-Identifier: MIT
import csv
import io
import json
import re

import pytest

from wmma_emu.instructions import ARCHS, INSTRUCTIONS, instructions_of


def in_short(rows) -> list[str]:
    """Return names in the form of the table: N replaces the n of several `wgmma`."""
    rows = list(rows)
    names = [re.sub(r"(wgmma.*\.m64)n\d+", r"\1nN", row.short_mnemonic) for row in rows]
    return list(dict.fromkeys(names))


def test_list_without_filters_has_a_line_for_every_instruction_but_one_for_all_n_of_wgmma(run):
    status, out, err = run("list")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["INSTRUCTION", "SHAPE", "TYPES", "LAYOUTS", "REGISTERS", "CHIPS"]
    expected = in_short(INSTRUCTIONS.values())
    assert [x.split()[0] for x in lines[1 : 1 + len(expected)]] == expected
    assert f"{len(INSTRUCTIONS)} instructions." in lines


def test_a_line_names_shape_types_layouts_registers_and_chips(run):
    out = run("list", "--type", "tf32", "--shape", "m16n8k8", "--family", "mma.sync").out
    assert out.splitlines()[1].split() == [
        "m16n8k8.f32.tf32.tf32.f32", "m16n8k8", "f32.tf32.tf32.f32", "row.col", "4", "2", "4", "4", "sm_80+",
    ]  # fmt: skip
    assert out.splitlines()[3:] == [
        "1 instruction.",
        "Registers are counted per lane, for A, B, C and D. Types are in the order D, A, B, C, also in names.",
        "sm_80+ is sm_80 and every later chip.",
    ]


def test_an_arch_adds_how_well_the_arithmetic_is_known(run):
    out = run("list", "--type", "tf32", "--shape", "m16n8k8", "--arch", "RTX 5090", "--family", "mma.sync").out
    assert out.splitlines()[1].split()[-1] == "literature"
    assert "1 instruction on sm_120 (Blackwell, GB20x)." in out


def test_every_format_shows_the_block_scales(run):
    asked = ("list", "--type", "e2m1", "--shape", "m16n8k64", "--family", "mma.sync")
    lines = run(*asked).out.splitlines()
    assert lines[1].split()[2] == "f32.e2m1.e2m1.f32.ue8m0" and lines[1].split()[-1] == "sm_120+"
    assert "The fifth type is the format of the block scales, which take one more register each for A and B." in lines
    found = json.loads(run(*asked, "--format", "json").out)
    assert [(x["scale"], x["scale_vec"]) for x in found] == [("ue8m0", 2), ("ue8m0", 2), ("ue4m3", 4), ("ue8m0", 4)]


@pytest.mark.parametrize("wanted", ["f16", "bf16", "e4m3", "e5m2", "s8", "u4", "b1"])
def test_a_type_is_the_format_of_a_or_b(run, wanted):
    rows = json.loads(run("list", "--type", wanted, "--format", "json").out)
    names = [row.mnemonic for row in INSTRUCTIONS.values() if wanted in (row.a, row.b)]
    assert [row["mnemonic"] for row in rows] == names


@pytest.mark.parametrize("wanted", ["f32", "s32"])
def test_a_type_that_is_never_multiplied_selects_by_c_or_d(run, wanted):
    rows = json.loads(run("list", "--type", wanted, "--format", "json").out)
    names = [row.mnemonic for row in INSTRUCTIONS.values() if wanted in (row.c, row.d)]
    assert [row["mnemonic"] for row in rows] == names


def test_filters_combine_and_do_not_mind_the_case(run):
    out = run("list", "--type", "S8", "--family", "WMMA.mma", "--shape", "M8N32K16", "--arch", "Xavier",
              "--format", "JSON").out  # fmt: skip
    rows = instructions_of("sm_72", family="wmma.mma", shape="m8n32k16", a="s8")
    assert [x["mnemonic"] for x in json.loads(out)] == [row.mnemonic for row in rows]
    assert rows


def test_csv_has_every_column_and_every_instruction(run):
    rows = list(csv.DictReader(io.StringIO(run("list", "--format", "csv").out)))
    assert [x["mnemonic"] for x in rows] == list(INSTRUCTIONS)
    row, has = rows[0], next(iter(INSTRUCTIONS.values()))
    assert (row["m"], row["a_registers"], row["archs"]) == ("8", str(has.num_registers[0]), " ".join(has.archs))
    assert all(x["source"] and x["status"] for x in rows)


def test_csv_of_a_chip_says_status_and_lowerings(run):
    out = run("list", "--format", "csv", "--arch", "h200", "--type", "e4m3").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {x["arithmetic"] for x in rows} == {"measured"}
    assert {x["lowerings"] for x in rows if "wgmma" not in x["family"]} == {"ptxas-12.8 ptxas-12.4"}
    assert {x["lowerings"] for x in rows if "wgmma" in x["family"]} == {"native"}


def test_json_keeps_numbers_and_lists(run):
    row = json.loads(run("list", "--format", "json", "--type", "tf32", "--shape", "m16n8k8").out)[0]
    assert (row["m"], row["n"], row["k"], row["d_registers"]) == (16, 8, 8, 4)
    assert row["archs"] == ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121"]
    assert (row["modifiers"], row["a_layout"], row["b_layout"]) == ([], "row", "col")


def test_markdown_is_a_table_of_equal_rows(run):
    lines = run("list", "--format", "markdown", "--type", "bf16").out.splitlines()
    assert lines[0].startswith("| instruction |") and lines[1].replace("| --- ", "") == "|"
    assert {x.count("|") for x in lines} == {7}
    assert len(lines) == 2 + len(in_short(row for row in INSTRUCTIONS.values() if row.a == "bf16"))


@pytest.mark.parametrize(("form", "empty"), [
    ("table", "no instruction on sm_70 (Volta) matches all filters; remove one\n"),
    ("json", "[]\n"),
])  # fmt: skip
def test_filters_that_leave_nothing_say_so(run, form, empty):
    assert run("list", "--type", "bf16", "--arch", "v100", "--format", form) == (0, empty, "")


def test_csv_of_nothing_still_has_its_headings(run):
    out = run("list", "--type", "bf16", "--arch", "v100", "--format", "csv").out
    assert out.startswith("mnemonic,") and out.count("\n") == 1
    assert out.strip().split(",") == run("list", "--arch", "v100", "--format", "csv").out.split("\n")[0].split(",")


def test_every_chip_can_be_listed_in_every_format(run):
    for chip in ARCHS:
        for form in ("table", "csv", "json", "markdown"):
            outcome = run("list", "--arch", chip, "--format", form)
            assert (outcome.status, outcome.err) == (0, "") and "not modelled" not in outcome.out


def test_lines_of_wgmma_show_how_registers_grow_with_n_and_which_n_there_are(run):
    lines = run("list", "--family", "wgmma").out.splitlines()
    assert lines[1].split() == [
        "wgmma.m64nNk16.f32.f16.f16",
        "m64nNk16",
        "f32.f16.f16",
        "-",
        "4",
        "0",
        "N/2",
        "N/2",
        "sm_90",
    ]
    assert lines[2].split() == [
        "wgmma.m64nNk16.f16.f16.f16",
        "m64nNk16",
        "f16.f16.f16",
        "-",
        "4",
        "0",
        "N/4",
        "N/4",
        "sm_90",
    ]
    text = " ".join(lines)
    assert "546 instructions." in text
    assert "N, where A is f16 bf16 tf32 e4m3 e5m2, is 8 to 256 in steps of 8; " in text
    assert "N, where A is s8 u8 b1, is 8 to 32 in steps of 8, 48 to 256 in steps of 16; " in text
    for row in INSTRUCTIONS.values():
        if row.is_warpgroup:
            assert row.registers("c") == row.registers("d") == row.n // (4 if row.d == "f16" else 2)


def test_a_shape_of_wgmma_is_one_n_or_all(run):
    one = run("list", "--shape", "m64n24k256").out.splitlines()
    assert one[1].split()[:2] == ["wgmma.m64n24k256.s32.b1.b1.and.popc", "m64n24k256"]
    assert one[1].split()[-5:] == ["4", "0", "12", "12", "sm_90"] and "1 instruction." in one
    rows = json.loads(run("list", "--shape", "M64nNk256", "--format", "json").out)
    assert [x["mnemonic"] for x in rows] == [x for x, row in INSTRUCTIONS.items() if row.is_warpgroup and row.k == 256]


def test_a_shape_that_does_not_exist_is_told_all_in_few_words(run):
    err = run("list", "--shape", "m64n9k16").err
    assert "m16n16k16, " in err and "m64nNk16, m64nNk8, m64nNk32, m64nNk256, m64nNk64" in err
    assert "m64n8k16, " not in err and len(err) < 500
