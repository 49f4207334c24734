# SPDX-License-Identifier: MIT
"""Metadata of a sparse A: any words that the manual allows."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

from wmma_emu.generators.operands import row_of
from wmma_emu.generators.words import random_words
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import granularity_of, metadata_map
from wmma_emu.layouts.spec import LANES, WARPS
from wmma_emu.testing.strategies.matrices import seeds
from wmma_emu.testing.strategies.patterns import integers
from wmma_emu.warp import BoundInstruction


@st.composite
def metadata(
    draw: st.DrawFn, instruction: BoundInstruction | Instruction | str, *, selector: int = 0
) -> NDArray[np.uint32]:
    """Draw the metadata registers of a sparse instruction: legal in the lanes that it reads, anything elsewhere.

    Parameters
    ----------
    instruction : BoundInstruction, Instruction or str
    selector : int
        The sparsity selector.

    Returns
    -------
    strategy of uint32 arrays, shape (32,); of `wgmma` (4, 32)

    Raises
    ------
    UnsupportedInstructionError
        When drawn, if the instruction is dense.
    FragmentMismatchError
        When drawn, if the selector is not legal for the instruction.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import metadata
    >>> found = find(metadata("mma.sp.m16n8k16.f32.f16.f16.f32"), lambda words: True, settings=anew)
    >>> found.shape, hex(found[0]), hex(found[1])
    ((32,), '0x44444444', '0x0')
    """
    entry = row_of(instruction)
    found, places = metadata_map(entry, selector), granularity_of(entry)
    legal = np.array(list(places.nibbles), np.uint32)
    shape = found.lane.shape
    is_random, seed = draw(st.booleans()), draw(seeds())
    nibbles = np.full(shape, legal[0])
    words = np.zeros((entry.warps, LANES), np.uint32)
    if is_random:
        nibbles = legal[random_words(f"wmma_emu metadata|{seed}", nibbles.size).reshape(shape) % np.uint64(len(legal))]
        words = unread_words(seed, entry)
    edit = st.tuples(*(integers(0, size - 1) for size in (*shape, len(legal))))
    for at_row, chunk, which in draw(st.lists(edit, max_size=8)):
        nibbles[at_row, chunk] = legal[which]
    warp = np.broadcast_to(np.arange(entry.m)[:, None] // (entry.m // entry.warps), shape)
    shift = (4 * found.nibble).astype(np.uint32)
    np.bitwise_and.at(words, (warp, found.lane), ~(np.uint32(15) << shift))
    np.bitwise_or.at(words, (warp, found.lane), nibbles << shift)
    return words if entry.is_warpgroup else words[0]


def unread_words(seed: int, entry: Instruction) -> NDArray[Any]:
    """Return random words for lanes without metadata of an instruction: (warps, 32)."""
    words = random_words(f"wmma_emu metadata|{seed}|unread", WARPS * LANES) & np.uint64(0xFFFFFFFF)
    return words.astype(np.uint32).reshape(WARPS, LANES)[: entry.warps]
