# SPDX-License-Identifier: MIT
"""How rules of thumb read: the formulas that people know, notes on copies, sources, names."""

import numpy as np
import pytest

import wmma_emu
from wmma_emu.errors import WmmaEmuError
from wmma_emu.instructions import lookup
from wmma_emu.layouts import fragment_layout, layout_for
from wmma_emu.layouts.formula_text import Formula, bit_table
from wmma_emu.layouts.formulas import Replica
from wmma_emu.layouts.linear import fit

MMA_D = {
    "row": "lane / 4 + index / 2 * 8",
    "col": "lane % 4 * 2 + index % 2",
    "lane": "row % 8 * 4 + col / 2",
    "index": "row / 8 * 2 + col % 2",
    "register": "index",
    "bit": "0",
}
FAMOUS = {
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "d", "sm_90"): {
        "row": "lane / 4 + 8 * (index / 2 % 2)",
        "col": "lane % 4 * 2 + index % 2 + index / 4 * 8",
        "lane": "row % 8 * 4 + col % 8 / 2",
        "index": "col / 8 * 4 + row / 8 * 2 + col % 2",
        "register": "index",
        "bit": "0",
    },
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "d", "sm_70"): {
        "row": "lane % 2 + 8 * (lane / 4 % 2) + lane / 16 * 4 + 2 * (index / 2 % 2)",
        "col": "2 * (lane / 2 % 2) + 8 * (lane / 8 % 2) + index % 2 + index / 4 * 4",
        "lane": "16 * (row / 4 % 2) + col / 8 * 8 + row / 8 * 4 + 2 * (col / 2 % 2) + row % 2",
        "index": "4 * (col / 4 % 2) + 2 * (row / 2 % 2) + col % 2",
        "register": "index",
        "bit": "0",
    },
    ("mma.m16n8k16.f32.f16.f16.f32", "a", "sm_80"): {
        "row": "lane / 4 + 8 * (index / 2 % 2)",
        "col": "lane % 4 * 2 + index % 2 + index / 4 * 8",
        "lane": "row % 8 * 4 + col % 8 / 2",
        "index": "col / 8 * 4 + row / 8 * 2 + col % 2",
        "register": "index / 2",
        "bit": "index % 2 * 16",
    },
    ("mma.m16n8k16.f32.f16.f16.f32", "b", "sm_80"): {
        "row": "lane % 4 * 2 + index % 2 + index / 2 * 8",
        "col": "lane / 4",
        "lane": "col * 4 + row % 8 / 2",
        "index": "row / 8 * 2 + row % 2",
        "register": "index / 2",
        "bit": "index % 2 * 16",
    },
    ("mma.m16n8k16.f32.f16.f16.f32", "d", "sm_80"): MMA_D,
    ("mma.m16n8k8.f32.tf32.tf32.f32", "a", "sm_80"): {
        "row": "lane / 4 + index % 2 * 8",
        "col": "lane % 4 + index / 2 * 4",
        "lane": "row % 8 * 4 + col % 4",
        "index": "col / 4 * 2 + row / 8",
        "register": "index",
        "bit": "0",
    },
    ("mma.m16n8k8.f32.tf32.tf32.f32", "b", "sm_80"): {
        "row": "lane % 4 + index * 4",
        "col": "lane / 4",
        "lane": "col * 4 + row % 4",
        "index": "row / 4",
        "register": "index",
        "bit": "0",
    },
    ("mma.m16n8k8.f32.tf32.tf32.f32", "d", "sm_80"): MMA_D,
    ("mma.m16n8k32.s32.s8.s8.s32", "a", "sm_80"): {
        "row": "lane / 4 + 8 * (index / 4 % 2)",
        "col": "lane % 4 * 4 + index % 4 + index / 8 * 16",
        "lane": "row % 8 * 4 + col % 16 / 4",
        "index": "col / 16 * 8 + row / 8 * 4 + col % 4",
        "register": "index / 4",
        "bit": "index % 4 * 8",
    },
    ("mma.m16n8k32.s32.s8.s8.s32", "b", "sm_80"): {
        "row": "lane % 4 * 4 + index % 4 + index / 4 * 16",
        "col": "lane / 4",
        "lane": "col * 4 + row % 16 / 4",
        "index": "row / 16 * 4 + row % 4",
        "register": "index / 4",
        "bit": "index % 4 * 8",
    },
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "d", "sm_70"): {
        "row": "lane % 2 + lane / 16 * 4 + 2 * (index / 2 % 2)",
        "col": "2 * (lane / 2 % 2) + index % 2 + index / 4 * 4",
        "matrix": "lane % 16 / 4",
        "lane": "row / 4 * 16 + matrix * 4 + 2 * (col / 2 % 2) + row % 2",
        "index": "col / 4 * 4 + 2 * (row / 2 % 2) + col % 2",
        "register": "index",
        "bit": "0",
    },
    ("wgmma.mma_async.m64n24k16.f32.f16.f16", "d", "sm_90"): {
        "row": "lane % 32 / 4 + lane / 32 * 16 + 8 * (index / 2 % 2)",
        "col": "lane % 4 * 2 + index % 2 + index / 4 * 8",
        "lane": "row / 16 * 32 + row % 8 * 4 + col % 8 / 2",
        "index": "col / 8 * 4 + 2 * (row / 8 % 2) + col % 2",
        "register": "index",
        "bit": "0",
    },
}


@pytest.mark.parametrize("case", FAMOUS, ids="-".join)
def test_the_formulas_that_people_know_look_as_they_know_them(case):
    name, operand, arch = case
    assert layout_for(lookup(name), operand, arch).formulas.one_line() == FAMOUS[case]


def test_copies_are_told_where_the_instruction_reads_them_and_where_not():
    volta = fragment_layout("matrix_a", 8, 32, 16, "f16", "row", "sm_70").formulas
    assert volta.copies == (Replica(4, 0, True), Replica(8, 0, True), Replica(12, 0, True))
    assert "// The same element again, read as well: lane + 4; lane + 8; lane + 12.\n" in volta.c()
    assert "No bit of row or col: bit 2 of lane, bit 3 of lane. " in volta.derivation()
    ampere = fragment_layout("matrix_a", 8, 32, 16, "f16", "row", "sm_80").formulas
    assert ampere.copies == (Replica(0, 4, False), Replica(0, 8, False), Replica(0, 12, False))
    assert "# The same element again, not read: index + 4; index + 8; index + 12.\n" in ampere.python()


def test_weights_that_are_not_powers_of_two_are_listed():
    lane, index = np.arange(32)[:, None], np.arange(2)
    text = bit_table(Formula("row", fit("row", lane * 3 + index * 3, ("lane", "index"))))
    assert text.splitlines() == [
        "row = lane * 3 + index * 3",
        "  adds to row  48      24      12      6       3       3",
        "  the bit      lane 4  lane 3  lane 2  lane 1  lane 0  index 0",
    ]


@pytest.mark.parametrize(
    "of_lane, of_index, lines",
    [
        # Powers of two; one of them occurs twice.
        (
            1,
            2,
            ["row = lane + index * 2", "  adds to row  2       2        1", "  the bit      lane 1  index 0  lane 0"],
        ),
        # All different, but no powers of two.
        (3, 0, ["row = lane * 3", "  adds to row  6       3", "  the bit      lane 1  lane 0"]),
    ],
)
def test_weights_are_shown_as_bits_only_if_each_is_another_power_of_two(of_lane, of_index, lines):
    lane, index = np.arange(4)[:, None], np.arange(2)
    row = fit("row", lane * of_lane + index * of_index, ("lane", "index"))
    assert bit_table(Formula("row", row)).splitlines() == lines


@pytest.mark.parametrize("name, holder, count", [
    ("m16n8k16.f32.f16.f16.f32", "lane", "lane is 0 to 31; "),
    ("wgmma.m64n8k16.f32.f16.f16", "thread of the warpgroup", "lane is the thread of the warpgroup, 0 to 127; "),
])  # fmt: skip
def test_the_title_says_whether_a_lane_of_a_warp_or_a_thread_of_a_warpgroup_holds_the_elements(name, holder, count):
    text = layout_for(lookup(name), "d", "sm_90").formulas.python()
    assert f"4 elements of 32 bits a {holder} in 4 registers." in text
    assert count in " ".join(line.removeprefix("# ") for line in text.splitlines())


def test_equal_layouts_of_two_chips_share_formulas_but_each_says_its_own_source():
    name = "mma.m16n8k16.f32.f16.f16.f32"
    ampere, hopper = (layout_for(lookup(name), "a", arch).formulas for arch in ("sm_80", "sm_90"))
    assert ampere.row is hopper.row
    assert "// Documented; source: PTX ISA 9.1, section 9.7.14.5.8.\n" in ampere.c()
    assert "// Measured; source: PTX ISA 9.1, section 9.7.14.5.8; measured: raw registers" in hopper.c()
    assert "ource" not in hopper.c(source=False)
    assert ampere.c(source=False) == hopper.c(source=False)
    assert ampere.python(source=False) == hopper.python(source=False) != hopper.python()


def test_the_formulas_of_an_instruction_are_at_its_operand():
    d = wmma_emu.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90").d
    assert d.layout.formulas.one_line() == MMA_D
    assert str(d.layout.formulas).splitlines()[0] == "row = lane / 4 + index / 2 * 8"
    assert repr(d.layout.formulas) == f"<Formulas of {d.layout!r}>"


@pytest.mark.parametrize("name", ["", "2nd", "a b", "a-b", "größe", None, 3], ids=repr)
@pytest.mark.parametrize("language", ["c", "python"])
def test_a_name_that_cannot_begin_a_functions_is_refused(name, language):
    with pytest.raises(
        WmmaEmuError,
        match=r"_row is not a legal function name; a name has letters, digits and "
        r"undersc",
    ):
        getattr(fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90").formulas, language)(name)
