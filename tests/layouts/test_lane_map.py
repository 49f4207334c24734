# SPDX-License-Identifier: MIT
"""`LaneMap` itself: matrices handed out and put together again, and indices that do not exist."""

import dataclasses

import numpy as np
import pytest

from tests.representatives import REPRESENTATIVES
from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError, UnsupportedInstructionError
from wmma_emu.instructions.spec import OPERANDS
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import LaneMap, fragment_layout, layout_for

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


@pytest.mark.sweep(keep=1 / 4)
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
        (lambda: A.locate(16, 0), "no row 16; legal values are 0 to 15"),
        (lambda: A.locate(0, -1), "no column -1; legal values are 0 to 15"),
        (lambda: A.locate(0, 0, matrix=1), "no matrix 1; legal values are 0 to 0"),
        (lambda: A.element_at(32, 0, 0), "no lane 32; legal values are 0 to 31"),
        (lambda: A.element_at(0, 4, 0), "no register 4; legal values are 0 to 3"),
        (lambda: A.element_at(0, 0, 32), "no bit 32; legal values are 0 to 31"),
        (lambda: A.register_of(8), "no element 8; legal values are 0 to 7"),
        (lambda: A.bit_of(-1), "no element -1; legal values are 0 to 7"),
        (lambda: QUAD_PAIRS.locate(0, 0, 4), "no matrix 4; legal values are 0 to 3"),
    ],
)
def test_an_index_that_does_not_exist_raises_an_index_error_with_the_legal_range(call, message):
    with pytest.raises(OutOfBoundsError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: A.locate(1.5, 0), "the row is 1.5, not an integer; legal values are 0 to 15"),
        (lambda: A.locate("a", 0), "the row is 'a', not an integer"),
        (lambda: A.locate(None, None), "the row is None, not an integer"),
        (lambda: A.locate(0, float("nan")), "the column is nan, not an integer"),
        (lambda: A.locate(np.zeros(2, int), 0), r"the row is array\(\[0, 0\]\), not an integer"),
        (lambda: A.element_at([0], 0), r"the lane is \[0\], not an integer; legal values are 0 to 31"),
        (lambda: A.element_at(0, 0.0), "the register is 0.0, not an integer; legal values are 0 to 3"),
        (lambda: A.bit_of("x" * 999), "the element is 'x{76}..., not an integer"),
    ],
)
def test_an_index_of_another_type_is_refused(call, message):
    with pytest.raises(FragmentMismatchError, match=message):
        call()


def test_an_index_too_long_to_print_is_refused_all_the_same():
    with pytest.raises(OutOfBoundsError, match="there is no row <int>; legal values are 0 to 15"):
        A.locate(10**9999, 0)


def test_wrong_shapes_are_refused():
    with pytest.raises(FragmentMismatchError, match=r"does not end in \(16, 16\)"):
        A.gather(np.zeros((16, 8), np.uint16))
    with pytest.raises(FragmentMismatchError, match=r"not \(8, \*batch, 32\)"):
        A.scatter(np.zeros((8, 16), np.uint16))
    with pytest.raises(FragmentMismatchError, match="outside of the 8 x 16 matrix"):
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
    with pytest.raises(
        UnsupportedInstructionError,
        match=r"operand \['a'\] does not exist; the operands are a, b, "
        r"c, d",
    ):
        layout_for(row, ["a"], "sm_90")
    with pytest.raises(
        UnsupportedInstructionError, match=r"sm_75 \(Turing\) has no .*; the first chip that supports it is sm_80"
    ):
        layout_for(row, "a", "sm_75")
    miscounted = dataclasses.replace(row, num_registers=(2, 1, 4, 4))
    with pytest.raises(UnsupportedInstructionError, match="no layout is modelled for operand a"):
        layout_for(miscounted, "a", "sm_90")


def test_a_shape_that_has_no_figure_follows_the_rule_of_the_others():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    unknown = layout_for(dataclasses.replace(row, k=32, num_registers=(8, 4, 4, 4)), "a", "sm_90")
    assert unknown.status == "inferred" and unknown.matrix_shape == (16, 32)
    assert np.array_equal(unknown.coords[:8], layout_for(row, "a", "sm_90").coords)


def test_a_layout_is_built_once():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    assert layout_for(row, "a", "h200") is layout_for(row, "a", "sm_90")


def test_only_arrays_are_gathered_and_scattered():
    layout = layout_for(INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"], "a", "sm_90")
    for use in (layout.gather, layout.scatter):
        for given in (None, [1], "a"):
            with pytest.raises(FragmentMismatchError, match="must be a NumPy array, not"):
                use(given)


WHOLE = np.stack(np.divmod(np.arange(256), 16), axis=-1).reshape(8, 32, 2)
MADE = {
    "coords": WHOLE, "rows": 16, "cols": 16, "element_bits": 16, "read_elements": 8, "source": "mine", "status": "s",
}  # fmt: skip
WRONG = {
    "bits 0": ({"element_bits": 0}, "element_bits is 0; legal widths are 1, 2, 4, 8, 16, 32, 64"),
    "bits as text": ({"element_bits": "16"}, "element_bits is '16'; legal"),
    "bits as a float": ({"element_bits": 16.0}, "element_bits is 16.0; legal"),
    "bits below 0": ({"element_bits": -4}, "element_bits is -4; legal"),
    "bits 12": ({"element_bits": 12}, "element_bits is 12; legal"),
    "bits 128": ({"element_bits": 128}, "element_bits is 128; legal"),
    "bits True": ({"element_bits": True}, "element_bits is True; legal"),
    "read a text": ({"read_elements": "a"}, "read_elements is 'a'; expected an integer from 1 to 8"),
    "read below 0": ({"read_elements": -1}, "read_elements is -1; expected an integer from 1 to 8"),
    "read 0": ({"read_elements": 0}, "read_elements is 0; expected"),
    "read too many": ({"read_elements": 99}, "read_elements is 99; expected an integer from 1 to 8"),
    "read too few": ({"read_elements": 2}, "a matrix of 16 x 16 elements do not fit: 32 lanes that each read 2"),
    "read half a register": ({"read_elements": 7}, "of which 7 are read, do not fill registers of 32 bits; both must "
                                                   "be multiples of 2"),
    "no elements": ({"coords": WHOLE[:0]}, "number of elements of coords is 0; expected an integer from 1 to 65536"),
    "too many elements": (
        {"coords": np.broadcast_to(np.int64(0), (10**9, 32, 2))}, "elements of coords is 1000000000; expected"
    ),
    "half a register": (
        {"coords": WHOLE[:1], "read_elements": 1, "rows": 2}, r"1 elements of 16 bits, .* do not fill registers"
    ),
    "matrix below 0": ({"matrix_of_lane": -1}, r"matrix_of_lane is of shape \(\), from -1 up; expected numbers"),
    "matrix of half": ({"matrix_of_lane": 0.5}, "matrix_of_lane are an array of float64; give integers"),
    "matrices too few": ({"matrix_of_lane": [0, 0]}, r"matrix_of_lane is of shape \(2,\), .* expected numbers .* "
                                                     r"\(32,\)"),
    "matrices empty": ({"matrix_of_lane": np.zeros(0, int)}, r"matrix_of_lane is of shape \(0,\), from 0 up; expected"),
    "matrices ragged": ({"matrix_of_lane": [[0], [0, 1]]}, "matrix_of_lane are .*, not an array; give "
                                                           "integers"),
    "matrices too many": ({"matrix_of_lane": 10**9}, "1000000001 matrices of 16 x 16 elements do not fit"),
    "rows as text": ({"rows": "16"}, "rows is '16'; expected a positive integer"),
    "rows as a float": ({"rows": 16.0}, "rows is 16.0; expected"),
    "cols 0": ({"cols": 0}, "cols is 0; expected a positive integer"),
    "cols None": ({"cols": None}, "cols is None; expected"),
    "a large matrix": ({"rows": 10**6, "cols": 10**6}, "a matrix of 1000000 x 1000000 elements do not fit: 32 lanes"),
    "a huge matrix": ({"rows": 10**9999}, "a matrix of <int> x 16 elements do not fit: 32 lanes"),
    "coords and a half": ({"coords": WHOLE + 0.5}, "coords are an array of float64; give integers"),
    "coords whole floats": ({"coords": WHOLE.astype(float)}, "coords are an array of float64; give integers"),
    "coords of bools": ({"coords": WHOLE > 3}, "coords are an array of bool; give integers"),
    "coords of objects": ({"coords": WHOLE.astype(object)}, "coords are an array of object; give integers"),
    "coords masked": ({"coords": np.ma.array(WHOLE)}, "coords are a masked array; give integers"),
    "coords ragged": ({"coords": [[1], [2, 3]]}, "coords are .*, not an array; give integers"),
    "coords None": ({"coords": None}, "coords are an array of object; give integers"),
    "coords text": ({"coords": "a"}, "coords are an array of <U1; give integers"),
    "coords below 0": ({"coords": WHOLE - 1}, "coords are outside of the 16 x 16 matrix"),
    "coords beyond int64": ({"coords": WHOLE.astype(np.uint64) + np.uint64(2**63)}, "coords are outside of the 16 x "
                                                                                    "16 matrix"),
    "source 5": ({"source": 5}, "source is 5; expected a string"),
    "status None": ({"status": None}, "status is None; expected a string"),
    "source of controls": ({"source": "a\x00"}, "source is .* without control characters"),
    "status of lines": ({"status": "a\nb"}, "status is .* expected one line"),
    "source a surrogate": ({"source": "\ud800"}, "source is .* without control characters and lone surrogates"),
}  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), WRONG.values(), ids=WRONG)
def test_an_illegal_layout_cannot_be_created(wrong, message):
    with pytest.raises(FragmentMismatchError, match=message):
        LaneMap(**MADE | wrong)


def test_integers_of_numpy_and_of_lists_make_the_same_layout():
    made = LaneMap(**MADE)
    numbers = {name: np.uint16(x) for name, x in MADE.items() if isinstance(x, int)}
    assert LaneMap(**MADE | numbers) == made == LaneMap(**MADE | {"coords": WHOLE.tolist()})
    assert {type(getattr(LaneMap(**MADE | numbers), name)) for name in numbers} == {int}
    assert LaneMap(**MADE | {"coords": WHOLE.astype(np.uint8)}).locate(15, 14) == ((30, 3, 16, 7),)
