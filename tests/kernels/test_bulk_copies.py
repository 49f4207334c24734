# SPDX-License-Identifier: MIT
"""Bulk copies of Python kernels: what they move and when, between which memory, and what is refused."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, OutOfBoundsError, WmmaEmuError

IMAGE = np.arange(8 * 32, dtype=np.float32).reshape(8, 32)


def launched(function, *arguments, **options):
    return we.kernel(**{"findings": "raise", **options})(function)[1, 32](*arguments)


def test_a_box_keeps_its_bytes_until_a_warp_waits():
    seen = []

    def k(t, image):
        box, bar = t.shared((1, 32), np.float32), t.mbarrier()
        box[:] = 7
        bar.init(1)
        t.fence_proxy_async()
        bar.arrive_expect_tx(t.box_bytes(image))
        t.load_tensor(box, image, (3, 0), bar)
        seen.append(float(box[0, 5]))
        yield bar.wait(0)
        seen.append(float(box[0, 5]))

    report = launched(k, we.ptx.tensor_map(IMAGE, (1, 32)), findings="report")
    assert seen == [7.0, 3 * 32 + 5]
    assert [x.kind for x in report.findings] == ["missing wait"]
    text = str(report.findings[0])
    assert "t.load_tensor of line" in text and "yield bar.wait(parity)" in text
    assert "cp.async" not in text and "mbarrier::" not in text


def test_coordinates_and_offsets_are_in_the_order_of_the_axes():
    def k(t, images, out):
        box, bar = t.shared((4, 8), np.float16, align=128), t.mbarrier()
        bar.init(1)
        bar.arrive_expect_tx(64)
        t.load_tensor(box, images, (1, 2, 0, 8), bar, (1, 0))
        yield bar.wait(0)
        out[:] = box[:]

    images = np.arange(2 * 5 * 4 * 16).astype(np.float16).reshape(2, 5, 4, 16)
    out = np.zeros((4, 8), np.float16)
    window = we.ptx.Im2col((0, 0), (0, 0), channels=8, pixels=4)
    launched(k, we.ptx.tensor_map(images, im2col=window), out)
    assert np.array_equal(out, images[1, 3, :, 8:])


def test_a_map_may_describe_an_argument_and_both_see_each_change():
    def k(t, rows, x):
        box, bar = t.shared((1, 32), np.float32), t.mbarrier()
        bar.init(1)
        x[2, t.lane] = -1.0
        t.fence_proxy_async()
        bar.arrive_expect_tx(128)
        t.load_tensor(box, rows, (2, 0), bar)
        yield bar.wait(0)
        t.store_tensor(rows, (0, 0), box)
        t.commit_group()
        t.wait_group(0)
        x[1, t.lane] = x[0, t.lane]

    x = IMAGE.copy()
    launched(k, we.ptx.tensor_map(x, (1, 32)), x)
    assert (x[:3] == -1).all() and np.array_equal(x[3:], IMAGE[3:])


def test_a_bulk_copy_moves_contiguous_bytes_both_ways():
    def k(t, x, out):
        s, bar = t.shared(48, np.float32), t.mbarrier()
        bar.init(1)
        bar.arrive_expect_tx(64)
        t.copy_bulk(s[4:20], x[1, 8:24], bar)
        yield bar.wait(0)
        t.copy_bulk(out[16:], s[4:20])
        t.commit_group()
        t.wait_group(0)

    out = np.zeros(32, np.float32)
    launched(k, IMAGE.copy(), out)
    assert np.array_equal(out, [0.0] * 16 + list(IMAGE[1, 8:24]))


@pytest.mark.parametrize(
    ("dtype", "operation", "expected"),
    [
        (np.float16, "add", [3, 4]), (ml_dtypes.bfloat16, "max", [2, 3]), (np.float64, "add", [3, 4]),
        (np.uint32, "xor", [3, 2]), (np.int32, "min", [1, 1]), (np.uint64, "and", [0, 1]),
    ],
)  # fmt: skip
def test_a_bulk_reduction_combines_elements_of_the_dtype(dtype, operation, expected):
    def k(t, x):
        s = t.shared(32, dtype)
        s[t.lane] = 2 + t.lane % 2
        t.fence_proxy_async()
        t.reduce_bulk(operation, x, s)
        t.commit_group()
        t.wait_group(0)

    x = np.ones(32, dtype)
    launched(k, x)
    assert x[:2].tolist() == expected


def test_lanes_that_share_a_coordinate_are_one_integer():
    def k(t, image, out):
        box, bar = t.shared((1, 32), np.float32), t.mbarrier()
        bar.init(1)
        bar.arrive_expect_tx(128)
        t.load_tensor(box, image, (t.threadIdx.x // 32 + 4, 0), bar)
        yield bar.wait(0)
        out[t.lane] = box[0, t.lane]

    out = np.zeros(32, np.float32)
    launched(k, we.ptx.tensor_map(IMAGE, (1, 32)), out)
    assert np.array_equal(out, IMAGE[4])


def test_shared_memory_begins_where_boxes_may_and_align_asks_for_more():
    found = []

    def k(t):
        arrays = [t.shared(1, np.uint8), t.shared(128, np.uint8), t.shared(8, np.uint8), t.shared(64, "f4", align=1024)]
        found.append([x.ctypes.data % 1024 for x in arrays])

    launched(k)
    assert found == [[0, 128, 256, 0]]


def test_arrays_are_unchanged_by_a_copy_that_the_launch_refuses():
    def k(t, rows):
        box = t.shared((1, 32), np.float32)
        box[:] = 5
        t.fence_proxy_async()
        t.store_tensor(rows, (-1, 0), box)
        t.commit_group()
        t.wait_group(0)

    x = IMAGE.copy()
    report = launched(k, we.ptx.tensor_map(x, (1, 32)), findings="report")
    assert [x.kind for x in report.findings] == ["illegal operand"]
    assert "a coordinate of a store is negative" in report.findings[0].message
    assert np.array_equal(x, IMAGE)


def test_a_store_to_a_read_only_tensor_is_a_finding():
    def k(t, rows):
        box = t.shared((1, 32), np.float32)
        box[:] = 5
        t.fence_proxy_async()
        t.store_tensor(rows, (1, 0), box)
        t.commit_group()
        t.wait_group(0)

    x = IMAGE.copy()
    x.flags.writeable = False
    report = launched(k, we.ptx.tensor_map(x, (1, 32)), findings="report")
    assert [x.kind for x in report.findings] == ["read-only"]
    assert np.array_equal(x, IMAGE)


NOT_AN_ARGUMENT = we.ptx.tensor_map(IMAGE, (1, 32))

WRONG = [
    (lambda t, m, x, s, b: t.load_tensor(s, x, (0, 0), b), ArgumentError, "a tensor map is needed, not .*tensor_map"),
    (lambda t, m, x, s, b: t.load_tensor(s, NOT_AN_ARGUMENT, (0, 0), b), ArgumentError, "not an argument of the"),
    (lambda t, m, x, s, b: t.load_tensor(s, m, (0,), b), ArgumentValueError, "takes 2 integers"),
    (lambda t, m, x, s, b: t.load_tensor(s, m, (0, 0.5), b), ArgumentValueError, "takes 2 integers"),
    (lambda t, m, x, s, b: t.load_tensor(s, m, (0, 0), b, (1,)), ArgumentValueError, "takes 0 integers"),
    (lambda t, m, x, s, b: t.load_tensor(s[8:], m, (0, 0), b), OutOfBoundsError, "takes 128 bytes .* array has 96"),
    (lambda t, m, x, s, b: t.load_tensor(x, m, (0, 0), b), ArgumentError, "the box is in global memory"),
    (lambda t, m, x, s, b: t.load_tensor(s, m, (0, 0), 0), ArgumentError, r"a barrier of t.mbarrier\(\) is needed"),
    (lambda t, m, x, s, b: t.load_tensor(np.zeros(32), m, (0, 0), b), ArgumentError, "neither in shared memory nor"),
    (lambda t, m, x, s, b: t.reduce_tensor("sum", m, (0, 0), s), OptionError, "not a reduction; reductions are add"),
    (lambda t, m, x, s, b: t.reduce_tensor("and", m, (0, 0), s), OptionError, "and does not reduce elements of f32"),
    (lambda t, m, x, s, b: t.copy_bulk(s, x[0]), ArgumentError, "needs an mbarrier: t.copy_bulk"),
    (lambda t, m, x, s, b: t.copy_bulk(x[0], s, b), ArgumentError, "takes no mbarrier"),
    (lambda t, m, x, s, b: t.copy_bulk(x[0], x[1], b), ArgumentError, "not within global memory"),
    (lambda t, m, x, s, b: t.copy_bulk(s, x[0, :8], b), ArgumentValueError, "target has 128 bytes and the source 32"),
    (lambda t, m, x, s, b: t.copy_bulk(s[:8], x[:, 0], b), ArgumentValueError, "has gaps"),
    (lambda t, m, x, s, b: t.reduce_bulk("add", x[0], s.view(np.int32)), ArgumentError, "not int32 in shared memory"),
    (lambda t, m, x, s, b: t.reduce_bulk("xor", x[0], s), OptionError, "xor does not reduce float32; its types"),
    (lambda t, m, x, s, b: t.wait_group(-1), OptionError, "an integer from 0 upwards, not -1"),
    (lambda t, m, x, s, b: t.shared(4, "f4", align=2), OptionError, "legal ones are 4, 8, 16, 32"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "error", "text"), WRONG)
def test_wrong_uses_say_what_is_legal(wrong, error, text):
    def k(t, m, x):
        s, bar = t.shared(32, np.float32), t.mbarrier()
        bar.init(1)
        wrong(t, m, x, s, bar)

    with pytest.raises(error, match=text) as caught:
        launched(k, we.ptx.tensor_map(IMAGE, (1, 32)), IMAGE.copy())
    assert isinstance(caught.value, WmmaEmuError)
