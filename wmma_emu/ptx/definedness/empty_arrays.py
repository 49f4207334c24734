# SPDX-License-Identifier: MIT
"""Uninitialised arrays, like memory from ``cudaMalloc``: `empty`, and which of their bytes are still uninitialised."""

import weakref
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import DTypeLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.dtypes import dtype_meant
from wmma_emu.formats.memory_limit import require_memory
from wmma_emu.ptx.pages import aligned
from wmma_emu.suggestions import did_you_mean

_FILL = 0xFF
"""The initial bytes: NaN in floats, -1 in integers, so that results that depend on them show it."""


class Uninitialised:
    """The bytes of one call of `empty`: their addresses, and which of their bits are uninitialised."""

    def __init__(self, buffer: NDArray[np.uint8], itemsize: int) -> None:
        self.buffer, self._itemsize = buffer, itemsize
        self.lo, self.hi = byte_bounds(buffer)
        self.bits = np.full(len(buffer), 0xFF, np.uint8)

    def refresh(self) -> None:
        """Mark elements that no longer hold the fill as written: they were assigned to in an untracked way.

        In elements that are partly written, as kernels may store them, the remaining bits stay uninitialised whatever
        they hold.
        """
        changed = ~self._are_full(self.buffer)
        if changed.any():
            self.bits.reshape(-1, self._itemsize)[changed & self._are_full(self.bits)] = 0

    def _are_full(self, flat: NDArray[np.uint8]) -> NDArray[np.bool_]:
        word = next(x for x in (8, 4, 2, 1) if self._itemsize % x == 0)
        words = flat.view(f"u{word}").reshape(-1, self._itemsize // word)
        return np.asarray((words == ~words.dtype.type(0)).all(axis=-1))


_records: "weakref.WeakSet[Uninitialised]" = weakref.WeakSet()
"""The records to which an array still refers."""


def uninitialised_bits_of(array: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield the parts of an array's bytes that `empty` allocated: their beginnings, and their uninitialised bits.

    The bits are a mask with a byte for each byte; it may be changed in place.
    """
    if not array.nbytes or not len(_records):
        return
    lo, hi = byte_bounds(array)
    for state in list(_records):
        begin, end = max(lo, state.lo), min(hi, state.hi)
        if begin < end:
            state.refresh()
            yield begin - lo, state.bits[begin - state.lo : end - state.lo]


class _FrozenRecord(Uninitialised):
    """The record of a copy to which nothing is assigned: it does not change."""

    def refresh(self) -> None:
        """Keep the record, since nothing has changed."""


def keep_uninitialised(copy: NDArray[np.uint8], lo: int) -> list[Uninitialised]:
    """Record the uninitialised bits of a copy of host bytes that begin at an address.

    The caller must keep the returned record, if there is one, as long as the bits of the copy are to be known.
    """
    found = np.zeros(len(copy), np.uint8)
    for state in list(_records):
        begin, end = max(lo, state.lo), min(lo + len(copy), state.hi)
        if begin < end:
            state.refresh()
            found[begin - lo : end - lo] = state.bits[begin - state.lo : end - state.lo]
    if not found.any():
        return []
    record = _FrozenRecord(copy, 1)
    record.bits = found
    _records.add(record)
    return [record]


class EmptyArray(np.ndarray[Any, Any]):
    """An array of `empty`, or a view of one, which tracks the elements that are assigned to, for all its views.

    Assignments, ``fill``, ``put``, ``sort``, ``np.copyto`` and similar functions, and the ``out`` of any function are
    tracked. Writes of other kinds, by another library or through ``np.asarray(x)``, are detected when a launch begins,
    in elements that hold something else than 0xFF in every byte; for other elements, call `mark_written`. Copies, and
    results of calculations, are ordinary arrays.
    """

    _state: Uninitialised | None = None

    def __array_finalize__(self, obj: Any) -> None:
        state = getattr(obj, "_state", None)
        if state is not None and self.nbytes:
            lo, hi = byte_bounds(self)
            self._state = state if state.lo <= lo and hi <= state.hi else None

    def mark_written(self) -> None:
        """Mark all elements as written.

        Examples
        --------
        >>> x = empty(4, np.uint16)
        >>> np.asarray(x)[:] = 0xFFFF
        >>> x.mark_written()
        >>> [bits.any() for _, bits in uninitialised_bits_of(x)]
        [np.False_]
        """
        self._mark(...)

    def _mark(self, key: Any) -> None:
        state = self._state
        if state is None or not self.size:
            return
        offset = int(self.__array_interface__["data"][0]) - state.lo
        kind = np.dtype((np.void, self.itemsize))
        flags: NDArray[Any] = np.ndarray(self.shape, kind, state.bits, offset, self.strides)
        flags[key] = np.zeros((), kind)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, _plain(value))
        self._mark(_plain_index(key))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        outputs = keywords.get("out", ())
        if outputs:
            keywords["out"] = tuple(_plain(x) for x in outputs)
        result = getattr(ufunc, method)(*(_plain(x) for x in inputs), **keywords)
        where = keywords.get("where", True)
        for output in outputs:
            if isinstance(output, EmptyArray):
                output._mark(... if where is True else np.broadcast_to(_plain(where), output.shape))
        if method == "at" and isinstance(inputs[0], EmptyArray):
            inputs[0]._mark(_plain_index(inputs[1]))
        if not outputs:
            return result
        return outputs[0] if len(outputs) == 1 else outputs

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, keywords: Any) -> Any:
        result = super().__array_function__(function, types, args, keywords)
        written = _written_by(function, args, keywords)
        for array, where in written:
            if isinstance(array, EmptyArray):
                array._mark(where)
        return result

    def fill(self, value: Any) -> None:
        """Write one value to all elements."""
        super().fill(value)
        self._mark(...)

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write values at flat indices, as ``numpy.ndarray.put`` does."""
        super().put(indices, values, mode)
        flat = np.zeros(self.size, np.bool_)
        flat.put(indices, True, mode)
        self._mark(flat.reshape(self.shape))

    def sort(self, *args: Any, **keywords: Any) -> None:
        """Sort in place; all elements count as written."""
        super().sort(*args, **keywords)
        self._mark(...)

    def copy(self, order: Any = "C") -> Any:
        """Return a copy as an ordinary array."""
        return self.view(np.ndarray).copy(order)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return self.copy().__reduce__()


def _written_by(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the arrays to which a NumPy function writes, and the elements: of ``out``, or of its first argument."""
    outputs = keywords.get("out")
    for array in outputs if isinstance(outputs, tuple) else (outputs,):
        yield array, ...
    if function is np.copyto:
        where = keywords.get("where", True)
        target = keywords["dst"] if "dst" in keywords else args[0]
        yield target, ... if where is True else np.broadcast_to(_plain(where), np.shape(target))
    elif function in (np.place, np.putmask) and len(args) > 1:
        yield args[0], np.asarray(_plain(args[1]), np.bool_).reshape(np.shape(args[0]))
    elif function in (np.put_along_axis, np.fill_diagonal) and args:
        yield args[0], ...


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, EmptyArray) else value


def _plain_index(key: Any) -> Any:
    return tuple(_plain(x) for x in key) if isinstance(key, tuple) else _plain(key)


def empty(shape: Any, dtype: DTypeLike) -> EmptyArray:
    """Return an uninitialised array, like memory from ``cudaMalloc``.

    It is a NumPy array, and used like any other. If a kernel uses elements that were not written, by the kernel itself,
    an earlier launch or the program, it gets the finding "uninitialised". Every byte holds 0xFF until it is written.
    The address is a multiple of 256.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype

    Returns
    -------
    EmptyArray

    Raises
    ------
    FragmentMismatchError
        If the elements of the dtype are not plain bytes, or if the dtype or the shape is not valid.
    MemoryLimitError
        If the machine does not have enough memory.

    Examples
    --------
    >>> x = empty((2, 3), np.float32)
    >>> x[0] = 1
    >>> x.shape, [bits.reshape(2, 3, 4).any(axis=-1).tolist() for _, bits in uninitialised_bits_of(x)]
    ((2, 3), [[[False, False, False], [True, True, True]]])
    """
    kind, sizes = _dtype_of(dtype), _shape_of(shape)
    require_memory(sizes, 2 * kind.itemsize, "an empty array, with its record of uninitialised bits,")
    count = prod(sizes)
    buffer = aligned(count * kind.itemsize, _FILL)
    plain: NDArray[Any] = buffer.view(kind).reshape(sizes)
    found = plain.view(EmptyArray)
    if count:
        found._state = Uninitialised(buffer, kind.itemsize)
        _records.add(found._state)
    return found


def _dtype_of(given: Any) -> np.dtype[Any]:
    kind = dtype_meant(given)
    if kind is None:
        hint = did_you_mean(given, map(str, np.sctypeDict), "empty takes a dtype of numbers, such as np.float32")
        raise ArgumentError(f"dtype={shorten(given)} is not a dtype{hint}")
    if kind.hasobject or not kind.itemsize or kind.subdtype is not None:
        raise ArgumentError(f"the elements of {shorten(kind, str)} are not plain bytes; empty takes a dtype of numbers")
    return kind


def _shape_of(given: Any) -> tuple[int, ...]:
    is_tuple = isinstance(given, list | tuple | range) or (isinstance(given, np.ndarray) and given.ndim == 1)
    sizes = list(given) if is_tuple else [given]
    numbers = [x for x in map(integer_of, sizes) if x is not None and x >= 0]
    if len(numbers) != len(sizes):
        raise ArgumentValueError(
            f"shape={shorten(given)} is not a shape; pass a non-negative integer, or a tuple of these, such as (4, 8)"
        )
    return tuple(numbers)
