# SPDX-License-Identifier: MIT
"""Calls of a Python kernel, executed as instructions of the PTX machine by the warps that make them."""

from collections.abc import Collection, Sequence
from functools import cached_property, partial

import numpy as np

from wmma_emu.instructions import Arch
from wmma_emu.kernels.machine_operands import OPERANDS, REGISTERS
from wmma_emu.kernels.mapped_arrays import MappedArrays
from wmma_emu.kernels.trace import MachineCall, Place
from wmma_emu.ptx.asynchrony import LATE
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.findings import Diagnosis, Sightings
from wmma_emu.ptx.machine.mbarrier_table import (
    mbarrier_table,
    remedy_of_deadlock,
    report_bytes_left,
    report_skipped_phases,
    report_wrong_parities,
)
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import BoundStep, CompileContext, Step
from wmma_emu.ptx.steps.table import MACHINE_STEPS
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits

_REGISTERS = KernelProgram("", (), 0, REGISTERS, (), (), 0, None, 0, None, None, ())

ELECTED_LANE = 0
"""The lane that issues what one thread of a warp issues: the lowest one, see ``elect.sync``."""

Calls = Sequence[tuple[int, int, MachineCall]]
"""Calls at one position of the source: each with the block of the wave and the warp."""


class CallMachine:
    """The registers of the warps of a wave, and the steps of their calls.

    Copies are as late as the program allows: those that complete transactions of an mbarrier arrive in `arrive`, and
    those of bulk groups when a warp waits for the group, or in `finish`.
    """

    def __init__(
        self, memory: WaveMemory, order: CausalityOrder, arch: Arch, findings: Sightings, arrays: MappedArrays,
        checks: frozenset[str],
    ) -> None:  # fmt: skip
        self._make_state = partial(
            State, _REGISTERS, arch, memory.threads, order, memory, findings, checks=checks
        )  # fmt: skip
        self._arrays, self._context = arrays, CompileContext(_REGISTERS, arch)
        self._steps: dict[int, tuple[PtxInstruction, Step]] = {}
        memory.asynchrony = LATE

    @cached_property
    def state(self) -> State:
        """The registers and the memory; most kernels have no calls, and need none."""
        return self._make_state()

    def arrive(self, g: int, barriers: Collection[Place]) -> bool:
        """Let the copies of some mbarriers of a block arrive, in the order of issue; return whether there are any."""
        if not barriers or not self.state.memory.mbarriers.late:
            return False
        memory = self.state.memory
        awaited, block = memory.mbarriers.awaited, np.arange(self.state.shape[0]) == g
        awaited[...] = -1
        awaited[g].flat[: len(barriers)] = [self._arrays.value(x) + g * memory.shared.stride for x in barriers]
        any_arrived = memory.mbarriers.complete_late(block, awaited_only=True)
        awaited[...] = -1
        return any_arrived

    def finish(self) -> None:
        """Complete the copies for which no warp has waited, when all warps have returned; report what phases lack."""
        if "state" in self.__dict__:
            memory = self.state.memory
            memory.bulk_groups.finish()
            memory.mbarriers.complete_late(np.ones(self.state.shape[0], np.bool_), awaited_only=False)
            report_bytes_left(self.state)
            report_wrong_parities(self.state)
            memory.finish()

    def explain_deadlock(self) -> Diagnosis | None:
        """Report phases left out in a deadlock; return the table of mbarriers and a remedy, if there are any."""
        if "state" not in self.__dict__ or not self.state.memory.mbarriers.records:
            return None
        report_skipped_phases(self.state)
        return Diagnosis((mbarrier_table(self.state),), remedy_of_deadlock(self.state))

    def run(self, calls: Calls) -> Array:
        """Execute the calls; return the predicates that waits write, (blocks, warps, 32)."""
        state, (_, _, first) = self.state, calls[0]
        g, w = (np.array(x) for x in ([g for g, _, _ in calls], [w for _, w, _ in calls]))
        for i, (name, _) in enumerate(first.values):
            register = OPERANDS[name]
            bits = bits_of_type(register.type)
            words = np.zeros(state.shape, dtype_of_bits(bits))
            found = [self._arrays.value(call.values[i][1]) % (1 << bits) for _, _, call in calls]
            words[g, w] = np.array(found, words.dtype)[:, None]
            state.put(register.index, words, None)
        active = np.zeros(state.shape, np.bool_)
        active[g, w, slice(None) if first.by_all else ELECTED_LANE] = True
        self._step(first.instruction)(state, active)
        done = state.values[OPERANDS["done"].index]
        return np.broadcast_to(False if done is None else done, state.shape)

    def _step(self, instruction: PtxInstruction) -> Step:
        found = self._steps.get(id(instruction))
        if found is None:
            built = MACHINE_STEPS[instruction.mnemonic](instruction, self._context)
            step = built.step if isinstance(built, BoundStep) else built
            found = self._steps[id(instruction)] = instruction, step
        return found[1]
