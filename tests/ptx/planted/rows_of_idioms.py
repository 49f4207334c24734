# SPDX-License-Identifier: MIT
"""Planted bugs: idioms of public code that order memory, each without one of its steps."""

import numpy as np

from tests.ptx.planted.planted import Planted, ints, zeros
from wmma_emu.ptx.findings import KINDS

ROWS = []


def _one(kernel, grid, block, arguments, kind="race"):
    ROWS.append(Planted(kind, "", "idioms", kernel, block, arguments, grid, severity=KINDS[kind].severity))


_LANES = "race within a warp"

_one("stages_of_named_barriers", 1, 64, lambda: (ints(6, 32), zeros(32), 6))
_one("stages_of_mbarriers", 1, 64, lambda: (ints(6, 32), zeros(32), 6))
_one("three_stages_of_copies", 1, 64, lambda: (ints(6, 64), zeros(64), 6))
_one("semaphore", 3, 64, lambda: (ints(64), zeros(64), zeros(1), zeros(64)))
_one("turns_by_additions", 3, 64, lambda: (ints(64), zeros(64), zeros(1), zeros(64)))
_one("look_back", 3, 32, lambda: (ints(3), zeros(3), zeros(3), zeros(3)))
_one("look_back_in_one_word", 3, 1, lambda: (ints(3), zeros(3, dtype=np.uint64), zeros(3)))
_one("lock_of_tickets", 3, 1, lambda: (zeros(1), zeros(1), zeros(1), zeros(3)))
_one("sleeping_poll", 2, 64, lambda: (ints(64), zeros(64), zeros(1), zeros(64)))
_one("arrivals_that_release", 4, 1, lambda: (ints(4), zeros(4), zeros(1), zeros(4)))
_one("entered_by_one", 2, 1, lambda: (zeros(2), zeros(1), zeros(2)))
_one("places_of_a_warp", 1, 64, lambda: (ints(64), zeros(1), zeros(64)), "lanes store to one place")
_one("tiles_of_lanes", 1, 64, lambda: (ints(64), zeros(64)), _LANES)
_one("groups_of_keys", 1, 64, lambda: (ints(64), zeros(64)), _LANES)
_one("queue_of_work", 2, 64, lambda: (ints(6), zeros(1), zeros(384), 6))
_one("wavefront", 3, 32, lambda: (zeros(384), zeros(3), zeros(96), 4))
_one("vote_of_the_block", 1, 64, lambda: (ints(64), zeros(64)))
_one("chain_of_atomics", 3, 1, lambda: (ints(3), zeros(1), zeros(1), zeros(3)))
_one("counter_put_back", 3, 32, lambda: (ints(3), zeros(3), zeros(1), zeros(32)))
_one("counter_put_back_by_the_first", 3, 1, lambda: (zeros(1), zeros(3)))
_one("counter_put_back_too_early", 3, 64, lambda: (zeros(1), zeros(64)))
_one("grid_barrier_of_signs", 3, 32, lambda: (ints(96), zeros(192), zeros(1), zeros(96)))
_one("flag_by_ldcg", 2, 1, lambda: (ints(1), zeros(1), zeros(1), zeros(1)))
_one("sums_of_warps", 1, 64, lambda: (ints(64), zeros(64)))
_one("addition_by_cas", 3, 1, lambda: (ints(3), zeros(1), zeros(3)))
_one("lock_of_a_block", 1, 64, lambda: (zeros(64),))
_one("shifted_in_place", 1, 32, lambda: (ints(32),), _LANES)
_one("look_before_the_maximum", 3, 1, lambda: (ints(3, low=1), zeros(1), zeros(3)))
_one("barrier_of_a_cluster", 1, 64, lambda: (ints(64), zeros(64)))
_one("work_between_arrive_and_wait", 1, 64, lambda: (ints(64), zeros(64)))
_one("place_that_is_used_again", 2, 1, lambda: (ints(3), zeros(1), zeros(1), zeros(3), 3))
_one("list_of_nodes", 3, 1, lambda: (ints(3), zeros(8), zeros(1), zeros(1)))
_one("addition_by_cas_in_a_block", 1, 64, lambda: (zeros(64),))
_one("sleeping_look", 2, 1, lambda: (ints(1), zeros(1), zeros(1), zeros(1)))
