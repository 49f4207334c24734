# SPDX-License-Identifier: MIT
"""The table of PTX opcodes, its page and the steps of the emulator say the same."""

import re
from pathlib import Path

import pytest

from tools.collect_ptx_opcodes import TypedOpcode, forms_of, listed_with, read_table, write_table
from tools.ptx_opcode_table import PAGE, all_refusals, page, refusals, step_of, text_of
from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.steps.not_modelled import reason_not_modelled

COMPILED = Path(__file__).parents[2] / "examples/ptx/compiled"
CHIPS = {"sm_80", "sm_89", "sm_90", "sm_100"}


@pytest.fixture(scope="module")
def rows():
    return read_table()


@pytest.fixture(scope="module")
def refused(rows):
    return all_refusals(rows)


def test_every_opcode_that_kernels_for_sm_80_and_sm_89_use_has_a_step(rows, refused):
    used = {x.opcode for x in rows.values() if {"sm_80", "sm_89"} & set(x.chips.split())}
    assert used >= {
        "atom.global.add.f32", "bar.sync", "cp.async.cg.shared.global", "fma.rm.f32", "ld.global.v4.u32",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "redux.sync.add.s32", "shfl.sync.up.b32",
        "vote.sync.any.pred", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    }  # fmt: skip
    assert {x: refused[x] for x in used & set(refused)} == {}


def test_exactly_the_opcodes_without_a_step_have_a_reason_on_the_page(rows, refused):
    assert set(refused) == {x for x in rows if reason_not_modelled(x)}


def test_the_page_equals_the_page_of_the_table_and_the_steps(rows):
    assert PAGE.read_text(encoding="utf-8") == page(rows), "write it again: python -m tools.ptx_opcode_table"


def test_every_modelled_opcode_is_in_one_section_of_the_page(rows, refused):
    sections = PAGE.read_text(encoding="utf-8").partition("\n## Modelled")[2]
    shown = re.findall(r"^\| `([^`]+)` \|", sections, re.MULTILINE)
    assert sorted(shown) == sorted(set(rows) - set(refused))
    assert set(re.findall(r"^### (.*)", sections, re.MULTILINE)) >= {
        "Loads, stores and fences", "Asynchronous copies", "Atomic operations", "Conversions", "mma and mma.sp", "wmma",
        "wgmma", "ldmatrix, stmatrix, movmatrix", "Shuffles", "Branches, calls, barriers of a block, exits",
    }  # fmt: skip


def test_every_step_that_the_page_names_is_in_a_file(rows, refused):
    package = PAGE.parents[2] / "wmma_emu/ptx"
    for file in {re.match(r"`([^`]+)`", step_of(x))[1] for x in rows if x not in refused}:
        assert (package / file).exists(), file


def test_the_opcodes_of_the_compiled_examples_are_in_the_table(rows):
    # The mnemonics at the beginning of lines; collect_ptx_opcodes parses the files in full.
    for path in COMPILED.glob("*.ptx"):
        text = path.read_text(encoding="utf-8")
        bodies = re.sub(r"//.*", "", text)
        found = set(re.findall(r"^\s*(?:@!?%\w+\s+)?([a-z]\w*(?:\.[\w:]+)+)\s+[%{\[$\w]", bodies, re.MULTILINE))
        assert found
        assert found - set(rows) == set(), f"python -m tools.collect_ptx_opcodes --writer ... {path.name}"


def test_the_table_is_sorted_and_names_chips_and_operands(rows):
    assert list(rows) == sorted(rows)
    for row in rows.values():
        assert row.chips and set(row.chips.split()) <= CHIPS
        assert row.files or row.writers, row.opcode


def test_a_row_becomes_a_line_with_registers_of_its_kinds():
    operands = "{8 %f32}, {2 %b32}, @shared, !%pred"
    entry = TypedOpcode("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", 1, "sm_80", "", operands)
    text, places = text_of([entry], "sm_80")
    ((line, opcode),) = places.items()
    registers = ", ".join(f"%f32_{i}" for i in range(8))
    assert opcode == entry.opcode
    assert text.splitlines()[line - 1] == f"{opcode} {{{registers}}}, {{%b32_8, %b32_9}}, a_shared, !%pred_10;"


def test_an_opcode_that_does_not_exist_is_refused():
    entry = TypedOpcode("add.f128", 0, "sm_80", "", "%b64, %b64, %b64")
    assert "add.f128 does not exist or is not modelled" in refusals([entry], "sm_80")["add.f128"]


def test_illegal_operands_are_syntax_errors():
    with pytest.raises(PtxSyntaxError, match="line"):
        refusals([TypedOpcode("add.s32", 0, "sm_80", "", "%b32, %b32 %b32")], "sm_80")


def test_the_forms_of_a_text_name_no_registers():
    text = """.version 8.0 .target sm_80 .address_size 64
    .visible .entry f(.param .u64 p) {
        .reg .b32 %r<9>; .reg .pred %p<2>; .reg .b64 %d<2>; .reg .f32 %f<2>;
        ld.param.u64 %d1, [p];
    again:
        ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1+16];
        add.f32 %f1, %f1, 0f3F800000;
        setp.lt.s32 %p1|%p0, %r1, %tid.x;
        @!%p1 bra again;
        ret;
    }"""
    assert forms_of(text) == {
        "ld.param.u64": "%b64, [@param]",
        "ld.global.v4.u32": "{4 %b32}, [%b64+16]",
        "add.f32": "%f32, %f32, 0f3F800000",
        "setp.lt.s32": "%pred|%pred, %b32, %tid.x",
        "bra": "@label",
        "ret": "",
    }


def test_a_table_that_is_written_is_read_again(tmp_path, rows):
    write_table(reversed(rows.values()), tmp_path / "table.csv")
    assert read_table(tmp_path / "table.csv") == rows


def test_chips_are_listed_in_their_order():
    assert listed_with("sm_80 sm_100", "sm_90") == "sm_80 sm_90 sm_100"
    assert listed_with("Triton 3.9", "nvcc 13.0", "; ") == "nvcc 13.0; Triton 3.9"
