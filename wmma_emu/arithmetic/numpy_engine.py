# SPDX-License-Identifier: MIT
"""The NumPy engine: blocks of dot products, in tiles that stay in cache.

Works on bit patterns throughout. K may be several instructions long: then D of one is C of the next.
"""

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import aligned
from wmma_emu.arithmetic.blocks import BlockEngine, Progress
from wmma_emu.arithmetic.exact import multiply_or
from wmma_emu.arithmetic.group_sums import add_step, fits_groups, multiply_groups
from wmma_emu.arithmetic.integers import integer_block, popcount_block
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.operands import Operand, prepare, step_order
from wmma_emu.arithmetic.tiles import TileAccumulator, from_accumulator_bits, to_accumulator_bits
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import add, convert, fma, in_ieee_arithmetic, mul

Tile = Callable[[Bits, Bits], Bits]
"""From the rows of a and the elements of c of one tile to its elements of d."""

_Sums = TypeVar("_Sums", Bits, NDArray[np.float32])
"""Running sums of a tile: patterns, or values in float32."""

_TILE_ELEMENTS = 1 << 17
"""Elements of a tile of D: its float32 arrays stay in cache, and threads seldom meet at the interpreter's lock."""

_TILE_COLUMNS = 1024
"""Columns of a tile, more where there are few rows."""

_BUFFER = 512
"""Elements of NumPy's buffer while tiles are multiplied. Rows of a tile that are shorter than its usual one, 8,192,
NumPy copies before it multiplies them by a number or by another row, which doubles the time of that pass."""

_FEW_COLUMNS = 64

_MANY, _SMALL_MATRIX = 16, 1 << 12
_SEVERAL, _TINY_MATRIX = 2, 1 << 9
"""So many matrices, each of so few elements of D, are multiplied side by side."""

_MAX_DEPTH = 1 << 9
"""Products that are made ready at once; a longer K is taken in several parts."""

_PANEL_ELEMENTS = 1 << 21
"""Elements of A or B that are made ready at once, some 20 bytes each while that lasts."""


_MOST_FRACTION_BITS = 26
"""Of an aligned sum in tiles: a cut product fits int32, and float32 subnormals are where tiles expect them."""

_LOWEST_FLOOR = -900
"""Zeros alone are aligned to it, by a float64 power of two."""

_EXACT_BITS = 53
"""Of a sum of cut terms in float64."""


def has(product: DotProduct) -> bool:
    """Whether the engine computes a product: those of the table, and all whose sums float64 holds."""
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
    """Whether an aligned sum is one of the table's, or near to them: tiles rest on what those have in common."""
    model = product.model
    accumulator, output = model.accumulator_format, model.output_format
    units = {"f32": ("RZ", ("f32", "e8m13")), "f16": ("RNE", ("f16",))}
    rounding, outputs = units.get(accumulator.name, ("", ()))
    chained = model.c_joins == "last_add" or model.partial_sums == "chained" or len(product.steps) == 1
    # Where every product is zero, tiles hand c on, cut to the output's bits alone.
    keeps_c = output.fraction_bits <= model.fraction_bits <= _MOST_FRACTION_BITS
    keeps_c &= _LOWEST_FLOOR <= model.min_exponent <= output.emin - output.fraction_bits + model.fraction_bits
    alike = len({len(step) for step in product.steps}) == 1
    return model.rounding == rounding and output.name in outputs and chained and keeps_c and alike


@in_ieee_arithmetic
def multiply_block(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Compute D = A B + C for every matrix of a batch, as the model says; K is a multiple of ``product.k``."""
    before = np.setbufsize(_BUFFER)
    try:
        _multiply(product, a, b, c, d, progress)
    finally:
        np.setbufsize(before)


def _multiply(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None) -> None:
    """Choose the way: through BLAS where that is exact, else in tiles."""
    if product.model.scaling == "groups":
        multiply_groups(add_step, product, a, b, c, d, progress)
        return
    if product.model.arithmetic in _WHOLE_BLOCKS:
        _WHOLE_BLOCKS[product.model.arithmetic](product, a, b, c, d, progress)
        return
    if product.model.arithmetic == "aligned_sum" and fits_tiles(product):
        multiply_or(_multiply_carefully, product, a, b, c, d, progress)
    else:
        _multiply_carefully(product, a, b, c, d, progress)


def _multiply_carefully(
    product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None
) -> None:
    """Depth after depth of K, tile after tile of D."""
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
    """Choose the way through D whose last axis is long, because NumPy's inner loops run along it."""
    if (batch >= _MANY and m * n <= _SMALL_MATRIX) or (batch >= _SEVERAL and m * n <= _TINY_MATRIX):
        return _batched
    if n < _FEW_COLUMNS <= m:
        return _narrow
    return _tiled


def _tiled(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits) -> Iterator[float]:
    """Matrix after matrix, in column panels of B, each made ready once for all of its row tiles.

    Axes of a tile: (k, row, 1) of a, (k, 1, column) of b, (row, column) of c and d. Yields the share done.
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
    """Matrices of few columns: as `_tiled`, the tiles lying on their side.

    Axes of a tile: (k, 1, row) of a, (k, column, 1) of b, (column, row) of c and d.
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
    """Many small matrices side by side: the batch is the last axis of a tile, where it is contiguous.

    Axes of a tile: (k, row, 1, lane) of a, (k, 1, column, lane) of b, (row, column, lane) of c and d.
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
    """Rounding steps over all of k, in the fast accumulator where it serves the model."""
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
    """Rounding steps of a model that no chip has: the careful step, for every element."""
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
    """The steps of one instruction, from number ``first`` on, and how c and their results come together."""
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
    """Operands of every step of every instruction, in the order in which the unit takes them."""
    steps = step_order(product, len(bits))
    return prepare(_converted(product, bits, source, fmt)[steps], fmt, product.scale)


def _converted(product: DotProduct, bits: Bits, source: Format, fmt: Format) -> Bits:
    """Operands in the format in which the unit takes them; codes with scales are read as they are."""
    return convert(bits, source, fmt) if product.scale is None else bits


def _fma_chain(product: DotProduct, b: Bits) -> Tile:
    """Chains of fused multiply-adds over ascending k."""
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
    """The chains of one instruction, in the format in which they compute, and the way in which c joins."""
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
"""What needs no tiles."""

_KERNELS: dict[str, Callable[[DotProduct, Bits], Tile]] = {
    "aligned_sum": _aligned_sum,
    "fma_chain": _fma_chain,
}
"""From the columns of b of a panel, first axis k, to the function of its tiles."""
