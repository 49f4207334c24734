# SPDX-License-Identifier: MIT
"""Groups of products with block scales, for blocks of D: exact sums in BLAS, then a few terms per element.

The sum of a group of 16 e2m1 products is an integer number of quarters below 2**10, and so is every partial sum:
float32 is exact for any order of addition in BLAS. Times the significands of both scales it has at most 20 bits. The
truncated terms of a step are integers, whose sums are exact in float64, as are the powers of two between them.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blas import exact_matmul
from wmma_emu.arithmetic.block_scale import NO_EXPONENT, group_units
from wmma_emu.arithmetic.blocks import Progress
from wmma_emu.arithmetic.integers import values_of
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.scaled_codes import split_codes
from wmma_emu.formats import Format, decode, unpack
from wmma_emu.formats.codec import Bits

Float32s = NDArray[np.float32]

_TILE_ELEMENTS = 1 << 15
"""The elements of D per tile: about a dozen arrays of eight bytes each fit in the second-level cache."""

_EXACT = 24
_EXACT_SUM = 53
"""The bits of a group's sum in float32, and of a step's sum of truncated terms in float64."""


class _GroupStep(NamedTuple):
    """The groups of one step for the elements of a tile; NaN scales have a NaN significand.

    ``sums`` has the axes group, matrix, row, column; arrays of A lack the column axis, arrays of B the row axis.
    """

    sums: Float32s
    a_significand: Float32s
    b_significand: Float32s
    a_exponent: NDArray[np.int32]
    b_exponent: NDArray[np.int32]


def fits_groups(product: DotProduct) -> bool:
    """Return whether groups are exact in float32 and sums of a step in float64, as for all models of the table."""
    model = product.model
    if model.scaling != "groups" or product.scale is None or len({len(step) for step in product.steps}) != 1:
        return False
    units = group_units(product.operand_formats)
    largest = np.prod([decode(np.array([f.max_finite], f.storage), f)[0] for f in product.operand_formats])
    group = int(largest * model.group_terms * 2.0**units).bit_length()
    term = group + 2 * (product.scale.fraction_bits + 1)
    behind = units + 2 * product.scale.fraction_bits
    terms = len(product.steps[0]) // model.group_terms
    total = max(term - behind, 2) + model.fraction_bits + (terms + 1).bit_length()
    usual = (model.accumulator, model.output, model.rounding) == ("f32", "", "RZ")
    usual &= (model.c_joins, model.partial_sums, model.operand_format) == ("first_step", "chained", "")
    return usual and product.c.name == product.d.name == "f32" and term <= _EXACT and total <= _EXACT_SUM


def multiply_groups(product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None) -> None:
    """Multiply tile by tile of D and step by step of K."""
    d[...] = c
    sums = d.view(np.float32)
    tiles = list(_tiles(d.shape))
    for done, (matrices, rows) in enumerate(tiles):
        x, y = a[matrices, rows], b[matrices]
        running = np.ascontiguousarray(sums[matrices, rows])
        with np.errstate(all="ignore"):
            for start in range(0, a.shape[-1], product.k):
                for step in product.steps:
                    here = slice(start + step[0], start + step[-1] + 1)
                    _add_step(product, _step(product, x[..., here], y[:, here]), running)
        sums[matrices, rows] = running
        if progress is not None:
            progress((done + 1) / len(tiles))
    np.copyto(d, product.d.canonical_nan, where=np.isnan(sums))


def _tiles(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Yield the matrices and rows of each tile: many small matrices, or some rows of one."""
    batch, m, n = shape
    matrices = max(_TILE_ELEMENTS // max(m * n, 1), 1)
    rows = max(_TILE_ELEMENTS // max(n, 1), 1)
    for index in range(0, batch, matrices):
        for row in range(0, m, rows):
            yield slice(index, index + matrices), slice(row, row + rows)


def _step(product: DotProduct, a: Bits, b: Bits) -> _GroupStep:
    """Return the sums of the groups of one step, and their scales."""
    size = product.model.group_terms
    batch, m, terms = a.shape
    a = a.reshape(batch, m, terms // size, size).transpose(2, 0, 1, 3)
    b = b.reshape(batch, terms // size, size, b.shape[-1]).transpose(1, 0, 2, 3)
    (x, x_scales), (y, y_scales) = split_codes(a), split_codes(b)
    sums = exact_matmul(np.take(values_of(product.a), x), np.take(values_of(product.b), y))
    significands, exponents = scale_tables(product.scale)
    left, right = x_scales[..., :1], y_scales[..., :1, :]
    return _GroupStep(sums, significands[left], significands[right], exponents[left], exponents[right])


def _add_step(product: DotProduct, step: _GroupStep, c: Float32s) -> None:
    """Align the groups and c, truncate, add, and round once."""
    model = product.model
    addend = c.astype(np.float64)
    exponent = np.maximum(_exponent_of(c), model.min_exponent)
    scales = step.a_significand * step.b_significand
    terms = step.sums * scales
    exponents = np.where(scales == 0, NO_EXPONENT, step.a_exponent + step.b_exponent)
    counted = exponents if model.zero_groups == "aligned" else np.where(terms == 0, NO_EXPONENT, exponents)
    np.maximum(exponent, counted.max(0), out=exponent)
    total = np.trunc(np.ldexp(addend, model.fraction_bits - exponent))
    for term, own in zip(terms, exponents, strict=True):
        total += np.trunc(np.ldexp(term.astype(np.float64), own + (model.fraction_bits - exponent)))
    c[...] = _toward_zero(np.ldexp(total, exponent - model.fraction_bits))


def _exponent_of(c: Float32s) -> NDArray[np.int32]:
    """Return the exponent of each running sum; zero has none, subnormals the smallest."""
    field = (c.view(np.int32) >> 23) & 0xFF
    return np.where(c == 0, np.int32(NO_EXPONENT), np.maximum(field, 1) - 127)


def _toward_zero(values: NDArray[np.float64]) -> Float32s:
    """Truncate to float32; numbers beyond its range become infinite, and a zero +0."""
    small = np.abs(values) < 2.0**-126
    normal = (values.view(np.int64) & np.int64(-1 << 29)).view(np.float64)
    if small.any():
        normal = np.where(small, np.ldexp(np.trunc(np.ldexp(values, 149)), -149), normal)
    return normal.astype(np.float32) + np.float32(0)


@cache
def scale_tables(fmt: Format | None) -> tuple[Float32s, NDArray[np.int32]]:
    """Return the significand and exponent of every pattern of a scale, including patterns with ignored bits."""
    if fmt is None:
        raise TypeError("a product without block scales has no groups")
    u = unpack(np.arange(1 << 8, dtype=np.uint8), fmt)
    significand = np.where(u.is_nan, np.nan, u.significand / 2.0**fmt.fraction_bits)
    return significand.astype(np.float32), np.where(u.is_nan, 0, u.exponent).astype(np.int32)
