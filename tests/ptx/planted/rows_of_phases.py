# SPDX-License-Identifier: MIT
"""Planted bugs: mbarriers, their phases, the bytes that they expect, and their begin and end."""

from tests.ptx.planted.planted import Planted, ints, zeros

ROWS = []


def _one(kind, kernel, opcode="mbarrier", arguments=lambda: (zeros(64),), block=64):
    ROWS.append(Planted(kind, opcode, "phases", kernel, block, arguments))


def _copies(count=64):
    return lambda: (ints(64), zeros(count))


_one("wrong parity", "parity_of_the_own_arrival")
_one("wrong parity", "parity_of_the_second_round")
_one("wrong parity", "parity_of_a_ring", arguments=lambda: (ints(4, 32), zeros(32)))
_one("wrong parity", "parity_of_a_producer", arguments=lambda: (ints(2, 32), zeros(32)))
_one("transaction bytes", "bytes_that_are_not_copied", arguments=lambda: (ints(64), zeros(64), 0))
_one("transaction bytes", "elements_for_bytes_expected", "cp.async.bulk", _copies(32), 32)
_one("transaction bytes", "bytes_of_one_of_two_copies", "cp.async.bulk", _copies())
_one("transaction bytes", "copy_without_expectation", "cp.async.bulk", _copies())
_one("mbarrier not initialised", "never_initialised")
_one("mbarrier not initialised", "second_of_two", "", _copies())
_one("mbarrier not initialised", "arrival_after_the_end")
_one("mbarrier not initialised", "initialised_in_each_round")
_one("mbarrier not initialised", "overwritten_mbarrier", "st")
_one("over-arrival", "arrival_of_all_lanes")
_one("over-arrival", "arrivals_of_two_warps")
_one("over-arrival", "arrivals_of_one_thread")
_one("over-arrival", "arrival_and_expectation", arguments=_copies(32), block=32)
_one("deadlock", "arrivals_of_one_warp", "")
_one("deadlock", "missing_bytes", "", _copies())
_one("wrong parity", "phase_left_out")
_one("deadlock", "threads_for_warps", "")
_one("deadlock", "producer_that_waits_first", "", _copies(32))
_one("race", "copy_before_the_barrier", "", _copies())
_one("race", "fence_without_a_barrier")
_one("race", "wait_before_the_barrier")
