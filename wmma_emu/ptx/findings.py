# SPDX-License-Identifier: MIT
"""What is wrong with a kernel: findings, one for each kind and line of PTX."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from wmma_emu.ptx.program.program import Instruction, KernelProgram, SourceLine

__all__ = ["KINDS", "Finding", "Findings"]

KINDS = {
    "out of bounds": "an access outside of every allocation, or of the space's memory",
    "misaligned": "an address that is no multiple of what the instruction needs",
    "uninitialised": "a value that nobody wrote is used",
    "read-only": "a write to memory that may only be read",
    "race": "two warps access the same shared memory, one of them writes, and no barrier is between",
    "missing wait": "data of an asynchronous copy or product is used before it is waited for",
    "barrier divergence": "a barrier of all threads is met at several instructions, or by some lanes of a warp",
    "deadlock": "every thread that is left waits for another",
    "partial warp": "an instruction of a whole warp is reached by some of its lanes",
    "illegal metadata": "sparsity metadata that the manual forbids",
    "illegal operand": "an operand whose value the manual forbids: a membermask, a barrier's number, a descriptor",
    "trap": "the kernel gave up: trap, or an assertion",
}
"""Every kind of finding, and what it says."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where it was first seen.

    ``count`` is how many threads met it (or warps, where a warp is the actor); ``block`` and ``thread`` the first of
    them, (x, y, z).
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

    def __str__(self) -> str:
        where = f"line {self.line}" + (f" ({self.source})" if self.source else "")
        who = "" if self.block is None else f", block {tuple(self.block)}"
        who += "" if self.thread is None else f", thread {tuple(self.thread)}"
        more = f" [{self.count} times]" if self.count > 1 else ""
        return f"{self.kind}: {where}{who}: {self.message}{more}\n    {self.text}"


class Findings:
    """The findings of a launch, in the order in which they were met."""

    def __init__(self, program: KernelProgram) -> None:
        self._program = program
        self._found: dict[tuple[str, int], Finding] = {}

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
    ) -> None:
        """Note a finding, or count it where its kind and line are known already (the message is not made then)."""
        key = kind, instruction.line
        known = self._found.get(key)
        if known is not None:
            self._found[key] = replace(known, count=known.count + count)
            return
        if kind not in KINDS:
            raise KeyError(kind)
        text = message if isinstance(message, str) else message()
        self._found[key] = Finding(
            kind, text, instruction.line, self._program.text(instruction.line), instruction.source, block, thread,
            address, count,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)
