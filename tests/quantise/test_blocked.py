# SPDX-License-Identifier: MIT
"""The blocked order is a bijection and matches CUTLASS: its layout of one tile is evaluated independently."""

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError
from wmma_emu.quantise import blocked_offset, from_blocked, quantise, to_blocked

SHAPES = [(128, 4), (1, 1), (32, 4), (128, 8), (256, 4), (129, 5), (300, 9), (4, 130), (0, 4), (8, 0)]

# CUTLASS, Sm1xxBlockScaledConfig, for scales along k: the row is ((32, 4), tiles), the scale (4, tiles), with
# the strides ((16, 4), ...) and (1, 512); tiles of rows are ordered after k.
ATOM_SHAPE, ATOM_STRIDE = (32, 4, 4), (16, 4, 1)


def cute_offset(row, column, columns):
    tile_row, row = divmod(row, ATOM_SHAPE[0] * ATOM_SHAPE[1])
    tile_column, column = divmod(column, ATOM_SHAPE[2])
    group, lane = divmod(row, ATOM_SHAPE[0])
    inside = lane * ATOM_STRIDE[0] + group * ATOM_STRIDE[1] + column * ATOM_STRIDE[2]
    return inside + 512 * (tile_column + -(-columns // 4) * tile_row)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_scale_is_at_its_cutlass_offset(shape):
    random = np.random.RandomState(0)
    scales = random.randint(1, 256, shape).astype(np.uint8)
    blocked = to_blocked(scales)
    rows, columns = shape
    places = [cute_offset(r, c, columns) for r in range(rows) for c in range(columns)]
    assert len(blocked) == -(-rows // 128) * -(-columns // 4) * 512
    assert len(set(places)) == scales.size
    assert (blocked[places] == scales.ravel()).all()
    assert np.delete(blocked, places).sum() == 0
    grid = np.indices(shape)
    assert blocked_offset(grid[0], grid[1], columns).ravel().tolist() == places


def test_one_tile_is_a_bijection():
    row, column = np.indices((128, 4))
    assert sorted(blocked_offset(row, column, 4).ravel().tolist()) == list(range(512))


@pytest.mark.parametrize("dtype", [np.uint8, ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("shape", [*SHAPES, (2, 3, 130, 5)], ids=str)
def test_from_blocked_inverts_to_blocked(shape, dtype):
    scales = np.random.RandomState(1).randint(0, 127, shape).astype(np.uint8).view(dtype)
    blocked = to_blocked(scales)
    back = from_blocked(blocked, *shape[-2:])
    assert blocked.dtype == back.dtype == scales.dtype
    assert (back.view(np.uint8) == scales.view(np.uint8)).all()
    assert not np.shares_memory(back, blocked)


def test_every_matrix_of_a_batch_is_blocked_separately():
    scales = np.arange(2 * 3 * 5 * 7, dtype=np.uint8).reshape(2, 3, 5, 7)
    assert (to_blocked(scales)[1, 2] == to_blocked(scales[1, 2])).all()


def test_strides_do_not_matter():
    scales = np.arange(130 * 6).astype(np.uint8).reshape(6, 130)
    assert (to_blocked(scales.T) == to_blocked(np.ascontiguousarray(scales.T))).all()
    twice = np.repeat(to_blocked(scales), 2)[::2]
    assert (from_blocked(twice, 6, 130) == scales).all()


def test_blocks_are_columns_whichever_axis_they_extend_along():
    x = np.ldexp(np.ones((64, 5), np.float32), np.arange(64)[:, None] // 32 + np.arange(5))
    ours = quantise(x, "mxfp8_e4m3", axis=0)
    assert ours.scales.shape == (2, 5)
    assert (from_blocked(ours.blocked_scales(), 5, 2).view(np.uint8) == ours.scale_bits.T).all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: to_blocked(np.zeros(4, np.uint8)), FragmentMismatchError, "rows, columns"),
        (lambda: to_blocked(np.zeros((4, 4), np.float32)), FragmentMismatchError, "not float32"),
        (lambda: to_blocked([[1]]), FragmentMismatchError, "Python list"),
        (lambda: from_blocked(np.zeros(512, np.uint8), 129, 4), FragmentMismatchError, "1024 bytes"),
        (lambda: from_blocked(np.zeros(512, np.uint8), -1, 4), FragmentMismatchError, "not a number of rows"),
        (lambda: from_blocked(np.zeros(512, np.uint8), 1, 1.5), FragmentMismatchError, "not a number of columns"),
        (lambda: from_blocked(np.zeros(512, np.int16), 1, 1), FragmentMismatchError, "not int16"),
        (lambda: blocked_offset(0, 4, 4), OutOfBoundsError, "columns are 0 to 3"),
        (lambda: blocked_offset(-1, 0, 4), OutOfBoundsError, "rows start at 0"),
        (lambda: blocked_offset(0.5, 0, 4), FragmentMismatchError, "neither an integer"),
        (lambda: blocked_offset(2**62, 0, 4), OutOfBoundsError, "does not fit in a 64-bit integer"),
        (lambda: blocked_offset(np.zeros(3, int), np.zeros(2, int), 4), FragmentMismatchError, "do not broadcast"),
        (lambda: to_blocked(np.zeros(4, np.uint8)), FragmentMismatchError, r"for one row, pass scales\[None\]"),
    ],
    ids=range(13),
)
def test_invalid_shapes_and_indices_are_rejected(call, error, words):
    with pytest.raises(error, match=words):
        call()
