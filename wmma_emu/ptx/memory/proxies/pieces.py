# SPDX-License-Identifier: MIT
"""The pieces of 16 bytes that an access touches, and for each piece the last access of one sort."""

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.masks import pick, wide
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Array

PIECE = 16
"""Bytes of a piece: what a bulk copy and an operand of wgmma in shared memory consist of."""


class TouchedPieces(NamedTuple):
    """The pieces of an access, (n,), and the thread of each, counted through the wave.

    ``at`` are the flat positions of the threads in ``shape``, (..., blocks, warps, 32); None: all of them, in order.
    """

    pieces: NDArray[np.int64]
    threads: NDArray[np.int64]
    at: NDArray[np.int64] | None
    shape: tuple[int, ...]

    @classmethod
    def of(cls, resolved: ResolvedAccess, threads: tuple[int, int, int]) -> "TouchedPieces":
        """Return the pieces at which each thread's access begins."""
        positions, mask = resolved.where.positions, resolved.mask
        shape = np.broadcast_shapes(positions.shape, threads)
        index = None if mask is None else np.flatnonzero(wide(mask, shape))
        pieces = pick(positions, shape, index).reshape(-1) // PIECE
        every = _threads_of(shape, threads[0] * threads[1] * threads[2])
        return cls(pieces, every if index is None else every[index], index, shape)

    def mask(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return some of the threads as a mask, (..., blocks, warps, 32)."""
        found = np.zeros(prod(self.shape), np.bool_)
        found[np.flatnonzero(chosen) if self.at is None else self.at[chosen]] = True
        return found.reshape(self.shape)


@lru_cache(64)
def _threads_of(shape: tuple[int, ...], count: int) -> NDArray[np.int64]:
    """Return the thread of each element of a shape, (..., blocks, warps, 32), of ``count`` threads."""
    return np.arange(prod(shape), dtype=np.int64) % count


class LastAccesses:
    """For each piece of some memory the last access: its stamp, 0 for none, and its instruction.

    Examples
    --------
    >>> last = LastAccesses(64)
    >>> last.put(np.array([1, 2]), np.array([7, 8], np.uint64), PtxInstruction("st.b32", "st", (), (), None, 5, 1))
    >>> last.stamps(np.array([0, 1, 2])), last.instruction(2).line
    (array([0, 7, 8], dtype=uint64), 5)
    """

    def __init__(self, size: int) -> None:
        self._stamps = zeroed(-(-size // PIECE) + 1, np.uint64)
        self._numbers = zeroed(len(self._stamps), np.int32)
        self._instructions: dict[int, PtxInstruction] = {}
        self.is_used = False

    def put(self, pieces: NDArray[np.int64], stamps: Array, instruction: PtxInstruction) -> None:
        """Record an access of one instruction."""
        self._stamps[pieces] = stamps
        self._numbers[pieces] = instruction.line
        self._instructions[instruction.line] = instruction
        self.is_used = True

    def forget(self, pieces: NDArray[np.int64]) -> None:
        """Remove the accesses of some pieces."""
        if self.is_used:
            self._stamps[pieces] = 0

    def stamps(self, pieces: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the stamp of each piece."""
        return self._stamps.take(pieces)

    def instruction(self, piece: int) -> PtxInstruction:
        """Return the instruction of the last access to a piece."""
        return self._instructions[int(self._numbers[piece])]
