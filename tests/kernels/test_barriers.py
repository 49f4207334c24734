# SPDX-License-Identifier: MIT
"""Barriers: which warps wait, the results, and every way in which a block can deadlock."""

import re

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import DivergenceError

WARPS = [1, 2, 3, 5, 31, 32]


def run(function, warps, *args, **kwargs):
    we.kernel(function)[1, 32 * warps](*args, **kwargs)


def error_of(function, warps, *args):
    """Text and notes of the DivergenceError, lines counted from the function's first."""
    with pytest.raises(DivergenceError) as caught:
        run(function, warps, *args)
    first = function.__code__.co_firstlineno
    text = re.sub(r"line (\d+)", lambda m: f"line {int(m[1]) - first}", str(caught.value))
    return text, caught.value.__notes__


@pytest.mark.parametrize("warps", WARPS)
def test_no_warp_passes_a_barrier_before_all_have_reached_it(warps):
    reached = [0] * warps

    def loop(t):
        for i in range(1, 6):
            reached[t.warp_id] = i
            yield t.syncthreads()
            assert min(reached) == i
            yield t.syncthreads()

    run(loop, warps)
    assert reached == [5] * warps


@pytest.mark.parametrize("warps", WARPS)
def test_one_half_of_the_warps_produces_what_the_other_consumes(warps):
    n, x = 32 * warps, np.arange(96 * warps, dtype=np.float32)
    out = np.empty_like(x)

    def reverse(t):
        s = t.shared(n, np.float32)
        i = t.warp_id * 32 + t.lane
        for k in range(0, 3 * n, n):
            s[n - 1 - i] = x[k + i]
            yield t.syncthreads()
            out[k + i] = s[i]
            yield t.syncthreads()

    run(reverse, warps)
    np.testing.assert_array_equal(out.view(np.uint32), x.reshape(3, n)[:, ::-1].reshape(-1).view(np.uint32))


@pytest.mark.parametrize("warps", WARPS)
def test_a_warp_that_has_returned_counts_as_arrived(warps):
    log = []

    def leave(t):
        for i in range(warps):
            if t.warp_id == i:
                return
            yield t.syncthreads()
            log.append((i, t.warp_id))

    run(leave, warps)
    assert log == [(i, warp) for i in range(warps) for warp in range(i + 1, warps)]


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("dtype", [bool, np.int32, np.uint8])
def test_reductions_at_a_barrier_equal_those_over_all_threads(warps, dtype):
    rng = np.random.default_rng(20261121)
    for density in (0, 0.01, 0.5, 1):
        p = (rng.random(32 * warps) < density).astype(dtype) * dtype(1 if dtype is bool else 7)
        results = []

        def reduce(t):
            mine = p[t.warp_id * 32 + t.lane]  # noqa: B023
            count = yield t.syncthreads_count(mine)
            every = yield t.syncthreads_and(mine)
            some = yield t.syncthreads_or(mine)
            results.append((count, every, some))  # noqa: B023

        run(reduce, warps)
        nonzero = [bool(x) for x in p]
        assert results == [(sum(nonzero), int(all(nonzero)), int(any(nonzero)))] * warps
        assert all(type(x) is int for result in results for x in result)


@pytest.mark.parametrize(("p", "count"), [(True, 64), (0, 0), (3, 64), (np.int8(-1), 64), (np.arange(32) < 5, 10)])
def test_a_single_predicate_counts_for_all_lanes(p, count):
    def reduce(t):
        assert (yield t.syncthreads_count(p)) == count

    run(reduce, 2)


def test_warps_that_returned_take_no_part_in_a_reduction():
    def reduce(t):
        if t.warp_id == 0:
            return
        assert (yield t.syncthreads_count(1)) == 96
        assert (yield t.syncthreads_and(t.warp_id)) == 1

    run(reduce, 4)


def test_named_barriers_are_sixteen_and_do_not_mix():
    log = []

    def pairs(t):
        for step in range(2):
            log.append((step, t.warp_id))
            yield t.barrier_sync(t.warp_id // 2, 64)
            both = {2 * (t.warp_id // 2), 2 * (t.warp_id // 2) + 1}
            assert {(step, warp) for warp in both} <= {*log}

    run(pairs, 32)
    assert len(log) == 64


def test_a_barrier_takes_as_many_as_it_waits_for_in_the_order_of_their_arrival():
    log = []

    def turnstile(t):
        for step in range(3):
            yield t.barrier_sync(1, 64)
            log.append((t.warp_id, step))

    run(turnstile, 4)
    first = [warp for warp, step in log if step == 0]
    assert first == [0, 1, 2, 3]
    assert sorted(log) == [(warp, step) for warp in range(4) for step in range(3)]
    assert log[:4] == [(0, 0), (1, 0), (2, 0), (3, 0)]  # the two that came first do not overtake the two that wait


def test_a_named_barrier_may_be_reached_at_different_lines():
    x = np.zeros(32, np.int32)
    seen = []

    def producer_and_consumer(t):
        if t.warp_id == 0:
            x[:] = t.lane
            yield t.barrier_sync(1, 64)
        elif t.warp_id == 1:
            yield t.barrier_sync(1, 64)
            seen.append(x.copy())

    run(producer_and_consumer, 4)
    np.testing.assert_array_equal(seen, [np.arange(32)])


def test_a_named_barrier_for_all_threads_may_be_reached_at_different_lines():
    def meet(t):
        if t.warp_id == 0:
            yield t.barrier_sync(3)
        else:
            yield t.barrier_sync(3)

    run(meet, 3)


def test_a_function_that_waits_is_called_with_yield_from_and_returns_its_value():
    def block_sum(t, s, value):
        s[t.warp_id] = int(np.asarray(value).sum())
        yield t.syncthreads()
        total = int(s.sum())
        yield t.syncthreads()
        return total

    totals = []

    def kernel(t):
        s = t.shared(4, np.int64)
        for i in range(3):
            totals.append((yield from block_sum(t, s, t.lane * 0 + t.warp_id + i)))

    run(kernel, 4)
    assert totals == [32 * (0 + 1 + 2 + 3 + 4 * i) for i in range(3) for _ in range(4)]


def test_the_line_of_a_warp_that_waits_inside_a_function_names_its_caller():
    def divided(t):
        def meet():
            yield t.syncthreads()

        if t.warp_id == 0:
            yield from meet()
        else:
            yield from meet()

    text, _ = error_of(divided, 3)
    assert text == (
        "the warps of the block wait at different barriers, which is undefined on a GPU: warp 0 at t.syncthreads() in "
        "line 2, called in line 5, warps 1-2 at t.syncthreads() in line 2, called in line 7; move the barrier out of "
        "the condition"
    )


def test_syncthreads_at_different_lines_is_a_divided_block():
    def divided(t):
        if t.warp_id % 2:
            yield t.syncthreads()
        else:
            yield t.syncthreads()

    assert error_of(divided, 4) == (
        "the warps of the block wait at different barriers, which is undefined on a GPU: warps 0, 2 at t.syncthreads() "
        "in line 4, warps 1, 3 at t.syncthreads() in line 2; move the barrier out of the condition",
        ["in kernel divided, block (0, 0, 0)"],
    )


def test_warps_that_wait_for_one_another_are_a_deadlock():
    def stuck(t):
        if t.warp_id == 3:
            return
        if t.warp_id == 0:
            yield t.syncthreads()
        else:
            yield t.barrier_sync(1)

    assert error_of(stuck, 5) == (
        "deadlock: every remaining warp waits: warp 0 at t.syncthreads() in line 4, warps 1-2, 4 at "
        "t.barrier_sync(1) in line 6; returned: warp 3; make as many threads reach a barrier as it waits for",
        ["in kernel stuck, block (0, 0, 0)"],
    )


def test_a_barrier_for_more_threads_than_are_left_is_a_deadlock():
    def stuck(t):
        if t.warp_id < 2:
            yield t.barrier_sync(2, 96)

    assert error_of(stuck, 4)[0] == (
        "deadlock: every remaining warp waits: warps 0-1 at t.barrier_sync(2, 96) in line 2; returned: warps 2-3; "
        "make as many threads reach a barrier as it waits for"
    )


PAIRS = [("t.syncthreads()", "t.syncthreads_or()"), ("t.barrier_sync(0)", "t.barrier_sync(0, 64)")]


@pytest.mark.parametrize("pair", PAIRS)
def test_different_calls_at_one_barrier_are_undefined(pair):
    calls = {
        "t.syncthreads()": lambda t: t.syncthreads(),
        "t.syncthreads_or()": lambda t: t.syncthreads_or(1),
        "t.barrier_sync(0)": lambda t: t.barrier_sync(0),
        "t.barrier_sync(0, 64)": lambda t: t.barrier_sync(0, 64),
    }

    def mixed(t):
        yield calls[pair[t.warp_id]](t)

    assert error_of(mixed, 2)[0] == (
        f"warps reach barrier 0 with different calls, which is undefined on a GPU: warp 0 at {pair[0]} in line 1, "
        f"warp 1 at {pair[1]} in line 1; make the same call in all of them"
    )


def forgets(t):
    t.syncthreads()


def forgets_once(t):
    t.syncthreads()
    yield t.syncthreads_or(1)


def forgets_before_shared(t):
    t.syncthreads()
    t.shared(4, np.int8)


@pytest.mark.parametrize("function", [forgets, forgets_once, forgets_before_shared])
def test_a_barrier_that_is_called_and_not_yielded_is_reported(function):
    text, notes = error_of(function, 2)
    assert text == "t.syncthreads() was called but not yielded; write: yield t.syncthreads()"
    assert notes == [f"in kernel {function.__name__}, block (0, 0, 0), warp 0"]


def test_a_barrier_must_be_called_each_time():
    def again(t):
        barrier = t.syncthreads()
        yield barrier
        yield barrier

    assert error_of(again, 2)[0] == (
        "t.syncthreads() was called earlier, or by another warp; call it where the warp waits: yield t.syncthreads()"
    )


@pytest.mark.parametrize("wrong", [None, 3, "t.syncthreads()", []], ids=repr)
def test_only_barriers_are_yielded(wrong):
    def yields(t):
        yield wrong

    text = f"yields yielded {wrong!r}, but a kernel may yield only barriers; yield t.syncthreads() or a similar barrier"
    assert error_of(yields, 1)[0] == text


def test_the_error_for_a_yielded_generator_suggests_yield_from():
    def waits(t):
        yield t.syncthreads()

    def yields(t):
        yield waits(t)

    assert error_of(yields, 1)[0].endswith(", but a kernel may yield only barriers; write: yield from")


def test_a_two_warp_barrier_releases_two_of_three_warps_and_the_third_deadlocks():
    gone = []

    @we.kernel
    def three(t):
        yield t.barrier_sync(1, 64)
        gone.append(t.warp_id)

    with pytest.raises(DivergenceError, match="deadlock: every remaining warp waits: warp 2 at"):
        three[1, 96]()
    assert gone == [0, 1]


def test_warps_continue_in_their_order_whatever_the_order_of_their_arrivals():
    log = []

    @we.kernel
    def late(t):
        for _ in range(3 - t.warp_id):
            yield t.barrier_sync(4 + t.warp_id, 32)
        yield t.syncthreads()
        log.append(t.warp_id)

    late[1, 128]()
    assert log == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["syncthreads", "syncthreads_or", "barrier_sync", "syncwarp"])
def test_a_barrier_without_parentheses_is_told_to_be_called(name):
    def yields(t):
        yield getattr(t, name)

    call = f"t.{name}({'' if name == 'syncthreads' else '...'})"
    text = f"yields yielded t.{name}, but a kernel may yield only barriers; call it: yield {call}"
    assert error_of(yields, 1)[0] == text
