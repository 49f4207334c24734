# SPDX-License-Identifier: MIT
"""The table of instructions against what the assembler accepts, line by line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from wmma_emu.formats import FORMATS
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, OPERANDS, Instruction
from wmma_emu.instructions.table import _GROUPS

DATA = Path(__file__).parent / "data"


def lines(name: str) -> Iterator[list[str]]:
    for line in (DATA / name).read_text().splitlines():
        if not line.startswith("#"):
            yield line.split()


def test_the_table_is_exactly_what_the_assembler_accepts():
    accepted = {
        mnemonic: (tuple(chips.split(",")), tuple(int(x) for x in registers.split(",")))
        for mnemonic, chips, registers in lines("accepted.txt")
    }
    assert {name: (row.archs, row.num_registers) for name, row in INSTRUCTIONS.items()} == accepted


def test_there_are_256_rows_under_256_names():
    rows = list(INSTRUCTIONS.values())
    assert len(rows) == len(set(rows)) == 256
    assert sum(row.family == "mma.sync" for row in rows) == 118
    assert all(name == row.mnemonic == str(row) for name, row in INSTRUCTIONS.items())


def test_short_mnemonics_are_distinct_too():
    assert len({row.short_mnemonic for row in INSTRUCTIONS.values()}) == len(INSTRUCTIONS)


def test_no_two_groups_give_the_same_instruction():
    count = sum(len(g.shapes.split()) * len(g.types.split()) * len(g.modifiers) * len(g.layouts) for g in _GROUPS)
    assert count == len(INSTRUCTIONS)


@pytest.mark.parametrize("row", INSTRUCTIONS.values(), ids=str)
def test_a_row_hangs_together(row: Instruction):
    assert all(row.format(operand) is FORMATS[getattr(row, operand)] for operand in OPERANDS)
    assert row.source and row.status == "documented"
    assert row.archs and list(row.archs) == [name for name in ARCHS if name in row.archs]
    assert row.archs[-1] == "sm_120", "no chip has withdrawn an instruction yet"
    assert row.matrix_shape("a") == (row.m, row.k)
    assert row.matrix_shape("b") == (row.k, row.n)
    assert row.matrix_shape("c") == row.matrix_shape("d") == (row.m, row.n)


@pytest.mark.parametrize("row", INSTRUCTIONS.values(), ids=str)
def test_registers_hold_a_warps_share_of_the_matrix(row: Instruction):
    """Every element once, but for f16 `wmma` operands, which always are sixteen elements."""
    for operand in OPERANDS:
        rows, columns = row.matrix_shape(operand)
        bits = row.format(operand).bits
        held = row.registers(operand) * max(bits, 32) // bits
        if row.family == "wmma.mma" and row.a == "f16" and operand in "ab":
            assert held == 16
            assert held * 32 % (rows * columns) == 0
        else:
            assert held * 32 == rows * columns * row.products


def test_four_products_only_in_the_f16_m8n8k4():
    several = {row.short_mnemonic.split(".")[0] + "." + row.a for row in INSTRUCTIONS.values() if row.products == 4}
    assert several == {"m8n8k4.f16"}


def test_the_types_follow_in_the_promised_order():
    def order(family: str) -> list[str]:
        return list(dict.fromkeys(row.a for row in INSTRUCTIONS.values() if row.family == family))

    assert order("mma.sync") == ["f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "s8", "u8", "s4", "u4", "b1"]
    assert order("wmma.mma") == ["f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1"]
