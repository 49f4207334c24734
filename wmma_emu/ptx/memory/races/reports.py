# SPDX-License-Identifier: MIT
"""Messages of races: both sides, each with its thread, its instruction and its bytes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.findings import UNKNOWN, Detail, Diagnosis, MemoryLocation, Message, Place, Value, place_of
from wmma_emu.ptx.memory.races.race import EQUAL, LANES_AT_ONCE, NEAR, RACE, Race, RacedBytes
from wmma_emu.ptx.memory.races.remedies import REMEDIES, remedy_of, separation
from wmma_emu.ptx.memory.races.sides import Side, Sides
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Threads, index_of

ThreadId = tuple[int, int, int]

_LOOKED_AT = 8
"""The number of threads of an access whose other sides are looked up, spread over all threads that race."""

_MOST_LOOKED_AT = 64
"""The same for an instruction, in all its accesses to a region."""


class RaceReports:
    """Reports the races in a region as findings.

    ``location`` returns the location of some bytes at an address, and ``address`` the address of a position in the
    bytes that are ``held``; ``raced`` collects all races, with ``numbers`` to number positions through the launch.
    """

    def __init__(
        self, order: CausalityOrder, reporter: Reporter, threads: Threads, sides: Sides,
        location: Callable[[int, int], MemoryLocation], address: Callable[[int], int],
        held: Callable[[], NDArray[np.uint8]], *, raced: RacedBytes | None = None,
        numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]] = lambda x: x,
    ) -> None:  # fmt: skip
        self._raced, self._numbers = raced, numbers
        self._order, self._reporter, self._threads, self._sides = order, reporter, threads, sides
        self._location, self._address, self._held = location, address, held
        self._looked_at: dict[tuple[str, int], int] = {}

    def __call__(self, race: Race, active: Active) -> None:
        """Report one finding for the threads of a race."""
        access, bad = race.access, race.bad
        shape = np.broadcast_shapes(bad.shape, access.addresses.shape, (*self._order.now.shape, 32))
        full = np.broadcast_to(bad, shape)
        if active is not None:
            full = full & active
        if not full.any():
            return
        threads = np.moveaxis(full.reshape(-1, *shape[-3:]), 0, -1)
        first = np.unravel_index(int(np.argmax(threads)), threads.shape)
        at = (*np.unravel_index(int(first[-1]), shape[:-3]), *first[:3])
        if self._raced is not None:
            self._raced.note(race, full, self._numbers)
        own = self._thread_at(at)
        self._note_threads(race, at, own)

        def text(_: int) -> Diagnosis:
            address = int(np.broadcast_to(access.addresses, shape[1:])[at[1:]])
            position = int(np.broadcast_to(access.positions, shape[1:])[at[1:]])
            others = self._racing(race, at)
            location = self._location(address, access.size)
            if race.verb == "writes":
                value = "the same" if race.kind == EQUAL else "a different"
                other = self._name(others[0], own)
                name = self._name(own, others[0])
                message: Message = (
                    f"{name} writes ", location, f"; {other} writes {value} value there in the same instruction"
                )  # fmt: skip
                if self._remedy(own, others[0], access, access.instruction) == "update":
                    return Diagnosis((*message, *_missing("update")), "update", separation(own, others[0]))
                return Diagnosis(message, "" if race.kind == EQUAL else "at once", separation(own, others[0]))
            thread_id, side = self._other(others, position, access.size, race.verb == "wrote")
            held = self._held()[position : position + access.size].tobytes()
            verb, what = ("writes ", ", which held ") if race.write else ("reads ", ", which holds ")
            other_side, remedy = self._describe_other(thread_id, own, side, race.verb, access)
            remedy = "" if race.kind == EQUAL else remedy
            message = (f"{self._name(own, thread_id)} {verb}", location, Value(what, held), "; ", *other_side)
            return Diagnosis(message, remedy, separation(own, thread_id))

        self._reporter.note(
            race.kind, access.instruction, np.asarray(full.any(axis=0)), None, access.addresses, text,
            self._source_places(race, full),
        )  # fmt: skip

    def _note_threads(self, race: Race, at: Sequence[Any], own: ThreadId) -> None:
        """Note that two threads of a block race, possibly because of a wait at an mbarrier."""
        suspects = self._reporter.parity_suspects
        if suspects is None or race.kind != RACE or race.verb == "writes":
            return
        other = self._racing(race, at)[0]
        if other[0] != own[0]:
            return
        one, another = (int(at[-3]), *own[1:]), (int(at[-3]), *other[1:])
        suspects.note(race.access.instruction, one, another, reads=not race.write)
        suspects.note(race.access.instruction, another, one, reads=race.verb == "read")

    def _thread_at(self, at: Sequence[Any]) -> ThreadId:
        block, warp, lane = self._order.acting_lane(at)
        return int(self._threads.blocks[int(block)]), int(warp), int(lane)

    def _racing(self, race: Race, at: Sequence[Any]) -> list[ThreadId]:
        """Return the threads with which the thread at an index races: those that the kind of the race concerns.

        Threads of other blocks come first: what orders them also orders those of the same block.
        """
        own = self._thread_at(at)
        others = [self._order.thread_of(x) for x in race.other(tuple(int(x) for x in at))]
        near = race.kind in (NEAR, LANES_AT_ONCE)
        found = [x for x in others if (x[:2] == own[:2]) == near] or others
        return sorted(found, key=lambda x: x[0] == own[0])

    def _other(self, others: list[ThreadId], position: int, size: int, write: bool) -> tuple[ThreadId, Side | None]:
        for thread_id in others:
            side = self._sides.find(position, size, thread_id, write)
            if side is not None:
                return thread_id, side
        return others[0], None

    def _source_places(self, race: Race, full: NDArray[np.bool_]) -> list[Place]:
        access = race.access
        if race.verb == "writes":
            return [place_of(access.instruction)]
        key = race.kind, access.instruction.line
        known = self._looked_at.get(key, 0)
        index = np.flatnonzero(full)
        count = min(_LOOKED_AT, _MOST_LOOKED_AT - known, len(index))
        self._looked_at[key] = known + count
        found = dict[Place, None]()
        for i in index[np.linspace(0, len(index) - 1, count).astype(np.intp)]:
            at = np.unravel_index(int(i), full.shape)
            position = int(np.broadcast_to(access.positions, full.shape[1:])[at[1:]])
            for thread_id in self._racing(race, at)[:_LOOKED_AT]:
                side = self._sides.find(position, access.size, thread_id, race.verb == "wrote")
                found[UNKNOWN if side is None else place_of(side.instruction)] = None
        return list(found)

    def _name(self, thread_id: ThreadId, other: ThreadId) -> str:
        block, warp, lane = thread_id
        if block != other[0]:
            return f"block {index_of(block, self._threads.grid)}"
        return f"warp {warp}" if warp != other[1] else f"lane {lane} of warp {warp}"

    def _describe_other(
        self, thread_id: ThreadId, own: ThreadId, side: Side | None, verb: str, access: Access
    ) -> tuple[Message, str]:  # fmt: skip
        """Describe the other side, and what is missing between the two; return also the remedy."""
        if thread_id[0] != own[0]:
            thread = tuple(self._threads.name_thread(thread_id[1], thread_id[2]))
            name = f"thread {thread} of block {index_of(thread_id[0], self._threads.grid)}"
        else:
            name = f"warp {thread_id[1]}" if thread_id[1] != own[1] else f"lane {thread_id[2]}"
        other_instruction = None if side is None else side.instruction
        remedy = self._remedy(own, thread_id, access, other_instruction)
        where: Message = (f"{name} {verb} there",)
        if side is not None and side.position is not None and (side.size != access.size):
            where = f"{name} {verb} ", self._location(self._address(side.position), side.size)
        line: Message = ()
        if side is not None:
            line = " (", place_of(side.instruction), Detail(f", {side.instruction.opcode}"), ")"
        return (*where, *line, *_missing(remedy)), remedy

    def _remedy(self, own: ThreadId, other: ThreadId, access: Access, other_instruction: PtxInstruction | None) -> str:
        return remedy_of(own, other, access.instruction, other_instruction, self._sides.reads(), self._reporter.code)


def _missing(remedy: str) -> Message:
    """Describe what is missing between two accesses, and in terms of PTX what would help."""
    return f", and {REMEDIES[remedy].missing}", Detail(REMEDIES[remedy].helps)
