# SPDX-License-Identifier: MIT
"""Grouping of sightings by cause: the same pair of source lines and variable, or races that one barrier would fix."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from wmma_emu.ptx.findings import UNKNOWN, WORSE, Place, Sighting
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import calls_apart, parting
from wmma_emu.ptx.reports.gaps import Gap, barrier_groups, gap_of

_KINDS = (("race", "race within a warp"), ("race of an unused value",), ("missing wait",))
"""Kinds that a barrier or a wait fixes; if one fixes several kinds of a group, the worst kind names the finding."""

_GAPS = ("warps", "lanes", "blocks", "copy")
"""Entries of the table of remedies for something that is missing between two accesses."""

_MOST_GAPS = 16
"""The number of gaps of a pair that are compared with the gaps of others."""

_Key = tuple[object, ...]


class Edge(NamedTuple):
    """A sighting, and one related instruction: the other side of a race, the load of its value, or a copy.

    ``other`` is None for a sighting without a related instruction; ``lines`` are the source lines of the two, the
    other one first, None if unknown. ``gap`` is the range of instructions in which something is missing. ``remedy`` is
    the entry of the table of remedies, and ``calls`` are the calls that lead to only one of the two.
    """

    sighting: Sighting
    other: Place | None
    lines: tuple[SourceLine | None, SourceLine | None]
    gap: Gap | None = None
    remedy: str = ""
    calls: tuple[tuple[SourceLine, ...], tuple[SourceLine, ...]] = ((), ())

    @property
    def is_in_message(self) -> bool:
        """Whether the message names this instruction: it names one of those that the sighting races with."""
        return self.other is None or self.other in self.sighting.said

    @property
    def key(self) -> _Key:
        """The key that sightings of one cause share: the kind, the pair of source lines, the variable."""
        places = [(self.lines[1], self.sighting.line, self.calls[1])]
        if self.other is not None:
            places.append((self.lines[0], self.other.line, self.calls[0]))
        if self.sighting.kind == "uninitialised" and len(places) == 2:
            places = places[1:]  # the cause is the load of the value, whichever instruction uses it
        where = sorted(
            (*((source.file, source.line) if source else ("", line)), tuple((x.file, x.line) for x in calls))
            for source, line, calls in places
        )
        location = self.sighting.location
        return self.sighting.kind, *where, location.owner if location else ""


class Cause(NamedTuple):
    """Edges with one cause, grouped by pair of lines and variable, the first pair first."""

    pairs: tuple[tuple[Edge, ...], ...]

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges of the cause."""
        return tuple(x for pair in self.pairs for x in pair)


def causes_of(
    sightings: Iterable[Sighting], position: Callable[[int], int], loops: Sequence[range] = (),
    is_update: Callable[[int, int], bool] = lambda one, other: False,
) -> list[Cause]:  # fmt: skip
    """Group sightings by their causes, in the order in which the first sighting of each was detected.

    ``position`` maps a line of the PTX to the index of its instruction in the program, ``loops`` are the instructions
    of each loop, by index. ``is_update`` returns whether one of two instructions loads a value that the other
    stores after changing it.
    """
    pairs: dict[_Key, list[Edge]] = {}
    for sighting in sightings:
        for edge in _edges(sighting, position, loops, is_update):
            pairs.setdefault(edge.key, []).append(edge)
    groups = _joined([sorted(pair, key=lambda x: not x.is_in_message) for pair in pairs.values()])
    return [Cause(tuple(tuple(pairs) for pairs in sorted(group, key=_rank))) for group in groups]


def _rank(pair: Sequence[Edge]) -> tuple[int, str, int]:
    """Return a sort key for the pairs of a cause that does not depend on the order of the threads."""
    kind, source = pair[0].sighting.kind, pair[0].lines[1]
    lesser = len(WORSE.get(kind, ()))
    lines = [x.line for x in pair[0].lines if x] or [x.sighting.line for x in pair]
    return lesser, source.file if source else "", min(lines)


def _edges(
    sighting: Sighting, position: Callable[[int], int], loops: Sequence[range], is_update: Callable[[int, int], bool]
) -> list[Edge]:
    others = [x for x in sighting.others if x != UNKNOWN]
    if not others:
        place = sighting.comes_from if not sighting.others and sighting.kind in _FROM else None
        lines = parting(place or sighting.place, sighting.place)
        gap = None
        if place is not None and sighting.remedy in _GAPS:
            gap = gap_of(position(place.line), position(sighting.line), loops)
        return [Edge(sighting, place, lines, gap, sighting.remedy)]
    index = position(sighting.line)
    found = []
    for other in others:
        other_index = position(other.line)
        remedy = sighting.remedy
        if other_index != index and remedy in ("update", *_GAPS):
            remedy = "update" if is_update(index, other_index) else sighting.apart
        gap = gap_of(other_index, index, loops) if remedy in _GAPS and other_index != index else None
        calls = calls_apart(other, sighting.place)
        found.append(Edge(sighting, other, parting(other, sighting.place), gap, remedy, calls))
    return found


_FROM = (
    "uninitialised", "partly uninitialised", "missing wait", "missing proxy fence", "omitted proxy fence",
    "stale tensor map",
)  # fmt: skip
"""Kinds whose message names the origin of the value or the data."""


def _joined(pairs: list[list[Edge]]) -> list[list[list[Edge]]]:
    """Join the pairs that one barrier would fix, and the pairs of one sighting that no barrier fixes."""
    parent = list(range(len(pairs)))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    barriers = [
        barrier_groups([(i, x) for i, pair in enumerate(pairs) for x in _gaps_of(pair, gap, kinds)])
        for gap in _GAPS for kinds in _KINDS
    ]  # fmt: skip
    for together in [*_without_barrier(pairs), *_implied(pairs), *_same_message(pairs), *chain.from_iterable(barriers)]:
        first = min(map(root, together))
        for i in together:
            parent[root(i)] = first
    groups: dict[int, list[list[Edge]]] = {}
    for i, pair in enumerate(pairs):
        groups.setdefault(root(i), []).append(pair)
    return list(groups.values())


def _without_barrier(pairs: Sequence[Iterable[Edge]]) -> list[set[int]]:
    """Return the pairs of each sighting that no barrier fixes, such as a store and all loads that race with it."""
    found: dict[Sighting, set[int]] = {}
    for i, pair in enumerate(pairs):
        for edge in pair:
            if edge.remedy not in _GAPS:
                found.setdefault(edge.sighting, set()).add(i)
    return list(found.values())


def _implied(pairs: Sequence[Sequence[Edge]]) -> Iterator[set[int]]:
    """Yield each pair with the pairs at the same lines and variable that cover it: a worse kind of race, or an update
    of one address, whose stores also race with themselves.
    """
    keys = [pair[0].key for pair in pairs]
    having: dict[_Key, list[int]] = {}
    for k, (kind, *its, variable) in enumerate(keys):
        for some in {frozenset(x) for n in range(1, len(its) + 1) for x in combinations(its, n)}:
            having.setdefault((kind, some, variable), []).append(k)
    for i, (kind, *places, variable) in enumerate(keys):
        own = frozenset(places)
        updates = [k for k in having[kind, own, variable] if pairs[k][0].remedy == "update"]
        worse = [k for x in WORSE.get(str(kind), ()) for k in having.get((x, own, variable), ())]
        yield {i, *updates, *worse}


def _same_message(pairs: Sequence[Sequence[Edge]]) -> Iterator[set[int]]:
    """Yield pairs with the same message for the same threads, without memory: lanes that are missing in a warp."""
    found: dict[_Key, set[int]] = {}
    for i, pair in enumerate(pairs):
        one = pair[0].sighting
        if one.location is None and one.kind == "partial warp":
            found.setdefault((one.kind, one.said, one.block, one.thread), set()).add(i)
    yield from found.values()


def _gaps_of(pair: Iterable[Edge], wanted: str, kinds: Sequence[str]) -> list[Gap]:
    """Return the gaps of a pair that a remedy would close, for some kinds; only a few for unrolled loops."""
    found = {
        x.gap for x in pair
        if x.gap is not None and x.sighting.kind in kinds
        and (wanted == x.remedy or (wanted, x.remedy) == ("warps", "lanes"))
    }  # fmt: skip
    return sorted(found, key=lambda x: x[:2])[:_MOST_GAPS]
