# SPDX-License-Identifier: MIT
"""`LaneMap` itself: matrices handed out and put together again, and indices that do not exist."""

import dataclasses

import numpy as np
import pytest

from tests.rows import REPRESENTATIVES
from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.instructions.spec import OPERANDS
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import fragment_layout, layout_for

LAYOUTS = list(
    {
        layout_for(row, operand, arch): None
        for row in REPRESENTATIVES.values()
        for arch in row.archs
        for operand in OPERANDS
        if row.registers(operand)
    }
)
A = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "a", "sm_90")
QUAD_PAIRS = layout_for(INSTRUCTIONS["mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"], "b", "sm_70")


def numbered(layout, *batch):
    """Matrices whose every element is different."""
    shape = (*batch, *layout.matrix_shape)
    return np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_every_lane_is_handed_the_elements_of_its_coordinates(layout):
    matrix = numbered(layout, 3)
    rows, cols = layout.coords[..., 0], layout.coords[..., 1]
    if layout.num_matrices > 1:
        expected = matrix[:, layout.matrix_of_lane, rows, cols]
    else:
        expected = matrix[:, rows, cols]
    assert np.array_equal(layout.gather(matrix), np.moveaxis(expected, 0, 1))


@pytest.mark.parametrize("batch", [(), (1,), (0,), (2, 3)])
@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_scatter_undoes_gather_for_any_batch(layout, batch):
    matrix = numbered(layout, *batch)
    elements = layout.gather(matrix)
    assert elements.shape == (layout.num_elements, *batch, *layout.lane_shape)
    assert elements.dtype == matrix.dtype
    assert np.array_equal(layout.scatter(elements), matrix)
    assert layout.agree(elements).shape == batch
    assert layout.agree(elements).all()


def test_inputs_are_left_alone_and_strided_views_are_fine():
    matrix = numbered(A, 4)[::2].transpose(0, 2, 1)
    before = matrix.copy()
    elements = A.gather(matrix)
    assert np.array_equal(A.scatter(elements[:, ::-1])[::-1], before)
    assert np.array_equal(matrix, before)


def test_edited_duplicates_are_ignored_since_turing():
    layout = fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_90")
    matrix = numbered(layout)
    elements = layout.gather(matrix)
    elements[8:] = 0xBAD
    assert np.array_equal(layout.scatter(elements), matrix)
    assert layout.agree(elements)


def test_copies_that_disagree_are_noticed_on_volta():
    layout = fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_70")
    elements = layout.gather(numbered(layout, 2))
    elements[3, 1, 31] += 1
    assert layout.agree(elements).tolist() == [True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: A.locate(16, 0), "no row 16; legal are 0 to 15"),
        (lambda: A.locate(0, -1), "no column -1; legal are 0 to 15"),
        (lambda: A.locate(0, 0, matrix=1), "no matrix 1; legal are 0 to 0"),
        (lambda: A.element_at(32, 0, 0), "no lane 32; legal are 0 to 31"),
        (lambda: A.element_at(0, 4, 0), "no register 4; legal are 0 to 3"),
        (lambda: A.element_at(0, 0, 32), "no bit 32; legal are 0 to 31"),
        (lambda: A.register_of(8), "no element 8; legal are 0 to 7"),
        (lambda: A.bit_of(-1), "no element -1; legal are 0 to 7"),
        (lambda: QUAD_PAIRS.locate(0, 0, 4), "no matrix 4; legal are 0 to 3"),
    ],
)
def test_an_index_that_does_not_exist_raises_an_index_error_with_the_legal_range(call, message):
    with pytest.raises(OutOfBoundsError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: A.locate(1.5, 0), "the row is 1.5, which is no integer; legal are 0 to 15"),
        (lambda: A.locate("a", 0), "the row is 'a', which is no integer"),
        (lambda: A.locate(None, None), "the row is None, which is no integer"),
        (lambda: A.locate(0, float("nan")), "the column is nan, which is no integer"),
        (lambda: A.locate(np.zeros(2, int), 0), r"the row is array\(\[0, 0\]\), which is no integer"),
        (lambda: A.element_at([0], 0), r"the lane is \[0\], which is no integer; legal are 0 to 31"),
        (lambda: A.element_at(0, 0.0), "the register is 0.0, which is no integer; legal are 0 to 3"),
        (lambda: A.bit_of("x" * 999), "the element is 'x{76}..., which is no integer"),
    ],
)
def test_an_index_that_is_no_integer_is_refused(call, message):
    with pytest.raises(FragmentMismatchError, match=message):
        call()


def test_an_index_too_long_to_print_is_refused_all_the_same():
    with pytest.raises(OutOfBoundsError, match="there is no row <int>; legal are 0 to 15"):
        A.locate(10**9999, 0)


def test_wrong_shapes_are_refused():
    with pytest.raises(FragmentMismatchError, match=r"does not end in \(16, 16\)"):
        A.gather(np.zeros((16, 8), np.uint16))
    with pytest.raises(FragmentMismatchError, match=r"not \(8, \*batch, 32\)"):
        A.scatter(np.zeros((8, 16), np.uint16))
    with pytest.raises(FragmentMismatchError, match="leave the 8 x 16 matrix"):
        dataclasses.replace(A, rows=8)
    with pytest.raises(FragmentMismatchError, match="num_elements, 32, 2"):
        dataclasses.replace(A, coords=A.coords[..., 0])


def test_a_layout_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        A.coords[0, 0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        A.rows = 8


def test_layouts_compare_by_places_and_not_by_provenance():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    there, here = layout_for(row, "a", "sm_80"), layout_for(row, "a", "sm_90")
    assert there == here and hash(there) == hash(here)
    assert there.status != here.status
    assert there != "a"


def test_lookups_that_name_nothing_say_what_exists():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    with pytest.raises(UnsupportedInstructionError, match="operands are a, b, c, d"):
        layout_for(row, "e", "sm_90")
    with pytest.raises(UnsupportedInstructionError, match=r"there is no operand \['a'\]; operands are a, b, c, d"):
        layout_for(row, ["a"], "sm_90")
    with pytest.raises(UnsupportedInstructionError, match="not exist on sm_75; chips that have it are sm_80"):
        layout_for(row, "a", "sm_75")
    miscounted = dataclasses.replace(row, num_registers=(2, 1, 4, 4))
    with pytest.raises(UnsupportedInstructionError, match="no layout is modelled for operand a"):
        layout_for(miscounted, "a", "sm_90")
    unknown = dataclasses.replace(row, k=32)
    with pytest.raises(UnsupportedInstructionError, match="m16n8k32 in f16; shapes in f16 are m8n8k4"):
        layout_for(unknown, "a", "sm_90")


def test_a_layout_is_built_once():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    assert layout_for(row, "a", "h200") is layout_for(row, "a", "sm_90")


def test_what_is_no_array_is_neither_gathered_nor_scattered():
    layout = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "a", "sm_90")
    for use in (layout.gather, layout.scatter):
        for given in (None, [1], "a"):
            with pytest.raises(FragmentMismatchError, match="is a NumPy array, not"):
                use(given)
