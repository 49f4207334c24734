# SPDX-License-Identifier: MIT
"""The other side of a race: the last accesses of each instruction, and what they touched."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.masks import any_of
from wmma_emu.ptx.memory.resolved_access import LATER, Access
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Array

_MOST_BYTES = 1 << 20
"""Bytes of positions that are remembered."""


_NOWHERE: Array = np.zeros(0, np.uint64)
"""In the place of addresses of which the positions are kept."""


class Side(NamedTuple):
    """What the other side of a race did: an instruction, and the bytes it touched, if they are still known."""

    instruction: PtxInstruction
    position: int | None = None
    size: int = 0


class _Remembered(NamedTuple):
    touch: Access
    blocks: NDArray[np.int64]
    origin: NDArray[np.int64] | None


class Sides:
    """The accesses of a region: of each instruction the last ones, and which instructions there were.

    What a granule's number does not say, which instruction it was, is looked up here once a race is found.
    """

    def __init__(self) -> None:
        self._recent: dict[tuple[int, bool], list[_Remembered]] = {}
        self._bytes = 0

    def remember(
        self, touch: Access, write: bool, blocks: NDArray[np.int64], origin: NDArray[np.int64] | None = None
    ) -> None:
        """Keep an access; ``blocks`` are those of the chunk, ``origin`` what its addresses count from."""
        kept = self._recent.setdefault((id(touch.instruction), write), [])
        without = {"positions": LATER} if origin is not None else {"addresses": _NOWHERE}
        listed = _Remembered(touch._replace(**without, stamps=None, times=None), blocks, origin)
        kept.append(listed)
        self._bytes += _bytes_of(listed)
        if len(kept) > 2 and (self._bytes > _MOST_BYTES or len(kept) > _MOST):
            self._bytes -= _bytes_of(kept.pop(0))

    def reads(self) -> list[PtxInstruction]:
        """List the instructions that have read anything."""
        return [kept[-1].touch.instruction for (_, write), kept in self._recent.items() if not write]

    def find(self, position: int, size: int, who: tuple[int, int, int], write: bool) -> Side | None:
        """Find the access of a thread to some bytes: (block of the grid, warp, lane)."""
        candidates = [x for (_, kind), kept in self._recent.items() if kind == write for x in kept]
        for exact in (True, False):
            for known in reversed(candidates):
                at = _position(known, position, size, who, exact)
                if at is not None:
                    return Side(known.touch.instruction, at, known.touch.size)
        lines = {x.touch.instruction.line: x.touch.instruction for x in candidates}
        return Side(next(iter(lines.values()))) if len(lines) == 1 else None


_MOST = 12
"""Accesses of one instruction that are remembered."""


def _bytes_of(known: _Remembered) -> int:
    return known.touch.positions.nbytes + known.touch.addresses.nbytes


def _position(known: _Remembered, position: int, size: int, who: tuple[int, int, int], exact: bool) -> int | None:
    """Find where the access of a thread, or, if not ``exact``, of any thread, meets some bytes."""
    touch, (block, warp, lane) = known.touch, who
    at: Array = touch.positions
    if not at.size:
        at = touch.addresses.view(np.int64)
        at = at if known.origin is None else at + known.origin
    hit = (at < position + size) & (at + touch.size > position)
    if touch.mask is not None:
        hit = hit & touch.mask
    if not hit.any():
        return None
    if exact:
        g = np.flatnonzero(known.blocks == block)
        if not len(g):
            return None
        threads = (len(known.blocks), warp + 1, 32)
        full = np.broadcast_to(any_of(hit), np.broadcast_shapes(any_of(hit).shape, (threads[0], 1, 32)))
        w = warp if full.shape[1] > 1 else 0
        if w >= full.shape[1] or not full[int(g[0]), w, lane]:
            return None
        mine = np.broadcast_to(hit, (*hit.shape[:-3], *full.shape))[..., int(g[0]), w, lane]
        places = np.broadcast_to(at, (*at.shape[:-3], *full.shape))[..., int(g[0]), w, lane]
        return int(np.broadcast_to(places, mine.shape)[mine][0])
    return int(np.broadcast_to(at, hit.shape)[hit][0])
