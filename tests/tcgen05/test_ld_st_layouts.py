# SPDX-License-Identifier: MIT
"""Layouts of tcgen05.ld and .st: bijections, equal to CuTe's (thread, value) layouts and to results of a B200."""

import numpy as np
import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.tcgen05 import SHAPES, tcgen05_layout

REPEATS = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32, "16x32bx2": 128}
CASES = [
    (shape, 1 << i, packed)
    for shape, most in REPEATS.items()
    for i in range(most.bit_length())
    for packed in (False, True)
]


def colexicographic(index, shape, stride):
    """CuTe's rule: split an index by a shape, the first mode fastest, and add up the strides."""
    total = 0
    for part, step in zip(shape, stride, strict=True):
        total += index % part * step
        index //= part
    assert index == 0
    return total


def cute_layout(shape, n):
    """Threads, values and bits of a lane in CuTe's SM100_TMEM_LOAD_<shape><n>x: (shape, stride) of both, in bits."""
    if shape == "32x32b":
        return ((32,), (32 * n,)), ((32 * n,), (1,)), 32 * n
    if shape == "16x32bx2":
        return ((16, 2), (64 * n, 32 * n)), ((32 * n,), (1,)), 64 * n
    if shape == "16x64b":
        return ((2, 2, 8), (512 * n, 32, 64 * n)), ((32, n), (1, 64)), 64 * n
    if shape == "16x128b":
        return ((4, 8), (32, 128 * n)), ((32, 2, n), (1, 1024 * n, 128)), 128 * n
    return ((4, 8), (64, 256 * n)), ((64, 2, n), (1, 2048 * n, 256)), 256 * n


@pytest.mark.parametrize(("shape", "num", "packed"), CASES)
def test_every_layout_is_a_bijection(shape, num, packed):
    layout = tcgen05_layout(shape, num, packed)
    assert layout.is_bijection
    assert (layout.rows, layout.num_registers) == (32 if shape == "32x32b" else 16, layout.rows * layout.cols *
                                                   layout.element_bits // 1024)  # fmt: skip


@pytest.mark.parametrize(("shape", "num", "packed"), CASES)
def test_every_layout_matches_cute(shape, num, packed):
    threads, values, lane_bits = cute_layout(shape, num)
    layout = tcgen05_layout(shape, num, packed)
    unit = 16 if packed else 32  # CuTe's packed forms take 16 bits of each column
    for lane in range(32):
        start = colexicographic(lane, *threads)
        for element in range(layout.num_elements):
            row, bit = divmod(start + colexicographic(element * unit, *values), lane_bits)
            assert tuple(layout.coords[element, lane]) == (row, bit // unit)


def test_layouts_are_those_that_were_published_from_a_b200():
    # Tagged data, thread t = 4q + p, register j, in the three forms that were run.
    published = {
        ("16x64b", 2): lambda p, q, j: (q + 8 * (p & 1), (p >> 1 & 1) + 2 * j),
        ("16x128b", 4): lambda p, q, j: (q + 8 * (j & 1), p + 4 * (j >> 1)),
        ("16x256b", 1): lambda p, q, j: (q + 8 * (j >> 1), 2 * p + (j & 1)),
    }
    for (shape, num), place in published.items():
        coords = tcgen05_layout(shape, num).coords
        for j, t in np.ndindex(*coords.shape[:2]):
            assert tuple(coords[j, t]) == place(t % 4, t // 4, j)


def test_lane_bit_0_is_the_upper_eight_lanes_in_16x64b():
    layout = tcgen05_layout("16x64b")
    assert layout.coords[0, :8].tolist() == [[0, 0], [8, 0], [0, 1], [8, 1], [1, 0], [9, 0], [1, 1], [9, 1]]


def test_registers_of_each_shape_match_the_manual():
    # PTX ISA, 9.7.16.8.3, table of .num and .shape
    for shape, most in REPEATS.items():
        for num in SHAPES[shape].repeats:
            expected = num * {"16x128b": 2, "16x256b": 4}.get(shape, 1)
            assert tcgen05_layout(shape, num).num_registers == expected
        assert SHAPES[shape].repeats[-1] == most
        assert tcgen05_layout(shape, most).num_registers == 128


@pytest.mark.parametrize(("shape", "num"), [
    ("16x128b", 128), ("16x256b", 64), ("32x32b", 3), ("32x32b", 0), ("32x32b", 256), ("16x64", 1), ("", 1), (None, 1),
    ("32x32b", "x1"), ("32x32b", 1.5), ("32x32b", 1.0), ("32x32b", True), ([], 1), ("32x32b", []),
])  # fmt: skip
def test_other_shapes_and_repeats_are_refused(shape, num):
    with pytest.raises(UnsupportedInstructionError, match=r"legal (shapes|repeats) are"):
        tcgen05_layout(shape, num)


def test_layouts_have_their_source_and_find_elements():
    layout = tcgen05_layout("16x256b", 2)
    for row, column in ((0, 0), (15, 15), (8, 9), (3, 12)):
        (place,) = layout.locate(row, column)
        assert layout.element_at(place.lane, place.register, place.bit) == (row, column)
    assert layout.status == "documented" and "PTX ISA" in layout.source
    assert tcgen05_layout("16x256b", 1).status == "recorded"
