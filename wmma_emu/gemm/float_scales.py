# SPDX-License-Identifier: MIT
"""Float32 scales, as in FP8 training kernels: the elements that share one, and their multiplication into sums."""

import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.arithmetic import DotProduct
from wmma_emu.display import warn_caller
from wmma_emu.errors import ArgumentError, OptionError, ShapeError, UnverifiedModelWarning, shorten
from wmma_emu.formats import encode, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.gemm.scale_orders import SCALE_ORDERS, Granularity, ScaleOrder
from wmma_emu.scalar import convert, fma

BLOCK = 128
"""The number of k, and of rows or columns, that share a scale of a block."""

_F32 = format_of("f32")
_MINUS_ZERO: Bits = np.array(_F32.sign_mask, _F32.storage)
_AT_ONCE = 1 << 15
"""The number of elements of D that are multiplied at once: the temporaries take about a hundred bytes an element."""

_Index = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class FloatScales:
    """The scales of one product, and the order in which they are multiplied into its sums.

    ``a`` has shape (..., rows, blocks of k), ``b`` (..., blocks of k, columns), as patterns; one row or column of
    scales may apply to ``lines_a`` rows of A or ``lines_b`` columns of B.
    """

    order: ScaleOrder
    granularity: Granularity
    a: Bits
    b: Bits
    lines_a: int
    lines_b: int

    @property
    def block(self) -> int:
        """The number of k that share a scale; 0 if all of K does."""
        return BLOCK if self.granularity in ("block", "vector") else 0

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes that the scales add to D."""
        return np.broadcast_shapes(self.a.shape[:-2], self.b.shape[:-2])

    @property
    def is_factor(self) -> bool:
        """Whether one number for all of D multiplies the sums, as alpha does."""
        return self._is_like_alpha and self.a.size == self.b.size == 1

    @property
    def is_factors(self) -> bool:
        """Whether one number for each matrix of a batch multiplies the sums."""
        return self._is_like_alpha and not self.is_factor

    @property
    def _is_like_alpha(self) -> bool:
        return self.granularity == "tensor" and self.order.steps == "factor"

    def factor(self, alpha: int | None) -> int:
        """Return the pattern of the factor that replaces alpha."""
        b = self.b if alpha is None else _times(np.full_like(self.b, alpha), self.b)
        return int(_times(b, self.a).item())

    def scaled(self, sums: Bits, source: str, index: _Index) -> Bits:
        """Multiply the accumulators of one panel, with a float32 result; ``index`` is the panel's index in D."""
        result = np.empty(sums.shape, _F32.storage)
        for here, a, b in self._pieces(sums.shape, index, 0):
            result[here] = self._multiply_add(convert(sums[here], source, _F32), a, b, None)
        return result

    def promoted(self, total: Bits, sums: Bits, index: _Index, start: int) -> Bits:
        """Add the scaled sums of the 128 k that begin at ``start`` to the float32 sum."""
        result = np.empty(total.shape, _F32.storage)
        for here, a, b in self._pieces(total.shape, index, start // BLOCK):
            result[here] = self._multiply_add(sums[here], a, b, total[here])
        return result

    def _multiply_add(self, x: Bits, a: Bits, b: Bits, total: Bits | None) -> Bits:
        """Multiply twice, the second time with the addition: adding -0 changes no product."""
        last = _MINUS_ZERO if total is None else total
        match self.order.steps:
            case "factor":
                return fma(_times(a, b), x, last, _F32)
            case "a_first":
                return fma(_times(x, a), b, last, _F32)
            case "b_first":
                return fma(_times(x, b), a, last, _F32)

    def _pieces(
        self, shape: tuple[int, ...], index: _Index, block: int
    ) -> Iterator[tuple[tuple[slice | int, ...], Bits, Bits]]:
        """Yield parts of a panel with the scales of their rows and columns, for one block of k."""
        rows, columns = (np.arange(x.start, x.stop) for x in index[-2:])
        a = _part(self.a, index)[..., rows // self.lines_a, block][..., None]
        b = _part(self.b, index)[..., block, columns // self.lines_b][..., None, :]
        *batch, m, n = shape
        a, b = np.broadcast_to(a, (*batch, m, 1)), np.broadcast_to(b, (*batch, 1, n))
        if math.prod(shape) <= _AT_ONCE:
            yield (...,), a, b  # type: ignore[misc]
            return
        few = max(_AT_ONCE // max(n, 1), 1)
        for matrix in np.ndindex(*batch):
            for start in range(0, m, few):
                yield (*matrix, slice(start, start + few)), a[*matrix, start : start + few], b[matrix]


def _times(x: Bits, y: Bits) -> Bits:
    """Multiply and round by a fused multiply-add of -0, which has the same result and is faster than `mul`."""
    return fma(x, y, _MINUS_ZERO, _F32)


def _part(scales: Bits, index: _Index) -> Bits:
    """Return the scales of a panel's matrices; a leading axis of length 1 applies to all of D's."""
    lead = index[len(index) - scales.ndim : -2] if scales.ndim > 2 else ()
    whole = slice(None)
    return scales[tuple(whole if length == 1 else x for length, x in zip(scales.shape[:-2], lead, strict=True))]


def float_scales_of(
    scale_a: ArrayLike, scale_b: ArrayLike, product: DotProduct, shape: tuple[int, int, int], arch: str, name: object
) -> FloatScales:
    """Read float32 scales of a product of M x N x K, and choose the named order or the first one that applies.

    Warn if the order was not recorded, or was recorded on another chip.
    """
    m, n, k = shape
    given = _bits(scale_a, "scale_a"), _bits(scale_b, "scale_b")
    kinds = _kinds(given[0], m, k, False), _kinds(given[1], n, k, True)
    possible = _granularities(*kinds)
    if not possible:
        raise ShapeError(_refusal(given, kinds, shape))
    order, granularity = _order(name, possible)
    _check_accumulator(product, granularity)
    what: str = order.status
    if what == "measured" and order.arch != arch:
        what = f"measured on {order.arch} only"
    elif what == "measured" and _is_mixed(granularity, *kinds):
        what = "measured only for scales of rows with scales of columns, and of 128 x 128 with scales of 128 k"
    if what != "measured":
        warn_caller(
            f"float32 scales on {arch}, in the order {order.name!r}, {order.formula}: {what} ({order.source})",
            UnverifiedModelWarning,
        )
    lines = (_lines(bits, axis, count) for bits, axis, count in zip(given, (-2, -1), (m, n), strict=True))
    return FloatScales(order, granularity, *given, *lines)


def _bits(scale: ArrayLike, name: str) -> Bits:
    """Return float32 patterns of scales; a number is rounded once and becomes a matrix of one."""
    if isinstance(scale, numbers.Real) and not isinstance(scale, bool):
        return encode(np.array([[as_float64(scale)]]), _F32)
    given = as_numpy(scale, name)
    if given.dtype != np.float32:
        how = " rounds once" if given.dtype == np.float64 or given.dtype.kind in "iu" else ""
        raise ArgumentError(
            f"{name} is an array of {shorten(given.dtype, str)}; kernel scales are float32: pass "
            f"{name}.astype(numpy.float32){', which' + how if how else ''}; 8-bit block scales are for "
            "instructions with .block_scale"
        )
    bits = to_bits(given, _F32, name)
    return bits.reshape(1, 1) if bits.size == 1 and bits.ndim < 2 else bits


def as_float64(number: numbers.Real) -> float:
    """Return the nearest float64; an infinity beyond the range."""
    try:
        return float(number)
    except OverflowError:  # an integer beyond the range of float64
        return math.inf if abs(number) == number else -math.inf


def _kinds(bits: Bits, count: int, k: int, of_b: bool) -> set[str]:
    """Return the possible meanings of a shape.

    Scales of the tensor, of rows (columns), of 128 k, of 128 x 128 blocks.
    """
    if bits.ndim < 2:
        return set()
    lines, blocks = bits.shape[:-3:-1] if of_b else bits.shape[-2:]
    found = set()
    if (lines, blocks) == (1, 1):
        found.add("tensor")
    if blocks == 1 and lines == count:
        found.add("row")
    if blocks == -(-k // BLOCK):
        found |= {name for name, size in (("vector", count), ("block", -(-count // BLOCK))) if lines == size}
    return found


def _granularities(a: set[str], b: set[str]) -> list[Granularity]:
    """Return the possible granularities of two kinds of scales together, the coarsest first."""
    found: list[Granularity] = []
    if "tensor" in a and "tensor" in b:
        found.append("tensor")
    if a & {"tensor", "row"} and b & {"tensor", "row"}:
        found.append("row")
    if a & {"block", "vector"} and b & {"block", "vector"} and ("block" in a or "block" in b):
        found.append("block")
    if "vector" in a and "vector" in b:
        found.append("vector")
    return found


def _is_mixed(granularity: Granularity, a: set[str], b: set[str]) -> bool:
    """Return whether the combination of kinds was not recorded.

    These are one scale of a matrix with scales of rows, and scales of 128 x 128 on both sides.
    """
    if granularity == "row":
        return not {"row"} <= a & b
    return granularity == "block" and "vector" not in a | b


def _order(name: object, possible: list[Granularity]) -> tuple[ScaleOrder, Granularity]:
    names = dict.fromkeys(entry.name for entry in SCALE_ORDERS)
    if name is not None and (not isinstance(name, str) or name not in names):
        raise OptionError(
            f"scale_order={shorten(name)} does not exist; use {', '.join(map(repr, names))}, or leave it out"
        )
    for granularity in possible:
        for entry in SCALE_ORDERS:
            if granularity in entry.granularities and name in (None, entry.name):
                return entry, granularity
    serving = [entry.name for entry in SCALE_ORDERS if possible[0] in entry.granularities]
    raise OptionError(
        f"scale_order={name!r} has no kernels with a scale for each {possible[0]}; use "
        f"{', '.join(map(repr, serving))}, "
        "or leave it out"
    )


def _check_accumulator(product: DotProduct, granularity: Granularity) -> None:
    name = product.d.name
    if name == "f64":
        raise OptionError("scales are float32, but the sums of this instruction are f64: scale them separately")
    if granularity in ("block", "vector") and name != "f32":
        raise OptionError(
            f"scales of 128 k require float32 sums; this instruction's sums are {name}: use one whose D is f32"
        )


def _lines(bits: Bits, axis: int, count: int) -> int:
    """Return how many rows of A, or columns of B, share a scale."""
    given = bits.shape[axis]
    return 1 if given == count else BLOCK if given == -(-count // BLOCK) else max(count, 1)


def _refusal(given: tuple[Bits, Bits], kinds: tuple[set[str], set[str]], shape: tuple[int, int, int]) -> str:
    m, n, k = shape
    blocks = -(-k // BLOCK)
    legal = (
        f"one for each matrix, (); of rows ({m}, 1) and of columns (1, {n}); of 128 k ({m}, {blocks}) and "
        f"({blocks}, {n}), or of 128 x 128 elements ({-(-m // BLOCK)}, {blocks}) and ({blocks}, {-(-n // BLOCK)})"
    )
    text = (
        f"scale_a has shape {given[0].shape}, scale_b {given[1].shape} in a product of {m} x {n} x {k}; legal shapes "
        "are "
    )
    if all(kinds):
        fix = "scales of 128 k must be combined with scales of 128 k: numpy.broadcast_to repeats coarser ones"
        return f"{text}{legal}; {fix}"
    for name, bits, found, fix in (
        ("scale_a", given[0], kinds[0], "scale_a[:, None]"), ("scale_b", given[1], kinds[1], "scale_b[None]")
    ):  # fmt: skip
        if not found and bits.ndim == 1:
            return f"{text}{legal}; {name} has one axis: {fix} has two"
    return text + legal
