# SPDX-License-Identifier: MIT
"""mbarriers of Python kernels: phases and parities, arrivals and bytes, and what a deadlock says."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import DivergenceError, OptionError, OutOfBoundsError, UnsupportedInstructionError


def launched(function, *arguments, warps=2, **options):
    return we.kernel(findings="raise", **options)(function)[1, 32 * warps](*arguments)


def test_a_phase_completes_when_as_many_arrivals_have_come_as_init_says():
    seen = []

    def k(t):
        bar = t.mbarrier()
        if t.warp_id == 0:
            bar.init(3)
        yield t.syncthreads()
        if t.warp_id == 0:
            seen.append(bar.test_wait(0))
            bar.arrive(2)
            seen.append(bar.test_wait(0))
            bar.arrive()
            seen.append(bar.test_wait(0))
        yield bar.wait(0)

    launched(k)
    assert seen == [False, False, True]


def test_parities_of_phases_alternate():
    seen = []

    def k(t):
        bar = t.mbarrier()
        bar.init(1)
        for i in range(3):
            bar.arrive()
            seen.append((bar.test_wait(i % 2), bar.test_wait(1 - i % 2)))
            yield bar.wait(i % 2)

    launched(k, warps=1)
    assert seen == [(True, False)] * 3


def test_a_wait_orders_what_was_written_before_the_arrival():
    def k(t, out):
        s, full, empty = t.shared(32, np.int32), t.mbarrier(), t.mbarrier()
        if t.warp_id == 0:
            full.init(1)
            empty.init(1)
        yield t.syncthreads()
        for i in range(4):
            if t.warp_id == 0:
                if i:
                    yield empty.wait((i - 1) % 2)
                s[t.lane] = 10 * i + t.lane
                full.arrive()
            else:
                yield full.wait(i % 2)
                out[i, t.lane] = s[t.lane]
                empty.arrive()

    out = np.zeros((4, 32), np.int32)
    launched(k, out)
    assert np.array_equal(out, 10 * np.arange(4)[:, None] + np.arange(32))


def test_a_declaration_of_stages_is_an_array_of_barriers():
    seen = []

    def k(t):
        bars = t.mbarrier(3)
        for bar in bars:
            bar.init(1)
        bars[1].arrive()
        seen.append([len(bars), *(x.test_wait(0) for x in bars)])
        seen.append([repr(bars[2]), repr(t.mbarrier())])

    launched(k, warps=1)
    assert seen[0] == [3, False, True, False]
    assert seen[1][0] == "<mbarrier bars[2]>" and seen[1][1].startswith("<mbarrier shared memory of line ")


def test_a_phase_lacks_the_bytes_that_it_expects():
    def k(t, x):
        s, bar = t.shared(64, np.float32), t.mbarrier()
        if t.warp_id == 0:
            bar.init(1)
            bar.expect_tx(128)
            bar.arrive_expect_tx(160)
            t.copy_bulk(s, x, bar)
        yield bar.wait(0)

    with pytest.raises(DivergenceError) as caught:
        launched(k, np.zeros(64, np.float32), warps=1)
    assert str(caught.value).startswith("deadlock: every remaining warp waits: warp 0 at bar.wait(0) in line ")
    assert "mbarriers: bar has parity 0 and lacks 0 of 1 arrivals and 32 bytes; let as many" in str(caught.value)
    assert [x.kind for x in caught.value.report.findings] == ["deadlock"]


def test_a_deadlock_does_not_lose_the_findings_before_it():
    def k(t):
        s, bar = t.shared(64, np.float32), t.mbarrier()
        if t.warp_id == 0:
            bar.init(1)
        s[0] = t.warp_id
        yield t.syncthreads()
        yield bar.wait(0)

    with pytest.raises(DivergenceError) as caught:
        launched(k)
    assert [x.kind for x in caught.value.report.findings] == ["race", "deadlock"]
    assert any(x.startswith("findings until then: k: 1 error\nerror: race on s") for x in caught.value.__notes__)


def test_the_table_of_a_deadlock_has_every_barrier():
    def k(t):
        bars, other = t.mbarrier(2), t.mbarrier()
        if t.warp_id == 0:
            bars[0].init(1)
            bars[1].init(2)
            bars[0].arrive()
        assert repr(other) == "<mbarrier other>"
        yield t.syncthreads()
        if t.warp_id == 0:
            yield bars[1].wait(0)
        yield t.syncthreads()

    with pytest.raises(DivergenceError) as caught:
        launched(k)
    assert "warp 0 at bars[1].wait(0) in line" in str(caught.value)
    assert "warp 1 at t.syncthreads() in line" in str(caught.value)
    assert (
        "mbarriers: bars[0] has parity 1 and lacks 1 of 1 arrivals and 0 bytes, bars[1] has parity 0 and lacks 2 of 2 "
        "arrivals and 0 bytes, other is not initialised"
    ) in str(caught.value)  # fmt: skip


def test_the_memory_of_a_barrier_can_be_initialised_again_after_inval():
    def k(t):
        bar = t.mbarrier()
        for count in (1, 2):
            bar.init(count)
            bar.arrive(count)
            yield bar.wait(0)
            bar.inval()

    assert launched(k, warps=1).completed


def test_each_block_has_separate_barriers():
    def k(t, out):
        s, bar = t.shared(32, np.float32), t.mbarrier()
        bar.init(1)
        bar.arrive_expect_tx(128)
        t.copy_bulk(s, out[t.blockIdx.x], bar)
        yield bar.wait(0)
        out[t.blockIdx.x, t.lane] = s[t.lane] + 1

    out = np.arange(64, dtype=np.float32).reshape(2, 32)
    we.kernel(findings="raise")(k)[2, 32](out)
    assert np.array_equal(out.reshape(-1), np.arange(64) + 1)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda bar: bar.init(-1), OptionError, "count is a number of 32 bits without a sign, not -1"),
        (lambda bar: bar.expect_tx(2.5), OptionError, "nbytes is a number of 32 bits without a sign, not 2.5"),
        (lambda bar: bar.test_wait(2), OptionError, r"a parity is 0 or 1, not 2; of a number of phases it is n % 2"),
        (lambda bar: bar.wait(0), DivergenceError, r"bars\[1\].wait\(0\) was called but not yielded; write: yield"),
    ],
)
def test_wrong_uses_say_what_is_legal(wrong, error, text):
    def k(t):
        bars = t.mbarrier(2)
        wrong(bars[1])

    with pytest.raises(error, match=text):
        launched(k, warps=1)


def test_an_index_past_the_stages_is_out_of_bounds():
    def k(t):
        bars = t.mbarrier(2)
        bars[2].init(1)

    with pytest.raises(OutOfBoundsError, match="bars has 2 mbarriers, but none with index 2"):
        launched(k, warps=1)


def test_older_chips_have_no_bulk_copies():
    def k(t, x):
        s, bar = t.shared(32, np.float32), t.mbarrier()
        t.copy_bulk(s, x, bar)

    with pytest.raises(UnsupportedInstructionError, match="the first chip that supports it is sm_90"):
        launched(k, np.zeros(32, np.float32), warps=1, arch="sm_80")
