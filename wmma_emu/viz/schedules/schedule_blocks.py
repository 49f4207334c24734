# SPDX-License-Identifier: MIT
"""The blocks of A, B and D of a machine instruction, each once, and the threadgroups that hold copies."""

from typing import Literal, NamedTuple

from wmma_emu.display import runs_of
from wmma_emu.schedule import MachineStep
from wmma_emu.schedule.text import threadgroups_named


class DrawnBlock(NamedTuple):
    """A block of a matrix that is read or written, with the threadgroups that hold or compute it, and their labels.

    ``owners`` are threadgroups, -1 if all lanes work together; ``labels`` has one label for each. ``turn`` counts the
    successive roundings, from 1.
    """

    operand: Literal["a", "b", "d"]
    rows: range
    cols: range
    owners: tuple[int, ...]
    turn: int
    labels: tuple[str, ...]


def turns_of(step: MachineStep) -> tuple[tuple[int, ...], ...]:
    """Return the runs of k that are rounded successively, if these are few; else all k as one run."""
    shown = 1 < len(step.rounded) <= 4 and all(len(ks) > len(runs_of(ks)) == 1 for ks in step.rounded)
    return step.rounded if shown else (step.ks,)


def blocks_of(step: MachineStep) -> list[DrawnBlock]:
    """Return every block of a machine instruction; of the first product if there are four.

    Examples
    --------
    >>> from wmma_emu.schedule import schedule_of
    >>> step = schedule_of("wmma.mma.m16n16k16.f32.f32", "sm_70").steps[4]
    >>> [(block.rows, block.owners) for block in blocks_of(step) if block.operand == "a"][:2]
    [(range(0, 2), (0, 2)), (range(8, 10), (1, 3))]
    """
    found: dict[tuple[Literal["a", "b", "d"], range, range, int], list[int]] = {}
    turns = turns_of(step)
    for part in step.parts:
        if part.matrix:
            continue
        own = -1 if part.threadgroup is None else part.threadgroup
        of_b = -1 if part.b_threadgroup is None else part.b_threadgroup
        found.setdefault(("d", part.rows, part.cols, 0), []).append(own)
        for turn, ks in enumerate(turns, 1):
            for run in runs_of(ks):
                found.setdefault(("a", part.rows, run, turn), []).append(own)
                found.setdefault(("b", run, part.cols, turn), []).append(of_b)
    blocks = []
    for (operand, rows, cols, turn), owners in found.items():
        one_each = tuple(sorted(set(owners)))
        alone = f"{turn}." if turn and len(turns) > 1 else f"#{step.number}"
        labels = tuple(alone if owner < 0 else threadgroups_named(owner) for owner in one_each)
        blocks.append(DrawnBlock(operand, rows, cols, one_each, turn, labels))
    return blocks
