# SPDX-License-Identifier: MIT
"""The accesses that ptxas makes of a wmma.load or wmma.store.

A tile of 16-bit elements of A or B is loaded as matrices of eight rows of 16 bytes: from shared memory by ldmatrix,
from global memory with 4 bytes in each lane. Every other tile is loaded and stored register by register, in vectors of
elements that are adjacent in memory and in the fragment (ptxas 13.0, sm_90a, read in the disassembly).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.memory.masks import narrowest
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.steps.wmma_steps import tile_of
from wmma_emu.ptx.steps.wmma_tiles import Tile
from wmma_emu.ptx.threads import Active, Array

_ROW_BYTES, _ROWS = 16, 8
_WIDEST = 16


def tile_accesses(
    instruction: PtxInstruction, chip: str, space: str, vectors: Array, mask: Active
) -> Iterator[tuple[Array, int, Active, bool]]:  # fmt: skip
    """Yield the accesses to a tile: the addresses of the lanes, the bytes of each, the lanes, and whether it is an
    ldmatrix.

    ``vectors`` are the addresses of the tile's vectors, (passes, blocks, warps, 32), line after line.
    """
    tile = tile_of(instruction, chip)
    in_line = max(tile.extent * tile.layout.element_bits // 8 // tile.vector_bytes, 1)
    flat = np.moveaxis(vectors.reshape(-1, *vectors.shape[-3:]), 0, -2)
    flat = flat.reshape(*flat.shape[:-2], -1)
    base, pitch = flat[..., :1], flat[..., in_line : in_line + 1] - flat[..., :1]
    of_matrices = instruction.modifiers[1] in ("a", "b") and tile.layout.element_bits == 16
    if of_matrices and space == "shared":
        for line, byte in _rows_of_ldmatrix(tile):
            lanes = np.arange(LANES) < len(line)
            given = np.resize(line, LANES), np.resize(byte, LANES)
            addresses = base + given[0].astype(np.uint64) * pitch + given[1].astype(np.uint64)
            yield addresses, _ROW_BYTES, narrowest(mask, None if lanes.all() else lanes.reshape(1, 1, LANES)), True
        return
    for line, byte, size in _words_of_matrices(tile) if of_matrices else _vectors_of_registers(tile):
        yield base + line.astype(np.uint64) * pitch + byte.astype(np.uint64), size, mask, False


def _words_of_matrices(tile: Tile) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
    """Yield the line, the byte and the size of each lane's word of every matrix of eight rows of 16 bytes."""
    line_bytes = tile.extent * tile.layout.element_bits // 8
    lane = np.arange(LANES)
    for first in range(0, tile.tile_bytes // line_bytes, _ROWS):
        for chunk in range(0, line_bytes, _ROW_BYTES):
            yield first + lane // 4, chunk + lane % 4 * 4, 4


def _rows_of_ldmatrix(tile: Tile) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the line, and the byte in it, of up to 32 rows of 16 bytes: matrices of eight lines, one after another."""
    line_bytes = tile.extent * tile.layout.element_bits // 8
    lines, chunks = tile.tile_bytes // line_bytes, line_bytes // _ROW_BYTES
    rows = np.arange(lines * chunks)
    matrix, row = rows // _ROWS, rows % _ROWS
    line, byte = matrix % (lines // _ROWS) * _ROWS + row, matrix // (lines // _ROWS) * _ROW_BYTES
    for first in range(0, len(rows), LANES):
        yield line[first : first + LANES], byte[first : first + LANES]


def _vectors_of_registers(tile: Tile) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
    """Yield the line, the byte and the size of each lane's vectors: the longest runs of adjacent elements."""
    layout, size = tile.layout, tile.element_bytes
    coords = layout.coords[: layout.read_elements]
    line, at = (coords[..., 0], coords[..., 1]) if tile.order == "row" else (coords[..., 1], coords[..., 0])
    byte = at * layout.element_bits // 8
    place = line * tile.extent * layout.element_bits // 8 + byte
    first = 0
    while first < len(place):
        length = 1
        while _is_vector(place, byte, first, 2 * length, size) and 2 * length * size <= _WIDEST:
            length *= 2
        yield line[first], byte[first], length * size
        first += length


def _is_vector(
    place: NDArray[np.int64], byte: NDArray[np.int64], first: int, length: int, size: int
) -> bool:  # fmt: skip
    """Return whether some elements of every lane are adjacent, and aligned as one vector."""
    if first + length > len(place):
        return False
    run = place[first : first + length] - place[first] == np.arange(length)[:, None] * size
    return bool(run.all() and (byte[first] % (length * size) == 0).all())
