# SPDX-License-Identifier: MIT
"""The adder and multiplier of one lane, for whole arrays: exact sums and products, rounded once.

The C library's ``fma`` is not used: NumPy does not offer it, and float64 with a cast to a narrower type
rounds twice. The specification, one number at a time, is `wmma_emu.scalar.reference`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError
from wmma_emu.formats import Format, Overflow, Rounding, format_of, round_pack, unpack
from wmma_emu.formats.codec import UnpackedArray
from wmma_emu.formats.rounding import Bits, Int64s, bit_length
from wmma_emu.formats.spec import check_modes
from wmma_emu.scalar import double, rounded_single
from wmma_emu.scalar.environment import ieee_arithmetic
from wmma_emu.scalar.reference import NaNOutput, check_nan_output, one
from wmma_emu.scalar.specials import combine_specials, propagate_nan, sign_of_zero, zero_like

_BLOCK = 1 << 13
_NO_EXPONENT = -(1 << 20)


def fma(
    a: Bits,
    b: Bits,
    c: Bits,
    fmt: Format | str,
    rounding: Rounding = "RNE",
    nan: NaNOutput = "canonical",
    *,
    out: Format | str | None = None,
    overflow: Overflow = "ieee",
) -> Bits:
    """Compute ``a * b + c`` exactly and round once, as the FMA pipes of the chip do.

    Parameters
    ----------
    a, b, c : unsigned integer arrays that broadcast together
        Patterns of the format.
    fmt : Format or str
        Any floating-point format.
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
    nan : {"canonical", "propagate"}
        The NaN of a result: the format's canonical NaN; or the first NaN among (b, c, a), made quiet, with sign and
        payload, as in NVIDIA's f64 units. A NaN that the operation itself produces is canonical.
    out : Format or str, optional
        The format of the result, if it differs.
    overflow : {"ieee", "infinity", "saturate"}

    Returns
    -------
    unsigned integer array of the result's ``storage``

    Notes
    -----
    The order of f64 NaNs was measured with DMMA on an NVIDIA H200, driver 580.159.04, 2026-11-21.

    Examples
    --------
    >>> a, c = np.array([0x3C01], np.uint16), np.array([0xBC02], np.uint16)
    >>> hex(fma(a, a, c, "f16")[0])                          # (1 + 2**-10)**2 - (1 + 2**-9) = 2**-20
    '0x10'
    """
    fmt = format_of(fmt)
    target = _check(fmt, out, rounding, nan, overflow)
    core = {"f64": double.fma_f64, "f32": _fma_f32}.get(fmt.name, partial(_fma_block, fmt))
    return _in_blocks(partial(core, target, rounding, nan, overflow), fmt, target, {"a": a, "b": b, "c": c})


def add(
    a: Bits,
    b: Bits,
    fmt: Format | str,
    rounding: Rounding = "RNE",
    nan: NaNOutput = "canonical",
    *,
    out: Format | str | None = None,
    overflow: Overflow = "ieee",
) -> Bits:
    """Compute ``a + b`` exactly and round once: a fused multiply-add of one, a and b.

    Examples
    --------
    >>> hex(add(np.array([0x3F800000], np.uint32), np.array([0x33800001], np.uint32), "f32")[0])
    '0x3f800001'
    """
    fmt = format_of(fmt)
    unit = np.array(one(fmt), fmt.storage)
    return fma(unit, a, b, fmt, rounding, nan, out=out, overflow=overflow)


def mul(
    a: Bits,
    b: Bits,
    fmt: Format | str,
    rounding: Rounding = "RNE",
    nan: NaNOutput = "canonical",
    *,
    out: Format | str | None = None,
    overflow: Overflow = "ieee",
) -> Bits:
    """Compute ``a * b`` exactly and round once.

    Examples
    --------
    >>> hex(mul(np.array([0x0001], np.uint16), np.array([0xB800], np.uint16), "f16", "RD")[0])
    '0x8001'
    """
    fmt = format_of(fmt)
    target = _check(fmt, out, rounding, nan, overflow)
    core = double.mul_f64 if fmt.name == "f64" else partial(_fma_block, fmt)
    return _in_blocks(partial(core, target, rounding, nan, overflow), fmt, target, {"a": a, "b": b})


def _check(fmt: Format, out: Format | str | None, rounding: str, nan: str, overflow: str) -> Format:
    target = fmt if out is None else format_of(out)
    fmt.require_float()
    target.require_float()
    check_modes(rounding, overflow)
    check_nan_output(nan)
    if nan == "propagate" and target != fmt:
        raise ArgumentValueError(
            f"a NaN of {fmt} cannot be propagated into {target}; use nan='canonical', or omit out="
        )
    return target


def _in_blocks(core: Callable[..., Bits], fmt: Format, target: Format, operands: dict[str, Bits]) -> Bits:
    """Apply a function of equal flat arrays piece by piece, so that its temporaries stay in the cache."""
    for name, array in operands.items():
        kind = getattr(array, "dtype", None)
        if kind is None or kind.kind != "u":
            given = type(array).__name__ if kind is None else f"an array of {kind}"
            raise ArgumentError(
                f"{name} holds {fmt} patterns as unsigned integers of {fmt.storage}, not {given}; "
                "wmma_emu.formats.dtypes.to_bits converts other arrays"
            )
    try:
        arrays = np.broadcast_arrays(*operands.values())
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in operands.items())
        raise ShapeError(f"the shapes do not broadcast together: {shapes}") from None
    shape, size = arrays[0].shape, arrays[0].size
    if size <= _BLOCK:
        return core(*arrays).reshape(shape)
    flat = [array.reshape(-1) for array in arrays]
    result = np.empty(size, target.storage)
    for start in range(0, size, _BLOCK):
        piece = slice(start, start + _BLOCK)
        result[piece] = core(*(array[piece] for array in flat))
    return result.reshape(shape)


def _fma_f32(target: Format, rounding: Rounding, nan: NaNOutput, overflow: Overflow, a: Bits, b: Bits, c: Bits) -> Bits:
    """Compute on float64 if results are rounded to nearest even, otherwise on integers."""
    fmt = format_of("f32")
    if rounding != "RNE" or target != fmt or overflow == "saturate" or nan == "propagate":
        return _fma_block(fmt, target, rounding, nan, overflow, a, b, c)
    x, y, z = (np.ascontiguousarray(word, np.uint32) for word in (a, b, c))
    with ieee_arithmetic():
        return rounded_single.fma(x, y, z)


def _fma_block(
    fmt: Format,
    target: Format,
    rounding: Rounding,
    nan: NaNOutput,
    overflow: Overflow,
    a: Bits,
    b: Bits,
    c: Bits | None = None,
) -> Bits:
    """Compute one block; without ``c``, a zero with the product's sign, which changes nothing, is added."""
    x, y = unpack(a, fmt), unpack(b, fmt)
    z = zero_like(x.sign ^ y.sign) if c is None else unpack(c, fmt)
    word = _multiply_add(x, y, z, fmt, target, rounding, overflow)
    word = combine_specials(word, x, y, z, target, overflow)
    addend = [] if c is None else [(c, z)]
    return propagate_nan(word, fmt, (b, y), *addend, (a, x)) if nan == "propagate" else word


def _multiply_add(
    x: UnpackedArray,
    y: UnpackedArray,
    z: UnpackedArray,
    fmt: Format,
    target: Format,
    rounding: Rounding,
    overflow: Overflow,
) -> Bits:
    """Round x * y + z of finite numbers; significands of at most 24 bits, so that all fit in an int64."""
    product = x.significand * y.significand
    product_exponent = x.exponent + y.exponent - 2 * fmt.fraction_bits
    addend_exponent = z.exponent - fmt.fraction_bits
    # The leading bit of the larger term is shifted to bit 60, with at least 13 zeros below its 48 bits. The
    # dropped bits of the smaller term become one sticky bit; bits are dropped only if it is more than 2**12
    # times smaller, so the difference cannot cancel, and the sticky bit is far below the last bit kept.
    low = np.maximum(_top(product, product_exponent), _top(z.significand, addend_exponent)) - 61
    total = _with_sign(shift_with_sticky(product, product_exponent - low), x.sign ^ y.sign)
    total += _with_sign(shift_with_sticky(z.significand, addend_exponent - low), z.sign)
    sign = np.where(total == 0, sign_of_zero(x.sign ^ y.sign, z.sign, rounding), total < 0)
    return round_pack(sign, np.abs(total), low, target, rounding, overflow)


def _top(significand: Int64s, exponent: Int64s) -> Int64s:
    """Return the exponent of the bit above the leading bit; a tiny exponent for zero."""
    return np.where(significand == 0, _NO_EXPONENT, bit_length(significand) + exponent)


def shift_with_sticky(significand: Int64s, places: Int64s) -> Int64s:
    """Shift left, or right with the dropped bits merged into the last bit.

    Examples
    --------
    >>> shift_with_sticky(np.array([0b1011, 0b1000, 0b1011]), np.array([-2, -3, 1]))
    array([ 3,  1, 22])
    """
    right = np.clip(-places, 0, 63)
    whole = significand >> right
    lost = (whole << right) != significand
    shifted: Int64s = (whole | lost) << np.clip(places, 0, 61)
    return shifted


def _with_sign(magnitude: Int64s, sign: NDArray[np.bool_]) -> Int64s:
    return np.where(sign, -magnitude, magnitude)
