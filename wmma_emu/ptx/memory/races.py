# SPDX-License-Identifier: MIT
"""Races on shared memory: who wrote and read each granule last, and whether that is known to precede an access."""

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.access import gather, scatter, view_of
from wmma_emu.ptx.memory.masks import any_of, pick, wide
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.windows import Window
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.threads import Active, Array

__all__ = ["Races", "Touch"]

# A stamp of a write: time, whether it was strong, warp. A stamp of a read, kept for each warp: time, whether it was
# strong.
_WARP, _STRONG_WRITE, _WRITE_TIME = np.uint32(31), np.uint32(32), np.uint32(6)
_STRONG_READ, _READ_TIME = np.uint32(1), np.uint32(1)
_LONGEST_LOG = 128
_REMEMBERED = 24
_MANY = 1 << 13
"""Bytes of addresses from which on a list of them costs more than the stamps: the pages are not the system's again."""


_LATER: NDArray[np.int64] = np.zeros(0, np.int64)
"""Stands for positions that are found from the addresses when they are needed."""


class Touch(NamedTuple):
    """An access to shared memory: ``size`` bytes at each position, by the threads of ``mask`` (None: all).

    ``strong`` accesses never race with each other: those that are atomic, volatile, or have a scope. ``now`` is the
    time of each warp.
    """

    instruction: Instruction
    positions: NDArray[np.int64]
    addresses: Array
    size: int
    unit: int
    mask: NDArray[np.bool_] | None
    now: NDArray[np.int32]
    strong: bool = False


class Races:
    """Stamps of the last write and of each warp's last read, for every granule of the shared memory of some blocks.

    A granule is four bytes until an access of one or two bytes comes, from then on as small as that: bytes side by
    side, written by two warps, are no race. Reads are only listed until a write comes that they are not known to
    precede: between two barriers without a write, they cost nothing.
    """

    def __init__(self, window: Window, warps: int, reporter: Reporter, causality: CausalityOrder) -> None:
        self.window, self.warps, self.reporter, self.causality = window, warps, reporter, causality
        blocks = window.owners[0]
        self._granule = 4
        self._writes: NDArray[np.uint32] = zeroed(len(window.flat) // 4, np.uint32)
        self._any_read: NDArray[np.uint32] = zeroed(len(window.flat) // 4, np.uint32)
        self._reads: NDArray[np.uint32] | None = None
        self._unordered_writes = np.zeros((blocks, warps), np.int32)
        self._unordered_reads = np.zeros((blocks, warps), np.int32)
        self._log: list[Touch] = []
        self._recent_reads: deque[Touch] = deque(maxlen=_REMEMBERED)
        self._recent_writes: deque[Touch] = deque(maxlen=_REMEMBERED)
        self._first = np.arange(blocks * warps, dtype=np.int64).reshape(blocks, warps, 1) * warps
        g, w = np.mgrid[:blocks, :warps]
        self._row = ((g * (warps - 1) + w) * window.stride).astype(np.int64)[..., None]
        self._warp = np.arange(warps, dtype=np.uint32).reshape(1, warps, 1)

    def read(self, touch: Touch, active: Active) -> None:
        """Check a read against the writes, and list it."""
        self._refine(touch)
        self._check_writes(touch, active, "reads")
        self._forget_reads()
        self._note(self._unordered_reads, touch, active)
        few = touch.addresses.nbytes <= _MANY
        listed = touch._replace(positions=_LATER) if few else touch
        self._recent_reads.append(listed)
        self._log.append(listed)
        if not few or len(self._log) > _LONGEST_LOG:
            self._flush()

    def write(self, touch: Touch, active: Active, *, stamp_only: bool = False) -> None:
        """Check a write against writes and reads, and stamp it."""
        self._refine(touch)
        if not stamp_only:
            self.check_write(touch, active)
        self._note(self._unordered_writes, touch, active)
        self._recent_writes.append(touch)
        stamps = (touch.now.astype(np.uint32) << _WRITE_TIME)[..., None] | self._warp
        if touch.strong:
            stamps |= _STRONG_WRITE
        written, values = _chosen(touch, touch.positions, stamps)
        self._put(self._writes, touch, written, values)
        if touch.strong:
            return
        kept = self._get(self._writes, touch, written)
        if not (kept == values).all():
            positions = touch.positions
            shape = np.broadcast_shapes(positions.shape, stamps.shape)
            bad = (self._get(self._writes, touch, np.broadcast_to(positions, shape)) != stamps).any(axis=0)
            self._report(touch, bad, active, "writes", lambda p, w: "another warp writes in the same instruction")

    def check_write(self, touch: Touch, active: Active) -> None:
        """Check a write against the writes and the reads before it."""
        self._refine(touch)
        self._check_writes(touch, active, "writes")
        if not self._forget_reads():
            self._check_reads(touch, active)

    def _check_writes(self, touch: Touch, active: Active, verb: str) -> None:
        if self._ordered(self._unordered_writes):
            return
        stamps = self._get(self._writes, touch, touch.positions)
        if touch.strong:
            stamps = np.where(stamps & _STRONG_WRITE, np.uint32(0), stamps)
        times = stamps >> _WRITE_TIME
        if int(times.max()) <= int(self._seen().min()):
            return
        seen = self._seen().reshape(-1).take(self._first + (stamps & _WARP))
        bad = np.asarray((times > seen.view(np.uint32)).any(axis=0))

        def other(position: int, warp: int) -> str:
            stamp = int(self._writes[position // self._granule])
            writer = stamp & int(_WARP)
            return f"warp {writer} wrote there{self._line(self._recent_writes, position, writer)}"

        self._report(touch, bad, active, verb, other)

    def _check_reads(self, touch: Touch, active: Active) -> None:
        self._flush()
        latest = self._get(self._any_read, touch, touch.positions)
        if self._reads is None or int(latest.max()) <= int(self._seen().min()):
            return
        blocks = self.window.owners[0]
        block_row = np.arange(blocks, dtype=np.int64).reshape(-1, 1, 1) * ((self.warps - 1) * self.window.stride)
        for v in range(self.warps):
            stamps = self._get(self._reads, touch, touch.positions + (block_row + v * self.window.stride))
            if touch.strong:
                stamps = np.where(stamps & _STRONG_READ, np.uint32(0), stamps)
            times = stamps >> _READ_TIME
            bad = np.asarray((times > self._seen()[:, :, v, None].view(np.uint32)).any(axis=0))
            if bad.any():
                self._report(
                    touch, bad, active, "writes",
                    lambda position, warp, v=v: f"warp {v} read there{self._line(self._recent_reads, position, v)}",
                )  # fmt: skip

    def _seen(self) -> NDArray[np.int32]:
        """The latest time of warp v that warp w knows of, (G, W, W); of itself, the present."""
        seen = self.causality.known.copy()
        np.einsum("gww->gw", seen)[:] = self.causality.now
        return seen

    def _ordered(self, unordered: NDArray[np.int32]) -> bool:
        if not unordered.any():
            return True
        if (self._seen() >= unordered[:, None, :]).all():
            unordered[:] = 0
            return True
        return False

    def _forget_reads(self) -> bool:
        """Drop the list of reads if all of them precede whatever comes now."""
        ordered = self._ordered(self._unordered_reads)
        if ordered:
            self._log.clear()
        return ordered

    def _note(self, unordered: NDArray[np.int32], touch: Touch, active: Active) -> None:
        if active is None:
            np.maximum(unordered, touch.now, out=unordered)
        else:
            np.maximum(unordered, np.where(any_of(active).any(axis=-1), touch.now, 0), out=unordered)

    def _flush(self) -> None:
        """Stamp the reads that are only listed."""
        for touch in self._log:
            if self._reads is None:
                self._reads = zeroed(len(self.window.flat) * self.warps // self._granule, np.uint32)
            times = touch.now.astype(np.uint32)[..., None]
            stamps = times << _READ_TIME | np.uint32(touch.strong)
            positions = self._positions(touch)
            rows, values = _chosen(touch, positions + self._row, stamps)
            self._put(self._reads, touch, rows, values)
            positions, values = _chosen(touch, positions, np.full((1, 1, 1), times.max(), np.uint32))
            self._put(self._any_read, touch, positions, values)
        self._log.clear()

    def _positions(self, touch: Touch) -> NDArray[np.int64]:
        if touch.positions.size:
            return touch.positions
        positions = touch.addresses.view(np.int64)
        return positions if self.window.origin is None else positions + self.window.origin

    def _refine(self, touch: Touch) -> None:
        wanted = min(touch.size, touch.unit)
        if wanted >= self._granule:
            return
        times = self._granule // wanted
        self._granule = wanted
        self._writes, self._any_read = np.repeat(self._writes, times), np.repeat(self._any_read, times)
        self._reads = None if self._reads is None else np.repeat(self._reads, times)

    def _geometry(self, touch: Touch) -> tuple[int, int, int]:
        scale = 4 // self._granule
        return scale, min(touch.unit * scale, 16), touch.size // self._granule

    def _get(self, stamps: NDArray[np.uint32], touch: Touch, positions: NDArray[np.int64]) -> Array:
        scale, unit, count = self._geometry(touch)
        return gather(
            view_of(stamps.view(np.uint8), unit), unit, positions * scale if scale > 1 else positions, 4, count
        )

    def _put(self, stamps: NDArray[np.uint32], touch: Touch, positions: NDArray[np.int64], values: Array) -> None:
        scale, unit, count = self._geometry(touch)
        view: NDArray[Any] = view_of(stamps.view(np.uint8), unit)
        all_values = np.broadcast_to(values, (count, *values.shape))
        scatter(view, unit, positions * scale if scale > 1 else positions, all_values)

    def _report(self, touch: Touch, bad: NDArray[np.bool_], active: Active, verb: str, other: Any) -> None:
        bad = bad if touch.mask is None else bad & touch.mask
        if not bad.any():
            return
        shape = np.broadcast_shapes(bad.shape, touch.positions.shape, touch.addresses.shape)
        at = np.unravel_index(int(np.argmax(np.broadcast_to(bad, shape))), shape)
        position = int(np.broadcast_to(touch.positions, shape)[at])
        warp = int(at[-2])
        self.reporter.note(
            "race", touch.instruction, bad, active, touch.addresses,
            lambda address: self.reporter.raced(address, touch.size, verb, warp, other(position, warp)),
        )  # fmt: skip

    def _line(self, log: deque[Touch], position: int, warp: int) -> str:
        """Find the line of an access that a warp made to a position."""
        for touch in reversed(log):
            mask = np.ones((1, 1, 1), np.bool_) if touch.mask is None else touch.mask
            at = self._positions(touch)
            hit = (at <= position + self._granule - 1) & (at + touch.size > position) & mask
            shape = np.broadcast_shapes(hit.shape, (self.window.owners[0], self.warps, 1))
            if np.broadcast_to(hit, shape)[..., warp, :].any():
                return f" (line {touch.instruction.line}, {touch.instruction.opcode})"
        return ""


def _chosen(touch: Touch, positions: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Give the positions and the values of the threads that take part, each in one list, or whole where all do."""
    if touch.mask is None:
        shape = np.broadcast_shapes(positions.shape, values.shape)
        return wide(positions, shape), wide(values, shape)
    shape = np.broadcast_shapes(positions.shape, values.shape, touch.mask.shape)
    index = np.flatnonzero(wide(touch.mask, shape))
    return pick(positions, shape, index), pick(values, shape, index)
