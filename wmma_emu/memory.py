# SPDX-License-Identifier: MIT
"""Pointers: elements of an array from an offset onward, with bounds and alignment checks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    ArgumentValueError,
    DivergenceError,
    OutOfBoundsError,
    ShapeError,
    as_finding,
    shorten,
)
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.watching import report_elements

Ints = NDArray[np.int64]

_OWNER_ALIGNMENT = 256
"""The alignment of cudaMalloc's results in bytes."""

_FARTHEST = 1 << 60
"""The largest offset: larger ones would overflow when an index is added; no array is that large."""


class Pointer:
    """An address in an array: the beginning of one warp's tile, or one address for each warp of a batch.

    Positions do not wrap: a position before the array's first element or after its last is out of bounds.

    Parameters
    ----------
    buffer : array, 1-D, contiguous
        The accessible memory; for a slice, only the slice.
    offset : int or int array of shape (*warps)
        In elements of ``buffer``.

    Examples
    --------
    >>> memory = np.arange(64, dtype=np.float16)
    >>> Pointer(memory, 16) + 32
    <Pointer to element 48 of 64 float16>
    >>> Pointer(memory, np.array([0, 16])).gather(np.array([0, 1]))
    array([[ 0.,  1.],
           [16., 17.]], dtype=float16)
    >>> Pointer(memory, 60).gather(np.arange(8))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.OutOfBoundsError: element 4 of the access is at position 64 of mem, which has 64
    elements: the access needs 8 elements after the pointer, 4 are available; pad the array
    """

    __slots__ = ("buffer", "offset")
    __array_ufunc__ = None  # makes NumPy use __radd__ for `array + pointer`

    def __init__(self, buffer: object, offset: object = 0) -> None:
        self.buffer: NDArray[Any] = as_memory(buffer, "mem")
        self.offset: int | Ints = _offset(offset)
        if self.buffer.ndim != 1 or not self.buffer.flags.c_contiguous:
            raise ArgumentError(_no_pointer(self.buffer))

    def __repr__(self) -> str:
        where = f"element {self.offset}"
        if not isinstance(self.offset, int):
            where = f"elements {shorten(self.offset.tolist())} ({self.offset.size} warps)"
        return f"<Pointer to {where} of {self.buffer.size} {self.buffer.dtype}>"

    def __add__(self, elements: object) -> "Pointer":
        try:
            moved = self.offset + _offset(elements)
        except ValueError:
            raise ShapeError(
                f"{shorten(elements)} cannot be added to the offsets of {self.warps} warps: the shapes do not broadcast"
            ) from None
        return Pointer(self.buffer, moved)

    __radd__ = __add__

    def __sub__(self, elements: object) -> "Pointer":
        return self + -_offset(elements)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pointer, (self.buffer, self.offset)

    @property
    def warps(self) -> tuple[int, ...]:
        """The shape of the batch of warps: ``()`` for one address."""
        return () if isinstance(self.offset, int) else self.offset.shape

    def gather(self, indices: NDArray[np.integer[Any]], what: str = "the access") -> NDArray[Any]:
        """Read elements at indices relative to the pointer.

        Parameters
        ----------
        indices : int array
        what : str
            The name of the access in error messages: ``"the 16 x 16 tile"``.

        Returns
        -------
        array, shape (*warps, *indices.shape)

        Raises
        ------
        OutOfBoundsError
            If any element is outside the array.
        """
        positions = self._positions(indices, what)
        values: NDArray[Any] = self.buffer[positions]
        report_elements(self.buffer, positions, values)
        return values

    def scatter(self, indices: NDArray[np.integer[Any]], values: NDArray[Any], what: str = "the access") -> None:
        """Write elements at indices relative to the pointer. An error leaves the memory unchanged.

        Parameters
        ----------
        indices : int array
            Different indices.
        values : array, shape (*warps, *indices.shape)
            In the dtype of the buffer.
        what : str

        Raises
        ------
        OutOfBoundsError
            If any element is outside the array.
        DivergenceError
            If an element is written twice, which is a race on a GPU.
        FragmentMismatchError
            If the buffer is read-only, or the shape of the values is wrong.
        """
        require_writable(self.buffer)
        positions = self._positions(indices, what)
        if not isinstance(values, np.ndarray):
            raise ArgumentError(f"the values are an array of {self.buffer.dtype}, not {shorten(values)}")
        if values.dtype != self.buffer.dtype or values.shape != positions.shape:
            raise ShapeError(
                f"{values.dtype} values of shape {values.shape} for {positions.shape} elements of {self.buffer.dtype}"
            )
        self._require_distinct(positions)
        report_elements(self.buffer, positions, values, "st")
        self.buffer[positions] = values

    def require_aligned(self, legal_bytes: int, entry_bits: int | None = None) -> None:
        """Check the alignment of the address, assuming that the owning buffer is aligned.

        Parameters
        ----------
        legal_bytes : int
        entry_bits : int, optional
            The number of bits that an element of the buffer represents, if it is less than its size.

        Raises
        ------
        AlignmentError
        """
        bits = entry_bits or 8 * self.buffer.itemsize
        require_aligned(bits_from_owner(self.buffer, bits) + np.asarray(self.offset) * bits, legal_bytes, bits)

    def _positions(self, indices: NDArray[np.integer[Any]], what: str) -> Ints:
        """Return the positions of the elements in the buffer, after checking the bounds."""
        if not isinstance(indices, np.ndarray) or indices.dtype.kind not in "iu":
            raise ArgumentError(f"the indices are an integer array, not {shorten(indices)}")
        if indices.size and max(abs(int(indices.min())), abs(int(indices.max()))) > _FARTHEST:
            raise OutOfBoundsError(f"no array reaches as far as the index {shorten(int(indices.max()))}")
        indices = indices.astype(np.int64, copy=False)
        start = np.asarray(self.offset, np.int64)
        positions: Ints = start.reshape(*start.shape, *(1 for _ in indices.shape)) + indices
        if positions.size and not (0 <= positions.min() and positions.max() < self.buffer.size):
            raise OutOfBoundsError(self._outside(positions, indices, what))
        return positions

    def _outside(self, positions: Ints, indices: NDArray[np.integer[Any]], what: str) -> str:
        outside = (positions < 0) | (positions >= self.buffer.size)
        first = tuple(int(x) for x in np.unravel_index(int(outside.argmax()), outside.shape))
        warp, element = first[: len(self.warps)], first[len(self.warps) :]
        offset = int(np.asarray(self.offset)[warp])
        of_warp = f" of warp {_index(warp)}" if warp else ""
        text = (
            f"element {_index(element)} of {what}{of_warp} is at position {positions[first]} of mem, which has "
            f"{self.buffer.size} elements: "
        )
        if indices.size and indices.min() < 0:
            return text + f"the index {int(indices.min())} lies before the pointer; positions do not count from the end"
        if offset < 0:
            return text + f"the pointer lies {-offset} before the first; positions do not count from the end"
        needed, there = int(indices.max()) + 1, max(0, self.buffer.size - offset)
        fix = "pad the array"
        if self._continues_past_end():
            fix = "the slice ends before its array does: slice to the array's end, of rows after reshape(-1)"
        return text + f"{what} needs {needed} elements after the pointer, {there} are available; {fix}"

    def _continues_past_end(self) -> bool:
        """Return whether the buffer is a slice that ends before its array does."""
        base = self.buffer.base
        if not isinstance(base, np.ndarray) or not self.buffer.size:
            return False
        start, whole = (x.__array_interface__["data"][0] for x in (self.buffer, base))
        return bool(start + self.buffer.nbytes < whole + base.nbytes)

    def _require_distinct(self, positions: Ints) -> None:
        """Reject warps, or lanes of one warp, that write the same element."""
        flat = positions.ravel()
        order = np.argsort(flat, kind="stable")
        again = np.flatnonzero(np.diff(flat[order]) == 0)
        if not len(again):
            return
        pair = order[again[0] : again[0] + 2]
        writers = [np.unravel_index(int(x), positions.shape) for x in pair]
        axes, who = (len(self.warps), "warps") if self.warps else (positions.ndim, "indices")
        first, second = (_index(tuple(int(i) for i in writer[:axes])) for writer in writers)
        raise as_finding(
            "race",
            DivergenceError(
                f"{who} {first} and {second} both write element {flat[pair[0]]} of mem: a race on a GPU; move "
                "their pointers apart, so that what they write does not overlap"
            ),
        )


def as_memory(array: object, name: str) -> NDArray[Any]:
    """Return an array as memory in this machine's byte order, never a copy, so that writes change the original."""
    given = as_numpy(array, name)
    if not isinstance(array, np.ndarray) and not np.may_share_memory(given, as_numpy(array, name)):
        given = given.view()  # the other library copies at each access, so writes would be lost
        given.flags.writeable = False
    if isinstance(array, np.ndarray) and not array.dtype.isnative:
        raise ArgumentError(
            f"{name} is byte-swapped ({array.dtype.str}), unlike any GPU's memory; "
            f"{name}.astype({name}.dtype.newbyteorder('=')) has the same values"
        )
    return given


def require_writable(array: NDArray[Any]) -> None:
    """Reject read-only memory."""
    if not array.flags.writeable:
        raise as_finding(
            "read-only",
            ArgumentValueError(
                "mem is read-only, or a copy that another library made; store to a NumPy array of your own"
            ),
        )


def bits_from_owner(array: NDArray[Any], entry_bits: int) -> int:
    """Return the distance in bits of an array's first element from the start of the buffer that owns the memory.

    Examples
    --------
    >>> memory = np.zeros(64, np.float16)
    >>> bits_from_owner(memory[8:][4:], 16)
    192
    """
    address: int = array.__array_interface__["data"][0]
    return (address - _start_of_owner(array, address)) * entry_bits // array.itemsize


def _start_of_owner(array: NDArray[Any], address: int) -> int:
    """Return the address of the buffer at the end of ``.base``; without one, the preceding multiple of 256."""
    owner: Any = array
    while (base := getattr(owner, "base", None)) is not None:
        owner = base.obj if isinstance(base, memoryview) else base
    try:
        whole = owner if hasattr(owner, "__array_interface__") else np.frombuffer(owner, np.uint8)
    except (TypeError, ValueError, BufferError):
        return address - address % _OWNER_ALIGNMENT
    start: int = whole.__array_interface__["data"][0]
    return start


def require_aligned(bits: int | Ints, legal_bytes: int, entry_bits: int) -> None:
    """Reject addresses, in bits from an aligned buffer's start, that are not multiples of some bytes."""
    address, legal = np.asarray(bits), 8 * legal_bytes
    wrong = address % legal != 0
    if not wrong.any():
        return
    warp = tuple(int(x) for x in np.unravel_index(int(wrong.argmax()), wrong.shape))
    first = int(address[warp])
    behind = first % legal
    of_warp = f" of warp {_index(warp)}" if warp else ""
    fix = "copy the array, a new one begins aligned"
    if behind % entry_bits == 0:
        back, forward = behind // entry_bits, (legal - behind) // entry_bits
        fix = f"move it by -{back} or +{forward} elements"
    raise AlignmentError(
        f"the pointer{of_warp} is {_bytes(first)} bytes from the start of its buffer; legal distances are multiples of "
        f"{legal_bytes} bytes ({legal // entry_bits} elements): {fix}"
    )


def _bytes(bits: int) -> str:
    return str(bits // 8) if bits % 8 == 0 else str(bits / 8)


def _index(index: tuple[int, ...]) -> str:
    """Return one number, or several in brackets."""
    return str(index[0]) if len(index) == 1 else str(index)


def _offset(given: object) -> int | Ints:
    """Return an offset, given an integer, or an array with an integer for each warp."""
    if isinstance(given, np.ndarray) and given.ndim > 0 and type(given).__index__ is np.ndarray.__index__:
        if given.dtype.kind not in "iu":
            raise ArgumentError(f"offsets are integers, not {shorten(given.dtype, str)}")
        far = given.size > 0 and max(abs(int(given.min())), abs(int(given.max()))) > _FARTHEST
        offsets: int | Ints = given.astype(np.int64)
    else:
        one = integer_of(given)
        if one is None:
            raise ArgumentError(
                f"an offset is an integer, or an integer array with one for each warp, not {shorten(given)}"
            )
        offsets, far = one, abs(one) > _FARTHEST
    if far:
        raise OutOfBoundsError(f"no array reaches as far as the offset {shorten(given)}")
    return offsets


def _no_pointer(buffer: NDArray[Any]) -> str:
    """Return the reason why a pointer to an array is not possible."""
    if buffer.ndim == 1:
        return (
            f"mem is a strided slice: {buffer.strides[0]} bytes from entry to entry of {buffer.itemsize}; a pointer "
            "goes into contiguous memory: pass the slice without a step, and the distance of rows as ldm"
        )
    fix = "pass mem.reshape(-1)" if buffer.flags.c_contiguous else "pass np.ascontiguousarray(mem).reshape(-1)"
    return f"mem has {buffer.ndim} axes, shape {buffer.shape}; a pointer goes into a 1-D array: {fix}"
