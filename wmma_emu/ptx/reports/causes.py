# SPDX-License-Identifier: MIT
"""What has one cause: sightings at one pair of source lines and one variable, and races that one barrier would mend."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from wmma_emu.ptx.findings import UNKNOWN, WORSE, Place, Sighting
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import calls_apart, parting
from wmma_emu.ptx.reports.gaps import Gap, barrier_groups, gap_of

_KINDS = (("race", "race within a warp"), ("race of an unused value",), ("missing wait",))
"""Kinds that a barrier or a wait mends: where one does for several of a row, the worst is what it is called."""

_GAPS = ("warps", "lanes", "blocks", "copy")
"""Rows of the table of remedies in which something is missing between two accesses."""

_MOST_GAPS = 16
"""Gaps of one pair that are compared with those of others."""

_Key = tuple[object, ...]


class Edge(NamedTuple):
    """A sighting with one of the places that it is about: the other side of a race, the load of its value, a copy.

    ``other`` is None where it is about its own place alone; ``lines`` are where the source has the two, the other one
    first, None where it does not say. ``gap`` is where something is missing. ``remedy`` is the row of the table of
    remedies, and ``calls`` are the calls that lead to one of the two alone.
    """

    sighting: Sighting
    other: Place | None
    lines: tuple[SourceLine | None, SourceLine | None]
    gap: Gap | None = None
    remedy: str = ""
    calls: tuple[tuple[SourceLine, ...], tuple[SourceLine, ...]] = ((), ())

    @property
    def is_in_message(self) -> bool:
        """Whether the message is about this place: of several that a sighting is in a race with, it names one."""
        return self.other is None or self.other in self.sighting.said

    @property
    def key(self) -> _Key:
        """What sightings of one cause have in common: the kind, the pair of source lines, the variable."""
        places = [(self.lines[1], self.sighting.line, self.calls[1])]
        if self.other is not None:
            places.append((self.lines[0], self.other.line, self.calls[0]))
        if self.sighting.kind == "uninitialised" and len(places) == 2:
            places = places[1:]  # whoever uses the value, its cause is what the one load found
        where = sorted(
            (*((source.file, source.line) if source else ("", line)), tuple((x.file, x.line) for x in calls))
            for source, line, calls in places
        )
        location = self.sighting.location
        return self.sighting.kind, *where, location.owner if location else ""


class Cause(NamedTuple):
    """Edges that have one cause: sorted into those of each pair of lines and variable, the first pair first."""

    pairs: tuple[tuple[Edge, ...], ...]

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All of them."""
        return tuple(x for pair in self.pairs for x in pair)


def causes_of(
    sightings: Iterable[Sighting], position: Callable[[int], int], loops: Sequence[range] = (),
    is_update: Callable[[int, int], bool] = lambda one, other: False,
) -> list[Cause]:  # fmt: skip
    """Sort sightings by their causes, in the order in which the first of each was met.

    ``position`` gives the number in the program of the instruction in a line of the PTX, ``loops`` are the instructions
    of each loop, by these numbers, and ``is_update`` says of two of them whether the one loads what the other stores
    when it has changed it.
    """
    pairs: dict[_Key, list[Edge]] = {}
    for sighting in sightings:
        for edge in _edges(sighting, position, loops, is_update):
            pairs.setdefault(edge.key, []).append(edge)
    groups = _joined([sorted(pair, key=lambda x: not x.is_in_message) for pair in pairs.values()])
    return [Cause(tuple(tuple(pairs) for pairs in sorted(group, key=_rank))) for group in groups]


def _rank(pair: Sequence[Edge]) -> tuple[int, str, int]:
    """Order the pairs of a cause in a way that does not depend on the order of the threads."""
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
    here = position(sighting.line)
    found = []
    for other in others:
        there = position(other.line)
        remedy = sighting.remedy
        if there != here and remedy in ("update", *_GAPS):
            remedy = "update" if is_update(here, there) else sighting.apart
        gap = gap_of(there, here, loops) if remedy in _GAPS and there != here else None
        calls = calls_apart(other, sighting.place)
        found.append(Edge(sighting, other, parting(other, sighting.place), gap, remedy, calls))
    return found


_FROM = ("uninitialised", "partly uninitialised", "missing wait")
"""Kinds whose message names the place that the value or the data comes from."""


def _joined(pairs: list[list[Edge]]) -> list[list[list[Edge]]]:
    """Join the pairs that one barrier would mend, and those of one sighting where none does."""
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
    """Give the pairs of each sighting that no barrier mends: a store and all loads that it is in a race with."""
    found: dict[Sighting, set[int]] = {}
    for i, pair in enumerate(pairs):
        for edge in pair:
            if edge.remedy not in _GAPS:
                found.setdefault(edge.sighting, set()).add(i)
    return list(found.values())


def _implied(pairs: Sequence[Sequence[Edge]]) -> Iterator[set[int]]:
    """Give each pair with one that says more of the same lines and variable: where its race is the worse one, or a
    change of one place, of which each store is in a race with itself.
    """
    keys = [pair[0].key for pair in pairs]
    having: dict[_Key, list[int]] = {}
    for k, (kind, *its, variable) in enumerate(keys):
        for some in {frozenset(x) for n in range(1, len(its) + 1) for x in combinations(its, n)}:
            having.setdefault((kind, some, variable), []).append(k)
    for i, (kind, *places, variable) in enumerate(keys):
        mine = frozenset(places)
        updates = [k for k in having[kind, mine, variable] if pairs[k][0].remedy == "update"]
        worse = [k for x in WORSE.get(str(kind), ()) for k in having.get((x, mine, variable), ())]
        yield {i, *updates, *worse}


def _same_message(pairs: Sequence[Sequence[Edge]]) -> Iterator[set[int]]:
    """Give pairs that say the same of the same threads, and are about no memory: lanes that are missing on a way."""
    found: dict[_Key, set[int]] = {}
    for i, pair in enumerate(pairs):
        one = pair[0].sighting
        if one.location is None and one.kind == "partial warp":
            found.setdefault((one.kind, one.said, one.block, one.thread), set()).add(i)
    yield from found.values()


def _gaps_of(pair: Iterable[Edge], wanted: str, kinds: Sequence[str]) -> list[Gap]:
    """List the gaps of a pair of some kinds that a remedy would close; a few of them, where loops were unrolled."""
    found = {
        x.gap for x in pair
        if x.gap is not None and x.sighting.kind in kinds
        and (wanted == x.remedy or (wanted, x.remedy) == ("warps", "lanes"))
    }  # fmt: skip
    return sorted(found, key=lambda x: x[:2])[:_MOST_GAPS]
