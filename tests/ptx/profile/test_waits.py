# SPDX-License-Identifier: MIT
"""Waits of warps at barriers, counters of mbarriers and bulk copies, and the blocks of a multiprocessor."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.profile.kernels import HEAD, profile_of
from tools.profile_kernels import hopper_patterns
from wmma_emu.ptx.profile.occupancy import occupancy_of

LATE = (
    HEAD
    + """
.visible .entry late(.param .u64 x, .param .u32 warp)
{
  .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [x];
  ld.param.u32 %r1, [warp];
  mov.u32 %r2, %tid.x;
  shr.u32 %r3, %r2, 5;
  setp.ne.u32 %p1, %r3, %r1;
  @%p1 bra MEET;
  mov.u32 %r4, 0;
LOOP:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, 10;
  @%p2 bra LOOP;
MEET:
  bar.sync 0;
  bar.sync 0;
  ret;
}
"""
)
"""A kernel in which one warp executes 31 instructions more than the others before they meet."""


@pytest.mark.parametrize("warp", [0, 2])
def test_warps_wait_for_the_one_that_executes_more_instructions(warp):
    profile = profile_of(LATE, "late", 2, 96, np.zeros(96, np.uint32), warp)
    first, second = profile["line 20"], profile["line 21"]
    assert (first.barriers, first.barrier_waits, second.barrier_waits) == (6, 2 * 2 * 31, 0)
    assert first.late == ((warp, 2, 124),)
    assert f"at line 20, warp {warp} arrives last 2 times, others wait 124 instructions" in str(profile)


def test_late_warps_of_two_launches_are_added_and_read_again():
    one = profile_of(LATE, "late", 1, 96, np.zeros(96, np.uint32), 1)
    both = we.ptx.Profile.from_json((one + one).to_json())
    assert both["line 20"].late == ((1, 2, 124),) and both == one + one


def hopper(name, *arguments):
    module = we.ptx.Module(hopper_patterns.source(), arch="sm_90", findings="report", checks=())
    threads = hopper_patterns.kernels()[name][1]
    return module[name][1, threads](*arguments, profile=True).profile.total


@pytest.mark.parametrize("name", ["bulk_in_1024", "bulk_out_1024", "bulk_add_1024"])
def test_bulk_copies_are_counted_with_their_bytes(name):
    total = hopper(name, np.zeros(4096, np.uint32))
    assert (total.bulk_copies, total.bulk_bytes, total.shared_wavefronts) == (1, 1024, 0)


def test_mbarrier_operations_are_counted():
    assert hopper("mbarrier_arrive", np.zeros(4096, np.uint32)).mbarrier_operations == 4


@pytest.mark.parametrize(
    ("name", "wavefronts"),
    [("wgmma_f16_n8_128_shared", 18), ("wgmma_f16_n64_none_registers", 16), ("wgmma_sparse_n64", 48),
     ("wgmma_sparse_registers_n8", 4), ("wgmma_s8_n256_128_shared", 80)],
)  # fmt: skip
def test_operands_of_wgmma_take_a_wavefront_for_each_128_bytes(name, wavefronts):
    total = hopper(name, np.zeros(4096, np.uint32))
    assert (total.shared_requests, total.shared_wavefronts, total.bank_conflicts) == (4, wavefronts, 0)
    assert total.shared_bytes == 128 * wavefronts


@pytest.mark.parametrize(
    ("registers", "blocks", "limit"),
    [(0, 8, "threads"), (32, 8, "threads"), (33, 6, "registers"), (168, 1, "registers")],
)
def test_registers_limit_the_blocks_of_a_multiprocessor(registers, blocks, limit):
    found = occupancy_of("sm_90", (256, 1, 1), 0, registers)
    assert (found.blocks, found.limit, found.registers) == (blocks, limit, registers)


def test_registers_of_a_kernel_are_known_where_ptxas_is():
    profile = profile_of(LATE, "late", 1, 96, np.zeros(96, np.uint32), 1)
    assert profile.kernels[0].registers in range(1, 33) or "registers are not known" in str(profile)
