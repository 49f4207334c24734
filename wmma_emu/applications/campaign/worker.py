# SPDX-License-Identifier: MIT
"""The execution of one task: draw, execute on the other side, emulate, compare."""

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
    """The dot products of one instruction and generator, and the number for which the other side gives different bits.

    Of those mismatches, ``unread`` are tiles in which only bits without an element of D differ. ``executed`` were also
    computed by ``ins.execute`` on registers, ``referenced`` by the reference engine; of those, ``executed_wrong`` and
    ``referenced_wrong`` differ from the emulator's product of matrices, which is a fault of the emulator.
    """

    dot_products: int = 0
    mismatches: int = 0
    unread: int = 0
    executed: int = 0
    executed_wrong: int = 0
    referenced: int = 0
    referenced_wrong: int = 0


COUNTS = tuple(x.name for x in fields(Count))
"""The names of the counts."""


@dataclass(slots=True)
class TaskResult:
    """The result of a task: its counts, its times, and the mismatches that are kept.

    Seconds are by activity; ``kernels`` is the part of ``backend`` in which a GPU ran.
    """

    task: int
    count: Count
    seconds: dict[str, float]
    findings: list[Mismatch] = field(default_factory=list)


class Worker:
    """The state of one process: the instructions, by number, and the backend."""

    def __init__(self, instruction: Callable[[int], BoundInstruction], backend: Backend) -> None:
        self._instruction, self._backend = instruction, backend
        self._keeper = Keeper()

    def run(self, task: Task) -> TaskResult:
        """Execute a task."""
        clock = _Clock()
        ins = self._instruction(task.instruction)
        entry, together = ins.instruction, ins.instruction.products
        kernels = getattr(self._backend, "kernel_seconds", 0.0)
        operands = draw(entry, task.generator, task.seed, task.p * together, task.q * together, task.q * together)
        scales = draw_scales(entry, task.generator, task.seed, task.p, task.q) if entry.is_block_scaled else None
        clock.lap("draw")
        packed = pack_operands(ins, operands, task.variant, scales)
        clock.lap("pack")
        (a, b, c), keywords = packed.all_pairs()
        theirs = self._backend.execute(ins, a, b, c, **keywords)
        clock.lap("backend")
        clock.seconds["kernels"] = getattr(self._backend, "kernel_seconds", 0.0) - kernels
        read = apply_variant(entry, operands, task.variant)
        tiles = emulate_pairs(entry, ins.product, read, read_scales(entry, scales))
        clock.lap("emulate")
        ours = ins.d.pack_bits(tiles)
        bits = list(differing(ins, theirs, ours, tiles))
        clock.lap("compare")
        registers, executed = differing_registers(ins, packed, ours, tiles, task)
        reference = list(unlike_reference(ins, operands, tiles, task, scales))
        clock.lap("check")
        count = Count(
            task.dot_products(entry), len(bits), sum(x.unread for x in bits), executed, len(registers), BY_REFERENCE,
            len(reference),
        )  # fmt: skip
        result = TaskResult(task.number, count, clock.seconds)
        for found in (bits, registers, reference):  # each kind has a separate limit
            for kind, place, unread in found:
                if not self._keeper.keeps(kind, task):
                    break
                case = Case.at(ins, operands, place, task.variant, scales)
                result.findings.append(shrunk(kind, self._backend, ins, task, case, unread))
        clock.lap("shrink")
        return result


class _Clock:
    """A stopwatch for the activities of a task."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
