# SPDX-License-Identifier: MIT
"""The layouts of `mma.sync` against the formulas of the PTX ISA 9.1, section 9.7.14.5, shape by shape.

Row and column are functions of groupID g, threadID_in_group t and element i, written as the document does.
"""

import numpy as np
import pytest

from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import layout_for

MMA = [row for row in INSTRUCTIONS.values() if row.family == "mma.sync"]


def plus(offset, condition):
    return 0 if condition else offset


def tall_accumulator(g, t, i):
    return g + plus(8, i < 2), t * 2 + (i & 1)


def short_accumulator(g, t, i):
    return g, t * 2 + (i & 1)


TEXT = {
    # 9.7.14.5.2
    ("m8n8k4", "f64"): (lambda g, t, i: (g, t), lambda g, t, i: (t, g), short_accumulator),
    # 9.7.14.5.3
    ("m8n8k16", "s8 u8"): (lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g), short_accumulator),
    # 9.7.14.5.4
    ("m8n8k32", "s4 u4"): (lambda g, t, i: (g, t * 8 + i), lambda g, t, i: (t * 8 + i, g), short_accumulator),
    # 9.7.14.5.5
    ("m8n8k128", "b1"): (lambda g, t, i: (g, t * 32 + i), lambda g, t, i: (t * 32 + i, g), short_accumulator),
    # 9.7.14.5.6
    ("m16n8k4", "tf32 f64"): (
        lambda g, t, i: (g + plus(8, i == 0), t),
        lambda g, t, i: (t, g),
        tall_accumulator,
    ),
    # 9.7.14.5.7
    ("m16n8k8", "f16 bf16"): (
        lambda g, t, i: (g + plus(8, i in (0, 1)), t * 2 + (i & 1)),
        lambda g, t, i: (t * 2 + i, g),
        tall_accumulator,
    ),
    ("m16n8k8", "tf32 f64"): (
        lambda g, t, i: (g + plus(8, i in (0, 2)), t + plus(4, i in (0, 1))),
        lambda g, t, i: (t + plus(4, i == 0), g),
        tall_accumulator,
    ),
    # 9.7.14.5.8
    ("m16n8k16", "f16 bf16"): (
        lambda g, t, i: (g + plus(8, 0 <= i < 2 or 4 <= i < 6), t * 2 + (i & 1) + plus(8, i < 4)),
        lambda g, t, i: (t * 2 + (i & 1) + plus(8, i < 2), g),
        tall_accumulator,
    ),
    ("m16n8k16", "f64"): (
        lambda g, t, i: (g + plus(8, i % 2 == 0), i * 2 + t if i % 2 == 0 else i * 2 - 2 + t),
        lambda g, t, i: (t + i * 4, g),
        tall_accumulator,
    ),
    # 9.7.14.5.9
    ("m16n8k16", "s8 u8 e4m3 e5m2"): (
        lambda g, t, i: (g + plus(8, i < 4), t * 4 + (i & 3)),
        lambda g, t, i: (t * 4 + i, g),
        tall_accumulator,
    ),
    # 9.7.14.5.10
    ("m16n8k32", "s4 u4"): (
        lambda g, t, i: (g + plus(8, i < 8), t * 8 + (i & 7)),
        lambda g, t, i: (t * 8 + (i & 7), g),
        tall_accumulator,
    ),
    ("m16n8k32", "s8 u8 e4m3 e5m2 e3m2 e2m3 e2m1"): (
        lambda g, t, i: (g + plus(8, 0 <= i < 4 or 8 <= i < 12), t * 4 + (i & 3) + plus(16, i < 8)),
        lambda g, t, i: (t * 4 + (i & 3) + plus(16, i < 4), g),
        tall_accumulator,
    ),
    # 9.7.14.5.11
    ("m16n8k64", "s4 u4 e2m1"): (
        lambda g, t, i: (g + plus(8, 0 <= i < 8 or 16 <= i < 24), t * 8 + (i & 7) + plus(32, i < 16)),
        lambda g, t, i: (t * 8 + (i & 7) + plus(32, i < 8), g),
        tall_accumulator,
    ),
    # 9.7.14.5.12
    ("m16n8k128", "b1"): (
        lambda g, t, i: (g + plus(8, i < 32), t * 32 + (i & 0x1F)),
        lambda g, t, i: (t * 32 + i, g),
        tall_accumulator,
    ),
    # 9.7.14.5.13; the document prints "+ i" for i < 64, which would leave the matrix: "i & 0x1F" is meant.
    ("m16n8k256", "b1"): (
        lambda g, t, i: (g + plus(8, 0 <= i < 32 or 64 <= i < 96), t * 32 + (i & 0x1F) + plus(128, i < 64)),
        lambda g, t, i: (t * 32 + (i & 0x1F) + plus(128, i < 32), g),
        tall_accumulator,
    ),
}

FORMULAS = {(shape, name): row for (shape, names), row in TEXT.items() for name in names.split()}


def quad_pair_formula(row, operand, lane, i):
    """9.7.14.5.1, `m8n8k4` of f16."""
    low, upper = lane % 4, plus(4, lane < 16)
    match operand, row.a_layout, row.b_layout:
        case "a", "row", _:
            return low + upper, i
        case "a", "col", _:
            return i + upper, low
        case "b", _, "row":
            return low, i + upper
        case "b", _, "col":
            return i, low + upper
    if row.format(operand).name == "f16":
        return low + upper, i
    return (lane & 0b1) + (i & 0b10) + upper, (i & 0b100) + (lane & 0b10) + (i & 0b1)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("row", MMA, ids=str)
def test_every_element_is_at_the_documented_position(row):
    for operand in "abcd":
        layout = layout_for(row, operand, row.archs[-1])
        for lane in range(32):
            g, t = lane >> 2, lane % 4
            for i in range(layout.num_elements):
                if (row.shape, row.a) == ("m8n8k4", "f16"):
                    expected = quad_pair_formula(row, operand, lane, i)
                else:
                    a, b, c = FORMULAS[row.shape, row.a]
                    expected = {"a": a, "b": b}.get(operand, c)(g, t, i)
                assert tuple(layout.coords[i, lane]) == expected, (operand, lane, i)


def test_quad_pairs_are_lanes_sixteen_apart():
    row = INSTRUCTIONS["mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"]
    matrix_of_lane = layout_for(row, "a", "sm_70").matrix_of_lane
    for q in range(4):
        assert [lane for lane in range(32) if matrix_of_lane[lane] == q] == [
            *range(4 * q, 4 * q + 4),
            *range(16 + 4 * q, 20 + 4 * q),
        ]


def test_every_chip_has_the_same_layouts_of_mma_sync():
    for row in MMA:
        for operand in "abcd":
            assert len({layout_for(row, operand, arch) for arch in row.archs}) == 1


def packed_formula(row):
    """9.7.14.6.2: a sparse A is packed, laid out as a dense one of half the width; B as a dense one of all k."""
    half = {"f16": ("m16n8k8", "m16n8k16"), "tf32": ("m16n8k4", "m16n8k8"), "s8": ("m16n8k16", "m16n8k32"),
            "s4": ("m16n8k32", "m16n8k64")}  # fmt: skip
    same = {"bf16": "f16", "u4": "s4", **dict.fromkeys(("e4m3", "e5m2", "e3m2", "e2m3", "u8"), "s8")}
    same["e2m1"] = "s8" if "f8f6f4" in row.mnemonic else "s4"  # of those kinds every element takes a byte
    a = same.get(row.a, row.a)
    return FORMULAS[half[a][f"m16n8k{row.k // 2}" != half[a][0]], a]


def wide_b(row):
    """B of all k: registers of eight rows of four lanes, one after another."""
    run = 32 // row.container("b").bits
    return lambda g, t, i: (t * run + i % run + i // run * 4 * run, g)


@pytest.mark.parametrize("row", [x for x in INSTRUCTIONS.values() if x.family.startswith("mma.sp")], ids=str)
def test_sparse_operands_are_at_the_documented_positions(row):
    a, _, c = packed_formula(row)
    for operand, formula in (("a", a), ("b", wide_b(row)), ("c", c), ("d", c)):
        layout = layout_for(row, operand, row.archs[-1])
        for lane in range(32):
            for i in range(layout.num_elements):
                assert tuple(layout.coords[i, lane]) == formula(lane >> 2, lane % 4, i), (operand, lane, i)


def test_operands_of_wgmma_are_at_the_documented_positions():
    """9.7.15.5.1: figures of A in registers, and of D, for every n that there is."""
    proved = {}
    for row in (x for x in INSTRUCTIONS.values() if x.is_warpgroup):
        run = max(1, 32 // row.format("a").bits)
        for operand in "acd":
            layout = layout_for(row, operand, "sm_90")
            if id(layout) in proved:
                continue
            proved[id(layout)] = (row.a, 0) if operand == "a" else ("accumulator", row.n)
            i = np.arange(layout.num_elements)[:, None, None]
            warp, lane = np.arange(4)[:, None], np.arange(32)
            g, t = lane >> 2, lane % 4
            if operand == "a":  # registers: rows g and g + 8, then the second half of k
                register = i // run
                expected = 16 * warp + g + 8 * (register % 2), t * run + i % run + 4 * run * (register // 2)
            else:
                expected = 16 * warp + g + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * t + i % 2
            for axis, formula in enumerate(expected):
                shape = layout.coords.shape[:-1]
                assert np.array_equal(layout.coords[..., axis], np.broadcast_to(formula, shape)), (row, operand)
    assert {n for what, n in proved.values() if what == "accumulator"} == set(range(8, 257, 8))
    assert {what for what, _ in proved.values()} >= {"f16", "tf32", "e4m3", "b1"}
