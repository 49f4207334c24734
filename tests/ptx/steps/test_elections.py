# SPDX-License-Identifier: MIT
"""elect.sync elects the lowest lane, as recorded on a GPU of sm_90 for 308 membermasks."""

import numpy as np
import pytest

from tools.elect_probe_cases import masks, module_text
from wmma_emu.ptx import Module

MASKS = masks()
LANES = np.arange(32)
MEMBERS = (MASKS[:, None] >> LANES & 1).astype(bool)
NOTHING = np.uint64(2**64 - 1)


def lowest(members):
    """Return the lowest lane of each row of a mask; 32 if there is none."""
    return np.where(members.any(axis=1), members.argmax(axis=1), 32)


def elections(kernel):
    """Return which lanes executed the instruction, the elected lane that each saw, and where the predicate is true."""
    out = np.full((len(MASKS), 32), NOTHING)
    report = Module(module_text(kernel), arch="sm_90a", findings="report")[kernel][len(MASKS), 32](MASKS, out)
    assert not report.findings and report.completed
    return out != NOTHING, out & np.uint64(0xFFFFFFFF), out >> np.uint64(32) == 1


# Recorded: driver 580.159.04, 2026-11-28, python -m tools.barrier_probe; two launches each.
@pytest.mark.parametrize("kernel", ["members", "others_exited", "highest_lane_first"])
def test_the_lowest_lane_of_the_mask_is_elected_in_whatever_order_the_lanes_come(kernel):
    executed, elected, is_elected = elections(kernel)
    leader = lowest(MEMBERS)
    assert np.array_equal(executed, MEMBERS)
    assert (elected == leader[:, None])[executed].all()
    assert np.array_equal(is_elected & executed, LANES == leader[:, None])


def test_lanes_of_two_branches_have_a_leader_each():
    executed, elected, is_elected = elections("both_sides")
    leader = np.where(MEMBERS, lowest(MEMBERS)[:, None], lowest(~MEMBERS)[:, None])
    assert executed.all() and np.array_equal(elected, leader)
    assert np.array_equal(is_elected, leader == LANES)


def test_without_the_first_leader_the_next_lane_is_elected():
    executed, elected, is_elected = elections("twice")
    rest = MEMBERS & (lowest(MEMBERS)[:, None] != LANES)
    assert np.array_equal(executed, rest)
    assert (elected == lowest(rest)[:, None])[rest].all()
    assert np.array_equal(is_elected & executed, rest & (lowest(rest)[:, None] == LANES))


def test_lanes_of_the_mask_that_have_exited_are_not_elected():
    out = np.full((len(MASKS), 32), NOTHING)
    kernel = "mask_names_exited_lanes"
    Module(module_text(kernel), arch="sm_90a", findings="report")[kernel][len(MASKS), 32](MASKS, out)
    assert np.array_equal(out != NOTHING, MEMBERS)
    assert ((out & np.uint64(0xFFFFFFFF)) == lowest(MEMBERS)[:, None])[MEMBERS].all()
