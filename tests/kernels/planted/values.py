# SPDX-License-Identifier: MIT
"""Reads of uninitialised memory."""

import numpy as np

import wmma_emu as we
from tests.kernels.planted.planted import ints, plant, reals, zeros
from wmma_emu import wmma
from wmma_emu.errors import DivergenceError
from wmma_emu.warp.ldmatrix import ldmatrix


@plant("uninitialised", 64, lambda: (ints(64) % 4, zeros(4, dtype=np.int32)))
def sums_that_begin_with_anything(t, x, out, fixed):
    sums = t.shared(4, np.int32)
    if fixed and t.warp_id == 0:
        sums[:] = 0
    yield t.syncthreads()
    np.add.at(sums, x[t.threadIdx.x], 1)  # <- uninitialised
    yield t.syncthreads()
    if t.warp_id == 0:
        out[:] = sums


@plant("uninitialised", 64, lambda: (reals(64), zeros(64)))
def tile_of_which_three_quarters_are_written(t, x, out, fixed):
    s = t.shared(64, np.float32)
    i = t.threadIdx.x
    c = i < (64 if fixed else 48)
    s[i[c]] = x[i[c]]
    yield t.syncthreads()
    out[i] = s[63 - i]  # <- uninitialised


@plant("uninitialised", 64, lambda: (reals(64), zeros(64)))
def border_that_nobody_writes(t, x, out, fixed):
    s = t.shared(66, np.float32)
    i = t.threadIdx.x
    s[i + 1] = x[i]
    if fixed and t.warp_id == 0:
        s[0] = s[65] = 0
    yield t.syncthreads()
    out[i] = s[i] + s[i + 2]  # <- uninitialised


@plant("uninitialised", 32, lambda: (reals(8, 16, dtype=np.float16), zeros(16, 16)))
def fragment_of_half_a_tile(t, x, out, fixed):
    tile = t.shared((16, 16), np.float16)
    tile[:8] = x
    if fixed:
        tile[8:] = 0
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    wmma.load_matrix_sync(a, tile.reshape(-1), 16)  # <- uninitialised
    out[:, :] = a.to_matrix()


@plant("uninitialised", 32, lambda: (reals(8, 8, dtype=np.float16), zeros(64, dtype=np.uint32)))
def matrix_of_rows_that_nobody_writes(t, x, out, fixed):
    tile = t.shared((16, 8), np.float16)
    tile[:8] = x
    if fixed:
        tile[8:] = 0
    rows = ldmatrix(tile, t.lane % 16 * 16, "ldmatrix.sync.aligned.m8n8.x2.shared.b16")  # <- uninitialised
    out[t.lane] = rows[1]


@plant("uninitialised", 64, lambda: (reals(64), we.ptx.empty(64, np.float32)))
def sum_into_memory_as_cuda_malloc_gives_it(t, x, out, fixed):
    i = t.threadIdx.x
    if fixed:
        out[i] = 0
    out[i] += x[i]  # <- uninitialised


@plant("uninitialised", 64, lambda: (reals(64), zeros(64)))
def shared_memory_that_one_branch_writes(t, x, out, fixed):
    s = t.shared(64, np.float32)
    i = t.threadIdx.x
    if t.warp_id == 0 or fixed:
        s[i] = x[i]
    yield t.syncthreads()
    out[i] = s[i]  # <- uninitialised


@plant("uninitialised", 64, lambda: (reals(64), zeros(1)))
def sum_of_all_parts_of_which_one_is_missing(t, x, out, fixed):
    parts = t.shared(2, np.float32)
    if t.warp_id == 0 or fixed:
        parts[t.warp_id] = x[t.threadIdx.x].sum()
    yield t.syncthreads()
    if t.warp_id == 0:
        out[0] = parts.sum()  # <- uninitialised


@plant("uninitialised", 32, lambda: (reals(32), zeros(32)), error=DivergenceError)
def shuffle_from_a_lane_that_is_left_out(t, x, out, fixed):
    mask = 0xFFFFFFFF if fixed else 0x0000FFFF
    out[t.lane] = t.shfl_xor_sync(mask, x[t.lane], 16)  # <- uninitialised
