# SPDX-License-Identifier: MIT
"""Where a barrier would mend a race: places that come into question, and a run of the kernel with a barrier there."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from wmma_emu.ptx.findings import KINDS, UNKNOWN, Place, Sighting, place_of
from wmma_emu.ptx.memory.races.remedies import REMEDIES
from wmma_emu.ptx.program.dependence import reachable_from
from wmma_emu.ptx.program.flow import jumps_of
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.reports.causes import Edge
from wmma_emu.ptx.reports.frames import calls_apart, line_text, own_frames
from wmma_emu.ptx.reports.gaps import Gap, loops_of

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
    is_straight: bool = False
    is_of_one_round: bool = False


def tried_mend(
    edges: Sequence[Edge], code: Sequence[PtxInstruction], trial: Trial, file: str = "", before: Iterable[Sighting] = ()
) -> str:  # fmt: skip
    """Find a place at which a barrier mends a race; "" where none of those that are tried does.

    A barrier counts if nothing of the race is met any more, and nothing wrong with barriers that was not met without
    it (``before``): neither threads that do not come to it, nor a deadlock. Lines of ``file`` are said without its
    name.
    """
    opcode = _BARRIERS.get(edges[0].remedy, "")
    edges = [x for x in edges if x.gap is not None]
    if not opcode or not edges:
        return ""
    known = {frozenset((x.sighting.line, x.other.line)) for x in edges if x.other is not None}
    others = {(x.kind, x.line) for x in before}
    for part, pcs in _candidates(edges, code, file):
        met = trial(pcs, opcode)
        if met is not None and not any(
            _is_among(x, known) or (_is_of_barriers(x) and (x.kind, x.line) not in others) for x in met
        ):
            pc = ", or another place for one of the two accesses" if part.is_of_one_round else ""
            return f"{_fix(edges, part, pcs[0], code)} (tried: the finding is gone){pc}"
    return ""


def likely_mend(edges: Sequence[Edge], code: Sequence[PtxInstruction], file: str = "") -> str:
    """Name the first place that `tried_mend` would try, where there is no time to; "" where there is none."""
    edges = [x for x in edges if x.gap is not None]
    if not edges or edges[0].remedy not in _BARRIERS:
        return ""
    return next((_fix(edges, part, pcs[0], code) for part, pcs in _candidates(edges, code, file)), "")


def _fix(edges: Sequence[Edge], part: _Part, pc: int, code: Sequence[PtxInstruction]) -> str:
    gap = edges[0].gap
    enters_a_loop = gap is not None and any(pc in x and gap.there not in x for x in loops_of(code))
    inside = ", inside the loop" if part.is_straight and enters_a_loop else ""
    return f"a {REMEDIES[edges[0].remedy].call} {part.words}{inside}"


def _is_among(sighting: Sighting, known: Set[frozenset[int]]) -> bool:
    """Whether a sighting is of races that are known, by the lines of both sides, or may be one of them."""
    return any(
        frozenset((sighting.line, x.line)) in known or (x == UNKNOWN and any(sighting.line in pair for pair in known))
        for x in sighting.others
    )


def _is_of_barriers(sighting: Sighting) -> bool:
    return KINDS[sighting.kind].severity == "error" and KINDS[sighting.kind].check in ("synchronisation", "")


def _candidates(edges: Sequence[Edge], code: Sequence[PtxInstruction], file: str) -> Iterator[tuple[_Part, list[int]]]:
    """Choose places of each part: where branches meet, outside of inner loops first."""
    jumps = jumps_of(code)
    loops = loops_of(code)
    begins = {i + 1 for i, _ in jumps} | {target for _, target in jumps} | {loop.start - 1 for loop in loops}

    behind = {pc: reachable_from(code, pc) for x in edges if x.gap is not None for pc in x.gap[:2]}

    def depth(pc: int) -> int:
        return sum(pc in loop for loop in loops)

    for part in _parts(edges, code, loops, file):
        choices = []
        for within in part.ranges:
            pcs = {x for x in within if x in begins} | {within[0], within[-1]}
            pcs = {x for x in pcs if any(_is_between(x, edge, behind) for edge in edges)}
            choices.append(sorted(pcs, key=lambda x: (depth(x), -x))[:_MOST_PLACES])
        for i in range(max(map(len, choices)) if all(choices) else 0):
            yield part, [x[min(i, len(x) - 1)] for x in choices]


def _is_between(pc: int, edge: Edge, behind: Mapping[int, Set[int]]) -> bool:
    """Whether a thread may come from the one access to a place, and from there to the other."""
    if edge.gap is None:
        return False
    there, here, _ = edge.gap
    return pc in behind[there] and (pc == here or here in behind[there])


def _parts(edges: Sequence[Edge], code: Sequence[PtxInstruction], loops: Sequence[range], file: str) -> Iterator[_Part]:
    """Give the parts of the gaps that all of them have in common: around the loop, and straight on."""
    around, straight = _directions(edges)
    if around:
        first, last = min(x.here for x in around), max(x.there for x in around)
        inside = [x for x in loops if first in x and last in x]
        if inside:
            loop = min(inside, key=len)
            before, after = _lines(code[first], code[last], file)
            yield from _part(range(last + 1, loop.stop), f"at the end of the loop body, after {after}")
            yield from _part(range(loop.start, first + 1), f"at the beginning of the loop body, before {before}")
    if straight:
        ranges = tuple(_in_common(straight))
        first, last = ranges[0][0] - 1, ranges[0][-1]
        in_loop = any(first in x and last in x for x in loops)
        yield _Part(ranges, _between(code[first], code[last], file), True, in_loop)


def _directions(edges: Iterable[Edge]) -> tuple[list[Gap], list[Gap]]:
    gaps = {x.gap for x in edges if x.gap is not None}
    return [x for x in gaps if x.there > x.here], [x for x in gaps if x.there < x.here]


def _between(first: PtxInstruction, last: PtxInstruction, file: str) -> str:
    """Say where a barrier stands between two instructions, which may be in rounds of a loop that was unrolled."""
    before, after = _lines(first, last, file)
    if before == after:
        return f"between the two accesses of {before}"
    mine, its = (own_frames(x.source) for x in (first, last))
    if mine and its and mine[-1].file == its[-1].file and mine[-1].line > its[-1].line:
        return f"after {before} and before {after} of the next iteration, where all threads pass"
    return f"between {before} and {after}"


def _in_common(gaps: Iterable[Gap]) -> Iterator[range]:
    """Cut gaps to as few ranges as will do for one barrier in each."""
    left = sorted(gaps, key=lambda x: x.here)
    while left:
        last = left[0].here
        together = [x for x in left if x.there < last]
        yield range(max(x.there for x in together) + 1, last + 1)
        left = [x for x in left if x.there >= last]


def _part(pcs: range, words: str) -> Iterator[_Part]:
    if pcs:
        yield _Part((pcs,), words)


def _lines(one: PtxInstruction, other: PtxInstruction, file: str) -> tuple[str, str]:
    mine, its = calls_apart(place_of(one), place_of(other))
    found = [
        line_text(own[-1], file) if own else str(Place(x.line))
        for x, own in ((one, mine), (other, its))
    ]  # fmt: skip
    return found[0], found[1]
