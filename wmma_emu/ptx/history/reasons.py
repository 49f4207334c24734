# SPDX-License-Identifier: MIT
"""Conclusions of a history in a sentence or two: why nothing orders two accesses, or which threads are missing."""

from collections.abc import Sequence

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.history.events import Event
from wmma_emu.ptx.history.story import HistorySubject, Story, barriers_between
from wmma_emu.ptx.history.words import place_text
from wmma_emu.ptx.machine.lane_ranges import lanes_text, ranges

_Thread = tuple[int, int]

_RACES = frozenset(
    ("race", "race of an unused value", "race within a warp", "race of equal bytes", "lanes store to one place")
)


def conclusion(story: Story, subject: HistorySubject) -> tuple[str, ...]:
    """Return the conclusions of the events, as sentences."""
    if subject.kind in _RACES:
        return _race_text(story)
    if subject.kind == "missing wait" and subject.about_bytes:
        return _wait_text(story)
    if subject.about_register:
        return _register_text(story, subject)
    if subject.kind in ("uninitialised", "partly uninitialised") and subject.about_bytes:
        return _uninitialised_text(story, subject)
    if subject.kind in ("deadlock", "barrier divergence", "partial warp", "barriers at several instructions"):
        return (_sentence(subject), *_never_arrived(story))
    return (_sentence(subject),)


def _sentence(subject: HistorySubject) -> str:
    return f"{subject.message[:1].upper()}{subject.message[1:]}."


def _race_text(story: Story) -> tuple[str, ...]:
    if story.here is None:
        return ("The access of the finding is not among these events.",)
    if story.other is None:
        return ("The other access of the race is not among these events.",)
    here, other = story.events[story.here], story.events[story.other]
    first, second = sorted((here, other), key=lambda x: x.step)
    one, two = _thread_does(first, second), _thread_does(second, first)
    if first.step == second.step:
        names = one if first == second else f"{one} and {two}"
        return (f"In step {first.step}, {names}, at the same instruction; their order is undefined.",)
    span = f"between step {first.step}, where {one}, and step {second.step}, where {two}"
    if first.block != second.block:
        return (f"Nothing orders the two: {span}, {_missing_of_blocks(story.events, first, second)}.",)
    if barriers_between(story.events, first, second):
        return (f"{span[0].upper()}{span[1:]}, the two met at a barrier, but PTX does not order these accesses by it.",)
    why = _not_enough(story.events, first, second)
    missing = "met no barrier" if first.warps != second.warps else "met no __syncwarp()"
    both = f"{_group(first)} and {_group(second)}" if first.warps != second.warps else f"lanes of {_group(first)}"
    return (f"Nothing orders the two: {span}, {both} {missing}.{why}",)


def _missing_of_blocks(events: Sequence[Event], first: Event, second: Event) -> str:
    """Describe what two blocks lack: a release after the first access, or an acquire before the second."""
    inside = [x for x in events if first.step < x.step < second.step and not x.is_access]
    does_release = any(x.block == first.block and _is_strong(x, "release") for x in inside)
    does_acquire = any(x.block == second.block and _is_strong(x, "acquire") for x in inside)
    lacks = [] if does_release else [f"block {first.block} executes neither a fence nor a release"]
    lacks += [] if does_acquire else [f"block {second.block} executes neither a fence nor an acquire"]
    return ", and ".join(lacks) or "the release of one block was not acquired by the other in time"


def _is_strong(event: Event, what: str) -> bool:
    return event.what == "fence" or f".{what}" in event.detail or ".acq_rel" in event.detail


def _not_enough(events: Sequence[Event], first: Event, second: Event) -> str:
    """Explain why the synchronisation between two accesses of one block is not sufficient."""
    inside = [x for x in events if first.step < x.step < second.step and x.block == first.block]
    warps = set(first.warps) | set(second.warps)
    there = {x.what for x in inside if warps & set(x.warps)}
    said = []
    if first.warps != second.warps and any(x.detail.startswith("bar.warp") for x in inside):
        said.append(" __syncwarp() orders only lanes of one warp.")
    if "fence" in there:
        said.append(" A fence does not wait for other threads.")
    if "waits for" in there and "copies to" in {first.what, second.what}:
        said.append(" A thread waits only for its own copies.")
    return "".join(said)


def _thread(event: Event, other: Event) -> str:
    if event.warps == other.warps and event.block == other.block:
        return f"{lanes_text(event.lanes)} of {_group(event)}"
    return _group(event) + (f" of block {event.block}" if event.block != other.block else "")


def _group(event: Event) -> str:
    return f"warp{'s' * (len(event.warps) > 1)} {ranges(event.warps)}"


def _thread_does(event: Event, other: Event) -> str:
    are_lanes = event.warps == other.warps and event.block == other.block
    several = len(event.warps) > 1 or (are_lanes and len(event.lanes) > 1)
    does = _does(event)
    if several:
        verb, space, rest = does.partition(" ")
        does = (f"{verb[:-3]}y" if verb.endswith("ies") else verb.removesuffix("s")) + space + rest
    return f"{_thread(event, other)} {does}"


def _does(event: Event) -> str:
    if event.what in ("begins to copy to", "copies to"):
        return f"{event.what} the bytes"
    return event.what + (f" {event.bits}" if event.bits else "")


def _wait_text(story: Story) -> tuple[str, ...]:
    """Describe where the copy was issued that an access did not wait for, and the waits in between."""
    here = None if story.here is None else story.events[story.here]
    if here is None:
        return ("The access of the finding is not among these events.",)
    issued = [x for x in story.events if x.what == "begins to copy to" and x.step <= here.step and x is not here]
    if not issued:
        return (f"In step {here.step}, {_group(here)} {_does(here)}, while a copy or a product is in flight.",)
    copy = issued[-1]
    waits = [
        x for x in story.events
        if copy.step < x.step < here.step and x.what == "waits for" and set(copy.warps) & set(x.warps)
    ]  # fmt: skip
    said = f"the last wait of {_group(copy)} was {waits[-1].detail} in step {waits[-1].step}" if waits else (
        f"{_group(copy)} waited for no group"
    )  # fmt: skip
    return (
        f"Between step {copy.step}, where {_group(copy)} issued the copy, and step {here.step}, where {_group(here)} "
        f"{_does(here)}, {said}: the copy had not arrived.",
    )


def _register_text(story: Story, subject: HistorySubject) -> tuple[str, ...]:
    if not subject.writers:
        return ("No instruction of the kernel writes the register.",)
    lines = ", ".join(dict.fromkeys(place_text(x) for x in subject.writers))
    lanes = tuple(sorted({lane for x in story.events for lane in x.lanes}))
    if not lanes:
        return (f"It is written at {lines}, which no thread of this warp reached.",)
    if subject.lane in lanes:
        return (_sentence(subject),)
    return (f"It is written at {lines}, by {lanes_text(lanes)} of warp {subject.warp}; lane {subject.lane} did not.",)


def _uninitialised_text(story: Story, subject: HistorySubject) -> tuple[str, ...]:
    """Describe the first access to bytes that are read before they are written."""
    written = [x for x in story.events if x.does_write]
    read = [x for x in story.events if x.what == "reads"]
    if not written:
        return ("No thread wrote these bytes.",)
    if read and read[0].step < written[0].step:
        return (f"They were read in step {read[0].step}, and written for the first time in step {written[0].step}.",)
    return (_sentence(subject),)


def _never_arrived(story: Story) -> tuple[str, ...]:
    """Name the threads that did not reach a barrier at which others of their block wait, and their last events."""
    waiting: dict[str, set[_Thread]] = {}
    last: dict[_Thread, Event] = {}
    for x in story.events:
        threads = {(w, lane) for w in x.warps for lane in x.lanes}
        if x.what == "arrives" and x.detail.startswith("barrier"):
            waiting.setdefault(x.detail, set()).update(threads)
        elif x.what == "continues":
            waiting.get(x.detail, set()).difference_update(threads)
        if x.what != "no way on":
            last.update(dict.fromkeys(threads, x))
    said = []
    for name, there in waiting.items():
        gone: dict[Event, list[_Thread]] = {}
        for thread in sorted(last.keys() - there) if there else ():
            gone.setdefault(last[thread], []).append(thread)
        said += [f"{_threads_text(x)} did not reach {name}: {_last_text(event)}." for event, x in gone.items()]
    return tuple(said)


def _last_text(event: Event) -> str:
    if event.what == "exits":
        return f"in step {event.step} they exited"
    return f"their last event is step {event.step}, at {place_text(event.place)}"


def _threads_text(threads: Sequence[_Thread]) -> str:
    lanes: dict[int, list[int]] = {}
    for w, lane in threads:
        lanes.setdefault(w, []).append(lane)
    groups: dict[tuple[int, ...], list[int]] = {}
    for w, mine in lanes.items():
        groups.setdefault(tuple(mine), []).append(w)
    return " and ".join(
        f"the threads of warp {ranges(warps)}" if len(mine) == LANES else f"{lanes_text(mine)} of warp {ranges(warps)}"
        for mine, warps in groups.items()
    ).capitalize()
