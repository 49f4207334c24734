# SPDX-License-Identifier: MIT
"""How a product of any size is cut so that memory stays bounded: panels of D, and parts of A and B for each."""

from collections.abc import Iterator
from itertools import product as cartesian
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.k_order import Run
from wmma_emu.scalar import convert
from wmma_emu.warp import matrix_bits

PANEL_BYTES = 1 << 25
"""A panel of D has so many in its accumulators' format: some 2048 x 4096 float32. A handful of arrays of its size (C,
running sums, the rounded result) and a part of A and of B are all that is held beside the user's matrices: with what
the engines need less than 512 MiB."""

_WIDTH = 4096
"""Columns of a panel where there are many rows and columns."""

_LONGEST = 1 << 14
"""Rows and columns of a panel, so that parts of A and B are deep enough."""

_BLOCK = 1 << 15

_SPARSE_SHARE = 8
"""Packing a sparse A takes some thirty bytes for each element, so that its parts are smaller."""


class PanelSize(NamedTuple):
    """Matrices of a batch, rows and columns of a panel of D, and k of the parts of A and B."""

    matrices: int
    rows: int
    columns: int
    depth: int


class Parts(NamedTuple):
    """Patterns of A and B over one run, filled with +0 to whole instructions; and where in A the first one stands.

    Those of block scales are filled with the pattern 0.
    """

    a: Bits
    b: Bits
    first: tuple[int, ...]
    scale_a: Bits | None = None
    scale_b: Bits | None = None


class PanelOperand:
    """A user's matrix that is read part by part; its dtype is checked at once.

    ``k_axis`` is -1 for A, -2 for B, None for what has no k.
    """

    def __init__(self, array: ArrayLike, fmt: Format, name: str, k_axis: int | None = None, named: str | None = None):
        # Of a NumPy array only parts are brought into native byte order, one by one.
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
        """Patterns of a part: ``index`` is one of D's, a leading axis of length 1 being all of it; along k those of a
        run, filled with +0 to a multiple of ``step``.
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
        """Where the first element of A's part stands in all of it."""
        axes = index[len(index) - self._array.ndim :]
        starts = [0 if self._array.shape[axis] == 1 else x.start or 0 for axis, x in enumerate(axes[:-1])]
        return (*starts, run.start)

    def _read(self, axes: list[slice]) -> Bits:
        part = self._array[tuple(axes)]
        return matrix_bits(part, self._format, self._name, packed_axis=self._k_axis, named=self._named)


def converted(bits: Bits, source: Format | str, target: Format | str) -> Bits:
    """Convert patterns, some elements at a time: the conversion takes some hundred bytes for each."""
    if source == target:
        return bits
    flat = np.ravel(bits)
    result = np.empty(flat.shape, format_of(target).storage)
    for start in range(0, len(flat), _BLOCK):
        here = slice(start, start + _BLOCK)
        result[here] = convert(flat[here], source, target)
    return result.reshape(bits.shape)


def sample_of(array: ArrayLike) -> ArrayLike:
    """What says the dtype and the axes of an array; of a NumPy array none of its elements, which may be many."""
    return array[(slice(0, 0),) * array.ndim] if isinstance(array, np.ndarray) else array


def panel_size(
    shape: tuple[int, ...], k: int, step: int, item_bytes: int, operand_bytes: int, sparse: bool = False
) -> PanelSize:
    """Choose a panel for a D of a shape, and k of the parts of A and B, of which an instruction takes ``step``.

    ``item_bytes`` has an element of D in the accumulators' format, ``operand_bytes`` the larger of A's and B's. A
    ``sparse`` A is packed first, which takes more memory.
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
    """Indices into D, which cover it."""
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
    """Fill the last instruction with products of +0, as a kernel does."""
    if not missing:
        return bits
    shape = list(bits.shape)
    shape[axis] = missing
    return np.concatenate([bits, np.zeros(shape, bits.dtype)], axis=axis)
