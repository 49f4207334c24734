# SPDX-License-Identifier: MIT
"""Sightings: the faults that a launch records, one for each kind and line of PTX."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from wmma_emu.ptx.findings.kinds import CHECKS, KINDS, SEVERITIES, WORSE
from wmma_emu.ptx.findings.messages import UNKNOWN, InRegister, MemoryLocation, Message, Place, plain_text
from wmma_emu.ptx.program.program import PtxInstruction, SourceLine


class Diagnosis(NamedTuple):
    """The message of a sighting, and the entry of the table of remedies that applies, if one does.

    ``apart`` is the entry for the distance of the racing threads (lanes, warps or blocks). It applies to the other
    instructions of a race if the remedy at the reported one is to merge the accesses into one operation.
    """

    message: Message
    remedy: str = ""
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One fault, as it was first seen.

    ``count`` is the number of threads that caused it (or warps, where a warp acts); ``block`` and ``thread`` are the
    first of them, (x, y, z). ``others`` are the other sides of a race: the instructions that race with this one.
    ``said`` is the message; ``remedy`` and ``apart`` name entries of the table of remedies. ``about`` is the line of
    the load if an uninitialised value is used: one instruction may use several.
    """

    kind: str
    said: Message
    line: int
    text: str
    source: SourceLine | None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    address: int | None = None
    count: int = 1
    others: tuple[Place, ...] = ()
    remedy: str = ""
    apart: str = ""
    about: int = 0

    @property
    def message(self) -> str:
        """The message in terms of the PTX."""
        return plain_text(self.said)

    @property
    def place(self) -> Place:
        """The position of its instruction."""
        return Place(self.line, self.source)

    @property
    def location(self) -> MemoryLocation | None:
        """The bytes that the message names; None if there are none."""
        return next((x for x in self.said if isinstance(x, MemoryLocation)), None)

    @property
    def register(self) -> InRegister | None:
        """The uninitialised register that the message names; None if there is no register."""
        return next((x for x in self.said if isinstance(x, InRegister)), None)

    @property
    def comes_from(self) -> Place | None:
        """The origin of the data: the load of an uninitialised value, or the copy that is in flight."""
        return next((x for x in self.said if isinstance(x, Place)), None)

    def but_others(self) -> "Sighting":
        """Return the sighting without its other sides."""
        return replace(self, others=())

    @property
    def sides(self) -> frozenset[tuple[int, int]]:
        """The races of the sighting: the lines of both sides of each, the smaller first."""
        return frozenset((min(self.line, x.line), max(self.line, x.line)) for x in self.others)

    def with_others(self, others: Iterable[Place]) -> "Sighting":
        """Add other sides."""
        fresh = [x for x in others if x not in self.others]
        return replace(self, others=tuple(sorted({*self.others, *fresh}, key=lambda x: x.line))) if fresh else self

    @property
    def severity(self) -> str:
        """The severity: one of `SEVERITIES`."""
        return KINDS[self.kind].severity

    def __str__(self) -> str:
        where = str(self.place)
        who = "" if self.block is None else f", block {tuple(self.block)}"
        who += "" if self.thread is None else f", thread {tuple(self.thread)}"
        more = f" [{self.count} times]" if self.count > 1 else ""
        lines = [str(x.line) for x in self.others if x != UNKNOWN]
        others = f"; it is in a race with lines {', '.join(lines)}" if len(lines) > 1 else ""
        return f"{self.kind}: {where}{who}: {self.message}{others}{more}\n    {self.text}"


def _is_worse(kind: str, other: str) -> bool:
    ranks = [list(SEVERITIES).index(KINDS[x].severity) for x in (kind, other)]
    return ranks[0] < ranks[1]


class _Texts(Protocol):
    def text(self, line: int) -> str:
        """Return the text of the statement that starts at a line."""


class Sightings:
    """The sightings of a launch, in the order of their detection, limited to the kinds of the enabled ``checks``."""

    def __init__(self, program: _Texts, checks: frozenset[str] = frozenset(CHECKS)) -> None:
        self._program = program
        self._checks = checks | {""}
        self._found: dict[tuple[str, int, int], Sighting] = {}

    def are_sought(self, kind: str) -> bool:
        """Return whether findings of a kind are recorded; if they are not, the work to detect them can be skipped."""
        return KINDS[kind].check in self._checks

    def add(
        self,
        kind: str,
        instruction: PtxInstruction,
        message: "str | Message | Diagnosis | Callable[[], str | Message | Diagnosis]",
        *,
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
        address: int | None = None,
        count: int = 1,
        others: Iterable[Place] = (),
        about: int = 0,
    ) -> None:
        """Record a finding, or count it if its kind and line are already recorded (without making the message)."""
        key = kind, instruction.line, about
        known = self._found.get(key)
        if known is not None:
            self._found[key] = replace(known, count=known.count + count).with_others(others)
            return
        if not self.are_sought(kind):
            return
        given = message() if callable(message) else message
        said = given if isinstance(given, Diagnosis) else Diagnosis((given,) if isinstance(given, str) else given)
        self._found[key] = Sighting(
            kind, said.message, instruction.line, self._program.text(instruction.line), instruction.source, block,
            thread, address, count, remedy=said.remedy, apart=said.apart, about=about,
        ).with_others(others)  # fmt: skip

    def leave_lesser_out(self) -> None:
        """Remove weaker kinds of findings at lines that have a worse one with the same cause."""
        for kind, line, about in [x for x in self._found if x[0] in WORSE]:
            if any((x, line, 0) in self._found for x in WORSE[kind] if _is_worse(x, kind)):
                del self._found[kind, line, about]

    def clear(self) -> None:
        """Remove all sightings, because the launch starts again."""
        self._found.clear()

    def __iter__(self) -> Iterator[Sighting]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)


def merged(findings: Iterable[Sighting], more: Iterable[Sighting]) -> list[Sighting]:
    """Add the sightings of another run of a launch, each once: a race is the same race at the lines of both sides.

    Examples
    --------
    >>> load, store = (
    ...     Sighting("race", (), line, "", None, others=(Place(other),)) for line, other in ((57, 48), (48, 57))
    ... )
    >>> [x.line for x in merged([load], [store])]
    [57]
    """
    found = {(x.kind, x.line, x.about): x for x in findings}
    sides = {(x.kind, side) for x in found.values() for side in x.sides}
    for x in more:
        if known := found.get((x.kind, x.line, x.about)):
            found[x.kind, x.line, x.about] = known.with_others(x.others)
        elif not x.others or not {(x.kind, side) for side in x.sides} <= sides:
            found[x.kind, x.line, x.about] = x
    return list(found.values())
