# SPDX-License-Identifier: MIT
"""Small PTX kernels, each synchronised in one way that the memory model defines, or in one that it does not."""

import numpy as np
import pytest

import wmma_emu as we

TEXT = """.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_data, .param .u64 k_flag)
{{
    .reg .pred %p<8>;
    .reg .b32 %r<32>;
    .reg .b64 %rd<32>;
    .shared .align 8 .b64 bar;
    .shared .align 8 .b64 gate;
    .shared .align 4 .b8 tile[512];
    ld.param.u64 %rd1, [k_data];
    ld.param.u64 %rd2, [k_flag];
    cvta.to.global.u64 %rd1, %rd1;
    cvta.to.global.u64 %rd2, %rd2;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %laneid;
    shr.u32 %r4, %r1, 5;
    mov.u32 %r9, 0;
    {body}
    ret;
}}
"""

FLAG = """
    setp.ne.u32 %p1, {role}, 0;
    @%p1 bra TAKER;
    st.global.u32 [%rd1], 7;
    {release}
    bra END;
TAKER:
    setp.ne.u32 %p2, {role}, 1;
    @%p2 bra END;
SPIN:
    {look}
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra SPIN;
    {acquire}
    ld.global.u32 %r11, [%rd1];
    st.global.u32 [%rd1+8], %r11;
END:
"""
"""One thread passes a word to another, synchronised by a flag."""

BLOCKS, WARPS, LANES_OF_ONE = ("%r2", (2, 1), 1), ("%r4", (1, 1), 64), ("%r3", (1, 1), 32)


def findings(body, grid, threads):
    module = we.ptx.Module(TEXT.format(body=body), arch="sm_90", findings="report")
    data, flag = np.zeros(256, np.uint32), np.zeros(64, np.uint32)
    return [(x.kind, x.severity) for x in module["k"][grid, threads](data, flag).findings]


def flag_findings(between, release, look, acquire=""):
    role, grid, threads = between
    if between is WARPS:  # one lane of each warp
        body = "setp.ne.u32 %p7, %r3, 0;\n@%p7 bra END;\n"
    else:
        body = ""
    body += FLAG.format(role=role, release=release, look=look, acquire=acquire)
    return [kind for kind, severity in findings(body, grid, threads) if severity == "error"]


FENCED = "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd2], 1;"
ORDERED = {
    "release and acquire": (BLOCKS, "st.release.gpu.global.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r10, [%rd2];"),
    "at the scope of the block, within it": (
        WARPS, "st.release.cta.global.u32 [%rd2], 1;", "ld.acquire.cta.global.u32 %r10, [%rd2];",
    ),
    "between lanes": (LANES_OF_ONE, "st.release.cta.global.u32 [%rd2], 1;", "ld.acquire.cta.global.u32 %r10, [%rd2];"),
    "a fence and a strong store": (BLOCKS, FENCED, "ld.acquire.gpu.global.u32 %r10, [%rd2];"),
    "a strong load and a fence": (BLOCKS, FENCED, "ld.relaxed.gpu.global.u32 %r10, [%rd2];", "fence.acq_rel.gpu;"),
    "volatile with fences": (
        BLOCKS, "membar.gl;\nst.volatile.global.u32 [%rd2], 1;", "ld.volatile.global.u32 %r10, [%rd2];", "membar.gl;",
    ),
    "a releasing reduction": (
        BLOCKS, "red.release.gpu.global.add.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r10, [%rd2];",
    ),
    "atomic operations on both sides": (
        BLOCKS, "atom.release.gpu.global.exch.b32 %r12, [%rd2], 1;", "atom.acquire.gpu.global.add.u32 %r10, [%rd2], 0;",
    ),
    "sequential consistency": (
        BLOCKS, "fence.sc.sys;\natom.global.add.u32 %r12, [%rd2], 1;", "ld.relaxed.sys.global.u32 %r10, [%rd2];",
        "fence.sc.sys;",
    ),
    "a release, then a relaxed store to the same word": (
        BLOCKS, "st.release.gpu.global.u32 [%rd2], 0;\nst.relaxed.gpu.global.u32 [%rd2], 1;",
        "ld.acquire.gpu.global.u32 %r10, [%rd2];",
    ),
}  # fmt: skip
UNORDERED = {
    "volatile alone": (BLOCKS, "st.volatile.global.u32 [%rd2], 1;", "ld.volatile.global.u32 %r10, [%rd2];"),
    "relaxed alone": (BLOCKS, "st.relaxed.gpu.global.u32 [%rd2], 1;", "ld.relaxed.gpu.global.u32 %r10, [%rd2];"),
    "no release": (BLOCKS, "st.relaxed.gpu.global.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r10, [%rd2];"),
    "no acquire": (BLOCKS, "st.release.gpu.global.u32 [%rd2], 1;", "ld.relaxed.gpu.global.u32 %r10, [%rd2];"),
    "the scope of the block, between blocks": (
        BLOCKS, "fence.acq_rel.cta;\nst.relaxed.gpu.global.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r10, [%rd2];",
    ),
    "an acquire at the scope of the block, between blocks": (
        BLOCKS, FENCED, "ld.relaxed.gpu.global.u32 %r10, [%rd2];", "membar.cta;",
    ),
    "a fence after the store of the flag": (
        BLOCKS, "st.relaxed.gpu.global.u32 [%rd2], 1;\nfence.acq_rel.gpu;", "ld.acquire.gpu.global.u32 %r10, [%rd2];",
    ),
    "a write after the fence": (
        BLOCKS, "fence.acq_rel.gpu;\nst.global.u32 [%rd1], 8;\nst.relaxed.gpu.global.u32 [%rd2], 1;",
        "ld.acquire.gpu.global.u32 %r10, [%rd2];",
    ),
    "a reduction that releases nothing": (
        WARPS, "red.global.add.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r10, [%rd2];",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERED.values(), ids=ORDERED)
def test_a_flag_orders_accesses(case):
    assert flag_findings(*case) == []


@pytest.mark.parametrize("case", UNORDERED.values(), ids=UNORDERED)
def test_an_incomplete_flag_leaves_a_race(case):
    assert flag_findings(*case) == ["race"]


def test_a_relaxed_store_of_another_thread_ends_a_release_sequence():
    others = """
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra SECOND;
    st.global.u32 [%rd1], 7;
    {release}
    bra END;
SECOND:
    setp.ne.u32 %p2, %r2, 1;
    @%p2 bra THIRD;
SPIN1:
    ld.relaxed.gpu.global.u32 %r10, [%rd2];
    setp.eq.u32 %p3, %r10, 0;
    @%p3 bra SPIN1;
    {second}
    bra END;
THIRD:
    ld.acquire.gpu.global.u32 %r10, [%rd2];
    setp.ne.u32 %p3, %r10, 2;
    @%p3 bra THIRD;
    ld.global.u32 %r11, [%rd1];
    setp.eq.u32 %p6, %r11, 0xdead;
    @%p6 trap;
END:
"""
    release = "st.release.gpu.global.u32 [%rd2], 1;"
    continued = others.format(release=release, second="atom.relaxed.gpu.global.add.u32 %r12, [%rd2], 1;")
    ended = others.format(release=release, second="st.relaxed.gpu.global.u32 [%rd2], 2;")
    assert findings(continued, (3, 1), 1) == []
    assert findings(ended, (3, 1), 1) == [("race", "error")]


COUNT = """
    atom.global.add.u32 %r9, [%rd2], 1;
    st.shared.u32 [tile], %r9;
JOIN:
    bar.sync 0;
    ld.shared.u32 %r9, [tile];
    setp.ne.u32 %p2, %r9, {last};
    @%p2 bra END;
"""
"""A thread counts its block; only the threads of the block with the number ``last`` continue."""

LAST_BLOCK = (
    """
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd4, %rd1, %rd3;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra JOIN;
    st.global.u32 [%rd4], 7;
    {fence}
"""
    + COUNT
    + """    {again}
    rem.u32 %r5, %r1, 4;
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r11, [%rd6];
    setp.eq.u32 %p6, %r11, 0xdead;
    @%p6 trap;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 bra END;
    st.global.u32 [%rd2], 0;
END:
"""
)


@pytest.mark.parametrize("again", ["", "membar.gl;"], ids=["as in the CUDA guide", "with a fence"])
def test_the_last_block_is_ordered_after_all_others(again):
    assert findings(LAST_BLOCK.format(fence="membar.gl;", last=3, again=again), (4, 1), 64) == []


def test_the_last_block_is_unordered_without_a_fence():
    found = findings(LAST_BLOCK.format(fence="", last=3, again=""), (4, 1), 64)
    assert ("race", "error") in found


def test_the_first_block_is_not_ordered_after_the_others():
    assert ("race", "error") in findings(LAST_BLOCK.format(fence="membar.gl;", last=0, again=""), (4, 1), 64)


FENCED_BY_ALL = (
    """
    mul.lo.u32 %r5, %r2, 64;
    add.u32 %r5, %r5, %r1;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], 7;
    {fence}
    {barrier}
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra JOIN;
"""
    + COUNT
    + """    mul.wide.u32 %rd5, %r1, 16;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r11, [%rd6];
    setp.eq.u32 %p6, %r11, 0xdead;
    @%p6 trap;
END:
"""
)


@pytest.mark.parametrize(
    ("fence", "barrier", "orders"),
    [
        ("membar.gl;", "bar.sync 0;", True),
        ("membar.gl;", "bar.sync 2, 64;", True),
        ("membar.gl;", "", False),
        ("membar.gl;", "bar.warp.sync 0xffffffff;", False),
        ("membar.cta;", "bar.sync 0;", False),
        ("", "bar.sync 0;", False),
    ],
)
def test_one_thread_counts_for_threads_that_executed_a_fence_before_a_barrier(fence, barrier, orders):
    found = findings(FENCED_BY_ALL.format(fence=fence, barrier=barrier, last=3), (4, 1), 64)
    assert found == ([] if orders else [("race", "error")])


GRID = """
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd4, %rd1, %rd3;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra FIRST;
    st.global.u32 [%rd4], 7;
FIRST:
    bar.sync 0;
    setp.ne.u32 %p2, %r1, {arriver};
    @%p2 bra JOIN;
    {fence}
    atom.global.add.u32 %r9, [%rd2], 1;
SPIN:
    {look}
    setp.lt.u32 %p3, %r10, 4;
    @%p3 bra SPIN;
    {fence}
JOIN:
    bar.sync 0;
    add.u32 %r5, %r2, 1;
    rem.u32 %r5, %r5, 4;
    mul.wide.u32 %rd5, %r5, 4;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r11, [%rd6];
    setp.eq.u32 %p6, %r11, 0xdead;
    @%p6 trap;
"""


@pytest.mark.parametrize("look", ["ld.volatile.global.u32 %r10, [%rd2];", "ld.acquire.gpu.global.u32 %r10, [%rd2];"])
@pytest.mark.parametrize("arriver", [0, 40])
def test_a_barrier_of_the_grid_orders_all_blocks(look, arriver):
    assert findings(GRID.format(fence="membar.gl;", look=look, arriver=arriver), (4, 1), 64) == []


@pytest.mark.parametrize("fence", ["", "membar.cta;"])
def test_a_barrier_of_the_grid_without_its_fences_orders_no_blocks(fence):
    body = GRID.format(fence=fence, look="ld.volatile.global.u32 %r10, [%rd2];", arriver=0)
    assert findings(body, (4, 1), 64) == [("race", "error")]


EXCHANGE = """
    shl.b32 %r5, %r1, 2;
    mov.u32 %r6, tile;
    add.u32 %r7, %r6, %r5;
    st.shared.u32 [%r7], %r1;
    {sync}
    xor.b32 %r8, %r1, {distance};
    shl.b32 %r8, %r8, 2;
    add.u32 %r8, %r6, %r8;
    ld.shared.u32 %r10, [%r8];
"""
MEETINGS = {
    "bar.sync": ("bar.sync 0;", 32, True),
    "barrier.sync": ("barrier.sync 3;", 32, True),
    "a barrier that counts all threads": ("bar.sync 1, 64;", 32, True),
    "bar.red": ("setp.eq.u32 %p5, %r1, 0;\nbar.red.popc.u32 %r12, 0, %p5;", 32, True),
    "bar.arrive alone": ("bar.arrive 1, 128;", 32, False),
    "a barrier of each warp": ("add.u32 %r13, %r4, 1;\nbar.sync %r13, 32;", 32, False),
    "a barrier of each warp, within it": ("add.u32 %r13, %r4, 1;\nbar.sync %r13, 32;", 5, True),
    "bar.warp.sync between warps": ("bar.warp.sync 0xffffffff;", 32, False),
    "bar.warp.sync": ("bar.warp.sync 0xffffffff;", 17, True),
    "bar.warp.sync of halves, within them": (
        "setp.lt.u32 %p5, %r3, 16;\nselp.b32 %r14, 0xffff, 0xffff0000, %p5;\nbar.warp.sync %r14;", 9, True,
    ),
    "bar.warp.sync of halves, between them": (
        "setp.lt.u32 %p5, %r3, 16;\nselp.b32 %r14, 0xffff, 0xffff0000, %p5;\nbar.warp.sync %r14;", 16, False,
    ),
    "a shuffle": ("shfl.sync.bfly.b32 %r12, %r1, 1, 31, 0xffffffff;", 1, False),
    "a vote": ("setp.eq.u32 %p5, %r1, 0;\nvote.sync.any.pred %p6, %p5, 0xffffffff;", 1, False),
    "a reduction": ("redux.sync.add.u32 %r12, %r1, 0xffffffff;", 1, False),
    "a fence": ("membar.gl;", 1, False),
    "the barrier of a cluster": ("barrier.cluster.arrive;\nbarrier.cluster.wait;", 32, True),
    "nothing": ("", 1, False),
}  # fmt: skip


@pytest.mark.parametrize(("sync", "distance", "orders"), MEETINGS.values(), ids=MEETINGS)
def test_threads_that_wait_for_each_other_are_ordered(sync, distance, orders):
    found = [kind for kind, severity in findings(EXCHANGE.format(sync=sync, distance=distance), (1, 1), 64)]
    assert (found == []) == orders
    assert all(kind.startswith("race") for kind in found)


def test_accesses_between_arriving_and_waiting_are_not_ordered():
    body = """
    mov.u32 %r6, tile;
    shl.b32 %r5, %r1, 2;
    add.u32 %r7, %r6, %r5;
    {before}
    barrier.cluster.arrive;
    {between}
    barrier.cluster.wait;
    xor.b32 %r8, %r5, 128;
    add.u32 %r8, %r6, %r8;
    ld.shared.u32 %r10, [%r8];
    setp.eq.u32 %p6, %r10, 0xdead;
    @%p6 trap;
"""
    store = "st.shared.u32 [%r7], %r1;"
    assert findings(body.format(before=store, between=""), (1, 1), 64) == []
    assert findings(body.format(before="", between=store), (1, 1), 64) == [("race", "error")]


MBARRIER = """
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra MADE;
    mbarrier.init.shared.b64 [bar], {count};
MADE:
    bar.sync 0;
    setp.ge.u32 %p2, %r1, 32;
    @%p2 bra TAKER;
    shl.b32 %r5, %r1, 2;
    mov.u32 %r6, tile;
    add.u32 %r7, %r6, %r5;
    {write}
    {arrive}
    bra END;
TAKER:
    {test} %p3, [bar], 0;
    @!%p3 bra TAKER;
    {then}
    sub.u32 %r5, %r1, 32;
    shl.b32 %r5, %r5, 2;
    mov.u32 %r6, tile;
    add.u32 %r7, %r6, %r5;
    ld.shared.u32 %r10, [%r7];
    setp.eq.u32 %p6, %r10, 0xdead;
    @%p6 trap;
END:
"""
WAIT = "mbarrier.try_wait.parity.shared.b64"
ELECTED = "setp.ne.u32 %p5, %r3, 0;\n@%p5 bra END;\nmbarrier.arrive.shared.b64 %rd9, [bar];"
STORE = "st.shared.u32 [%r7], %r1;"
PHASES = {
    "all arrive": (32, STORE, "mbarrier.arrive.shared.b64 %rd9, [bar];", WAIT, "", True),
    "one lane arrives after bar.warp.sync": (1, STORE, "bar.warp.sync 0xffffffff;\n" + ELECTED, WAIT, "", True),
    "one lane arrives for others without a barrier": (1, STORE, ELECTED, WAIT, "", False),
    "arrivals are relaxed": (
        32, STORE, "mbarrier.arrive.relaxed.cta.shared.b64 %rd9, [bar];", WAIT, "", False,
    ),
    "relaxed after a fence": (
        32, STORE, "fence.acq_rel.cta;\nmbarrier.arrive.relaxed.cta.shared.b64 %rd9, [bar];", WAIT, "", True,
    ),
    "waiting is relaxed": (
        32, STORE, "mbarrier.arrive.shared.b64 %rd9, [bar];", "mbarrier.try_wait.parity.relaxed.cta.shared.b64", "",
        False,
    ),
    "waiting is relaxed, before a fence": (
        32, STORE, "mbarrier.arrive.shared.b64 %rd9, [bar];", "mbarrier.try_wait.parity.relaxed.cta.shared.b64",
        "fence.acq_rel.cta;", True,
    ),
    "the write follows the arrival": (
        32, "", "mbarrier.arrive.shared.b64 %rd9, [bar];\n" + STORE, WAIT, "", False,
    ),
    "copies arrive": (
        32, "mul.wide.u32 %rd5, %r1, 4;\nadd.u64 %rd6, %rd1, %rd5;\ncp.async.ca.shared.global [%r7], [%rd6], 4;",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];", WAIT, "", True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("count", "write", "arrive", "test", "then", "orders"), PHASES.values(), ids=PHASES)
def test_a_phase_of_an_mbarrier_orders_earlier_accesses(count, write, arrive, test, then, orders):
    body = MBARRIER.format(count=count, write=write, arrive=arrive, test=test, then=then)
    found = [kind for kind, severity in findings(body, (1, 1), 64) if severity == "error"]
    assert found == ([] if orders else ["race"])


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
def test_the_thread_whose_operation_was_the_last_may_reset_the_word(scope):
    count = f"""
        atom.relaxed.{scope}.global.add.u32 %r10, [%rd2], 1;
        setp.ne.u32 %p1, %r10, {{last}};
        @%p1 bra END;
        st.global.u32 [%rd2], 0;
    END:"""
    assert findings(count.format(last=63), 1, 64) == []
    assert findings(count.format(last=31), 1, 64) != []  # others are still to come


LAST_ONE_ENDS = """
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra BEGUN;
    mbarrier.init.shared.b64 [bar], 64;
    st.shared.u32 [gate], 64;
BEGUN:
    bar.sync 0;
    {before}
    mbarrier.arrive.shared.b64 %rd9, [bar];
    {after}
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra END;
    {fence}
    atom.add.acquire.cta.shared.u32 %r10, [gate], -32;
    setp.ne.u32 %p3, %r10, 32;
    @%p3 bra END;
    mbarrier.inval.shared.b64 [bar];
END:
"""
"""One lane counts for each warp, and the last one ends the mbarrier, as the destructor of cuda::pipeline does."""

MATCH, FENCE = "match.any.sync.b32 %r11, %r9, 0xffffffff;", "fence.sc.cta;"
ENDS = {
    "the lanes wait for each other": ("", MATCH, FENCE, True),
    "in a vote": ("", "vote.sync.any.pred %p4, %p1, 0xffffffff;", FENCE, True),
    "in a barrier": ("", "bar.warp.sync 0xffffffff;", FENCE, True),
    "too early": (MATCH, "", FENCE, False),
    "not at all": ("", "", FENCE, False),
    "the lane that counts does not release": ("", MATCH, "", False),
    "only some lanes wait": ("", "setp.gt.u32 %p4, %r3, 7;\n@!%p4 match.any.sync.b32 %r11, %r9, 0xff;", FENCE, False),
}


@pytest.mark.parametrize(("before", "after", "fence", "orders"), ENDS.values(), ids=ENDS)
def test_an_mbarrier_ends_after_its_last_use_in_the_order_of_execution(before, after, fence, orders):
    body = LAST_ONE_ENDS.format(before=before, after=after, fence=fence)
    found = [kind for kind, severity in findings(body, (1, 1), 64) if severity == "error"]
    assert found == ([] if orders else ["race"])


def test_a_match_does_not_order_memory_before_the_end_of_an_mbarrier():
    after = MATCH.replace("match", "st.shared.u32 [%r7], %r1;\nmatch", 1)
    body = "mov.u32 %r7, tile;\nmad.lo.u32 %r7, %r1, 4, %r7;\n"
    body += LAST_ONE_ENDS.format(before="", after=after, fence=FENCE).replace(
        "mbarrier.inval", "ld.shared.u32 %r12, [tile+4];\nst.global.u32 [%rd1], %r12;\nmbarrier.inval"
    )
    assert ("race", "error") in findings(body, (1, 1), 64)
