# SPDX-License-Identifier: MIT
"""Products of patterns with a dense or sparse A; each packed element is multiplied by the row of B in its metadata."""

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.errors import ArgumentValueError
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of
from wmma_emu.layouts.spec import Ints

_AT_ONCE = 1 << 22
"""The number of elements of B that are gathered at once."""


class Extras(NamedTuple):
    """Additional operands of a product: the k of each packed element of a sparse A, (..., M, terms), and scales.

    Patterns of block scales are (..., M, blocks) for A, (..., blocks, N) for B. A block of k keeps the same number of
    packed elements in every row, so that the elements of a block are adjacent: element j of the packed k belongs to
    block j // (terms // blocks).
    """

    indices: Ints | None = None
    scale_a: Bits | None = None
    scale_b: Bits | None = None

    @property
    def given(self) -> dict[str, Bits | Ints]:
        """Return the operands that are present, by their public names."""
        return {name: x for name, x in zip(("metadata", *self._fields[1:]), self, strict=True) if x is not None}


NOTHING = Extras()


def multiply(
    product: DotProduct, a: Bits, b: Bits, c: Bits, extras: Extras = NOTHING, *, engine: str = "auto",
    threads: int | None = None,
) -> Bits:  # fmt: skip
    """Compute D = A B + C on bit patterns, with A dense or packed: element (i, j) adds the products that row i names.

    Elements that are omitted from A have no effect: an infinity in B that is not multiplied by an element of A changes
    no bit. The product's k counts packed elements. Leading axes of all operands and extras broadcast.
    """
    indices, *of_both = extras
    if indices is None:
        return matmul(product, a, b, c, engine, threads=threads, scale_a=extras.scale_a, scale_b=extras.scale_b)
    scales = [x for x in of_both if x is not None]
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (a, b, c, indices, *scales)))
    count, (m, terms), n = prod(batch), a.shape[-2:], b.shape[-1]
    a, b, c, *scales = (
        np.broadcast_to(x, batch + x.shape[-2:]).reshape(count, *x.shape[-2:]) for x in (a, b, c, *scales)
    )
    indices = np.broadcast_to(indices, batch + indices.shape[-2:]).reshape(count, m, terms)
    d = np.empty((count, m, n), product.d.storage)
    warps = max(_AT_ONCE // (m * terms * n), 1)
    for start in range(0, count, warps):
        batch_slice = slice(start, start + warps)
        met = np.take_along_axis(b[batch_slice, None], indices[batch_slice, :, :, None], axis=-2)
        # A row of A is a separate product with its own row of scales.
        of_a, of_b = (scales[0][batch_slice, :, None], scales[1][batch_slice, None]) if scales else (None, None)
        rows = matmul(
            product,
            a[batch_slice, :, None],
            met,
            c[batch_slice, :, None],
            engine,
            threads=threads,
            scale_a=of_a,
            scale_b=of_b,
        )
        d[batch_slice] = rows[:, :, 0]
    return d.reshape(*batch, m, n)


def compress(instruction: Instruction, a: Bits) -> tuple[Bits, Ints]:
    """Pack a matrix whose rows have the zeros that the granularity requires.

    A is (..., M, K), K a multiple of the instruction's k; both results are (..., M, K / 2), the second one the k of
    each packed element, ascending. Only +0 (all bits clear) counts as zero; -0 is an element. If a chunk has
    fewer elements than it keeps, its first zeros are kept too.
    """
    places = granularity_of(instruction)
    *rows, k = a.shape
    width = places.width
    cells = a.reshape(*rows, k // places.chunk, places.chunk // width, width)
    nonzero = (cells != 0).any(-1)
    kept = places.kept // width
    if (nonzero.sum(-1) > kept).any():
        raise ArgumentValueError(_too_many(instruction, nonzero, kept))
    chosen = np.sort(np.argsort(~nonzero, axis=-1, kind="stable")[..., :kept], axis=-1)
    packed = np.take_along_axis(cells, chosen[..., None], axis=-2).reshape(*rows, k // 2)
    columns = chosen[..., None] * width + np.arange(width)
    starts = np.arange(k // places.chunk)[:, None, None] * places.chunk
    indices: Ints = (columns + starts).reshape(*rows, k // 2)
    return packed, indices


def _too_many(instruction: Instruction, nonzero: NDArray[np.bool_], kept: int) -> str:
    """Describe the first chunk of a row that has too many elements."""
    places = granularity_of(instruction)
    count = nonzero.sum(-1)
    *batch, row, chunk = np.argwhere(count > kept)[0].tolist()
    first, cells = chunk * places.chunk, nonzero.shape[-1]
    of = f" of matrix {tuple(batch)}" if batch else ""
    what = f"{kept} of {cells}" + (" pairs of columns" if cells < places.chunk else " elements")
    return (
        f"row {row}, columns {first} to {first + places.chunk - 1} of A{of} have {int(count[*batch, row, chunk])} "
        f"that are not zero; {instruction.mnemonic} keeps {what}: prune A first"
    )


def expand(instruction: Instruction, packed: Bits, indices: NDArray[np.integer]) -> Bits:
    """Expand a packed A to a matrix of all k columns, with +0 for omitted elements: the inverse of `compress`."""
    a = np.zeros((*packed.shape[:-1], instruction.k), packed.dtype)
    np.put_along_axis(a, np.broadcast_to(indices, packed.shape), packed, axis=-1)
    return a
