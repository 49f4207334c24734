# SPDX-License-Identifier: MIT
"""The part of a launch that a history watches, and the parts of an access that overlap it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.history.log import Hit
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.threads import Active, Array

Ints = NDArray[np.int64]


class Watch(NamedTuple):
    """The bytes, register, line or lanes that a `Recorder` watches.

    Attributes
    ----------
    space : str
        "global", "shared" or "local" for the watched bytes; "" for none.
    address : int
        The address of the first byte, as in findings: for shared and local memory, relative to the owner's memory.
    size : int
        The number of bytes.
    block : int
        The block that owns the bytes in shared and local memory, or whose synchronisation is recorded if no bytes are
        watched: the index of the block in its grid, -1 for all blocks.
    thread : int
        The thread that owns the bytes in local memory, or the registers: its index in its block, -1 for all threads.
    register : int
        A register whose writes are recorded, -1 for none.
    line : int
        The line of the PTX that uses an uninitialised value; the threads that reach it are recorded. 0 for none.
    lanes : bool
        Whether to record which lanes of a warp wait at an instruction that they execute together.
    """

    space: str = ""
    address: int = 0
    size: int = 0
    block: int = -1
    thread: int = -1
    register: int = -1
    line: int = 0
    lanes: bool = False

    def covers(self, space: str) -> bool:
        """Return whether bytes of an address space are watched."""
        return self.size > 0 and self.space == space


@dataclass
class WatchedParts:
    """The parts of an access that overlap the watched bytes, one for each thread and address.

    ``index`` are indices into the shape of the access, (*lead, G, W, 32); ``skipped`` is the distance from the start of
    the access to the start of the part, ``first`` the part's address, ``size`` its bytes; ``position`` is its position
    in the bytes of the address space, -1 if the access is not performed.
    """

    memory: WaveMemory
    space: str
    shape: tuple[int, ...]
    index: tuple[Ints, ...]
    skipped: Ints
    first: list[int]
    size: Ints
    position: Ints

    def hits(self, values: "Sequence[bytes | None] | None") -> list[Hit]:
        """Return the threads, with the bits of each thread's part."""
        values = [None] * len(self.first) if values is None else values
        at = (x.tolist() for x in self.index[-3:])
        found = [
            Hit(g, w, lane, first, size, None if value is None else int.from_bytes(value, "little"))
            for g, w, lane, first, size, value in zip(*at, self.first, self.size.tolist(), values, strict=True)
        ]
        return sorted(found, key=lambda x: x[:4])

    def bytes_now(self) -> list[bytes | None]:
        """Read the current bytes of each part."""
        flat = self.memory.window(self.space).flat
        return [
            None if p < 0 else flat[p : p + n].tobytes()
            for p, n in zip(self.position.tolist(), self.size.tolist(), strict=True)
        ]

    def bytes_of(self, values: Array) -> list[bytes | None]:
        """Extract each part's bytes from the values of a store, (count, *shape of the access, or narrower)."""
        wide = np.broadcast_to(values, (len(values), *self.shape))
        flat = np.ravel_multi_index(self.index, self.shape)
        picked = np.ascontiguousarray(wide.reshape(len(values), -1)[:, flat].T)
        raw = picked.view(np.uint8).reshape(len(self.first), -1)
        parts = zip(raw, self.skipped.tolist(), self.size.tolist(), self.position.tolist(), strict=True)
        return [row[a : a + n].tobytes() if p >= 0 else None for row, a, n, p in parts]

    def after(self, hits: list[Hit]) -> list[Hit]:
        """Return the hits with their current bytes, and the previous bytes as the value before."""
        now = self.hits(self.bytes_now())
        return [new._replace(before=old.value) for new, old in zip(now, hits, strict=True)]


def watched_parts(watch: Watch, memory: WaveMemory, reached: ResolvedAccess, active: Active) -> WatchedParts | None:
    """Find the parts of an access that overlap the watched bytes; None if there are none."""
    if not watch.covers(reached.space):
        return None
    touch, threads = reached.access, memory.threads
    addresses, last = touch.addresses, np.uint64(touch.size - 1)
    lo, hi = np.uint64(watch.address), np.uint64(watch.address + watch.size - 1)
    near = (addresses <= hi) & (addresses >= lo - np.minimum(lo, last))
    if not near.any():
        return None
    shape = np.broadcast_shapes(addresses.shape, threads.shape)
    who = np.broadcast_to(near, shape) & (True if active is None else active)
    if threads.exists is not None:
        who = who & threads.exists
    if watch.block >= 0 and reached.space != "global":
        who = who & (threads.blocks == watch.block).reshape(-1, 1, 1)
    if watch.thread >= 0 and reached.space == "local":
        who = who & (np.arange(threads.num_warps * LANES) == watch.thread).reshape(-1, LANES)
    index = np.nonzero(who)
    if not len(index[0]):
        return None
    where = reached.where
    begin = [int(x) for x in np.broadcast_to(addresses, shape)[index]]
    used = np.broadcast_to(True if where.used is None else where.used, shape)[index]
    positions = np.broadcast_to(where.positions, shape)[index]
    first = [max(x, watch.address) for x in begin]
    end = [min(x + touch.size, watch.address + watch.size) for x in begin]
    skipped = np.array([a - x for a, x in zip(first, begin, strict=True)], np.int64)
    size = np.array([b - a for a, b in zip(first, end, strict=True)], np.int64)
    return WatchedParts(
        memory, reached.space, shape, index, skipped, first, size, np.where(used, positions + skipped, -1)
    )  # fmt: skip
