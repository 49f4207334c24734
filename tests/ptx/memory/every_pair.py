# SPDX-License-Identifier: MIT
"""Races by the definition: every pair of accesses to every byte, and the order between all threads."""

from typing import NamedTuple

import numpy as np

from wmma_emu.ptx.memory.races.race import EQUAL, LANES_AT_ONCE, NEAR, RACE
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK

LANES = 32


class Knowledge:
    """The order between the threads of a launch, as the time up to which each thread knows every other.

    It has the interface that races need. Threads of a block are its warps of 32 lanes; one wave of blocks runs at a
    time.
    """

    def __init__(self, blocks: int, warps: int) -> None:
        self.warps, self.count = warps, blocks * warps * LANES
        self.bits = max((self.count - 1).bit_length(), 1)
        self.times = np.ones(self.count, np.int64)
        self.knows = np.zeros((self.count, self.count), np.int64)
        self.changes = 0

    are_blocks_unordered = False
    """Whether blocks are unordered: the tests ensure it."""

    def know_others(self, threads: np.ndarray) -> np.ndarray:
        mine = self.mine.reshape(-1)[threads]
        of_others = np.arange(self.count) // LANES // self.warps != (mine // LANES // self.warps)[:, None]
        return (self.knows[mine] * of_others).any(axis=1)

    def begin(self, blocks: list[int]) -> None:
        self.blocks = np.array(blocks)
        self.mine = (self.blocks.reshape(-1, 1, 1) * self.warps + np.arange(self.warps).reshape(1, -1, 1)) * LANES
        self.mine = self.mine + np.arange(LANES)
        self.shape = self.mine.shape

    @property
    def now(self) -> np.ndarray:
        return self.times[self.mine].max(axis=-1).astype(np.int32)

    @property
    def known(self) -> np.ndarray:
        """What all lanes of a warp know of all lanes of another of its block, except themselves."""
        knows = self.knows.copy()
        knows[np.arange(self.count), np.arange(self.count)] = np.iinfo(np.int32).max
        mine = self.mine
        by_lanes = knows[mine[:, :, None, :, None], mine[:, None, :, None, :]]
        return np.minimum(by_lanes.min(axis=(-1, -2)), self.now[:, None, :]).astype(np.int32)

    def stamps(self, active: object = None) -> np.ndarray:
        return (self.times[self.mine] << self.bits | self.mine).astype(np.uint32)

    def unordered(self, stamps: np.ndarray) -> np.ndarray:
        full = np.broadcast_to(stamps, np.broadcast_shapes(stamps.shape, self.shape))
        return self._is_unordered(full, np.broadcast_to(self.mine, full.shape))

    def unordered_for(self, stamps: np.ndarray, threads: np.ndarray) -> np.ndarray:
        return self._is_unordered(stamps, self.mine.reshape(-1)[threads])

    def _is_unordered(self, stamps: np.ndarray, mine: np.ndarray) -> np.ndarray:
        other = self.threads_of(stamps)
        time = (stamps >> np.uint32(self.bits)).astype(np.int64)
        return (time > self.knows[mine, other]) & (other != mine)

    def threads_of(self, stamps: np.ndarray) -> np.ndarray:
        return (stamps & np.uint32((1 << self.bits) - 1)).astype(np.int64)

    def time(self, stamps: np.ndarray) -> np.ndarray:
        return stamps >> np.uint32(self.bits)

    def thread_of(self, stamp: int) -> tuple[int, int, int]:
        thread = stamp & ((1 << self.bits) - 1)
        return thread // LANES // self.warps, thread // LANES % self.warps, thread % LANES

    def meet(self, threads: list[int]) -> None:
        """Threads wait for each other."""
        passed = self.knows[threads].max(axis=0)
        passed[threads] = self.times[threads]
        self.knows[threads] = passed
        self.times[threads] += 1
        self.changes += 1

    def hand_over(self, source: int, target: int) -> None:
        """Pass the knowledge and the accesses of one thread to another."""
        passed = self.knows[source].copy()
        passed[source] = self.times[source]
        self.times[source] += 1
        self.knows[target] = np.maximum(self.knows[target], passed)
        self.changes += 1


class One(NamedTuple):
    """An access of one thread to one byte."""

    thread: int
    time: int
    write: bool
    strength: int


class EveryPair:
    """Every access to every byte of some memory, compared with every other.

    Accesses that happen before a weak store need no further comparison: an access after the store is after them too.
    Others race with the store, but the race may be reported as the lesser finding of the two, if it is in the same warp
    or stores the same bytes. ``lenient`` omits such accesses.
    """

    def __init__(self, order: Knowledge, *, is_of_block: bool, lenient: bool) -> None:
        self.order, self.is_of_block, self._lenient = order, is_of_block, lenient
        self.seen: dict[int, list[One]] = {}

    def access(
        self, threads: list[int], positions: list[int], size: int, values: list[bytes], before: bytes, write: bool,
        strength: int,
    ) -> dict[str, set[int]]:  # fmt: skip
        """Return the threads that race, by kind; the first of RACE, NEAR or LANES_AT_ONCE, EQUAL."""
        order, size_of_block = self.order, self.order.warps * LANES
        found: dict[str, set[int]] = {RACE: set(), NEAR: set(), LANES_AT_ONCE: set(), EQUAL: set()}
        left = self._left(threads, positions, size, values)
        for thread, position, value in zip(threads, positions, left, strict=True):
            for i in range(size):
                for old in self.seen.get(position + i, ()):
                    if not (write or old.write) or old.thread == thread:
                        continue
                    if old.time <= order.knows[thread, old.thread]:
                        continue
                    if not in_conflict(strength, old.strength, thread // size_of_block == old.thread // size_of_block):
                        continue
                    both = write and old.write and max(strength, old.strength) < BLOCK
                    if both and value[i] == before[position + i]:
                        found[EQUAL].add(thread)
                    else:
                        found[RACE if thread // LANES != old.thread // LANES else NEAR].add(thread)
        if write:
            self._at_once(threads, positions, values, left, strength, found)
        before_all = {x: list(y) for x, y in self.seen.items()}
        for thread, position in zip(threads, positions, strict=True):
            for i in range(size):
                one = One(thread, int(order.times[thread]), write, strength)
                known = self.seen.setdefault(position + i, [])
                if write and strength == WEAK and self._lenient:
                    over = [x for x in before_all.get(position + i, ()) if self._precedes(x, thread)]
                    known[:] = [x for x in known if x not in over]
                known.append(one)
        return found

    def _precedes(self, one: One, thread: int) -> bool:
        return one.thread == thread or one.time <= self.order.knows[thread, one.thread]

    def _left(self, threads, positions, size, values) -> list[bytes]:
        """What the warp of each thread leaves at its address: the value of the lowest lane of the last pass."""
        lanes = min(128 // size, LANES)
        found = {}
        for thread, position, value in zip(threads, positions, values, strict=True):
            key, lane = (thread // LANES, position), thread % LANES
            order = lane // lanes, -lane
            if key not in found or found[key][0] < order:
                found[key] = order, value
        return [found[t // LANES, p][1] for t, p in zip(threads, positions, strict=True)]

    def _at_once(self, threads, positions, values, left, strength, found) -> None:
        size_of_block = self.order.warps * LANES
        for thread, position, value, stays in zip(threads, positions, values, left, strict=True):
            for other, where, given, other_stays in zip(threads, positions, values, left, strict=True):
                if other == thread or where != position:
                    continue
                if not in_conflict(strength, strength, thread // size_of_block == other // size_of_block):
                    continue
                if thread // LANES == other // LANES:
                    found[LANES_AT_ONCE].update((thread, other) if value != given else ())
                else:
                    found[RACE if stays != other_stays or strength >= BLOCK else EQUAL].update((thread, other))


def in_conflict(one: int, other: int, same_block: bool) -> bool:
    """Whether two accesses of these strengths are in conflict if nothing orders them."""
    if WEAK in (one, other) or one == other == VOLATILE:
        return True
    return not same_block and not (one == other == SYSTEM)
