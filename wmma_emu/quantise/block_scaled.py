# SPDX-License-Identifier: MIT
"""What a block-scaled array is, and what its numbers are worth: element times scale, exactly."""

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
        Of the element's dtype of ml_dtypes, int8 for MXINT8; the shape of the array, filled to whole blocks. A tensor
        of torch, or an array of JAX, where one was quantised: then uint8 patterns, one a byte, of elements that the
        library has no dtype for.
    scales : array of float8_e8m0fnu, or of float8_e4m3fn (NVFP4)
        One for each block, where the block is: the same shape, shorter along ``axis``.
    block_format : BlockFormat
    axis : int
        The axis that blocks lie along, not negative.
    tensor_scale : numpy.float32, optional
        Of NVFP4: the second factor of every element.

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
        """Whose arrays its elements and scales are; None for NumPy's."""
        return library_of(self.elements)

    def in_library(self, library: Library | None) -> Self:
        """Return the same with arrays of torch or JAX, or of NumPy."""
        if library == self.library:
            return self
        elements = from_bits(_element_patterns(self.elements, self.block_format), self.block_format.element)
        scales = as_numpy(self.scales, "scales")
        return replace(self, elements=in_library(elements, library), scales=in_library(scales, library))

    @property
    def element_bits(self) -> Bits:
        """Patterns of the elements, uint8, one a byte."""
        patterns = np.array(_element_patterns(self.elements, self.block_format))
        return in_library(patterns, self.library)  # type: ignore[no-any-return]

    @property
    def scale_bits(self) -> Bits:
        """Patterns of the scale factors, uint8."""
        patterns = np.array(as_numpy(self.scales, "scales").view(np.uint8))
        return in_library(patterns, self.library)  # type: ignore[no-any-return]

    def dequantise(self, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return what the elements are worth; see `dequantise`.

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
    """`dequantise`, as it is spelt in America."""

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
    """Multiply elements by their scale factors: exactly in float64, or rounded once, to nearest even, to another dtype.

    Parameters
    ----------
    elements : array
        Of the element's dtype, or uint8 patterns, one a byte. Whole blocks along ``axis``.
    scales : array of float8_e8m0fnu, or of float8_e4m3fn (NVFP4)
        Or uint8 patterns, of which ue4m3 (NVFP4) does not read the sign bit; as e4m3 nothing may be negative, -0
        neither. The shape of the elements, one entry a block along ``axis``.
    block_format : str or BlockFormat
    axis : int
    tensor_scale : float32, optional
        Of NVFP4; 1.0 if it is left out.
    dtype : dtype or str
        A float that the package has a format of: float64, float32, bfloat16, float16, of any library, or its name
        (``"bf16"``). What is too large becomes
        infinite.

    Returns
    -------
    array of ``dtype``, shape of the elements

    Raises
    ------
    FragmentMismatchError
        For shapes that do not fit each other, other dtypes, and a tensor scale that is no float32.
    UnsupportedInstructionError
        For a format that does not exist, or a tensor scale of one that has none.

    Notes
    -----
    An element has 7 significant bits at most, a scale of e4m3 4, a tensor scale 24: the products fit float64's 53, and
    lie between 2**-160 and 2**143. A scale that is NaN makes its block NaN.

    Examples
    --------
    >>> dequantise(np.full(32, 0x38, np.uint8), np.array([0x80], np.uint8), "mxfp8_e4m3")[:3]
    array([2., 2., 2.])
    """
    row = block_format_of(block_format)
    bits, words = _element_patterns(elements, row), to_bits(scales, row.scale, "scales")
    place = axis_of(axis, bits.ndim)
    blocks = split_blocks(bits, row, place, False)
    by_block = _scales_of_blocks(words, blocks, place)
    if tensor_scale is None:
        factor = 1.0
    elif row.has_tensor_scale:
        factor = float(np.array(tensor_scale_bits(tensor_scale), np.uint32).view(np.float32))
    else:
        raise OptionError(f"tensor_scale is of nvfp4; {row} has no second level of scaling")
    values = _values_of(row.element)[blocks] * (2.0**row.element_exponent * factor)
    return _as_dtype(join_blocks(values * _values_of(row.scale)[by_block][..., None], place), dtype)


dequantize = dequantise


def tensor_scale_bits(given: object) -> int:
    """Read a second-level scale: the pattern of a positive, finite float32; float64 numbers are not rounded.

    Examples
    --------
    >>> hex(tensor_scale_bits(0.5))
    '0x3f000000'
    """
    value = number_of(given, "tensor_scale")
    if not 0 < value < np.inf:
        raise ArgumentValueError(f"tensor_scale={shorten(given)} is no positive, finite number")
    word = encode(np.array([value]), format_of("f32"))
    if decode(word, format_of("f32"))[0] != value:
        raise ArgumentValueError(f"tensor_scale={shorten(given)} is no float32; pass numpy.float32(...)")
    return int(word[0])


def number_of(given: object, name: str) -> float:
    """Read one number, or an array of shape (), that float64 holds exactly.

    Refused are text, bool, complex numbers, dates, and integers that float64 rounds.

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
        raise ArgumentError(f"{name}={shorten(given)} is no number; pass one, such as numpy.float32(0.5)")
    try:
        value = float(number)
    except OverflowError:
        value = np.inf
    if not np.isnan(value) and value != number:
        raise ArgumentError(f"{name}={shorten(given)} is no float64; pass numpy.float32(...)")
    return value


@cache
def _values_of(fmt: Format) -> NDArray[np.float64]:
    """What every pattern of a narrow format is worth."""
    return decode(np.arange(1 << fmt.bits, dtype=fmt.storage), fmt)


def _element_patterns(elements: object, row: BlockFormat) -> Bits:
    given = as_numpy(elements, "elements")
    if row.element.bits == 4 and given.dtype == np.uint8:
        if (given > row.element.mask).any():
            raise ArgumentValueError(
                f"elements holds bytes above 0xf: {row} takes one element a byte; of packed ones, byte & 15 is the "
                "first and byte >> 4 the second"
            )
        return given
    return to_bits(elements, row.element, "elements")


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
            f"dtype={shorten(dtype)} is no float that numbers can be rounded to; pass f64, f32, bf16 or f16, "
            f"{DTYPE_NAMES}{formats_near(dtype)}"
        )
    return values if fmt.name == "f64" else from_bits(encode(values, fmt), fmt)
