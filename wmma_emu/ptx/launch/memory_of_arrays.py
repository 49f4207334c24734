# SPDX-License-Identifier: MIT
"""Arrays as pointers: the requirements on their types and their layout, and raw bytes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats.arrays import is_masked
from wmma_emu.ptx.launch.source_types import SourceType


class Raw:
    """The bytes of an array as they are in memory: the result of `raw`.

    Attributes
    ----------
    array : array
        The user's array.
    memory : array of uint8
        All bytes between the first and the last of its elements, including bytes of other elements.
    offset : int
        The position of the element with index 0 in these bytes.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        if array.size == 0:
            self.memory, self.offset = np.zeros(0, np.uint8), 0
            return
        lo, hi = byte_bounds(array)
        self.offset = int(array.ctypes.data) - lo
        # The element at the lowest address, as bytes, extended over all of them.
        lowest = array[(..., *(slice(-1, None) if x < 0 else slice(1) for x in array.strides))]
        first = lowest.reshape(1).view(np.uint8)
        self.memory = np.lib.stride_tricks.as_strided(first, (hi - lo,), (1,))

    def __repr__(self) -> str:
        return f"raw({shown_array(self.array)})"


def raw(array: NDArray[Any]) -> Raw:
    """Pass an array as its bytes in memory, whatever type the kernel uses.

    Use it for kernels that take a view and its strides, or that read other types than the array's. The kernel may
    access all bytes between the first and the last element of the view; the pointer is to the element of index 0.

    Parameters
    ----------
    array : array

    Raises
    ------
    FragmentMismatchError
        If the value is not a NumPy array, or its elements are not plain bytes.

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
    """Reject an array whose elements a kernel cannot read, or would read in the wrong order."""
    _require_bytes(array, label)
    for dtype in _scalars_of(array.dtype):
        _require_known(dtype, array, label)
    if not array.flags.c_contiguous:
        raise ArgumentValueError(
            f"{label} is a view that is not contiguous ({shown_array(array)}, strides {array.strides}): a kernel would "
            "read other elements than the view's. Pass y = np.ascontiguousarray(x), and copy back with "
            "x[...] = y; or, if the kernel takes the strides, its bytes: wmma_emu.ptx.raw(x) (on the command line "
            "raw:x.npy)"
        )


def require_plain_value(dtype: np.dtype[Any], label: str) -> None:
    """Reject a scalar or a record whose bytes mean nothing to a kernel; bytes without a type are legal.

    Examples
    --------
    >>> require_plain_value(np.dtype([("n", ">i4")]), "field 0 of a struct")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentError: field 0 of a struct contains a value of >i4, with swapped bytes: pass numbers in the
    byte order of the host, x.astype(x.dtype.newbyteorder("="))
    """
    for each in _scalars_of(dtype):
        if each.hasobject:
            fault = "a Python object, which kernels cannot read: pass its value"
        elif not each.isnative:
            native = 'x.astype(x.dtype.newbyteorder("="))'
            fault = f"a value of {each.str}, with swapped bytes: pass numbers in the byte order of the host, {native}"
        elif each.kind in "UMm":
            fault = f"a value of {each}, text, a date or a time, which kernels cannot read: pass bytes, or an integer"
        elif each.itemsize > _WIDEST.get(each.kind, each.itemsize):
            fault = f"a value of {each}, the host's long double, which GPUs do not support: pass np.float64"
        else:
            continue
        raise ArgumentError(f"{label} contains {fault}")


def _scalars_of(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
    """Yield the scalar types of a structure's fields; a type without fields yields itself."""
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
            f"{label} is an array of text ({shown_array(array)}), which kernels cannot read: pass its bytes, "
            "x.view(np.uint8), or numbers"
        )
    if kind in "Mm":
        raise ArgumentError(
            f"{label} is an array of {'dates' if kind == 'M' else 'times'} ({shown_array(array)}), which kernels "
            "cannot read: pass their counts, x.view(np.int64)"
        )
    if dtype.type is np.void:
        raise ArgumentError(
            f"{label} is an array of bytes without a type ({shown_array(array)}): pass a view with their type, "
            f"x.view(np.{'uint8' if dtype.itemsize not in (2, 4, 8) else f'uint{dtype.itemsize * 8}'})"
        )
    if dtype.type in (np.longdouble, np.clongdouble) and dtype.itemsize > _WIDEST[kind]:
        raise ArgumentError(
            f"{label} is an array of the host's long double ({shown_array(array)}), which GPUs do not support: pass "
            f"x.astype({'np.float64' if kind == 'f' else 'np.complex128'})"
        )


_WIDEST = {"f": 8, "c": 16}
"""The bytes of the widest floating-point number and complex number of a kernel."""


def _require_bytes(array: NDArray[Any], label: str) -> None:
    if is_masked(array):
        raise ArgumentError(f"{label} is a masked array; pass its .filled(value), or its .data")
    if array.dtype.hasobject:
        raise ArgumentError(f"{label} is an array of Python objects ({shown_array(array)}), which kernels cannot read")
    if not array.dtype.isnative:
        raise ArgumentError(
            f"{label} has elements with swapped bytes ({array.dtype.str}); "
            'pass an array of .astype(dtype.newbyteorder("="))'
        )


def require_type(array: NDArray[Any], source: SourceType, label: str) -> None:
    """Reject an array with other elements than those that its parameter points to."""
    element = source.element
    if element is None or element.holds(array.dtype):
        return
    dtype = element.dtypes[-1 if array.dtype.kind == "c" else 0]
    module = "np" if hasattr(np, dtype) else "ml_dtypes"
    name = f"{module}.{dtype}" if dtype != "bool" else "np.bool_"
    raise ArgumentError(
        f"{label} is {source.text}, but the array is of {array.dtype} (shape {array.shape}): pass an array of {name}, "
        f"such as y = x.astype({name}), which receives the results too; or, if the kernel is to reinterpret the bytes "
        "of x, wmma_emu.ptx.raw(x) (on the command line raw:x.npy)"
    )


def memory_of(value: NDArray[Any] | Raw) -> tuple[NDArray[Any], int]:
    """Return the array whose bytes are mapped into the kernel's memory, and the offset of the pointer in them."""
    return (value.memory, value.offset) if isinstance(value, Raw) else (value, 0)


def shown_array(array: NDArray[Any]) -> str:
    """Describe an array in messages: its dtype and shape."""
    return f"{shorten(array.dtype, str)}, shape {array.shape}"
