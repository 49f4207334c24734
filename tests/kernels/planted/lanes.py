# SPDX-License-Identifier: MIT
"""Lanes of one warp that meet in memory, and threads that store the same."""

import numpy as np

from tests.kernels.planted.planted import ints, plant, reals, zeros

WITHIN = "race within a warp"
AT_ONCE = "lanes store to one place"


@plant(WITHIN, 32, lambda: (reals(32), zeros(32)), severity="warning")
def exchange_without_syncwarp(t, x, out, fixed):
    s = t.shared(32, np.float32)
    s[t.lane] = x[t.lane]  # <- race within a warp
    if fixed:
        t.syncwarp()
    out[t.lane] = s[31 - t.lane]  # <- race within a warp


@plant(WITHIN, 32, lambda: (reals(32), zeros(32)), severity="warning")
def syncwarp_of_half_the_lanes(t, x, out, fixed):
    s = t.shared(32, np.float32)
    s[t.lane] = x[t.lane]  # <- race within a warp
    t.syncwarp(0xFFFFFFFF if fixed else 0x0000FFFF)
    out[t.lane] = s[31 - t.lane]  # <- race within a warp


@plant(WITHIN, 32, lambda: (reals(32),), severity="warning")
def prefix_that_reads_what_it_overwrites(t, x, fixed):
    v = x[t.lane] + x[np.maximum(t.lane - 1, 0)]  # <- race within a warp
    if fixed:
        t.syncwarp()
    x[t.lane] = v  # <- race within a warp


@plant(AT_ONCE, 32, lambda: (reals(32), zeros(16)), severity="warning")
def two_lanes_for_one_element(t, x, out, fixed):
    if fixed:
        c = t.lane % 2 == 0
        out[t.lane[c] // 2] = x[t.lane[c]]
    else:
        out[t.lane // 2] = x[t.lane]  # <- lanes store to one place


@plant(AT_ONCE, 32, lambda: (ints(32) % 5, zeros(5, dtype=np.int64)), severity="warning")
def last_lane_of_each_key(t, keys, last, fixed):
    if fixed:
        np.maximum.at(last, keys[t.lane], t.lane)
    else:
        last[keys[t.lane]] = t.lane  # <- lanes store to one place


@plant("race of equal bytes", 64, lambda: (zeros(1, dtype=np.int32),), severity="note")
def flag_that_every_warp_sets(t, found, fixed):
    if not fixed or t.warp_id == 0:
        found[0] = 1  # <- race of equal bytes


@plant(WITHIN, 32, lambda: (reals(32), zeros(1)), severity="warning")
def end_of_a_tree_without_syncwarp(t, x, out, fixed):
    s = t.shared(32, np.float32)
    s[t.lane] = x[t.lane]  # <- race within a warp
    for step in (16, 8, 4, 2, 1):
        if fixed:
            t.syncwarp()
        i = t.lane[t.lane < step]
        s[i] += s[i + step]  # <- race within a warp
    out[0] = s[0]


@plant(WITHIN, 32, lambda: (reals(32), zeros(16)), severity="warning")
def odd_lanes_that_read_what_even_ones_write(t, x, out, fixed):
    s = t.shared(32, np.float32)
    even, odd = t.lane[t.lane % 2 == 0], t.lane[t.lane % 2 == 1]
    s[even] = x[even]  # <- race within a warp
    if fixed:
        t.syncwarp()
    out[odd // 2] = s[odd - 1]  # <- race within a warp
