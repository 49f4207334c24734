# SPDX-License-Identifier: MIT
"""One task: draw, execute on the other side, emulate, compare."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.reference import dot
from wmma_emu.formats.codec import Bits
from wmma_emu.gpu.campaign.backends import Backend
from wmma_emu.gpu.campaign.cases import Case, emulate_cases, execute_cases
from wmma_emu.gpu.campaign.pairs import emulate_pairs
from wmma_emu.gpu.campaign.registers import Packed, apply_options, pack_operands
from wmma_emu.gpu.campaign.shrink import shrink
from wmma_emu.gpu.campaign.tasks import Task
from wmma_emu.testing.families import Operands, draw
from wmma_emu.warp import BoundInstruction

__all__ = ["KEPT", "Finding", "Itself", "TaskResult", "Worker"]

KEPT = 3
"""Mismatches of each instruction and family that are shrunk and kept; all are counted."""

_KEPT_OF_AN_INSTRUCTION = 12
_KEPT_OF_A_WORKER = 200
"""Half as many, in fact: each counts for its instruction and for its family."""

_TILES_EXECUTED = 128
"""One tile in so many goes through ``ins.execute`` too, registers to registers."""

_BY_REFERENCE = 4
"""Elements of a task that the reference engine computes too."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A mismatch, as it was found and as small as it could be made.

    Parameters
    ----------
    kind : {"bits", "registers", "reference"}
        The other side gave other bits; or the emulator disagrees with itself: ``ins.execute`` on registers, or the
        reference engine.
    instruction : int
        Its number among the campaign's.
    family : str
    found, smallest : Case
    reproduced : bool
        Whether the element differs alone in its tile too; if not, it could not be shrunk.
    """

    kind: str
    instruction: int
    family: str
    found: Case
    smallest: Case
    reproduced: bool


@dataclass(slots=True)
class TaskResult:
    """What came of a task.

    Parameters
    ----------
    task : int
    dot_products, mismatches : int
    executed, referenced : int
        Dot products that went through ``ins.execute``, and through the reference engine, too.
    seconds : dict of str to float
        Where the time went; ``kernels`` is the part of ``backend`` in which a GPU ran.
    findings : list of Finding
    """

    task: int
    dot_products: int = 0
    mismatches: int = 0
    executed: int = 0
    referenced: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


class Worker:
    """What one process knows: the instructions, and the backend.

    Parameters
    ----------
    instructions : list of BoundInstruction
    backend : Backend
    """

    def __init__(self, instructions: Sequence[BoundInstruction], backend: Backend) -> None:
        self._instructions, self._backend = instructions, backend
        self._kept: Counter[tuple[int, str]] = Counter()

    def run(self, task: Task) -> TaskResult:
        """Carry a task out."""
        clock = _Clock()
        ins = self._instructions[task.instruction]
        row, together = ins.instruction, ins.instruction.products
        kernels = getattr(self._backend, "kernel_seconds", 0.0)
        operands = draw(row, task.family, task.seed, task.p * together, task.q * together, task.q * together)
        clock.lap("draw")
        packed = pack_operands(ins, operands, task.options)
        clock.lap("pack")
        (a, b, c), keywords = packed.all_pairs()
        theirs = self._backend.execute(ins, a, b, c, **keywords)
        clock.lap("backend")
        clock.seconds["kernels"] = getattr(self._backend, "kernel_seconds", 0.0) - kernels
        tiles = emulate_pairs(row, ins.product, apply_options(row, operands, task.options))
        clock.lap("emulate")
        ours = ins.d.pack_bits(tiles)
        found: list[tuple[Any, ...]] = [("bits", *place) for place in _differing(ins, theirs, ours, tiles)]
        clock.lap("compare")
        i, j = _some_pairs(task)
        found += [
            ("registers", int(i[at]), int(j[at]), *rest)
            for at, *rest in _differing(ins, _executed(ins, packed, i, j), ours[:, i, j], tiles[i, j])
        ]
        found += [("reference", *place) for place in _unlike_reference(ins, operands, tiles, task)]
        clock.lap("check")
        result = TaskResult(task.number, task.dot_products(row), len(found), len(i) * tiles[0, 0].size, _BY_REFERENCE)
        for kind, *where in found:
            if not self._keeps(task):
                break
            case = Case.at(ins, operands, tuple(where), task.options)
            result.findings.append(self._shrunk(kind, ins, task, case))
        clock.lap("shrink")
        result.seconds = clock.seconds
        return result

    def _keeps(self, task: Task) -> bool:
        """Say whether one more mismatch is kept: where much is wrong, few are enough."""
        of_family, of_instruction = (task.instruction, task.family), (task.instruction, "")
        keeps = (
            self._kept[of_family] < KEPT
            and self._kept[of_instruction] < _KEPT_OF_AN_INSTRUCTION
            and self._kept.total() < _KEPT_OF_A_WORKER
        )
        if keeps:
            self._kept.update((of_family, of_instruction))
        return keeps

    def _shrunk(self, kind: str, ins: BoundInstruction, task: Task, case: Case) -> Finding:
        def results(cases: Sequence[Case]) -> list[tuple[int, int]]:
            ours = emulate_cases(ins, ins.product, cases)
            return list(zip(_others(kind, self._backend, ins, cases), ours, strict=True))

        found = case.with_results(*results([case])[0])
        reproduced = found.theirs != found.ours
        return Finding(
            kind, task.instruction, task.family, found, shrink(ins, results, found) if reproduced else found, reproduced
        )


class Itself:
    """The emulator's own ``execute``, in the place of a backend."""

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute an instruction."""
        return ins.execute(a, b, c, **keywords)


def _others(kind: str, backend: Backend, ins: BoundInstruction, cases: Sequence[Case]) -> list[int]:
    """What the emulator's fast product is held against, case by case."""
    if kind == "reference":
        return [dot(ins.product, *case.dot_operands(ins)) for case in cases]
    return execute_cases(Itself() if kind == "registers" else backend, ins, cases)


def _differing(ins: BoundInstruction, theirs: NDArray[Any], ours: NDArray[Any], tiles: Bits) -> list[list[int]]:
    """Where D differs: indices of the batch, of the warp's product (0 if it has one), row and column."""
    if np.array_equal(theirs, ours):
        return []
    places: list[list[int]] = np.argwhere(ins.d.unpack_bits(theirs) != tiles).tolist()
    if ins.instruction.products == 1:
        places = [[*place[:-2], 0, *place[-2:]] for place in places]
    return places


def _some_pairs(task: Task) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose some of the pairs of a task; rows of A and columns of B take their turns."""
    pairs = np.arange(task.number % _TILES_EXECUTED % (task.p * task.q), task.p * task.q, _TILES_EXECUTED)
    i, j = np.divmod(pairs, task.q)
    return i, (i + j) % task.q


def _executed(ins: BoundInstruction, packed: Packed, i: NDArray[np.intp], j: NDArray[np.intp]) -> NDArray[Any]:
    (a, b, c), keywords = packed.some_pairs(i, j)
    return ins.execute(a, b, c, **keywords)


def _unlike_reference(
    ins: BoundInstruction, operands: Operands, tiles: Bits, task: Task
) -> Iterator[tuple[int, int, int, int, int]]:
    """Compute a few elements, spread over the tiles, by the reference engine; yields where one differs."""
    for part in range(_BY_REFERENCE):
        # 7919 is prime: other elements in every task and part.
        flat = ((task.number * _BY_REFERENCE + part) * 7919) % tiles.size
        i, j, *product, row, column = (int(x) for x in np.unravel_index(flat, tiles.shape))
        place = (i, j, product[0] if product else 0, row, column)
        case = Case.at(ins, operands, place, task.options)
        if dot(ins.product, *case.dot_operands(ins)) != int(tiles[i, j, *product, row, column]):
            yield place


class _Clock:
    """Where the time goes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
