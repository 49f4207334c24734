# SPDX-License-Identifier: MIT
"""Global and shared memory of a kernel: arrays that are read and written only inside their bounds."""

from typing import Any

import numpy as np

from wmma_emu.errors import ArgumentError, ArgumentValueError, DivergenceError, OutOfBoundsError, shorten
from wmma_emu.formats.arrays import is_masked
from wmma_emu.kernels.accesses import record_access
from wmma_emu.kernels.indices import require_inside
from wmma_emu.kernels.lanes import Lanes
from wmma_emu.memory import require_writable
from wmma_emu.watching import report_view, watching

_ROW_PER_LANE = (
    "A[i] of memory with more axes would copy a row for each lane: use A[i:] for a pointer to a row, A[t.uniform(i)] "
    "for "
    "the row that all lanes share, A[i, j] for an element of each lane, A[i, :] for a copy of the rows"
)
"""The error for such an index.

A tile stored to such a copy would be lost, even if all lanes share the row.
"""


class Memory(np.ndarray):
    """An array in global or shared memory, of which a kernel may access only existing elements.

    It shares memory with the array that it was made from. Indices do not wrap: an index, or a bound of a slice, below 0
    raises an error, and so does an index past the end, where a GPU would access the adjacent memory. Indexing with
    `Lanes` gives `Lanes`. Slices are again memory; masks, other index arrays and functions of NumPy give plain arrays.

    ``A + 256``, pointer arithmetic in C++, raises an error: a slice is the pointer. ``numpy.add(A, 256, out=A)`` adds
    to the elements.

    Raises
    ------
    OutOfBoundsError
        If an index is out of bounds. Nothing is written then.
    DivergenceError
        If each lane would implicitly read a different row.
    FragmentMismatchError
        For ``A + 256``, and if an index is not an integer.

    Examples
    --------
    >>> A, i = as_memory_of_kernel(np.arange(40.0)), Lanes(np.arange(16, 48))
    >>> A[8:][0], A[np.minimum(i, 39)][20:28]
    (np.float64(8.0), Lanes([36., 37., 38., 39., 39., 39., 39., 39.]))
    >>> A[i]
    Traceback (most recent call last):
        ...
    wmma_emu.errors.OutOfBoundsError: index 40 in lane 24 (others in lanes 25-31) is out of bounds for axis 0, which has
    40 elements; mask the lanes, c = i < n; D[i[c]] = v[c], or clamp the index, A[np.minimum(i, n - 1)]
    """

    def __getitem__(self, key: Any) -> Any:
        entries = require_inside(self.shape, key)
        try:
            result = self.view(np.ndarray)[entries]
        except IndexError as error:
            raise OutOfBoundsError(_index_error_text(self, error)) from None
        kind = _kind(entries, self.ndim) if isinstance(result, np.ndarray) else None
        if watching.watcher is not None and kind is not Memory:  # a slice is a pointer
            record_access(self, entries, "ld", result)
        if kind is not Lanes:
            return result if kind is None else result.view(kind)
        values = result.view(Lanes)
        values.which = next((x.which for x in entries if isinstance(x, Lanes)), None)
        return values

    def __setitem__(self, key: Any, values: Any) -> None:
        require_writable(self)
        entries = require_inside(self.shape, key, writes=True)
        if values is None or isinstance(values, str | bytes | complex):
            raise ArgumentError(f"memory of {self.dtype} takes numbers, not {shorten(values)}")
        plain = self.view(np.ndarray)
        try:
            if watching.watcher is not None:
                values = record_access(self, entries, "st", values)
            plain[entries] = values
        except IndexError as error:
            raise OutOfBoundsError(_index_error_text(self, error)) from None
        except (ValueError, TypeError, OverflowError) as error:
            raise ArgumentValueError(f"{shorten(values)} was not written: {shorten(error, str)}") from None

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __str__(self) -> str:
        return str(self.view(np.ndarray))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: tuple[Any, ...] = (), **kwargs: Any) -> Any:
        """Compute as with plain arrays; ``numpy.add.at``, the atomicAdd of a kernel, checks its indices too."""
        if method == "at" and isinstance(inputs[0], Memory):
            entries = require_inside(inputs[0].shape, inputs[1])
            inputs = (inputs[0], entries, *inputs[2:])
            if watching.watcher is not None:
                record_access(inputs[0], entries, "red", inputs[0].view(np.ndarray)[entries])
        if ufunc is np.add and method == "__call__" and isinstance(inputs[1], Memory):
            # With Lanes on the left, only this branch is reached.
            _require_no_pointer(inputs[1], inputs[0], "{0} + A", "A[{0}:]", "add")
        if watching.watcher is not None:
            _record_all(inputs[2:] if method == "at" else inputs, "ld")
        if out:
            kwargs["out"] = _plain(out)
        result = getattr(ufunc, method)(*_plain(inputs), **kwargs)
        if watching.watcher is not None:
            _record_all(out, "st")
        return out[0] if len(out) == 1 else result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Run functions such as `numpy.diff`, which use negative indices internally, on plain arrays."""
        result = func(*_plain(args), **_plain(kwargs))
        is_view = type(result) is np.ndarray and np.may_share_memory(result, self.view(np.ndarray))
        if watching.watcher is not None and not is_view:
            if func in _WRITING:
                _record_all(args[:1], "st")
                _record_all(args[1:], "ld")
            elif isinstance(result, np.ndarray | np.generic):
                _record_all(args, "ld")
        return result.view(Memory) if is_view else result

    def fill(self, value: Any) -> None:
        """Set all elements."""
        super().fill(value)
        report_view(self, "st")

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Set elements by their index in the flattened memory."""
        super().put(indices, values, mode)
        report_view(self, "st")

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sort the elements in place."""
        report_view(self)
        super().sort(*args, **kwargs)
        report_view(self, "st")

    def __add__(self, other: Any) -> Any:
        _require_no_pointer(self, other, "A + {0}", "A[{0}:]", "add")
        return super().__add__(other)

    def __iadd__(self, other: Any) -> Any:
        _require_no_pointer(self, other, "A += {0}", "A = A[{0}:]", "add")
        return super().__iadd__(other)

    def __sub__(self, other: Any) -> Any:
        _require_no_pointer(self, other, "A - {0}", "whole[n - {0}:] where A is whole[n:]", "subtract")
        return super().__sub__(other)

    def __isub__(self, other: Any) -> Any:
        _require_no_pointer(self, other, "A -= {0}", "A = whole[n - {0}:] where A is whole[n:]", "subtract")
        return super().__isub__(other)


def as_memory_of_kernel(argument: Any) -> Any:
    """View an array as memory; other arguments, single numbers and values of lanes stay unchanged."""
    if is_masked(argument):
        raise ArgumentError("an argument is a masked array, but memory has no mask; pass x.filled(value)")
    if not isinstance(argument, np.ndarray) or isinstance(argument, Lanes) or argument.ndim == 0:
        return argument
    return argument.view(Memory)


_WRITING = (np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal)
"""The functions that write to their first argument."""


def _record_all(given: Any, what: str) -> None:
    """Record an access to all elements of each memory among some arguments."""
    for x in given:
        if isinstance(x, Memory):
            report_view(x, what)
        elif type(x) in (list, tuple):
            _record_all(x, what)


def _index_error_text(memory: Memory, error: IndexError) -> str:
    return (
        f"{shorten(error, str)}; memory of shape {memory.shape} takes {memory.ndim} indices, or a mask of that shape; "
        "for "
        "a condition c of the lanes, write a[i[c]]"
    )


def _plain(given: Any) -> Any:
    """Replace memory by plain arrays, in sequences too."""
    if isinstance(given, Memory):
        return given.view(np.ndarray)
    if type(given) in (list, tuple):
        return type(given)(_plain(x) for x in given)
    return {name: _plain(x) for name, x in given.items()} if type(given) is dict else given


def _kind(entries: Any, axes: int) -> type[np.ndarray]:
    """Return the type of an access's result: a part of the memory, values of lanes, or plain values.

    NumPy puts the axes of index arrays in their own position, or first if a slice separates them: lanes come last if
    nothing follows the first index and no axis remains.
    """
    if len(entries) == axes and all(type(x) is Lanes and x.dtype.kind != "b" for x in entries):
        return Lanes  # by far the most frequent case
    arrays = [x for x in entries if isinstance(x, np.ndarray)]
    if not arrays:
        return Memory
    lanes = [x for x in arrays if isinstance(x, Lanes) and x.dtype.kind != "b"]
    if not lanes or any(isinstance(x, bool | np.bool_) for x in entries) or any(x.dtype.kind == "b" for x in arrays):
        return np.ndarray
    indexed = [isinstance(x, int | np.ndarray) for x in entries]
    first = indexed.index(True)
    if not all(indexed[first:]):
        return np.ndarray
    before = entries[:first]
    if Ellipsis not in before and len(entries) - before.count(None) < axes:
        if not before:
            raise DivergenceError(_ROW_PER_LANE)
        return np.ndarray
    width = max(x.shape[-1] for x in arrays)
    return Lanes if any(x.shape[-1] == width for x in lanes) else np.ndarray


def _require_no_pointer(memory: Memory, other: Any, expression: str, fix: str, function: str) -> None:
    """Reject memory plus or minus an integer, or one per lane; a copy of memory is a plain array of values."""
    if isinstance(other, np.ndarray):
        if other.dtype.kind not in "iu" or (other.ndim and not isinstance(other, Lanes)):
            return
    elif not isinstance(other, int | np.integer):
        return
    owner: Any = memory
    while isinstance(getattr(owner, "base", None), np.ndarray):
        owner = owner.base
    if isinstance(owner, Memory):
        return
    shown = "i" if isinstance(other, np.ndarray) else shorten(other, str)
    raise ArgumentError(
        f"{expression} does not move a pointer in Python; use the slice {fix}; numpy.{function}(A, {{0}}, out=A) "
        "changes the elements".format(shown)
    )
