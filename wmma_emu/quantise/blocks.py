# SPDX-License-Identifier: MIT
"""The blocks of an array: consecutive elements along one axis, the last block complete or padded with zeros."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentValueError, ShapeError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.quantise.spec import BlockFormat


def axis_of(axis: object, ndim: int, name: str = "axis") -> int:
    """Read an axis of an array: a non-negative integer below ``ndim``.

    Examples
    --------
    >>> axis_of(-1, 3)
    2
    """
    given = integer_of(axis)
    if given is None or not -ndim <= given < ndim:
        have = f"the {ndim} axes are {-ndim} to {ndim - 1}" if ndim else "an array without axes has no blocks"
        raise ArgumentValueError(f"{name}={shorten(axis)} is not an axis of the array; {have}")
    return given % ndim


def split_blocks(array: NDArray[Any], fmt: BlockFormat, axis: int, pad: bool) -> NDArray[Any]:
    """Move the blocks of an axis to the end: shape (..., blocks, block size), the other axes in their order.

    A short last block is filled with zero patterns if ``pad`` is true, and rejected otherwise.

    Examples
    --------
    >>> from wmma_emu.quantise import block_format_of
    >>> split_blocks(np.zeros((64, 3), np.uint8), block_format_of("nvfp4"), 0, False).shape
    (3, 4, 16)
    """
    last = np.moveaxis(array, axis, -1)
    length = last.shape[-1]
    missing = -length % fmt.block
    if missing and not pad:
        raise ShapeError(
            f"axis {axis} has {length} elements, and {fmt} has blocks of {fmt.block}; "
            f"pass pad=True to fill the last block with {missing} zeros, or slice to {length - length % fmt.block}"
        )
    if missing:
        last = np.concatenate([last, np.zeros((*last.shape[:-1], missing), last.dtype)], axis=-1)
    return last.reshape(*last.shape[:-1], (length + missing) // fmt.block, fmt.block)


def join_blocks(blocks: NDArray[Any], axis: int) -> NDArray[Any]:
    """Join blocks along an axis: the inverse of `split_blocks`.

    Examples
    --------
    >>> join_blocks(np.zeros((3, 4, 16)), 0).shape
    (64, 3)
    """
    joined = blocks.reshape(*blocks.shape[:-2], blocks.shape[-2] * blocks.shape[-1])
    return np.ascontiguousarray(np.moveaxis(joined, -1, axis))


def largest_of_squares(amax: NDArray[Any], fmt: BlockFormat) -> NDArray[Any]:
    """Replace the magnitudes of the blocks of a matrix, shape (lines, blocks), by those of squares of blocks.

    Raises
    ------
    ShapeError
        If the array is not a matrix, or a square is not complete.

    Examples
    --------
    >>> from wmma_emu.quantise import block_format_of
    >>> largest_of_squares(np.arange(32).reshape(16, 2), block_format_of("nvfp4"))[0].tolist()
    [30, 31]
    """
    size = fmt.block
    if amax.ndim != 2 or len(amax) % size:
        raise ShapeError(
            f"square=True needs a matrix whose other axis, too, is a multiple of {size}, not {amax.ndim} axes and "
            f"{len(amax) if amax.ndim else 0} lines of blocks"
        )
    squares = amax.reshape(len(amax) // size, size, -1).max(axis=1)
    return np.repeat(squares, size, axis=0)
