# SPDX-License-Identifier: MIT
"""The NumPy engine: blocks of dot products, in tiles that fit in the cache.

The engine works on bit patterns. K may span several instructions: D of one is then C of the next.
"""

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import aligned
from wmma_emu.arithmetic.blocks import BlockEngine, Progress
from wmma_emu.arithmetic.exact import multiply_or
from wmma_emu.arithmetic.group_sums import fits_groups, multiply_groups
from wmma_emu.arithmetic.integers import integer_block, popcount_block
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.operands import Operand, prepare, step_order
from wmma_emu.arithmetic.tiles import TileAccumulator, from_accumulator_bits, to_accumulator_bits
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import add, convert, fma, in_ieee_arithmetic, mul

Tile = Callable[[Bits, Bits], Bits]
"""A function from the rows of a and the elements of c of one tile to its elements of d."""

_Sums = TypeVar("_Sums", Bits, NDArray[np.float32])
"""The running sums of a tile: patterns, or values in float32."""

_TILE_ELEMENTS = 1 << 17
"""The elements of a tile of D: its float32 arrays fit in the cache, and threads rarely wait for the GIL."""

_TILE_COLUMNS = 1024
"""The columns of a tile, more if there are few rows."""

_BUFFER = 512
"""The elements of NumPy's buffer while tiles are multiplied. If rows of a tile are shorter than the usual buffer,
8,192, NumPy copies them before multiplying them by a number or another row, which doubles the time of that pass."""

_FEW_COLUMNS = 64

_MANY, _SMALL_MATRIX = 16, 1 << 12
_SEVERAL, _TINY_MATRIX = 2, 1 << 9
"""The minimum number of matrices, and the maximum elements of D, for multiplication side by side."""

_MAX_DEPTH = 1 << 9
"""The number of products that are prepared at once; a longer K is split into several parts."""

_PANEL_ELEMENTS = 1 << 21
"""The elements of A or B that are prepared at once, about 20 bytes each during preparation."""


_MOST_FRACTION_BITS = 26
"""The limits of an aligned sum in tiles: truncated products fit in int32, and float32 subnormals are where expected."""

_LOWEST_FLOOR = -900
"""The limit of the alignment exponent of zeros, which uses a float64 power of two."""

_EXACT_BITS = 53
"""The bits of a sum of truncated terms in float64."""


def has(product: DotProduct) -> bool:
    """Return whether the engine supports a product: models of the table, and models with sums exact in float64."""
    model = product.model
    if model.arithmetic != "aligned_sum":
        return True
    if model.scaling == "groups":
        return fits_groups(product)
    terms = max(len(step) for step in product.steps)
    return (
        model.fraction_bits + 2 + (terms + 1).bit_length() <= _EXACT_BITS
        and model.min_exponent >= _LOWEST_FLOOR
        and max(fmt.fraction_bits for fmt in product.operand_formats) <= 10
    )


def fits_tiles(product: DotProduct) -> bool:
    """Return whether an aligned sum is in, or similar to, the table: tiles rely on common properties of its models."""
    model = product.model
    accumulator, output = model.accumulator_format, model.output_format
    units = {"f32": ("RZ", ("f32", "e8m13")), "f16": ("RNE", ("f16",))}
    rounding, outputs = units.get(accumulator.name, ("", ()))
    chained = model.c_joins == "last_add" or model.partial_sums == "chained" or len(product.steps) == 1
    # If every product is zero, tiles pass c on, truncated only to the output's bits.
    keeps_c = output.fraction_bits <= model.fraction_bits <= _MOST_FRACTION_BITS
    keeps_c &= _LOWEST_FLOOR <= model.min_exponent <= output.emin - output.fraction_bits + model.fraction_bits
    alike = len({len(step) for step in product.steps}) == 1
    return model.rounding == rounding and output.name in outputs and chained and keeps_c and alike


@in_ieee_arithmetic
def multiply_block(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Compute D = A B + C for every matrix of a batch with the model; K is a multiple of ``product.k``."""
    before = np.setbufsize(_BUFFER)
    try:
        _multiply(product, a, b, c, d, progress)
    finally:
        np.setbufsize(before)


def _multiply(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None) -> None:
    """Multiply with BLAS if that is exact, otherwise in tiles."""
    if product.model.scaling == "groups":
        multiply_groups(product, a, b, c, d, progress)
        return
    if product.model.arithmetic in _WHOLE_BLOCKS:
        _WHOLE_BLOCKS[product.model.arithmetic](product, a, b, c, d, progress)
        return
    if product.model.arithmetic == "aligned_sum" and fits_tiles(product):
        multiply_or(_multiply_in_tiles, product, a, b, c, d, progress)
    else:
        _multiply_in_tiles(product, a, b, c, d, progress)


def _multiply_in_tiles(
    product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None
) -> None:
    """Multiply depth by depth of K, tile by tile of D."""
    if product.chains:
        d[...] = c
        c = d
    depth = max(_MAX_DEPTH // product.k, 1) * product.k
    starts = range(0, a.shape[-1], depth)
    walk = _walk(product, *d.shape)
    for done, k in enumerate(starts):
        for share in walk(product, a[..., k : k + depth], b[:, k : k + depth], c, d):
            if progress is not None:
                progress((done + share) / len(starts))


def _walk(product: DotProduct, batch: int, m: int, n: int) -> Callable[..., Iterator[float]]:
    """Choose the order of tiles whose last axis is long, because NumPy's inner loops run along it."""
    if (batch >= _MANY and m * n <= _SMALL_MATRIX) or (batch >= _SEVERAL and m * n <= _TINY_MATRIX):
        return _batched
    if n < _FEW_COLUMNS <= m:
        return _narrow
    return _tiled


def _tiled(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits) -> Iterator[float]:
    """Multiply matrix by matrix, in column panels of B, each prepared once for all of its row tiles.

    The axes of a tile: (k, row, 1) for a, (k, 1, column) for b, (row, column) for c and d. Yields the completed share.
    """
    batch, m, n = c.shape
    depth = max(a.shape[-1], 1)
    width = min(max(_TILE_COLUMNS, _TILE_ELEMENTS // max(m, 1)), _PANEL_ELEMENTS // depth)
    rows = max(_TILE_ELEMENTS // max(min(n, width), 1), 1)
    for index in range(batch):
        for column in range(0, n, width):
            columns = slice(column, column + width)
            tile = _KERNELS[product.model.arithmetic](product, b[index, :, None, columns])
            for row in range(0, m, rows):
                here = index, slice(row, row + rows), columns
                d[here] = tile(a[index, row : row + rows].T[:, :, None], c[here])
                yield (index + (column + min(row + rows, m) / m * min(width, n - column)) / n) / batch


def _narrow(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits) -> Iterator[float]:
    """Multiply matrices with few columns, like `_tiled`, in transposed tiles.

    The axes of a tile: (k, 1, row) for a, (k, column, 1) for b, (column, row) for c and d.
    """
    batch, m, n = c.shape
    rows = min(_TILE_ELEMENTS // max(n, 1), _PANEL_ELEMENTS // max(a.shape[-1], 1))
    for index in range(batch):
        tile = _KERNELS[product.model.arithmetic](product, b[index, :, :, None])
        for row in range(0, m, rows):
            here = index, slice(row, row + rows)
            d[here] = tile(a[here].T[:, None], c[here].T).T
            yield (index + min(row + rows, m) / m) / batch


def _batched(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits) -> Iterator[float]:
    """Multiply many small matrices side by side: the batch is the last, contiguous axis of a tile.

    The axes of a tile: (k, row, 1, lane) for a, (k, 1, column, lane) for b, (row, column, lane) for c and d.
    """
    batch, m, n = c.shape
    lanes = max(_TILE_ELEMENTS // max(m * n, 1), 1)
    for start in range(0, batch, lanes):
        here = slice(start, start + lanes)
        tile = _KERNELS[product.model.arithmetic](product, b[here].transpose(1, 2, 0)[:, None])
        result = tile(a[here].transpose(2, 1, 0)[:, :, None], c[here].transpose(1, 2, 0))
        d[here] = result.transpose(2, 0, 1)
        yield min((start + lanes) / batch, 1.0)


def _aligned_sum(product: DotProduct, b: Bits) -> Tile:
    """Return the tile function of rounding steps over all of k, with the fast accumulator if it fits the model."""
    if not fits_tiles(product):
        return _any_aligned_sum(product, b)
    accumulator = product.model.accumulator_format
    a_format, b_format = product.operand_formats
    right = _prepared(product, b, product.b, b_format)
    per_instruction = len(product.steps)

    def tile(a: Bits, c: Bits) -> Bits:
        left = _prepared(product, a, product.a, a_format)
        sums = TileAccumulator(product, c.shape)
        running = from_accumulator_bits(convert(c, product.c, accumulator), product)
        for first in range(0, len(left.bits), per_instruction):
            running = _instruction(product, partial(sums.step, left, right), sums.add, first, running)
        return convert(to_accumulator_bits(running, product), accumulator, product.d)

    return tile


def _any_aligned_sum(product: DotProduct, b: Bits) -> Tile:
    """Return the tile function of a model that no chip has: the slow path for every element."""
    model = product.model
    accumulator = model.accumulator_format
    a_format, b_format = product.operand_formats
    y = _converted(product, b, product.b, b_format)

    def tile(a: Bits, c: Bits) -> Bits:
        x = _converted(product, a, product.a, a_format)

        def step(number: int, running: Bits) -> Bits:
            instruction, index = divmod(number, len(product.steps))
            ks = [instruction * product.k + k for k in product.steps[index]]
            left, right = (np.broadcast_to(operand[ks], (len(ks), *c.shape)) for operand in (x, y))
            return aligned.fused_step(model, left, a_format, right, b_format, running, product.scale)

        d = c
        for first in range(0, len(x) // product.k * len(product.steps), len(product.steps)):
            running = convert(d, product.c, accumulator)
            running = _instruction(product, step, partial(add, fmt=accumulator), first, running)
            d = convert(running, accumulator, product.d)
        return d

    return tile


def _instruction(
    product: DotProduct, step: Callable[[int, _Sums], _Sums], add: Callable[[_Sums, _Sums], _Sums], first: int, c: _Sums
) -> _Sums:
    """Execute the steps of one instruction, starting at ``first``, and combine c with their results."""
    model, zero = product.model, np.broadcast_to(c.dtype.type(0), c.shape)
    running = c if model.c_joins == "first_step" else zero
    results = []
    for number in range(first, first + len(product.steps)):
        running = step(number, running)
        if model.partial_sums == "added":
            results.append(running)
            running = zero
    if results:
        running = reduce(add, results)
    return add(c, running) if model.c_joins == "last_add" else running


def _prepared(product: DotProduct, bits: Bits, source: Format, fmt: Format) -> Operand:
    """Return the operands of every step of every instruction, in the order of the unit."""
    steps = step_order(product, len(bits))
    return prepare(_converted(product, bits, source, fmt)[steps], fmt, product.scale)


def _converted(product: DotProduct, bits: Bits, source: Format, fmt: Format) -> Bits:
    """Return operands in the format in which they enter the unit; codes with scales are unchanged."""
    return convert(bits, source, fmt) if product.scale is None else bits


def _fma_chain(product: DotProduct, b: Bits) -> Tile:
    """Return the tile function of chains of fused multiply-adds over ascending k."""
    fmt = product.model.chain_format
    y = convert(b, product.b, fmt)

    def tile(a: Bits, c: Bits) -> Bits:
        x = convert(a, product.a, fmt)
        d = c
        for start in range(0, len(x), product.k):
            end = start + product.k
            d = convert(_chain(product, x[start:end], y[start:end], convert(d, product.c, fmt)), fmt, product.d)
        return d

    return tile


def _chain(product: DotProduct, x: Bits, y: Bits, c: Bits) -> Bits:
    """Compute the chains of one instruction in their format, and combine them with c."""
    model, fmt = product.model, product.model.chain_format
    if model.c_joins == "each_add":
        for step in product.steps:
            chain = mul(x[step[0]], y[step[0]], fmt)
            for k in step[1:]:
                chain = fma(x[k], y[k], chain, fmt)
            c = add(c, chain, fmt)
        return c
    running = np.zeros_like(c) if model.c_joins == "last_add" else c
    for k in range(len(x)):
        running = fma(x[k], y[k], running, fmt, rounding=product.rounding, nan=model.nan)
    return add(c, running, fmt) if model.c_joins == "last_add" else running


_WHOLE_BLOCKS: dict[str, BlockEngine] = {"integer": integer_block, "popcount": popcount_block}
"""The arithmetics that do not need tiles."""

_KERNELS: dict[str, Callable[[DotProduct, Bits], Tile]] = {
    "aligned_sum": _aligned_sum,
    "fma_chain": _fma_chain,
}
"""The functions from the columns of b of a panel, first axis k, to the function of its tiles."""
