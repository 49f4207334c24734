# SPDX-License-Identifier: MIT
"""Aligned sums that provably lose no bits: one float32 matrix product instead of many rounding steps.

Let every factor of a row of A be a multiple of 2**p, and every factor of a column of B a multiple of 2**q. Then all
products and their sums are multiples of 2**(p + q). No such sum, in any order, exceeds |row| |column| (Cauchy and
Schwarz); nor does 2**exponent of a term, if subnormals count as 2**emin, where the unit aligns them. If the bound is
below 2**(p + q + w), every sum fits in w bits; and if w is the width of the unit's results,

- the largest exponent of a step's terms is below p + q + w, so that a unit that keeps F >= w - 1 bits truncates none;
- the result of every step is representable, so that rounding does not change it;
- for w <= 24 every sum is a float32, and BLAS may add in any order.

The proof needs two numbers per row and column. It succeeds for small integers, and for ordinary e4m3 one instruction
at a time; if it fails, the engine takes its slow path. It fails for ordinary matrices of f16, bf16 and e5m2, which a
test of a few lines detects.
"""

from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.blas import exact_matmul
from wmma_emu.arithmetic.blocks import BlockEngine, Progress
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.operands import codes_in
from wmma_emu.arithmetic.scaled_codes import unpacked_codes
from wmma_emu.arithmetic.tiles import from_accumulator_bits, to_accumulator_bits
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]

_TILE = 256
"""The rows and columns of D that one proof covers: their float32 sums fit in the second-level cache."""

_DEPTH = 1 << 10
_SMALLEST = 32
"""The minimum rows and columns for which a proof is worthwhile."""

_SAMPLE = 4
"""The number of rows and columns that are tested first."""

_LOWEST, _HIGHEST = -60, 50
"""The range of low bits: lower ones prevent a proof, higher ones are clamped, so sums are multiples of 2**-120 below
2**124."""

_SHARPER = 4
"""The factor by which lengths may exceed the limit before sums of absolute values are no longer computed."""

_UPWARD = 1 + 2.0**-16
"""A margin for float32 rounding errors in the length of a line, or a sum of absolute values, of 256 terms."""


class _Lines(NamedTuple):
    """Rows of A, or columns of B, over a stretch of K.

    The first three have the shape (lines, K), the others (lines, instructions). ``sizes`` is at least the absolute
    value, and at least 2**exponent: the unit aligns subnormals at the smallest exponent. Within an instruction, every
    factor of the line is a multiple of 2**``low``, and ``norm`` is at least its length, or infinite if no proof is
    possible.
    """

    bits: Bits
    values: Float32s
    sizes: Float32s
    low: NDArray[np.int32]
    norm: Float64s

    def part(self, start: int) -> "_Lines":
        """Return the lines of a tile, starting at ``start``."""
        here = slice(start, start + _TILE)
        return _Lines(self.bits[here], self.values[here], self.sizes[here], self.low[here], self.norm[here])


class _Bounds(NamedTuple):
    """Bounds on a tile's lines: the smallest ``low``, the largest length, and the largest length in its own units."""

    low: NDArray[np.int32]
    norm: Float64s
    size: Float64s

    @classmethod
    def of(cls, low: NDArray[np.int32], norm: Float64s) -> "_Bounds":
        return cls(low.min(0), norm.max(0), np.ldexp(norm, -low).max(0))


def multiply_or(
    slow_path: BlockEngine,
    product: DotProduct,
    a: Bits,
    b: Bits,
    c: Bits,
    d: Bits,
    progress: Progress | None = None,
) -> None:
    """Multiply a block: tiles that lose no bits with BLAS, other tiles with ``slow_path``, which accepts all."""
    if min(d.shape[1:]) < _SMALLEST or not _can_be_exact(product):
        slow_path(product, a, b, c, d, progress)
        return
    for index in range(len(d)):
        with np.errstate(all="ignore"):  # overflow of lengths, and infinities and NaN in c, only prevent a proof
            if _looks_exact(product, a[index], b[index]):
                _multiply_matrix(slow_path, product, a[index], b[index], c[index], d[index], progress)
                continue
        here = slice(index, index + 1)
        slow_path(product, a[here], b[here], c[here], d[here], progress)


def _can_be_exact(product: DotProduct) -> bool:
    """Return whether the unit keeps as many bits as its float32 results have, and c and d are float32."""
    model = product.model
    formats = {product.c.name, product.d.name, model.accumulator}
    below_all = model.min_exponent - model.fraction_bits <= 2 * _LOWEST
    if product.scale is not None:  # this module does not handle scales
        return False
    return formats == {"f32"} and below_all and model.fraction_bits >= model.output_format.fraction_bits


def _width(product: DotProduct) -> int:
    return product.model.output_format.fraction_bits + 1


def _looks_exact(product: DotProduct, a: Bits, b: Bits) -> bool:
    """Return whether a proof is likely for a few lines, over all of K or for most instructions."""
    if not a.shape[-1]:
        return False
    depth = _depth(product)
    rows, columns = (np.linspace(0, n - 1, _SAMPLE).astype(np.intp) for n in (len(a), b.shape[1]))
    left, right = _lines(product, 0, a[rows, :depth]), _lines(product, 1, b[:depth, columns].T)
    limit = 2.0 ** _width(product)
    if _over_all(left).size * _over_all(right).size < limit:
        return True
    size = _Bounds.of(left.low, left.norm).size * _Bounds.of(right.low, right.norm).size
    return product.model.c_joins == "last_add" and bool((size < _SHARPER * limit).mean() > 0.5)


def _depth(product: DotProduct) -> int:
    """Return the length of K that is processed together."""
    return max(_DEPTH // product.k, 1) * product.k


def _over_all(lines: _Lines) -> _Bounds:
    """Return the bounds over the whole range of K."""
    return _Bounds.of(lines.low.min(1), np.sqrt(np.square(lines.norm).sum(1)))


def _multiply_matrix(
    slow_path: BlockEngine, product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None
) -> None:
    """Multiply one matrix, depth by depth and tile by tile."""
    depth = _depth(product)
    starts = range(0, a.shape[-1], depth)
    d[...] = c
    for done, start in enumerate(starts):
        left, right = _lines(product, 0, a[:, start : start + depth]), _lines(product, 1, b[start : start + depth].T)
        for column in range(0, d.shape[1], _TILE):
            columns = right.part(column)
            for row in range(0, len(d), _TILE):
                tile = d[row : row + _TILE, column : column + _TILE]
                _multiply_tile(slow_path, product, left.part(row), columns, tile)
        if progress is not None:
            progress((done + 1) / len(starts))


def _multiply_tile(slow_path: BlockEngine, product: DotProduct, left: _Lines, right: _Lines, d: Bits) -> None:
    """Multiply one tile over a range of K: as one product, instruction by instruction, or with the slow path."""
    sums = from_accumulator_bits(d, product).copy()
    sums += np.float32(0)  # a zero sum is +0, but -0 + -0 is -0
    if _is_exact_with_c(product, left, right, sums):
        d[...] = to_accumulator_bits(sums + exact_matmul(left.values, right.values.T), product)
        return
    exact = _exact_instructions(product, left, right)
    for is_exact, group in groupby(range(len(exact)), key=exact.__getitem__):
        numbers = list(group)
        ks = slice(numbers[0] * product.k, (numbers[-1] + 1) * product.k)
        if is_exact:
            sums = from_accumulator_bits(d, product).copy()
            sums += np.float32(0)
            for k in range(ks.start, ks.stop, product.k):
                here = np.s_[:, k : k + product.k]
                sums += exact_matmul(left.values[here], right.values[here].T)
            d[...] = to_accumulator_bits(sums, product)
        else:
            slow_path(product, left.bits[None, :, ks], right.bits[:, ks].T[None], d[None].copy(), d[None], None)


def _is_exact_with_c(product: DotProduct, left: _Lines, right: _Lines, c: Float32s) -> bool:
    """Return whether no bits are lost over the whole range, including c."""
    rows, columns = _over_all(left), _over_all(right)
    low = float(rows.low + columns.low)
    limit, largest = 2.0 ** (low + _width(product)), float(rows.norm * columns.norm)
    if not largest < limit:
        return False
    # A NaN also fails the comparison.
    if not largest + float(np.abs(c).max()) < limit:
        return False
    units = c * np.float64(2.0**-low)  # in float64, so that no c becomes zero
    return bool((units == np.rint(units)).all())


def _exact_instructions(product: DotProduct, left: _Lines, right: _Lines) -> list[bool]:
    """Return for each instruction whether its products lose no bits before c is added last."""
    count = left.low.shape[1]
    if product.model.c_joins != "last_add":
        return [False] * count
    rows, columns = _Bounds.of(left.low, left.norm), _Bounds.of(right.low, right.norm)
    limit = 2.0 ** _width(product)
    size = rows.size * columns.size
    exact: list[bool] = (size < limit).tolist()
    for i in np.flatnonzero((size >= limit) & (size < _SHARPER * limit)).tolist():
        # Near the limit, sums of absolute values are tighter bounds than lengths of lines.
        here = np.s_[:, i * product.k : (i + 1) * product.k]
        largest = exact_matmul(np.abs(left.sizes[here]), np.abs(right.sizes[here]).T).max() * _UPWARD
        exact[i] = bool(largest < limit * 2.0 ** float(rows.low[i] + columns.low[i]))
    return exact


def _lines(product: DotProduct, side: int, bits: Bits) -> _Lines:
    """Return the lines of A (side 0, its rows) or of B (side 1, its columns)."""
    source = (product.a, product.b)[side]
    table = _decoded(source, product.operand_formats[side])
    codes = codes_in(bits, source)
    values = np.take(table.value, codes)
    pieces = len(bits), -1, product.k
    low = np.take(table.low, codes).reshape(pieces).min(-1).astype(np.int32)
    sizes = values if table.size is None else np.take(table.size, codes)
    parts = sizes.reshape(pieces)
    norm = np.sqrt(np.einsum("ijk,ijk->ij", parts, parts).astype(np.float64)) * _UPWARD
    return _Lines(bits, values, sizes, low, np.where(low < _LOWEST, np.inf, norm))


class _Decoded(NamedTuple):
    """The value and the exponent of the last bit of every pattern of a format, without ignored low bits.

    ``size`` is the larger of the absolute value and 2**exponent; None if the absolute values suffice.
    """

    value: Float32s
    size: Float32s | None
    low: NDArray[np.int16]


@cache
def _decoded(source: Format, target: Format) -> _Decoded:
    u = unpacked_codes(source, target, None)
    last = u.significand & -u.significand
    low = u.exponent - target.fraction_bits + np.frexp(last.astype(np.float64))[1] - 1
    low = np.where(u.significand == 0, _HIGHEST, np.minimum(low, _HIGHEST))
    special = u.is_infinity | u.is_nan
    magnitude = np.ldexp(u.significand.astype(np.float64), u.exponent - target.fraction_bits)
    value = np.where(special, 0, np.where(u.sign, -magnitude, magnitude))
    size = np.where(special | (magnitude == 0), 0, np.maximum(magnitude, np.ldexp(1.0, u.exponent))).astype(np.float32)
    narrow, last_bit = value.astype(np.float32), np.where(special, 2 * _LOWEST, low).astype(np.int16)
    return _Decoded(narrow, None if (size == np.abs(narrow)).all() else size, last_bit)
