# SPDX-License-Identifier: MIT
"""An array as a pointer: what can stand for one, of which type it has to be, and how its bytes alone are meant."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats.arrays import is_masked
from wmma_emu.ptx.launch.source_types import SourceType


class Raw:
    """The bytes of an array, as they lie in memory: what `raw` returns.

    Attributes
    ----------
    array : array
        Of the user.
    memory : array of uint8
        All bytes between the first and the last one of its elements, of other elements too.
    offset : int
        Where in them its element of index 0 is.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        if array.size == 0:
            self.memory, self.offset = np.zeros(0, np.uint8), 0
            return
        lo, hi = byte_bounds(array)
        self.offset = int(array.ctypes.data) - lo
        # The element of the lowest address, as bytes, stretched over all of them.
        lowest = array[(..., *(slice(-1, None) if x < 0 else slice(1) for x in array.strides))]
        first = lowest.reshape(1).view(np.uint8)
        self.memory = np.lib.stride_tricks.as_strided(first, (hi - lo,), (1,))

    def __repr__(self) -> str:
        return f"raw({shown_array(self.array)})"


def raw(array: NDArray[Any]) -> Raw:
    """Pass an array as the bytes that it has in memory, whatever the kernel takes them for.

    A kernel that is told the strides of a view takes it so, and one that reads other types than the array has. It may
    access all bytes between the first and the last element of the view; the pointer is to the element of index 0.

    Parameters
    ----------
    array : array

    Raises
    ------
    FragmentMismatchError
        For what is no NumPy array, and arrays whose elements are no plain bytes.

    Examples
    --------
    >>> a = np.arange(12, dtype=np.int16).reshape(3, 4)
    >>> raw(a.T).memory.size, raw(a[:, 1:3]).memory.size, raw(a[::-1]).offset
    (24, 20, 16)
    """
    if isinstance(array, Raw):
        return array
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"raw takes a NumPy array, not {shorten(array)}")
    _require_bytes(array, "the array")
    return Raw(array)


def require_readable(array: NDArray[Any], label: str) -> None:
    """Refuse an array whose elements a kernel cannot read, or finds in another order than the array's."""
    _require_bytes(array, label)
    for dtype in _scalars_of(array.dtype):
        _require_known(dtype, array, label)
    if not array.flags.c_contiguous:
        raise ArgumentValueError(
            f"{label} is a view that is not contiguous ({shown_array(array)}, strides {array.strides}): a kernel finds "
            "other elements in its memory than the view has. Pass y = np.ascontiguousarray(x), and copy back with "
            "x[...] = y; or, if the kernel is told the strides, its bytes: wmma_emu.ptx.raw(x) (on the command line "
            "raw:x.npy)"
        )


def _scalars_of(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
    """Give the types of a structure's fields; a type that is no structure is its own."""
    if dtype.subdtype is not None:
        yield from _scalars_of(dtype.base)
    elif dtype.fields is None:
        yield dtype
    else:
        for field in dtype.fields.values():
            yield from _scalars_of(field[0])


def _require_known(dtype: np.dtype[Any], array: NDArray[Any], label: str) -> None:
    kind = dtype.kind
    if kind in "SU":
        raise ArgumentError(
            f"{label} is an array of text ({shown_array(array)}), which no kernel reads: pass its bytes, "
            "x.view(np.uint8), or numbers"
        )
    if kind in "Mm":
        raise ArgumentError(
            f"{label} is an array of {'dates' if kind == 'M' else 'times'} ({shown_array(array)}), which no kernel "
            "reads: pass their counts, x.view(np.int64)"
        )
    if dtype.type is np.void:
        raise ArgumentError(
            f"{label} is an array of bytes without a type ({shown_array(array)}): pass a view of what they are, "
            f"x.view(np.{'uint8' if dtype.itemsize not in (2, 4, 8) else f'uint{dtype.itemsize * 8}'})"
        )
    if dtype.type in (np.longdouble, np.clongdouble) and dtype.itemsize > _WIDEST[kind]:
        raise ArgumentError(
            f"{label} is an array of the host's long double ({shown_array(array)}), a type that no GPU has: pass "
            f"x.astype({'np.float64' if kind == 'f' else 'np.complex128'})"
        )


_WIDEST = {"f": 8, "c": 16}
"""Bytes of the widest floating-point number and complex number of a kernel."""


def _require_bytes(array: NDArray[Any], label: str) -> None:
    if is_masked(array):
        raise ArgumentError(f"{label} is a masked array; pass its .filled(value), or its .data")
    if array.dtype.hasobject:
        raise ArgumentError(f"{label} is an array of Python objects ({shown_array(array)}), which no kernel can read")
    if not array.dtype.isnative:
        raise ArgumentError(
            f"{label} has the bytes of its elements in the other order ({array.dtype.str}); "
            'pass an array of .astype(dtype.newbyteorder("="))'
        )


def require_type(array: NDArray[Any], source: SourceType, label: str) -> None:
    """Refuse an array of other elements than its parameter points to."""
    element = source.element
    if element is None or element.holds(array.dtype):
        return
    dtype = element.dtypes[-1 if array.dtype.kind == "c" else 0]
    module = "np" if hasattr(np, dtype) else "ml_dtypes"
    name = f"{module}.{dtype}" if dtype != "bool" else "np.bool_"
    raise ArgumentError(
        f"{label} is {source.text}, and the array is of {array.dtype} (shape {array.shape}): pass an array of {name}, "
        f"such as y = x.astype({name}), which takes the results too; or, if the kernel is to take the bytes of x for "
        "them, wmma_emu.ptx.raw(x) (on the command line raw:x.npy)"
    )


def memory_of(value: NDArray[Any] | Raw) -> tuple[NDArray[Any], int]:
    """Return the array whose bytes get a place in the kernel's memory, and where in them a pointer points."""
    return (value.memory, value.offset) if isinstance(value, Raw) else (value, 0)


def shown_array(array: NDArray[Any]) -> str:
    """Write what messages say of an array: its dtype and shape."""
    return f"{shorten(array.dtype, str)}, shape {array.shape}"
