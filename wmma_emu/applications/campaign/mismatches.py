# SPDX-License-Identifier: MIT
"""The mismatches that a campaign keeps: a few of each kind, as found and as small as possible."""

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
"""The number of mismatches of each kind, instruction and generator that are shrunk and kept; all are counted."""

_KEPT_OF_AN_INSTRUCTION = 12
_KEPT_OF_A_WORKER = 100
"""The limits for each kind: shrinking takes time, and a few mismatches are enough."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A mismatch, as found and as small as possible.

    The kind is ``"bits"`` if the other side gave different bits; otherwise the emulator is inconsistent:
    ``"registers"`` with ``ins.execute``, ``"reference"`` with the reference engine. A mismatch is not reproduced if the
    element does not differ alone in its tile; it could not be shrunk. If it is unread, only register bits without an
    element of D differ, and the case is the tile's first element.
    """

    kind: str
    instruction: int
    generator: str
    found: Case
    smallest: Case
    reproduced: bool
    unread: bool = False


class Keeper:
    """The selection of the mismatches that one worker keeps. Each kind has a separate limit."""

    def __init__(self) -> None:
        self._kept: Counter[tuple[str | int, ...]] = Counter()

    def keeps(self, kind: str, task: Task) -> bool:
        """Return whether one more mismatch is kept, and count it if so."""
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
    """Return the results that are compared with the emulator's fast product, case by case."""
    if kind == "reference":
        return [dot(ins.product, *case.dot_operands(ins), **case.dot_scales(ins)) for case in cases]
    return execute_cases(BoundInstruction.execute if kind == "registers" else backend.execute, ins, cases)
