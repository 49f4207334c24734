# SPDX-License-Identifier: MIT
"""What a campaign keeps of what differs: few of each kind, as they were found and as small as they could be made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wmma_emu.applications.campaign.backends import Backend
from wmma_emu.applications.campaign.cases import Case, emulate_cases, execute_cases
from wmma_emu.applications.campaign.shrink import shrink
from wmma_emu.applications.campaign.tasks import Task
from wmma_emu.arithmetic.reference import dot
from wmma_emu.warp import BoundInstruction

KEPT = 3
"""Findings of each kind, instruction and family that are shrunk and kept; all are counted."""

_KEPT_OF_AN_INSTRUCTION = 12
_KEPT_OF_A_WORKER = 100
"""Of each kind, as shrinking takes time: where much is wrong, few are enough."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Something that differs, as it was found and as small as it could be made.

    The kind is ``"bits"`` where the other side gave other bits; or the emulator disagrees with itself: ``"registers"``
    through ``ins.execute``, ``"reference"`` by the reference engine. One that is not reproduced, as the element does
    not differ alone in its tile, could not be shrunk. Where it is unread, only bits of registers differ that hold no
    element of D, and the case is the tile's first element.
    """

    kind: str
    instruction: int
    generator: str
    found: Case
    smallest: Case
    reproduced: bool
    unread: bool = False


class Keeper:
    """Says which findings one worker keeps. Kinds have limits of their own: none takes the place of another."""

    def __init__(self) -> None:
        self._kept: Counter[tuple[str | int, ...]] = Counter()

    def keeps(self, kind: str, task: Task) -> bool:
        """Say whether one more is kept, and count it if so."""
        limits = {
            (kind, task.instruction, task.generator): KEPT,
            (kind, task.instruction): _KEPT_OF_AN_INSTRUCTION,
            (kind,): _KEPT_OF_A_WORKER,
        }
        if any(self._kept[key] >= most for key, most in limits.items()):
            return False
        self._kept.update(limits.keys())
        return True


def shrunk(kind: str, backend: Backend, ins: BoundInstruction, task: Task, case: Case, unread: bool) -> Mismatch:
    """Execute a case alone on both sides, and shrink it if it differs there too."""

    def results(cases: Sequence[Case]) -> list[tuple[int, int]]:
        ours = emulate_cases(ins, ins.product, cases)
        return list(zip(_others(kind, backend, ins, cases), ours, strict=True))

    found = case.with_results(*results([case])[0])
    reproduced = found.theirs != found.ours
    smallest = shrink(ins, results, found) if reproduced else found
    return Mismatch(kind, task.instruction, task.generator, found, smallest, reproduced, unread)


def _others(kind: str, backend: Backend, ins: BoundInstruction, cases: Sequence[Case]) -> list[int]:
    """What the emulator's fast product is held against, case by case."""
    if kind == "reference":
        return [dot(ins.product, *case.dot_operands(ins), **case.dot_scales(ins)) for case in cases]
    return execute_cases(BoundInstruction.execute if kind == "registers" else backend.execute, ins, cases)
