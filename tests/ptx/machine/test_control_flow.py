# SPDX-License-Identifier: MIT
"""Branches, loops, calls and exits: every thread goes its own way, and the ways meet again."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import LaunchLimitError, UnsupportedInstructionError


def test_threads_diverge_and_reconverge():
    d = numbers()
    body = """
    setp.lt.u32 %p1, %r0, 10;
    @%p1 bra LOW;
    mov.u32 %r2, 200;
    bra JOIN;
    LOW: mov.u32 %r2, 100;
    JOIN: add.u32 %r2, %r2, %r0;
    """ + put("%r2")
    report = launch(body, d)
    lane = np.arange(32)
    assert d.tolist() == (np.where(lane < 10, 100, 200) + lane).tolist()
    assert not report.findings


def test_loops_end_separately_for_each_thread():
    d = numbers(96)
    body = """
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
    LOOP: add.u32 %r2, %r2, %r3;
    add.u32 %r3, %r3, 1;
    setp.le.u32 %p1, %r3, %r0;
    @%p1 bra LOOP;
    """ + put("%r2")
    assert not launch(body, d, block=96).findings
    assert d.tolist() == [n * (n + 1) // 2 for n in range(96)]


def test_the_other_threads_continue_after_some_return_early():
    d = numbers()
    launch("setp.ge.u32 %p1, %r0, 5;\n@%p1 ret;\nmov.u32 %r2, 7;\n" + put("%r2"), d)
    assert d.tolist() == [7] * 5 + [0] * 27


def test_a_kernel_may_end_without_a_return_instruction():
    d = numbers()
    launch("mov.u32 %r2, 9;" + put("%r2"), d)
    assert d.tolist() == [9] * 32


def test_an_instruction_is_executed_where_its_guard_holds():
    d = numbers()
    body = """
    mov.u32 %r2, 1;
    and.b32 %r3, %r0, 1;
    setp.eq.u32 %p1, %r3, 1;
    @%p1 mov.u32 %r2, 5;
    @!%p1 add.u32 %r2, %r2, 2;
    """ + put("%r2")
    launch(body, d)
    assert d.tolist() == [3, 5] * 16


def test_an_indexed_branch_sends_each_thread_to_its_label():
    d = numbers()
    body = """
    and.b32 %r3, %r0, 3;
    ts: .branchtargets A, B, C, D;
    brx.idx %r3, ts;
    A: mov.u32 %r2, 10; bra JOIN;
    B: mov.u32 %r2, 11; bra JOIN;
    C: mov.u32 %r2, 12; bra JOIN;
    D: mov.u32 %r2, 13;
    JOIN:
    """ + put("%r2")
    assert not launch(body, d).findings
    assert d.tolist() == [10, 11, 12, 13] * 8


FUNCTION = """
.func (.param .b32 result) twice(.param .b32 x)
{
.reg .b32 %a<3>;
.reg .pred %q;
ld.param.b32 %a1, [x];
setp.gt.u32 %q, %a1, 20;
@%q bra LARGE;
add.u32 %a2, %a1, %a1;
st.param.b32 [result], %a2;
ret;
LARGE: st.param.b32 [result], 999;
ret;
}
"""


def test_a_function_returns_to_its_caller():
    d = numbers()
    body = """
    { .param .b32 a; .param .b32 r;
    st.param.b32 [a], %r0;
    call.uni (r), twice, (a);
    ld.param.b32 %r2, [r]; }
    setp.lt.u32 %p1, %r0, 4;
    @%p1 bra AGAIN;
    bra END;
    AGAIN:
    { .param .b32 a; .param .b32 r;
    st.param.b32 [a], %r2;
    call (r), twice, (a);
    ld.param.b32 %r2, [r]; }
    END:
    """ + put("%r2")
    report = launch(body, d, before=FUNCTION)
    lane = np.arange(32)
    assert d.tolist() == np.where(lane < 4, 4 * lane, np.where(lane > 20, 999, 2 * lane)).tolist()
    assert not report.findings


def test_a_function_of_the_driver_that_is_not_modelled_is_named():
    before = ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 n);\n"
    body = """{ .param .b64 n; .param .b64 r;
    st.param.b64 [n], %rd0;
    call.uni (r), cudaGetParameterBuffer, (n); }"""
    with pytest.raises(UnsupportedInstructionError, match=r"ParameterBuffer is not defined .*: cudadevrt defines it"):
        launch(body, numbers(), before=before)


def test_an_infinite_loop_reaches_the_limit_of_steps_and_the_error_locates_the_threads():
    with pytest.raises(LaunchLimitError, match=r"1000 steps.*block \(0, 0, 0\): warp 0 .*L: bra L"):
        launch("L: bra L;", numbers(), max_steps=1000)


def test_an_infinite_loop_reaches_the_time_limit():
    with pytest.raises(LaunchLimitError, match="seconds"):
        launch("L: bra L;", numbers(), max_seconds=0.05)


def test_a_launch_stopped_by_a_limit_does_not_change_the_arrays():
    d = numbers()
    with pytest.raises(LaunchLimitError):
        launch(put("%r0") + "L: bra L;", d, max_steps=1000)
    assert not d.any()


def test_a_lane_that_waits_in_a_loop_lets_another_lane_of_its_warp_continue():
    d, lock, total = numbers(), numbers(1), numbers(1)
    body = """
    L: atom.global.cas.b32 %r2, [%rd2], 0, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra L;
    membar.gl;
    ld.volatile.global.u32 %r3, [%rd3];
    add.u32 %r3, %r3, 1;
    st.volatile.global.u32 [%rd3], %r3;
    membar.gl;
    atom.global.exch.b32 %r4, [%rd2], 0;
    """ + put("%r3")
    assert not launch(body, d, lock, total).findings
    assert total[0] == 32 and sorted(d.tolist()) == list(range(1, 33))


def test_the_instructions_of_every_thread_are_counted():
    first = launch("ret;", numbers(), block=48, grid=3)
    more = launch("setp.lt.u32 %p1, %r0, 8;\n@%p1 bra L;\nret;\nL: mov.u32 %r2, 1;\nret;", numbers(), block=48, grid=3)
    assert first.instructions == 3 * 48 * 6
    assert more.instructions == 3 * (48 * 7 + 40 + 8 * 2)


@pytest.mark.parametrize("seed", range(8))
def test_another_schedule_gives_the_same_bits(seed):
    body = """
    .shared .align 4 .b32 s[96];
    mov.u32 %r5, s;
    shl.b32 %r6, %r0, 2;
    add.u32 %r5, %r5, %r6;
    st.shared.u32 [%r5], %r0;
    bar.sync 0;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
    LOOP: add.u32 %r2, %r2, %r3;
    add.u32 %r3, %r3, 1;
    setp.le.u32 %p1, %r3, %r0;
    @%p1 bra LOOP;
    bar.sync 0;
    xor.b32 %r6, %r6, 128;
    mov.u32 %r5, s;
    min.u32 %r6, %r6, 380;
    add.u32 %r5, %r5, %r6;
    ld.shared.u32 %r7, [%r5];
    add.u32 %r2, %r2, %r7;
    """ + put("%r2")
    d, e = numbers(96), numbers(96)
    assert not launch(body, d, block=96).findings
    assert not launch(body, e, block=96, schedule=seed).findings
    assert d.tolist() == e.tolist() and d.any()


def test_a_function_called_from_two_places_at_once_returns_to_both():
    d = numbers(8)
    body = """
    { .param .b32 a; .param .b32 r;
    and.b32 %r5, %r0, 1;
    setp.eq.u32 %p1, %r5, 1;
    @%p1 bra ODD;
    add.u32 %r3, %r0, 1;
    st.param.b32 [a], %r3;
    call (r), twice, (a);
    ld.param.b32 %r2, [r];
    add.u32 %r2, %r2, 100;
    bra END;
    ODD: st.param.b32 [a], %r0;
    call (r), twice, (a);
    ld.param.b32 %r2, [r]; }
    END:
    """ + put("%r2")
    assert not launch(body, d, block=8, before=FUNCTION).findings
    assert d.tolist() == [102, 2, 106, 6, 110, 10, 114, 14]


def test_calls_may_be_nested_deeply():
    d = numbers()
    before = ".func f0() { ret; }\n" + "".join(f".func f{i}() {{ call f{i - 1}; ret; }}\n" for i in range(1, 80))
    assert not launch("call f79;\nmov.u32 %r2, 3;\n" + put("%r2"), d, before=before).findings
    assert d.tolist() == [3] * 32


@pytest.mark.parametrize("seed", [None, 1])
def test_a_grid_costs_no_memory_for_its_blocks(seed):
    with pytest.raises(LaunchLimitError, match="seconds"):
        launch("ret;", numbers(), grid=2**31 - 1, block=1, max_bytes=1 << 27, max_seconds=0.3, schedule=seed)


@pytest.mark.thorough
def test_the_time_limit_is_checked_in_straight_line_code_too():
    body = "add.u32 %r2, %r0, %r1;\n" * 20_000
    with pytest.raises(LaunchLimitError, match="seconds"):
        launch(body, numbers(), grid=64, block=1024, max_seconds=0.05)


def test_every_block_runs_once_in_a_random_order():
    d = numbers(5000)
    body = "cvt.u64.u32 %rd5, %r1;\nshl.b64 %rd5, %rd5, 2;\nadd.s64 %rd5, %rd1, %rd5;\nred.global.add.u32 [%rd5], 1;"
    assert not launch(body, d, grid=5000, block=1, schedule=4).findings
    assert d.tolist() == [1] * 5000


def test_a_failed_assertion_ends_the_launch():
    d = numbers(64)
    before = """
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 1 .b8 text[6] = {120, 32, 62, 32, 51, 0};
"""
    body = """
    setp.ne.u32 %p1, %r0, 40;
    @%p1 bra HOLDS;
    mov.u64 %rd5, text;
    cvta.global.u64 %rd5, %rd5;
    { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
    st.param.b64 [m], %rd5; st.param.b64 [f], %rd5; st.param.b32 [l], 7; st.param.b64 [n], %rd5; st.param.b64 [c], 1;
    call.uni __assertfail, (m, f, l, n, c); }
    HOLDS: bar.sync 0;
    """ + put("%r0")
    report = launch(body, d, block=64, before=before)
    (found,) = report.findings
    assert found.kind == "trap" and "assertion 'x > 3' failed" in found.message and found.thread == (40, 0, 0)
    assert not report.completed and not d.any()
