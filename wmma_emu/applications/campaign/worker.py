# SPDX-License-Identifier: MIT
"""One task: draw, execute on the other side, emulate, compare."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields

from wmma_emu.applications.campaign.backends import Backend
from wmma_emu.applications.campaign.cases import Case
from wmma_emu.applications.campaign.checks import BY_REFERENCE, differing, differing_registers, unlike_reference
from wmma_emu.applications.campaign.mismatches import Keeper, Mismatch, shrunk
from wmma_emu.applications.campaign.pairs import emulate_pairs
from wmma_emu.applications.campaign.registers import apply_variant, pack_operands, read_scales
from wmma_emu.applications.campaign.tasks import Task
from wmma_emu.generators import draw, draw_scales
from wmma_emu.warp import BoundInstruction


@dataclass(slots=True)
class Count:
    """Dot products of one instruction and family, and how many of them the other side gives other bits for.

    Of those mismatches, ``unread`` are tiles of which only bits differ that hold no element of D. ``executed`` went
    through ``ins.execute`` on registers, ``referenced`` through the reference engine, too; of those, ``executed_wrong``
    and ``referenced_wrong`` differ from the emulator's product of matrices: faults of the emulator.
    """

    dot_products: int = 0
    mismatches: int = 0
    unread: int = 0
    executed: int = 0
    executed_wrong: int = 0
    referenced: int = 0
    referenced_wrong: int = 0


COUNTS = tuple(x.name for x in fields(Count))
"""What is counted."""


@dataclass(slots=True)
class TaskResult:
    """What came of a task: what was counted, where the time went, and what is kept of what differs.

    Seconds are by what was done; ``kernels`` is the part of ``backend`` in which a GPU ran.
    """

    task: int
    count: Count
    seconds: dict[str, float]
    findings: list[Mismatch] = field(default_factory=list)


class Worker:
    """What one process knows: the instructions, by number, and the backend."""

    def __init__(self, instruction: Callable[[int], BoundInstruction], backend: Backend) -> None:
        self._instruction, self._backend = instruction, backend
        self._keeper = Keeper()

    def run(self, task: Task) -> TaskResult:
        """Carry a task out."""
        clock = _Clock()
        ins = self._instruction(task.instruction)
        row, together = ins.instruction, ins.instruction.products
        kernels = getattr(self._backend, "kernel_seconds", 0.0)
        operands = draw(row, task.generator, task.seed, task.p * together, task.q * together, task.q * together)
        scales = draw_scales(row, task.generator, task.seed, task.p, task.q) if row.is_block_scaled else None
        clock.lap("draw")
        packed = pack_operands(ins, operands, task.variant, scales)
        clock.lap("pack")
        (a, b, c), keywords = packed.all_pairs()
        theirs = self._backend.execute(ins, a, b, c, **keywords)
        clock.lap("backend")
        clock.seconds["kernels"] = getattr(self._backend, "kernel_seconds", 0.0) - kernels
        read = apply_variant(row, operands, task.variant)
        tiles = emulate_pairs(row, ins.product, read, read_scales(row, scales))
        clock.lap("emulate")
        ours = ins.d.pack_bits(tiles)
        bits = list(differing(ins, theirs, ours, tiles))
        clock.lap("compare")
        registers, executed = differing_registers(ins, packed, ours, tiles, task)
        reference = list(unlike_reference(ins, operands, tiles, task, scales))
        clock.lap("check")
        count = Count(
            task.dot_products(row), len(bits), sum(x.unread for x in bits), executed, len(registers), BY_REFERENCE,
            len(reference),
        )  # fmt: skip
        result = TaskResult(task.number, count, clock.seconds)
        for found in (bits, registers, reference):  # each kind is kept or not by itself
            for kind, place, unread in found:
                if not self._keeper.keeps(kind, task):
                    break
                case = Case.at(ins, operands, place, task.variant, scales)
                result.findings.append(shrunk(kind, self._backend, ins, task, case, unread))
        clock.lap("shrink")
        return result


class _Clock:
    """Where the time goes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
