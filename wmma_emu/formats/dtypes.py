# SPDX-License-Identifier: MIT
"""Conversion of users' arrays to bits, and of bits to arrays."""

import re
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.extension_dtypes import DTYPES, UINT4, ml_dtype_names, ml_dtype_of
from wmma_emu.formats.memory_limit import require_memory
from wmma_emu.formats.names import formats_called
from wmma_emu.formats.packing import unpack_axis
from wmma_emu.formats.rounding import Bits
from wmma_emu.formats.spec import Format
from wmma_emu.formats.table import FORMATS, format_of
from wmma_emu.formats.torch_tensors import name_of_dtype

__all__ = [
    "DTYPE_NAMES", "dtype_meant", "dtype_of", "format_meant", "format_of_dtype", "formats_near", "from_bits",
    "ml_dtype_names", "ml_dtype_of", "reinterpret_void", "to_bits", "widens",
]  # fmt: skip

_DTYPES = {name: DTYPES.get(name, entry.storage) for name, entry in FORMATS.items()}
"""The dtype of arrays of each format; a format without a dtype in any library is held as raw patterns."""

_MEANINGS = {DTYPES[name]: name for name in FORMATS if name in DTYPES and name not in ("tf32", "ue4m3")}


def dtype_of(fmt: Format | str) -> np.dtype[Any]:
    """Return the dtype of arrays of a format; tf32 is held in float32, ue4m3 as raw uint8.

    Examples
    --------
    >>> dtype_of("tf32"), dtype_of("e2m1")
    (dtype('float32'), dtype(float4_e2m1fn))
    """
    return _DTYPES[format_of(fmt).name]


def format_of_dtype(dtype: DTypeLike) -> Format | None:
    """Return the format that a dtype stands for by default; None if it stands for none.

    Examples
    --------
    >>> print(format_of_dtype(np.float32), format_of_dtype(bool), format_of_dtype(np.int64))
    f32 b1 None
    """
    given = np.dtype(dtype)
    name = _MEANINGS.get(given if given.isnative else given.newbyteorder("="))
    return None if name is None else format_of(name)


DTYPE_NAMES = "or a dtype of NumPy, ml_dtypes, torch or JAX, or its name"
"""The values other than format names that `format_meant` accepts, for messages."""


def format_meant(given: object) -> Format | None:
    """Return the format that a PTX name, a `Format`, a dtype or an unambiguous name stands for; otherwise None.

    A NumPy name has NumPy's meaning: ``"float"`` is f64.

    Examples
    --------
    >>> [str(format_meant(x)) for x in ("bf16", "BF16", "fp16", "half", np.float32, "e4m3fn", "float", "fp8", None)]
    ['bf16', 'bf16', 'f16', 'f16', 'f32', 'e4m3', 'f64', 'None', 'None']
    """
    if isinstance(given, Format):
        return given
    if isinstance(given, str) and given in FORMATS:
        return FORMATS[given]
    dtype = _dtype_known(given)
    if dtype is not None:
        return format_of_dtype(dtype)
    called = formats_called(given) if isinstance(given, str) else ()
    return FORMATS[called[0]] if len(called) == 1 else None


def formats_near(given: object) -> str:
    """Return the end of a message with the formats that a string rejected by `format_meant` may stand for.

    Examples
    --------
    >>> formats_near("fp8"), formats_near("float8_e4m3"), formats_near("f17")
    ("; 'fp8' is several formats: e4m3, e5m2", "; PTX's is e4m3, whose dtype is float8_e4m3fn", '')
    """
    called = formats_called(given) if isinstance(given, str) else ()
    if len(called) == 1 and format_meant(given) is None:
        return f"; PTX's is {called[0]}, whose dtype is {dtype_of(called[0])}"
    return f"; {shorten(given)} is several formats: {', '.join(called)}" if len(called) > 1 else ""


def dtype_meant(given: object) -> np.dtype[Any] | None:
    """Return the dtype for a dtype of NumPy, ml_dtypes, torch or JAX, its name, or a format's name; otherwise None.

    A name that NumPy and PTX both define has NumPy's meaning: ``"u4"`` has four bytes.

    Examples
    --------
    >>> dtype_meant("bf16"), dtype_meant("float8_e5m2"), dtype_meant("u4"), dtype_meant("fp8"), dtype_meant(None)
    (dtype(bfloat16), dtype(float8_e5m2), dtype('uint32'), None, None)
    """
    dtype = _dtype_known(given)
    if dtype is not None or not isinstance(given, str):
        return dtype
    called = (given,) if given in FORMATS else formats_called(given)
    return dtype_of(called[0]) if len(called) == 1 else None


_QUALIFIED = re.compile(r"^(np|numpy|jnp|jax\.numpy|ml_dtypes)\.")
"""Prefixes of libraries whose dtypes have NumPy's names. torch's names differ: torch.float is f32."""


def _dtype_known(given: object) -> np.dtype[Any] | None:
    """Return the dtype for a dtype of NumPy, ml_dtypes, torch or JAX, or its name; not for names of formats."""
    if given is None:
        return None
    named = name_of_dtype(given) or given
    if isinstance(named, str):
        named = _QUALIFIED.sub("", named)
    known = ml_dtype_of(named) if isinstance(named, str) else None
    try:
        return np.dtype(named) if known is None else known  # type: ignore[call-overload]
    except Exception:  # SyntaxError for strings with commas, for example, or any error from a user's object
        return None


def to_bits(array: object, fmt: Format | str, name: str = "A", packed_axis: int | None = None) -> Bits:
    """Read a user's array as patterns of a format, one element per entry; values are never changed.

    Parameters
    ----------
    array : array, or anything with ``__array__`` or DLPack
        An array of the format's own dtype; or, for a float or signed format, raw bits in the unsigned dtype of the
        element's width (ml_dtypes.uint4 for s4 and e2m1).
    fmt : Format or str
    name : str
        The name of the array in error messages.
    packed_axis : {None, -1, -2}
        The axis of k, if the user named a 4-bit or 1-bit format: a uint8 array is then packed along it, with 2 or
        8 elements per byte, the lowest k in the lowest bits.

    Returns
    -------
    unsigned integer array of ``fmt.storage``
        A new array.

    Raises
    ------
    FragmentMismatchError
        If the dtype is not legal, raw bits are outside the format, or the argument is not an array.
    MemoryLimitError
        If the array has more elements than fit in this machine's memory.

    Examples
    --------
    >>> import ml_dtypes
    >>> to_bits(np.array([1.5, -2], ml_dtypes.bfloat16), "bf16")
    array([16320, 49152], dtype=uint16)
    >>> to_bits(np.array([[0x21, 0xF3]], np.uint8), "s4", packed_axis=-1)
    array([[ 1,  2,  3, 15]], dtype=uint8)
    """
    fmt = format_of(fmt)
    given = as_numpy(array, name)
    require_memory(given.shape, fmt.storage.itemsize, name)
    dtype = given.dtype
    if packed_axis is not None and fmt.bits in (1, 4) and dtype == np.uint8:
        return unpack_axis(given, fmt, packed_axis, name)
    if dtype == _DTYPES[fmt.name]:
        return _masked_bits(given, fmt)
    if fmt.name == "ue4m3" and dtype == _DTYPES["e4m3"]:
        return _require_mask(given.view(np.uint8), fmt, name, 0x7F, "negative e4m3 numbers")
    raw = _raw_dtype(fmt)
    if raw is not None and dtype == raw:
        word = given.view(fmt.storage)
        return _require_mask(word, fmt, name, fmt.mask, f"raw bits outside the {fmt.bits} of {fmt}")
    legal = [str(_user_dtype(fmt))] + ([f"{raw} (raw bits)"] if raw is not None else [])
    raise ArgumentError(
        f"{name} is an array of {shorten(dtype, str)}; expected {fmt}: {' or '.join(legal)}. {_fix(dtype, fmt, name)}"
    )


def from_bits(bits: Bits, fmt: Format | str) -> NDArray[Any]:
    """Turn patterns into a new array of the format's dtype, without rounding.

    Examples
    --------
    >>> from_bits(np.array([0x0F, 0x07], np.uint8), "s4"), from_bits(np.array([0x3FC0], np.uint16), "bf16")
    (array([-1, 7], dtype=int4), array([1.5], dtype=bfloat16))
    """
    fmt = format_of(fmt)
    word = np.array(bits.astype(fmt.storage) & fmt.storage.type(fmt.mask))
    dtype = _DTYPES[fmt.name]
    return word != 0 if dtype == np.bool_ else word.view(dtype)


def reinterpret_void(array: NDArray[Any], fmt: Format | str) -> NDArray[Any]:
    r"""Restore the ml_dtypes dtype of an array that ``numpy.save`` and ``numpy.load`` turned into a void array.

    This needs an explicit call: a void array does not record which of the formats of its width it holds.

    Raises
    ------
    FragmentMismatchError
        If the array is not void, or has another width.

    Examples
    --------
    >>> reinterpret_void(np.array([b"\xc0\x3f"], "V2"), "bf16")
    array([1.5], dtype=bfloat16)
    """
    fmt = format_of(fmt)
    dtype = _DTYPES[fmt.name]
    if not _is_void(array.dtype):
        raise ArgumentError(f"reinterpret_void expects a void array, not an array of {shorten(array.dtype, str)}")
    if array.dtype.itemsize != dtype.itemsize:
        raise ArgumentError(f"{array.dtype} does not hold {fmt}, whose dtype {dtype} takes {dtype.itemsize} bytes")
    return array.view(dtype)


def _is_void(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is plain void; the dtypes of ml_dtypes also have the kind "V", but are not."""
    return dtype.type is np.void and dtype.names is None


def _masked_bits(given: NDArray[Any], fmt: Format) -> Bits:
    if fmt.name == "b1":
        return given.astype(fmt.storage)
    # An int4 or a six-bit float occupies a byte, whose upper bits are ignored.
    return np.array(given.view(fmt.storage) & fmt.storage.type(fmt.mask))


def _require_mask(bits: Bits, fmt: Format, name: str, mask: int, what: str) -> Bits:
    outside = bits & ~fmt.storage.type(mask)
    if outside.any():
        first = hex(bits[outside != 0].flat[0])
        raise ArgumentValueError(f"{name} holds {what}, such as {first}; the largest is {mask:#x}")
    return np.array(bits)


def _raw_dtype(fmt: Format) -> np.dtype[Any] | None:
    if not (fmt.is_float or fmt.signed):
        return None
    return UINT4 if fmt.bits == 4 else fmt.storage


def _user_dtype(fmt: Format) -> np.dtype[Any]:
    """Return the dtype of a format's numbers in users' arrays; ue4m3 uses the dtype of e4m3."""
    return _DTYPES["e4m3" if fmt.name == "ue4m3" else fmt.name]


def widens(source: Format, target: Format) -> bool:
    """Return whether every number of one floating-point format is also a number of the other."""
    fits = target.fraction_bits >= source.fraction_bits and target.exponent_bits >= source.exponent_bits
    return source.is_float and source != target and fits


def _fix(dtype: np.dtype[Any], fmt: Format, name: str) -> str:
    wanted = _dtype_in_code(_user_dtype(fmt))
    if dtype == np.uint8 and fmt.bits in (1, 4):
        return (
            f"If it is packed, {8 // fmt.bits} elements per byte along k, pass "
            f"{name.lower()}_format={fmt.name!r}; otherwise pass one element per entry as {wanted}"
        )
    if dtype.kind in "iu" and dtype.itemsize > 1 and fmt.bits in (1, 4):
        return f"Pass words that hold several elements as bytes: {name}.view(numpy.uint8)"
    if _is_void(dtype):
        return f"numpy.save loses ml_dtypes dtypes: reinterpret_void({name}, {fmt.name!r}) restores this one"
    given = _MEANINGS.get(dtype)
    if given is not None and fmt in (format_of("f32"), format_of("f64")) and widens(format_of(given), fmt):
        return f"{name}.astype({wanted}) is exact"
    if dtype in (np.float32, np.float64) and fmt.name in ("f16", "f32"):
        return f"{name}.astype({wanted}) rounds once, to nearest even"
    if dtype.kind == "f" and dtype.type in (np.float16, np.float32, np.float64) and fmt.is_float:
        twice = " (astype of ml_dtypes rounds float64 twice, through float32)" if dtype.itemsize == 8 else ""
        call = f"from_bits(encode({name}, format_of({fmt.name!r})), {fmt.name!r})"
        unsigned = "" if fmt.signed else " (negative numbers become their absolute value)"
        return f"Round it with encode of wmma_emu.formats and from_bits of its dtypes module: {call}{unsigned}{twice}"
    if dtype.kind in "iu" and fmt.kind == "integer" and dtype.itemsize == _DTYPES[fmt.name].itemsize:
        bits = f"its low {fmt.bits} bits" if fmt.bits < 8 else "the same bits"
        return f"{name}.view({wanted}) keeps {bits}, {name}.astype({wanted}) the values"
    if dtype in _MEANINGS and _MEANINGS[dtype] in ("u8", "s8", "u4", "s4", "b1") and fmt.fraction_bits >= 7:
        return f"{name}.astype({wanted}) is exact"
    if ml_dtype_of(dtype.name) is not None or dtype.kind in "biuf":
        return f"{name}.astype({wanted}) wraps or rounds; wmma_emu.scalar.convert rounds patterns once"
    return "Arrays of this dtype cannot be converted"


def _dtype_in_code(dtype: np.dtype[Any]) -> str:
    """Return a dtype as it is written in code: ``numpy.int8``, ``ml_dtypes.int4``."""
    return f"{dtype.type.__module__}.{dtype.name}"
