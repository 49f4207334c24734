# SPDX-License-Identifier: MIT
"""Schedules for the page: instructions of several machine instructions, and the work of each of these."""

from functools import cache
from typing import Any

from wmma_emu.applications.explorer.numbered import Numbered
from wmma_emu.display import runs_of
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, Instruction, lowerings
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.schedule import schedule_of
from wmma_emu.schedule.spec import MachineStep, Ownership, StepPart

HEAD = ("lowering", "machine", "sums", "before", "after", "inside", "finish", "note", "source", "status")
"""The fields of a schedule as a whole, in this order."""


class _Coder:
    def __init__(self) -> None:
        self.held: Numbered[tuple[tuple[int, ...], ...]] = Numbered()
        self.parts: Numbered[tuple[int, ...]] = Numbered()
        self.steps: Numbered[tuple[Any, ...]] = Numbered()
        self.heads: Numbered[tuple[Any, ...]] = Numbered()
        self.bodies: Numbered[tuple[int, ...]] = Numbered()

    def __call__(self, entry: Instruction, arch: str, lowering: str) -> tuple[int, int] | None:
        """Return the numbers of head and body of a schedule of several steps; None if it has one step."""
        try:
            schedule = schedule_of(entry, arch, lowering)
        except UnsupportedInstructionError:  # its machine code does not divide the product
            return None
        if len(schedule.steps) == 1:
            return None
        given = schedule.to_dict()
        head = self.heads((*(given[x] for x in HEAD), *given["shape"]))
        return head, self.bodies(tuple(self.step(x) for x in schedule.steps))

    def step(self, step: MachineStep) -> int:
        parts = tuple(self.part(x) for x in step.parts)
        return self.steps((
            step.opcode, _number(step.set), _number(step.step), _spans(step.ks), tuple(map(_spans, step.rounded)),
            step.start, int(step.transposed), parts,
        ))  # fmt: skip

    def part(self, part: StepPart) -> int:
        blocks = (part.rows.start, part.rows.stop, part.cols.start, part.cols.stop)
        places = [-1 if x is None else self.place(x) for x in (part.a, part.b, part.c, part.d)]
        names = (_number(part.threadgroup), _number(part.octet), part.matrix)
        return self.parts((*names, *blocks, *places, _number(part.b_threadgroup)))

    def place(self, held: Ownership) -> int:
        return self.held((_spans(held.lanes), _spans(held.registers), _spans(held.elements)))


@cache
def coded_schedules() -> dict[str, Any]:
    """Return the known schedules of instructions with more than one machine instruction.

    ``held``: lanes, registers and elements as spans (first, count, first, count, ...). ``parts``: threadgroup, octet,
    matrix, rows and columns (first, last + 1), numbers of the ``held`` entries of a, b, c, d, threadgroup of B; -1 for
    none. ``steps``: opcode, set, step, ks, ks rounded together, start, transposed, numbers of parts. ``bodies``:
    numbers of steps. ``heads``: `HEAD`, then m, n, terms. ``of``: by number of the instruction, for groups of chips (a
    bit for each), numbers of head and body; with several lowerings on a chip, the newest first.

    Examples
    --------
    >>> found = coded_schedules()
    >>> found["steps"][0][:4]
    ('HMMA.884.F32.F32.STEP0', 0, 0, (0, 4))
    """
    coder = _Coder()
    of: dict[int, list[list[int]]] = {}
    for number, entry in enumerate(INSTRUCTIONS.values()):
        if entry.is_warpgroup:
            continue  # one machine instruction each
        groups: dict[tuple[int, int], int] = {}
        known = [
            (age, bit, arch, lowering)
            for bit, arch in enumerate(ARCHS)
            if arch in entry.archs
            for age, lowering in enumerate(lowerings(entry, arch))
        ]
        for _, bit, arch, lowering in sorted(known):
            key = coder(entry, arch, lowering)
            if key is not None:
                groups[key] = groups.get(key, 0) | 1 << bit
        if groups:
            of[number] = [[mask, *key] for key, mask in groups.items()]
    return {
        "held": coder.held.rows(), "parts": coder.parts.rows(), "steps": coder.steps.rows(),
        "bodies": coder.bodies.rows(), "heads": coder.heads.rows(), "of": of,
    }  # fmt: skip


def _number(given: int | None) -> int:
    return -1 if given is None else given


def _spans(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return ascending runs of numbers as first and count.

    Examples
    --------
    >>> _spans((0, 1, 2, 3, 16, 17))
    (0, 4, 16, 2)
    """
    return tuple(x for run in runs_of(numbers) for x in (run.start, len(run)))
