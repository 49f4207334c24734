# SPDX-License-Identifier: MIT
"""Wording that a history's text and its page share: threads, actions, positions, and the choice of events to show."""

from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath

from wmma_emu.errors import printable
from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.history.events import Event
from wmma_emu.ptx.machine.lane_ranges import lanes_text, ranges

_OF_WARP = frozenset(range(32))

_VERBS = {
    "arrives": "arrive at", "continues": "continue after", "meets": "meet at", "waits": "wait at",
    "continues alone": "continue without the others after", "fence": "execute", "commits": "execute",
    "waits for": "execute",
    "synchronises": "execute", "sees": "see completed", "completes": "complete", "uses": "use it:", "exits": "exit",
    "gives up": "stop the kernel", "no way on": "cannot continue",
}  # fmt: skip
"""The verbs of synchronisation events, in the plural."""


def threads_text(event: Event) -> str:
    """Return the threads of an event as text: whole warps, or lanes of them."""
    warps = f"warp{'s' * (len(event.warps) > 1)} {ranges(event.warps)}"
    if frozenset(event.lanes) == _OF_WARP:
        return warps
    return f"{warps}, {lanes_text(event.lanes)}"


def action_text(event: Event) -> str:
    """Return the action of an event as text: "writes 0x0000001f"."""
    several = len(event.warps) > 1 or (len(event.lanes) > 1 and frozenset(event.lanes) != _OF_WARP)
    times = f" [{event.count} times]" if event.count > 1 else ""
    if event.is_access:
        before = "" if event.before is None else f" 0x{event.before:0{max(2 * event.size, 2)}x} to"
        value = event.bits or "(left out)"
        what = event.what
        return f"{what}{before} {value}{times}"
    verb, _, rest = _VERBS[event.what].partition(" ")
    if not several and verb != "cannot":
        verb += "es" if verb.endswith("o") else "s"
    return f"{verb} {rest} {printable(event.detail)}".replace("  ", " ").strip() + times


def place_text(place: Place) -> str:
    """Return a position as text: "gemm.cu:44 (line 61)"; for inlined code, the line of the kernel itself."""
    source = place.source
    while source is not None and source.inlined_at is not None:
        source = source.inlined_at
    if source is None:
        return f"line {place.line}"
    name = PurePosixPath(PureWindowsPath(source.file).name).name or source.file
    return f"{printable(name)}:{source.line} (line {place.line})"


def shown_indices(events: Sequence[Event], marked: Sequence[int | None], most: int) -> list[int | None]:
    """Choose the indices of the events to show, if there are more than ``most``; None marks omitted events.

    The first and the last event are shown, and the events around the marked ones.
    """
    if len(events) <= most:
        return list(range(len(events)))
    at = [x for x in marked if x is not None] or [len(events) - 1]
    around = max((most - 2) // (2 * len(at)), 1)
    chosen = {0, len(events) - 1} | {
        i for x in at for i in range(max(x - around, 0), min(x + around, len(events)))
    } | set(at)  # fmt: skip
    found: list[int | None] = []
    for i in sorted(chosen):
        if found and found[-1] != i - 1:
            found.append(None)
        found.append(i)
    return found
