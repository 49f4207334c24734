# SPDX-License-Identifier: MIT
"""The transfer of WMMA tiles: each lane moves vectors of lines, which are permuted to the registers of the fragment.

The elements of a lane's fragment are scattered over the tile's lines. Instead of loading single elements as a GPU does,
each lane loads one or two vectors of 4 to 16 bytes, and a table maps their elements to registers.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.spec import LANES, Ints
from wmma_emu.layouts.wmma_table import MemoryLayout, stride_multiple
from wmma_emu.ptx.threads import Array

_WORD_BYTES = 4
_WIDEST = 16


@dataclass(frozen=True, eq=False)
class Tile:
    """A fragment's tile in memory.

    ``order`` is "row" or "col": the elements of a row, or of a column, are adjacent in memory.

    Examples
    --------
    >>> from wmma_emu.layouts import fragment_layout
    >>> tile = Tile(fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_90"), "row")
    >>> tile.vector_bytes, tile.pointer_bytes, tile.offsets(24)[0, 0, 0, :4].tolist()
    (16, 32, [0, 16, 48, 64])
    """

    layout: LaneMap
    order: MemoryLayout
    _offsets: dict[int, Array] = field(default_factory=dict, repr=False)

    @property
    def extent(self) -> int:
        """The number of elements of a line, which is a row or a column."""
        return self.layout.cols if self.order == "row" else self.layout.rows

    @property
    def stride_multiple(self) -> int:
        """The divisor of a legal stride, in elements."""
        return stride_multiple(self.layout.element_bits)

    @property
    def pointer_bytes(self) -> int:
        """The alignment of the pointer: the size of a lane's fragment in bytes (PTX ISA 9.1, wmma.load)."""
        return self.layout.num_registers * self.layout.register_bits // 8

    @property
    def element_bytes(self) -> int:
        """The size in bytes of the smallest piece that can be loaded."""
        return max(self.layout.element_bits // 8, 1)

    @cached_property
    def tile_bytes(self) -> int:
        """The size of the tile in bytes."""
        return self.layout.rows * self.layout.cols * self.layout.element_bits // 8

    @cached_property
    def vector_bytes(self) -> int:
        """The size of a vector, which a lane moves at once, in bytes."""
        return min(_WIDEST, self.tile_bytes // LANES)

    @property
    def words(self) -> int:
        """The number of words of a vector."""
        return self.vector_bytes // _WORD_BYTES

    @property
    def num_distinct(self) -> int:
        """The number of registers of a lane that are not replicas of others."""
        return self.layout.read_elements // self.layout.elements_per_register

    def offsets(self, stride: int) -> Array:
        """Return the offset of each lane's vectors from the pointer in bytes: uint64, (passes, 1, 1, 32)."""
        if stride not in self._offsets:
            self._offsets[stride] = self.offsets_of(np.full((1, 1, 1), stride, np.uint64))
        return self._offsets[stride]

    def offsets_of(self, stride: Array) -> Array:
        """Return the offsets for warps with different strides: (passes, blocks, warps, 32)."""
        line_bytes = self.extent * self.layout.element_bits // 8
        start = (
            np.arange(self.tile_bytes // self.vector_bytes, dtype=np.uint64) * np.uint64(self.vector_bytes)
        ).reshape(-1, 1, 1, LANES)
        line_distance = stride * np.uint64(self.layout.element_bits) >> np.uint64(3)
        offsets: Array = start // np.uint64(line_bytes) * line_distance + start % np.uint64(line_bytes)
        return offsets

    def registers(self, words: Array) -> list[Array]:
        """Convert the loaded words, uint32 (words, passes, blocks, warps, 32), to registers (blocks, warps, 32)."""
        blocks, warps = words.shape[2:4]
        flat = np.ascontiguousarray(words.transpose(2, 3, 1, 4, 0)).reshape(blocks * warps, -1)
        units = flat.view(self.unit)
        found = [units.take(index, axis=-1).view(self._register) for index in self.sources]
        registers = [x.reshape(blocks, warps, LANES) for x in found]
        return registers * (self.layout.num_registers // self.num_distinct)

    def lines(self, registers: Array) -> Array:
        """Convert registers (registers, blocks, warps, 32) to the words to store; the inverse of `registers`."""
        blocks, warps = registers.shape[1:3]
        own = np.ascontiguousarray(np.moveaxis(registers[: self.num_distinct], 0, 2))
        units = own.reshape(blocks * warps, -1).view(self.unit).take(self.owners, axis=-1)
        vectors = units.view(np.uint32).reshape(blocks, warps, -1, LANES, self.words)
        return vectors.transpose(4, 2, 0, 1, 3)

    @property
    def _register(self) -> np.dtype[np.unsignedinteger[Any]]:
        return np.dtype(f"u{self.layout.register_bits // 8}")

    @cached_property
    def unit(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The dtype of the permuted units: registers if their elements are adjacent in memory, else elements."""
        return self._register if self._is_adjacent else np.dtype(f"u{self.element_bytes}")

    @cached_property
    def _positions(self) -> Ints:
        """The position in the tile, line after line, of each element of each lane: (registers, elements, 32)."""
        row, col = self.layout.coords[: self.layout.read_elements, ..., 0], self.layout.coords[..., 1]
        col = col[: self.layout.read_elements]
        place = row * self.layout.cols + col if self.order == "row" else col * self.layout.rows + row
        return place.reshape(self.num_distinct, self.layout.elements_per_register, LANES)

    @cached_property
    def _is_adjacent(self) -> bool:
        first, size = self._positions[:, :1], self.layout.elements_per_register
        in_a_row = (self._positions == first + np.arange(size)[:, None]).all()
        return bool(in_a_row and (first % size == 0).all())

    @cached_property
    def sources(self) -> Ints:
        """The unit of the tile that each register contains: (registers, 32, units of a register)."""
        if self._is_adjacent:
            return self._positions[:, 0, :, None] // self.layout.elements_per_register
        return np.ascontiguousarray(self._positions.swapaxes(-1, -2))

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """The unit of the registers that owns each unit of the tile."""
        flat = self.sources.reshape(-1)
        holders = np.empty(len(flat), np.intp)
        holders[flat] = np.arange(len(flat))
        return holders
