# SPDX-License-Identifier: MIT
"""Barriers of the whole grid, as nvcc compiles cooperative groups: blocks wait for each other in a workspace."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch

WORKSPACE = "mov.u32 %r10, %envreg2;\nmov.u32 %r11, %envreg1;\nmov.b64 %rd10, {%r10, %r11};\n"

BARRIER = """
barrier.sync 0;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra MET;
mov.u32 %r12, %nctaid.x;
sub.u32 %r12, 0x80000001, %r12;
setp.eq.u32 %p2, %r1, 0;
selp.b32 %r12, %r12, 1, %p2;
atom.add.release.gpu.u32 %r13, [%rd10+4], %r12;
WAIT: ld.acquire.gpu.u32 %r14, [%rd10+4];
xor.b32 %r14, %r14, %r13;
setp.gt.s32 %p3, %r14, -1;
@%p3 bra WAIT;
MET: barrier.sync 0;
"""

EXCHANGE = """
mov.u32 %r2, %ntid.x;
mad.lo.u32 %r3, %r1, %r2, %r0;
mul.wide.u32 %rd5, %r3, 4;
add.s64 %rd5, %rd1, %rd5;
st.global.u32 [%rd5], %r3;
{barrier}
mov.u32 %r4, %nctaid.x;
mul.lo.u32 %r5, %r4, %r2;
sub.u32 %r5, %r5, %r3;
sub.u32 %r5, %r5, 1;
mul.wide.u32 %rd6, %r5, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.u32 %r6, [%rd7];
add.s64 %rd8, %rd2, %rd6;
st.global.u32 [%rd8], %r6;
ret;
"""
"""Each thread writes its number, and copies that of a thread of another block."""


def exchanged(barrier: str, **options):
    ours, theirs = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    report = launch(WORKSPACE + EXCHANGE.format(barrier=barrier), ours, theirs, grid=4, block=64, **options)
    return theirs, [x.kind for x in report.findings]


@pytest.mark.parametrize("schedule", [None, 1, 2])
def test_blocks_read_words_that_others_wrote_before_a_barrier_of_the_grid(schedule):
    theirs, found = exchanged(BARRIER, schedule=schedule)
    assert np.array_equal(theirs, np.arange(256, dtype=np.uint32)) and not found


def test_the_workspace_has_an_address_of_the_emulator_whatever_addresses_arrays_have():
    theirs, found = exchanged(BARRIER, addresses="host")
    assert np.array_equal(theirs, np.arange(256, dtype=np.uint32)) and not found


WEAKER = [("atom.add.release", "atom.add.relaxed"), ("release.gpu", "release.cta"), (BARRIER, "")]


@pytest.mark.parametrize("weaker", WEAKER)
def test_a_weaker_barrier_of_the_grid_leaves_a_race(weaker):
    assert set(exchanged(BARRIER.replace(*weaker))[1]) == {"race"}


def test_each_launch_has_a_workspace_of_zeros():
    body = (
        WORKSPACE
        + "atom.global.add.u32 %r5, [%rd10+4], 1;\nadd.s64 %rd5, %rd1, %rd0;\nst.global.u32 [%rd5], %r5;\nret;"
    )
    for _ in range(2):
        found = np.zeros(32, np.uint32)
        assert not launch(body, found).findings
        assert sorted(found.tolist()) == list(range(32))


def test_an_access_past_the_workspace_is_out_of_bounds():
    body = WORKSPACE + "ld.global.u32 %r5, [%rd10+64];\nst.global.u32 [%rd1], %r5;\nret;"
    (found,) = launch(body, np.zeros(1, np.uint32), block=1).findings
    assert found.kind == "out of bounds" and "the grid's workspace" in found.message


def test_all_blocks_of_a_cooperative_launch_run_concurrently():
    body = WORKSPACE + BARRIER + "ret;"
    report = launch(body, np.zeros(1, np.uint32), grid=66, block=1024)
    assert not report.findings
