# SPDX-License-Identifier: MIT
"""The order in which GEMM libraries store scale factors: tiles of 128 rows by 4 columns, 512 bytes each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, OutOfBoundsError, ShapeError, shorten
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.libraries import takes_tensors

_ROWS, _COLUMNS, _LANES = 128, 4, 32
_GROUPS = _ROWS // _LANES
_TILE = _ROWS * _COLUMNS


@takes_tensors
def to_blocked(scales: object) -> NDArray[Any]:
    """Arrange scale factors in the blocked order that cuBLAS, CUTLASS, cuDNN and torchao expect.

    Parameters
    ----------
    scales : array of one-byte elements, shape (..., rows, columns)
        float8_e8m0fnu, float8_e4m3fn or uint8. Rows are rows of A or columns of B; columns are blocks along k.

    Returns
    -------
    array of the same dtype, shape (..., size)
        A new array; ``size`` is a multiple of 512. Tiles are padded with zero bytes.

    Raises
    ------
    FragmentMismatchError
        If there are fewer than two axes, or the elements are wider than a byte.

    Notes
    -----
    cuBLAS 13 documentation, 1D block scaling factors layout; CUTLASS, ``Sm1xxBlockScaledConfig``; torchao,
    ``to_blocked``. Tiles are ordered along the columns first. See `blocked_offset`.

    Examples
    --------
    >>> scales = np.arange(128 * 4).reshape(128, 4).astype(np.uint8)
    >>> to_blocked(scales)[:8].tolist()                              # row 0, then row 32
    [0, 1, 2, 3, 128, 129, 130, 131]
    """
    given = as_numpy(scales, "scales")
    if given.ndim < 2 or given.dtype.itemsize != 1:
        raise ShapeError(
            "expected scales of shape (..., rows, columns) with one byte each, "
            f"not {shorten(given.dtype, str)} of shape {given.shape}"
            + ("; for one row, pass scales[None]" if given.ndim == 1 else "")
        )
    *batch, rows, columns = given.shape
    down, across = -(-rows // _ROWS), -(-columns // _COLUMNS)
    filled = np.zeros((*batch, down * _ROWS, across * _COLUMNS), np.uint8)
    filled[..., :rows, :columns] = given.view(np.uint8)
    split = filled.reshape(*batch, down, _GROUPS, _LANES, across, _COLUMNS)
    # (tile down, group, lane, tile across, column) to (tile down, tile across, lane, group, column)
    ordered = np.moveaxis(split, (-5, -2, -3, -4, -1), (-5, -4, -3, -2, -1))
    return ordered.reshape(*batch, down * across * _TILE).view(given.dtype)


@takes_tensors
def from_blocked(data: object, rows: int, columns: int) -> NDArray[Any]:
    """Restore scale factors from the blocked order: the inverse of `to_blocked`.

    Parameters
    ----------
    data : array of one-byte elements, shape (..., size)
    rows, columns : int
        The numbers of rows and columns; the padding of the tiles is dropped.

    Returns
    -------
    array of the same dtype, shape (..., rows, columns)

    Raises
    ------
    FragmentMismatchError
        If the size does not match the number of tiles.

    Examples
    --------
    >>> scales = np.arange(130 * 5).reshape(130, 5).astype(np.uint8)
    >>> bool((from_blocked(to_blocked(scales), 130, 5) == scales).all())
    True
    """
    given = as_numpy(data, "data")
    down, across = -(-_size(rows, "rows") // _ROWS), -(-_size(columns, "columns") // _COLUMNS)
    if given.ndim < 1 or given.dtype.itemsize != 1 or given.shape[-1] != down * across * _TILE:
        raise ShapeError(
            f"{rows} rows and {columns} columns of scales fill {down} * {across} tiles, {down * across * _TILE} bytes: "
            f"expected that many one-byte entries, not {shorten(given.dtype, str)} of shape {given.shape}"
        )
    batch = given.shape[:-1]
    split = np.ascontiguousarray(given).view(np.uint8).reshape(*batch, down, across, _LANES, _GROUPS, _COLUMNS)
    ordered = np.moveaxis(split, (-5, -4, -3, -2, -1), (-5, -2, -3, -4, -1))
    filled = ordered.reshape(*batch, down * _ROWS, across * _COLUMNS)
    return np.array(filled[..., :rows, :columns], order="C").view(given.dtype)


def blocked_offset(row: object, column: object, columns: int) -> NDArray[np.int64]:
    """Return the offset in bytes of a scale factor in the blocked order.

    Parameters
    ----------
    row, column : int, or integer arrays that broadcast together
    columns : int
        The number of columns of scales.

    Returns
    -------
    int64 array
        ``(row // 128 * tiles + column // 4) * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4``, where ``tiles``
        is ``columns / 4``, rounded up.

    Raises
    ------
    FragmentMismatchError
        If the arguments are not integers, or their shapes do not broadcast.
    OutOfBoundsError
        If a row is negative, a column is out of range, or an offset exceeds 64 bits.

    Examples
    --------
    >>> blocked_offset(np.array([0, 1, 32, 128]), 0, columns=8).tolist()
    [0, 16, 4, 1024]
    """
    try:
        r, c = np.broadcast_arrays(_indices(row, "row"), _indices(column, "column"))
    except ValueError:
        raise ShapeError(
            f"row={shorten(row)} and column={shorten(column)} do not broadcast; row[:, None] with column makes a grid"
        ) from None
    across = -(-_size(columns, "columns") // _COLUMNS)
    if (r < 0).any() or (c < 0).any() or (c >= columns).any():
        raise OutOfBoundsError(
            f"rows start at 0, and columns are 0 to {columns - 1}; row={shorten(row)}, column={shorten(column)}"
        )
    if (r > (np.iinfo(np.int64).max // _TILE // max(across, 1) - 1) * _ROWS).any():
        raise OutOfBoundsError(f"row={shorten(row)} has an offset that does not fit in a 64-bit integer")
    tile = r // _ROWS * across + c // _COLUMNS
    offset: NDArray[np.int64] = tile * _TILE + r % _LANES * 16 + r % _ROWS // _LANES * 4 + c % _COLUMNS
    return offset


def _indices(given: object, name: str) -> NDArray[np.int64]:
    array = np.asarray(given)
    if array.dtype.kind not in "iu":
        raise ArgumentError(f"{name}={shorten(given)} is neither an integer nor an array of integers")
    return array.astype(np.int64)


def _size(given: object, name: str) -> int:
    size = integer_of(given)
    if size is None or size < 0:
        raise ArgumentValueError(f"{name}={shorten(given)} is not a number of {name}")
    return size
