# SPDX-License-Identifier: MIT
"""Reading arrays and integers: NumPy arrays, and arrays of other libraries that NumPy can read."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ShapeError, shorten
from wmma_emu.formats.integers import integer_of
from wmma_emu.formats.libraries import library_of
from wmma_emu.formats.memory_limit import require_memory

__all__ = ["MAX_AXES", "as_numpy", "integer_of", "is_masked", "is_numpy"]

MAX_AXES = 32
"""The largest number of axes that NumPy broadcasts and that all of its functions accept."""


def is_numpy(array: object) -> bool:
    """Return whether NumPy's functions accept an object as it is: an array, a scalar, or a symbol of `wmma_emu.llvm`.

    Examples
    --------
    >>> is_numpy(np.float32(1)), is_numpy(1.0)
    (True, False)
    """
    return isinstance(array, np.ndarray | np.generic) or getattr(type(array), "array_module", None) is np


def is_masked(array: object) -> bool:
    """Return whether an array is a masked array of NumPy, in which values may be missing.

    `numpy.ma` is not imported for the check: a program that has a masked array has already imported it.

    Examples
    --------
    >>> is_masked(np.ma.masked_array([1, 2], [0, 1])), is_masked(np.array([1, 2]))
    (True, False)
    """
    ma = sys.modules.get("numpy.ma")
    # Another thread may be importing the module: then there are no such arrays yet.
    return isinstance(array, getattr(ma, "MaskedArray", ()))


def as_numpy(array: object, name: str = "A") -> NDArray[Any]:
    """Read any array as a NumPy array in native byte order, without changing it.

    The result may be a view of the caller's data; bfloat16 and FP8 use the dtypes of ml_dtypes. Lists and Python
    numbers, which have no dtype, are rejected, and so are masked arrays, None, strings, and more than 32 axes.

    Examples
    --------
    >>> as_numpy(np.array([1, 256], ">u2")).view(np.uint8)
    array([1, 0, 0, 1], dtype=uint8)
    """
    if is_masked(array):
        raise ArgumentError(f"{name} is a masked array; pass {name}.filled(value)")
    if isinstance(array, np.ndarray | np.generic):
        given = np.asarray(array)
    else:
        library = library_of(array)
        given = _foreign(array, name) if library is None else library.read(array, name)
    if given.ndim > MAX_AXES:
        raise ShapeError(
            f"{name} has {given.ndim} axes; at most {MAX_AXES} are supported: reshape the leading axes into one"
        )
    if not given.dtype.isnative:
        require_memory(given.shape, given.dtype.itemsize, name)
        given = given.astype(given.dtype.newbyteorder("="))
    return given


def _foreign(array: Any, name: str) -> NDArray[Any]:
    kind = shorten(type(array).__name__, str)
    library = shorten(type(array).__module__, str).partition(".")[0]
    if isinstance(array, list | tuple | int | float | complex):
        raise ArgumentError(
            f"{name} is a Python {kind}, which has no dtype; "
            f"pass numpy.array({name}, dtype=...) with the intended dtype"
        )
    try:
        if hasattr(array, "__array__"):
            return np.asarray(array)
        if hasattr(array, "__dlpack__"):
            return np.from_dlpack(array)
    except Exception as error:
        raise ArgumentError(
            f"{name} is a {library} {kind} that NumPy cannot read: {shorten(error, str)}. {_fix(array, name)}"
        ) from error
    raise ArgumentError(f"{name} is {shorten(array)} ({kind}); expected a NumPy array, or one with __array__ or DLPack")


def _fix(array: object, name: str) -> str:
    if hasattr(type(array), "get"):
        return f"Bring it to the host: {name}.get()"
    return "Pass a NumPy array of its values, or of its bits as unsigned integers"
