# SPDX-License-Identifier: MIT
"""Every operand of every instruction on every chip: nothing is missed, nothing is held too often."""

import dataclasses
from collections.abc import Iterable

import numpy as np
import pytest

from tests.representatives import REPRESENTATIVES
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions.arch import ARCHS
from wmma_emu.instructions.spec import Instruction
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import LaneMap, layout_for

COPIES = {"m16n16k16": {"a": 2, "b": 2}, "m32n8k16": {"a": 1, "b": 4}, "m8n32k16": {"a": 4, "b": 1}}
"""How often `mma.h` holds an f16 element: fragments of A and B have 16 elements a lane in every shape."""


def operands_in_registers(row: Instruction) -> str:
    return "acd" if row.is_warpgroup else "abcd"


def distinct_layouts(rows: Iterable[Instruction]) -> list[LaneMap]:
    found = {
        layout_for(row, operand, arch): None
        for row in rows
        for arch in row.archs
        for operand in operands_in_registers(row)
    }
    return list(found)


DISTINCT = distinct_layouts(REPRESENTATIVES.values())


@pytest.mark.parametrize("arch", ARCHS)
def test_every_operand_covers_its_matrix_exactly_as_often_as_documented(arch):
    proved: dict[int, int] = {}
    for row in INSTRUCTIONS.values():
        if arch not in row.archs:
            continue
        for operand in operands_in_registers(row):
            layout = layout_for(row, operand, arch)
            expected = 1
            if row.family == "wmma.mma" and row.a == "f16":
                expected = COPIES[row.shape].get(operand, 1)
            if id(layout) not in proved:  # many entries share a layout
                assert (layout.copies() == expected).all(), (row.mnemonic, operand)
                proved[id(layout)] = expected
            assert layout.multiplicity == proved[id(layout)] == expected
            assert layout.is_bijection == (expected == 1)
    assert proved


def test_b_of_wgmma_has_no_layout_because_it_has_no_registers():
    rows = [row for row in INSTRUCTIONS.values() if row.is_warpgroup]
    assert rows
    for row in rows:
        assert row.registers("b") == 0
        with pytest.raises(UnsupportedInstructionError, match="has no operand b in registers: it reads B from shared"):
            layout_for(row, "b", "sm_90")


@pytest.mark.parametrize("arch", ARCHS)
def test_every_layout_has_the_shape_and_the_registers_of_its_instruction(arch):
    for row in INSTRUCTIONS.values():
        if arch not in row.archs:
            continue
        for operand in operands_in_registers(row):
            layout = layout_for(row, operand, arch)
            assert (layout.rows, layout.cols) == row.matrix_shape(operand)
            in_bytes = operand in "ab" and any(x in row.modifiers for x in ("kind::f8f6f4", "kind::mxf8f6f4"))
            assert layout.element_bits == (8 if in_bytes else row.format(operand).bits)
            assert layout.num_registers * layout.elements_per_register == layout.num_elements
            assert layout.num_registers == row.registers(operand)
            assert layout.register_bits == (64 if row.format(operand).name == "f64" else 32)
            assert layout.lane_shape == ((4, 32) if row.is_warpgroup else (32,))
            assert layout.num_matrices == (4 if (row.shape, row.a) == ("m8n8k4", "f16") else 1)
            assert layout.source
            assert layout.status in ("measured", "documented", "literature", "inferred")


def test_c_and_d_of_the_same_format_live_in_the_same_places():
    for row in INSTRUCTIONS.values():
        for arch in row.archs:
            if row.c == row.d:
                assert layout_for(row, "c", arch) == layout_for(row, "d", arch)


def test_hopper_alone_is_measured():
    for row in INSTRUCTIONS.values():
        for arch in row.archs:
            assert (layout_for(row, "a", arch).status == "measured") == (arch == "sm_90")


@pytest.mark.parametrize("layout", DISTINCT, ids=repr)
def test_the_inverse_finds_exactly_the_lanes_that_hold_an_element(layout):
    step = max(1, layout.rows * layout.cols // 256) | 1
    for matrix in range(layout.num_matrices):
        for cell in range(0, layout.rows * layout.cols, step):
            row, col = divmod(cell, layout.cols)
            found = layout.locate(row, col, matrix)
            assert len(found) == layout.multiplicity == len(set(found))
            assert found[0].element < layout.read_elements
            for lane, register, bit, element in found:
                assert layout.element_at(lane, register, bit) == (row, col)
                assert layout.element_at(lane, register, bit + layout.element_bits - 1) == (row, col)
                assert tuple(layout.coords_of_lanes[element, lane]) == (row, col)
                assert layout.matrix_of_lane.flat[lane] == matrix
                assert (layout.register_of(element), layout.bit_of(element)) == (register, bit)


@pytest.mark.parametrize("layout", DISTINCT, ids=repr)
def test_corrupting_one_entry_makes_the_proof_fail(layout):
    coords = layout.coords.copy()
    coords.flat[0] = (coords.flat[0] + 1) % layout.rows
    corrupted = dataclasses.replace(layout, coords=coords)
    assert not (corrupted.copies() == layout.multiplicity).all()
    assert not corrupted.is_bijection
    assert corrupted != layout
    with pytest.raises(FragmentMismatchError, match="not every element"):
        corrupted.locate(0, 0)


def test_each_warp_of_four_holds_sixteen_rows_in_the_same_places():
    for layout in distinct_layouts(row for row in INSTRUCTIONS.values() if row.is_warpgroup):
        for warp in range(4):
            assert np.array_equal(layout.coords[:, warp], layout.coords[:, 0] + (16 * warp, 0))


def test_the_table_has_as_many_distinct_layouts_as_expected():
    # A change of these numbers is a new fact: it belongs into the table's sources.
    counts = {family: len(distinct_layouts(row for row in INSTRUCTIONS.values() if row.family in family))
              for family in (("mma.sync", "wmma.mma"), ("mma.sp", "mma.sp::ordered_metadata"),
                             ("wgmma",), ("wgmma.sp",))}  # fmt: skip
    assert list(counts.values()) == [76, 17, 67, 66]
