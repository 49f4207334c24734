# SPDX-License-Identifier: MIT
"""Planted bugs: memory that threads share without an order, in a warp, in a block, and between blocks."""

import numpy as np

from tests.ptx.planted.planted import Planted, ints, zeros
from wmma_emu.ptx.findings import KINDS

ROWS = []


def _one(opcode, file, kernel, block, arguments, grid=1, kind="race"):
    ROWS.append(Planted(kind, opcode, file, kernel, block, arguments, grid, severity=KINDS[kind].severity))


def _lanes(kernel, opcode, arguments, block=32, kind="race within a warp"):
    _one(opcode, "lanes", kernel, block, arguments, kind=kind)


_lanes("reversed_in_a_warp", "ld.shared", lambda: (ints(32), zeros(32)))
_lanes("overwritten_in_a_warp", "st.shared", lambda: (ints(3, 32), zeros(32), 3))
_lanes("volatile_reduction", "", lambda: (ints(64), zeros(1)))
_lanes("volatile_exchange", "ld.volatile.shared", lambda: (ints(64), zeros(64)), 64, "race")
_lanes("word_of_a_leader", "", lambda: (ints(32), zeros(32)))
_lanes("halves_of_a_warp", "ld.shared", lambda: (ints(32), zeros(32)))
_lanes("wait_of_some_lanes", "ld.shared", lambda: (ints(32), zeros(32)))
_lanes("wait_before_the_write", "ld.shared", lambda: (ints(32), zeros(32)))
_lanes("slot_of_all_lanes", "st.shared", lambda: (ints(32), zeros(32)), kind="lanes store to one place")
_lanes("result_of_all_lanes", "st.global", lambda: (ints(32), zeros(1)), kind="lanes store to one place")
_lanes("scatter", "st.global", lambda: (ints(32), zeros(32)), kind="lanes store to one place")
_lanes("bytes_through_words", "", lambda: (ints(32), zeros(8)))
_lanes("halves_of_a_word", "", lambda: (ints(32).astype(np.uint16), zeros(32)))
_lanes("vote_of_a_half", "ld.shared", lambda: (ints(32), zeros(32)))


def _global(kernel, arguments, block, grid, opcode="", kind="race"):
    _one(opcode, "global_races", kernel, block, arguments, grid, kind)


_global("stencil_in_place", lambda: (ints(64), zeros(64), 64), 32, 2)
_global("exchange_of_warps", lambda: (ints(64), zeros(64), zeros(64)), 64, 1, "ld.global")
_global("exchange_of_lanes", lambda: (ints(32), zeros(32), zeros(32)), 32, 1, "ld.global", "race within a warp")
_global("exchange_of_blocks", lambda: (ints(128), zeros(128), zeros(128)), 64, 2, "ld.global")
_global("histogram_without_atomics", lambda: (ints(64), zeros(8)), 32, 2)
_global("reset_beside_atomics", lambda: (ints(32), zeros(1)), 32, 2)
_global("look_beside_atomics", lambda: (zeros(1), zeros(64)), 32, 2)
_global("word_of_all_blocks", lambda: (zeros(1),), 32, 3, "st.global")
_global("overlapping_ends", lambda: (ints(64), zeros(64)), 32, 2, "st.global")
_global("words_over_rows", lambda: (zeros(6 * 33, dtype=np.uint8),), 32, 1, "st.global", "race within a warp")
_global("transpose_in_place", lambda: (ints(64),), 8, 8)
_global("maximum_by_comparison", lambda: (ints(64), zeros(1)), 32, 2)
_global("counter_of_the_module", lambda: (zeros(2),), 32, 2)
_global("pairs_one_word_apart", lambda: (ints(32, 2), zeros(64)), 32, 1, "st.global", "race within a warp")


def _scopes(kernel, arguments, block=1, opcode="ld.global"):
    _one(opcode, "scopes", kernel, block, arguments, 2)


def _locks(kernel):
    _one("", "locks", kernel, 1, lambda: (zeros(2), zeros(1), zeros(2)), 2)


def _handed():
    return ints(1, low=5), zeros(2), zeros(1), zeros(1)


_scopes("flag_without_a_fence", _handed)
_scopes("flag_without_the_second_fence", _handed)
_scopes("fence_of_the_block", _handed)
_scopes("second_fence_of_the_block", _handed)
_scopes("fence_too_late", _handed)
_scopes("volatile_flag", _handed)
_scopes("plain_flag", _handed, 1, "")
_scopes("release_of_the_block", _handed, 1, "")
_scopes("acquire_of_the_block", _handed, 1, "")
_scopes("relaxed_for_acquire", _handed)
_scopes("flag_of_another_word", lambda: (ints(32), zeros(32), zeros(32), zeros(32)), 32)
_scopes("atomics_of_the_block", lambda: (ints(32), zeros(1)), 32, "")
_scopes("atomics_of_two_scopes", lambda: (ints(32), zeros(1)), 32, "")
_locks("lock_without_fences")
_locks("unlock_without_a_fence")
_locks("lock_without_the_first_fence")
_locks("unlocked_too_early")
_locks("lock_of_each_block")


def _grid(kernel, n, block, grid=3):
    _one("ld.global" if kernel != "place_of_a_queue" else "", "grid", kernel, block,
         lambda: (ints(n), zeros(2 * n), zeros(3), zeros(n)), grid)  # fmt: skip


_grid("last_block_without_a_fence", 3, 32)
_grid("last_block_with_a_narrow_fence", 3, 32)
_grid("last_block_without_a_barrier", 192, 64)
_grid("ticket_without_a_fence", 3, 1)
_grid("first_block_for_the_last", 3, 1)
_grid("no_barrier_of_the_grid", 192, 64)
_grid("grid_barrier_without_the_first_half", 192, 64)
_grid("grid_barrier_without_the_second_half", 192, 64)
_grid("grid_barrier_of_each_block", 192, 64)
_grid("grid_barrier_of_the_first_round", 192, 64)
_grid("place_of_a_queue", 32, 32, 2)


def _pipelines(kernel, opcode, arguments, block=64, kind="race"):
    _one(opcode, "pipelines", kernel, block, arguments, kind=kind)


def _mbarriers(kernel, opcode, arguments, kind="race"):
    _one(opcode, "mbarriers", kernel, 64, arguments, kind=kind)


_pipelines("barrier_before_the_write", "ld.shared", lambda: (ints(64), zeros(64)))
_pipelines("barrier_of_some_rounds", "st.shared", lambda: (ints(4, 64), zeros(64), 4))
_pipelines("scan_in_place", "", lambda: (ints(64), zeros(64)))
_pipelines("two_sums_of_a_block", "st.shared", lambda: (ints(64), zeros(64)))
_pipelines("barrier_before_the_wait", "ld.shared", lambda: (ints(64), zeros(64)))
_pipelines("stage_filled_too_early", "cp.async", lambda: (ints(4, 64), zeros(64), 4))
_pipelines("arrival_before_the_write", "", lambda: (ints(32), zeros(32)))
_pipelines("arrival_of_the_consumer", "", lambda: (ints(32), zeros(32)))
_pipelines("barrier_of_another_producer", "", lambda: (ints(64), zeros(32)), 96)
_mbarriers("wrong_parity", "mbarrier", lambda: (ints(64), zeros(32)), kind="wrong parity")
_mbarriers("parity_that_does_not_change", "mbarrier", lambda: (ints(4, 32), zeros(32), 4), kind="wrong parity")
_mbarriers("arrival_before_the_barrier", "mbarrier", lambda: (ints(64), zeros(64)))
_mbarriers("mbarrier_before_the_write", "ld.shared", lambda: (ints(64), zeros(64)))
_pipelines("wait_of_a_stage_too_few", "ld.shared", lambda: (ints(5, 64), zeros(64), 5), kind="missing wait")
_pipelines("write_beside_a_copy", "st.shared", lambda: (ints(64), zeros(64)), kind="missing wait")
_mbarriers("copy_that_does_not_arrive", "ld.shared", lambda: (ints(64), zeros(64)), kind="missing wait")
