# SPDX-License-Identifier: MIT
"""The division of a product of any size, so that memory stays bounded: panels of D, and parts of A and B for each."""

from collections.abc import Iterator
from itertools import product as cartesian
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.formats import Format
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.k_order import Run
from wmma_emu.warp import matrix_bits

PANEL_BYTES = 1 << 25
"""The size of a panel of D in its accumulators' format: about 2048 x 4096 float32.

In addition to the user's matrices, memory holds a few arrays of this size (C, running sums, the rounded result) and a
part of A and of B: less than 512 MiB, including the engines.
"""

_WIDTH = 4096
"""The columns of a panel if D has many rows and columns."""

_LONGEST = 1 << 14
"""The largest number of rows and columns of a panel, so that parts of A and B are deep enough."""

_SPARSE_SHARE = 8
"""The factor by which parts of a sparse A are smaller, because packing takes about thirty bytes for each element."""


class PanelSize(NamedTuple):
    """The matrices of a batch, rows and columns of a panel of D, and k of the parts of A and B."""

    matrices: int
    rows: int
    columns: int
    depth: int


class Parts(NamedTuple):
    """Patterns of A and B over one run, padded with +0 to whole instructions, and the index of the first element in A.

    Block scales are padded with the pattern 0.
    """

    a: Bits
    b: Bits
    first: tuple[int, ...]
    scale_a: Bits | None = None
    scale_b: Bits | None = None


class PanelOperand:
    """A user's matrix that is read part by part; its dtype is checked at once.

    ``k_axis`` is -1 for A, -2 for B, None for a matrix without k.
    """

    def __init__(self, array: ArrayLike, fmt: Format, name: str, k_axis: int | None = None, named: str | None = None):
        # Only the parts of a NumPy array are converted to native byte order, one by one.
        given = as_numpy(sample_of(array), name)
        self._array: NDArray[Any] = np.asarray(array) if isinstance(array, np.ndarray) else given
        self._format, self._name, self._k_axis, self._named = fmt, name, k_axis, named
        nothing = self._array[(slice(0, 0),) * self._array.ndim]
        matrix_bits(np.asarray(nothing), fmt, name, packed_axis=k_axis, named=named)
        packed = k_axis is not None and named is not None and fmt.bits in (1, 4) and self._array.dtype == np.uint8
        self._per_entry = 8 // fmt.bits if packed else 1
        shape = list(self._array.shape)
        if packed and k_axis is not None and len(shape) >= -k_axis:
            shape[k_axis] *= self._per_entry
        self.shape = tuple(shape)
        """In elements."""

    def bits(self, index: tuple[slice, ...], run: Run | None = None, step: int = 1) -> Bits:
        """Return the patterns of a part at an index of D.

        Along k, the part is a run, padded with +0 to a multiple of ``step``. A leading axis of length 1 is always
        returned whole.
        """
        axes = list(index[len(index) - self._array.ndim :])
        for axis in range(self._array.ndim - 2):
            if self._array.shape[axis] == 1:
                axes[axis] = slice(None)
        if run is None or self._k_axis is None:
            return self._read(axes)
        count = self._per_entry
        first = run.start // count
        axes[self._k_axis] = slice(first, -(-run.stop // count))
        bits = self._read(axes)
        skipped, length = run.start - first * count, run.stop - run.start
        inside = [slice(None)] * bits.ndim
        inside[self._k_axis] = slice(skipped, skipped + length)
        return filled(bits[tuple(inside)], self._k_axis, -length % step)

    def first(self, index: tuple[slice, ...], run: Run) -> tuple[int, ...]:
        """Return the index in A of the first element of its part."""
        axes = index[len(index) - self._array.ndim :]
        starts = [0 if self._array.shape[axis] == 1 else x.start or 0 for axis, x in enumerate(axes[:-1])]
        return (*starts, run.start)

    def _read(self, axes: list[slice]) -> Bits:
        part = self._array[tuple(axes)]
        return matrix_bits(part, self._format, self._name, packed_axis=self._k_axis, named=self._named)


def sample_of(array: ArrayLike) -> ArrayLike:
    """Return an array with the same dtype and axes; for a NumPy array, one without elements."""
    return array[(slice(0, 0),) * array.ndim] if isinstance(array, np.ndarray) else array


def panel_size(
    shape: tuple[int, ...], k: int, step: int, item_bytes: int, operand_bytes: int, sparse: bool = False
) -> PanelSize:
    """Choose a panel for a D of a shape, and the k of the parts of A and B, where an instruction takes ``step`` k.

    ``item_bytes`` is the size of an element of D in the accumulators' format, ``operand_bytes`` that of the larger of
    A's and B's elements. A ``sparse`` A is packed first, which takes more memory.
    """
    m, n = max(shape[-2], 1), max(shape[-1], 1)
    limit = max(PANEL_BYTES // item_bytes, 1)
    operand_elements = PANEL_BYTES // (operand_bytes * (_SPARSE_SHARE if sparse else 1))
    columns = min(n, limit, max(_WIDTH, min(limit // m, _LONGEST)))
    rows = min(m, max(limit // columns, 1), _LONGEST)
    longest = max(rows, columns)
    depth = max(operand_elements // longest // step, 1) * step
    if depth < k:
        return PanelSize(1, rows, columns, depth)
    matrices = min(limit // (rows * columns), operand_elements // (longest * max(k, 1)))
    return PanelSize(max(matrices, 1), rows, columns, depth)


def panels(shape: tuple[int, ...], size: PanelSize) -> Iterator[tuple[slice, ...]]:
    """Yield indices into D that cover it."""
    lengths, left = [], size.matrices
    for axis in reversed(shape[:-2]):
        lengths.append(max(min(axis, left), 1))
        left = left // axis if axis and left >= axis else 1
    lengths = [*lengths[::-1], size.rows, size.columns]
    if not prod(shape):
        return
    yield from cartesian(*(_slices(total, part) for total, part in zip(shape, lengths, strict=True)))


def _slices(total: int, part: int) -> list[slice]:
    return [slice(start, min(start + part, total)) for start in range(0, total, part)]


def filled(bits: Bits, axis: int, missing: int) -> Bits:
    """Pad the last instruction with products of +0, as a kernel does."""
    if not missing:
        return bits
    shape = list(bits.shape)
    shape[axis] = missing
    return np.concatenate([bits, np.zeros(shape, bits.dtype)], axis=axis)
