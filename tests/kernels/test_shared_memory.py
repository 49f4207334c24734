# SPDX-License-Identifier: MIT
"""Shared memory: one array a declaration and a block, full of ones at first, and no more of it than the chip has."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma
from wmma_emu.errors import AlignmentError, DivergenceError, UnsupportedInstructionError
from wmma_emu.instructions import ARCHS
from wmma_emu.instructions.launches import LAUNCH_LIMITS

DTYPES = [bool, np.int8, np.uint8, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.int32, np.float32,
          np.uint64, np.float64, np.complex64]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_warps_of_a_block_see_one_array_and_other_blocks_another(dtype):
    arrays = {}

    @we.kernel
    def declare(t):
        s = t.shared((3, 5), dtype)
        if t.warp_id == 0:
            assert (s.shape, s.dtype) == ((3, 5), np.dtype(dtype))
            assert s.tobytes() == (b"\1" if dtype is bool else b"\xff" * s.itemsize) * 15
        arrays.setdefault(t.blockIdx.x, []).append(s)
        s[:] = 0

    declare[2, 96]()
    assert all(x is arrays[block][0] for block in (0, 1) for x in arrays[block])
    assert not np.shares_memory(arrays[0][0], arrays[1][0])


def test_a_declaration_is_one_array_in_loops_in_functions_and_in_any_order():
    def scratch(t):
        return t.shared(4, np.int32)

    found = []

    @we.kernel
    def declare(t):
        names = {}
        for i in range(3):
            names[f"loop {i}"] = t.shared(4, np.int32)
        names["call 0"], names["call 1"] = scratch(t), scratch(t)
        if t.warp_id == 1:
            names["first in warp 1"] = t.shared(8, np.int32)
        names["both"] = t.shared(8, np.int32)
        names["same", "line"], names["line"] = t.shared(4, np.int32), t.shared(4, np.int32)
        found.append({name: id(x) for name, x in names.items()})

    declare[1, 64]()
    first, second = found
    assert second == {**first, "first in warp 1": second["first in warp 1"]}
    assert first["loop 0"] == first["loop 1"] == first["loop 2"]
    assert first["call 0"] == first["call 1"]
    assert len({*second.values()}) == 6


def test_a_declaration_keeps_its_shape_and_its_dtype():
    @we.kernel
    def shape(t):
        t.shared(4 + t.warp_id, np.float32)

    @we.kernel
    def dtype(t):
        for kind in (np.float32, np.int32):
            t.shared(4, kind)

    with pytest.raises(DivergenceError) as caught:
        shape[1, 64]()
    assert str(caught.value) == (
        "this t.shared is float32 of shape (5,) in warp 1, but was float32 of shape (4,) before; one declaration is "
        "one array for the whole block; write two declarations for two arrays"
    )
    with pytest.raises(DivergenceError, match=r"is int32 of shape \(4,\) in warp 0, but was float32 of shape"):
        dtype[1, 64]()


@pytest.mark.parametrize("arch", ARCHS)
def test_the_arrays_of_a_block_fit_the_chip(arch):
    most = LAUNCH_LIMITS[arch].shared_bytes

    @we.kernel(arch=arch)
    def declare(t, second):
        t.shared(most // 2, np.uint8)
        t.shared((most // 4, 1), np.uint16)
        if second:
            t.shared(1, np.uint8)

    declare[2, 64](False)
    with pytest.raises(UnsupportedInstructionError) as caught:
        declare[1, 64](True)
    assert str(caught.value) == (
        f"the block needs {most + 1} bytes of shared memory, 1 of them for this array; {arch} has at most {most}: "
        "declare smaller arrays, or a narrower dtype"
    )


@pytest.mark.parametrize("shape", [0, -1, 2.0, "4", None, (), (4, 0), True, (2, False), np.ones(2, int)], ids=repr)
def test_a_shape_consists_of_positive_integers(shape):
    with pytest.raises(UnsupportedInstructionError, match="the shape of shared memory must be a positive integer"):
        we.kernel(lambda t: t.shared(shape, np.int8))[1, 32]()


@pytest.mark.parametrize("dtype", [None, object, "no", "S4", "V4", "M8[s]", ">f4", [("x", "f4")], wmma.half], ids=repr)
def test_a_dtype_is_one_of_numbers(dtype):
    with pytest.raises(UnsupportedInstructionError, match="the dtype of shared memory must be a number type of NumPy"):
        we.kernel(lambda t: t.shared(4, dtype))[1, 32]()


def test_a_uniform_value_of_lanes_is_a_size():
    shapes = []

    @we.kernel
    def declare(t):
        shapes.append(t.shared((t.threadIdx.x // 64 + 2, np.int8(3)), "f4").shape)

    declare[1, 64]()
    assert shapes == [(2, 3), (2, 3)]


def test_fragments_are_loaded_from_and_stored_to_shared_memory_that_begins_aligned():
    x = np.arange(256, dtype=np.float16)
    out = np.zeros(256, np.float16)

    @we.kernel
    def through(t, offset):
        t.shared(1, np.int8)  # the next array begins aligned all the same
        s = t.shared((16, 16), np.float16).reshape(-1)
        if t.warp_id == 0:
            for i in range(0, 256, 32):
                s[i + t.lane] = x[i + t.lane]
        yield t.syncthreads()
        if t.warp_id == 1:
            a = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.half)
            wmma.load_matrix_sync(a, s[offset:], 16, wmma.mem_row_major)
            wmma.store_matrix_sync(out, a, 16, wmma.mem_col_major)

    through[1, 64](0)
    np.testing.assert_array_equal(out.reshape(16, 16), x.reshape(16, 16).T)
    with pytest.raises(AlignmentError, match="the pointer is 2 bytes from the start of its buffer"):
        through[1, 64](1)
