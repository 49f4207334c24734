# SPDX-License-Identifier: MIT
"""The rules of Python kernels, one fact per test.

A launch runs blocks of whole warps. A warp is one call of the function; numbers of its 32 lanes are arrays of 32.
"""

import numpy as np
import pytest

import wmma_emu as we


def test_a_launch_calls_the_function_once_per_warp():
    calls = []

    @we.kernel
    def k(t):
        calls.append((tuple(t.blockIdx), t.warp_id))

    k[2, 64]()
    assert sorted(calls) == [((0, 0, 0), 0), ((0, 0, 0), 1), ((1, 0, 0), 0), ((1, 0, 0), 1)]


def test_an_array_index_of_lanes_writes_one_element_per_lane():
    D = np.zeros(32, np.int32)

    @we.kernel
    def k(t, D):
        D[t.lane] = t.lane * 2

    k[1, 32](D)
    assert D.tolist() == list(range(0, 64, 2))


def test_a_mask_of_lanes_restricts_a_write():
    D = np.zeros(32, np.int32)

    @we.kernel
    def k(t, D):
        i = t.lane
        c = i < 3
        D[i[c]] = 7

    k[1, 32](D)
    assert D.tolist() == [7] * 3 + [0] * 29


def test_a_slice_is_a_pointer_into_the_same_memory():
    D = np.zeros(64, np.int32)

    @we.kernel
    def k(t, D):
        row = D[32:]
        row[t.lane] = t.lane

    k[1, 32](D)
    assert D[:32].tolist() == [0] * 32
    assert D[32:].tolist() == list(range(32))


def test_a_barrier_orders_the_writes_and_reads_of_warps():
    D = np.zeros(64, np.int32)

    @we.kernel
    def k(t, D):
        s = t.shared(64, np.int32)
        i = t.warp_id * 32 + t.lane
        s[i] = i
        yield t.syncthreads()
        D[i] = s[63 - i]

    k[1, 64](D)
    assert D.tolist() == list(range(63, -1, -1))


def test_a_shuffle_reads_the_value_of_another_lane():
    D = np.zeros(32, np.int32)

    @we.kernel
    def k(t, D):
        D[t.lane] = t.shfl_xor_sync(0xFFFFFFFF, t.lane, 1)

    k[1, 32](D)
    assert D[:4].tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize("index", [-1, 32])
def test_an_index_outside_an_array_is_an_error(index):
    @we.kernel
    def k(t, D):
        D[index] = 1

    with pytest.raises(we.OutOfBoundsError, match="is out of bounds for axis 0, which has 32 elements"):
        k[1, 32](np.zeros(32, np.int32))


def test_a_condition_on_which_lanes_disagree_is_an_error():
    @we.kernel
    def k(t):
        if t.lane < 16:
            pass

    with pytest.raises(we.DivergenceError, match="True in lanes 0-15, False in lanes 16-31"):
        k[1, 32]()


def test_warps_at_different_barriers_are_an_error():
    @we.kernel
    def k(t):
        if t.warp_id == 0:
            yield t.syncthreads()
        else:
            yield t.syncthreads()

    with pytest.raises(we.DivergenceError, match="the warps of the block wait at different barriers"):
        k[1, 64]()


def test_a_block_has_whole_warps():
    with pytest.raises(we.LaunchConfigurationError, match="the block has 100 threads, not a multiple of 32"):
        we.kernel(lambda t: None)[1, 100]()
