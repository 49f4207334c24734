# SPDX-License-Identifier: MIT
"""Clocks, timers and sleeps: the emulated time advances, and loops that wait for it end."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, numbers
from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.machine import run

CLOCKS = [("clock64", "u64"), ("globaltimer", "u64"), ("clock", "u32"), ("globaltimer_lo", "u32")]


def readings(body, kind, count, **options):
    x = np.zeros(count, {"u32": np.uint32, "u64": np.uint64}[kind])
    assert not launch(body + "ret;", x, block=1, **options).findings
    return x.astype(object).tolist()


@pytest.mark.parametrize(("name", "kind"), CLOCKS)
def test_a_clock_advances_from_one_instruction_to_the_next(name, kind):
    register = "%r5" if kind == "u32" else "%rd5"
    size = int(kind[1:]) // 8
    line = f"mov.{kind} {register}, %{name};\nst.global.{kind} [%rd1+{{}}], {register};\n"
    body = "".join(line.format(size * i) for i in range(9))
    found = readings(body, kind, 9)
    assert found == sorted(set(found)) and found[0] > 0 and found[-1] - found[0] < 1000


def test_the_upper_half_of_a_clock_belongs_to_its_lower_half():
    body = "mov.u32 %r5, %globaltimer_hi;\nmov.u32 %r6, %clock_hi;\nadd.u32 %r5, %r5, %r6;\n"
    body += "st.global.u32 [%rd1], %r5;\n"
    assert readings(body, "u32", 1) == [0]


WAIT = """
mov.u64 %rd5, %{clock};
L: mov.u64 %rd6, %{clock};
sub.u64 %rd7, %rd6, %rd5;
setp.lt.u64 %p1, %rd7, {cycles};
@%p1 bra L;
st.global.u64 [%rd1], %rd7;
"""


@pytest.mark.parametrize("clock", ["clock64", "globaltimer"])
@pytest.mark.parametrize("cycles", [1, 1000, 10**6, 10**9, 10**11])
def test_a_loop_that_waits_for_cycles_ends_after_at_least_as_many(clock, cycles):
    (waited,) = readings(WAIT.format(clock=clock, cycles=cycles), "u64", 1, max_steps=10_000)
    assert cycles <= waited < 4 * cycles + 100


def test_a_loop_that_waits_for_a_32_bit_clock_ends():
    body = """
    mov.u32 %r5, %clock;
    L: mov.u32 %r6, %clock;
    sub.u32 %r7, %r6, %r5;
    setp.lt.u32 %p1, %r7, 1000000000;
    @%p1 bra L;
    st.global.u32 [%rd1], %r7;
    """
    assert 10**9 <= readings(body, "u32", 1, max_steps=10_000)[0] < 2**32


def test_a_loop_that_sleeps_until_a_time_ends():
    body = WAIT.format(clock="globaltimer", cycles=10**8).replace("sub.u64", "nanosleep.u32 1000000;\nsub.u64")
    assert 10**8 <= readings(body, "u64", 1, max_steps=1000)[0] < 2 * 10**8


@pytest.mark.parametrize(("given", "slept"), [(0, 0), (700, 700), (10**6, 10**6), (4 * 10**9, 10**6)])
def test_a_sleep_lasts_as_long_as_it_is_told_but_at_most_a_millisecond(given, slept):
    body = f"mov.u64 %rd5, %globaltimer;\nnanosleep.u32 {given};\nmov.u64 %rd6, %globaltimer;\n"
    (found,) = readings(body + "sub.u64 %rd6, %rd6, %rd5;\nst.global.u64 [%rd1], %rd6;\n", "u64", 1)
    assert slept <= found <= slept + 100


def test_a_wait_with_a_time_out_does_not_run_out_of_time_before_the_other_threads_had_theirs():
    body = """
    .shared .align 4 .b32 flag;
    st.shared.u32 [flag], 0;
    bar.sync 0;
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra LATER;
    mov.u64 %rd5, %clock64;
    L: mov.u64 %rd6, %clock64;
    sub.u64 %rd7, %rd6, %rd5;
    setp.gt.u64 %p2, %rd7, 100000;
    @%p2 trap;
    ld.volatile.shared.u32 %r5, [flag];
    setp.eq.u32 %p3, %r5, 0;
    @%p3 bra L;
    ret;
    LATER: mov.u32 %r6, 0;
    M: add.u32 %r6, %r6, 1;
    setp.lt.u32 %p4, %r6, 2000;
    @%p4 bra M;
    st.volatile.shared.u32 [flag], 1;
    ret;
    """
    report = launch(body, numbers(), block=64, checks=("memory",))
    assert report.completed and not report.findings


def test_clocks_of_later_blocks_continue(monkeypatch):
    monkeypatch.setattr(run, "blocks_at_once", lambda *given: 1)
    starts = np.zeros(3, np.uint64)
    body = "mov.u64 %rd5, %globaltimer;\nmul.wide.u32 %rd6, %r1, 8;\nadd.s64 %rd6, %rd1, %rd6;\n"
    body += "st.global.u64 [%rd6], %rd5;\n"
    launch(body + "ret;", starts, grid=3, block=1)
    assert (np.diff(starts.astype(np.int64)) > 0).all()


def test_every_run_reads_the_same_times():
    found = [readings(WAIT.format(clock="clock64", cycles=10**6), "u64", 1) for _ in range(2)]
    assert found[0] == found[1]


def test_a_loop_that_no_clock_ends_is_stopped_by_the_limit():
    with pytest.raises(LaunchLimitError, match="max_steps"):
        launch("L: mov.u64 %rd6, %clock64;\nbra L;", numbers(), max_steps=5000)
