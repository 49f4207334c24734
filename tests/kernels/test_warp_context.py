# SPDX-License-Identifier: MIT
"""The functions of a warp that a kernel calls on ``t``: the functions of other packages, with `Lanes` for lanes."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS
from wmma_emu.kernels import Lanes
from wmma_emu.scalar import bitwise
from wmma_emu.warp import shuffle, vote

ALL = 0xFFFF_FFFF
VALUES = np.arange(32, dtype=np.int32) * 7 % 5


def in_kernel(function, arch="sm_90"):
    """What a function of ``t`` returns in a kernel."""
    results = []
    we.kernel(arch=arch)(lambda t: results.append(function(t)))[1, 32]()
    return results[0]


def same(result, expected):
    assert result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("name", "mode"), [("", "idx"), ("up_", "up"), ("down_", "down"), ("xor_", "bfly")])
def test_shuffles_give_lanes_for_lanes_and_arrays_for_arrays(name, mode):
    expected = shuffle.shuffled(mode, ALL, VALUES, 3, 8)
    for kind in (Lanes, np.ndarray):
        result = in_kernel(lambda t: getattr(t, f"shfl_{name}sync")(ALL, VALUES.view(kind), 3, 8))  # noqa: B023
        assert type(result) is kind
        same(result, expected)


def test_masks_widths_and_operands_may_be_values_that_all_lanes_share():
    result = in_kernel(lambda t: t.shfl_sync(t.lane * 0 + ALL, VALUES, t.lane // 32 + 1, t.lane // 32 + 8))
    same(result, shuffle.shuffled("idx", ALL, VALUES, 1, 8))


def test_votes_and_matches_equal_the_functions_of_the_vote_module():
    expected = vote.voted("ballot", 0xFFFF, np.arange(32) % 3 == 0)
    assert in_kernel(lambda t: t.ballot_sync(0xFFFF, t.lane % 3 == 0)) == expected
    votes = in_kernel(lambda t: (t.all_sync(ALL, 1), t.any_sync(ALL, 0), t.any_sync(4, t.lane == 2)))
    assert votes == (True, False, True) and {type(x) for x in votes} == {bool}
    assert in_kernel(lambda t: t.match_all_sync(3, VALUES // 9)) == (3, True)
    result = in_kernel(lambda t: t.match_any_sync(ALL, VALUES))
    assert type(result) is Lanes
    same(result, vote.match_any_sync(ALL, VALUES))
    assert in_kernel(lambda t: t.activemask()) == ALL


@pytest.mark.parametrize("name", ["add", "min", "max", "and", "or", "xor"])
def test_reductions_begin_with_sm_80(name):
    words = VALUES.astype(np.uint32)
    for arch in ARCHS:

        def call(t):
            return getattr(t, f"reduce_{name}_sync")(0xFFFF00, words)

        if int(arch[3:]) < 80:
            with pytest.raises(UnsupportedInstructionError, match=f"{arch} does not support reduce_{name}_sync"):
                in_kernel(call, arch)
        else:
            result = in_kernel(call, arch)
            assert type(result) is Lanes
            same(result, vote.reduce_sync(name, 0xFFFF00, words))


@pytest.mark.parametrize("name", bitwise.__all__)
def test_operations_on_bits_are_the_functions_of_the_bitwise_module(name):
    assert in_kernel(lambda t: getattr(t, name)) is getattr(bitwise, name)


def test_lanes_of_a_warp_wait_for_one_another_without_a_yield():
    assert in_kernel(lambda t: t.syncwarp()) is None
    with pytest.raises(UnsupportedInstructionError, match="a mask of lanes has 32 bits"):
        in_kernel(lambda t: t.syncwarp(0))


def test_a_sum_over_the_block_by_shuffles_shared_memory_and_a_barrier():
    x = np.arange(256, dtype=np.int32) ** 2
    out = np.zeros(1, np.int32)

    @we.kernel
    def block_sum(t):
        parts = t.shared(8, np.int32)
        value = Lanes(x[t.threadIdx.x])
        for step in (16, 8, 4, 2, 1):
            value += t.shfl_xor_sync(ALL, value, step)
        parts[t.warp_id] = t.uniform(value)
        yield t.syncthreads()
        if t.warp_id == 0:
            out[0] = parts.sum()

    block_sum[1, 256]()
    assert out[0] == x.sum()
