# SPDX-License-Identifier: MIT
"""WMMA fragments: put together from `mma.sync` fragments, and from quad pairs on Volta."""

import numpy as np
import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions.arch import ARCHS
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import fragment_layout, layout_for

SINCE_TURING = [name for name, row in ARCHS.items() if row.number >= 75]
SINCE_AMPERE = [name for name, row in ARCHS.items() if row.number >= 80]
SHAPES = {"m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16)}

F16 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
TF32 = INSTRUCTIONS["mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"]
INT8 = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32"]
SMALL_INT8 = INSTRUCTIONS["mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"]


def of(row, operand):
    return layout_for(row, operand, "sm_90").coords


def moved(coords, rows, cols):
    return coords + np.array([rows, cols])


def swapped(coords):
    return coords[..., ::-1]


def stacked(coords, *offsets):
    """Tiles of the same layout, each at its offset, elements one tile after the other."""
    return np.concatenate([moved(coords, *offset) for offset in offsets])


def distinct(use, shape, fmt, arch, memory_layout="row"):
    layout = fragment_layout(use, *SHAPES[shape], fmt, None if use == "accumulator" else memory_layout, arch)
    return layout.coords[: layout.read_elements]


@pytest.mark.parametrize("arch", SINCE_TURING)
def test_m16n16k16_is_two_m16n8k16_side_by_side(arch):
    a, b = (distinct(use, "m16n16k16", "f16", arch) for use in ("matrix_a", "matrix_b"))
    assert np.array_equal(a, of(F16, "a"))
    assert np.array_equal(b, stacked(of(F16, "b"), (0, 0), (0, 8)))
    for fmt in ("f16", "f32", "s32"):
        c = distinct("accumulator", "m16n16k16", fmt, arch)
        assert np.array_equal(c, stacked(of(F16, "c"), (0, 0), (0, 8)))


@pytest.mark.parametrize("arch", SINCE_TURING)
def test_m32n8k16_is_two_m16n8k16_stacked(arch):
    a, b = (distinct(use, "m32n8k16", "f16", arch) for use in ("matrix_a", "matrix_b"))
    assert np.array_equal(a, stacked(of(F16, "a"), (0, 0), (16, 0)))
    assert np.array_equal(b, of(F16, "b"))
    for fmt in ("f16", "f32", "s32"):
        c = distinct("accumulator", "m32n8k16", fmt, arch)
        assert np.array_equal(c, stacked(of(F16, "c"), (0, 0), (16, 0)))


@pytest.mark.parametrize("arch", SINCE_TURING)
def test_m8n32k16_is_m32n8k16_transposed(arch):
    for use, other in (("matrix_a", "matrix_b"), ("matrix_b", "matrix_a"), ("accumulator", "accumulator")):
        for fmt in ("f16", "f32") if use == "accumulator" else ("f16",):
            tall = distinct(other, "m32n8k16", fmt, arch)
            assert np.array_equal(distinct(use, "m8n32k16", fmt, arch), swapped(tall))


@pytest.mark.parametrize("arch", [name for name in ARCHS if name != "sm_70"])
def test_integer_fragments_are_m16n8k16_or_m8n8k16_in_tiles(arch):
    a16, b8, a8 = of(INT8, "a"), of(INT8, "b"), of(SMALL_INT8, "a")
    across = [(0, n) for n in (0, 8, 16, 24)]
    for shape, use, expected in (
        ("m16n16k16", "matrix_a", a16),
        ("m16n16k16", "matrix_b", stacked(b8, *across[:2])),
        ("m32n8k16", "matrix_a", stacked(a16, (0, 0), (16, 0))),
        ("m32n8k16", "matrix_b", b8),
        ("m8n32k16", "matrix_a", a8),
        ("m8n32k16", "matrix_b", stacked(b8, *across)),
    ):
        for fmt in ("s8", "u8"):
            assert np.array_equal(distinct(use, shape, fmt, arch), expected), (shape, use)


def test_until_turing_the_integer_m8n32k16_is_not_transposed():
    plain = stacked(of(SMALL_INT8, "c"), *((0, n) for n in (0, 8, 16, 24)))
    for arch in ("sm_72", "sm_75"):
        assert np.array_equal(distinct("accumulator", "m8n32k16", "s32", arch), plain)
    for arch in SINCE_AMPERE:
        transposed = distinct("accumulator", "m8n32k16", "s32", arch)
        assert np.array_equal(transposed, distinct("accumulator", "m8n32k16", "f32", arch))
        assert not np.array_equal(transposed, plain)


@pytest.mark.parametrize("arch", SINCE_AMPERE)
def test_tf32_is_two_m16n8k8_side_by_side(arch):
    a = fragment_layout("matrix_a", 16, 16, 8, "tf32", "col", arch).coords
    b = fragment_layout("matrix_b", 16, 16, 8, "tf32", "row", arch).coords
    c = fragment_layout("accumulator", 16, 16, 8, "f32", None, arch).coords
    assert np.array_equal(a, of(TF32, "a"))
    assert np.array_equal(b, stacked(of(TF32, "b"), (0, 0), (0, 8)))
    assert np.array_equal(c, stacked(of(TF32, "c"), (0, 0), (0, 8)))


def test_shapes_of_mma_sync_have_the_same_layout():
    twins = {(x.shape, x.a, x.b): x for x in INSTRUCTIONS.values() if x.family == "mma.sync"}
    for row in INSTRUCTIONS.values():
        if row.family == "wmma.mma" and row.shape in ("m8n8k4", "m8n8k32", "m8n8k128"):
            twin = twins[row.shape, row.a, row.b]
            for operand in "abcd":
                assert layout_for(row, operand, "sm_80") == layout_for(twin, operand, "sm_80")


def accumulator_by_formula(row, col):
    """The m16n16k16 accumulator as many kernels hard-code it: lane and element of a matrix element."""
    return row % 8 * 4 + col % 8 // 2, col // 8 * 4 + row // 8 * 2 + col % 2


@pytest.mark.parametrize("fmt", ["f16", "f32"])
def test_the_well_known_accumulator_formula_holds_since_turing_and_fails_on_volta(fmt):
    for arch in ARCHS:
        layout = fragment_layout("accumulator", 16, 16, 16, fmt, None, arch)
        found = [layout.locate(row, col)[0] for row in range(16) for col in range(16)]
        expected = [accumulator_by_formula(row, col) for row in range(16) for col in range(16)]
        holds = [(x.lane, x.element) for x in found] == expected
        assert holds == (arch in SINCE_TURING)


@pytest.mark.parametrize("arch", SINCE_TURING)
def test_the_memory_layout_does_not_matter_since_turing(arch):
    for shape in SHAPES:
        for use in ("matrix_a", "matrix_b"):
            layouts = {fragment_layout(use, *SHAPES[shape], "f16", stored, arch) for stored in ("row", "col")}
            assert len(layouts) == 1


@pytest.mark.parametrize("arch", SINCE_TURING)
def test_since_turing_f16_duplicates_repeat_within_the_lane_and_only_the_first_are_read(arch):
    for shape, a_read, b_read in (("m16n16k16", 8, 8), ("m32n8k16", 16, 4), ("m8n32k16", 4, 16)):
        for use, read in (("matrix_a", a_read), ("matrix_b", b_read)):
            layout = fragment_layout(use, *SHAPES[shape], "f16", "row", arch)
            assert (layout.num_elements, layout.read_elements) == (16, read)
            for x in range(16):
                assert np.array_equal(layout.coords[x], layout.coords[x % read])


@pytest.mark.parametrize("arch", SINCE_AMPERE)
def test_bf16_has_the_elements_of_f16_without_duplicates(arch):
    for shape in SHAPES:
        for use in ("matrix_a", "matrix_b"):
            layout = fragment_layout(use, *SHAPES[shape], "bf16", "row", arch)
            assert np.array_equal(layout.coords, distinct(use, shape, "f16", arch))
            assert layout.is_bijection


def volta_formula(shape, use, fmt, stored, lane, x):
    """Fragments as read off the machine code of wmma.load for sm_70: bits of lane and element."""
    t, bit4 = lane % 4, lane >> 4 & 1
    row0, col0 = {
        "m16n16k16": (8 * (lane >> 2 & 1), 8 * (lane >> 3 & 1)),
        "m32n8k16": (8 * (lane >> 2 & 3), 0),
        "m8n32k16": (0, 8 * (lane >> 2 & 3)),
    }[shape]
    match use, stored, fmt:
        case "matrix_a", "row", _:
            return t + row0 + 4 * bit4, x
        case "matrix_a", "col", _:
            return (x & 3) + row0 + 4 * bit4, t + (x & 12)
        case "matrix_b", "col", _:
            return x, t + col0 + 4 * bit4
        case "matrix_b", "row", _:
            return t + (x & 12), (x & 3) + col0 + 4 * bit4
        case _, _, "f16":
            return t + row0 + 4 * bit4, x + col0
    row = (lane & 1) + 2 * (x >> 1 & 1) + row0 + 4 * bit4
    return row, 2 * (lane >> 1 & 1) + (x & 1) + 4 * (x >> 2 & 1) + col0


@pytest.mark.parametrize("arch", ["sm_70", "sm_72"])
@pytest.mark.parametrize("shape", SHAPES)
def test_volta_fragments_equal_the_bit_formulas(shape, arch):
    cases = [(use, "f16", stored) for use in ("matrix_a", "matrix_b") for stored in ("row", "col")]
    for use, fmt, stored in [*cases, ("accumulator", "f16", None), ("accumulator", "f32", None)]:
        layout = fragment_layout(use, *SHAPES[shape], fmt, stored, arch)
        for x, lane in np.ndindex(layout.num_elements, 32):
            assert tuple(layout.coords[x, lane]) == volta_formula(shape, use, fmt, stored, lane, x)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("b_stored", ["row", "col"])
@pytest.mark.parametrize("a_stored", ["row", "col"])
def test_a_volta_quad_pair_holds_all_of_a_and_b_that_its_block_of_d_needs(shape, a_stored, b_stored):
    a = fragment_layout("matrix_a", *SHAPES[shape], "f16", a_stored, "sm_70")
    b = fragment_layout("matrix_b", *SHAPES[shape], "f16", b_stored, "sm_70")
    assert a.read_elements == b.read_elements == 16
    for fmt in ("f16", "f32"):
        d = fragment_layout("accumulator", *SHAPES[shape], fmt, None, "sm_70")
        for q in range(4):
            lanes = [*range(4 * q, 4 * q + 4), *range(16 + 4 * q, 20 + 4 * q)]
            block = {tuple(x) for x in d.coords[:, lanes].reshape(-1, 2)}
            held_a = {tuple(x) for x in a.coords[:, lanes].reshape(-1, 2)}
            held_b = {tuple(x) for x in b.coords[:, lanes].reshape(-1, 2)}
            assert len(block) == 64
            assert held_a == {(row, k) for row, _ in block for k in range(16)}
            assert held_b == {(k, col) for _, col in block for k in range(16)}


def test_volta_steps_through_k_in_register_pairs_of_m8n8k4():
    row = INSTRUCTIONS["mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"]
    quad_pairs = of(row, "a")
    wmma = fragment_layout("matrix_a", 8, 32, 16, "f16", "col", "sm_70").coords
    for s in range(4):
        assert np.array_equal(wmma[4 * s : 4 * s + 4], moved(quad_pairs, 0, 4 * s))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("matrix_a", 16, 16, 16, "e4m3", "row", "sm_90"), "formats are f16, bf16, s8, u8"),
        (("matrix_a", 16, 8, 16, "f16", "row", "sm_90"), "shapes are m16n16k16, m32n8k16, m8n32k16"),
        (("matrix_c", 16, 16, 16, "f16", "row", "sm_90"), "uses are matrix_a, matrix_b, accumulator"),
        (("matrix_a", 16, 16, 16, "bf16", "row", "sm_75"), "since sm_80, not on sm_75"),
        (("matrix_a", 16, 16, 16, "s8", "row", "v100"), "since sm_72, not on sm_70"),
        (("matrix_a", 16, 16, 16, "f16", None, "sm_90"), "stored as 'row' or 'col', not None"),
        (("matrix_b", 8, 8, 32, "s4", "row", "sm_90"), "stored as 'col', not 'row'"),
        (("accumulator", 16, 16, 16, "f32", "row", "sm_90"), "pass None"),
    ],
)
def test_a_fragment_that_does_not_exist_raises_and_says_what_does(arguments, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        fragment_layout(*arguments)


def test_fragments_exist_on_exactly_the_chips_of_their_instructions():
    for row in INSTRUCTIONS.values():
        if row.family != "wmma.mma":
            continue
        for arch in ARCHS:
            try:
                fragment_layout("matrix_a", row.m, row.n, row.k, row.a, row.a_layout, arch)
                exists = True
            except UnsupportedInstructionError:
                exists = False
            # The fragments of b1 are older than its .and form.
            assert exists == (arch in row.archs) or row.a == "b1"
