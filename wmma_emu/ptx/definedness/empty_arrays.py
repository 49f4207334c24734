# SPDX-License-Identifier: MIT
"""Arrays that nobody has written, as ``cudaMalloc`` gives memory: `empty`, and which of their bytes are still so."""

import weakref
from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import DTypeLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.dtypes import dtype_meant
from wmma_emu.formats.room import require_room
from wmma_emu.suggestions import did_you_mean

_FILL = 0xFF
"""What the bytes hold: NaN in floats, -1 in integers, so that results which they get into show it."""


class Uninitialised:
    """The bytes of one call of `empty`: where they lie, and which of their bits nobody wrote."""

    def __init__(self, buffer: NDArray[np.uint8], itemsize: int) -> None:
        self.buffer, self._itemsize = buffer, itemsize
        self.lo, self.hi = byte_bounds(buffer)
        self.bits = np.full(len(buffer), 0xFF, np.uint8)

    def look(self) -> None:
        """Count elements as written that no longer hold the fill: somebody has assigned to them unseen.

        Of elements that are written in part, which kernels store so, the rest is unwritten whatever it holds.
        """
        changed = ~self._are_full(self.buffer)
        if changed.any():
            self.bits.reshape(-1, self._itemsize)[changed & self._are_full(self.bits)] = 0

    def _are_full(self, flat: NDArray[np.uint8]) -> NDArray[np.bool_]:
        word = next(x for x in (8, 4, 2, 1) if self._itemsize % x == 0)
        words = flat.view(f"u{word}").reshape(-1, self._itemsize // word)
        return np.asarray((words == ~words.dtype.type(0)).all(axis=-1))


_known: "weakref.WeakSet[Uninitialised]" = weakref.WeakSet()
"""Those that an array still refers to."""


def uninitialised_bits_of(array: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Give the parts of an array's bytes that lie in one that `empty` made: where they begin, and their bits.

    The bits are those that nobody wrote, a byte of them for each byte; they may be changed in place.
    """
    if not array.nbytes:
        return
    lo, hi = byte_bounds(array)
    for state in list(_known):
        begin, end = max(lo, state.lo), min(hi, state.hi)
        if begin < end:
            state.look()
            yield begin - lo, state.bits[begin - state.lo : end - state.lo]


class _AsItWas(Uninitialised):
    """A copy, which nobody assigns to: what its record says stays."""

    def look(self) -> None:
        """Nothing has changed."""


def keep_uninitialised(copy: NDArray[np.uint8], lo: int) -> list[Uninitialised]:
    """Say of a copy of bytes that begin at an address of the host which of its bits nobody wrote, as it is of these.

    The record, if there is one, is to be kept as long as that is to be known of the copy.
    """
    found = np.zeros(len(copy), np.uint8)
    for state in list(_known):
        begin, end = max(lo, state.lo), min(lo + len(copy), state.hi)
        if begin < end:
            state.look()
            found[begin - lo : end - lo] = state.bits[begin - state.lo : end - state.lo]
    if not found.any():
        return []
    record = _AsItWas(copy, 1)
    record.bits = found
    _known.add(record)
    return [record]


class EmptyArray(np.ndarray[Any, Any]):
    """An array of `empty`, or a view of one: what is assigned to its elements counts as written, for all its views.

    Assignments, ``fill``, ``put``, ``sort``, ``np.copyto`` and its like, and the ``out`` of any function are seen. Of
    what is written in other ways, by another library or through ``np.asarray(x)``, elements that hold something else
    than 0xFF in every byte count as written when a launch begins; of others, `mark_written` says so. Copies, and
    results of calculations, are ordinary arrays.
    """

    _state: Uninitialised | None = None

    def __array_finalize__(self, obj: Any) -> None:
        state = getattr(obj, "_state", None)
        if state is not None and self.nbytes:
            lo, hi = byte_bounds(self)
            self._state = state if state.lo <= lo and hi <= state.hi else None

    def mark_written(self) -> None:
        """Say that all elements have been written.

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
        """Copy to an ordinary array."""
        return self.view(np.ndarray).copy(order)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return self.copy().__reduce__()


def _written_by(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Say which arrays one of NumPy's functions writes to, and where: ``out``, or its first argument."""
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
    """Make an array that nobody has written, as ``cudaMalloc`` gives memory.

    It is a NumPy array, to be used as any other; a kernel that uses what neither it, nor a launch before it, nor the
    program has written to it gets a finding, "uninitialised". Every byte holds 0xFF until it is written.

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
        For a dtype whose elements are no plain bytes, and for what is no dtype or no shape.
    MemoryLimitError
        For more bytes than the machine has.

    Examples
    --------
    >>> x = empty((2, 3), np.float32)
    >>> x[0] = 1
    >>> x.shape, [bits.reshape(2, 3, 4).any(axis=-1).tolist() for _, bits in uninitialised_bits_of(x)]
    ((2, 3), [[[False, False, False], [True, True, True]]])
    """
    kind, sizes = _dtype_of(dtype), _shape_of(shape)
    require_room(sizes, 2 * kind.itemsize, "an empty array, with its record of what is unwritten,")
    count = prod(sizes)
    buffer = np.full(count * kind.itemsize, _FILL, np.uint8)
    plain: NDArray[Any] = buffer.view(kind).reshape(sizes)
    found = plain.view(EmptyArray)
    if count:
        found._state = Uninitialised(buffer, kind.itemsize)
        _known.add(found._state)
    return found


def _dtype_of(given: Any) -> np.dtype[Any]:
    kind = dtype_meant(given)
    if kind is None:
        hint = did_you_mean(given, map(str, np.sctypeDict), "empty takes one of numbers, such as np.float32")
        raise ArgumentError(f"dtype={shorten(given)} is no dtype{hint}")
    if kind.hasobject or not kind.itemsize:
        raise ArgumentError(f"{shorten(kind, str)} has no plain bytes; empty takes a dtype of numbers")
    return kind


def _shape_of(given: Any) -> tuple[int, ...]:
    sizes = list(given) if isinstance(given, Iterable) else [given]
    numbers = [x for x in map(integer_of, sizes) if x is not None and x >= 0]
    if len(numbers) != len(sizes):
        raise ArgumentValueError(
            f"shape={shorten(given)} is no shape: an integer from 0 on, or a tuple of them, such as (4, 8)"
        )
    return tuple(numbers)
