# SPDX-License-Identifier: MIT
"""Sparsity metadata: the places in B of the elements that each row of a sparse A is multiplied by."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from wmma_emu.arithmetic.native.code import address, any_of, store
from wmma_emu.arithmetic.native.tile import Tile
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.metadata import granularity_of, metadata_map
from wmma_emu.llvm.values import Symbol


def write_chosen(tile: Tile, entry: Instruction, selector: int, words: Symbol, pointer: ir.Value) -> ir.Value:
    """Write the table (k, rows) of a tile for the metadata of one warp; return a bit: whether a nibble is illegal."""
    builder = words.builder
    found, places = metadata_map(entry, selector), granularity_of(entry)
    legal = sum(1 << nibble for nibble in places.nibbles)
    illegal: Any = None
    for chunk in range(found.lane.shape[1]):
        lane, shift = found.lane[: tile.rows, chunk], 4 * found.nibble[: tile.rows, chunk]
        nibble: Any = words.picked(lane) >> shift.astype(np.uint32) & np.uint32(15)
        wrong = (np.right_shift(np.uint32(legal), nibble) & np.uint32(1)) == 0
        illegal = wrong if illegal is None else illegal | wrong
        for kept in range(places.kept):
            depth = _depths(tile.depth, places.nibbles, kept, chunk * places.chunk)
            k = chunk * places.kept + kept
            place = address(builder, pointer, k * tile.rows, 4)
            store(nibble.taken_from(depth), place)
    return any_of(illegal)


def _depths(depth: Sequence[int], nibbles: dict[int, tuple[int, ...]], kept: int, first: int) -> Any:
    """Return the place in a column of B that each nibble selects for an element of a chunk; 0 for an illegal one."""
    found = np.zeros(16, np.int32)
    for nibble, columns in nibbles.items():
        found[nibble] = depth[first + columns[kept]]
    return found
