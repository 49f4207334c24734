# SPDX-License-Identifier: MIT
"""What of a launch is looked at: which threads of an access touch the bytes that are watched, and with which bits."""

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
    """What a `Recorder` notes.

    Attributes
    ----------
    space : str
        "global", "shared" or "local" of the bytes that are watched; "" for none.
    address : int
        Of the first byte, as findings have it: of shared and local memory from the beginning of the owner's.
    size : int
        How many bytes.
    block : int
        Whose bytes they are, in shared and local memory, and whose synchronisation is noted without bytes: index of
        the block in its grid, -1 for all.
    thread : int
        Whose bytes they are in local memory, and whose registers: index of the thread in its block, -1 for all.
    register : int
        A register whose writes are noted, -1 for none.
    line : int
        Of the PTX, whose instruction uses what nobody wrote; who comes to it is noted. 0 for none.
    lanes : bool
        Whether it is noted which lanes of a warp stand at an instruction that they execute together.
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
        """Whether bytes of a space are watched."""
        return self.size > 0 and self.space == space


@dataclass
class WatchedParts:
    """The parts of an access that touch the bytes that are watched, one a thread and address.

    ``index`` are places in the shape of the access, (*lead, G, W, 32); ``skipped`` is how far after the beginning of
    each access its part begins, ``first`` its address, ``size`` its bytes; ``position`` is where it lies in the bytes
    of the space, -1 where the access is left out.
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
        """Name the threads, with the bits of each one's part."""
        values = [None] * len(self.first) if values is None else values
        at = (x.tolist() for x in self.index[-3:])
        found = [
            Hit(g, w, lane, first, size, None if value is None else int.from_bytes(value, "little"))
            for g, w, lane, first, size, value in zip(*at, self.first, self.size.tolist(), values, strict=True)
        ]
        return sorted(found, key=lambda x: x[:4])

    def bytes_now(self) -> list[bytes | None]:
        """Read what the bytes of each part hold now."""
        flat = self.memory.window(self.space).flat
        return [
            None if p < 0 else flat[p : p + n].tobytes()
            for p, n in zip(self.position.tolist(), self.size.tolist(), strict=True)
        ]

    def bytes_of(self, values: Array) -> list[bytes | None]:
        """Take each part's bytes out of the values of a store, (count, *shape of the access, or narrower)."""
        wide = np.broadcast_to(values, (len(values), *self.shape))
        flat = np.ravel_multi_index(self.index, self.shape)
        picked = np.ascontiguousarray(wide.reshape(len(values), -1)[:, flat].T)
        raw = picked.view(np.uint8).reshape(len(self.first), -1)
        parts = zip(raw, self.skipped.tolist(), self.size.tolist(), self.position.tolist(), strict=True)
        return [row[a : a + n].tobytes() if p >= 0 else None for row, a, n, p in parts]

    def after(self, hits: list[Hit]) -> list[Hit]:
        """Let what the bytes held be what was found before, and give what they hold now."""
        now = self.hits(self.bytes_now())
        return [new._replace(before=old.value) for new, old in zip(now, hits, strict=True)]


def watched_parts(watch: Watch, memory: WaveMemory, reached: ResolvedAccess, active: Active) -> WatchedParts | None:
    """Find the parts of an access that touch what is watched; None where there are none."""
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
