# SPDX-License-Identifier: MIT
"""mbarrier: phases, the ordering that they establish, and copies that complete with them."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import SingleWave, warp_mask
from tests.ptx.steps.memory_states import Stepper
from wmma_emu.errors import UnsupportedInstructionError


def stepper(count: int, warps: int = 2, blocks: int = 1) -> Stepper:
    """Create a barrier at address 0 that expects ``count`` arrivals, visible to all threads."""
    made = Stepper(
        SingleWave(blocks=blocks, warps=warps, shared_bytes=4096, arrays={"x": np.arange(1024, dtype=np.uint32)})
    )
    one = np.zeros(made.state.shape, bool)
    one[:, 0, 0] = True
    made.do("mbarrier.init.shared::cta.b64", "[0]", count, active=one)
    made.chunk.barrier()
    return made


def parity_over(made: Stepper, parity: int, active=None) -> bool:
    made.do("mbarrier.test_wait.parity.shared.b64", "p0", "[0]", parity, active=active)
    seen = made.get("p0") if active is None else made.get("p0")[active]
    assert seen.all() == seen.any()
    return bool(seen.all())


def test_phases_alternate():
    made = stepper(64)
    assert parity_over(made, 1)
    for phase in (0, 1, 0):
        assert not parity_over(made, phase)
        made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", active=warp_mask(made.state.shape, 0))
        assert not parity_over(made, phase)
        made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", active=warp_mask(made.state.shape, 1))
        assert parity_over(made, phase)
    assert not made.kinds()


def test_a_state_identifies_its_phase_and_contains_the_pending_count():
    made = stepper(64)
    made.do("mbarrier.arrive.shared.b64", "rd1", "[0]", active=warp_mask(made.state.shape, 0))
    made.do("mbarrier.pending_count.b64", "r0", "rd1")
    assert made.get("r0")[0, 0].tolist() == list(range(64, 32, -1))
    low = warp_mask(made.state.shape, 0)
    made.do("mbarrier.try_wait.shared.b64", "p0", "[0]", "rd1", active=low)
    assert not made.get("p0")[low].any()
    made.do(
        "mbarrier.arrive.release.cta.shared.b64",
        "_",
        "[0]",
        32,
        active=warp_mask(made.state.shape, 1) & (np.arange(32) == 0),
    )
    made.do("mbarrier.try_wait.shared.b64", "p0", "[0]", "rd1", 1000, active=low)
    assert made.get("p0")[low].all()
    assert not made.kinds()


def test_a_phase_orders_arriving_threads_before_threads_that_observe_it():
    made = stepper(32)
    low, high = warp_mask(made.state.shape, 0), warp_mask(made.state.shape, 1)
    made.set("r0", 5)
    made.do("st.shared.b32", "[64]", "r0", active=low, line=3)
    made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", active=low)
    made.do("st.shared.b32", "[128]", "r0", active=low, line=5)
    assert parity_over(made, 0, high)
    made.do("ld.shared.b32", "r1", "[64]", active=high, line=7)
    assert not made.kinds()
    made.do("ld.shared.b32", "r1", "[128]", active=high, line=8)
    assert made.kinds() == [("race", 8)]


def test_without_observing_the_phase_threads_are_not_ordered():
    made = stepper(32)
    low, high = warp_mask(made.state.shape, 0), warp_mask(made.state.shape, 1)
    made.do("st.shared.b32", "[64]", 5, active=low)
    made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", active=low)
    made.do("ld.shared.b32", "r1", "[64]", active=high, line=7)
    assert made.kinds() == [("race", 7)]


def test_a_phase_waits_for_bytes_as_well_as_arrivals():
    made = stepper(1)
    one = np.zeros(made.state.shape, bool)
    one[0, 0, 0] = True
    made.do("mbarrier.arrive.expect_tx.shared.b64", "_", "[0]", 4096, active=one)
    assert not parity_over(made, 0)
    made.do("mbarrier.complete_tx.relaxed.cta.shared::cta.b64", "[0]", 4000, active=one)
    assert not parity_over(made, 0)
    made.do("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", "[0]", 4, active=one)
    made.do("mbarrier.complete_tx.relaxed.cta.shared::cta.b64", "[0]", 100, active=one)
    assert parity_over(made, 0)


def test_a_dropped_arrival_is_not_expected_again():
    made = stepper(3)
    one = np.zeros(made.state.shape, bool)
    one[0, 0, 0] = True
    made.do("mbarrier.arrive_drop.shared.b64", "rd0", "[0]", active=one)
    made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", 2, active=one)
    assert parity_over(made, 0)
    made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", 2, active=one)
    assert parity_over(made, 1)


@pytest.mark.parametrize("noinc", [False, True])
def test_copies_complete_with_the_phase(noinc):
    made = stepper(64 if noinc else 32)
    lanes = np.arange(64, dtype=np.uint64).reshape(1, 2, 32)
    made.set("rd1", lanes * 4 + made.chunk.address["x"])
    made.set("r0", lanes * 4 + 64)
    made.do("cp.async.ca.shared.global", "[r0]", "[rd1]", 4, line=3)
    made.do("cp.async.mbarrier.arrive" + (".noinc" if noinc else "") + ".shared.b64", "[0]")
    low = warp_mask(made.state.shape, 0)
    if not noinc:
        made.do("ld.shared.b32", "r1", "[r0]", active=low, line=5)
        assert made.kinds() == [("missing wait", 5)]
        made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", active=low)
    assert parity_over(made, 0)
    made.set("r0", (lanes ^ 32) * 4 + 64)
    made.do("ld.shared.b32", "r1", "[r0]", line=9)
    assert made.get("r1").ravel().tolist() == (lanes ^ 32).ravel().tolist()
    assert len(made.kinds()) == (not noinc)


def test_blocks_have_their_own_barriers():
    made = stepper(32, warps=1, blocks=2)
    first = np.zeros(made.state.shape, bool)
    first[0] = True
    made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", active=first)
    made.do("mbarrier.test_wait.parity.shared.b64", "p0", "[0]", 0)
    assert made.get("p0")[:, 0, 0].tolist() == [True, False]


def test_illegal_operands_are_found():
    made = stepper(2)
    one = np.zeros(made.state.shape, bool)
    one[0, 1, 4] = True
    made.do("mbarrier.arrive.shared.b64", "rd0", "[64]", active=one, line=3)
    made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", 3, active=one, line=4)
    made.do("mbarrier.arrive.noComplete.shared.b64", "rd0", "[0]", 2, active=one, line=5)
    made.do("mbarrier.init.shared.b64", "[128]", 0, active=one, line=6)
    made.do("mbarrier.inval.shared.b64", "[0]", active=one, line=7)
    made.do("mbarrier.arrive.shared.b64", "rd0", "[0]", active=one, line=8)
    missing, over = "mbarrier not initialised", "over-arrival"
    assert made.kinds() == [(missing, 3), (over, 4), (over, 5), ("illegal operand", 6), (missing, 8)]
    assert all(f.thread == (36, 0, 0) for f in made.chunk.found)
    assert "no mbarrier.init" in made.chunk.found[0].message


def test_an_unknown_action_is_refused():
    with pytest.raises(UnsupportedInstructionError, match=r"line 1: mbarrier.poke.*mbarrier.init"):
        stepper(1).build("mbarrier.poke.b64", "[0]")


@pytest.mark.parametrize("counts, kinds", [([8] * 32, []), ([8] * 31 + [9], ["lanes store to one place"])])
def test_lanes_that_initialise_one_barrier_agree_on_its_count(counts, kinds):
    made = Stepper(SingleWave(shared_bytes=4096))
    first = np.zeros(made.state.shape, bool)
    first[:, 0] = True
    made.set("r1", np.broadcast_to(np.array(counts, np.uint32), made.state.shape).copy())
    made.do("mbarrier.init.shared::cta.b64", "[0]", "r1", active=first)
    assert [x for x, _ in made.kinds()] == kinds
