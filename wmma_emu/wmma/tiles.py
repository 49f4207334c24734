# SPDX-License-Identifier: MIT
"""A fragment's tile in memory: its addresses, and the legal pointers and strides."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    ArgumentValueError,
    FragmentMismatchError,
    OutOfBoundsError,
    shorten,
)
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import dtype_of, to_bits
from wmma_emu.layouts.wmma_table import MemoryLayout, stride_multiple
from wmma_emu.memory import Pointer, as_memory, bits_from_owner, require_aligned, require_writable
from wmma_emu.watching import report_view

_MAX_LDM = 2**32 - 1
"""The type of ldm in `mma.h` is unsigned."""


class Tile(NamedTuple):
    """Rows and columns of a matrix, its elements' format, and the axis along which neighbours are adjacent.

    The pointer must be a multiple of ``pointer_bytes``.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> tile = Tile(16, 16, format_of("f16"), "row", 32)
    >>> tile.indices(24)[2, :3]
    array([48, 49, 50])
    >>> tile.ldm_multiple, Tile(8, 32, format_of("s4"), "row", 4).ldm_multiple
    (8, 32)
    """

    rows: int
    cols: int
    format: Format
    order: MemoryLayout
    pointer_bytes: int

    def __str__(self) -> str:
        return f"the {self.rows} x {self.cols} tile"

    @property
    def extent(self) -> int:
        """The number of contiguous elements of a row, or of a column."""
        return self.cols if self.order == "row" else self.rows

    @property
    def ldm_multiple(self) -> int:
        """The number of elements of which ldm must be a multiple: 16 bytes, or 8 bytes for 8-bit types."""
        return stride_multiple(self.format.bits)

    def indices(self, ldm: int) -> NDArray[np.int64]:
        """Return the offset of element (row, col) from the pointer: (rows, cols)."""
        row, col = np.arange(self.rows)[:, None], np.arange(self.cols)
        return row * ldm + col if self.order == "row" else col * ldm + row

    def read(self, mem: object, ldm: object) -> Bits:
        """Read the tile's patterns from memory: (*warps, rows, cols)."""
        view = None if isinstance(mem, Pointer) else as_memory(mem, "mem")
        if view is not None and view.ndim == 2:
            self._require_unpacked(view)
            to_bits(view[:0], self.format, "mem")
            corner = self._corner(view, ldm)
            report_view(corner)
            return to_bits(corner, self.format, "mem")
        pointer = mem if isinstance(mem, Pointer) else Pointer(view)
        if self.format.bits < 8 and pointer.buffer.dtype == np.uint8:
            return self._read_packed(pointer, ldm)
        to_bits(pointer.buffer[:0], self.format, "mem")
        pointer.require_aligned(self.pointer_bytes, self.format.bits)
        return to_bits(pointer.gather(self.indices(self._legal_ldm(ldm)), str(self)), self.format, "mem")

    def write(self, mem: object, ldm: object, bits: Bits) -> None:
        """Write the tile's patterns, (*warps, rows, cols), to memory. An error leaves the memory unchanged."""
        view = None if isinstance(mem, Pointer) else as_memory(mem, "mem")
        if view is not None and view.ndim == 2:
            self._require_storable(view)
            corner = self._corner(view, ldm)
            if bits.size != self.rows * self.cols:
                raise FragmentMismatchError(
                    f"a 2-D view takes the tile of one warp, the fragment holds those of {bits.shape[:-2]} warps; pass "
                    "wmma_emu.Pointer with an array of offsets"
                )
            corner.view(self.format.storage)[...] = bits.reshape(corner.shape)
            report_view(corner, "st")
            return
        pointer = mem if isinstance(mem, Pointer) else Pointer(view)
        self._require_storable(pointer.buffer)
        pointer.require_aligned(self.pointer_bytes)
        indices = self.indices(self._legal_ldm(ldm))
        patterns = Pointer(pointer.buffer.view(self.format.storage), _offset_for_every_warp(pointer, bits))
        patterns.scatter(indices, np.broadcast_to(bits, (*patterns.warps, *indices.shape)), str(self))

    def _read_packed(self, pointer: Pointer, ldm: object) -> Bits:
        """Read 4-bit or 1-bit elements from bytes, the first element in the lowest bits."""
        pointer.require_aligned(self.pointer_bytes)
        bit = self.indices(self._legal_ldm(ldm)) * self.format.bits
        words: NDArray[np.uint8] = pointer.gather(bit // 8, f"{self} of packed {self.format}")
        return (words >> (bit % 8).astype(np.uint8)) & np.uint8(self.format.mask)

    def _legal_ldm(self, given: object) -> int:
        rows = "rows" if self.order == "row" else "columns"
        if given is None:
            raise ArgumentError(
                f"a pointer has no information about the distance of the {rows} of its matrix: pass ldm, in elements"
            )
        ldm = integer_of(given)
        if ldm is None:
            raise ArgumentError(f"ldm is an integer number of elements, not {shorten(given)}")
        self._require_legal_ldm(ldm, "ldm")
        return ldm

    def _require_legal_ldm(self, ldm: int, name: str) -> None:
        multiple = self.ldm_multiple
        lowest = -(-self.extent // multiple) * multiple
        what = f"{multiple * self.format.bits // 8} bytes, {multiple} elements of {self.format}"
        rows = "rows" if self.order == "row" else "columns"
        unit = ", in elements and not in bytes" if self.format.bits < 8 else ""
        if ldm < self.extent:
            raise AlignmentError(
                f"{name} is {shorten(ldm)}, but a {rows[:-1]} of {self} has {self.extent} elements: what {rows} that "
                f"overlap give is undefined; the smallest that is legal is {lowest}{unit}"
            )
        if ldm > _MAX_LDM:
            raise AlignmentError(f"{name} is {shorten(ldm)}; mma.h takes 32 bits of it, {_MAX_LDM} at most")
        if ldm % multiple:
            down = ldm // multiple * multiple
            nearest = f"{down} and {down + multiple}" if down >= lowest else str(down + multiple)
            raise AlignmentError(
                f"{name} is {ldm} elements; legal values are multiples of {what}: the nearest are {nearest}; allocate "
                f"the matrix with padded {rows}"
            )

    def _corner(self, view: NDArray[Any], ldm: object) -> NDArray[Any]:
        """Cut the tile out of a view whose top-left element is the pointer, with every check of a pointer."""
        entry = view.itemsize
        along, across = (1, 0) if self.order == "row" else (0, 1)
        if view.strides[along] != entry or view.strides[across] % entry or view.strides[across] < 0:
            raise FragmentMismatchError(self._disagreement(view))
        if view.shape[0] < self.rows or view.shape[1] < self.cols:
            rows_cut = "; mem[offset:] leaves out rows: slice mem.reshape(-1), or mem[row:, col:]"
            raise OutOfBoundsError(
                f"{self} does not fit into the view of {view.shape[0]} x {view.shape[1]}: its top-left corner is the "
                f"pointer, and {self.rows} x {self.cols} elements are needed after it"
                + (rows_cut if not view.size else "")
            )
        own = view.strides[across] // entry
        if ldm is not None and self._legal_ldm(ldm) != own:
            raise ArgumentValueError(
                f"ldm is {shorten(ldm)}, but the strides of the 2-D view say {own}; leave ldm out, or pass a 1-D array"
            )
        bits = self.format.bits
        require_aligned(bits_from_owner(view, bits), self.pointer_bytes, bits)
        self._require_legal_ldm(own, "the view's distance of " + ("rows" if self.order == "row" else "columns"))
        return view[: self.rows, : self.cols]

    def _disagreement(self, view: NDArray[Any]) -> str:
        layout = f"{self.order}_major"
        fix = "pass a pointer, a 1-D array with ldm"
        entry, (down, right) = view.itemsize, view.strides
        if (down if self.order == "row" else right) == entry:
            other = "col" if self.order == "row" else "row"
            fix = f"it is {other}_major: ask for that layout, pass mem.T if it is the transpose that is meant, or {fix}"
        return (
            f"a view indexed (row, col) with strides of {down} and {right} bytes is not {layout} of {entry}-byte "
            f"elements; {fix}"
        )

    def _require_unpacked(self, view: NDArray[Any]) -> None:
        """Refuse bytes with two axes for elements of less: which of them are packed would be a guess."""
        if self.format.bits < 8 and view.dtype == np.uint8:
            raise ArgumentError(
                f"mem is a 2-D array of uint8, which does not define how {self.format} is packed; packed memory is "
                f"1-D: pass mem.reshape(-1) and ldm in elements, or a 2-D array of {dtype_of(self.format)}"
            )

    def _require_storable(self, memory: NDArray[Any]) -> None:
        """Refuse memory of another type: a store never converts."""
        legal = (dtype_of(self.format), self.format.storage)
        if memory.dtype not in legal:
            raise ArgumentError(
                f"mem is an array of {shorten(memory.dtype, str)}; an accumulator of {self.format} is stored to "
                f"{legal[0]}, or {legal[1]} for its bits: a store converts nothing"
            )
        require_writable(memory)


def _offset_for_every_warp(pointer: Pointer, bits: Bits) -> object:
    """Return an offset for each warp of a store, if one of the shapes has fewer axes."""
    try:
        warps = np.broadcast_shapes(pointer.warps, bits.shape[:-2])
    except ValueError:
        raise FragmentMismatchError(
            f"the pointer has offsets for {pointer.warps} warps, the fragment elements of {bits.shape[:-2]}; "
            "they must be as many"
        ) from None
    return np.array(np.broadcast_to(np.asarray(pointer.offset), warps)) if warps else pointer.offset
