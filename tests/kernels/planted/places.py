# SPDX-License-Identifier: MIT
"""Accesses that a GPU would stop, or that reach what belongs to something else."""

import numpy as np

from tests.kernels.planted.planted import ints, plant, read_only, reals, zeros
from wmma_emu import wmma
from wmma_emu.errors import AlignmentError, ArgumentValueError, OutOfBoundsError
from wmma_emu.warp.ldmatrix import ldmatrix

OUTSIDE = "out of bounds"


@plant(OUTSIDE, 32, lambda: (reals(40), zeros(64)), grid=2, error=OutOfBoundsError)
def guard_that_is_missing(t, x, out, fixed):
    i = t.blockIdx.x * 32 + t.lane
    out[i] = x[np.minimum(i, 39) if fixed else i]  # <- out of bounds


@plant(OUTSIDE, 32, lambda: (reals(32), zeros(32)), error=OutOfBoundsError)
def left_neighbour_of_the_first(t, x, out, fixed):
    i = t.lane - 1
    out[t.lane] = x[np.maximum(i, 0) if fixed else i]  # <- out of bounds


@plant(OUTSIDE, 32, lambda: (reals(300, dtype=np.float16), zeros(16, 16)), error=OutOfBoundsError)
def tile_beyond_the_end(t, x, out, fixed):
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    wmma.load_matrix_sync(a, x[32 if fixed else 64 :], 16)  # <- out of bounds
    out[:, :] = a.to_matrix()


@plant(OUTSIDE, 32, lambda: (reals(32), zeros(40)), error=OutOfBoundsError)
def slice_beyond_the_end(t, x, out, fixed):
    first = 8 if fixed else 9
    out[first : first + 32] = x[t.lane]  # <- out of bounds


@plant(OUTSIDE, 32, lambda: (ints(32) % 9, zeros(8, dtype=np.int32)), error=OutOfBoundsError)
def bin_that_does_not_exist(t, x, bins, fixed):
    np.add.at(bins, np.minimum(x[t.lane], 7 if fixed else 8), 1)  # <- out of bounds


@plant(OUTSIDE, 32, lambda: (zeros(32, dtype=np.uint32),), error=OutOfBoundsError)
def row_beyond_the_tile(t, out, fixed):
    tile = t.shared((8, 8), np.float16)
    tile[:] = 0
    rows = t.lane % 8 + (0 if fixed else 1)
    out[t.lane] = ldmatrix(tile, rows * 16, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")[0]  # <- out of bounds


@plant("misaligned", 32, lambda: (reals(512, dtype=np.float16), zeros(16, 16)), error=AlignmentError)
def tile_from_an_odd_element(t, x, out, fixed):
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    wmma.load_matrix_sync(a, x[16 if fixed else 4 :], 16)  # <- misaligned
    out[:, :] = a.to_matrix()


@plant("misaligned", 32, lambda: (zeros(32, dtype=np.uint32),), error=AlignmentError)
def rows_that_are_not_padded_to_16_bytes(t, out, fixed):
    width = 16 if fixed else 18
    tile = t.shared(8 * width, np.uint8)
    tile[:] = 0
    out[t.lane] = ldmatrix(tile, t.lane % 8 * width, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")[0]  # <- misaligned


@plant("misaligned", 32, lambda: (zeros(132, dtype=np.uint8), zeros(32)))
def numbers_behind_a_header_of_two_bytes(t, x, out, fixed):
    numbers = x[4 if fixed else 2 :][:128].view(np.float32)
    out[t.lane] = numbers[t.lane]  # <- misaligned


@plant("read-only", 32, lambda: (read_only(reals(32)), zeros(32)), error=ArgumentValueError)
def result_that_goes_into_the_input(t, x, out, fixed):
    target = out if fixed else x
    target[t.lane] = x[t.lane] * 2  # <- read-only


@plant("trap", 32, lambda: (reals(32),), error=AssertionError)
def assertion_that_does_not_hold(t, x, fixed):
    assert (x[t.lane] < (13 if fixed else 12)).all(), "all below the limit"  # <- trap
