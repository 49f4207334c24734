# SPDX-License-Identifier: MIT
"""The numba engine: blocks of dot products in compiled code.

It supports aligned sums of up to 64 products per step, and float32 and float64 chains. Integers and bits use exact
products in BLAS, as in the NumPy engine, because code compiled by numba is not faster.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import numpy_engine
from wmma_emu.arithmetic.blocks import Progress, available_cores
from wmma_emu.arithmetic.compiled_code import function_of, is_side_by_side, note_ready
from wmma_emu.arithmetic.exact import multiply_or
from wmma_emu.arithmetic.group_sums import GroupStep, fits_groups, multiply_groups
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.numba_cache import announce_long_compilations, is_on_disk, telling_of_the_cache
from wmma_emu.arithmetic.numba_chains import multiply_chains
from wmma_emu.arithmetic.numba_kernels import add_groups, multiply_lanes, multiply_tile, prepare_columns, prepare_rows
from wmma_emu.arithmetic.numba_lanes import (
    Places,
    joins_of,
    lanes_of,
    multiply_matrices,
    multiply_words,
    shape_of,
    unit_of,
)
from wmma_emu.arithmetic.operands import Codes, codes_in, operand_codes, step_order
from wmma_emu.arithmetic.tiles import from_accumulator_bits, largest_exact_step, to_accumulator_bits
from wmma_emu.formats.codec import Bits
from wmma_emu.scalar import convert, in_ieee_arithmetic

_COLUMNS = 256
"""The columns of a tile: 16 rows of B of a step, 5 bytes per element, fit in the first-level cache."""

_ROWS = 128
"""The rows of a tile, whose sums fit in the second-level cache."""

_DEPTH = 1 << 10
"""The products that are prepared at once, 5 bytes per element."""

_MOST_TERMS = 64

_UNROLLED = 8
"""The products of a long chain that are processed in registers."""


def has(product: DotProduct) -> bool:
    """Return whether the engine supports a product."""
    model = product.model
    if model.arithmetic in ("integer", "popcount"):
        return True
    if model.arithmetic == "fma_chain":
        formats = {model.chain_format.name, product.c.name, product.d.name}
        return len(formats) == 1 and product.rounding == "RNE" and model.c_joins != "each_add"
    if model.scaling == "groups":
        return fits_groups(product)
    # Its tables of codes cover unconverted operands, and FP8 converted to f16.
    if not numpy_engine.fits_tiles(product) or model.operand_format not in ("", "f16"):
        return False
    terms = len(product.steps[0])
    exact = largest_exact_step(product)
    follows = model.c_joins == "last_add" or (model.c_joins == "first_step" and model.partial_sums == "chained")
    return terms <= min(2 * exact, _MOST_TERMS) and follows


def is_kept(product: DotProduct, side_by_side: bool) -> bool:
    """Return whether the compiled code for a product, side by side with others or not, is cached on disk."""
    if product.model.arithmetic == "fma_chain":
        return is_on_disk(multiply_chains, _part(product), np.empty((1, 1), _float_of(product)))
    if product.model.scaling == "groups":
        return is_on_disk(add_groups)
    if side_by_side:
        return is_on_disk(multiply_lanes, lanes_of(product))
    return is_on_disk(multiply_tile, shape_of(product))


def multiply_block(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None) -> None:
    """Compute D = A B + C for every matrix of a batch, like `wmma_emu.arithmetic.numpy_engine.multiply_block`."""
    if product.model.arithmetic in ("integer", "popcount"):
        numpy_engine.multiply_block(product, a, b, c, d, progress)
        return
    with telling_of_the_cache():
        _multiply(product, a, b, c, d, progress)


@in_ieee_arithmetic
def multiply_registers(
    product: DotProduct, places: Places, a: NDArray[np.uint32], b: NDArray[np.uint32], c: Bits
) -> Bits | None:
    """Compute D = A B + C for many warps from their registers, like `wmma_emu.arithmetic.numba_lanes.multiply_words`.

    Return None if the product is not an aligned sum, has block scales, or is not supported by the engine.
    """
    if product.model.arithmetic != "aligned_sum" or product.scale is not None or not has(product):
        return None
    with telling_of_the_cache():
        d = multiply_words(product, places, a, b, c, available_cores())
    note_ready(function_of(product, side_by_side=True))
    return d


@in_ieee_arithmetic
def _multiply(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None) -> None:
    if product.model.arithmetic == "fma_chain":
        _multiply_chains(product, a, b, c, d)
    elif product.model.scaling == "groups":
        multiply_groups(_add_step, product, a, b, c, d, progress)
    elif is_side_by_side(len(d), d.shape[1] * d.shape[2], a.shape[-1]):
        multiply_matrices(product, a, b, c, d)
        note_ready(function_of(product, side_by_side=True))
        return
    else:
        multiply_or(_multiply_in_tiles, product, a, b, c, d, progress)  # possibly without compiled code
        return
    note_ready(function_of(product, side_by_side=False))


def _multiply_in_tiles(
    product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None = None
) -> None:
    for index in range(len(d)):
        _multiply_matrix(product, a[index], b[index], c[index], d[index], progress)
    note_ready(function_of(product, side_by_side=False))


def _multiply_matrix(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None) -> None:
    """Multiply one matrix, depth by depth of K, in panels of B that are prepared once for all row tiles."""
    model = product.model
    accumulator = model.accumulator_format
    sums = from_accumulator_bits(convert(c, product.c, accumulator), product).copy()
    depth = max(_DEPTH // product.k, 1) * product.k
    shape, joins, unit = shape_of(product), joins_of(product), unit_of(product)
    a_codes, b_codes = operand_codes(product)
    m, n = d.shape
    starts = range(0, a.shape[-1], depth)
    for done, start in enumerate(starts):
        x = np.ascontiguousarray(codes_in(a[:, start : start + depth, None], product.a), np.uint32)
        order = step_order(product, x.shape[1])
        left = _prepared(prepare_rows, x, order, a_codes)
        for column in range(0, n, _COLUMNS):
            columns = slice(column, min(column + _COLUMNS, n))
            y = np.ascontiguousarray(codes_in(b[None, start : start + depth, columns], product.b), np.uint32)
            right = _prepared(prepare_columns, y, order, b_codes)
            operands = x, y, order, a_codes, b_codes
            for row in range(0, m, _ROWS):
                rows = slice(row, row + _ROWS)
                running = np.ascontiguousarray(sums[rows, columns])
                multiply_tile(shape, row, 0, left, right, operands, running, len(product.steps), joins, unit)
                sums[rows, columns] = running
            if progress is not None:
                progress((done + min(column + _COLUMNS, n) / n) / len(starts))
    d[...] = convert(to_accumulator_bits(sums, product), accumulator, product.d)


def _add_step(product: DotProduct, step: GroupStep, c: NDArray[np.float32]) -> None:
    """Align the groups and c, truncate, add, round once; c receives the result."""
    add_groups(*step, c, unit_of(product), product.model.zero_groups == "aligned")


def _multiply_chains(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits) -> None:
    """Compute chains of fused multiply-adds; rows with NaN are recomputed, because the NaN depends on the unit."""
    fmt, dtype, part = product.model.chain_format, _float_of(product), _part(product)
    added = product.model.c_joins == "last_add"
    for index in range(len(d)):
        x = np.ascontiguousarray(convert(a[index], product.a, fmt)).view(dtype)
        y = np.ascontiguousarray(convert(b[index], product.b, fmt)).view(dtype)
        sums = np.array(c[index], order="C").view(dtype)
        for column in range(0, sums.shape[1], _COLUMNS):
            columns = slice(column, column + _COLUMNS)
            panel = sums[:, columns].copy()
            multiply_chains(part, x, np.ascontiguousarray(y[:, columns]), panel, added)
            sums[:, columns] = panel
        d[index] = sums.view(d.dtype)
        rows = np.flatnonzero(np.isnan(sums).any(-1))
        if len(rows):
            again = d[None, index, rows]
            numpy_engine.multiply_block(product, a[None, index, rows], b[None, index], c[None, index, rows], again)
            d[index, rows] = again[0]


def _float_of(product: DotProduct) -> np.dtype[Any]:
    return np.dtype(f"f{product.model.chain_format.bits // 8}")


def _part(product: DotProduct) -> tuple[int, ...]:
    """Return a tuple whose length is the number of products that are processed in registers."""
    return (0,) * (product.k if product.model.c_joins == "last_add" else _UNROLLED)


def _prepared(
    prepare: Callable[..., None], codes: NDArray[np.uint32], order: NDArray[np.int64], meaning: Codes
) -> tuple[NDArray[Any], ...]:
    """Return value, exponent and top of some lines in every step."""
    lines, _, columns = codes.shape
    steps, terms = order.shape
    shape = steps, lines, terms, columns
    ready = np.empty(shape, np.float32), np.empty(shape, np.int8), np.empty((steps, lines, columns), np.int32)
    prepare(codes, order, meaning.value, meaning.exponent, *ready)
    return ready


announce_long_compilations()
