# SPDX-License-Identifier: MIT
"""Barriers: the threads that wait, and the messages if they cannot complete."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put

SHARED = ".shared .align 4 .b32 s[256];\nmov.u32 %r5, s;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r7, %r5, %r6;\n"


def kinds(report):
    return [x.kind for x in report.findings]


def test_a_barrier_orders_what_warps_write_and_read():
    d = numbers(128)
    body = (
        SHARED
        + """
    st.shared.u32 [%r7], %r0;
    bar.sync 0;
    xor.b32 %r6, %r6, 508;
    add.u32 %r7, %r5, %r6;
    ld.shared.u32 %r2, [%r7];
    """
        + put("%r2")
    )
    assert not launch(body, d, block=128).findings
    assert d.tolist() == list(range(127, -1, -1))


def test_without_the_barrier_it_is_a_race():
    body = (
        SHARED
        + """
    st.shared.u32 [%r7], %r0;
    xor.b32 %r6, %r6, 508;
    add.u32 %r7, %r5, %r6;
    ld.shared.u32 %r2, [%r7];
    """
        + put("%r2")
    )
    assert kinds(launch(body, numbers(128), block=128)) == ["race"]


@pytest.mark.parametrize(
    ("first", "then"),
    [("bar.arrive 1, 96;", "bar.sync 1, 128;"), ("bar.sync 1, %r3;",) * 2, ("bar.sync 1, 96;", "bar.sync 1;")],
)
def test_threads_that_give_a_barrier_different_counts_are_found(first, then):
    body = f"""
    setp.lt.u32 %p1, %r0, 64;
    selp.u32 %r3, 128, 96, %p1;
    @%p1 bra FIRST;
    {then}
    bra END;
    FIRST: {first}
    END: ret;
    """
    found = launch(body, numbers(128), block=128).findings
    (message,) = (x.message for x in found if x.kind == "illegal operand")
    counts = ((96, 128), (128, 96))
    said = [f"gives barrier 1 a count of {x} threads, and others that arrived before gave {y}" for x, y in counts]
    assert any(x in message for x in said)


@pytest.mark.parametrize("threads", [128, 100])
def test_a_barrier_of_all_threads_may_have_an_explicit_count_or_none(threads):
    body = """
    setp.lt.u32 %p1, %r0, 64;
    @%p1 bra FIRST;
    bar.sync 0;
    bra END;
    FIRST: bar.sync 0, 128;
    END: ret;
    """
    found = launch(body, numbers(128), block=threads).findings
    assert "illegal operand" not in {x.kind for x in found}


def test_producer_and_consumer_warps_synchronise_by_barriers_with_counts():
    """Warps 0 and 1 produce, 2 and 3 consume: arrive on one side, sync on the other."""
    d = numbers(128)
    body = (
        SHARED
        + """
    setp.lt.u32 %p1, %r0, 64;
    @%p1 bra PRODUCE;
    bar.sync 1, 128;
    ld.shared.u32 %r2, [%r7+-256];
    bra END;
    PRODUCE: mul.lo.u32 %r3, %r0, 3;
    st.shared.u32 [%r7], %r3;
    bar.arrive 1, 128;
    mov.u32 %r2, 0;
    END:
    """
        + put("%r2")
    )
    report = launch(body, d, block=128)
    assert d.tolist() == [0] * 64 + [3 * n for n in range(64)]
    assert not report.findings


def test_a_barrier_counts_and_combines_predicates():
    d = numbers(64)
    body = """
    setp.lt.u32 %p1, %r0, 40;
    bar.red.popc.u32 %r2, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, %p1;
    selp.u32 %r3, 100, 0, %p2;
    selp.u32 %r4, 1000, 0, %p3;
    add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4;
    """ + put("%r2")
    assert not launch(body, d, block=64).findings
    assert d.tolist() == [1040] * 64


@pytest.mark.parametrize("threads", [64, 48])
def test_a_barrier_does_not_wait_for_threads_that_have_exited(threads):
    """As in compute-sanitizer, whether whole warps have exited or some of their lanes."""
    body = (
        f"""
    setp.ge.u32 %p1, %r0, {threads};
    @%p1 bra END;
    bar.sync 0;
    """
        + put("%r0")
        + "END: ret;"
    )
    d = numbers(128)
    assert not launch(body, d, block=128).findings
    assert d[:threads].tolist() == list(range(threads)) and not d[threads:].any()


def test_lanes_that_skip_a_barrier_are_reported_although_they_exit_afterwards():
    body = """
    setp.ge.u32 %p1, %r0, 48;
    @%p1 bra PAST;
    bar.sync 0;
    PAST:
    """ + put("%r0")
    (found,) = launch(body, numbers(128), block=128).findings
    assert found.kind == "barrier divergence" and found.text == "bar.sync 0;"
    said = "only lanes 0-15 of warp 1 arrive; lanes 16-31 are missing (exited without reaching the barrier)"
    assert found.message == said


def test_messages_name_all_odd_or_all_even_lanes_as_such():
    body = """
    and.b32 %r2, %r0, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra PAST;
    bar.sync 0;
    PAST:
    """ + put("%r0")
    (found,) = launch(body, numbers(32), block=32).findings
    names = "only the 16 even lanes of warp 0 arrive; the 16 odd lanes are missing"
    assert found.message == f"{names} (exited without reaching the barrier)"


def test_warps_that_reach_a_barrier_of_all_threads_at_two_instructions_are_reported():
    body = """
    setp.ge.u32 %p1, %r0, 64;
    @%p1 bra HIGH;
    bar.sync 0;
    bra END;
    HIGH: bar.sync 0;
    END:
    """ + put("%r0")
    d = numbers(128)
    (found,) = launch(body, d, block=128).findings
    assert found.kind == "barriers at several instructions" and found.severity == "note"
    assert found.text.startswith("HIGH:") and found.thread == (64, 0, 0)
    assert "; warps 2-3 at this one" in found.message and d.tolist() == list(range(128))


def test_reductions_at_two_instructions_each_write_a_separate_result():
    body = """
    setp.lt.u32 %p1, %r0, 40;
    mov.u32 %r2, 1000;
    mov.u32 %r3, 2000;
    setp.ge.u32 %p2, %r0, 32;
    @%p2 bra HIGH;
    bar.red.popc.u32 %r2, 0, %p1;
    add.u32 %r4, %r2, 0;
    bra END;
    HIGH: bar.red.popc.u32 %r3, 0, %p1;
    add.u32 %r4, %r3, 5;
    END:
    """ + put("%r4")
    d = numbers(64)
    launch(body, d, block=64)
    assert d.tolist() == [40] * 32 + [45] * 32


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_what_is_written_after_an_arrival_is_a_race_in_every_order(seed):
    body = (
        SHARED
        + """
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra CONSUME;
    st.shared.u32 [%r7], %r0;
    bar.arrive 1, 64;
    add.u32 %r2, %r0, 100;
    st.shared.u32 [%r7], %r2;
    bra END;
    CONSUME: bar.sync 1, 64;
    ld.shared.u32 %r2, [%r7+-128];
    END:
    """
        + put("%r2")
    )
    assert kinds(launch(body, numbers(64), block=64, schedule=seed)) == ["race"]


def test_a_barrier_in_a_branch_of_a_warp_is_reported():
    body = """
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra L;
    bar.sync 1;
    L: bar.sync 0;
    """
    report = launch(body, numbers(), block=32)
    assert "barrier divergence" in kinds(report)


def test_warps_that_wait_at_different_barriers_are_a_deadlock_whose_message_locates_them():
    body = """
    setp.lt.u32 %p1, %r0, 32;
    @%p1 bra A;
    bar.sync 2, 96;
    bra END;
    A: bar.sync 1, 96;
    END: ret;
    """
    report = launch(body, numbers(), block=64)
    assert kinds(report) == ["deadlock"] and not report.completed
    assert "warp 0 wait at line" in report.findings[0].message.replace("waits", "wait")
    assert "bar.sync 1, 96;" in report.findings[0].message and "bar.sync 2, 96;" in report.findings[0].message


@pytest.mark.parametrize(
    ("operands", "said"), [("16", "barrier 16 does not exist"), ("1, 33", "the thread count 33 is not")]
)
def test_barriers_that_do_not_exist_are_reported(operands, said):
    given = operands.split(", ")
    moves = " ".join(f"mov.b32 %r{i + 2}, {x};" for i, x in enumerate(given))
    registers = ", ".join(f"%r{i + 2}" for i in range(len(given)))
    (found,) = launch(f"{moves}\nbar.sync {registers};", numbers()).findings
    assert found.kind == "illegal operand" and said in found.message


def test_the_last_warp_of_a_block_need_not_be_whole():
    d = numbers(40)
    body = SHARED + "st.shared.u32 [%r7], %r0;\nbar.sync 0;\nld.shared.u32 %r2, [%r5+156];\n" + put("%r2")
    assert not launch(body, d, block=40).findings
    assert d.tolist() == [39] * 40


def test_an_instruction_of_a_whole_warp_under_divergence_is_reported():
    body = """
    mov.b32 %r2, 0;
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra L;
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r8,%r9,%r10,%r11}, {%r2,%r2}, {%r2}, {%r2,%r2,%r2,%r2};
    L: ret;
    """
    (found,) = launch(body, numbers()).findings
    assert found.kind == "partial warp" and "only lanes 16-31 of warp 0 arrive; lanes 0-15 are missing" in found.message


def test_lanes_of_a_membermask_are_waited_for():
    """Lanes 16 to 31 take a longer way to the shuffle; all of them take part."""
    d = numbers()
    body = """
    mov.u32 %r2, %r0;
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra L;
    add.u32 %r2, %r2, 100;
    L: shfl.sync.bfly.b32 %r3, %r2, 16, 31, 0xffffffff;
    """ + put("%r3")
    assert not launch(body, d).findings
    assert d.tolist() == [n + 16 + 100 for n in range(16)] + list(range(16))


def test_a_warp_spins_until_another_warp_has_written():
    d, flag = numbers(64), numbers(1)
    body = """
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra WRITER;
    SPIN: ld.acquire.gpu.global.u32 %r2, [%rd2];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra SPIN;
    bra END;
    WRITER: mov.u32 %r3, 0;
    WORK: add.u32 %r3, %r3, 1;
    setp.lt.u32 %p3, %r3, 100;
    @%p3 bra WORK;
    mov.u32 %r2, 77;
    st.release.gpu.global.u32 [%rd2], %r2;
    END:
    """ + put("%r2")
    assert not launch(body, d, flag, block=64, max_steps=200_000).findings
    assert np.unique(d).tolist() == [77]
