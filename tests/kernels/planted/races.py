# SPDX-License-Identifier: MIT
"""Races between warps and between blocks: what no barrier, and no atomic operation, orders."""

import numpy as np

from tests.kernels.planted.planted import ints, plant, reals, zeros
from wmma_emu import wmma
from wmma_emu.warp.ldmatrix import ldmatrix


def accumulator():
    return wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)


@plant("race", 64, lambda: (reals(64), zeros(64)))
def missing_barrier(t, x, out, fixed):
    s = t.shared(64, np.float32)
    i = t.threadIdx.x
    s[i] = x[i]  # <- race
    if fixed:
        yield t.syncthreads()
    out[i] = s[63 - i]  # <- race


@plant("race", 64, lambda: (reals(256), zeros(256)))
def missing_second_barrier(t, x, out, fixed):
    s = t.shared(64, np.float32)
    i = t.threadIdx.x
    for k in range(0, 256, 64):
        s[i] = x[k + i]  # <- race
        yield t.syncthreads()
        out[k + i] = s[63 - i]  # <- race
        if fixed:
            yield t.syncthreads()


@plant("race", 128, lambda: (reals(128), zeros(128)))
def barrier_of_two_warps_for_four(t, x, out, fixed):
    s = t.shared(128, np.float32)
    i = t.threadIdx.x
    s[i] = x[i]  # <- race
    yield t.barrier_sync(t.warp_id // 2, 64)
    if fixed:
        yield t.syncthreads()
    out[i] = s[127 - i]  # <- race


@plant("race", 128, lambda: (ints(128) % 8, zeros(8, dtype=np.int32)))
def histogram_in_shared_memory(t, x, out, fixed):
    bins = t.shared(8, np.int32)
    i = t.threadIdx.x
    if t.warp_id == 0:
        bins[:] = 0
    yield t.syncthreads()
    if fixed:
        np.add.at(bins, x[i], 1)
    else:
        bins[x[i]] += 1  # <- race
    yield t.syncthreads()
    if t.warp_id == 0:
        out[:] = bins


@plant("race", 32, lambda: (ints(128) % 8, zeros(8, dtype=np.int32)), grid=4)
def histogram_of_several_blocks(t, x, bins, fixed):
    i = x[t.blockIdx.x * 32 + t.lane]
    if fixed:
        np.add.at(bins, i, 1)
    else:
        bins[i] += 1  # <- race


@plant("race", 128, lambda: (reals(128), zeros(1)))
def tree_without_barriers(t, x, out, fixed):
    s = t.shared(128, np.float32)
    i = t.threadIdx.x
    s[i] = x[i]
    yield t.syncthreads()
    for step in (64, 32):
        c = i < step
        s[i[c]] += s[i[c] + step]  # <- race
        if fixed:
            yield t.syncthreads()
    yield t.syncthreads()
    if t.warp_id == 0:
        out[0] = s[t.lane].sum()


@plant("race", 32, lambda: (reals(130), zeros(130)), grid=4)
def blocks_that_overlap(t, x, out, fixed):
    i = t.blockIdx.x * 32 + t.lane
    out[i] = x[i]  # <- race
    if not fixed:
        out[i + 2] = x[i]  # <- race


@plant("race", 64, lambda: (reals(32, 16, dtype=np.float16), zeros(32, 16)))
def fragment_of_a_tile_that_others_write(t, x, out, fixed):
    tile = t.shared((32, 16), np.float16)
    i = t.threadIdx.x
    for j in range(8):
        tile[31 - i // 2, i % 2 * 8 + j] = x[31 - i // 2, i % 2 * 8 + j]  # <- race
    if fixed:
        yield t.syncthreads()
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    wmma.load_matrix_sync(a, tile.reshape(-1)[t.warp_id * 256 :], 16)  # <- race
    out[t.warp_id * 16 : t.warp_id * 16 + 16, :] = a.to_matrix()


@plant("race", 64, lambda: (reals(16, 16, dtype=np.float16), zeros(16, 16)))
def view_of_a_tile_that_another_warp_writes(t, x, out, fixed):
    tile = t.shared((16, 16), np.float16)
    if t.warp_id == 1:
        tile[:, :] = x  # <- race
    if fixed:
        yield t.syncthreads()
    if t.warp_id == 0:
        a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
        wmma.load_matrix_sync(a, tile)  # <- race
        out[:, :] = a.to_matrix()


@plant("race", 64, lambda: (zeros(64),))
def fragment_that_is_stored_and_read_by_others(t, out, fixed):
    tile = t.shared(256, np.float32)
    if t.warp_id == 0:
        c = accumulator()
        wmma.fill_fragment(c, 2.0)
        wmma.store_matrix_sync(tile, c, 16, wmma.mem_row_major)  # <- race
    if fixed:
        yield t.syncthreads()
    i = t.threadIdx.x
    out[i] = tile[i * 4]  # <- race


@plant("race", 64, lambda: (zeros(1),), grid=3)
def blocks_that_add_to_one_number(t, out, fixed):
    if t.warp_id == 0:
        if fixed:
            np.add.at(out, 0, 1)
        else:
            out[0] += 1  # <- race


@plant("race", 64, lambda: (reals(8, 8),))
def transposition_in_place(t, x, fixed):
    i = t.threadIdx.x
    row, col = i // 8, i % 8
    v = x[col, row]  # <- race
    if fixed:
        yield t.syncthreads()
    x[row, col] = v  # <- race


@plant("race", 64, lambda: (reals(65),))
def stencil_in_place(t, x, fixed):
    i = t.threadIdx.x
    v = x[i] + x[i + 1]  # <- race
    if fixed:
        yield t.syncthreads()
    x[i] = v  # <- race


@plant("race", 64, lambda: (reals(256), zeros(256)))
def one_buffer_for_two(t, x, out, fixed):
    s = t.shared((2, 64), np.float32)
    i = t.threadIdx.x
    for k in range(4):
        buffer = k % 2 if fixed else 0
        s[buffer, i] = x[k * 64 + i]  # <- race
        yield t.syncthreads()
        out[k * 64 + i] = s[buffer, 63 - i]  # <- race


@plant("race", 128, lambda: (reals(1), zeros(128)))
def number_that_one_warp_hands_to_all(t, x, out, fixed):
    s = t.shared(1, np.float32)
    if t.warp_id == 0:
        s[0] = x[0]  # <- race
    if fixed:
        yield t.syncthreads()
    out[t.threadIdx.x] = s[0]  # <- race


@plant("race", 64, lambda: (reals(16, 8, dtype=np.float16), zeros(128, dtype=np.uint32)))
def matrices_of_rows_that_others_write(t, x, out, fixed):
    tile = t.shared((16, 8), np.float16)
    i = t.threadIdx.x
    for j in range(2):
        tile[15 - i // 4, i % 4 * 2 + j] = x[15 - i // 4, i % 4 * 2 + j]  # <- race
    if fixed:
        yield t.syncthreads()
    rows = ldmatrix(tile, t.warp_id * 128 + t.lane % 8 * 16, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")  # <- race
    out[i] = rows[0]


@plant("race", 64, lambda: (ints(64) % 4, zeros(4, dtype=np.int32)))
def sums_that_are_set_to_zero_too_late(t, x, out, fixed):
    sums = t.shared(4, np.int32)
    if t.warp_id == 0:
        sums[:] = 0  # <- race
    if fixed:
        yield t.syncthreads()
    np.add.at(sums, x[t.threadIdx.x], 1)  # <- race
    yield t.syncthreads()
    if t.warp_id == 0:
        out[:] = sums


@plant("race", 64, lambda: (reals(64), zeros(64)))
def helper_that_does_not_wait(t, x, out, fixed):
    def bring(s, i):
        s[i] = x[i]  # <- race
        if fixed:
            yield t.syncthreads()

    s = t.shared(64, np.float32)
    yield from bring(s, t.threadIdx.x)
    out[t.threadIdx.x] = s[63 - t.threadIdx.x]  # <- race
