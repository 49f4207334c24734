# SPDX-License-Identifier: MIT
"""Positions at which a barrier would fix a race, tested by running the kernel with the barrier inserted."""

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
"""Runs the kernel with an instruction inserted before some others; returns sightings, or None if it does not end."""

_BARRIERS = {"warps": "bar.sync", "lanes": "bar.warp.sync"}
"""The instruction to insert, for those entries of the table of remedies that are barriers."""

_MOST_POSITIONS = 4
"""The number of positions that are tried in each part of a gap."""


class Fix:
    """A possible fix, computed when it is first read.

    Examples
    --------
    >>> fix = Fix(lambda: "a barrier")
    >>> fix(), fix()
    ('a barrier', 'a barrier')
    """

    def __init__(self, compute: Callable[[], str]) -> None:
        self._work_out, self._text = compute, ""
        self._is_known = False

    def __call__(self) -> str:
        """Return the text of the fix."""
        if not self._is_known:
            self._text, self._is_known = self._work_out(), True
        return self._text

    def __reduce__(self) -> tuple[object, ...]:
        return _known, (self(),)


def _known(text: str) -> Fix:
    return Fix(lambda: text)


class _BarrierPosition(NamedTuple):
    """A position for a barrier: before one instruction of each range (several ranges if a loop was unrolled).

    ``is_of_one_round`` is whether both accesses belong to one iteration of a loop, as with double buffering: in this
    case, one of the accesses may use the wrong address instead.
    """

    ranges: tuple[range, ...]
    words: str
    is_straight: bool = False
    is_of_one_round: bool = False


def tried_fix(
    edges: Sequence[Edge], code: Sequence[PtxInstruction], trial: Trial, file: str = "", before: Iterable[Sighting] = ()
) -> str:  # fmt: skip
    """Find a position at which a barrier fixes a race; return "" if no tried position does.

    A barrier is a fix if the race no longer occurs, and no new fault of barriers (one that is not in ``before``)
    occurs: neither divergence nor a deadlock. Lines of ``file`` are named without the file.
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
            pc = ", or another address for one of the two accesses" if part.is_of_one_round else ""
            return f"{_fix_text(edges, part, pcs[0], code)} (tried: the finding is gone){pc}"
    return ""


def likely_fix(edges: Sequence[Edge], code: Sequence[PtxInstruction], file: str = "") -> str:
    """Return the first position that `tried_fix` would try, if there is no time to try it; "" if there is none."""
    edges = [x for x in edges if x.gap is not None]
    if not edges or edges[0].remedy not in _BARRIERS:
        return ""
    return next((_fix_text(edges, part, pcs[0], code) for part, pcs in _candidates(edges, code, file)), "")


def _fix_text(edges: Sequence[Edge], part: _BarrierPosition, pc: int, code: Sequence[PtxInstruction]) -> str:
    gap = edges[0].gap
    enters_a_loop = gap is not None and any(pc in x and gap.first not in x for x in loops_of(code))
    inside = ", inside the loop" if part.is_straight and enters_a_loop else ""
    return f"a {REMEDIES[edges[0].remedy].call} {part.words}{inside}"


def _is_among(sighting: Sighting, known: Set[frozenset[int]]) -> bool:
    """Return whether a sighting is, or may be, one of the known races, by the lines of both sides."""
    return any(
        frozenset((sighting.line, x.line)) in known or (x == UNKNOWN and any(sighting.line in pair for pair in known))
        for x in sighting.others
    )


def _is_of_barriers(sighting: Sighting) -> bool:
    return KINDS[sighting.kind].severity == "error" and KINDS[sighting.kind].check in ("synchronisation", "")


def _candidates(
    edges: Sequence[Edge], code: Sequence[PtxInstruction], file: str
) -> Iterator[tuple[_BarrierPosition, list[int]]]:
    """Choose instructions of each part: where control flow joins, and outside inner loops first."""
    jumps = jumps_of(code)
    loops = loops_of(code)
    begins = {i + 1 for i, _ in jumps} | {target for _, target in jumps} | {loop.start - 1 for loop in loops}

    reachable = {pc: reachable_from(code, pc) for x in edges if x.gap is not None for pc in x.gap[:2]}

    def depth(pc: int) -> int:
        return sum(pc in loop for loop in loops)

    for part in _positions(edges, code, loops, file):
        choices = []
        for within in part.ranges:
            pcs = {x for x in within if x in begins} | {within[0], within[-1]}
            pcs = {x for x in pcs if any(_is_between(x, edge, reachable) for edge in edges)}
            choices.append(sorted(pcs, key=lambda x: (depth(x), -x))[:_MOST_POSITIONS])
        for i in range(max(map(len, choices)) if all(choices) else 0):
            yield part, [x[min(i, len(x) - 1)] for x in choices]


def _is_between(pc: int, edge: Edge, reachable: Mapping[int, Set[int]]) -> bool:
    """Return whether a thread can get from one access to an instruction, and from there to the other access."""
    if edge.gap is None:
        return False
    first, second, _ = edge.gap
    return pc in reachable[first] and (pc == second or second in reachable[first])


def _positions(
    edges: Sequence[Edge], code: Sequence[PtxInstruction], loops: Sequence[range], file: str
) -> Iterator[_BarrierPosition]:
    """Yield the positions that all gaps have in common: around the loop, and straight ahead."""
    around, straight = _directions(edges)
    if around:
        first, last = min(x.second for x in around), max(x.first for x in around)
        inside = [x for x in loops if first in x and last in x]
        if inside:
            loop = min(inside, key=len)
            before, after = _lines(code[first], code[last], file)
            yield from _position(range(last + 1, loop.stop), f"at the end of the loop body, after {after}")
            yield from _position(range(loop.start, first + 1), f"at the beginning of the loop body, before {before}")
    if straight:
        ranges = tuple(_in_common(straight))
        first, last = ranges[0][0] - 1, ranges[0][-1]
        in_loop = any(first in x and last in x for x in loops)
        yield _BarrierPosition(ranges, _between(code[first], code[last], file), True, in_loop)


def _directions(edges: Iterable[Edge]) -> tuple[list[Gap], list[Gap]]:
    gaps = {x.gap for x in edges if x.gap is not None}
    return [x for x in gaps if x.first > x.second], [x for x in gaps if x.first < x.second]


def _between(first: PtxInstruction, last: PtxInstruction, file: str) -> str:
    """Describe the position between two instructions, which may be in different iterations of an unrolled loop."""
    before, after = _lines(first, last, file)
    if before == after:
        return f"between the two accesses of {before}"
    mine, its = (own_frames(x.source) for x in (first, last))
    if mine and its and mine[-1].file == its[-1].file and mine[-1].line > its[-1].line:
        return f"after {before} and before {after} of the next iteration, where all threads pass"
    return f"between {before} and {after}"


def _in_common(gaps: Iterable[Gap]) -> Iterator[range]:
    """Reduce gaps to the smallest number of ranges such that one barrier in each suffices."""
    left = sorted(gaps, key=lambda x: x.second)
    while left:
        last = left[0].second
        together = [x for x in left if x.first < last]
        yield range(max(x.first for x in together) + 1, last + 1)
        left = [x for x in left if x.first >= last]


def _position(pcs: range, words: str) -> Iterator[_BarrierPosition]:
    if pcs:
        yield _BarrierPosition((pcs,), words)


def _lines(one: PtxInstruction, other: PtxInstruction, file: str) -> tuple[str, str]:
    mine, its = calls_apart(place_of(one), place_of(other))
    found = [
        line_text(own[-1], file) if own else str(Place(x.line))
        for x, own in ((one, mine), (other, its))
    ]  # fmt: skip
    return found[0], found[1]
