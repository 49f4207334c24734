# SPDX-License-Identifier: MIT
"""The table of instructions against what the assembler accepts, line by line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.representatives import FAMILIES
from wmma_emu.formats import FORMATS
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, OPERANDS, instructions_of, lookup
from wmma_emu.instructions.table import GROUPS, TABLE

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


def test_every_entry_has_a_unique_name_and_a_family():
    rows = list(INSTRUCTIONS.values())
    assert len(rows) == len(set(rows)) == sum(len(instructions_of(family=family)) for family in FAMILIES)
    assert all(name == row.mnemonic == str(row) for name, row in INSTRUCTIONS.items())


def test_short_mnemonics_are_distinct_too():
    assert len({row.short_mnemonic for row in INSTRUCTIONS.values()}) == len(INSTRUCTIONS)


def test_no_two_groups_give_the_same_instruction():
    count = sum(len(g.shapes.split()) * len(g.types.split()) * len(g.modifiers) * len(g.layouts) for g in TABLE)
    assert count == len(INSTRUCTIONS)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_hangs_together(family: str):
    for row in instructions_of(family=family):
        assert all(row.format(operand) is FORMATS[getattr(row, operand)] for operand in OPERANDS), row
        assert row.source and row.status == "documented", row
        assert row.archs and list(row.archs) == [name for name in ARCHS if name in row.archs], row
        if row.is_warpgroup:
            assert row.archs == ("sm_90",), "Hopper alone has wgmma"
        else:
            assert row.archs[-1] == list(ARCHS)[-1], "no chip has withdrawn any other instruction yet"
        assert (row.is_warpgroup, row.warps) == (("wgmma" in family), 4 if "wgmma" in family else 1), row
        assert (row.is_sparse, row.terms) == ((True, row.k // 2) if "sp" in family else (False, row.k)), row
        assert row.matrix_shape("a") == (row.m, row.terms), row
        assert row.matrix_shape("b") == (row.k, row.n), row
        assert row.matrix_shape("c") == row.matrix_shape("d") == (row.m, row.n), row


@pytest.mark.parametrize("family", FAMILIES)
def test_registers_hold_a_warps_share_of_the_matrix(family: str):
    """Count every element once, in its container, except f16 `wmma` operands, which are sixteen, and `wgmma`'s B."""
    for row in instructions_of(family=family):
        for operand in OPERANDS:
            rows, columns = row.matrix_shape(operand)
            bits = row.container(operand).bits
            held = row.registers(operand) * max(bits, 32) // bits
            if row.family == "wmma.mma" and row.a == "f16" and operand in "ab":
                assert held == 16, row
                assert held * 32 % (rows * columns) == 0, row
            elif row.is_warpgroup and operand == "b":
                assert held == 0, row
            else:
                assert held * 32 * row.warps == rows * columns * row.products, (row, operand)


def test_wgmma_has_every_eighth_n_or_for_integers_every_sixteenth_from_32_on():
    for family in ("wgmma", "wgmma.sp"):
        for types in {(row.types, row.k, row.modifiers) for row in instructions_of(family=family)}:
            rows = [row for row in instructions_of(family=family) if (row.types, row.k, row.modifiers) == types]
            eighths = list(range(8, 257, 8))
            expected = eighths if rows[0].format("a").is_float else [n for n in eighths if n <= 32 or n % 16 == 0]
            assert [row.n for row in rows] == expected


def test_four_products_only_in_the_f16_m8n8k4():
    several = {row.short_mnemonic.split(".")[0] + "." + row.a for row in INSTRUCTIONS.values() if row.products == 4}
    assert several == {"m8n8k4.f16"}


def test_the_types_follow_in_the_promised_order():
    def order(family: str) -> list[str]:
        return list(dict.fromkeys(row.a for row in INSTRUCTIONS.values() if row.family == family))

    narrow = ["e3m2", "e2m3", "e2m1"]
    assert order("mma.sync") == [
        "f16", "bf16", "tf32", "e4m3", "e5m2", *narrow, "f64", "s8", "u8", "s4", "u4", "b1",
    ]  # fmt: skip
    assert order("wmma.mma") == ["f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1"]
    sparse = ["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "s4", "u4"]
    assert order("mma.sp") == order("mma.sp::ordered_metadata")[: len(sparse)] == sparse
    assert order("mma.sp::ordered_metadata")[len(sparse) :] == narrow
    assert order("wgmma") == ["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"]
    assert order("wgmma.sp") == ["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("mma.sync.m16n8k16.f32.f16.f16.f32", (7, 8)),
        ("wmma.mma.m16n16k16.f32.f32", (7, 1)),
        ("mma.sp.m16n8k32.f32.f16.f16.f32", (7, 8)),
        ("mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32", (8, 5)),
        ("wgmma.m64n8k16.f32.f16.f16", (8, 0)),
        ("wgmma.sp.m64n8k32.f32.f16.f16", (8, 2)),
    ],
)
def test_each_family_has_the_version_of_ptx_under_which_ptxas_13_0_takes_it(name, version):
    row = lookup(name)
    assert GROUPS[row.mnemonic].ptx_version(row) == version
