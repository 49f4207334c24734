# SPDX-License-Identifier: MIT
"""The bytes that a tensor map's box covers: chunks of 16 bytes, where each is in the tensor and in shared memory.

The order of elements, the layouts and the im2col window are measured: 1,600 random loads on an NVIDIA H200 (driver
580.159.04, 2026-11-28; ``tests/ptx/tensor_maps``).
"""

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

    Measured on an NVIDIA H200 (driver 580.159.04, 2026-11-23 and 28): a narrower row leaves the rest of its span
    unchanged; slices of an interleaved layout are contiguous.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> [row_pitch(TensorMapFields(0, element_type_of("f16"), (64, 8), (128,), (1, 1), (16, 8), swizzle=x))
    ...  for x in range(4)]
    [32, 32, 64, 128]
    """
    is_dense = fields.interleave or not fields.swizzle
    return _chunks_of_row(fields) * CHUNK_BYTES if is_dense else CHUNK_BYTES << fields.swizzle


def box_span(fields: TensorMapFields) -> int:
    """Return the bytes from the beginning of a box in shared memory to its end, gaps included.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> [box_span(TensorMapFields(0, element_type_of("f16"), (64, 8), (128,), (1, 1), (16, 8), swizzle=x))
    ...  for x in range(4)]
    [256, 256, 512, 1024]
    """
    rows, _ = _rows_and_chunks(fields)
    return rows * row_pitch(fields)


def spatial_dimensions(fields: TensorMapFields) -> slice:
    """Return the dimensions in which the window of an im2col map moves.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> found = TensorMapFields(0, element_type_of("f16"), (8, 9, 14, 4), (16, 144, 2016), (1, 1, 1, 1))
    >>> found.dims[spatial_dimensions(found)]
    (9, 14)
    """
    first = 0 if fields.interleave else 1
    return slice(first, first + fields.rank - 2)


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
        elements = coordinates[:, None] + _steps(bare).reshape(fields.rank, -1, *([1] * (coordinates.ndim - 1)))
    else:
        elements = _window_elements(bare, fields.window, coordinates, offsets)
    return Chunks(*_placed(fields, elements), _shared_offsets(bare))


def _placed(fields: TensorMapFields, elements: Positions) -> tuple[Positions, Positions]:
    """Return the offsets of chunks and the bytes of each that are in the tensor, by the elements they begin with."""
    size = fields.slice_bytes or fields.element.bytes
    chunks = _chunks_of_row(fields)
    within = np.arange(elements.shape[1]) % chunks if fields.slice_bytes else np.zeros(elements.shape[1], np.int64)
    offsets = elements[0] * size + (within * CHUNK_BYTES).reshape(-1, *([1] * (elements.ndim - 2)))
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
    rows = fields.window.pixels if fields.window else prod(_counts(fields))
    return rows, _chunks_of_row(fields)


def _counts(fields: TensorMapFields) -> list[int]:
    """Return the rows of a box in each dimension.

    In an interleaved layout a row is a slice of channels, the first dimension is the width, and a copy moves one slice
    of the last dimension but one, whatever the box says.
    """
    counts = [-(-size // step) for size, step in zip(fields.box, fields.element_strides, strict=True)]
    counts[-2 if fields.slice_bytes else 0] = 1
    return counts


def _chunks_of_row(fields: TensorMapFields) -> int:
    elements = fields.window.channels if fields.window else fields.box[0]
    return -(-(fields.slice_bytes or elements * fields.element.bytes) // CHUNK_BYTES)


@lru_cache(256)
def _steps(fields: TensorMapFields) -> Positions:
    """Return the first element of each chunk of a box, (rank, chunks), relative to the coordinates of the box."""
    chunks = np.arange(_chunks_of_row(fields), dtype=np.int64)
    counts = zip(_counts(fields), fields.element_strides, strict=True)
    axes = [np.arange(count, dtype=np.int64) * step for count, step in counts]
    *grid, chunk = np.meshgrid(*axes[::-1], chunks, indexing="ij")
    found = np.stack([x.reshape(-1) for x in grid[::-1]])
    if not fields.slice_bytes:
        found[0] = chunk.reshape(-1) * (CHUNK_BYTES // fields.element.bytes)
    found.setflags(write=False)
    return found


def _window_elements(
    fields: TensorMapFields, window: Window, coordinates: Positions, offsets: Positions | None
) -> Positions:
    """Return the first element of each chunk of im2col copies, (rank, chunks, *copies).

    The base pixel moves through the window, the first spatial dimension the fastest, then to the next image. A
    dimension begins again at the lower corner, wherever the copy began.
    """
    row = _chunks_of_row(fields)
    chunk = np.arange(window.pixels * row, dtype=np.int64)
    shape = (-1, *([1] * (coordinates.ndim - 1)))
    left = (chunk // row).reshape(shape)
    found = [np.broadcast_to(x, (len(chunk), *coordinates.shape[1:])) for x in coordinates]
    if not fields.slice_bytes:
        found[0] = found[0] + (chunk % row * (CHUNK_BYTES // fields.element.bytes)).reshape(shape)
    spatial = range(fields.rank)[spatial_dimensions(fields)]
    for nth, (i, low, high) in enumerate(zip(spatial, window.lower, window.upper, strict=True)):
        step, end = fields.element_strides[i], fields.dims[i] - 1 + high
        later = left - ((end - coordinates[i]) // step + 1)
        width = (end - low) // step + 1
        base = np.where(later < 0, coordinates[i] + left * step, low + later % width * step)
        found[i] = base if offsets is None else base + offsets[nth]
        left = np.where(later < 0, 0, later // width + 1)
    found[-1] = found[-1] + left * fields.element_strides[-1]
    return np.stack(np.broadcast_arrays(*found))
