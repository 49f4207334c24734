# SPDX-License-Identifier: MIT
"""Launches: which warps run, in which order, with which indices, and what goes through or is refused on the way."""

import copy
import functools
import pickle

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import DivergenceError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions import ARCHS
from wmma_emu.instructions.launches import LAUNCH_LIMITS
from wmma_emu.kernels import Dim3, Lanes
from wmma_emu.warp.vote import REDUX

GRIDS = [1, 5, (3,), (2, 3), (2, 3, 4), [2, 1, 2]]
BLOCKS = [32, 96, (64, 2), (8, 4), (4, 4, 4), (5, 32), (1, 1, 64), (16, 2, 3), (3, 32, 1)]


@we.kernel
def module_level(t, out):
    out[t.blockIdx.x] += 1


def sizes(given):
    given = given if isinstance(given, tuple | list) else (given,)
    return (*given, 1, 1)[:3]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_thread_runs_once_with_the_indices_that_the_nested_loops_give_it(grid, block):
    runs = []

    @we.kernel
    def record(t):
        assert (tuple(t.gridDim), tuple(t.blockDim)) == (sizes(grid), sizes(block))
        threads = zip(t.threadIdx.x.tolist(), t.threadIdx.y.tolist(), t.threadIdx.z.tolist(), strict=True)
        runs.append((tuple(t.blockIdx), t.warp_id, list(threads), t.lane.tolist()))

    record[grid, block]()
    (gx, gy, gz), (bx, by, bz) = sizes(grid), sizes(block)
    threads = [(x, y, z) for z in range(bz) for y in range(by) for x in range(bx)]
    expected = [
        ((x, y, z), w, threads[32 * w : 32 * w + 32], list(range(32)))
        for z in range(gz)
        for y in range(gy)
        for x in range(gx)
        for w in range(bx * by * bz // 32)
    ]
    assert runs == expected


def test_block_indices_are_integers_and_thread_indices_are_read_only_lanes():
    @we.kernel(arch="sm_80")
    def look(t):
        assert all(type(x) is int for size in (t.blockIdx, t.blockDim, t.gridDim) for x in size)
        assert type(t.warp_id) is int
        assert all(type(x) is Lanes and x.shape == (32,) for x in (t.lane, *t.threadIdx))
        assert (t.arch.name, t.warpSize) == ("sm_80", 32)
        for x in (t.lane, *t.threadIdx):
            with pytest.raises(ValueError, match="read-only"):
                x[0] = 5

    look[1, 64]()


def test_warps_of_a_block_run_in_turn_up_to_their_next_barrier():
    steps = []

    @we.kernel
    def step(t):
        steps.append((t.blockIdx.x, t.warp_id, 0))
        yield t.syncthreads()
        steps.append((t.blockIdx.x, t.warp_id, 1))

    step[2, 96]()
    assert steps == [(block, warp, part) for block in range(2) for part in range(2) for warp in range(3)]


def test_a_grid_too_large_for_any_list_runs_block_by_block_and_can_be_interrupted():
    seen = []

    @we.kernel
    def endless(t):
        seen.append(t.blockIdx.x)
        if t.blockIdx.x == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        endless[(2**31 - 1, 65535, 65535), 32]()
    assert seen == list(range(10))


def test_defaults_and_keywords_reach_the_function_under_any_name():
    seen = []

    @we.kernel
    def named(t, a, grid=2, *, block_size=3, self=4):
        seen.append((a, grid, block_size, self))

    named[1, 32](1)
    named[1, 32](1, grid=5, block_size=6, self=7)
    assert seen == [(1, 2, 3, 4), (1, 5, 6, 7)]


def test_lambdas_partials_callable_objects_and_bound_methods_are_kernels():
    seen = []

    class Callable:
        def __call__(self, t):
            seen.append("object")

        def method(self, t):
            seen.append("method")

    we.kernel(lambda t: seen.append("lambda"))[1, 32]()
    we.kernel(functools.partial(lambda x, t: seen.append(x), "partial"))[1, 32]()
    we.kernel(Callable())[1, 32]()
    we.kernel(Callable().method)[1, 32]()
    assert seen == ["lambda", "partial", "object", "method"]


def test_a_kernel_in_a_class_is_bound_as_a_function_is():
    class Product:
        scale = 3

        @we.kernel(arch="sm_75")
        def run(self, t, x):
            x[t.lane] *= self.scale

        @staticmethod
        @we.kernel
        def fixed(t, x):
            x[t.lane] += 1

    x = np.arange(32)
    Product().run[1, 32](x)
    Product.fixed[1, 32](x)
    np.testing.assert_array_equal(x, np.arange(32) * 3 + 1)
    assert repr(Product().run) == "<kernel run on sm_75>"


def test_kernels_are_copied_and_pickled_as_functions_are():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy([module_level])[0] is module_level


def test_a_kernel_keeps_name_and_docstring_of_its_function():
    @we.kernel
    def documented(t):
        """What it does."""

    assert (documented.__name__, documented.__doc__, documented.name) == ("documented", "What it does.", "documented")


def test_a_kernel_launches_others_and_itself():
    seen = []

    @we.kernel
    def child(t, parent):
        yield t.syncthreads()
        seen.append((parent, t.warp_id))

    @we.kernel
    def parent(t, depth):
        child[1, 64](depth)
        yield t.syncthreads()
        if depth:
            parent[1, 32](depth - 1)

    parent[1, 32](2)
    assert seen == [(depth, warp) for depth in (2, 1, 0) for warp in (0, 1)]


def test_an_error_is_noted_with_kernel_block_and_warp_of_every_launch_it_passes():
    @we.kernel
    def inner(t):
        if t.warp_id == 1:
            raise KeyError("mine")

    @we.kernel
    def outer(t):
        yield t.syncthreads()
        if t.blockIdx.y == 1:
            inner[1, 64]()

    with pytest.raises(KeyError, match="mine") as caught:
        outer[(1, 2), 32]()
    assert caught.value.__notes__ == [
        "in kernel inner, block (0, 0, 0), warp 1",
        "in kernel outer, block (0, 1, 0), warp 0",
    ]


def test_what_was_written_before_an_error_stays_and_later_warps_do_not_run():
    x = np.zeros(3)

    @we.kernel
    def fails(t):
        x[t.blockIdx.x] = 1
        if t.blockIdx.x == 1:
            raise ValueError

    with pytest.raises(ValueError):
        fails[3, 32]()
    assert x.tolist() == [1, 1, 0]


def test_finally_blocks_of_waiting_warps_run_after_an_error_whatever_they_do():
    ended = []

    @we.kernel
    def fails(t):
        try:
            yield t.syncthreads()
            if t.warp_id == 1:
                raise KeyError("the first error")
            yield t.syncthreads()
        finally:
            ended.append(t.warp_id)
            if t.warp_id == 2:
                raise OSError("an error while another passes")

    with pytest.raises(KeyError, match="the first error") as caught:
        fails[1, 128]()
    assert sorted(ended) == [0, 1, 2, 3]
    assert caught.value.__notes__ == [
        "in kernel fails, block (0, 0, 0), warp 1",
        "then warp 2 failed while it was terminated: an error while another passes",
    ]


def test_a_barrier_in_a_finally_block_does_not_replace_what_is_reported():
    @we.kernel
    def fails(t):
        try:
            yield t.syncthreads()
            if t.warp_id == 1:
                raise ValueError("waits in the finally block, with its warp")
            yield t.syncthreads()
        finally:
            yield t.syncthreads()

    with pytest.raises(DivergenceError, match="the warps of the block wait at different barriers") as caught:
        fails[1, 64]()
    assert caught.value.__notes__[1] == "then warp 0 failed while it was terminated: generator ignored GeneratorExit"


def test_stop_iteration_raised_by_a_kernel_is_not_taken_for_its_end():
    def plain(t):
        raise StopIteration(3)

    def generator(t):
        yield t.syncthreads()
        raise StopIteration(3)

    with pytest.raises(StopIteration):
        we.kernel(plain)[1, 32]()
    with pytest.raises(RuntimeError, match="StopIteration"):
        we.kernel(generator)[1, 32]()


def test_arguments_that_do_not_fit_are_refused_before_any_warp_runs():
    def fill(t, x):
        x[:] = 1

    x = np.zeros(4)
    for args, kwargs in [((), {}), ((x, 2), {}), ((x,), {"y": 2}), ((), {"t": 1, "x": x})]:
        with pytest.raises(FragmentMismatchError, match=r"fill\(t, x\) does not take these arguments: "):
            we.kernel(fill)[1, 32](*args, **kwargs)
    assert not x.any()


async def coroutine(t):
    pass


async def async_generator(t):
    yield


@pytest.mark.parametrize(
    "wrong",
    [int, coroutine, async_generator, module_level, 3, None.__class__],
    ids=lambda x: getattr(x, "__name__", repr(x)),
)
def test_a_kernel_must_be_a_function(wrong):
    with pytest.raises(UnsupportedInstructionError, match="a kernel must be a plain function"):
        we.kernel(wrong)


SHARED_KIB = {"sm_70": 96, "sm_72": 96, "sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90": 227,
              "sm_100": 227, "sm_103": 227, "sm_120": 99, "sm_121": 99}  # fmt: skip


@pytest.mark.parametrize("arch", ARCHS)
def test_every_chip_has_limits_and_takes_them_and_no_more(arch):
    assert list(LAUNCH_LIMITS) == list(ARCHS)
    limits = LAUNCH_LIMITS[arch]
    assert (limits.grid, limits.block, limits.threads) == ((2**31 - 1, 65535, 65535), (1024, 1024, 64), 1024)
    assert limits.shared_bytes == SHARED_KIB[arch] * 1024
    assert limits.source and limits.status == ("inferred" if arch == "sm_72" else "documented")
    k = we.kernel(arch=arch)(lambda t: None)
    k[limits.grid, limits.threads]
    k[1, limits.threads]()
    for axis in range(3):
        for launch, size in ((0, limits.grid), (1, limits.block)):
            given = [1, 32]
            given[launch] = size._replace(**{"xyz"[axis]: size[axis] + 1})
            with pytest.raises(UnsupportedInstructionError, match=f"is {size[axis] + 1}; {arch} takes at most"):
                k[tuple(given)]
    with pytest.raises(UnsupportedInstructionError, match=f"1056 threads; {arch} takes at most 1024"):
        k[1, (33, 32)]


@pytest.mark.parametrize("one", [1, np.int8(1), np.array(1), Lanes([1] * 32), Dim3(1), (np.uint64(1), 1)], ids=repr)
def test_any_integer_is_a_size(one):
    seen = []
    we.kernel(lambda t: seen.append(tuple(t.gridDim)))[one, 32]()
    assert seen == [(1, 1, 1)]
    assert all(type(x) is int for x in seen[0])


NO_SIZES = [0, -1, 1.0, "1", None, True, (), (1, 1, 1, 1), (1, 0), [2.5], np.ones(2, int), Lanes(range(32)), 10**5000]


@pytest.mark.parametrize("wrong", NO_SIZES, ids=type)
def test_sizes_other_than_positive_integers_are_refused(wrong):
    for launch in ((wrong, 32), (1, wrong)):
        with pytest.raises(we.WmmaEmuError):
            module_level[launch]


def test_a_generator_that_never_yields_and_one_that_never_starts_waiting_end_normally():
    seen = []

    def never(t):
        seen.append(t.warp_id)
        return
        yield

    we.kernel(never)[1, 64]()
    assert seen == [0, 1]


@pytest.mark.parametrize("value", [0, False, "x", [1]], ids=repr)
@pytest.mark.parametrize("waits", [False, True])
def test_a_kernel_returns_nothing(value, waits):
    def plain(t):
        return value

    def generator(t):
        yield t.syncthreads()
        return value

    with pytest.raises(UnsupportedInstructionError, match="a kernel must not return a value"):
        we.kernel(generator if waits else plain)[1, 32]()


def test_chips_before_sm_80_have_no_reductions_of_a_warp():
    assert REDUX.source and (REDUX.since, REDUX.status) == ("sm_80", "documented")
    for arch in ARCHS:
        reduce = we.kernel(arch=arch)(lambda t: t.reduce_add_sync(0xFFFFFFFF, np.ones(32, np.int32)))
        message = "does not support reduce_add_sync" if arch in ("sm_70", "sm_72", "sm_75") else "returned"
        with pytest.raises(UnsupportedInstructionError, match=message):
            reduce[1, 32]()
