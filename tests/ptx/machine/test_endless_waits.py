# SPDX-License-Identifier: MIT
"""Loops that wait for a value that no thread writes, of any number of basic blocks."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch


def waiting(blocks: int) -> str:
    """Return a loop of basic blocks that ends when another thread has changed the first word of the array."""
    jumps = "".join(f"bra.uni M{i};\nM{i}:\n" for i in range(blocks - 1))
    return f"L:\nld.acquire.gpu.u32 %r2, [%rd1];\n{jumps}setp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret;"


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("threads", [1, 96])
def test_a_wait_for_a_value_that_no_thread_writes_is_a_deadlock(blocks, threads):
    report = launch(waiting(blocks), np.zeros(1, np.uint32), block=threads, max_seconds=60)
    assert [x.kind for x in report.findings] == ["deadlock"]
    assert not report.completed


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_wait_for_a_value_that_another_thread_writes_late_ends(blocks):
    late = "mov.u32 %r3, 0;\nN:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 20000;\n@%p3 bra N;\n"
    body = f"setp.eq.u32 %p2, %r1, 0;\n@%p2 bra L;\n{late}st.release.gpu.u32 [%rd1], 5;\nret;\n{waiting(blocks)}"
    words = np.zeros(1, np.uint32)
    report = launch(body, words, grid=2, block=1, cooperative=True, max_seconds=60)
    assert report.completed
    assert (words[0], list(report.findings)) == (5, [])


BACKOFF = """
.shared .align 8 .b64 bar;
setp.eq.u32 %p1, %r0, 0;
@%p1 mbarrier.init.shared::cta.b64 [bar], {count};
bar.sync 0;
mbarrier.arrive.shared::cta.b64 %rd2, [bar];
mov.u64 %rd3, %globaltimer;
L:
mov.u64 %rd4, %globaltimer;
sub.u64 %rd5, %rd4, %rd3;
{limit}
min.u64 %rd5, %rd5, 1000000;
cvt.u32.u64 %r2, %rd5;
nanosleep.u32 %r2;
mbarrier.try_wait.shared::cta.b64 %p1, [bar], %rd2;
@!%p1 bra L;
T:
st.global.u32 [%rd1], 1;
ret;"""
"""A wait as libcu++ writes it: the longer it takes, the longer it sleeps."""


@pytest.mark.parametrize("threads", [1, 96])
def test_a_wait_that_reads_a_clock_and_sleeps_is_a_deadlock(threads):
    report = launch(
        BACKOFF.format(count=threads + 1, limit=""), np.zeros(1, np.uint32), block=threads, max_steps=60_000
    )
    (finding,) = report.findings
    assert (finding.kind, report.completed) == ("deadlock", False)
    assert "lacks 1 of" in str(finding.table)


@pytest.mark.parametrize("nanoseconds", [10**6, 10**12])
def test_a_wait_with_a_time_limit_ends(nanoseconds):
    limit, words = f"setp.gt.u64 %p2, %rd5, {nanoseconds};\n@%p2 bra T;", np.zeros(1, np.uint32)
    report = launch(BACKOFF.format(count=33, limit=limit), words, block=32, max_steps=60_000)
    assert (list(report.findings), words[0]) == ([], 1)


def test_threads_wait_for_one_that_waits_for_time_and_do_not_reach_their_own_time_limit():
    late = """setp.gt.u64 %p2, %rd5, 1000000000;
    @%p2 bra T;
    setp.ne.u32 %p2, %r0, 0;
    @%p2 bra M;
    setp.lt.u64 %p2, %rd5, 1000000;
    @%p2 bra L;
    mbarrier.arrive.shared::cta.b64 %rd6, [bar];
    bra E;
    M:"""
    body = BACKOFF.format(count=97, limit=late).replace("@!%p1 bra L;\n", "@!%p1 bra L;\nE:\nret;\n")
    words = np.zeros(1, np.uint32)
    report = launch(body, words, block=96, max_steps=200_000)
    assert (list(report.findings), words[0]) == ([], 0)


def test_many_waits_for_time_in_a_loop_that_counts_do_not_deadlock():
    body = """
    .shared .align 8 .b64 bar;
    setp.ge.u32 %p2, %r0, 32;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [bar], 32;
    bar.sync 0;
    @%p2 bra L;
    mov.u32 %r3, 0;
    N:
    mov.u64 %rd3, %globaltimer;
    T:
    mov.u64 %rd4, %globaltimer;
    sub.u64 %rd4, %rd4, %rd3;
    setp.lt.u64 %p2, %rd4, 10000000;
    @%p2 bra T;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 2500;
    @%p2 bra N;
    mbarrier.arrive.shared::cta.b64 %rd5, [bar];
    L:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra L;
    ret;"""
    assert launch(body, np.zeros(1, np.uint32), block=128).completed
