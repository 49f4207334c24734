# SPDX-License-Identifier: MIT
"""Which format a name or a dtype means where values are drawn: no codes of NumPy, and the nearest name for others."""

from typing import Any

import numpy as np

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.formats import FORMATS, Format
from wmma_emu.formats.dtypes import format_of_dtype, ml_dtype_names, ml_dtype_of
from wmma_emu.formats.torch_tensors import name_of_dtype
from wmma_emu.suggestions import likeness, nearest, question
from wmma_emu.testing.patterns import format_meant

_OTHER_NAMES = {
    "fp64": "f64", "fp32": "f32", "fp16": "f16", "fp8": "e4m3", "fp6": "e3m2", "fp4": "e2m1", "half": "f16",
    "float": "f32", "single": "f32", "double": "f64", "int": "s32", "i32": "s32", "bool_": "b1", "bf": "bf16",
}  # fmt: skip
"""Names that others use; they are suggested, and not taken."""

_WIDTHS = {
    ("f", 1): ("e4m3", "e5m2"), ("f", 2): ("f16", "bf16"), ("f", 4): ("f32", "e2m1"), ("f", 8): ("e4m3", "e5m2"),
    ("i", 1): ("s8", "b1"), ("i", 4): ("s32", "s4"), ("i", 8): ("s8",), ("u", 1): ("u8", "b1"), ("u", 8): ("u8",),
}  # fmt: skip
"""What a code such as ``f8`` may be meant as: its number counts bytes in NumPy, and bits in names of formats."""


def format_named(given: object, *, dtypes: bool = True) -> Format:
    """Find the format of a name, a dtype or a type; ``dtypes`` is whether other things than formats are legal.

    Codes of NumPy, whose ``"f8"`` has eight bytes, are refused as misspelt names are.

    Examples
    --------
    >>> print(format_named("tf32"), format_named("bfloat16"), format_named("float4_e2m1fn"))
    tf32 bf16 e2m1
    >>> format_named("fp16")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnknownNameError: there is no format 'fp16'; did you mean 'f16'?
    """
    given = name_of_dtype(given) or given
    if isinstance(given, Format) or (isinstance(given, str) and given in FORMATS):
        return format_meant(given)
    if isinstance(given, str):
        dtype = _named(given) if dtypes else None
        if dtype is None:
            raise UnknownNameError(_unknown(given, dtypes))
        given = dtype
    if isinstance(given, np.dtype):
        return format_meant(given)
    if isinstance(given, type):
        return _of_type(given)
    if hasattr(given, "dtype"):
        return format_meant(given)
    raise UnknownNameError(f"{shorten(given)} is no format; {_LEGAL}")


_LEGAL = f"pass a dtype, or one of {', '.join(FORMATS)}"


def _of_type(given: type) -> Format:
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except Exception:  # whatever NumPy makes of it
        dtype = np.dtype(object)
    if dtype.kind == "O":
        raise UnknownNameError(f"{shorten(given)} is the type of no format; {_LEGAL}")
    return format_meant(dtype)


def _named(given: str) -> np.dtype[Any] | None:
    """The dtype of exactly this name: ``"float64"``, and not ``"f8"`` or ``"double"``."""
    dtype = ml_dtype_of(given)
    if dtype is not None:
        return dtype
    dtype = _as_numpy(given)
    return dtype if dtype is not None and dtype.name == given else None


def _as_numpy(given: str) -> np.dtype[Any] | None:
    try:
        return np.dtype(given)
    except Exception:  # SyntaxError of text with commas among others
        return None


def _unknown(given: str, dtypes: bool) -> str:
    text = f"there is no format {shorten(given)}"
    dtype = _as_numpy(given)
    if dtypes and dtype is not None and dtype.kind in "biufc" and len(given) <= 4 and given.lower() not in FORMATS:
        other = _WIDTHS.get((dtype.kind, dtype.itemsize), ()) if given[-1:].isdigit() else ()
        meant = f", or did you mean {' or '.join(map(repr, other))}?" if other else ""
        return f"{text}: in NumPy this is a code of {dtype.name}; pass {dtype.name!r} for that{meant}"
    near = _near(given, dtypes)
    return f"{text}{question(near) or f'; {_LEGAL}'}"


def _near(given: str, dtypes: bool) -> list[str]:
    """The nearest names: the one that differs in its capitals, or is another's name for the same; or a few."""
    low = given.lower()
    if low in FORMATS or low in _OTHER_NAMES:
        return [_OTHER_NAMES.get(low, low)]
    meant = None if dtypes else _named(low)
    if meant is not None and (fmt := format_of_dtype(meant)) is not None:
        return [fmt.name]
    legal = list(FORMATS)
    if dtypes:
        legal += ml_dtype_names()
        legal += [np.dtype(code).name for code in "?bBhHiIqQefd"]
    found = nearest(low, legal, 2, 0.6)
    # A second one only if it is as near.
    return [name for name in found if likeness(name, low) > likeness(found[0], low) - 0.05]
