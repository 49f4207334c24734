# SPDX-License-Identifier: MIT
"""The planted bugs, one entry each; `planted.py` defines the entries, `mistakes.py` names their mistakes."""

import numpy as np

from tests.ptx.planted import rows_of_idioms, rows_of_phases, rows_of_places, rows_of_races, rows_of_values
from tests.ptx.planted.planted import FOLDER, TARGETS, Planted, floats, halves, ints, read_only, zeros

__all__ = ["FILES", "FOLDER", "FURTHER", "PLANTED", "TARGETS", "Planted"]


def _f(*shape):
    return zeros(*shape, dtype=np.float32)


_BOUNDS = [
    Planted("out of bounds", "ld.global", "bounds", "read_past_the_end", 32, lambda: (ints(60), zeros(61), 60), 2),
    Planted("out of bounds", "st.global", "bounds", "write_past_the_end", 32, lambda: (zeros(60), 60), 2),
    Planted("out of bounds", "ld.global", "bounds", "neighbour_of_the_first", 32, lambda: (floats(32), _f(32), 32)),
    Planted("out of bounds", "ld.global", "bounds", "last_vector", 32, lambda: (floats(126), _f(32), 126)),
    Planted("out of bounds", "ld.global", "bounds", "rows_for_columns", 32, lambda: (ints(32), zeros(32), 4, 8)),
    Planted("out of bounds", "st.shared", "bounds", "shared_past_the_end", 64, lambda: (ints(64), zeros(64))),
    Planted("out of bounds", "ld.shared", "bounds", "shared_before_the_begin", 64, lambda: (ints(64), zeros(64))),
    Planted("out of bounds", "st.shared", "bounds", "dynamic_memory_too_small", 32, lambda: (ints(32), zeros(32)), 1,
            128),
    Planted("out of bounds", "st.local", "bounds", "local_past_the_end", 32, lambda: (ints(32) % 12, zeros(32))),
    Planted("out of bounds", "wmma.load", "bounds", "tile_past_the_end", 32, lambda: (halves(40, 16), _f(768)), 3),
    Planted("out of bounds", "", "bounds", "bin_past_the_end", 32,
            lambda: ((np.arange(32) % 17).astype(np.uint8), zeros(16))),
    Planted("out of bounds", "cp.async", "bounds", "copy_past_the_end", 32, lambda: (floats(126), _f(32), 126)),
    Planted("out of bounds", "ld.global", "bounds", "no_pointer", 32, lambda: (floats(32), 0, _f(32))),
]  # fmt: skip

_ALIGNMENT = [
    Planted("misaligned", "ld.global.v4", "alignment", "vector_of_four", 32, lambda: (floats(129), _f(32))),
    Planted("misaligned", "ld.global", "alignment", "word_among_bytes", 32,
            lambda: (np.arange(164, dtype=np.uint8), zeros(32, dtype=np.uint32))),
    Planted("misaligned", "ld.shared", "alignment", "double_in_shared", 64,
            lambda: (ints(64), zeros(32, dtype=np.float64))),
    Planted("misaligned", "cp.async", "alignment", "copy_of_sixteen", 32, lambda: (floats(128), _f(32))),
    Planted("misaligned", "cp.async", "alignment", "copy_of_eight", 32, lambda: (floats(65), _f(32))),
    Planted("misaligned", "wmma.load", "alignment", "tile_pointer", 32, lambda: (halves(40, 16), halves(64))),
    Planted("illegal operand", "wmma.load", "alignment", "tile_pitch", 32, lambda: (halves(40, 16), halves(64))),
    Planted("misaligned", "ldmatrix", "alignment", "matrix_row", 32, lambda: (halves(128), zeros(32, dtype=np.uint32))),
]  # fmt: skip

_VALUES = [
    Planted("uninitialised", "st.global", "uninitialised", "border", 64, lambda: (ints(64), zeros(64))),
    Planted("uninitialised", "", "uninitialised", "total_of_a_block", 64, lambda: (ints(64), zeros(1))),
    Planted("uninitialised", "st.global", "uninitialised", "local_array", 32, lambda: (ints(32) % 16, zeros(32))),
    Planted("partly uninitialised", "st.global", "uninitialised", "last_column", 32,
            lambda: (ints(64).astype(np.uint16), zeros(32, dtype=np.uint32)), severity="warning"),
    Planted("uninitialised", "st.global", "uninitialised", "register_of_some_lanes", 32, lambda: (ints(32), zeros(32))),
    Planted("read-only", "st", "constants", "write_to_a_constant", 32, lambda: (ints(32), zeros(32))),
    Planted("read-only", "st.global", "constants", "write_to_an_input", 32, lambda: (read_only(floats(32)), _f(32))),
    Planted("read-only", "", "constants", "add_to_an_input", 32, lambda: (read_only(ints(4)), zeros(4))),
]  # fmt: skip

_RACES = [
    Planted("race", "ld.shared", "races", "reversed", 64, lambda: (ints(64), zeros(64))),
    Planted("race", "ld.shared", "races", "reversed_by_warps", 64, lambda: (ints(64), zeros(64))),
    Planted("race", "st.shared", "races", "overwritten", 64, lambda: (ints(3, 64), zeros(64), 3)),
    Planted("race", "st.shared", "races", "two_writers", 64, lambda: (ints(64), zeros(64))),
    Planted("race", "ld.shared", "races", "tree", 128, lambda: (ints(128), zeros(1))),
    Planted("race", "", "races", "counter", 64, lambda: (zeros(1),)),
    Planted("race", "", "races", "reset", 64, lambda: (ints(64), zeros(1))),
    Planted("race", "ld.shared", "races", "copies_of_others", 64, lambda: (ints(64), zeros(64))),
    Planted("race", "ld.shared", "races", "named_barrier", 64, lambda: (ints(64), zeros(32))),
    Planted("race", "ld.shared", "races", "double_buffer", 64, lambda: (ints(4, 64), zeros(64), 4)),
]  # fmt: skip

_WAITS = [
    Planted("missing wait", "ld.shared", "waits", "no_wait", 64, lambda: (ints(64), zeros(64))),
    Planted("missing wait", "ld.shared", "waits", "waits_for_too_few", 64, lambda: (ints(64), zeros(64))),
    Planted("missing wait", "ld.shared", "waits", "not_committed", 64, lambda: (ints(64), zeros(64))),
    Planted("missing wait", "ld.shared", "waits", "end_of_a_pipeline", 64, lambda: (ints(5, 64), zeros(64), 5)),
    Planted("missing wait", "st.global", "warpgroups", "result_without_a_wait", 128,
            lambda: (halves(64, 16), halves(8, 16), _f(256))),
    Planted("missing wait", "st.global", "warpgroups", "result_of_the_last_group", 128,
            lambda: (halves(64, 16), halves(8, 16), _f(256))),
    Planted("missing wait", "st.shared", "warpgroups", "tile_overwritten", 128,
            lambda: (halves(64, 16), halves(8, 16), _f(256))),
]  # fmt: skip

_BARRIERS = [
    Planted("barriers at several instructions", "bar", "barriers", "one_warp_alone", 64, lambda: (ints(64), zeros(1)),
            severity="note"),
    Planted("barriers at several instructions", "barrier", "barriers", "odd_threads", 32,
            lambda: (ints(32), zeros(32)), severity="note"),
    Planted("deadlock", "barrier", "barriers", "left_early", 64, lambda: (ints(50), zeros(50), 50)),
    Planted("deadlock", "bar", "barriers", "rounds_of_a_warp", 64, lambda: (zeros(64), 2)),
    Planted("deadlock", "bar", "barriers", "too_many_expected", 64, lambda: (zeros(64),)),
    Planted("deadlock", "bar", "barriers", "different_barriers", 64, lambda: (zeros(64),)),
    Planted("deadlock", "bar", "barriers", "crossed_barriers", 64, lambda: (zeros(64),)),
]  # fmt: skip

_WARPS = [
    Planted("partial warp", "mma", "warps", "mma_of_some_lanes", 32, lambda: (floats(32), _f(32))),
    Planted("partial warp", "mma", "warps", "mma_of_half_a_warp", 48, lambda: (floats(48), _f(48))),
    Planted("partial warp", "ldmatrix", "warps", "ldmatrix_of_some_lanes", 32,
            lambda: (ints(32).astype(np.uint32), zeros(32, dtype=np.uint32))),
    Planted("barrier divergence", "bar", "warps", "barrier_of_some_lanes", 32, lambda: (ints(32), zeros(32))),
    Planted("barrier divergence", "bar", "warps", "barriers_of_both_branches", 64, lambda: (ints(64), zeros(64))),
    Planted("uninitialised", "st.global", "warps", "shuffle_from_the_gone", 32, lambda: (ints(32), zeros(32))),
    Planted("partial warp", "shfl", "warps", "shuffle_before_a_barrier", 32, lambda: (ints(32), zeros(32))),
    Planted("partial warp", "wgmma", "warpgroups", "mma_of_three_warps", 128,
            lambda: (halves(64, 16), halves(8, 16), _f(256))),
    Planted("illegal operand", "vote", "warps", "vote_of_the_unnamed", 32, lambda: (ints(32), zeros(32))),
    Planted("illegal operand", "shfl", "warps", "shuffle_of_the_unnamed", 32, lambda: (ints(32), zeros(32))),
    Planted("illegal operand", "redux", "warps", "sum_of_the_unnamed", 32, lambda: (ints(32), zeros(32))),
    Planted("illegal operand", "bar", "warps", "barrier_16", 32, lambda: (zeros(32), 15)),
    Planted("illegal operand", "bar", "warps", "barrier_of_33", 32, lambda: (zeros(32), 32)),
    Planted("illegal metadata", "mma.sp", "sparse", "the_same_twice", 32,
            lambda: (ints(32).astype(np.uint32), _f(32))),
    Planted("illegal metadata", "mma.sp", "sparse", "descending", 32, lambda: (ints(32).astype(np.uint32), _f(32))),
    Planted("out of bounds", "wgmma.mma_async", "warpgroups", "descriptor_past_the_end", 128,
            lambda: (halves(64, 16), halves(8, 16), _f(256))),
    Planted("trap", "", "traps", "assertion", 32, lambda: (ints(32), zeros(32))),
    Planted("trap", "trap", "traps", "trap", 32, lambda: (ints(32), zeros(32))),
]  # fmt: skip

_WAITS_AND_COUNTS = [
    Planted("missing wait", "st.global", "waits", "source_overwritten", 64, lambda: (ints(64), zeros(64))),
    Planted("illegal operand", "bar", "barriers", "two_counts", 128, lambda: (ints(64), zeros(64))),
]

FURTHER = (
    *rows_of_phases.ROWS, *rows_of_races.ROWS, *rows_of_values.ROWS, *rows_of_places.ROWS, *rows_of_idioms.ROWS,
    *_WAITS_AND_COUNTS,
)  # fmt: skip
"""The planted bugs that no GPU has run."""

PLANTED = {x.kernel: x for x in (*_BOUNDS, *_ALIGNMENT, *_VALUES, *_RACES, *_WAITS, *_BARRIERS, *_WARPS, *FURTHER)}

FILES = sorted({x.file for x in PLANTED.values()})
