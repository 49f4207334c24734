# SPDX-License-Identifier: MIT
"""From arrays to block-scaled formats: one scale factor a block, elements rounded once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, shorten
from wmma_emu.formats import Format, Rounding, format_of, unpack
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.dtypes import dtype_of, format_of_dtype, from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.formats.rounding import Bits
from wmma_emu.formats.spec import check_modes
from wmma_emu.quantise.block_scaled import BlockScaled, number_of, tensor_scale_bits
from wmma_emu.quantise.blocks import axis_of, join_blocks, split_blocks
from wmma_emu.quantise.elements import nan_element, round_elements
from wmma_emu.quantise.nvfp4 import FLOAT32_RULES, TensorScale, reciprocal, scale_blocks, tensor_scale_of
from wmma_emu.quantise.rules import MAX_SCALE_EXPONENT, scale_exponents
from wmma_emu.quantise.spec import BlockFormat
from wmma_emu.quantise.table import block_format_of, scale_rule_of

_BLOCKS_AT_ONCE = 1 << 14
"""Temporaries take some hundred bytes an element."""


@takes_tensors
def quantise(
    x: object,
    block_format: str | BlockFormat,
    *,
    axis: int = -1,
    rule: str | None = None,
    rounding: Rounding = "RNE",
    pad: bool = False,
    symmetric: bool = True,
    tensor_scale: object = None,
    tensor_amax: object = None,
) -> BlockScaled:
    """Quantise an array to a block-scaled format, bit for bit as its definition says.

    Parameters
    ----------
    x : array of float64, float32, bfloat16, float16 or a narrower float
        Of NumPy, PyTorch (on the CPU) or JAX, or anything with ``__array__`` or DLPack. Read as bits: no value is
        changed before it is quantised.
    block_format : str or BlockFormat
        ``"mxfp8_e4m3"``, ``"mxfp8_e5m2"``, ``"mxfp6_e3m2"``, ``"mxfp6_e2m3"``, ``"mxfp4_e2m1"``, ``"mxint8"`` or
        ``"nvfp4"``.
    axis : int
        The axis that blocks lie along: that of k, of a matrix product.
    rule : str, optional
        How scale factors are made, a name of `SCALE_RULES`, in capitals or not, whose rows have the definitions:
        ``"floor"`` (the default; OCP), ``"ceil"``, ``"rceil"``, ``"even"``, ``"rne"``; of NVFP4 ``"rne"`` (the
        default), ``"torchao"``, ``"torchao_cuda"``, ``"division"``, ``"transformer_engine"``.
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
        Of the elements.
    pad : bool
        Whether a short last block is filled with zeros, which the result then has too. Otherwise it is refused.
    symmetric : bool
        Of MXINT8: whether -127 is the smallest element. False admits -128, whose value -2.0 has no counterpart.
    tensor_scale : float32, optional
        Of NVFP4: the second-level scale, as calibrated; 1.0 for none. ``"transformer_engine"`` then has the rounded
        reciprocal of it for E.
    tensor_amax : float, optional
        Of NVFP4: the largest magnitude to reckon with, instead of that of ``x``.

    Returns
    -------
    BlockScaled
        An operand of `wmma_emu.gemm`, if its blocks lie along k. It has ``elements``, ``scales``, ``block_format``,
        ``axis`` and ``tensor_scale``; the first two are tensors of torch, or arrays of JAX, if ``x`` is one.

    Raises
    ------
    FragmentMismatchError
        For what is no array of floats, an axis that is none, a short last block.
    UnsupportedInstructionError
        For names that do not exist, and options that the format does not have.

    Notes
    -----
    Dividing by a power of two changes exponents alone, so that elements are rounded once; the quotients of NVFP4 are of
    integers, or rounded to float32 where a recipe says so. Elements saturate: the largest of their sign stands for what
    is too large (OCP Microscaling Formats 1.0, section 6.3).

    Zeros keep their sign, but for MXINT8, which has one zero. A block of zeros gets the scale 2**-127 (byte 0; NVFP4:
    what the rule makes of 0). Subnormal numbers are numbers like others. A block in which anything is NaN or infinite
    gets the scale NaN (0xFF; ue4m3 0x7F), and elements as conversions make of NaN: NaN, in e2m1, e3m2 and e2m3 the
    largest number, in MXINT8 0. The OCP specification leaves this open. Other blocks do not notice, nor does the tensor
    scale. A scale that would be above 2**127 is 2**127; microxcaling has NaN there.

    Examples
    --------
    >>> x = np.array([[1.0, -0.3, 448.0, 1e-9] * 8], np.float32)
    >>> q = quantise(x, "mxfp8_e4m3")
    >>> q.scale_bits, q.element_bits[0, :4]
    (array([[127]], dtype=uint8), array([ 56, 170, 126,   0], dtype=uint8))
    >>> q.dequantise()[0, :4].tolist()
    [1.0, -0.3125, 448.0, 0.0]
    """
    row = block_format_of(block_format)
    named = scale_rule_of(rule, row).name
    check_modes(rounding, "saturate")
    _check_flag("pad", pad)
    _check_flag("symmetric", symmetric)
    _check_options(row, symmetric, tensor_scale, tensor_amax)
    bits, source = _read(x, row, named)
    place = axis_of(axis, bits.ndim)
    blocks = split_blocks(bits, row, place, pad)
    flat = blocks.reshape(-1, row.block)
    amax = (flat & source.storage.type(source.mask & ~source.sign_mask)).max(axis=-1)
    scale = _tensor_scale(amax, source, row, named, tensor_scale, tensor_amax)
    scales, elements = _in_pieces(flat, amax, source, scale, row, named, rounding, symmetric)
    return BlockScaled(
        from_bits(join_blocks(elements.reshape(blocks.shape), place), row.element),
        _scale_array(np.moveaxis(scales.reshape(blocks.shape[:-1]), -1, place), row),
        row,
        place,
        None if scale is None else np.uint32(scale.decode).view(np.float32),
    )


quantize = quantise


def _check_flag(name: str, given: object) -> None:
    if not isinstance(given, bool | np.bool_):
        raise OptionError(f"{name}={shorten(given)} is neither True nor False")


def _check_options(row: BlockFormat, symmetric: bool, tensor_scale: object, tensor_amax: object) -> None:
    if not symmetric and row.element.is_float:
        raise OptionError(
            f"symmetric=False is of mxint8, whose elements are integers; {row} has as many negative ones as positive"
        )
    given = [name for name, x in (("tensor_scale", tensor_scale), ("tensor_amax", tensor_amax)) if x is not None]
    if given and not row.has_tensor_scale:
        raise OptionError(f"{given[0]} is of nvfp4; {row} has no second level of scaling")
    if len(given) == 2:
        raise OptionError("tensor_scale and tensor_amax say the same twice; pass one of them")


def _read(x: object, row: BlockFormat, rule: str) -> tuple[Bits, Format]:
    given = as_numpy(x, "x")
    source = format_of_dtype(given.dtype)
    if source is None or not source.is_float or not source.signed:
        raise ArgumentError(
            f"quantise takes floating-point numbers, not an array of {shorten(given.dtype, str)}; "
            "pass x.astype(numpy.float32), or float64, where that is exact"
        )
    if rule in FLOAT32_RULES and source.name == "f64":
        raise OptionError(
            f"rule={rule!r} of {row} computes in float32, and x is float64; pass x.astype(numpy.float32), or rule='rne'"
        )
    return to_bits(given, source, "x"), source


def _tensor_scale(
    amax: Bits, source: Format, row: BlockFormat, rule: str, tensor_scale: object, tensor_amax: object
) -> TensorScale | None:
    if not row.has_tensor_scale:
        return None
    if tensor_scale is not None:
        decode = tensor_scale_bits(tensor_scale)
        return TensorScale(decode, reciprocal(decode))
    if tensor_amax is not None:
        return tensor_scale_of(_amax_bits(tensor_amax, rule), format_of("f64"), rule)
    finite = np.where(amax > source.max_finite, 0, amax)
    return tensor_scale_of(finite.max(initial=0).astype(source.storage), source, rule)


def _amax_bits(given: object, rule: str) -> Bits:
    value = np.float64(number_of(given, "tensor_amax"))
    if not 0 <= value < np.inf:
        raise ArgumentValueError(f"tensor_amax={shorten(given)} is no finite magnitude; pass max(abs(x))")
    with np.errstate(over="ignore"):
        inexact = np.float64(np.float32(value)) != value
    if rule in FLOAT32_RULES and inexact:
        raise ArgumentValueError(
            f"tensor_amax={shorten(given)} is no float32, in which rule={rule!r} computes; pass numpy.float32(...)"
        )
    return np.atleast_1d(value).view(np.uint64)


def _in_pieces(
    flat: Bits,
    amax: Bits,
    source: Format,
    scale: TensorScale | None,
    row: BlockFormat,
    rule: str,
    rounding: Rounding,
    symmetric: bool,
) -> tuple[Bits, Bits]:
    scales, elements = np.empty(len(flat), np.uint8), np.empty(flat.shape, row.element.storage)
    for start in range(0, len(flat), _BLOCKS_AT_ONCE):
        piece = slice(start, start + _BLOCKS_AT_ONCE)
        x, largest = flat[piece], amax[piece]
        special = largest > source.max_finite
        x, largest = np.where(special[:, None], 0, x).astype(x.dtype), np.where(special, 0, largest).astype(x.dtype)
        if scale is None:
            made = _scale_by_powers(x, largest, source, row, rule, rounding, symmetric)
        else:
            made = scale_blocks(x, largest, source, scale, row, rule, rounding)
        scales[piece] = np.where(special, row.scale.canonical_nan, made[0])
        elements[piece] = np.where(special[:, None], nan_element(row), made[1])
    return scales, elements


def _scale_by_powers(
    x: Bits, amax: Bits, source: Format, row: BlockFormat, rule: str, rounding: Rounding, symmetric: bool
) -> tuple[Bits, Bits]:
    exponents = scale_exponents(amax, source, row, rule)
    elements = round_elements(unpack(x, source), source, exponents[:, None], row, rounding, symmetric)
    return (exponents + MAX_SCALE_EXPONENT).astype(np.uint8), elements


def _scale_array(scales: Bits, row: BlockFormat) -> NDArray[Any]:
    # ue4m3 is what the unit reads of a byte of e4m3, which is what libraries hold.
    return np.ascontiguousarray(scales).view(dtype_of("e4m3" if row.scale.name == "ue4m3" else row.scale))
