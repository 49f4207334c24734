# SPDX-License-Identifier: MIT
"""Where a barrier would mend a race: places that come into question, and a run of the kernel with a barrier there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from wmma_emu.ptx.findings import KINDS, Place, Sighting
from wmma_emu.ptx.memory.races.remedies import REMEDIES
from wmma_emu.ptx.program.program import Instruction, Target
from wmma_emu.ptx.reports.causes import Edge
from wmma_emu.ptx.reports.frames import line_text, own_frames
from wmma_emu.ptx.reports.loops import loops_of

__all__ = ["Mend", "Trial", "tried_mend"]

Trial = Callable[[Sequence[int], str], Sequence[Sighting] | None]
"""Runs the kernel with an instruction inserted before some of its own; gives what is met, None if it does not end."""

_BARRIERS = {"warps": "bar.sync", "lanes": "bar.warp.sync"}
"""What is inserted, for the rows of the table of remedies for which a barrier is one."""

_MOST_PLACES = 4
"""Places that are tried of each part of a gap."""


class Mend:
    """What would mend something, worked out when somebody asks.

    Examples
    --------
    >>> mend = Mend(lambda: "a barrier")
    >>> mend(), mend()
    ('a barrier', 'a barrier')
    """

    def __init__(self, work_out: Callable[[], str]) -> None:
        self._work_out, self._text = work_out, ""
        self._is_known = False

    def __call__(self) -> str:
        """Say it."""
        if not self._is_known:
            self._text, self._is_known = self._work_out(), True
        return self._text

    def __reduce__(self) -> tuple[object, ...]:
        return _known, (self(),)


def _known(text: str) -> Mend:
    return Mend(lambda: text)


class _Part(NamedTuple):
    """Where a barrier would stand: one before an instruction of each range, of a loop that the compiler unrolled.

    ``is_of_one_round`` is whether both accesses are made in one iteration of a loop, as of a buffer that is filled
    while the other is read: there, it may be that one of them has the wrong place.
    """

    ranges: tuple[range, ...]
    words: str
    is_of_one_round: bool = False


def tried_mend(edges: Sequence[Edge], code: Sequence[Instruction], trial: Trial, file: str = "") -> str:
    """Find a place at which a barrier mends a race; "" where none of those that are tried does.

    A barrier counts if nothing of the race is met any more, and nothing that was not met without it: neither threads
    that do not come to it, nor a deadlock. Lines of ``file`` are said without its name.
    """
    opcode = _BARRIERS.get(edges[0].sighting.remedy, "")
    if not opcode:
        return ""
    known = {(x.sighting.kind, x.sighting.line) for x in edges}
    for part, places in _candidates(edges, code, file):
        met = trial(places, opcode)
        if met is not None and not any((x.kind, x.line) in known or _is_of_barriers(x) for x in met):
            name = REMEDIES[edges[0].sighting.remedy].call
            place = ", or another place for one of the two accesses" if part.is_of_one_round else ""
            return f"a {name} {part.words} (tried: the finding is gone){place}"
    return ""


def _is_of_barriers(sighting: Sighting) -> bool:
    return KINDS[sighting.kind].severity == "error" and KINDS[sighting.kind].check in ("synchronisation", "")


def _candidates(edges: Sequence[Edge], code: Sequence[Instruction], file: str) -> Iterator[tuple[_Part, list[int]]]:
    """Choose places of each part: where branches meet, outside of inner loops first."""
    jumps = [(i, x.index) for i, one in enumerate(code) for x in one.operands if isinstance(x, Target)]
    loops = loops_of(code)
    begins = {i + 1 for i, _ in jumps} | {target for _, target in jumps}

    def depth(place: int) -> int:
        return sum(place in loop and place != loop.start for loop in loops)

    for part in _parts(edges, code, loops, file):
        choices = []
        for within in part.ranges:
            places = {x for x in within if x in begins} | {within[0], within[-1]}
            choices.append(sorted(places, key=lambda x: (depth(x), -x))[:_MOST_PLACES])
        for i in range(max(map(len, choices))):
            yield part, [x[min(i, len(x) - 1)] for x in choices]


def _parts(
    edges: Sequence[Edge], code: Sequence[Instruction], loops: Sequence[range], file: str
) -> Iterator[_Part]:
    """Give the parts of the gaps that all of them have in common: around the loop, and straight on."""
    around, straight = _directions(edges)
    if around:
        first, last = min(h for _, h in around), max(t for t, _ in around)
        inside = [x for x in loops if first in x and last in x]
        if inside:
            loop = min(inside, key=len)
            before, after = _line(code[first], file), _line(code[last], file)
            yield from _part(range(last + 1, loop.stop), f"at the end of the loop body, after {after}")
            yield from _part(range(loop.start, first + 1), f"at the beginning of the loop body, before {before}")
    if straight:
        ranges = tuple(_in_common(straight))
        first, last = ranges[0][0] - 1, ranges[0][-1]
        in_loop = any(first in x and last in x for x in loops)
        yield _Part(ranges, _between(code[first], code[last], file), in_loop)


def _directions(edges: Iterable[Edge]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    gaps = {x.gap for x in edges if x.gap is not None}
    return [x for x in gaps if x[0] > x[1]], [x for x in gaps if x[0] < x[1]]


def _between(first: Instruction, last: Instruction, file: str) -> str:
    """Say where a barrier stands between two instructions, which may be in rounds of a loop that was unrolled."""
    own = [own_frames(x.source) for x in (first, last)]
    lines = [(x[-1].file, x[-1].line) if x else ("", 0) for x in own]
    if lines[0][0] and lines[0][0] == lines[1][0] and lines[0] >= lines[1]:
        after, before = _line(first, file), _line(last, file)
        return f"after {after} and before {before} of the next iteration, where all threads pass"
    return f"between {_line(first, file)} and {_line(last, file)}"


def _in_common(gaps: Iterable[tuple[int, int]]) -> Iterator[range]:
    """Cut gaps to as few ranges as will do for one barrier in each."""
    left = sorted(gaps, key=lambda x: x[1])
    while left:
        last = left[0][1]
        together = [x for x in left if x[0] < last]
        yield range(max(t for t, _ in together) + 1, last + 1)
        left = [x for x in left if x[0] >= last]


def _part(places: range, words: str) -> Iterator[_Part]:
    if places:
        yield _Part((places,), words)


def _line(instruction: Instruction, file: str) -> str:
    """Name the line of the kernel itself that an instruction belongs to."""
    own = own_frames(instruction.source)
    return line_text(own[-1], file) if own else str(Place(instruction.line))
