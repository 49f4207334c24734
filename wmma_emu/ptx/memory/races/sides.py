# SPDX-License-Identifier: MIT
"""The other side of a race: the last accesses of each instruction, and the bytes that they used."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.masks import any_of
from wmma_emu.ptx.memory.resolved_access import LATER, Access
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Array

_MOST_BYTES = 1 << 20
"""The number of bytes of positions that are kept."""


_NOWHERE: Array = np.zeros(0, np.uint64)
"""Replaces addresses if the positions are kept."""


class Side(NamedTuple):
    """The other side of a race: an instruction, and the bytes that it accessed, if they are still known."""

    instruction: PtxInstruction
    position: int | None = None
    size: int = 0


@dataclass
class _Remembered:
    access: Access
    blocks: NDArray[np.int64]
    origin: NDArray[np.int64] | None

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """The positions of the bytes, of threads that are masked out too."""
        if self.access.positions.size:
            return self.access.positions
        addresses: NDArray[np.int64] = self.access.addresses.view(np.int64)
        return addresses if self.origin is None else addresses + self.origin

    @cached_property
    def extent(self) -> tuple[int, int]:
        """The range of these bytes."""
        return int(self.positions.min()), int(self.positions.max()) + self.access.size


class Sides:
    """The accesses of a region: the last ones of each instruction, and which instructions there were.

    A granule's number does not contain the instruction, which is looked up in these accesses once a race is found.
    """

    def __init__(self) -> None:
        self._recent: dict[tuple[int, bool], list[_Remembered]] = {}
        self._bytes = 0

    def remember(
        self, access: Access, write: bool, blocks: NDArray[np.int64], origin: NDArray[np.int64] | None = None
    ) -> None:
        """Keep an access; ``blocks`` are the blocks of the wave, ``origin`` is the base of its addresses."""
        kept = self._recent.setdefault((id(access.instruction), write), [])
        without = {"positions": LATER} if origin is not None else {"addresses": _NOWHERE}
        record = _Remembered(access._replace(**without, stamps=None, times=None), blocks, origin)
        kept.append(record)
        self._bytes += _bytes_of(record)
        if len(kept) > 2 and (self._bytes > _MOST_BYTES or len(kept) > _MOST):
            self._bytes -= _bytes_of(kept.pop(0))

    def reads(self) -> list[PtxInstruction]:
        """Return the instructions that have read any bytes."""
        return [kept[-1].access.instruction for (_, write), kept in self._recent.items() if not write]

    def find(self, position: int, size: int, thread: tuple[int, int, int], write: bool) -> Side | None:
        """Find the access of a thread, (block of the grid, warp, lane), to some bytes."""
        candidates = [x for (_, kind), kept in self._recent.items() if kind == write for x in kept]
        near = [x for x in candidates if x.extent[0] < position + size and x.extent[1] > position]
        for exact in (True, False):
            for known in reversed(near):
                at = _position(known, position, size, thread, exact)
                if at is not None:
                    return Side(known.access.instruction, at, known.access.size)
        lines = {x.access.instruction.line: x.access.instruction for x in candidates}
        return Side(next(iter(lines.values()))) if len(lines) == 1 else None


_MOST = 12
"""The number of accesses of one instruction that are kept."""


def _bytes_of(known: _Remembered) -> int:
    return known.access.positions.nbytes + known.access.addresses.nbytes


def _position(known: _Remembered, position: int, size: int, thread: tuple[int, int, int], exact: bool) -> int | None:
    """Return where the access of a thread, or, if not ``exact``, of any thread, uses some bytes."""
    access, (block, warp, lane) = known.access, thread
    at = known.positions
    hit = (at < position + size) & (at + access.size > position)
    if access.mask is not None:
        hit = hit & access.mask
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
        own_hit = np.broadcast_to(hit, (*hit.shape[:-3], *full.shape))[..., int(g[0]), w, lane]
        positions_of_thread = np.broadcast_to(at, (*at.shape[:-3], *full.shape))[..., int(g[0]), w, lane]
        return int(np.broadcast_to(positions_of_thread, own_hit.shape)[own_hit][0])
    return int(np.broadcast_to(at, hit.shape)[hit][0])
