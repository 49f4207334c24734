# SPDX-License-Identifier: MIT
"""Arrays as memory: views that are not contiguous, and raw bytes."""

import mmap

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import entry
from wmma_emu.errors import FragmentMismatchError

COPY = entry(
    ".param .u64 x, .param .u64 y, .param .s64 step",
    """.reg .b64 %a<6>; .reg .b32 %r<3>;
    ld.param.u64 %a0, [x]; ld.param.u64 %a1, [y]; ld.param.s64 %a2, [step];
    mov.u32 %r0, %tid.x;
    cvt.u64.u32 %a3, %r0; mul.lo.s64 %a4, %a3, %a2; add.s64 %a0, %a0, %a4;
    ld.global.u32 %r1, [%a0];
    shl.b64 %a5, %a3, 2; add.s64 %a1, %a1, %a5;
    st.global.u32 [%a1], %r1;
    ret;""",
)
"""y[i] = the word that is i * step bytes after x; one thread per word."""

VIEWS = {
    "transposed": lambda x: x.T,
    "Fortran": lambda x: np.asfortranarray(x),
    "every second column": lambda x: x[:, ::2],
    "columns": lambda x: x[:, 1:3],
    "backwards": lambda x: x[::-1],
    "broadcast": lambda x: np.broadcast_to(x[0], (3, 4)),
    "a field": lambda x: x.view([("a", "<u4"), ("b", "<u4")])["a"],
}


def copied(x, step, count):
    y = np.zeros(count, np.uint32)
    we.ptx.Module(COPY, arch="sm_90", findings="raise").kernel[1, count](x, y, step)
    return y.tolist()


def words():
    return np.arange(12, dtype=np.uint32).reshape(3, 4)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_that_is_not_contiguous_is_refused_with_both_remedies(view):
    with pytest.raises(
        FragmentMismatchError, match=r"not contiguous .* np\.ascontiguousarray\(x\).*wmma_emu\.ptx\.raw"
    ):
        copied(view(words()), 4, 2)
    with pytest.raises(FragmentMismatchError, match=r"an array in argument 0 .* not contiguous"):
        text = entry(".param .align 8 .b8 s[16]", "ret;")
        we.ptx.Module(text).kernel[1, 1](we.ptx.Struct(view(words()), np.int32(3)))


@pytest.mark.parametrize("array", [
    words()[1:], words()[1:2, 1:3], words()[:, :1][:1], words().reshape(-1)[3:7], words()[:0], np.array(3, np.uint32),
    np.asfortranarray(words()[:1]),
], ids=["rows", "of a row", "one", "flat", "none", "no axes", "one row"])  # fmt: skip
def test_a_slice_that_is_contiguous_is_legal(array):
    if array.size:
        assert copied(array, 4, array.size) == array.ravel().tolist()
    else:
        copied(words(), 4, 1)


@pytest.mark.parametrize(("view", "step", "expected"), [
    ("transposed", 16, [0, 4, 8]), ("transposed", 4, list(range(12))), ("Fortran", 4, words().T.ravel().tolist()),
    ("every second column", 8, [0, 2, 4, 6, 8, 10]), ("columns", 16, [1, 5, 9]), ("backwards", -16, [8, 4, 0]),
    ("broadcast", 4, [0, 1, 2, 3]), ("a field", 8, [0, 2, 4, 6, 8, 10]),
])  # fmt: skip
def test_raw_views_pass_the_bytes_in_memory(view, step, expected):
    assert copied(we.ptx.raw(VIEWS[view](words())), step, len(expected)) == expected


def test_bytes_after_the_view_are_out_of_bounds():
    with pytest.raises(we.errors.KernelFindingsError, match="out of bounds"):
        copied(we.ptx.raw(words()[:, 1:3]), 16, 4)


def test_kernels_write_into_the_array_of_raw_memory():
    x, whole = np.arange(4, dtype=np.uint32), np.zeros((4, 3), np.uint32)
    we.ptx.Module(COPY, arch="sm_90", findings="raise").kernel[1, 4](x, we.ptx.raw(whole[:, 1:].T), 4)
    assert whole.ravel().tolist() == [0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0]


def test_raw_memory_overlaps_the_array_that_it_is_of():
    x = np.arange(8, dtype=np.uint32)
    we.ptx.Module(COPY, arch="sm_90", findings="raise").kernel[1, 2](we.ptx.raw(x[6::-2]), x[:2], -8)
    assert x.tolist() == [6, 4, 2, 3, 4, 5, 6, 7]


def test_raw_memory_is_as_aligned_as_in_its_buffer():
    text = entry(".param .u64 .ptr .global .align 16 p", "ret;")
    launch = we.ptx.Module(text).kernel[1, 1]
    x = np.zeros((4, 8), np.uint32)
    launch(we.ptx.raw(x[:, 4:]))
    with pytest.raises(we.errors.AlignmentError, match="starts 8 bytes after"):
        launch(we.ptx.raw(x[:, 2:]))
    file = mmap.mmap(-1, 4096)
    with pytest.raises(we.errors.AlignmentError, match="starts 4 bytes after"):
        launch(np.frombuffer(file, np.uint32)[1:])


def test_raw_memory_of_no_elements_and_of_no_axes():
    assert we.ptx.raw(np.zeros((0, 3))).memory.size == 0
    assert we.ptx.raw(np.array(1.0)).memory.tobytes() == np.float64(1).tobytes()
    assert repr(we.ptx.raw(we.ptx.raw(np.zeros(2)))) == "raw(float64, shape (2,))"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("steps", [(1, 1, 1), (-1, 2, 1), (1, -1, -3), (-2, -1, -1)])
def test_raw_memory_has_every_element_at_its_strides(order, steps):
    base = np.arange(4 * 5 * 6, dtype=np.uint16).reshape(4, 5, 6)
    view = base[tuple(slice(None, None, x) for x in steps)].transpose(order)
    found = we.ptx.raw(view)
    for index in np.ndindex(view.shape):
        at = found.offset + sum(i * s for i, s in zip(index, view.strides, strict=True))
        assert found.memory[at : at + 2].view(np.uint16)[0] == view[index]


_LONG = pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="the host's long double is a double here")


@pytest.mark.parametrize(("array", "message"), [
    (np.array(["a", "bc"]), r"an array of text \(<U2, shape \(2,\)\), which kernels cannot read: pass its bytes"),
    (np.array([b"a"]), "an array of text"),
    (np.array(["2026-11-23"], "M8[D]"), r"an array of dates .* x\.view\(np\.int64\)"),
    (np.zeros(2, "m8[s]"), r"an array of times .* x\.view\(np\.int64\)"),
    (np.array([None]), "an array of Python objects"),
    (np.zeros(2, [("a", "O")]), "an array of Python objects"),
    (np.zeros(2, "V4"), r"an array of bytes without a type .* x\.view\(np\.uint32\)"),
    (np.zeros(2, "V3"), r"x\.view\(np\.uint8\)"),
    (np.zeros(2, [("a", "f4"), ("b", "U3")]), "an array of text"),
    (np.zeros(2, [("a", "f4"), ("b", [("c", "M8[s]", (2, 2))])]), "an array of dates"),
    (np.zeros(2, [("a", "V4")]), "an array of bytes without a type"),
    pytest.param(np.zeros(2, np.longdouble), r"the host's long double .* pass x\.astype\(np\.float64\)", marks=_LONG),
    pytest.param(np.zeros(2, np.clongdouble), r"long double .* pass x\.astype\(np\.complex128\)", marks=_LONG),
])  # fmt: skip
def test_arrays_without_numbers_are_rejected(array, message):
    with pytest.raises(FragmentMismatchError, match=message):
        copied(array, 4, 1)


@pytest.mark.parametrize(("given", "message"), [
    ([1, 2], r"raw takes a NumPy array, not \[1, 2\]"), (np.array([None]), "Python objects"),
    (np.ma.zeros(3), "masked"),
])  # fmt: skip
def test_raw_takes_arrays_of_plain_bytes(given, message):
    with pytest.raises(FragmentMismatchError, match=message):
        we.ptx.raw(given)


def test_structures_of_numbers_are_arrays():
    pairs = np.array([(1, 2), (3, 4)], [("a", "i4"), ("b", "i4", (1,))])
    assert copied(pairs, 4, 4) == [1, 2, 3, 4]


def test_text_and_dates_can_be_passed_as_bytes():
    assert copied(we.ptx.raw(np.array(["a"])), 4, 1) == [ord("a")]
    assert copied(we.ptx.raw(np.array([5], "m8[s]")), 4, 2) == [5, 0]
