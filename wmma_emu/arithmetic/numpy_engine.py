# SPDX-License-Identifier: MIT
"""The NumPy engine: whole matrices of dot products, in tiles that stay in cache.

Works on bit patterns throughout. K may be several instructions long: then D of one is C of the next.
"""

from collections.abc import Callable, Iterator

import numpy as np

from wmma_emu.arithmetic.integers import integer_matmul, popcount_matmul
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.operands import Operand, prepare
from wmma_emu.arithmetic.tiles import TileAccumulator, from_accumulator_bits, to_accumulator_bits
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import add, convert, fma

__all__ = ["Progress", "matmul"]

Progress = Callable[[float], None]
"""Called now and then with the share of the work that is done."""

_TILE_COLUMNS = 512
_TILE_ELEMENTS = 1 << 16
_SMALL_TILE = 1 << 12


def matmul(product: DotProduct, a: Bits, b: Bits, c: Bits, progress: Progress | None = None) -> Bits:
    """Compute D = A B + C for every matrix of a batch, as the model says.

    Parameters
    ----------
    product : DotProduct
    a : unsigned integer array, shape (batch, M, K)
    b : unsigned integer array, shape (batch, K, N)
    c : unsigned integer array, shape (batch, M, N)
        Patterns. K is a multiple of ``product.k``.

    Returns
    -------
    unsigned integer array, shape (batch, M, N)
    """
    d = np.empty(c.shape, product.d.storage)
    kernel = _KERNELS[product.model.arithmetic]
    done, total = 0, max(c.size, 1)
    for batch, columns in _panels(c.shape):
        right: object = None
        for rows in _row_tiles(c.shape, batch):
            x, y, z = a[batch, rows], b[batch, :, columns], c[batch, rows, columns]
            # Axes (k, row or 1, 1 or column[, lane]): a batch of small tiles comes last, where it is contiguous.
            x, y, z = x.T, np.moveaxis(y, -2, 0), np.moveaxis(z, 0, -1) if z.ndim == 3 else z
            if z.ndim == 3:
                y = np.moveaxis(y, 1, -1)
            result, right = kernel(product, x[:, :, None], y[:, None], z, right)
            d[batch, rows, columns] = np.moveaxis(result, -1, 0) if z.ndim == 3 else result
            done += z.size
            if progress is not None:
                progress(done / total)
    return d


def _panels(shape: tuple[int, ...]) -> Iterator[tuple[int | slice, slice]]:
    """Column panels of each matrix; or batches of whole matrices where these are small."""
    batch, m, n = shape
    if m * n <= _SMALL_TILE and batch >= 16:
        lanes = max(_TILE_ELEMENTS // max(m * n, 1), 1)
        for start in range(0, batch, lanes):
            yield slice(start, start + lanes), slice(None)
        return
    for index in range(batch):
        for column in range(0, n, _TILE_COLUMNS):
            yield index, slice(column, column + _TILE_COLUMNS)


def _row_tiles(shape: tuple[int, ...], batch: int | slice) -> Iterator[slice]:
    if isinstance(batch, slice):
        yield slice(None)
        return
    rows = max(_TILE_ELEMENTS // min(shape[2], _TILE_COLUMNS), 1)
    for row in range(0, shape[1], rows):
        yield slice(row, row + rows)


def _aligned_sum(product: DotProduct, a: Bits, b: Bits, c: Bits, right: object) -> tuple[Bits, object]:
    """Rounding steps over all of K. ``right`` is the prepared b of the panel, once it has been prepared."""
    model = product.model
    accumulator = model.accumulator_format
    x = _prepared(product, a, product.a, product.operand_formats[0])
    y = right if isinstance(right, Operand) else _prepared(product, b, product.b, product.operand_formats[1])
    sums = TileAccumulator(product, c.shape)
    running = from_accumulator_bits(convert(c, product.c, accumulator), product)
    zero = np.zeros(c.shape, np.float32)
    per_instruction = len(product.steps)
    for start in range(0, len(x.bits), per_instruction):
        indices = range(start, start + per_instruction)
        if model.c_joins == "first_step":
            for index in indices:
                running = sums.step(x, y, index, running)
            continue
        partial = sums.step(x, y, start, zero)
        for index in indices[1:]:
            if model.partial_sums == "chained":
                partial = sums.step(x, y, index, partial)
            else:
                partial = sums.add(partial, sums.step(x, y, index, zero))
        running = sums.add(running, partial)
    return convert(to_accumulator_bits(running, product), accumulator, product.d), y


def _prepared(product: DotProduct, bits: Bits, source: Format, fmt: Format) -> Operand:
    steps = [[k + i for i in step] for k in range(0, len(bits), product.k) for step in product.steps]
    return prepare(convert(bits, source, fmt)[steps], fmt)


def _fma_chain(product: DotProduct, a: Bits, b: Bits, c: Bits, right: object) -> tuple[Bits, object]:
    """Chains of fused multiply-adds over ascending k; software ones start from +0 and add c last."""
    accumulator = product.model.accumulator_format
    a, b = convert(a, product.a, accumulator), convert(b, product.b, accumulator)
    result = c
    last = product.model.c_joins == "last_add"
    for start in range(0, len(a), product.k):
        running = convert(result, product.c, accumulator)
        chain = np.zeros_like(running) if last else running
        for k in range(start, start + product.k):
            chain = fma(a[k], b[k], chain, accumulator, rounding=product.rounding, nan=product.model.nan)
        running = add(running, chain, accumulator) if last else chain
        result = convert(running, accumulator, product.d)
    return result, right


def _integer(product: DotProduct, a: Bits, b: Bits, c: Bits, right: object) -> tuple[Bits, object]:
    return integer_matmul(product, a, b, c), right


def _popcount(product: DotProduct, a: Bits, b: Bits, c: Bits, right: object) -> tuple[Bits, object]:
    return popcount_matmul(product, a, b, c), right


_KERNELS = {"aligned_sum": _aligned_sum, "fma_chain": _fma_chain, "integer": _integer, "popcount": _popcount}
"""One tile, all of K. The first axis of a and b is k; the others broadcast to the shape of c."""
