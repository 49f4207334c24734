# SPDX-License-Identifier: MIT
"""Barriers that the wrong warps reach, that are at the wrong line, or are missing; and operands that do not exist."""

from tests.kernels.planted.planted import plant
from wmma_emu.errors import DivergenceError, OptionError


@plant("barrier divergence", 64, lambda: (), error=DivergenceError)
def barrier_in_each_branch(t, fixed):
    if fixed:
        yield t.syncthreads()
    elif t.warp_id == 0:
        yield t.syncthreads()  # <- barrier divergence
    else:
        yield t.syncthreads()  # <- barrier divergence


@plant("barrier divergence", 64, lambda: (), error=DivergenceError)
def two_kinds_of_barrier(t, fixed):
    if t.warp_id == 0 and not fixed:
        yield t.syncthreads()  # <- barrier divergence
    else:
        yield t.syncthreads_or(1)  # <- barrier divergence


@plant("barrier divergence", 64, lambda: (), error=DivergenceError)
def numbers_of_threads_that_differ(t, fixed):
    yield t.barrier_sync(1, 32 if t.warp_id and not fixed else 64)  # <- barrier divergence


@plant("barriers at several instructions", 96, lambda: (), severity="note")
def named_barrier_at_two_lines(t, fixed):
    if t.warp_id == 0 and not fixed:
        yield t.barrier_sync(3)  # <- barriers at several instructions
    else:
        yield t.barrier_sync(3)  # <- barriers at several instructions


@plant("deadlock", 128, lambda: (), error=DivergenceError)
def barrier_for_a_warp_that_returns(t, fixed):
    if t.warp_id == 3:
        return
    yield t.barrier_sync(1, 96 if fixed else 128)  # <- deadlock


@plant("deadlock", 64, lambda: (), error=DivergenceError)
def barriers_in_two_orders(t, fixed):
    first = t.warp_id if not fixed else 0
    yield t.barrier_sync(1 + first)  # <- deadlock
    yield t.barrier_sync(2 - first)


@plant("deadlock", 96, lambda: (), error=DivergenceError)
def barrier_of_two_warps_for_three(t, fixed):
    yield t.barrier_sync(1, 96 if fixed else 64)  # <- deadlock


@plant("illegal operand", 64, lambda: (), error=OptionError)
def seventeenth_barrier(t, fixed):
    yield t.barrier_sync(15 if fixed else 16)  # <- illegal operand


@plant("illegal operand", 64, lambda: (), error=OptionError)
def barrier_of_half_a_warp(t, fixed):
    yield t.barrier_sync(1, 64 if fixed else 48)  # <- illegal operand


@plant("illegal operand", 32, lambda: (), error=OptionError)
def vote_of_nobody(t, fixed):
    t.any_sync(1 if fixed else 0, t.lane > 3)  # <- illegal operand


@plant("illegal operand", 32, lambda: (), error=OptionError)
def syncwarp_of_nobody(t, fixed):
    t.syncwarp(0xFF if fixed else 0)  # <- illegal operand
