# SPDX-License-Identifier: MIT
"""What findings say of a race: both sides, each with its thread, its instruction and its bytes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.findings import UNKNOWN, Detail, Location, Message, Place, Said, Value, place_of
from wmma_emu.ptx.memory.races.race import EQUAL, LANES_AT_ONCE, NEAR, Race, Raced
from wmma_emu.ptx.memory.races.remedies import REMEDIES, apart, remedy_of
from wmma_emu.ptx.memory.races.sides import Side, Sides
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Threads, index_of

_Who = tuple[int, int, int]

_LOOKED_AT = 8
"""Threads of an access whose other sides are looked up, spread over all that are in a race."""

_MOST_LOOKED_AT = 64
"""Likewise of an instruction, in all that it does to a region."""


class RaceReports:
    """Makes findings of the races in a region.

    ``location`` names so many bytes at an address, and ``address`` gives the address of a position in the bytes that
    are ``held``; ``raced`` is told of all races, with ``numbers`` for positions that are those of the launch.
    """

    def __init__(
        self, order: CausalityOrder, reporter: Reporter, threads: Threads, sides: Sides,
        location: Callable[[int, int], Location], address: Callable[[int], int], held: Callable[[], NDArray[np.uint8]],
        *, raced: Raced | None = None,
        numbers: Callable[[NDArray[np.int64]], NDArray[np.int64]] = lambda x: x,
    ) -> None:  # fmt: skip
        self._raced, self._numbers = raced, numbers
        self._order, self._reporter, self._threads, self._sides = order, reporter, threads, sides
        self._location, self._address, self._held = location, address, held
        self._looked_at: dict[tuple[str, int], int] = {}

    def __call__(self, race: Race, active: Active) -> None:
        """Note one finding for the threads of a race."""
        touch, bad = race.touch, race.bad
        shape = np.broadcast_shapes(bad.shape, touch.addresses.shape, (*self._order.now.shape, 32))
        full = np.broadcast_to(bad, shape)
        if active is not None:
            full = full & active
        if not full.any():
            return
        if self._raced is not None:
            self._raced.note(race, full, self._numbers)
        threads = np.moveaxis(full.reshape(-1, *shape[-3:]), 0, -1)
        first = np.unravel_index(int(np.argmax(threads)), threads.shape)
        at = (*np.unravel_index(int(first[-1]), shape[:-3]), *first[:3])
        mine = self._who(at)

        def text(_: int) -> Said:
            address = int(np.broadcast_to(touch.addresses, shape[1:])[at[1:]])
            position = int(np.broadcast_to(touch.positions, shape[1:])[at[1:]])
            others = self._racing(race, at)
            there = self._location(address, touch.size)
            if race.verb == "writes":
                value = "the same" if race.kind == EQUAL else "a different"
                other = self._name(others[0], mine)
                name = self._name(mine, others[0])
                said: Message = (
                    f"{name} writes ", there, f"; {other} writes {value} value there in the same instruction"
                )  # fmt: skip
                if self._remedy(mine, others[0], touch, touch.instruction) == "update":
                    return Said((*said, *_missing("update")), "update", apart(mine, others[0]))
                return Said(said, "" if race.kind == EQUAL else "at once", apart(mine, others[0]))
            who, side = self._other(others, position, touch.size, race.verb == "wrote")
            held = self._held()[position : position + touch.size].tobytes()
            verb, what = ("writes ", ", which held ") if race.write else ("reads ", ", which holds ")
            other_side, remedy = self._what(who, mine, side, race.verb, touch)
            remedy = "" if race.kind == EQUAL else remedy
            said = (f"{self._name(mine, who)} {verb}", there, Value(what, held), "; ", *other_side)
            return Said(said, remedy, apart(mine, who))

        self._reporter.note(
            race.kind, touch.instruction, np.asarray(full.any(axis=0)), None, touch.addresses, text,
            self._places(race, full),
        )  # fmt: skip

    def _who(self, at: Sequence[Any]) -> _Who:
        return int(self._threads.blocks[int(at[-3])]), int(at[-2]), int(at[-1])

    def _racing(self, race: Race, at: Sequence[Any]) -> list[_Who]:
        """Name the threads that the one at a place is in a race with: those that the kind of the race is about.

        Those of other blocks come first: what orders them orders those of the own one, too.
        """
        mine = self._who(at)
        others = [self._order.who(x) for x in race.other(tuple(int(x) for x in at))]
        near = race.kind in (NEAR, LANES_AT_ONCE)
        found = [x for x in others if (x[:2] == mine[:2]) == near] or others
        return sorted(found, key=lambda x: x[0] == mine[0])

    def _other(self, others: list[_Who], position: int, size: int, write: bool) -> tuple[_Who, Side | None]:
        for who in others:
            side = self._sides.find(position, size, who, write)
            if side is not None:
                return who, side
        return others[0], None

    def _places(self, race: Race, full: NDArray[np.bool_]) -> list[Place]:
        touch = race.touch
        if race.verb == "writes":
            return [place_of(touch.instruction)]
        key = race.kind, touch.instruction.line
        known = self._looked_at.get(key, 0)
        index = np.flatnonzero(full)
        count = min(_LOOKED_AT, _MOST_LOOKED_AT - known, len(index))
        self._looked_at[key] = known + count
        found = dict[Place, None]()
        for i in index[np.linspace(0, len(index) - 1, count).astype(np.intp)]:
            at = np.unravel_index(int(i), full.shape)
            position = int(np.broadcast_to(touch.positions, full.shape[1:])[at[1:]])
            for who in self._racing(race, at)[:_LOOKED_AT]:
                side = self._sides.find(position, touch.size, who, race.verb == "wrote")
                found[UNKNOWN if side is None else place_of(side.instruction)] = None
        return list(found)

    def _name(self, who: _Who, other: _Who) -> str:
        block, warp, lane = who
        if block != other[0]:
            return f"block {index_of(block, self._threads.grid)}"
        return f"warp {warp}" if warp != other[1] else f"lane {lane} of warp {warp}"

    def _what(
        self, who: _Who, mine: _Who, side: Side | None, verb: str, touch: Access
    ) -> tuple[Message, str]:  # fmt: skip
        """Say what the other side did, and what is missing between the two; and which remedy that is."""
        if who[0] != mine[0]:
            thread = tuple(self._threads.name_thread(who[1], who[2]))
            name = f"thread {thread} of block {index_of(who[0], self._threads.grid)}"
        else:
            name = f"warp {who[1]}" if who[1] != mine[1] else f"lane {who[2]}"
        its = None if side is None else side.instruction
        remedy = self._remedy(mine, who, touch, its)
        where: Message = (f"{name} {verb} there",)
        if side is not None and side.position is not None and (side.size != touch.size):
            where = f"{name} {verb} ", self._location(self._address(side.position), side.size)
        line: Message = ()
        if side is not None:
            line = " (", place_of(side.instruction), Detail(f", {side.instruction.opcode}"), ")"
        return (*where, *line, *_missing(remedy)), remedy

    def _remedy(self, mine: _Who, other: _Who, touch: Access, its: PtxInstruction | None) -> str:
        return remedy_of(mine, other, touch.instruction, its, self._sides.reads(), self._reporter.code)


def _missing(remedy: str) -> Message:
    """Say what is missing between two accesses, and in terms of the PTX what would help."""
    return f", and {REMEDIES[remedy].missing}", Detail(REMEDIES[remedy].helps)
