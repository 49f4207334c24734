# SPDX-License-Identifier: MIT
"""Block-scaled arrays and their values: element times scale, exactly."""

import numbers
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, ShapeError, shorten
from wmma_emu.formats import Format, decode, encode, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.dtypes import DTYPE_NAMES, format_meant, formats_near, from_bits, to_bits
from wmma_emu.formats.libraries import Carrier, Library, in_library, library_of, takes_tensors
from wmma_emu.formats.rounding import Bits
from wmma_emu.quantise.blocked import to_blocked
from wmma_emu.quantise.blocks import axis_of, join_blocks, split_blocks
from wmma_emu.quantise.spec import BlockFormat
from wmma_emu.quantise.table import block_format_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockScaled(Carrier):
    """An array in a block-scaled format: what `quantise` returns.

    Parameters
    ----------
    elements : array
        Elements in their dtype of ml_dtypes, int8 for MXINT8; the shape of the array, padded to whole blocks. If a
        torch tensor or a JAX array was quantised, the elements are one too, with uint8 patterns, one per byte, for
        elements without a dtype in the library.
    scales : array of float8_e8m0fnu, or of float8_e4m3fn (NVFP4)
        One scale per block, at the position of the block: the same shape, but shorter along ``axis``.
    block_format : BlockFormat
    axis : int
        The axis along which blocks extend, non-negative.
    tensor_scale : numpy.float32, optional
        NVFP4 only: the second factor of every element.

    Examples
    --------
    >>> from wmma_emu.quantise import quantise
    >>> quantise(np.ones((64, 4), np.float32), "nvfp4", axis=0)
    BlockScaled(nvfp4, elements (64, 4), scales (4, 4), axis 0, tensor_scale 0.00037202382)
    """

    elements: NDArray[Any]
    scales: NDArray[Any]
    block_format: BlockFormat
    axis: int
    tensor_scale: np.float32 | None = None

    def __repr__(self) -> str:
        tensor = "" if self.tensor_scale is None else f", tensor_scale {self.tensor_scale!s}"
        shapes = f"elements {tuple(self.elements.shape)}, scales {tuple(self.scales.shape)}, axis {self.axis}"
        return f"BlockScaled({self.block_format}, {shapes}{tensor})"

    @property
    def library(self) -> Library | None:
        """The library of the elements and scales; None for NumPy."""
        return library_of(self.elements)

    def in_library(self, library: Library | None) -> Self:
        """Return the same object with arrays of torch, JAX or NumPy."""
        if library == self.library:
            return self
        elements = from_bits(_element_patterns(self.elements, self.block_format), self.block_format.element)
        scales = as_numpy(self.scales, "scales")
        return replace(self, elements=in_library(elements, library), scales=in_library(scales, library))

    @property
    def element_bits(self) -> Bits:
        """The patterns of the elements as uint8, one per byte."""
        patterns = np.array(_element_patterns(self.elements, self.block_format))
        return in_library(patterns, self.library)  # type: ignore[no-any-return]

    @property
    def scale_bits(self) -> Bits:
        """The patterns of the scale factors as uint8."""
        patterns = np.array(as_numpy(self.scales, "scales").view(np.uint8))
        return in_library(patterns, self.library)  # type: ignore[no-any-return]

    def dequantise(self, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the values of the elements; see `dequantise`.

        Examples
        --------
        >>> from wmma_emu.quantise import quantise
        >>> quantise(np.full(32, 0.7, np.float32), "mxint8").dequantise(np.float32)[:2]
        array([0.703125, 0.703125], dtype=float32)
        """
        return dequantise(
            self.elements,
            self.scales,
            self.block_format,
            axis=self.axis,
            tensor_scale=self.tensor_scale,
            dtype=dtype,
        )

    dequantize = dequantise
    """The American spelling of `dequantise`."""

    def blocked_scales(self) -> NDArray[Any]:
        """Return the scale factors in the order that GEMM libraries expect, blocks as columns; see `to_blocked`.

        Examples
        --------
        >>> from wmma_emu.quantise import quantise
        >>> quantise(np.ones((100, 64), np.float32), "mxfp8_e4m3").blocked_scales().shape
        (512,)
        """
        ordered = to_blocked(np.moveaxis(as_numpy(self.scales, "scales"), self.axis, -1))
        return in_library(ordered, self.library)  # type: ignore[no-any-return]


@takes_tensors
def dequantise(
    elements: object,
    scales: object,
    block_format: str | BlockFormat,
    *,
    axis: int = -1,
    tensor_scale: object = None,
    dtype: DTypeLike = np.float64,
) -> NDArray[Any]:
    """Multiply elements by their scale factors: exactly in float64, or rounded once to nearest even to another dtype.

    Parameters
    ----------
    elements : array
        Elements in their own dtype, or uint8 patterns, one per byte, in whole blocks along ``axis``.
    scales : array of float8_e8m0fnu, or of float8_e4m3fn (NVFP4)
        Scales in their own dtype, or uint8 patterns. ue4m3 (NVFP4) ignores the sign bit of patterns; numbers in e4m3
        must not be negative, nor -0. The elements' shape, but with one entry per block along ``axis``.
    block_format : str or BlockFormat
    axis : int
    tensor_scale : float32, optional
        NVFP4 only; 1.0 if omitted.
    dtype : dtype or str
        A float dtype of any library with a format in the package (float64, float32, bfloat16, float16), or its name
        (``"bf16"``). Numbers that are too large become infinite.

    Returns
    -------
    array of ``dtype``, shape of the elements

    Raises
    ------
    FragmentMismatchError
        If the shapes do not match, a dtype is not legal, or the tensor scale is not a float32 number.
    UnsupportedInstructionError
        If the format does not exist, or a tensor scale is passed for a format without one.

    Notes
    -----
    An element has at most 7 significant bits, an e4m3 scale 4, a tensor scale 24: the products fit in float64's 53
    bits, and are between 2**-160 and 2**143. A NaN scale makes its block NaN.

    Examples
    --------
    >>> dequantise(np.full(32, 0x38, np.uint8), np.array([0x80], np.uint8), "mxfp8_e4m3")[:3]
    array([2., 2., 2.])
    """
    fmt = block_format_of(block_format)
    bits, words = _element_patterns(elements, fmt), to_bits(scales, fmt.scale, "scales")
    position = axis_of(axis, bits.ndim)
    blocks = split_blocks(bits, fmt, position, False)
    by_block = _scales_of_blocks(words, blocks, position)
    if tensor_scale is None:
        factor = 1.0
    elif fmt.has_tensor_scale:
        factor = float(np.array(tensor_scale_bits(tensor_scale), np.uint32).view(np.float32))
    else:
        raise OptionError(f"tensor_scale applies only to nvfp4; {fmt} has no second level of scaling")
    values = _values_of(fmt.element)[blocks] * (2.0**fmt.element_exponent * factor)
    return _as_dtype(join_blocks(values * _values_of(fmt.scale)[by_block][..., None], position), dtype)


dequantize = dequantise


def tensor_scale_bits(given: object) -> int:
    """Return the pattern of a second-level scale, a positive finite float32; float64 numbers are not rounded.

    Examples
    --------
    >>> hex(tensor_scale_bits(0.5))
    '0x3f000000'
    """
    value = number_of(given, "tensor_scale")
    if not 0 < value < np.inf:
        raise ArgumentValueError(f"tensor_scale={shorten(given)} is not a positive, finite number")
    word = encode(np.array([value]), format_of("f32"))
    if decode(word, format_of("f32"))[0] != value:
        raise ArgumentValueError(f"tensor_scale={shorten(given)} is not a float32 number; pass numpy.float32(...)")
    return int(word[0])


def number_of(given: object, name: str) -> float:
    """Read one number, or an array of shape (), that float64 represents exactly.

    Strings, bools, complex numbers, dates, and integers that float64 would round are rejected.

    Examples
    --------
    >>> number_of(np.float32(0.1), "tensor_scale").hex()
    '0x1.99999a0000000p-4'
    """
    number = given
    if hasattr(given, "__array__"):
        array = as_numpy(given, name)
        number = array.item() if array.ndim == 0 else given
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise ArgumentError(f"{name}={shorten(given)} is not a number; pass, for example, numpy.float32(0.5)")
    try:
        value = float(number)
    except OverflowError:
        value = np.inf
    if not np.isnan(value) and value != number:
        raise ArgumentError(f"{name}={shorten(given)} is not a float64 number; pass numpy.float32(...)")
    return value


@cache
def _values_of(fmt: Format) -> NDArray[np.float64]:
    """Return the value of every pattern of a narrow format."""
    return decode(np.arange(1 << fmt.bits, dtype=fmt.storage), fmt)


def _element_patterns(elements: object, fmt: BlockFormat) -> Bits:
    given = as_numpy(elements, "elements")
    if fmt.element.bits == 4 and given.dtype == np.uint8:
        if (given > fmt.element.mask).any():
            raise ArgumentValueError(
                f"elements holds bytes above 0xf: {fmt} takes one element per byte; split packed bytes into byte & 15 "
                "and byte >> 4, the first and the second element"
            )
        return given
    return to_bits(elements, fmt.element, "elements")


def _scales_of_blocks(words: Bits, blocks: Bits, axis: int) -> Bits:
    wanted = list(blocks.shape[:-2])
    wanted.insert(axis, blocks.shape[-2])
    if words.shape != tuple(wanted):
        raise ShapeError(f"scales has the shape {words.shape}; these elements have {tuple(wanted)} blocks")
    return np.moveaxis(words, axis, -1)


def _as_dtype(values: NDArray[np.float64], dtype: DTypeLike) -> NDArray[Any]:
    fmt = format_meant(dtype)
    if fmt is None or not fmt.is_float or not fmt.signed:
        raise ArgumentError(
            f"dtype={shorten(dtype)} is not a float format that numbers can be rounded to; pass f64, f32, bf16 or f16, "
            f"{DTYPE_NAMES}{formats_near(dtype)}"
        )
    return values if fmt.name == "f64" else from_bits(encode(values, fmt), fmt)
