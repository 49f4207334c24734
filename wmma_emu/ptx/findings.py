# SPDX-License-Identifier: MIT
"""What is wrong with a kernel: findings, one for each kind and line of PTX."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from wmma_emu.errors import printable
from wmma_emu.ptx.program.program import Instruction, KernelProgram, SourceLine

__all__ = ["CHECKS", "KINDS", "SEVERITIES", "UNKNOWN", "Finding", "Findings", "Kind", "Place", "merged", "place_of"]

SEVERITIES = {
    "error": "the kernel is wrong: on some run, or on some chip, it gives wrong results or does not end",
    "warning": "the kernel may be wrong: it depends on what the check cannot see",
    "note": "the kernel is right on the chips that are modelled, and somebody may want to know",
}
"""How bad a finding is, the worst first."""

CHECKS = {
    "memory": "addresses: bounds, alignment, what may only be read (the access is left out in any case)",
    "undefined": "values that nobody wrote, from where they are read to where they matter",
    "races": "accesses of several threads to one place that nothing orders",
    "synchronisation": "barriers, waits, membermasks, and what instructions of whole warps need",
}
"""What a launch looks for; each can be switched off, which saves its time."""


class Kind(NamedTuple):
    """A kind of finding.

    ``says`` is what a finding of this kind means, ``severity`` one of `SEVERITIES` and ``reason`` why it is that one;
    ``check`` the one of `CHECKS` that looks for it, "" where it is what ends a launch and is said in any case.
    """

    says: str
    severity: str
    reason: str
    check: str


KINDS = {
    "out of bounds": Kind(
        "an access outside of every allocation, or of the space's memory", "error",
        "a GPU stops the kernel, or the access meets memory of somebody else", "memory",
    ),
    "misaligned": Kind(
        "an address that is no multiple of what the instruction needs", "error", "a GPU stops the kernel", "memory"
    ),
    "uninitialised": Kind(
        "a value that nobody wrote is used", "error", "the result is what the memory held before", "undefined"
    ),
    "partly uninitialised": Kind(
        "an element is stored of which nobody wrote some bytes", "warning",
        "the bytes may be the padding of a structure, which nobody reads, or one that was forgotten", "undefined",
    ),
    "read-only": Kind(
        "a write to memory that may only be read", "error",
        "a GPU stops the kernel, or an array changes that was said to be an input", "memory",
    ),
    "race": Kind(
        "threads of different warps access the same bytes, one of them writes, and nothing orders the two", "error",
        "which of them comes first is left open, and the result with it", "races",
    ),
    "race of an unused value": Kind(
        "a load and a store of threads of different warps race, and nothing depends on the value that is loaded",
        "warning",
        "the memory model calls it a race, and so may compute-sanitizer; but the launch was run once more with "
        "undefined bits in place of what these loads give, and none of them was used", "races",
    ),
    "race within a warp": Kind(
        "lanes of one warp access the same bytes, one of them writes, and no __syncwarp() is between", "warning",
        "PTX orders nothing here; chips execute lanes of a warp that go the same way in step, and compute-sanitizer's "
        "racecheck calls it a warning", "races",
    ),
    "lanes store to one place": Kind(
        "lanes of one warp store different bytes to one place in one instruction", "warning",
        "PTX leaves open which of them stays; compilers let all lanes that hold copies of a sum store it, differently "
        "rounded, and an NVIDIA H200 keeps the one of the lowest lane of the last 128 bytes (2026-11-23); "
        "compute-sanitizer's racecheck calls it an error in shared memory", "races",
    ),
    "race of equal bytes": Kind(
        "threads store the same bytes to the same place, and nothing orders the stores", "note",
        "PTX leaves open which store is the last one, and the bytes are the same whichever it is; compute-sanitizer's "
        "racecheck says nothing either", "races",
    ),
    "missing wait": Kind(
        "data of an asynchronous copy or product is used before it is waited for", "error",
        "whether the data is there depends on how fast it comes", "synchronisation",
    ),
    "barrier divergence": Kind(
        "a barrier of all threads is met by some lanes of a warp, while others go around it", "error",
        "PTX leaves open what an aligned barrier does then; compute-sanitizer's synccheck calls it an error",
        "synchronisation",
    ),
    "barriers at several instructions": Kind(
        "the threads of a block meet a barrier of all threads at several instructions", "note",
        "PTX allows it on chips from sm_70 on, where a barrier counts threads and not instructions; the CUDA guide "
        "forbids it, and compute-sanitizer's synccheck says so", "synchronisation",
    ),
    "deadlock": Kind(
        "every thread that is left waits for another", "error", "the kernel does not end", ""
    ),
    "partial warp": Kind(
        "an instruction of a whole warp is reached by some of its lanes", "error",
        "PTX leaves open what the instruction does then", "synchronisation",
    ),
    "illegal metadata": Kind(
        "sparsity metadata that the manual forbids", "error", "the product is undefined", "synchronisation"
    ),
    "illegal operand": Kind(
        "an operand whose value the manual forbids: a membermask, a barrier's number, a descriptor", "error",
        "what the instruction does is undefined, and some chips stop the kernel", "synchronisation",
    ),
    "trap": Kind("the kernel gave up: trap, or an assertion", "error", "the kernel itself says that it went wrong", ""),
}  # fmt: skip
"""Every kind of finding."""


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
class Finding:
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

    def but_others(self) -> "Finding":
        """Leave out the other sides."""
        return replace(self, others=())

    @property
    def sides(self) -> frozenset[tuple[int, int]]:
        """The races that it is about: the lines of both sides of each, the smaller first."""
        return frozenset((min(self.line, x.line), max(self.line, x.line)) for x in self.others)

    def with_others(self, others: Iterable[Place]) -> "Finding":
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


class Findings:
    """The findings of a launch, in the order in which they were met; of the kinds that ``checks`` look for alone."""

    def __init__(self, program: KernelProgram, checks: frozenset[str] = frozenset(CHECKS)) -> None:
        self._program = program
        self._checks = checks | {""}
        self._found: dict[tuple[str, int], Finding] = {}

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
        self._found[key] = Finding(
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

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)


def merged(findings: Iterable[Finding], more: Iterable[Finding]) -> list[Finding]:
    """Add findings of another run of a launch, each once: a race is the same one at the lines of both its sides.

    Examples
    --------
    >>> load, store = (
    ...     Finding("race", "", line, "", None, others=(Place(other),)) for line, other in ((57, 48), (48, 57))
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
