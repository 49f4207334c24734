# SPDX-License-Identifier: MIT
"""Tensor memory: 128 lanes of 512 words, of which instructions can access the allocated columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.display import warn_caller
from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    OptionError,
    OutOfBoundsError,
    ShapeError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
    shorten,
)
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.tensor_address import COLUMNS, LANES, address, column_of, indices, lane_and_column, lane_of

__all__ = ["COLUMNS", "LANES", "TensorMemory", "address", "column_of", "lane_of"]

WORD_BITS = 32

SMALLEST = 32
"""The minimum number of columns of an allocation; PTX ISA 9.0, 9.7.16.7.1 (tcgen05.alloc)."""


class TensorMemory:
    """The tensor memory of one CTA: `lanes` x `columns` words of 32 bits, none of them allocated at first.

    Instructions can access allocated columns only; any other access is an error, where a GPU's behaviour is undefined.
    Uninitialised words, which were not written since the allocation of their column, read as 0, with a warning: a GPU
    returns leftover data. The same holds for the upper half of a word of which only the lower half was written.

    Parameters
    ----------
    lanes : int
        128, as on all chips.
    columns : int
        512, or fewer if other CTAs use the rest: a power of two from 32.

    Raises
    ------
    UnsupportedInstructionError
        If the size is not legal.

    Notes
    -----
    PTX ISA 9.0, 9.7.16.1 (tensor memory) and 9.7.16.7.1 (allocation). Which columns an allocation receives is not
    documented; this implementation uses the first free ones.

    Examples
    --------
    >>> tmem = TensorMemory()
    >>> base = tmem.alloc(64)
    >>> tmem.write(np.arange(128)[:, None], base + np.arange(2), np.arange(256, dtype=np.uint32).reshape(128, 2))
    >>> tmem.read([0, 127], 1)
    array([  1, 255], dtype=uint32)
    >>> tmem
    <TensorMemory 128 lanes x 512 columns: columns 0-63 allocated>
    >>> tmem.read(0, 64)
    Traceback (most recent call last):
        ...
    wmma_emu.errors.OutOfBoundsError: column 64 of tensor memory is not allocated; allocated are columns 0-63
    """

    __slots__ = ("_allocations", "_known", "_may_allocate", "_most", "_words", "columns", "lanes")

    def __init__(self, lanes: int = LANES, columns: int = COLUMNS) -> None:
        if integer_of(lanes) != LANES:
            raise OptionError(f"tensor memory has {LANES} lanes, not {shorten(lanes)}")
        self.lanes = LANES
        self.columns = _power_of_two(columns, COLUMNS, "tensor memory has")
        self._words = np.zeros((self.lanes, self.columns), np.uint32)
        self._known = np.zeros((self.lanes, self.columns), np.uint32)  # bits that were written
        self._allocations: dict[int, int] = {}
        self._may_allocate, self._most = True, self.columns

    def __repr__(self) -> str:
        return f"<TensorMemory {self.lanes} lanes x {self.columns} columns: {self._extents()} allocated>"

    @property
    def words(self) -> NDArray[np.uint32]:
        """Every word, (lanes, columns), read-only; use `write` to change them."""
        return _read_only(self._words)

    @property
    def written(self) -> NDArray[np.bool_]:
        """Whether each word was written, completely or partly, since the allocation of its column: (lanes, columns)."""
        return _read_only(self._known > 0)

    @property
    def allocations(self) -> dict[int, int]:
        """The number of columns of every live allocation, by its address."""
        return dict(self._allocations)

    def alloc(self, columns: int) -> int:
        """Allocate columns, all lanes of them: `tcgen05.alloc`.

        Parameters
        ----------
        columns : int
            A power of two, 32 to 512.

        Returns
        -------
        int
            The address of the first column, lane 0.

        Raises
        ------
        UnsupportedInstructionError
            If the number of columns is not legal, is larger than for the previous allocation, or after
            `relinquish_alloc_permit`.
        OutOfBoundsError
            If no contiguous range of columns is free. A GPU would wait; here nothing would free one meanwhile.
        """
        count = _power_of_two(columns, self.columns, "tcgen05.alloc takes")
        if not self._may_allocate:
            raise UnsupportedInstructionError(
                "tcgen05.alloc after tcgen05.relinquish_alloc_permit: this CTA has given up its right to allocate; "
                "allocate everything earlier"
            )
        if count > self._most:
            raise UnsupportedInstructionError(
                f"tcgen05.alloc of {count} columns after one of {self._most}: the columns must not increase from one "
                "allocation of a CTA to the next; begin with the largest allocation"
            )
        free = ~self._is_allocated()
        for first in range(0, self.columns - count + 1, SMALLEST):
            if free[first : first + count].all():
                self._allocations[first] = self._most = count
                return first
        raise OutOfBoundsError(
            f"no contiguous range of {count} columns is free in tensor memory: {self._extents()} of {self.columns} are "
            "allocated. A GPU would wait for a tcgen05.dealloc; deallocate before"
        )

    def dealloc(self, where: int, columns: int) -> None:
        """Free an allocation: `tcgen05.dealloc`.

        Parameters
        ----------
        where : int
            The address that `alloc` returned.
        columns : int
            The number of columns that was allocated.

        Raises
        ------
        OutOfBoundsError
            If there is no such allocation: parts of an allocation, or several at once, cannot be freed.
        """
        lane, first = lane_and_column(where)
        count = integer_of(columns)
        if count is None or lane or self._allocations.get(first) != count:
            live = ", ".join(f"{n} columns at {hex(at)}" for at, n in sorted(self._allocations.items())) or "none"
            raise OutOfBoundsError(
                f"there is no allocation of {shorten(columns)} columns at {hex(address(lane, first))}; tcgen05.dealloc "
                f"takes the results of tcgen05.alloc: {live}"
            )
        del self._allocations[first]
        self._words[:, first : first + count] = 0
        self._known[:, first : first + count] = 0

    def relinquish_alloc_permit(self) -> None:
        """Withdraw the right to allocate: `tcgen05.relinquish_alloc_permit`; existing allocations remain."""
        self._may_allocate = False

    def read(self, lanes: Any, columns: Any, bits: int = WORD_BITS) -> NDArray[np.uint32]:
        """Read words, or their lower halves.

        Parameters
        ----------
        lanes, columns : int or int arrays
            Broadcast against each other.
        bits : {32, 16}
            With 16 the upper half of the result is 0, independent of the memory.

        Returns
        -------
        uint32 array, of their shape

        Raises
        ------
        OutOfBoundsError
            If a lane or column does not exist or is not allocated; indices do not wrap.
        FragmentMismatchError
            If indices are not integers, or do not broadcast.

        Warns
        -----
        UnspecifiedBehaviourWarning
            If a word is uninitialised since its allocation; it reads as 0.
        """
        return self._read(*self._positions(lanes, columns), _mask(bits))

    def read_masked(self, lanes: Any, columns: Any, masks: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Read the bits of words that are in a mask of the same shape; other bits are 0.

        This is for cells that share a word, such as block scales. Errors and warnings are as for `read`.
        """
        return self._read(*self._positions(lanes, columns), masks)

    def _read(self, lane: Ints, column: Ints, masks: Any) -> NDArray[np.uint32]:
        uninitialised = (self._known[lane, column] & masks) != masks
        if uninitialised.any():
            first = np.unravel_index(int(uninitialised.argmax()), uninitialised.shape)
            bits = int(np.broadcast_to(masks, uninitialised.shape)[first]).bit_count()
            warn_caller(
                f"{int(uninitialised.sum())} of {uninitialised.size} words of tensor memory are read although not all "
                f"of their {bits} bits are initialised, the first at lane {int(lane[first])}, column "
                f"{int(column[first])}: they read as 0 here; on a GPU they may have any value",
                UnspecifiedBehaviourWarning,
            )
        words: NDArray[np.uint32] = self._words[lane, column] & masks
        return words

    def write(self, lanes: Any, columns: Any, words: Any, bits: int = WORD_BITS) -> None:
        """Write words. An error leaves the memory unchanged.

        Parameters
        ----------
        lanes, columns : int or int arrays
            As for `read`; if a position occurs twice, the last word remains.
        words : uint32 array
            An array of the shape of lanes and columns, or one that broadcasts to it.
        bits : {32, 16}
            With 16 the lower halves are written, and the upper halves count as uninitialised: a GPU's contents are not
            documented.

        Raises
        ------
        OutOfBoundsError
            As for `read`.
        FragmentMismatchError
            As for `read`, and if the words are not uint32 or do not broadcast.
        """
        mask = _mask(bits)
        lane, column = self._positions(lanes, columns)
        if not isinstance(words, np.ndarray | np.generic) or words.dtype != np.uint32:
            what = str(words.dtype) if isinstance(words, np.ndarray | np.generic) else shorten(words)
            raise ArgumentError(f"words of tensor memory are uint32, not {what}; .view(np.uint32) keeps bits")
        try:
            given = np.broadcast_to(words, lane.shape)
        except ValueError:
            raise ShapeError(f"words of shape {words.shape} for lanes and columns of shape {lane.shape}") from None
        self._words[lane, column] = given & mask
        self._known[lane, column] = mask

    def write_masked(self, lanes: Any, columns: Any, words: NDArray[np.uint32], masks: NDArray[np.uint32]) -> None:
        """Write the bits of words that are in a mask; other bits are unchanged. All arrays have the same shape.

        A position may occur several times, with masks that share no bit.

        Raises
        ------
        OutOfBoundsError, FragmentMismatchError
            As for `read`; nothing is written.
        """
        places = self._positions(lanes, columns)
        fresh, cleared = np.zeros_like(self._words), np.zeros_like(self._words)
        np.bitwise_or.at(fresh, places, words & masks)
        np.bitwise_or.at(cleared, places, masks)
        self._words = self._words & ~cleared | fresh
        self._known |= cleared

    def move(self, from_lanes: Any, from_columns: Any, lanes: Any, columns: Any) -> None:
        """Copy words within the memory, initialised or not; all sources are read before any word is written.

        Parameters
        ----------
        from_lanes, from_columns, lanes, columns : int or int arrays
            As for `read`: the sources and the destinations.

        Raises
        ------
        OutOfBoundsError, FragmentMismatchError
            As for `read`.
        """
        source, target = self._positions(from_lanes, from_columns), self._positions(lanes, columns)
        if source[0].shape != target[0].shape:
            raise ShapeError(f"words of shape {source[0].shape} to positions of shape {target[0].shape}")
        self._words[target], self._known[target] = self._words[source], self._known[source]

    def require_allocated(self, lanes: Any, columns: Any) -> None:
        """Raise the errors of `read`, without reading."""
        self._positions(lanes, columns)

    def _positions(self, lanes: Any, columns: Any) -> tuple[Ints, Ints]:
        """Broadcast indices, and check that their columns are allocated."""
        lane, column = indices("lanes", lanes), indices("columns", columns)
        for name, given, stop in (("lane", lane, self.lanes), ("column", column, self.columns)):
            wrong = (given < 0) | (given >= stop)
            if wrong.any():
                first = int(given.flat[int(wrong.argmax())])
                raise OutOfBoundsError(
                    f"there is no {name} {first} of tensor memory; it has {stop}, 0 to {stop - 1}, and nothing wraps"
                )
        missing = ~self._is_allocated()[column]
        if missing.any():
            first = int(column.flat[int(missing.argmax())])
            fix = "" if self._allocations else ": alloc(32), or more, allocates"
            raise OutOfBoundsError(
                f"column {first} of tensor memory is not allocated; allocated are {self._extents()}{fix}"
            )
        try:
            lane, column = np.broadcast_arrays(lane, column)
        except ValueError:
            raise ShapeError(
                f"lanes of shape {lane.shape} and columns of shape {column.shape} do not broadcast"
            ) from None
        return lane, column

    def _is_allocated(self) -> NDArray[np.bool_]:
        found = np.zeros(self.columns, np.bool_)
        for first, count in self._allocations.items():
            found[first : first + count] = True
        return found

    def _extents(self) -> str:
        """Describe the allocated columns, adjacent allocations separately."""
        parts = [f"{first}-{first + count - 1}" for first, count in sorted(self._allocations.items())]
        return f"columns {', '.join(parts)}" if parts else "no columns"


def _mask(bits: object) -> np.uint32:
    """Return the mask of the lower bits of a word that are read or written."""
    if integer_of(bits) not in (WORD_BITS, WORD_BITS // 2):
        raise ArgumentValueError(f"words of tensor memory are read and written by 32 or 16 bits, not {shorten(bits)}")
    return np.uint32((1 << (integer_of(bits) or 0)) - 1)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _power_of_two(given: object, most: int, what: str) -> int:
    count = integer_of(given)
    if count is None or not SMALLEST <= count <= most or count & (count - 1):
        legal = ", ".join(str(SMALLEST << i) for i in range((most // SMALLEST).bit_length()))
        raise OptionError(f"{what} a power of two columns, {legal}; not {shorten(given)}")
    return count
