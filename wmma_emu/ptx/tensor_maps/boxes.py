# SPDX-License-Identifier: MIT
"""The bytes that a tensor map's box covers: chunks of 16 bytes, where each is in the tensor and in shared memory."""

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields, Window

CHUNK_BYTES = 16
Positions = NDArray[np.int64]


class Chunks(NamedTuple):
    """The chunks of some boxes, (chunks, *boxes).

    ``offsets`` are the bytes from the tensor's address, and ``inside`` the number of bytes of each chunk, from its
    beginning, that are in the tensor; ``shared`` are the bytes from the box's beginning, (chunks,), without swizzle.
    """

    offsets: Positions
    inside: Positions
    shared: Positions


def box_bytes(fields: TensorMapFields) -> int:
    """Return the bytes that a copy moves to or from shared memory, with those outside of the tensor.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> box_bytes(TensorMapFields(0, element_type_of("f16"), (64, 8), (128,), (1, 3), box=(16, 8)))
    96
    """
    rows, chunks = _rows_and_chunks(fields)
    return rows * chunks * CHUNK_BYTES


def row_pitch(fields: TensorMapFields) -> int:
    """Return the bytes between rows of a box in shared memory: those of a row, or with a swizzle its whole span.

    Measured on an NVIDIA H200 (driver 580.159.04, 2026-11-23): a narrower row leaves the rest of its span unchanged.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> [row_pitch(TensorMapFields(0, element_type_of("f16"), (64, 8), (128,), (1, 1), (16, 8), swizzle=x))
    ...  for x in range(4)]
    [32, 32, 64, 128]
    """
    chunks = _rows_and_chunks(fields)[1] * CHUNK_BYTES
    return CHUNK_BYTES << fields.swizzle if fields.swizzle else chunks


def swizzled(addresses: Positions, swizzle: int) -> Positions:
    """Return the addresses in shared memory at which chunks are, in the pattern of a swizzle.

    Swizzle ``n`` changes ``n`` address bits from bit 4 upwards, by those from bit 7 upwards.

    Examples
    --------
    >>> [hex(x) for x in swizzled(np.array([0x400, 0x480, 0x490, 0x7F0]), 3)]
    ['0x400', '0x490', '0x480', '0x780']
    """
    mask = (1 << swizzle) - 1
    return addresses ^ ((addresses >> 7 & mask) << 4)


def chunks_of(fields: TensorMapFields, coordinates: Positions, offsets: Positions | None = None) -> Chunks:
    """Return the chunks of boxes.

    Parameters
    ----------
    fields : TensorMapFields
        The tensor map.
    coordinates : array of int64
        The coordinates of each box, (rank, *boxes), the contiguous dimension first.
    offsets : array of int64, optional
        The offsets of an im2col copy, (rank - 2, *boxes).

    Examples
    --------
    The box of 2 rows begins 8 elements before the end of the rows, and one row before the end of the tensor:

    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> fields = TensorMapFields(0, element_type_of("f16"), (64, 8), (128,), (1, 1), box=(16, 2))
    >>> found = chunks_of(fields, np.array([56, 7]))
    >>> found.offsets.tolist(), found.inside.tolist(), found.shared.tolist()
    ([1008, 1024, 1136, 1152], [16, 0, 0, 0], [0, 16, 32, 48])
    """
    bare = fields.at(0)
    if fields.window is None:
        steps = _steps(bare)
        shape = (fields.rank, -1, *([1] * (coordinates.ndim - 1)))
        elements = coordinates[:, None] + steps.reshape(shape)
    else:
        elements = _window_elements(bare, fields.window, coordinates, offsets)
    return Chunks(*_placed(fields, elements), _shared_offsets(bare))


def _placed(fields: TensorMapFields, elements: Positions) -> tuple[Positions, Positions]:
    size = fields.element.bytes
    offsets = elements[0] * size
    inside = np.clip((fields.dims[0] - elements[0]) * size, 0, CHUNK_BYTES)
    inside = np.where(elements[0] < 0, 0, inside)
    for i, (dim, stride) in enumerate(zip(fields.dims[1:], fields.strides, strict=True), 1):
        offsets = offsets + elements[i] * stride
        inside = np.where((elements[i] >= 0) & (elements[i] < dim), inside, 0)
    return offsets, inside


@lru_cache(256)
def _shared_offsets(fields: TensorMapFields) -> Positions:
    rows, chunks = _rows_and_chunks(fields)
    starts = np.arange(rows, dtype=np.int64)[:, None] * row_pitch(fields)
    found = (starts + np.arange(chunks, dtype=np.int64) * CHUNK_BYTES).reshape(-1)
    found.setflags(write=False)
    return found


def _rows_and_chunks(fields: TensorMapFields) -> tuple[int, int]:
    """Return the rows of a box, which are contiguous in the tensor, and the chunks of each."""
    if fields.window is not None:
        return fields.window.pixels, _chunks_of_row(fields, fields.window.channels)
    outer = (-(-size // step) for size, step in zip(fields.box[1:], fields.element_strides[1:], strict=True))
    return prod(outer), _chunks_of_row(fields, fields.box[0])


def _chunks_of_row(fields: TensorMapFields, elements: int) -> int:
    return -(-elements * fields.element.bytes // CHUNK_BYTES)


@lru_cache(256)
def _steps(fields: TensorMapFields) -> Positions:
    """Return the first element of each chunk of a box, (rank, chunks), relative to the coordinates of the box."""
    each = CHUNK_BYTES // fields.element.bytes
    inner = np.arange(_chunks_of_row(fields, fields.box[0]), dtype=np.int64) * each
    outer = [
        np.arange(-(-size // step), dtype=np.int64) * step
        for size, step in zip(fields.box[1:], fields.element_strides[1:], strict=True)
    ]
    grid = np.meshgrid(*outer[::-1], inner, indexing="ij")[::-1]
    found = np.stack([x.reshape(-1) for x in grid])
    found.setflags(write=False)
    return found


def _window_elements(
    fields: TensorMapFields, window: Window, coordinates: Positions, offsets: Positions | None
) -> Positions:
    """Return the first element of each chunk of im2col copies, (rank, chunks, *copies).

    The base pixel moves through the window, the first spatial dimension the fastest, then to the next image.
    """
    each = CHUNK_BYTES // fields.element.bytes
    row = _chunks_of_row(fields, window.channels)
    chunk = np.arange(window.pixels * row, dtype=np.int64)
    shape = (-1, *([1] * (coordinates.ndim - 1)))
    left = (chunk // row).reshape(shape)
    found = [coordinates[0] + (chunk % row * each).reshape(shape)]
    for i, (low, high) in enumerate(zip(window.lower, window.upper, strict=True), 1):
        step = fields.element_strides[i]
        width = (fields.dims[i] - 1 + high - low) // step + 1
        index = (coordinates[i] - low) // step + left
        base = low + index % width * step + (coordinates[i] - low) % step
        found.append(base if offsets is None else base + offsets[i - 1])
        left = index // width
    return np.stack(np.broadcast_arrays(*found, coordinates[-1] + left))
