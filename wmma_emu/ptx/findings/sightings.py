# SPDX-License-Identifier: MIT
"""What a launch notes of a kernel that is wrong: sightings, one for each kind and line of PTX."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.findings.kinds import CHECKS, KINDS
from wmma_emu.ptx.program.program import Instruction, KernelProgram, SourceLine

__all__ = ["UNKNOWN", "Place", "Sighting", "Sightings", "merged", "place_of"]

class Place(NamedTuple):
    """Where an instruction stands: its line of the PTX, and where the source says that it comes from."""

    line: int
    source: SourceLine | None = None


UNKNOWN = Place(0)
"""Stands for the other side of a race, where that is not known any more."""


def place_of(instruction: Instruction) -> Place:
    """Say where an instruction stands."""
    return Place(instruction.line, instruction.source)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One thing that is wrong, where it was first seen.

    ``count`` is how many threads met it (or warps, where a warp is the actor); ``block`` and ``thread`` the first of
    them, (x, y, z). ``others`` are the other sides of a race: the instructions that this one is in a race with.
    """

    kind: str
    message: str
    line: int
    text: str
    source: SourceLine | None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    address: int | None = None
    count: int = 1
    others: tuple[Place, ...] = ()

    def but_others(self) -> "Sighting":
        """Leave out the other sides."""
        return replace(self, others=())

    @property
    def sides(self) -> frozenset[tuple[int, int]]:
        """The races that it is about: the lines of both sides of each, the smaller first."""
        return frozenset((min(self.line, x.line), max(self.line, x.line)) for x in self.others)

    def with_others(self, others: Iterable[Place]) -> "Sighting":
        """Add other sides."""
        fresh = [x for x in others if x not in self.others]
        return replace(self, others=tuple(sorted({*self.others, *fresh}, key=lambda x: x.line))) if fresh else self

    @property
    def severity(self) -> str:
        """How bad it is: one of `SEVERITIES`."""
        return KINDS[self.kind].severity

    def __str__(self) -> str:
        where = f"line {self.line}" + (f" ({self.source})" if self.source else "")
        who = "" if self.block is None else f", block {tuple(self.block)}"
        who += "" if self.thread is None else f", thread {tuple(self.thread)}"
        more = f" [{self.count} times]" if self.count > 1 else ""
        lines = [str(x.line) for x in self.others if x != UNKNOWN]
        others = f"; it is in a race with lines {', '.join(lines)}" if len(lines) > 1 else ""
        return f"{self.kind}: {where}{who}: {self.message}{others}{more}\n    {self.text}"


_LESSER = {
    "race within a warp": "race", "lanes store to one place": "race", "race of equal bytes": "race",
}  # fmt: skip
"""Kinds that say nothing more where a line has the other one."""


class Sightings:
    """The findings of a launch, in the order in which they were met; of the kinds that ``checks`` look for alone."""

    def __init__(self, program: KernelProgram, checks: frozenset[str] = frozenset(CHECKS)) -> None:
        self._program = program
        self._checks = checks | {""}
        self._found: dict[tuple[str, int], Sighting] = {}

    def are_sought(self, kind: str) -> bool:
        """Whether findings of a kind are kept: what makes one may be left out where they are not."""
        return KINDS[kind].check in self._checks

    def add(
        self,
        kind: str,
        instruction: Instruction,
        message: "str | Callable[[], str]",
        *,
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
        address: int | None = None,
        count: int = 1,
        others: Iterable[Place] = (),
    ) -> None:
        """Note a finding, or count it where its kind and line are known already (the message is not made then)."""
        key = kind, instruction.line
        known = self._found.get(key)
        if known is not None:
            self._found[key] = replace(known, count=known.count + count).with_others(others)
            return
        if not self.are_sought(kind):
            return
        text = printable(message if isinstance(message, str) else message())
        self._found[key] = Sighting(
            kind, text, instruction.line, self._program.text(instruction.line), instruction.source, block, thread,
            address, count,
        ).with_others(others)  # fmt: skip

    def leave_lesser_out(self) -> None:
        """Leave out what is less than another finding of the same line, and comes from the same cause."""
        for kind, line in [x for x in self._found if x[0] in _LESSER]:
            if (_LESSER[kind], line) in self._found:
                del self._found[kind, line]

    def clear(self) -> None:
        """Forget all of them: the launch begins anew."""
        self._found.clear()

    def __iter__(self) -> Iterator[Sighting]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)


def merged(findings: Iterable[Sighting], more: Iterable[Sighting]) -> list[Sighting]:
    """Add findings of another run of a launch, each once: a race is the same one at the lines of both its sides.

    Examples
    --------
    >>> load, store = (
    ...     Sighting("race", "", line, "", None, others=(Place(other),)) for line, other in ((57, 48), (48, 57))
    ... )
    >>> [x.line for x in merged([load], [store])]
    [57]
    """
    found = {(x.kind, x.line): x for x in findings}
    sides = {(x.kind, side) for x in found.values() for side in x.sides}
    for x in more:
        if known := found.get((x.kind, x.line)):
            found[x.kind, x.line] = known.with_others(x.others)
        elif not x.others or not {(x.kind, side) for side in x.sides} <= sides:
            found[x.kind, x.line] = x
    return list(found.values())
