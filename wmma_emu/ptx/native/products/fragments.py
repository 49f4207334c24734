# SPDX-License-Identifier: MIT
"""Fragments in the registers of a warp, and the memory of a tile: constant permutations from the layouts."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from wmma_emu.arithmetic.native.code import address, concatenated, load, store
from wmma_emu.arithmetic.native.tile import Tile
from wmma_emu.instructions.spec import Container
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.spec import LANES
from wmma_emu.llvm.values import Symbol

Ints = NDArray[np.int64]

CHUNK = 8
"""The number of adjacent elements of a tile that are loaded at once."""


class Fragment(NamedTuple):
    """The position of each element of a matrix, or of several, in registers: arrays (matrices, rows, columns).

    ``bit`` is the lowest bit of the pattern, ``mask`` covers its bits. An element of single bits is a word of 32.
    """

    register: Ints
    lane: Ints
    bit: Ints
    mask: int
    register_bits: int

    @classmethod
    def of(cls, layout: LaneMap, container: Container, bits: int) -> "Fragment":
        """Return the positions of a layout's elements; of replicas, the first one that the instruction reads."""
        number, lane = np.indices((layout.num_elements, layout.num_lanes))
        number, lane = (layout.scatter(x.reshape(-1, *layout.lane_shape)) for x in (number, lane))
        register, slot = np.divmod(number, layout.elements_per_register)
        shape = (layout.num_matrices, layout.rows, layout.cols)
        bit = slot * layout.element_bits + container.shift
        register, lane, bit = (x.reshape(shape).astype(np.int64) for x in (register, lane, bit))
        return cls(register, lane, bit, (1 << bits) - 1, layout.register_bits)

    def words(self, axis: int) -> "Fragment":
        """Return the fragment with words of 32 single bits as elements, along an axis."""
        step = tuple(slice(None, None, 32 if i == axis else 1) for i in range(3))
        return self._replace(
            register=self.register[step], lane=self.lane[step], bit=0 * self.bit[step], mask=(1 << 32) - 1
        )

    def patterns(self, registers: Sequence[Symbol], where: Any) -> Any:
        """Return the patterns of some elements, a vector of uint32 (uint64 for f64)."""
        register, lane, bit = (x[where].reshape(-1) for x in (self.register, self.lane, self.bit))
        words = picked_words(registers, register, lane)
        return self.field(words, bit)

    def field(self, words: Any, bit: Ints) -> Any:
        """Return the patterns that start at these bit positions of the given words."""
        if self.mask.bit_length() == self.register_bits:
            return words
        shift = bit.astype(np.uint32) if (bit != bit[0]).any() else np.uint32(bit[0])
        shifted = words >> shift if bit.any() else words
        if bit.min() + self.mask.bit_length() == self.register_bits:
            return shifted
        return shifted & np.uint32(self.mask)


def picked_words(registers: Sequence[Symbol], register: Ints, lane: Ints) -> Any:
    """Return the words of lanes of registers: a permutation of each register, then all joined."""
    runs = [(r, len(list(run))) for r, run in groupby(register.tolist())]
    lengths = {length for _, length in runs}
    if len(lengths) == 1 and len(runs) & (len(runs) - 1) == 0:
        parts, start = [], 0
        for r, length in runs:
            parts.append(registers[r].picked(lane[start : start + length]))
            start += length
        return concatenated(parts)
    found: Any = registers[register[0]].picked(lane)
    for r in dict.fromkeys(register.tolist()):
        found = np.where(register == r, registers[r].picked(lane), found)
    return found


def write_a(
    tile: Tile, fragment: Fragment, registers: Sequence[Symbol], pointer: ir.Value, changed_bits: int = 0
) -> None:
    """Convert A to the memory of a tile, after changing some bits of the patterns."""
    matrices, rows, _ = fragment.lane.shape
    at = 0
    for matrix in range(matrices):
        for row in range(0, rows, tile.rows):
            for k in range(tile.terms):
                pattern = fragment.patterns(registers, (matrix, slice(row, row + tile.rows), k))
                changed = pattern ^ np.uint32(changed_bits) if changed_bits else pattern
                tile.write(changed, "a", pointer, at, tile.size_of_a)
                at += tile.rows


def places_of_b(fragment: Fragment, slots: int) -> Ints:
    """Return the position of each element of B, (matrices, k, columns), in memory in the order of the registers."""
    places: Ints = (fragment.register * slots + fragment.bit * slots // fragment.register_bits) * LANES + fragment.lane
    return places


def write_b(tile: Tile, fragment: Fragment, slots: int, registers: Sequence[Symbol], pointer: ir.Value) -> None:
    """Convert B to the memory of a tile, in the order of the registers: nothing is permuted."""
    shift = int(fragment.bit.min())
    for number, register in enumerate(registers):
        for slot in range(slots):
            bit = np.full(LANES, slot * fragment.register_bits // slots + shift)
            pattern = fragment.field(register, bit)
            tile.write(pattern, "b", pointer, (number * slots + slot) * LANES, tile.size_of_b)


def columns_of(fragment: Fragment, rows: int) -> list[tuple[int, slice, int]]:
    """Return the indices of each column of each block of rows, in the order of a tile's columns."""
    matrices, height, width = fragment.lane.shape
    return [
        (matrix, slice(row, row + rows), column)
        for matrix in range(matrices)
        for row in range(0, height, rows)
        for column in range(width)
    ]


def write_c(tile: Tile, fragment: Fragment, registers: Sequence[Symbol], pointer: ir.Value) -> None:
    """Copy C to the memory of a tile."""
    size = tile.rows * tile.word_dtype.itemsize
    for number, where in enumerate(columns_of(fragment, tile.rows)):
        pattern = fragment.patterns(registers, where)
        store(pattern, address(pattern.builder, pointer, number, size), size)


def read_d(tile: Tile, layout: LaneMap, builder: ir.IRBuilder, pointer: ir.Value) -> list[Symbol]:
    """Return the registers of D from the memory of a tile."""
    places = _places_of_d(tile, layout)
    chunks: dict[int, Symbol] = {}
    registers = []
    slots = layout.elements_per_register
    for first in range(0, len(places), slots):
        word: Any = None
        for slot in range(slots):
            part: Any = from_memory(builder, pointer, places[first + slot], tile.word_dtype, chunks)
            if slot:
                part = part << np.uint32(slot * layout.element_bits)
            word = part if word is None else word | part
        registers.append(word)
    return registers


def _places_of_d(tile: Tile, layout: LaneMap) -> Ints:
    """Return the place in the memory of a tile of each element of each lane: (elements, 32)."""
    row, column = layout.coords[..., 0], layout.coords[..., 1]
    block = layout.matrix_of_lane * (layout.rows // tile.rows) + row // tile.rows
    places: Ints = (block * layout.cols + column) * tile.rows + row % tile.rows
    return places


def from_memory(
    builder: ir.IRBuilder, pointer: ir.Value, places: Ints, dtype: Any, chunks: dict[int, Symbol] | None = None
) -> Symbol:
    """Return the elements at these indices from a pointer: loads of the chunks that contain them, and a permutation."""
    chunks = {} if chunks is None else chunks
    needed = sorted({int(x) // CHUNK for x in places})
    size = np.dtype(dtype).itemsize * CHUNK
    for x in needed:
        if x not in chunks:
            chunks[x] = load(builder, address(builder, pointer, x, size), dtype, CHUNK, size)
    count = 1 << (len(needed) - 1).bit_length()
    joined = concatenated([chunks[x] for x in [*needed, *needed[:1] * (count - len(needed))]])
    at = {x: i for i, x in enumerate(needed)}
    return joined.picked(np.array([at[int(x) // CHUNK] * CHUNK + int(x) % CHUNK for x in places]))
