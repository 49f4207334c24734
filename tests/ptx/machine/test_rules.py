# SPDX-License-Identifier: MIT
"""The rules of the PTX machine, one fact each: threads, branches, calls, barriers, and how a launch ends."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import LaunchLimitError


def stored(body, block=32, grid=1, **options):
    """The words that the threads of a block store from %r2, if the kernel has no findings."""
    words = numbers(block)
    report = launch(body + put("%r2") + "ret;", words, block=block, grid=grid, **options)
    assert not report.findings
    return words.tolist()


def kinds(body, block=32, **options):
    report = launch(body + "ret;", numbers(block), block=block, **options)
    return [x.kind for x in report.findings], report.completed


def test_threads_are_numbered_from_0_and_warps_have_32_lanes():
    assert stored("mov.u32 %r2, %tid.x;", 40) == list(range(40))
    assert stored("mov.u32 %r2, %laneid;", 40) == [*range(32), *range(8)]
    assert stored("mov.u32 %r2, %warpid;", 40) == [0] * 32 + [1] * 8
    assert stored("mov.u32 %r2, %ntid.x;", 40) == [40] * 40


def test_every_block_of_a_grid_runs():
    counts = numbers(6)
    body = "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd1, %rd5;\nst.global.u32 [%rd5], %r1;\nret;"
    assert not launch(body, counts, grid=6, block=1).findings
    assert counts.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_guarded_instruction_is_executed_only_where_its_predicate_is_true():
    body = "mov.u32 %r2, 7;\nsetp.lt.u32 %p1, %r0, 3;\n{} mov.u32 %r2, 1;\n"
    assert stored(body.format("@%p1"), 5) == [1, 1, 1, 7, 7]
    assert stored(body.format("@!%p1"), 5) == [7, 7, 7, 1, 1]


def test_threads_diverge_at_a_branch_and_continue_together_after_it():
    body = "setp.lt.u32 %p1, %r0, 2;\n@%p1 bra LOW;\nmov.u32 %r2, 20;\nbra END;\nLOW: mov.u32 %r2, 10;\n"
    assert stored(body + "END: add.u32 %r2, %r2, 1;\n", 4) == [11, 11, 21, 21]


def test_each_thread_leaves_a_loop_when_its_own_condition_ends():
    body = "mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 3;\nsetp.le.u32 %p1, %r2, %r0;\n@%p1 bra L;\n"
    assert stored(body, 7) == [3, 3, 3, 6, 6, 6, 9]


def test_an_indexed_branch_jumps_to_the_label_of_each_index():
    body = "T: .branchtargets A, B, C;\nbrx.idx %r0, T;\nA: mov.u32 %r2, 5;\nbra END;\n"
    assert stored(body + "B: mov.u32 %r2, 6;\nbra END;\nC: mov.u32 %r2, 7;\nEND:\n", 3) == [5, 6, 7]


def test_a_function_returns_its_result_to_the_caller():
    twice = """.func (.param .b32 out) twice(.param .b32 in)
    { .reg .b32 %x; ld.param.b32 %x, [in]; add.u32 %x, %x, %x; st.param.b32 [out], %x; ret; }"""
    body = "{ .param .b32 a; .param .b32 b;\nst.param.b32 [a], %r0;\ncall (b), twice, (a);\nld.param.b32 %r2, [b]; }\n"
    assert stored(body, 4, before=twice) == [0, 2, 4, 6]


def test_the_other_threads_continue_after_some_have_exited():
    words = np.full(4, 9, np.uint32)
    body = "setp.lt.u32 %p1, %r0, 2;\n@%p1 exit;\nmov.u32 %r2, 1;\n" + put("%r2") + "ret;"
    assert not launch(body, words, block=4).findings
    assert words.tolist() == [9, 9, 1, 1]


SHARED = ".shared .align 4 .b32 s[128];\nmov.u32 %r5, s;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r7, %r5, %r6;\n"
REVERSE = "xor.b32 %r6, %r6, 252;\nadd.u32 %r7, %r5, %r6;\nld.shared.u32 %r2, [%r7];\n"


def test_a_barrier_orders_the_accesses_of_warps_before_and_after_it():
    assert stored(SHARED + "st.shared.u32 [%r7], %r0;\nbar.sync 0;\n" + REVERSE, 64) == list(range(63, -1, -1))
    assert kinds(SHARED + "st.shared.u32 [%r7], %r0;\n" + REVERSE + put("%r2"), 64) == (["race"], True)


def test_a_barrier_of_all_threads_does_not_wait_for_exited_ones():
    assert kinds("setp.lt.u32 %p1, %r0, 32;\n@%p1 exit;\nbar.sync 0;\n", 64) == ([], True)


def test_threads_that_only_arrive_at_a_barrier_do_not_wait():
    assert kinds("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra P;\nbar.sync 1, 64;\nexit;\nP: bar.arrive 1, 64;\n", 64) == (
        [],
        True,
    )


@pytest.mark.parametrize(("reduction", "result"), [("popc.u32 %r2", 5), ("or.pred %p2", 1), ("and.pred %p2", 0)])
def test_a_barrier_reduces_the_predicates_of_all_threads(reduction, result):
    select = "" if "popc" in reduction else "selp.u32 %r2, 1, 0, %p2;\n"
    assert stored(f"setp.lt.u32 %p1, %r0, 5;\nbar.red.{reduction}, 0, %p1;\n{select}", 64) == [result] * 64


def test_lanes_may_meet_at_warp_barriers_of_two_branches_with_the_same_mask():
    body = "setp.lt.u32 %p1, %r0, 16;\n@%p1 bra L;\nbar.warp.sync 0xffffffff;\nexit;\nL: bar.warp.sync 0xffffffff;\n"
    assert kinds(body) == ([], True)


def test_warps_that_wait_at_different_barriers_are_a_deadlock_which_ends_the_launch():
    assert kinds("shr.u32 %r3, %r0, 5;\nbar.sync %r3, 64;\n", 64) == (["deadlock"], False)


def test_an_instruction_of_a_whole_warp_needs_all_lanes():
    body = "setp.lt.u32 %p1, %r0, 16;\n@%p1 exit;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r3, %r0;\n"
    assert kinds(body) == (["partial warp"], True)


def test_a_trap_ends_the_launch():
    assert kinds("trap;\n") == (["trap"], False)


def test_an_infinite_loop_ends_at_the_limit_of_steps():
    with pytest.raises(
        LaunchLimitError, match=r"more than 1000 steps \(max_steps\); block \(0, 0, 0\): warp 0 is at line"
    ):
        launch("L: bra L;", numbers(), max_steps=1000)


@pytest.mark.parametrize("schedule", [None, 1, 2])
def test_a_kernel_without_races_gives_the_same_bits_in_every_schedule(schedule):
    body = SHARED + "st.shared.u32 [%r7], %r0;\nbar.sync 0;\n" + REVERSE
    assert stored(body, 64, schedule=schedule) == list(range(63, -1, -1))


def test_an_uninitialised_register_may_be_moved_but_not_used():
    assert kinds("mov.u32 %r3, %r20;\n") == ([], True)
    assert kinds(put("%r20")) == (["uninitialised"], True)
