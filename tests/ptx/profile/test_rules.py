# SPDX-License-Identifier: MIT
"""Rules of profiles: counters are exact and deterministic, are counted when asked for, and change no bit."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.profile.kernels import DIVERGING, GUARDED_BARRIER, HEAD, TRANSPOSED, profile_of, transposed
from wmma_emu.ptx.profile.instruction_costs import _KINDS
from wmma_emu.ptx.steps.table import MACHINE_STEPS, VALUE_STEPS


@pytest.mark.parametrize(("pitch", "conflicts"), [(4, 0), (8, 1), (64, 15), (128, 31), (132, 0), (0, 0)])
def test_conflicts_are_the_wavefronts_beyond_those_without_conflicts(pitch, conflicts):
    line = transposed(pitch)["transposed.cu:7"]
    assert (line.shared_requests, line.bank_conflicts, line.shared_wavefronts) == (1, conflicts, conflicts + 1)
    assert line.conflicts_per_request == conflicts


def test_warps_and_blocks_add_up():
    one, four = transposed(128), transposed(128, warps=4)
    assert four["transposed.cu:8"].bank_conflicts == 4 * one["transposed.cu:8"].bank_conflicts == 124
    assert (four.total.executions, four.total.barriers) == (4 * one.total.executions, 4)


def test_a_launch_that_is_not_asked_has_no_profile():
    module = we.ptx.Module(TRANSPOSED.replace("PITCH", "4").replace("SHARED", "128"), arch="sm_90")
    x = np.zeros(32, np.uint32)
    assert module["transposed"][1, 32](x).profile is None
    with we.ptx.profiling() as profile:
        module["transposed"][1, 32](x)
        module["transposed"][1, 32](x)
    assert module["transposed"][1, 32](x).profile is None
    assert profile.kernels[0].launches == 2 and profile.total.global_requests == 4


def test_counting_changes_no_bit_and_no_finding():
    module = we.ptx.Module(DIVERGING, arch="sm_90", findings="report")
    one, other = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    reports = module["diverging"][2, 64](one, 40), module["diverging"][2, 64](other, 40, profile=True)
    assert one.tobytes() == other.tobytes()
    assert [x.id for x in reports[0].findings] == [x.id for x in reports[1].findings]
    assert reports[0].instructions == reports[1].instructions


def test_two_profiles_of_a_launch_are_equal():
    assert transposed(64) == transposed(64)


@pytest.mark.parametrize(("n", "diverging", "stores"), [(0, 0, 0), (32, 0, 1), (40, 1, 2), (64, 0, 2)])
def test_branches_that_divide_a_warp_are_counted(n, diverging, stores):
    profile = profile_of(DIVERGING, "diverging", 1, 64, np.zeros(64, np.uint32), n)
    branch, store = profile["line 14"], profile["line 15"]
    assert (branch.branches, branch.divergent_branches) == (2, diverging)
    assert (branch.threads_taken, branch.threads_not_taken) == (64 - n, n)
    assert (store.executions, store.threads, store.divergent_executions) == (stores, n, diverging)


def test_threads_whose_guard_does_not_hold_are_active_but_do_not_execute():
    line = profile_of(DIVERGING, "diverging", 1, 64, np.zeros(64, np.uint32), 64)["line 18"]
    assert (line.executions, line.active_threads, line.threads, line.active_lanes) == (2, 64, 1, 32)
    assert (line.atomics, line.global_requests, line.global_sectors) == (1, 1, 1)


def test_threads_of_a_partial_warp_do_not_diverge():
    profile = profile_of(DIVERGING, "diverging", 1, 40, np.zeros(64, np.uint32), 40)
    assert profile["line 15"].divergent_executions == 0 and profile["line 15"].threads == 40


def test_profile_is_true_or_false():
    with pytest.raises(we.errors.OptionError, match="profile='yes' is neither True nor False"):
        we.ptx.LaunchOptions(profile="yes")


@pytest.mark.parametrize("blocks", [3, 3001])
def test_the_last_wave_counts_its_own_blocks_and_a_barrier_the_warps_whose_guard_holds(blocks):
    total = profile_of(GUARDED_BARRIER, "guarded", blocks, 64, np.zeros(1, np.uint32)).total
    assert (total.global_requests, total.global_bytes) == (2 * blocks, 64 * 4 * blocks)
    assert total.barriers == blocks


def test_every_instruction_without_an_own_kind_calculates():
    calculating = {name.partition(".")[0] for name in VALUE_STEPS}
    others = {name.partition(".")[0] for name in MACHINE_STEPS} - calculating - {"wmma"}
    assert others - _KINDS.keys() == set()


COUNTED_BY_HAND = (
    HEAD
    + """
.const .b32 c[32];
.visible .entry counted(.param .u64 x)
{
  .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [x];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.u64 %d2, %d1, %d2;
  setp.lt.u32 %p, %r1, 8;
  @%p ld.const.u32 %r2, [c + 8];
  atom.global.add.u32 %r2, [%d2], 1;
  red.global.add.u32 [%d1], 1;
  mov.b32 %f1, %r2;
  @%p fma.rn.f32 %f2, %f1, %f1, %f1;
  ret;
}
"""
)
"""A kernel whose counts for four blocks of 48 threads, 32 and 16 lanes, follow from its lines."""


def test_counts_of_partial_warps_are_those_by_hand():
    total = profile_of(COUNTED_BY_HAND, "counted", 4, 48, np.zeros(48, np.uint32)).total
    assert total.constant_requests == 4 and total.operations == 4 * 8 * 2
    assert (total.atomics, total.atomic_collisions) == (4 * 2 * 2, 4 * (31 + 15))
    assert total.global_sectors == 4 * (4 + 2 + 32 + 16) and total.traffic == 32 * total.global_sectors
    assert total.intensity == total.operations / total.traffic
