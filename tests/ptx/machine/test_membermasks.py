# SPDX-License-Identifier: MIT
"""Wrong membermasks are found, and the same kernels with right ones have no finding, in every order."""

import re

import pytest

from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import LaunchLimitError

HALVES = "setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r2, {low}, {high}, %p1;\nbar.warp.sync %r2;\n"
BRANCHES = """
    setp.ge.u32 %p1, %r0, 16;
    @%p1 bra HIGH;
    bar.warp.sync {low};
    mov.u32 %r6, 7;
    bra END;
    HIGH: {high};
    END:
"""
"""Lanes 0 to 15 take one branch and reach a barrier of the warp, the others take another branch."""

BALLOT = """
    setp.lt.u32 %p1, %r0, 16;
    vote.sync.ballot.b32 %r2, %p1, 0xffffffff;
    setp.gt.u32 %p2, %r0, {last};
    @%p2 bra END;
    bar.warp.sync %r2;
    END:
"""
"""The mask of the lower half; in NVIDIA's sample of synccheck, lane 16 arrives too."""

LOOP = """
    mov.u32 %r4, 0;
    L: bar.warp.sync {mask};
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, {rounds};
    @%p1 bra L;
"""

ONE_LANE = """
    mov.u32 %r3, 5;
    setp.eq.u32 %p1, %r0, 0;
    {guard} {instruction};
"""

BUGS = [
    ("a lane outside its mask", "bar.warp.sync 0x0000ffff;", "bar.warp.sync 0xffffffff;",
     "illegal operand", "lane 16 executes this instruction, but its membermask, 0x0000ffff, does not include it", 16),
    ("a lane more than the ballot has", BALLOT.format(last=16), BALLOT.format(last=15),
     "illegal operand", "lane 16 executes this instruction, but its membermask, 0x0000ffff, does not include it", 1),
    ("halves with masks that overlap", HALVES.format(low="0xffff", high="0xff0000ff"),
     HALVES.format(low="0xffff", high="0xffff0000"), "illegal operand", "lane 16 executes this", 8),
    ("masks that name each other", HALVES.format(low="0x0001ffff", high="0xffffffff"),
     HALVES.format(low="0xffffffff", high="0xffffffff"), "illegal operand",
     "lane 0 waits with the membermask 0x0001ffff for lane 16, which waits for it with 0xffffffff: both must give the "
     "same membermask", 17),
    ("masks of two branches that name each other", BRANCHES.format(low="0x0001ffff", high="bar.warp.sync 0xffffffff"),
     BRANCHES.format(low="0xffffffff", high="bar.warp.sync 0xffffffff"), "illegal operand",
     "both must give the same membermask", None),
    ("a barrier of the block in the other branch", BRANCHES.format(low="0xffffffff", high="bar.warp.sync 0xffff0000;\n"
     "barrier.sync 0"), BRANCHES.format(low="0x0000ffff", high="bar.warp.sync 0xffff0000"),
     "partial warp", "lanes 0-15 of warp 0 wait with the membermask 0xffffffff for lanes 16-31, which "
     "cannot arrive: lanes 16-31 of warp 0 wait at line .* for barrier 0, where 16 of 32 threads have arrived", 16),
    ("a shuffle in one branch, a barrier of the warp in the other", BRANCHES.format(low="0xffffffff",
     high="shfl.sync.idx.b32 %r3, %r0, 16, 31, 0xffffffff"), BRANCHES.format(low="0x0000ffff",
     high="shfl.sync.idx.b32 %r3, %r0, 16, 31, 0xffff0000"), "partial warp", "which cannot arrive: lanes 16-31 of warp "
     "0 wait at line .* for lanes 0-15 of warp 0", 16),
    ("a round less for half of the warp", "setp.lt.u32 %p2, %r0, 16;\nselp.b32 %r5, 3, 2, %p2;\n"
     + LOOP.format(mask="0xffffffff", rounds="%r5") + "barrier.sync 1, 32;\n",
     "setp.lt.u32 %p2, %r0, 16;\nselp.b32 %r5, 3, 2, %p2;\n" + LOOP.format(mask="0xffffffff", rounds="2")
     + "barrier.sync 1, 32;\n", "partial warp", "lanes 0-15 of warp 0 wait .* for lanes 16-31", 16),
    ("a ballot of one lane for all", ONE_LANE.format(guard="@%p1", instruction="vote.sync.ballot.b32 %r3, %p1, 0x3")
     + "barrier.sync 0;\n", ONE_LANE.format(guard="@%p1", instruction="vote.sync.ballot.b32 %r3, %p1, 0x1")
     + "barrier.sync 0;\n", "partial warp", "only lane 0 of warp 0 arrives; lane 1 is missing (blocked elsewhere: "
     "lane 1 of warp 0 waits at line .* for barrier 0, where 31 of 32 threads have arrived", 1),
    ("a sum over lanes that do not take part", ONE_LANE.format(guard="@%p1", instruction="redux.sync.add.s32 %r3, %r0, "
     "0xffffffff") + "barrier.sync 0;\n", ONE_LANE.format(guard="", instruction="redux.sync.add.s32 %r3, %r0, "
     "0xffffffff") + "barrier.sync 0;\n", "partial warp", "lanes 1-31 are missing (blocked elsewhere", 31),
    ("a sum of a lane outside its mask", ONE_LANE.format(guard="", instruction="redux.sync.add.s32 %r3, %r0, "
     "0xfffffffe"), ONE_LANE.format(guard="", instruction="redux.sync.add.s32 %r3, %r0, -1"), "illegal operand",
     "lane 0 executes this instruction, but its membermask, 0xfffffffe, does not include it", 1),
    ("a match of a lane outside its mask", ONE_LANE.format(guard="", instruction="match.any.sync.b32 %r3, %r0, "
     "0x7fffffff"), ONE_LANE.format(guard="", instruction="match.any.sync.b32 %r3, %r0, -1"), "illegal operand",
     "lane 31 executes this", 1),
]  # fmt: skip
NAMES = [x[0] for x in BUGS]


def found(body, **options):
    return launch(body + put("%r0"), numbers(), block=32, **options).findings


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(("name", "wrong", "right", "kind", "message", "count"), BUGS, ids=NAMES)
def test_a_wrong_mask_is_found_and_a_right_one_is_not(name, wrong, right, kind, message, count, seed):
    findings = found(wrong, schedule=seed)
    pattern = re.escape(message).replace(r"\.\*", ".*")
    if seed is None or count is not None:
        assert findings and findings[0].kind == kind and findings[0].severity == "error", findings
    if seed is None:
        assert re.search(pattern, findings[0].message), findings[0].message
        assert count is None or findings[0].count == count
    assert {x.kind for x in findings} == {kind}
    assert not found(right, schedule=seed)


@pytest.mark.parametrize("seed", [None, *range(8)])
@pytest.mark.parametrize(
    "body",
    [
        BRANCHES.format(low="0xffffffff", high="bar.warp.sync 0xffffffff"),  # CUDA: a corresponding __syncwarp
        "setp.ge.u32 %p1, %r0, 16;\n@%p1 bra L;\nbar.warp.sync 0xffff;\nL: bar.warp.sync 0xffffffff;\n",
        "setp.ge.u32 %p1, %r0, 16;\n@%p1 bra L;\nexit;\nL: bar.warp.sync 0xffffffff;\n",  # those that have exited
        LOOP.format(mask="0xffffffff", rounds="3"),
        "mov.u32 %r4, %lanemask_eq;\nbar.warp.sync %r4;\n",
    ],
)
def test_barriers_of_a_warp_that_cuda_allows_have_no_finding(body, seed):
    assert not found(body, schedule=seed)


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_writes_of_lanes_in_another_branch_are_visible_after_the_barrier(seed):
    body = """
    .shared .align 4 .b8 s[128];
    mov.u32 %r7, s;
    mad.lo.u32 %r7, %r0, 4, %r7;
    setp.ge.u32 %p1, %r0, 16;
    @%p1 bra HIGH;
    st.shared.u32 [%r7], %r0;
    bar.warp.sync -1;
    ld.shared.u32 %r2, [%r7+64];
    bra END;
    HIGH: add.u32 %r2, %r0, 100;
    st.shared.u32 [%r7], %r2;
    bar.warp.sync -1;
    ld.shared.u32 %r2, [%r7+-64];
    END:
    """
    d = numbers()
    assert not launch(body + put("%r2"), d, block=32, schedule=seed).findings
    assert d.tolist() == [*range(116, 132), *range(16)]


def test_an_uninitialised_mask_is_found():
    finding, _ = found("bar.warp.sync %r9;\n")
    assert finding.kind == "uninitialised" and "the membermask depends on %r9" in finding.message


def test_without_the_check_wrong_masks_are_not_reported_and_all_lanes_continue():
    for _, wrong, *_ in BUGS:
        d = numbers()
        assert not launch(wrong + put("%r0"), d, block=32, checks=("memory", "undefined", "races")).findings
        assert d[1:].tolist() == list(range(1, 32))


def test_the_error_of_a_spinning_launch_names_the_mbarrier_and_what_it_lacks():
    body = """
    .shared .align 8 .b64 bar;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 2;
    bar.warp.sync -1;
    @%p1 mbarrier.arrive.shared.b64 _, [bar];
    L: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra L;
    """
    with pytest.raises(LaunchLimitError) as error:
        launch(body, block=32, max_steps=2000)
    text = str(error.value)
    assert "8 bytes at 0x400 of shared memory (bar + 0): phase 0 (parity 0) lacks 1 of 2 arrivals and 0 bytes" in text
    assert "; warp 0 waits for it at line " in text
