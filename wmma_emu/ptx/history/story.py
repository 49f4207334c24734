# SPDX-License-Identifier: MIT
"""Conversion of a run's notes to events: accesses to the bytes of a finding, and the synchronisation in between."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.findings import Message, Place, place_of, plain_text
from wmma_emu.ptx.history.events import Event
from wmma_emu.ptx.history.log import Log, Note
from wmma_emu.ptx.memory.races.race import LANES_AT_ONCE, NEAR
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.threads import Threads, linear_of

_MOST_TRIED = 200
"""The number of accesses in a loop that are tried as the racing one: each is compared with all others."""

_Block = tuple[int, int, int]
Words = Callable[[Message], str]


@dataclass(frozen=True, slots=True)
class HistorySubject:
    """The finding that a history explains.

    Attributes
    ----------
    kind, message : str
    place : Place
        The position of the access, or of the instruction.
    block : (int, int, int)
        Index of the block in its grid.
    warp, lane : int
        The thread in which the finding first occurred.
    others : tuple of Place
        The other sides of a race.
    about_bytes, about_register : bool
        Whether bytes, or a register, are watched: events before the first and after the last access are omitted.
    writers : tuple of Place
        The instructions that write the register.
    """

    kind: str
    message: str
    place: Place
    block: _Block
    warp: int
    lane: int
    others: tuple[Place, ...] = ()
    about_bytes: bool = True
    about_register: bool = False
    writers: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Story:
    """Events in order, and the indices of the finding's two events; None if an event is missing.

    ``here`` is the access or instruction of the finding, ``other`` the other side of a race.
    """

    events: tuple[Event, ...]
    here: int | None
    other: int | None


def build_story(log: Log, subject: HistorySubject, program: KernelProgram, words: Words = plain_text) -> Story:
    """Convert the notes of the finding's blocks to events; ``words`` writes messages with the names of the source."""
    notes = list(log)
    accesses = [x for note in notes if note.hits is not None for x in _accesses(note, program)]
    near = _synchronisation(notes, {subject.block}, program, words)
    here, other = _pair(accesses, subject, near)
    blocks = {subject.block} | ({other.block} if other is not None else set())
    between = near if len(blocks) == 1 else _synchronisation(notes, blocks, program, words)
    if subject.about_bytes or subject.about_register:
        first, last = _span(accesses)
        between = [x for x in between if x.what == "uses" or (first <= x.step <= last and x.what != "exits")]
    if not subject.others:
        uses = [x for x in between if x.what == "uses" and subject.warp in x.warps and subject.lane in x.lanes]
        here = next(iter(uses), here)
    events = sorted([*accesses, *between], key=lambda x: (x.step, x.block, x.warps, x.lanes))
    numbers = {step: i for i, step in enumerate(sorted({x.step for x in events}), 1)}
    found = tuple(replace(x, step=numbers[x.step]) for x in events)
    return Story(found, _position(events, here), _position(events, other))


def _position(events: Sequence[Event], event: Event | None) -> int | None:
    return None if event is None else next(i for i, x in enumerate(events) if x is event)


def _span(accesses: Sequence[Event]) -> tuple[int, int]:
    steps = [x.step for x in accesses]
    return (min(steps), max(steps)) if steps else (0, -1)


def _accesses(note: Note, program: KernelProgram) -> Iterable[Event]:
    groups: dict[tuple[int, int, int, int, int | None, int | None], list[int]] = {}
    for x in note.hits or ():
        groups.setdefault((x.g, x.warp, x.first, x.size, x.value, x.before), []).append(x.lane)
    for (g, warp, first, size, value, before), lanes in groups.items():
        yield Event(
            note.moment, note.what, _block(note.threads, g), (warp,), tuple(sorted(set(lanes))),
            place_of(note.instruction), program.text(note.instruction.line), first, size, value, before,
            count=note.count,
        )  # fmt: skip


def _synchronisation(
    notes: Sequence[Note], blocks: set[_Block], program: KernelProgram, words: Words
) -> list[Event]:  # fmt: skip
    """Make one event of all warps of a block whose same lanes perform the same action."""
    rows: dict[int, list[int]] = {}
    found = []
    for note in notes:
        if note.hits is not None:
            continue
        mine = rows.get(id(note.threads))
        if mine is None:
            mine = rows[id(note.threads)] = _block_rows(note.threads, blocks)
        if not mine:
            continue
        mask = note.mask()
        for g in mine:
            for lanes, warps in _groups(mask[g]):
                found.append(
                    Event(
                        note.moment,
                        note.what,
                        _block(note.threads, g),
                        warps,
                        lanes,
                        place_of(note.instruction),
                        program.text(note.instruction.line),
                        detail=words(note.detail),
                        count=note.count,
                    )
                )
    return found


def _block(threads: Threads, g: int) -> _Block:
    x, y, z = threads.name_block(g)
    return x, y, z


def _block_rows(threads: Threads, blocks: set[_Block]) -> list[int]:
    wanted = [linear_of(b, threads.grid) for b in blocks]
    return np.flatnonzero(np.isin(threads.blocks, wanted)).tolist()


def _groups(mask: NDArray[np.bool_]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    groups: dict[tuple[int, ...], list[int]] = {}
    for w in np.flatnonzero(mask.any(axis=1)).tolist():
        groups.setdefault(tuple(np.flatnonzero(mask[w]).tolist()), []).append(w)
    return [(lanes, tuple(warps)) for lanes, warps in groups.items()]


def _pair(
    accesses: Sequence[Event], subject: HistorySubject, between: Sequence[Event]
) -> tuple[Event | None, Event | None]:  # fmt: skip
    """Find the access of the finding, and the access that it races with.

    The first is an access of the finding's thread, or else of its line; for a race, the first one that has a partner
    before it, or else after it, without a barrier in between; if there is none, one with a barrier in between.
    """
    at = [x for x in accesses if x.place.line == subject.place.line and x.block == subject.block]
    own = [x for x in at if subject.warp in x.warps and subject.lane in x.lanes] or at
    if not own or not subject.others:
        return next(iter(own), None), None
    for is_before, barriers in ((True, between), (False, between), (True, ()), (False, ())):
        for here in own[:_MOST_TRIED]:
            other = _partner(accesses, here, subject, barriers, is_before)
            if other is not None:
                return here, other
    return own[0], None


def _partner(
    accesses: Sequence[Event], here: Event, subject: HistorySubject, between: Sequence[Event], is_before: bool
) -> Event | None:  # fmt: skip
    """Find the nearest access, before or after another access, that may race with it.

    The kind of the race decides whether it is an access of another warp or of the same one.
    """
    lines = {x.line for x in subject.others}
    is_near = subject.kind in (NEAR, LANES_AT_ONCE)
    found = [
        x for x in accesses
        if x is not here and (x.what != "reads" or here.what != "reads") and (x.place.line in lines or 0 in lines)
        and (x.step <= here.step) == is_before
        and (x.block, x.warps, x.lanes) != (here.block, here.warps, here.lanes)
        and (x.block != here.block or not barriers_between(between, x, here))
    ]  # fmt: skip
    found.sort(
        key=lambda x: (
            ((x.block, x.warps) == (here.block, here.warps)) != is_near, x.place.line not in lines,
            abs(x.step - here.step),
        )
    )  # fmt: skip
    return next(iter(found), None)


def barriers_between(events: Sequence[Event], one: Event, other: Event) -> list[Event]:
    """List the barriers at which the threads of two events, of one block, met in between."""
    first, last = sorted((one.step, other.step))
    warps = {*one.warps, *other.warps}
    inside = [
        x for x in events
        if first < x.step < last and x.what in ("meets", "continues") and x.block == one.block and warps <= set(x.warps)
    ]  # fmt: skip
    if len(warps) > 1:
        return [x for x in inside if "barrier" in x.detail]
    lanes = {*one.lanes, *other.lanes}
    return [x for x in inside if lanes <= set(x.lanes)]
