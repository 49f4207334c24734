# SPDX-License-Identifier: MIT
"""Traces of blocks: every execution of an instruction, with the values that it writes and its accesses to memory."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import MemoryLimitError
from wmma_emu.ptx.history.recording_execution import executing_threads
from wmma_emu.ptx.machine.compile import BasicBlock, CompiledProgram
from wmma_emu.ptx.machine.control import Terminator
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.limits import Deadline
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import Step
from wmma_emu.ptx.threads import Active, Array, Threads

MOST_BYTES = 1 << 28
"""The largest trace that is kept."""


class AtomicOrder(NamedTuple):
    """The order of the threads of an atomic operation, and the value that each found."""

    rank: NDArray[np.int64]
    before: Array


class TracedAccess(NamedTuple):
    """An access by the threads of a block: ``addresses`` and ``mask`` are (accesses of a thread, warps, 32).

    ``atomic_order`` has one number for each thread, (warps, 32); None if the access is not an atomic operation.
    """

    space: str
    is_write: bool
    addresses: Array
    mask: NDArray[np.bool_]
    size: int
    each: int
    atomic_order: AtomicOrder | None = None


@dataclass
class _Access:
    """An access of the instruction that is being executed, by all threads of the wave."""

    resolved: ResolvedAccess
    is_write: bool
    atomic_order: AtomicOrder | None = None


class Record(NamedTuple):
    """One execution of an instruction by the threads of ``mask``, (warps, 32).

    ``values`` are the registers that it writes, in the order of `writes`, each (warps, 32).
    """

    pc: int
    mask: NDArray[np.bool_]
    values: tuple[Array, ...]
    accesses: tuple[TracedAccess, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of the record."""
        return self.mask.nbytes + sum(x.nbytes for x in self.values) + sum(9 * x.mask.size for x in self.accesses)


@dataclass
class TraceRecorder:
    """A recorder of a launch that traces some of its blocks, by their index in the grid."""

    blocks: Collection[int]
    records: dict[int, list[Record]] = field(default_factory=dict)
    accesses: list[_Access] = field(default_factory=list)
    bytes: int = 0

    def begin(self) -> None:
        """Discard everything, because the launch starts again."""
        self.records = {x: [] for x in self.blocks}
        self.bytes = 0

    def memory(self, *arguments: Any) -> WaveMemory:
        """Make the memory of a wave of blocks."""
        return _TracedMemory(self, *arguments)

    def execution(
        self, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None
    ) -> WaveExecution:
        """Make the execution of a wave of blocks."""
        mine = [(g, int(x)) for g, x in enumerate(state.threads.blocks) if int(x) in self.blocks]
        if mine:
            blocks = {pc: _traced_block(self, mine, compiled, pc, x) for pc, x in compiled.basic_blocks.items()}
            compiled = replace(compiled, basic_blocks=blocks)
        return WaveExecution(compiled, state, deadline, order)

    def executed(
        self, mine: list[tuple[int, int]], state: State, pc: int, registers: tuple[int, ...], who: NDArray[np.bool_]
    ) -> None:
        """Note that threads, (blocks, warps, 32), have executed an instruction."""
        accesses, self.accesses = self.accesses, []
        for g, number in mine:
            if not who[g].any():
                continue
            found = [state.values[r] for r in registers]
            values = tuple(
                np.zeros(state.shape[1:], np.uint32) if x is None else np.array(np.broadcast_to(x, state.shape)[g])
                for x in found
            )
            own = tuple(_traced_access(x, state.threads, g) for x in accesses)
            record = Record(pc, np.array(who[g]), values, own)
            self.bytes += record.nbytes
            if self.bytes > MOST_BYTES:
                raise MemoryLimitError(f"the trace of the blocks of the element has more than {MOST_BYTES} bytes")
            self.records[number].append(record)


class _TracedMemory(WaveMemory):
    """The memory of one wave; its accesses are noted with the instruction that is being executed."""

    def __init__(self, recorder: TraceRecorder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recorder = recorder

    def resolve(
        self, instruction: PtxInstruction, space: str, addresses: Array, size: int, count: int, alignment: int,
        active: Active, *, write: bool, ordering: str,
    ) -> ResolvedAccess:  # fmt: skip
        """Resolve the bytes of an access, and note it."""
        found = super().resolve(
            instruction, space, addresses, size, count, alignment, active, write=write, ordering=ordering
        )
        self._recorder.accesses.append(_Access(found, write))
        return found

    def note_atomic_order(self, resolved: ResolvedAccess, turn: NDArray[np.int64] | None, before: Array) -> None:
        """Keep the order of the threads of an atomic operation, and the values that they found."""
        shape = self.threads.shape
        mask = np.broadcast_to(True if resolved.mask is None else resolved.mask, shape)
        rank, old = np.zeros(shape, np.int64), np.zeros(shape, before.dtype)
        places = np.arange(len(before)) if turn is None else turn
        for whole, values in ((rank, np.arange(len(before))), (old, before)):
            in_order = np.empty_like(values)
            in_order[places] = values
            whole[mask] = in_order
        self._recorder.accesses[-1].atomic_order = AtomicOrder(rank, old)


def _traced_access(access: _Access, threads: Threads, g: int) -> TracedAccess:
    found, order = access.resolved, access.atomic_order
    shape = np.broadcast_shapes(found.access.addresses.shape, threads.shape)
    mask = np.broadcast_to(True if found.mask is None else found.mask, shape)
    addresses = np.broadcast_to(found.access.addresses, shape)
    inner = (-1, *shape[-2:])
    return TracedAccess(
        found.space, access.is_write, np.array(addresses[..., g, :, :]).reshape(inner),
        np.array(mask[..., g, :, :]).reshape(inner), found.access.size, found.size,
        None if order is None else AtomicOrder(order.rank[g], order.before[g]),
    )  # fmt: skip


def _traced_block(
    recorder: TraceRecorder, mine: list[tuple[int, int]], compiled: CompiledProgram, pc: int, block: BasicBlock
) -> BasicBlock:
    """Make the instructions of a basic block report to the recorder."""
    instructions = compiled.program.instructions[pc : pc + block.length]
    body = tuple(
        _traced_step(recorder, mine, instruction, pc + i, step)
        for i, (instruction, step) in enumerate(zip(instructions, block.body, strict=False))
    )
    last = pc + block.length - 1
    if len(block.body) == block.length or not instructions or last not in compiled.synchronising:
        return block._replace(body=body)
    end = _traced_terminator(recorder, mine, instructions[-1], last, block.terminator)
    return block._replace(body=body, terminator=end)


def _traced_step(
    recorder: TraceRecorder, mine: list[tuple[int, int]], instruction: PtxInstruction, pc: int, step: Step
) -> Step:
    registers = writes(instruction)

    def traced(state: State, active: Active) -> None:
        who = executing_threads(state, instruction, active)
        recorder.accesses = []
        step(state, active)
        recorder.executed(mine, state, pc, registers, who)

    return traced


def _traced_terminator(
    recorder: TraceRecorder, mine: list[tuple[int, int]], instruction: PtxInstruction, pc: int, end: Terminator
) -> Terminator:
    """Trace an instruction that lanes execute together: those that came or waited, and do not wait any more."""
    registers = writes(instruction)

    def traced(execution: ControlState, active: Active) -> None:
        waited = execution.at_warp() & (execution.scheduler.pc == pc)
        who = executing_threads(execution.state, instruction, active) | waited
        recorder.accesses = []
        end(execution, active)
        recorder.executed(mine, execution.state, pc, registers, who & ~execution.at_warp())

    return traced
