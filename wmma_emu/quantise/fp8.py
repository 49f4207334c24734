# SPDX-License-Identifier: MIT
"""FP8 matrices with float32 scales: of the matrix, of rows, of 128 k of a row, or of blocks of 128 x 128."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, ShapeError, shorten
from wmma_emu.formats import Format, decode, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.dtypes import format_of_dtype, from_bits, to_bits
from wmma_emu.formats.rounding import Bits
from wmma_emu.quantise.blocks import axis_of
from wmma_emu.quantise.fp8_rules import FP8_FACTORS, Factors, Request, fp8_rule_of, largest_magnitude
from wmma_emu.scalar import convert, mul

ScaleGranularity = Literal["tensor", "row", "vector", "block"]
"""The elements that share a scale: the matrix; a line along k; 128 k of a line; 128 x 128 elements."""

_F32 = format_of("f32")
_MAGNITUDE = np.uint32(0x7FFF_FFFF)
_BLOCK = 128


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FloatScaled:
    """A matrix of FP8 with float32 scales: what `scale_to_fp8` returns.

    Parameters
    ----------
    elements : array of float8_e4m3fn or float8_e5m2
    scales : array of float32
        The factors of the elements, in a shape that `wmma_emu.gemm` takes as ``scale_a`` (blocks along the last axis)
        or ``scale_b`` (along the first): () for the matrix.
    encode_scales : array of float32
        The factors by which the numbers were multiplied before rounding, of the same shape.
    amax : array of float32
        The largest magnitudes, of the same shape.
    granularity : {"tensor", "row", "vector", "block"}
    axis : int
        The axis of k, 0 or 1.
    """

    elements: NDArray[Any]
    scales: NDArray[np.float32]
    encode_scales: NDArray[np.float32]
    amax: NDArray[np.float32]
    granularity: ScaleGranularity
    axis: int

    def __repr__(self) -> str:
        what = f"{format_of_dtype(self.elements.dtype)}, elements {self.elements.shape}, scales {self.scales.shape}"
        return f"FloatScaled({what}, {self.granularity}, axis {self.axis})"

    def dequantise(self) -> NDArray[np.float64]:
        """Return the values, element times scale, exactly.

        Examples
        --------
        >>> scale_to_fp8(np.array([[1.0, -7.0]], np.float32), "e4m3").dequantise()
        array([[ 1., -7.]])
        """
        fmt = format_of_dtype(self.elements.dtype)
        values = decode(to_bits(self.elements, fmt, "elements"), fmt)  # type: ignore[arg-type]
        scales = _spread(self.scales.astype(np.float64), self.elements.shape, self.granularity, self.axis)
        exact: NDArray[np.float64] = values * scales
        return exact

    dequantize = dequantise
    """The American spelling of `dequantise`."""


def scale_to_fp8(
    x: object,
    element: str,
    *,
    granularity: ScaleGranularity = "tensor",
    axis: int = -1,
    rule: str = "transformer_engine",
    powers_of_two: bool = False,
    factors: Factors | None = None,
) -> FloatScaled:
    """Scale a matrix to the range of FP8 and round it, as the recipes of training libraries do.

    Parameters
    ----------
    x : array of float32, bfloat16 or float16, shape (rows, columns)
    element : str
        ``"e4m3"`` or ``"e5m2"``.
    granularity : {"tensor", "row", "vector", "block"}
        The elements that share a scale: the matrix; a line along ``axis``; 128 elements of such a line; 128 x 128
        elements. The last blocks may be smaller.
    axis : int
        The axis of k.
    rule : str
        An entry of `FP8_RULES`, which define the arithmetic: ``"transformer_engine"``, ``"torchao"``, ``"deepgemm"``,
        ``"deepgemm_cuda"``.
    powers_of_two : bool
        Whether scales are rounded to powers of two, as the rule does.
    factors : Factors, optional
        Factors to use instead of those that the rule derives from ``x``, as `DelayedScale` has.

    Returns
    -------
    FloatScaled

    Raises
    ------
    FragmentMismatchError
        If ``x`` is not a matrix of such floats.
    UnsupportedInstructionError
        If a rule, a granularity or a format does not exist.

    Notes
    -----
    Every number is multiplied in float32, rounded to nearest even, and then rounded to the format; numbers that are too
    large become the largest of their sign, and NaN stays NaN.

    Examples
    --------
    >>> q = scale_to_fp8(np.array([[1.0, -0.3, 5.0]], np.float32), "e4m3")
    >>> q.elements.view(np.uint8), q.scales
    (array([[107, 221, 126]], dtype=uint8), array(0.01116071, dtype=float32))
    """
    fmt, bits, source = _read(x, element, granularity)
    position = axis_of(axis, 2)
    rule = fp8_rule_of(rule).name
    lines = bits if position else bits.T
    amax = _amax(lines, granularity, rule)
    if factors is None:
        largest = _F32 if granularity in ("tensor", "row") else source
        limit = convert(np.array([largest.max_finite], largest.storage), largest, _F32)
        factors = FP8_FACTORS[rule](Request(amax, fmt, limit, powers_of_two))
    factor = _spread(np.broadcast_to(factors.encode, amax.shape), lines.shape, granularity, 1)
    elements = convert(mul(lines, factor, _F32), _F32, fmt, "RNE", "saturate")

    def shaped(words: Bits) -> NDArray[np.float32]:
        whole = np.broadcast_to(words, amax.shape).astype(np.uint32).view(np.float32)
        return whole.reshape(()) if granularity == "tensor" else np.ascontiguousarray(whole if position else whole.T)

    placed = np.ascontiguousarray(elements if position else elements.T)
    return FloatScaled(
        from_bits(placed, fmt), shaped(factors.decode), shaped(factors.encode), shaped(amax), granularity, position
    )


def _read(x: object, element: str, granularity: str) -> tuple[Format, Bits, Format]:
    """Return the format of the elements, the numbers as patterns of float32, and their own format."""
    if element not in ("e4m3", "e5m2"):
        raise OptionError(f"element={shorten(element)} is not an FP8 format; use 'e4m3' or 'e5m2'")
    if granularity not in get_args(ScaleGranularity):
        names = ", ".join(map(repr, get_args(ScaleGranularity)))
        raise OptionError(f"granularity={shorten(granularity)} does not exist; use {names}")
    given = as_numpy(x, "x")
    source = format_of_dtype(given.dtype)
    if source is None or source.name not in ("f32", "bf16", "f16"):
        raise ArgumentError(
            f"scale_to_fp8 takes float32, bfloat16 or float16, not an array of {shorten(given.dtype, str)}; pass "
            "x.astype(numpy.float32), if that is exact"
        )
    if given.ndim != 2:
        raise ShapeError(
            f"x has shape {given.shape}; expected a matrix: reshape leading axes, x.reshape(-1, x.shape[-1])"
        )
    return format_of(element), convert(to_bits(given, source, "x"), source, _F32), source


def _amax(lines: Bits, granularity: ScaleGranularity, rule: str) -> Bits:
    """Return the largest magnitudes: (1, 1), (lines, 1), (lines, blocks) or (blocks, blocks)."""
    magnitudes = lines & _MAGNITUDE
    if granularity == "tensor":
        return largest_magnitude(magnitudes, (0, 1), rule).reshape(1, 1)
    if granularity == "row":
        return largest_magnitude(magnitudes, (1,), rule)[:, None]
    high = _BLOCK if granularity == "block" else 1
    padded = np.pad(magnitudes, [(0, -n % size) for n, size in zip(lines.shape, (high, _BLOCK), strict=True)])
    down, across = padded.shape[0] // high, padded.shape[1] // _BLOCK
    return largest_magnitude(padded.reshape(down, high, across, _BLOCK), (1, 3), rule)


def _spread(scales: NDArray[Any], shape: tuple[int, ...], granularity: ScaleGranularity, axis: int) -> NDArray[Any]:
    """Repeat scales so that every element has one, or broadcast them."""
    if granularity in ("tensor", "row"):
        return scales
    for position, length in enumerate(shape):
        if granularity == "block" or position == axis:
            scales = np.repeat(scales, _BLOCK, axis=position)[(slice(None),) * position + (slice(length),)]
    return scales
