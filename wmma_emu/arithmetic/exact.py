# SPDX-License-Identifier: MIT
"""Aligned sums that provably lose no bits: one float32 product of matrices in the place of many rounding steps.

Let every factor of a row of A be a whole multiple of 2**p, and of a column of B of 2**q. Their products, and all sums
of those, are multiples of 2**(p + q). No such sum, in whatever order it is added, exceeds |row| |column| (Cauchy and
Schwarz); nor does 2**exponent of a term, if subnormals count as 2**emin, at which the unit aligns them. If that is
below 2**(p + q + w), then every sum fits w bits: and where w is the width of the unit's results,

- the largest exponent of a step's terms is below p + q + w, so that a unit that keeps F >= w - 1 bits cuts none;
- every step's result is representable, so that no rounding changes it;
- for w <= 24 every sum is a float32, and BLAS may add in any order.

The proof costs two numbers for each row and column. It holds for small integers, and for ordinary e4m3 one
instruction at a time; where it fails, the engine takes its careful way. For ordinary matrices of f16, bf16 and e5m2 it
fails: a look at a few lines tells.
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
"""Rows and columns of D for which a proof is made: its float32 sums stay in the second-level cache."""

_DEPTH = 1 << 10
_SMALLEST = 32
"""Fewer rows or columns are not worth a proof."""

_SAMPLE = 4
"""Rows and columns that are looked at first."""

_LOWEST, _HIGHEST = -60, 50
"""Lines of lower bits prove nothing, and higher ones count as these: so sums are multiples of 2**-120 below 2**124."""

_SHARPER = 4
"""How far beyond the limit lengths may be for sums of absolute values to be worth a look."""

_UPWARD = 1 + 2.0**-16
"""More than float32 rounding can take away from the length of a line, or a sum of absolute values, of 256 terms."""


class _Lines(NamedTuple):
    """Rows of A, or columns of B, over a stretch of K.

    The first three have the shape (lines, K), the others (lines, instructions). ``sizes`` is no less than the absolute
    value, and than 2**exponent: the unit aligns subnormals at the smallest exponent. Within an instruction, every
    factor of the line is a multiple of 2**``low``, and ``norm`` is no less than its length; infinite where nothing can
    be proved.
    """

    bits: Bits
    values: Float32s
    sizes: Float32s
    low: NDArray[np.int32]
    norm: Float64s

    def part(self, start: int) -> "_Lines":
        """As many lines as a tile has, from ``start`` on."""
        here = slice(start, start + _TILE)
        return _Lines(self.bits[here], self.values[here], self.sizes[here], self.low[here], self.norm[here])


class _Bounds(NamedTuple):
    """What a proof needs of a tile's lines: their smallest ``low``, the longest, and the longest in its own units."""

    low: NDArray[np.int32]
    norm: Float64s
    size: Float64s

    @classmethod
    def of(cls, low: NDArray[np.int32], norm: Float64s) -> "_Bounds":
        return cls(low.min(0), norm.max(0), np.ldexp(norm, -low).max(0))


def multiply_or(
    careful: BlockEngine,
    product: DotProduct,
    a: Bits,
    b: Bits,
    c: Bits,
    d: Bits,
    progress: Progress | None = None,
) -> None:
    """Multiply a block: tiles that lose no bits through BLAS, the others through ``careful``, which takes any."""
    if min(d.shape[1:]) < _SMALLEST or not _can_be_exact(product):
        careful(product, a, b, c, d, progress)
        return
    for index in range(len(d)):
        with np.errstate(all="ignore"):  # lengths overflow, infinities and NaN in c meet: all of that proves nothing
            if _looks_exact(product, a[index], b[index]):
                _multiply_matrix(careful, product, a[index], b[index], c[index], d[index], progress)
                continue
        here = slice(index, index + 1)
        careful(product, a[here], b[here], c[here], d[here], progress)


def _can_be_exact(product: DotProduct) -> bool:
    """Whether the unit keeps as many bits as its results have, which are float32 as c and d are."""
    model = product.model
    formats = {product.c.name, product.d.name, model.accumulator}
    below_all = model.min_exponent - model.fraction_bits <= 2 * _LOWEST
    if product.scale is not None:  # the tables here know of no scales
        return False
    return formats == {"f32"} and below_all and model.fraction_bits >= model.output_format.fraction_bits


def _width(product: DotProduct) -> int:
    return product.model.output_format.fraction_bits + 1


def _looks_exact(product: DotProduct, a: Bits, b: Bits) -> bool:
    """Look at a few lines: is a proof likely, over all of K or for most instructions?"""
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
    """How much of K is looked at together."""
    return max(_DEPTH // product.k, 1) * product.k


def _over_all(lines: _Lines) -> _Bounds:
    """Bounds over the whole stretch of K."""
    return _Bounds.of(lines.low.min(1), np.sqrt(np.square(lines.norm).sum(1)))


def _multiply_matrix(
    careful: BlockEngine, product: DotProduct, a: Bits, b: Bits, c: Bits, d: Bits, progress: Progress | None
) -> None:
    """One matrix, depth after depth, tile after tile."""
    depth = _depth(product)
    starts = range(0, a.shape[-1], depth)
    d[...] = c
    for done, start in enumerate(starts):
        left, right = _lines(product, 0, a[:, start : start + depth]), _lines(product, 1, b[start : start + depth].T)
        for column in range(0, d.shape[1], _TILE):
            columns = right.part(column)
            for row in range(0, len(d), _TILE):
                tile = d[row : row + _TILE, column : column + _TILE]
                _multiply_tile(careful, product, left.part(row), columns, tile)
        if progress is not None:
            progress((done + 1) / len(starts))


def _multiply_tile(careful: BlockEngine, product: DotProduct, left: _Lines, right: _Lines, d: Bits) -> None:
    """One tile over a stretch of K: as one product, instruction after instruction, or carefully."""
    sums = from_accumulator_bits(d, product).copy()
    sums += np.float32(0)  # a zero sum is +0, and -0 + -0 would not be
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
            careful(product, left.bits[None, :, ks], right.bits[:, ks].T[None], d[None].copy(), d[None], None)


def _is_exact_with_c(product: DotProduct, left: _Lines, right: _Lines, c: Float32s) -> bool:
    """Whether nothing is lost over the whole stretch, c included."""
    rows, columns = _over_all(left), _over_all(right)
    low = float(rows.low + columns.low)
    limit, largest = 2.0 ** (low + _width(product)), float(rows.norm * columns.norm)
    if not largest < limit:
        return False
    # A NaN fails the comparison, too.
    if not largest + float(np.abs(c).max()) < limit:
        return False
    units = c * np.float64(2.0**-low)  # float64, in which no c becomes zero
    return bool((units == np.rint(units)).all())


def _exact_instructions(product: DotProduct, left: _Lines, right: _Lines) -> list[bool]:
    """For each instruction, whether its products lose nothing before c is added, where that comes last."""
    count = left.low.shape[1]
    if product.model.c_joins != "last_add":
        return [False] * count
    rows, columns = _Bounds.of(left.low, left.norm), _Bounds.of(right.low, right.norm)
    limit = 2.0 ** _width(product)
    size = rows.size * columns.size
    exact: list[bool] = (size < limit).tolist()
    for i in np.flatnonzero((size >= limit) & (size < _SHARPER * limit)).tolist():
        # Near it, the sums of absolute values are sharper than the lengths of lines.
        here = np.s_[:, i * product.k : (i + 1) * product.k]
        largest = exact_matmul(np.abs(left.sizes[here]), np.abs(right.sizes[here]).T).max() * _UPWARD
        exact[i] = bool(largest < limit * 2.0 ** float(rows.low[i] + columns.low[i]))
    return exact


def _lines(product: DotProduct, side: int, bits: Bits) -> _Lines:
    """Rows of A (side 0), or columns of B (side 1) as rows."""
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
    """Of every pattern of a format, without the low bits that it ignores: its value, and the place of its last bit.

    ``size`` is the larger of the absolute value and 2**exponent; None where they do not differ in what matters.
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
