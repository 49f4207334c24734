# SPDX-License-Identifier: MIT
"""Launches with locks that are run a second time, with the last thread first."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.ptx.launch.launching import Launch

LOCK = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 lock, .param .u64 data)
{{
    .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %a<5>;
    ld.param.u64 %a1, [lock]; cvta.to.global.u64 %a1, %a1; ld.param.u64 %a2, [data]; cvta.to.global.u64 %a2, %a2;
    mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; setp.ne.u32 %p, %r2, 0; @%p bra out;
    setp.eq.u32 %q, %r1, 0;
    {before}
again:
    atom.global.cas.b32 %r3, [%a1], 0, 1; setp.ne.u32 %p, %r3, 0; @%p bra again;
    {acquire}
    ld.global.u32 %r4, [%a2]; add.u32 %r4, %r4, 1; st.global.u32 [%a2], %r4;
    {release}
    atom.global.exch.b32 %r5, [%a1], 0;
out:
    ret;
}}
"""
FENCE = "membar.gl;"


def launched(monkeypatch, before="", acquire=FENCE, release=FENCE, blocks=2):
    """Run a kernel; return the number of runs with the last thread first, and the findings."""
    backwards = []
    run = Launch._races_backwards
    monkeypatch.setattr(Launch, "_races_backwards", lambda *x: backwards.append(1) or run(*x))
    text = LOCK.format(before=before, acquire=acquire, release=release)
    report = we.ptx.Module(text, findings="report")["k"][blocks, 64](np.zeros(1, np.uint32), np.zeros(4, np.uint32))
    return len(backwards), {x.kind for x in report.errors}


def test_a_launch_whose_lock_protects_all_shared_data_runs_once(monkeypatch):
    assert launched(monkeypatch) == (0, set())


@pytest.mark.parametrize("place", ["%a2", "%a2+8"])
def test_accesses_before_a_thread_takes_the_lock_can_race(monkeypatch, place):
    # The first thread stores before it takes the lock, and takes it first: the store happens before all others.
    runs, kinds = launched(monkeypatch, before=f"@%q st.global.u32 [{place}], %r1;", blocks=1)
    assert (runs, kinds) == ((1, {"race"}) if place == "%a2" else (0, set()))


def test_a_lock_that_is_released_without_a_fence_does_not_protect(monkeypatch):
    # One thread alone omits the fence: nothing orders its store before the loads of the others.
    one = "mov.u32 %r6, %ctaid.x; setp.eq.u32 %p, %r6, 1; @!%q bra fence; @%p bra none; fence: membar.gl; none:"
    _, kinds = launched(monkeypatch, release=one)
    assert kinds == {"race"}


def test_a_fence_that_reaches_the_block_alone_protects_in_one_block(monkeypatch):
    assert launched(monkeypatch, acquire="membar.cta;", release="membar.cta;", blocks=1) == (0, set())
    _, kinds = launched(monkeypatch, acquire="membar.cta;", release="membar.cta;", blocks=2)
    assert kinds == {"race"}
