# SPDX-License-Identifier: MIT
"""Histories contain the bits that each thread read and wrote, and the synchronisation in between."""

import numpy as np
import pytest

from tests.ptx.history.histories import finding_of, launched, rows
from tests.ptx.planted.table import PLANTED
from tests.ptx.texts_of_kernels import launch, numbers, put

ALL = tuple(range(32))


def test_a_missing_barrier_shows_two_accesses_without_synchronisation_in_between():
    history = finding_of("reversed").explain()
    assert rows(history) == [
        (1, "writes", 0, (1,), (31,), "0x0000003f"),
        (2, "reads", 0, (0,), (0,), "0x0000003f"),
    ]
    assert (history.other, history.here) == (0, 1)
    assert history.conclusion == (
        "Nothing orders the two: between step 1, where warp 1 writes 0x0000003f, and step 2, where warp 0 reads "
        "0x0000003f, warp 1 and warp 0 met no barrier.",
    )


def test_an_overwritten_tile_shows_the_barrier_before_the_read_and_none_after_it():
    history = finding_of("overwritten").explain()
    assert rows(history)[:4] == [
        (1, "writes", 0, (0,), (0,), "0x00000000"),
        (2, "meets", 0, (0, 1), ALL, "barrier 0"),
        (3, "reads", 0, (1,), (31,), "0x00000000"),
        (4, "writes", 0, (0,), (0,), "0x00000040"),
    ]
    assert (history.other, history.here) == (2, 3)


@pytest.mark.thorough
def test_a_double_buffer_shows_the_barriers_of_other_iterations():
    history = finding_of("double_buffer").explain()
    here, other = history.events[history.here], history.events[history.other]
    assert (other.what, other.bits, other.warps, other.lanes) == ("writes", "0x00000060", (1,), (0,))
    assert (here.what, here.bits, here.warps, here.lanes) == ("reads", "0x00000060", (0,), (0,))
    assert history.here == history.other + 1
    assert [x.detail for x in history.events if x.what == "meets"] == ["barrier 0"] * 3


@pytest.mark.parametrize(("asynchrony", "read"), [("eager", "0x0000003f"), ("late", "0x00000000")])
def test_a_copy_without_a_wait_is_issued_and_does_not_arrive(asynchrony, read):
    history = finding_of("no_wait", asynchrony=asynchrony).explain()
    assert rows(history) == [
        (1, "begins to copy to", 0, (1,), (31,), "0x0000003f"),
        (2, "commits", 0, (0, 1), ALL, "cp.async.commit_group"),
        (3, "meets", 0, (0, 1), ALL, "barrier 0"),
        (4, "reads", 0, (0,), (0,), read),
    ]
    assert "waited for no group: the copy had not arrived" in history.conclusion[0]


def test_a_wait_of_too_few_groups_is_named():
    history = finding_of("waits_for_too_few").explain()
    assert [x.what for x in history.events].index("waits for") < history.here
    assert "the last wait of warp 0 was cp.async.wait_group" in history.conclusion[0]


def test_a_copy_arrives_when_its_thread_has_waited():
    history = finding_of("stage_filled_too_early").explain()
    copied = [x for x in history.events if x.what in ("begins to copy to", "copies to")]
    assert [x.what for x in copied[:2]] == ["begins to copy to", "copies to"]
    assert copied[0].bits == copied[1].bits == "0x00000000"


def test_a_race_of_two_blocks_names_both_and_what_they_lack():
    history = finding_of("exchange_of_blocks").explain()
    assert rows(history) == [
        (1, "writes", 1, (1,), (31,), "0x0000007f"),
        (2, "meets", 0, (0, 1), ALL, "barrier 0"),
        (2, "meets", 1, (0, 1), ALL, "barrier 0"),
        (3, "reads", 0, (0,), (0,), "0x0000007f"),
    ]
    assert "block (1, 0, 0) executes neither a fence nor a release" in history.conclusion[0]


def test_a_flag_without_a_fence_shows_the_flag_and_the_fence_that_is_there():
    history = finding_of("flag_without_a_fence").explain()
    assert [x.what for x in history.events] == ["writes", "synchronises", "synchronises", "fence", "reads"]
    assert "block (0, 0, 0) executes neither a fence nor a release." in history.conclusion[0]
    assert "no acquire" not in history.conclusion[0]


def test_lanes_that_store_at_once_have_no_order():
    history = finding_of("result_of_all_lanes").explain()
    assert history.conclusion == (
        "In step 1, lane 0 of warp 0 writes 0x00000000 and lane 1 of warp 0 writes 0x00000001, at the same "
        "instruction; their order is undefined.",
    )


def test_actions_of_several_lanes_are_in_the_plural():
    body = ".shared .b32 s;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u32 [s], 7;\nld.shared.u32 %r2, [s];\n"
    (finding,) = launch(body + put("%r2") + "ret;", numbers()).findings
    assert finding.explain().conclusion == (
        "Nothing orders the two: between step 1, where lane 0 of warp 0 writes 0x00000007, and step 2, where lanes "
        "0-31 of warp 0 read 0x00000007, lanes of warp 0 met no __syncwarp().",
    )


def test_a_race_of_two_warps_names_both_even_if_lanes_of_one_warp_race_too():
    """Both warps store 3 in every lane, and one lane stores it again: the finding names two warps."""
    body = ".shared .b32 s;\nst.shared.u32 [s], 3;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u32 [s], 3;\nret;"
    finding = next(x for x in launch(body, numbers(), block=64).findings if len(x.sides) == 2)
    assert finding.kind == "race of equal bytes" and finding.message.startswith("warp 0 writes")
    history = finding.explain()
    here, other = (history.events[x] for x in (history.here, history.other))
    assert {here.warps, other.warps} == {(0,), (1,)}
    assert "no barrier" in history.conclusion[0]


def test_unwritten_shared_memory_is_read_and_then_used():
    history = finding_of("border").explain()
    assert [(x.what, x.bits) for x in history.events] == [("reads", "0x00000000"), ("uses", "")]
    assert history.here == 1
    assert history.conclusion == ("No thread wrote these bytes.",)


def test_a_history_of_a_register_names_the_lanes_that_wrote_it():
    history = finding_of("register_of_some_lanes").explain()
    assert rows(history)[0] == (1, "writes register", 0, (0,), tuple(range(1, 32)), "0x00000005")
    assert "uninitialised.cu:68" in str(history)


def test_a_register_that_no_instruction_writes_is_reported_as_such():
    assert finding_of("accumulator").explain().conclusion[0].startswith(("No instruction", "It is written"))


def test_a_deadlock_shows_which_threads_arrived_and_which_exited():
    history = finding_of("left_early").explain()
    assert rows(history)[:3] == [
        (1, "arrives", 0, (0,), ALL, "barrier 0"),
        (1, "arrives", 0, (1,), tuple(range(18)), "barrier 0"),
        (2, "exits", 0, (1,), tuple(range(18, 32)), ""),
    ]
    assert {x.what for x in history.events[3:]} == {"no way on"}
    assert history.conclusion[1:] == ("Lanes 18-31 of warp 1 did not reach barrier 0: in step 2 they exited.",)


def test_a_partial_warp_shows_the_instruction_of_each_lane():
    history = finding_of("mma_of_some_lanes").explain()
    absent = (0, 13, 26)
    there = tuple(x for x in ALL if x not in absent)
    assert [(x.what, x.lanes) for x in history.events] == [
        ("waits", there), ("exits", absent), ("meets", there), ("exits", there),
    ]  # fmt: skip


def test_lanes_that_wait_for_each_other_at_two_barriers_are_seen_at_both():
    history = finding_of("wait_for_those_at_a_barrier").explain()
    lower, upper = tuple(range(16)), tuple(range(16, 32))
    assert [(x.what, x.lanes, x.detail) for x in history.events[:3]] == [
        ("waits", lower, "bar.warp.sync 0xffffffff"), ("waits", upper, "bar.sync"),
        ("continues alone", lower, "bar.warp.sync"),
    ]  # fmt: skip


def test_a_trap_and_an_assertion_show_which_lanes_stopped_the_kernel():
    assert [(x.what, x.lanes) for x in finding_of("trap").explain().events] == [("gives up", (7,))]
    assert [(x.what, x.lanes) for x in finding_of("assertion").explain().events] == [("gives up", (0, 1, 2, 3))]


def test_an_mbarrier_shows_its_bits_and_which_threads_see_its_phase():
    history = finding_of("arrival_before_the_barrier").explain()
    assert [x.bits for x in history.events if x.what == "writes"] == ["0x7ffe0000001fff80"]
    assert {x.what for x in history.events} >= {"arrives", "completes", "updates", "reads"}


def test_a_membermask_is_part_of_what_lanes_meet_at():
    history = finding_of("halves_of_a_warp").explain()
    met = [(x.lanes, x.detail) for x in history.events if x.what == "meets"]
    assert met == [
        (tuple(range(16)), "bar.warp.sync 0x0000ffff"), (tuple(range(16, 32)), "bar.warp.sync 0xffff0000"),
    ]  # fmt: skip
    assert "met no __syncwarp()" in history.conclusion[0]


def test_an_atomic_operation_has_the_bits_before_and_after_it():
    history = finding_of("look_beside_atomics").explain()
    update = next(x for x in history.events if x.what == "updates")
    assert update.before == 0
    assert update.value > 0


def test_an_access_that_is_not_performed_has_no_bits():
    history = finding_of("read_past_the_end").explain()
    assert [(x.what, x.value, x.size) for x in history.events] == [("reads", None, 4)]


def test_a_loop_that_waits_is_one_event_with_its_count():
    history = finding_of("relaxed_for_acquire").explain()
    assert len(history.events) < 20


@pytest.mark.parametrize("name", sorted(PLANTED)[::12])
def test_each_finding_is_reproduced_and_the_arrays_do_not_change(name):
    arguments = PLANTED[name].arguments()
    report = launched(name, *arguments)
    arrays = [x for x in arguments if isinstance(x, np.ndarray)]
    before = [x.tobytes() for x in arrays]
    for finding in report.findings:
        history = finding.explain()
        assert history.is_replayed, f"{finding}\n{history}"
        assert history.events
        assert not finding.others or (history.here is not None and history.other is not None), str(history)
    assert [x.tobytes() for x in arrays] == before
