# SPDX-License-Identifier: MIT
"""Quantisation of arrays to block-scaled formats: one scale factor per block, elements rounded once."""

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
from wmma_emu.quantise.blocks import axis_of, join_blocks, largest_of_squares, split_blocks
from wmma_emu.quantise.elements import nan_element, round_elements
from wmma_emu.quantise.nvfp4 import FLOAT32_RULES, TensorScale, reciprocal, scale_blocks, tensor_scale_of
from wmma_emu.quantise.rules import MAX_SCALE_EXPONENT, scale_exponents
from wmma_emu.quantise.spec import BlockFormat
from wmma_emu.quantise.table import block_format_of, scale_rule_of

_BLOCKS_AT_ONCE = 1 << 14
"""The number of blocks per step: temporaries take about a hundred bytes per element."""


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
    square: bool = False,
    random_bits: object = None,
) -> BlockScaled:
    """Quantise an array to a block-scaled format, bit for bit according to its definition.

    Parameters
    ----------
    x : array of float64, float32, bfloat16, float16 or a narrower float
        An array of NumPy, PyTorch (on the CPU) or JAX, or an object with ``__array__`` or DLPack. It is read as bits:
        values are not changed before they are quantised.
    block_format : str or BlockFormat
        ``"mxfp8_e4m3"``, ``"mxfp8_e5m2"``, ``"mxfp6_e3m2"``, ``"mxfp6_e2m3"``, ``"mxfp4_e2m1"``, ``"mxint8"`` or
        ``"nvfp4"``.
    axis : int
        The axis along which blocks extend: k in a matrix product.
    rule : str, optional
        The rule for scale factors, the name of an entry of `SCALE_RULES` in any case; the entries have the
        definitions: ``"floor"`` (the default; OCP), ``"ceil"``, ``"rceil"``, ``"even"``, ``"rne"``; for NVFP4
        ``"rne"`` (the default), ``"torchao"``, ``"torchao_cuda"``, ``"division"``, ``"transformer_engine"``.
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
        The rounding of the elements.
    pad : bool
        Whether to fill a short last block with zeros, which the result then includes. Otherwise it is rejected.
    symmetric : bool
        MXINT8 only: whether -127 is the smallest element. False allows -128, whose value -2.0 has no positive
        counterpart.
    tensor_scale : float32, optional
        NVFP4 only: a calibrated second-level scale; 1.0 for none. E in ``"transformer_engine"`` is then its rounded
        reciprocal.
    tensor_amax : float, optional
        NVFP4 only: the largest magnitude to assume, instead of the largest of ``x``.
    square : bool
        Whether the scale of a block depends on a whole square of a matrix, such as 16 x 16 elements in NVFP4, so that
        blocks along either axis give the same elements. It is for weights, in training.
    random_bits : array of uint8, shape of ``x``, optional
        NVFP4 only, with a rule that computes in float32: a random number for the stochastic rounding of each element,
        as Transformer Engine rounds gradients; see Notes.

    Returns
    -------
    BlockScaled
        An operand of `wmma_emu.gemm`, if its blocks lie along k. It has ``elements``, ``scales``, ``block_format``,
        ``axis`` and ``tensor_scale``; the first two are tensors of torch, or arrays of JAX, if ``x`` is one.

    Raises
    ------
    FragmentMismatchError
        If ``x`` is not an array of floats, the axis does not exist, or the last block is short.
    UnsupportedInstructionError
        If a name does not exist, or the format does not support an option.

    Notes
    -----
    Division by a power of two changes only exponents, so elements are rounded once; NVFP4 quotients are exact quotients
    of integers, or rounded to float32 if the recipe does so. Elements saturate: numbers that are too large become the
    largest element of their sign (OCP Microscaling Formats 1.0, section 6.3).

    Zeros keep their sign, except in MXINT8, which has one zero. A block of zeros gets the scale 2**-127 (byte 0; in
    NVFP4 the rule's scale for 0). Subnormal numbers are not flushed. A block with a NaN or an infinity gets the scale
    NaN (0xFF; ue4m3 0x7F) and the elements to which conversions turn NaN: NaN; the largest number in e2m1, e3m2 and
    e2m3; 0 in MXINT8. The OCP specification leaves this open. Other blocks and the tensor scale are not affected. A
    scale that would exceed 2**127 is 2**127; microxcaling uses NaN.

    With ``random_bits`` a magnitude between two elements gets ``random / 256`` of their distance, in one float32
    multiply-add, and is truncated: `stochastic_round_fp4_e2m1` of Transformer Engine. How `cvt.rs`, the instruction of
    a B200, distributes its 32 random bits to four elements is not in the text of the PTX manual, and is not modelled.

    Examples
    --------
    >>> x = np.array([[1.0, -0.3, 448.0, 1e-9] * 8], np.float32)
    >>> q = quantise(x, "mxfp8_e4m3")
    >>> q.scale_bits, q.element_bits[0, :4]
    (array([[127]], dtype=uint8), array([ 56, 170, 126,   0], dtype=uint8))
    >>> q.dequantise()[0, :4].tolist()
    [1.0, -0.3125, 448.0, 0.0]
    """
    fmt = block_format_of(block_format)
    named = scale_rule_of(rule, fmt).name
    check_modes(rounding, "saturate")
    _check_flag("pad", pad)
    _check_flag("symmetric", symmetric)
    _check_flag("square", square)
    _check_options(fmt, symmetric, tensor_scale, tensor_amax)
    bits, source = _read(x, fmt, named)
    position = axis_of(axis, bits.ndim)
    blocks = split_blocks(bits, fmt, position, pad)
    flat = blocks.reshape(-1, fmt.block)
    amax = (flat & source.storage.type(source.mask & ~source.sign_mask)).max(axis=-1)
    if square:
        amax = largest_of_squares(amax.reshape(blocks.shape[:-1]), fmt).reshape(-1)
    scale = _tensor_scale(amax, source, fmt, named, tensor_scale, tensor_amax)
    random = None
    if random_bits is not None:
        given = _random_bits(random_bits, bits.shape, rounding, named)
        random = split_blocks(given, fmt, position, pad).reshape(flat.shape)
    scales, elements = _in_pieces(flat, amax, source, scale, fmt, named, rounding, symmetric, random)
    return BlockScaled(
        from_bits(join_blocks(elements.reshape(blocks.shape), position), fmt.element),
        _scale_array(np.moveaxis(scales.reshape(blocks.shape[:-1]), -1, position), fmt),
        fmt,
        position,
        None if scale is None else np.uint32(scale.decode).view(np.float32),
    )


quantize = quantise


def _check_flag(name: str, given: object) -> None:
    if not isinstance(given, bool | np.bool_):
        raise OptionError(f"{name}={shorten(given)} is neither True nor False")


def _check_options(fmt: BlockFormat, symmetric: bool, tensor_scale: object, tensor_amax: object) -> None:
    if not symmetric and fmt.element.is_float:
        raise OptionError(
            f"symmetric=False applies only to mxint8, whose elements are integers; {fmt} is always symmetric"
        )
    given = [name for name, x in (("tensor_scale", tensor_scale), ("tensor_amax", tensor_amax)) if x is not None]
    if given and not fmt.has_tensor_scale:
        raise OptionError(f"{given[0]} applies only to nvfp4; {fmt} has no second level of scaling")
    if len(given) == 2:
        raise OptionError("tensor_scale and tensor_amax both set the second-level scale; pass one of them")


def _read(x: object, fmt: BlockFormat, rule: str) -> tuple[Bits, Format]:
    given = as_numpy(x, "x")
    source = format_of_dtype(given.dtype)
    if source is None or not source.is_float or not source.signed:
        raise ArgumentError(
            f"quantise takes floating-point numbers, not an array of {shorten(given.dtype, str)}; "
            "pass x.astype(numpy.float32), or float64, if that is exact"
        )
    if rule in FLOAT32_RULES and source.name == "f64":
        raise OptionError(
            f"rule={rule!r} computes in float32, and x is float64; pass x.astype(numpy.float32), or rule='rne'"
        )
    return to_bits(given, source, "x"), source


def _tensor_scale(
    amax: Bits, source: Format, fmt: BlockFormat, rule: str, tensor_scale: object, tensor_amax: object
) -> TensorScale | None:
    if not fmt.has_tensor_scale:
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
        raise ArgumentValueError(f"tensor_amax={shorten(given)} is not a finite magnitude; pass max(abs(x))")
    with np.errstate(over="ignore"):
        inexact = np.float64(np.float32(value)) != value
    if rule in FLOAT32_RULES and inexact:
        raise ArgumentValueError(
            f"tensor_amax={shorten(given)} is not a float32 number, in which rule={rule!r} computes; pass "
            "numpy.float32(...)"
        )
    return np.atleast_1d(value).view(np.uint64)


def _random_bits(given: object, shape: tuple[int, ...], rounding: Rounding, rule: str) -> Bits:
    if rule not in FLOAT32_RULES:
        raise OptionError(
            f"random_bits was given with rule={rule!r}; stochastic rounding is defined for the rules of NVFP4 that "
            f"compute in float32: {', '.join(FLOAT32_RULES)}"
        )
    if rounding != "RNE":
        raise OptionError(f"random_bits and rounding={rounding!r} both say how elements are rounded; leave one out")
    random = as_numpy(given, "random_bits")
    if random.dtype != np.uint8 or random.shape != shape:
        raise ArgumentError(
            f"random_bits is an array of {shorten(random.dtype, str)} of shape {random.shape}; expected uint8 of shape "
            f"{shape}, one number for each element: numpy.random.default_rng(seed).integers(0, 256, shape, numpy.uint8)"
        )
    return random


def _in_pieces(
    flat: Bits,
    amax: Bits,
    source: Format,
    scale: TensorScale | None,
    fmt: BlockFormat,
    rule: str,
    rounding: Rounding,
    symmetric: bool,
    random: Bits | None,
) -> tuple[Bits, Bits]:
    scales, elements = np.empty(len(flat), np.uint8), np.empty(flat.shape, fmt.element.storage)
    for start in range(0, len(flat), _BLOCKS_AT_ONCE):
        piece = slice(start, start + _BLOCKS_AT_ONCE)
        x, largest = flat[piece], amax[piece]
        special = largest > source.max_finite
        x, largest = np.where(special[:, None], 0, x).astype(x.dtype), np.where(special, 0, largest).astype(x.dtype)
        if scale is None:
            made = _scale_by_powers(x, largest, source, fmt, rule, rounding, symmetric)
        else:
            made = scale_blocks(
                x, largest, source, scale, fmt, rule, rounding, None if random is None else random[piece]
            )
        scales[piece] = np.where(special, fmt.scale.canonical_nan, made[0])
        elements[piece] = np.where(special[:, None], nan_element(fmt), made[1])
    return scales, elements


def _scale_by_powers(
    x: Bits, amax: Bits, source: Format, fmt: BlockFormat, rule: str, rounding: Rounding, symmetric: bool
) -> tuple[Bits, Bits]:
    exponents = scale_exponents(amax, source, fmt, rule)
    elements = round_elements(unpack(x, source), source, exponents[:, None], fmt, rounding, symmetric)
    return (exponents + MAX_SCALE_EXPONENT).astype(np.uint8), elements


def _scale_array(scales: Bits, fmt: BlockFormat) -> NDArray[Any]:
    # Libraries store e4m3 bytes; the unit reads them as ue4m3, without the sign bit.
    return np.ascontiguousarray(scales).view(dtype_of("e4m3" if fmt.scale.name == "ue4m3" else fmt.scale))
