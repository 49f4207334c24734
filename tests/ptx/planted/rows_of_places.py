# SPDX-License-Identifier: MIT
"""Planted bugs: membermasks, accesses outside all allocations, and threads that wait for others indefinitely."""

from typing import Any

from tests.ptx.planted.planted import Planted, ints, read_only, zeros

ROWS = []


def _masks(kind, kernel, opcode):
    ROWS.append(Planted(kind, opcode, "masks", kernel, 32, lambda: (ints(32), zeros(32))))


_masks("illegal operand", "wait_of_the_unnamed", "bar.warp.sync")
_masks("illegal operand", "one_lane_too_many", "bar.warp.sync")
_masks("illegal operand", "different_masks", "bar.warp.sync")
_masks("illegal operand", "match_of_the_unnamed", "match")
_masks("illegal operand", "mask_of_another_branch", "redux")
_masks("uninitialised", "gone_before_the_shuffle", "st.global")
_masks("uninitialised", "lanes_beyond_the_mask", "st.global")
_masks("uninitialised", "value_from_the_other_branch", "st.global")
_masks("partial warp", "wait_for_those_at_a_barrier", "bar.warp.sync")
_masks("partial warp", "movmatrix_of_some_lanes", "movmatrix")


def _bounds(kernel, opcode, arguments, *, kind="out of bounds", block=32, shared=0):
    ROWS.append(Planted(kind, opcode, "more_bounds", kernel, block, arguments, 1, shared))


def _part(begin: int, end: int) -> Any:
    return ints(64)[begin:end]


_bounds("beyond_a_slice", "ld.global", lambda: (_part(0, 32), zeros(32)))
_bounds("before_a_slice", "ld.global", lambda: (_part(32, 64), zeros(32)))
_bounds("constant_past_the_end", "ld.const", lambda: (ints(32), zeros(32)))
_bounds("variable_past_the_end", "st.global", lambda: (ints(32), zeros(32)))
_bounds("local_before_the_begin", "ld", lambda: (ints(32), zeros(32)))
_bounds("index_that_overflows", "ld.global", lambda: (ints(32), zeros(32), 1 << 13))
_bounds("elements_for_bytes", "ld.global", lambda: (ints(32), zeros(32), 32))
_bounds("atomic_before_the_begin", "", lambda: (ints(32), zeros(32)))
_bounds("second_tile", "", lambda: (ints(32), zeros(32)), shared=256)
_bounds("columns_unchecked", "", lambda: (ints(28), zeros(28), 4, 7))
_bounds("atomic_of_eight_bytes", "", lambda: (zeros(64),), kind="misaligned")
_bounds("store_of_two_words", "st.global", lambda: (ints(32), zeros(66)), kind="misaligned")
_bounds("vector_of_local_memory", "ld", lambda: (ints(32), zeros(32)), kind="misaligned")
_bounds("pitch_of_a_tile", "", lambda: (ints(32, 4), zeros(32, 4)), kind="misaligned", shared=672)
_bounds("output_for_input", "st.global", lambda: (read_only(ints(32)), zeros(32)), kind="read-only")
_bounds("half_of_the_block_left", "bar", lambda: (zeros(128),), kind="deadlock", block=128)
_bounds("stage_that_nobody_frees", "bar", lambda: (ints(32), zeros(32)), kind="deadlock", block=64)
