# SPDX-License-Identifier: MIT
"""Which bits an array holds, what array some bits are, and how far apart two arrays are: of any dtype a test meets."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu import formats
from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, WmmaEmuError, shorten
from wmma_emu.formats import FORMATS, NOT_COMPARABLE, Format, dtypes, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import dtype_meant, dtype_of, format_of_dtype, ml_dtype_of, to_bits
from wmma_emu.formats.dtypes import from_bits as array_of


def _float(name: str, exponent_bits: int, bias: int, ieee: bool) -> Format:
    fraction_bits = 7 - exponent_bits
    canonical = (((1 << exponent_bits) - 1) << fraction_bits) | 1 << (fraction_bits - 1)
    return Format(name, "float", 8, True, exponent_bits, fraction_bits, bias, has_infinity=ieee,
                  nan="ieee" if ieee else "none", canonical_nan=canonical if ieee else 0x80,
                  source="ml_dtypes")  # fmt: skip


_OTHER_FLOATS = {
    "float8_e3m4": _float("float8_e3m4", 3, 3, True),
    "float8_e4m3": _float("float8_e4m3", 4, 7, True),
    "float8_e4m3fnuz": _float("float8_e4m3fnuz", 4, 8, False),
    "float8_e4m3b11fnuz": _float("float8_e4m3b11fnuz", 4, 11, False),
    "float8_e5m2fnuz": _float("float8_e5m2fnuz", 5, 16, False),
}
"""Types of ml_dtypes that no NVIDIA instruction has: they can be compared and drawn all the same."""

_OTHER_INTEGERS = {"int1": (1, True), "uint1": (1, False), "int2": (2, True), "uint2": (2, False)}


@cache
def _other_formats() -> dict[np.dtype[Any], Format]:
    """Formats of dtypes that the table of formats does not have, by dtype; those of this version of ml_dtypes."""
    found: dict[np.dtype[Any], Format] = {}
    for name, fmt in _OTHER_FLOATS.items():
        if (dtype := ml_dtype_of(name)) is not None:
            found[dtype] = fmt
    for name, (width, signed) in _OTHER_INTEGERS.items():
        if (dtype := ml_dtype_of(name)) is not None:
            found[dtype] = Format(name, "integer", width, signed)
    for size in (1, 2, 4, 8):
        for kind, signed in (("i", True), ("u", False)):
            dtype = np.dtype(f"{kind}{size}")
            if format_of_dtype(dtype) is None:
                found[dtype] = Format(dtype.name, "integer", 8 * size, signed)
    return found


def bits(array: object, format: "Format | str | None" = None) -> Bits:
    """Read an array's bit patterns as unsigned integers; no value is changed, no NaN loses its payload.

    Parameters
    ----------
    array : array, scalar of NumPy, or anything with ``__array__`` or DLPack
        Of any floating-point type of NumPy or ml_dtypes, any integers, or bool.
    format : Format or str, optional
        What the elements are, where the dtype does not say it: ``"tf32"`` in float32, ``"f16"`` in raw uint16. By
        default the dtype's own.

    Returns
    -------
    unsigned integer array
        A new one of the same shape, as wide as an element; elements of less than a byte take one each.

    Raises
    ------
    FragmentMismatchError
        For what has no bits to compare: objects, text, complex numbers, lists; and for another dtype than the format's.
    UnsupportedInstructionError
        For a format that does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> from wmma_emu.testing import bits
    >>> bits(np.array([1, -0.0, np.nan], np.float16))
    array([15360, 32768, 32256], dtype=uint16)
    >>> hex(bits(np.float32(1.5))), bits(np.array([0x3C00], np.uint16), "f16")
    ('0x3fc00000', array([15360], dtype=uint16))
    """
    return patterns_of(array, format, "array")[0]


def patterns_of(array: object, format: object, name: str) -> tuple[Bits, Format]:
    """`bits`, and what they are; ``name`` is what error messages call the array."""
    given = as_numpy(array, name)
    dtype = given.dtype
    fmt = _format_of(dtype, name) if format is None else format_meant(format)
    if dtype == fmt.storage and dtype != _dtype_of(fmt):
        if (given > fmt.mask).any():
            raise ArgumentValueError(
                f"{name} holds {hex(given.max())}, which is no pattern of {fmt}: the largest is {fmt.mask:#x}; "
                "patterns are one an entry, not packed"
            )
        return np.array(given), fmt
    if fmt.name in FORMATS:
        return to_bits(array, fmt, name), fmt
    if dtype != _dtype_of(fmt):
        raise ArgumentError(
            f"{name} is an array of {shorten(dtype, str)}, and {fmt} is wanted: {_dtype_of(fmt)}, "
            f"or {fmt.storage} (raw bits)"
        )
    return np.array(given.view(fmt.storage) & fmt.storage.type(fmt.mask)), fmt


def same_dtype(x: object, y: object, names: tuple[str, str]) -> str:
    """Say what is wrong with two arrays that no format was given for: their dtypes; nothing if they are the same."""
    one, other = as_numpy(x, names[0]).dtype, as_numpy(y, names[1]).dtype
    for dtype, name in ((one, names[0]), (other, names[1])):
        _format_of(dtype, name)
    if one == other:
        return ""
    text = f"{names[0]} is {shorten(one, str)} and {names[1]} is {shorten(other, str)}"
    for raw, typed, name in ((one, other, names[0]), (other, one, names[1])):
        fmt = format_of_dtype(typed) or _other_formats().get(typed)
        if raw.kind == "u" and fmt is not None and fmt.is_float and raw == fmt.storage:
            return f"{text}; if {name} holds bit patterns, say so with format={fmt.name!r}"
    return f"{text}: their bits do not correspond; convert one of them first, with the rounding that you mean"


def _format_of(dtype: np.dtype[Any], name: str) -> Format:
    fmt = format_of_dtype(dtype) or _other_formats().get(dtype)
    if fmt is not None:
        return fmt
    fix = "pass an array of numbers"
    if dtype.kind == "c":
        fix = f"pass {name}.real and {name}.imag, one after the other"
    elif dtype.kind == "O":
        fix = f"pass numpy.array({name}, dtype=...) with the dtype that is meant"
    elif dtype.kind in "mM":
        fix = f"pass {name}.view(numpy.int64)"
    elif dtype.names:
        fix = f"pass its fields one by one: {name}[{dtype.names[0]!r}]"
    elif dtype.kind == "V":
        fix = "numpy.save loses ml_dtypes dtypes: wmma_emu.formats.dtypes.reinterpret_void gives them back"
    elif dtype.kind == "f":
        fix = f"{dtype} has bytes that mean nothing: pass {name}.astype(numpy.float64), which rounds"
    raise ArgumentError(f"{name} is an array of {shorten(dtype, str)}, which is no format of numbers; {fix}")


def _dtype_of(fmt: Format) -> np.dtype[Any]:
    if fmt.name in FORMATS:
        return dtype_of(fmt)
    return next((dtype for dtype, known in _other_formats().items() if known.name == fmt.name), fmt.storage)


def format_meant(given: object) -> Format:
    """Find the format that a name of PTX, a `Format` or a dtype means; anything else is refused.

    Examples
    --------
    >>> import ml_dtypes
    >>> print(format_meant("tf32"), format_meant(ml_dtypes.bfloat16), format_meant("float16"))
    tf32 bf16 f16
    """
    if isinstance(given, Format) or (isinstance(given, str) and given in FORMATS):
        return format_of(given)
    known = dtypes.format_meant(given)
    if known is not None:
        return known
    dtype = dtype_meant(given)
    if dtype is None:
        return format_of(given)  # type: ignore[arg-type]
    try:
        return _format_of(dtype if dtype.isnative else dtype.newbyteorder("="), "format")
    except WmmaEmuError:
        raise OptionError(
            f"{shorten(dtype, str)} is the dtype of no format; the formats are {', '.join(FORMATS)}"
        ) from None


def from_bits(bits: ArrayLike, format: "Format | str") -> NDArray[Any]:
    """Make the array whose elements have these bit patterns: the inverse of `bits`.

    Parameters
    ----------
    bits : array of unsigned integers, or Python's integers
    format : Format, str or dtype
        tf32 travels in float32, ue4m3 as raw uint8.

    Returns
    -------
    array
        A new one of the same shape, in the format's dtype.

    Raises
    ------
    FragmentMismatchError
        For what are no bit patterns, or patterns that the format does not have.
    UnsupportedInstructionError
        For a format that does not exist.

    Examples
    --------
    >>> from wmma_emu.testing import from_bits
    >>> from_bits([0x3C00, 0x8000, 0x7C00], "f16")
    array([ 1., -0., inf], dtype=float16)
    >>> from_bits(0xFF, "s8"), from_bits(0x1FF, "s8")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: bits hold 0x1ff, which is no pattern of s8: the largest is 0xff
    """
    fmt = format_meant(format)
    try:
        given = np.asarray(bits) if isinstance(bits, list | tuple | int) else as_numpy(bits, "bits")
    except (ValueError, OverflowError):  # ragged lists
        given = np.asarray(None)
    if given.dtype.kind not in "iu" and given.size:
        raise ArgumentError(
            f"bits are {shorten(bits)}; patterns of {fmt} are unsigned integers such as {fmt.storage}; "
            "wmma_emu.testing.bits makes them from other arrays"
        )
    low, high = (int(given.min()), int(given.max())) if given.size else (0, 0)
    if low < 0 or high > fmt.mask:
        wrong = hex(low if low < 0 else high)
        raise ArgumentValueError(f"bits hold {wrong}, which is no pattern of {fmt}: the largest is {fmt.mask:#x}")
    word = given.astype(fmt.storage)
    return array_of(word, fmt) if fmt.name in FORMATS else word.view(_dtype_of(fmt))


def ulp_distance(x: object, y: object, format: "Format | str | None" = None) -> NDArray[np.uint64]:
    """Count the steps from one number to the next representable one that lead from x to y.

    Parameters
    ----------
    x, y : arrays of one dtype, or of patterns of ``format``
        Of shapes that broadcast.
    format : Format or str, optional

    Returns
    -------
    uint64 array
        0 for equal numbers; -0 and +0 are one number. The step after the largest finite number is infinity. NaN
        against a number, or against a NaN of other bits, is `NOT_COMPARABLE`. For integers it is the difference.

    Raises
    ------
    FragmentMismatchError
        If the arrays are of different dtypes, or their shapes do not broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> from wmma_emu.testing import ulp_distance
    >>> ulp_distance(np.float32([1, -0.0, 2]), np.float32([1 + 2**-22, 0, 1]))
    array([      2,       0, 8388608], dtype=uint64)
    """
    if format is None and (wrong := same_dtype(x, y, ("x", "y"))):
        raise ArgumentValueError(wrong)
    (left, fmt), (right, _) = patterns_of(x, format, "x"), patterns_of(y, format, "y")
    return distance(left, right, fmt)


def distance(left: Bits, right: Bits, fmt: Format) -> NDArray[np.uint64]:
    """`ulp_distance` of patterns."""
    if fmt.bits == 64 and not fmt.is_float:
        # One above the other, whatever their signs: the difference of their patterns.
        x, y = (np.array(v) for v in np.broadcast_arrays(left, right))
        larger = x.view(np.int64) > y.view(np.int64) if fmt.signed else x > y
        difference: NDArray[np.uint64] = np.where(larger, x - y, y - x)
        return difference
    apart = formats.ulp_distance(left, right, fmt)
    nan = is_nan(left, fmt) | is_nan(right, fmt)
    result: NDArray[np.uint64] = np.where(nan & np.not_equal(left, right), np.uint64(NOT_COMPARABLE), apart)
    return result


def is_nan(patterns: Bits, fmt: Format) -> NDArray[np.bool_]:
    """Whether patterns are NaN; where a format has no -0 in ml_dtypes, its pattern is."""
    if fmt.name.endswith("fnuz"):
        return np.asarray(patterns == fmt.sign_mask)
    if not fmt.is_float:
        return np.zeros(np.shape(patterns), np.bool_)
    return np.asarray(formats.unpack(patterns, fmt).is_nan)
