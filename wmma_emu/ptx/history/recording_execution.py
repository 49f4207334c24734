# SPDX-License-Identifier: MIT
"""An execution that reports its synchronisation to a recorder: barriers, warps, fences, waits, exits."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import OF_CLUSTER
from wmma_emu.ptx.history.recorder import Recorder
from wmma_emu.ptx.machine.barriers import Barriers, DecodedBarrier
from wmma_emu.ptx.machine.compile import BasicBlock, CompiledProgram
from wmma_emu.ptx.machine.control import Terminator
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.limits import Deadline
from wmma_emu.ptx.machine.scheduler import AT_WARP, Scheduler
from wmma_emu.ptx.machine.warp_sync import is_bar_warp
from wmma_emu.ptx.machine.wave_execution import WaveExecution
from wmma_emu.ptx.orders import Order
from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.program import Immediate, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import Step
from wmma_emu.ptx.threads import Active


class RecordingBarriers(Barriers):
    """The barriers of some blocks; arrivals and completions are recorded."""

    def __init__(self, recorder: Recorder, state: State, positions: Scheduler) -> None:
        super().__init__(state, positions)
        self._recorder = recorder

    def arrive(self, form: DecodedBarrier, active: Active, pc: int) -> None:
        """Let the active threads arrive, and record it; if all threads meet at once, that is one event."""
        state = self._state
        number = np.broadcast_to(state.read(form.number, "u32"), state.shape)
        who = np.broadcast_to(state.live if active is None else active, state.shape)
        everyone = active is None and form.waits and form.threads is None and len(np.unique(number)) == 1
        for n in np.unique(number[who]).tolist():
            what = "meets" if everyone else "arrives"
            self._record(what, form, who & (number == n), int(n))
        super().arrive(form, active, pc)

    def complete(self) -> None:
        """Release the threads whose barrier is complete, and record it."""
        waited = self._number.copy()
        super().complete()
        gone = (waited >= 0) & (self._number < 0)
        for n in np.unique(waited[gone]).tolist():
            who = gone & (waited == n)
            self._record("continues", self._decoded[int(self._barrier_index[who][0])], who, int(n))

    def _record(self, what: str, form: DecodedBarrier, who: NDArray[np.bool_], n: int) -> None:
        name = "the barrier of the cluster" if n == OF_CLUSTER else f"barrier {n}"
        self._recorder.synchronised(self._state.threads, what, form.instruction, who, (name,))


class RecordingExecution(WaveExecution):
    """The threads of one wave; their synchronisation is recorded."""

    def __init__(
        self, recorder: Recorder, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None
    ) -> None:
        blocks = {pc: _recording_block(recorder, compiled, pc, x) for pc, x in compiled.basic_blocks.items()}
        super().__init__(replace(compiled, basic_blocks=blocks), state, deadline, order)
        self.recorder = recorder
        self.barriers = RecordingBarriers(recorder, state, self.scheduler)

    def exit(self, active: Active) -> None:
        """Let the active threads exit."""
        who = self.state.live if active is None else np.broadcast_to(active, self.state.shape)
        self.recorder.synchronised(self.state.threads, "exits", None, who)
        super().exit(active)

    def abort(self) -> None:
        """End the launch, because of a trap of the active threads, or of a deadlock."""
        if self.recorder.instruction is not None and self.recorder.instruction.mnemonic in ("trap", "call"):
            who = (
                self.state.live
                if self.recorder.active is None
                else np.broadcast_to(self.recorder.active, self.state.shape)
            )
            self.recorder.synchronised(self.state.threads, "gives up", None, who)
        super().abort()

    def _force_reconverge(self) -> None:
        state = self.state
        waiting = state.live & (self.scheduler.status == AT_WARP)
        if not waiting.any():
            self.recorder.synchronised(state.threads, "no way on", self._last_instruction(state.live), state.live)
            return super()._force_reconverge()
        before, lowest = waiting, int(self.scheduler.pc[waiting].min())
        self.recorder.instruction = self.program.instructions[lowest]
        super()._force_reconverge()
        gone = before & ~self.at_warp()
        instruction = self.program.instructions[lowest]
        self.recorder.synchronised(state.threads, "continues alone", instruction, gone, (instruction.opcode,))
        return None

    def _last_instruction(self, live: NDArray[np.bool_]) -> PtxInstruction:
        pc = int(self.scheduler.pc[live][0])
        return self.program.instructions[max(pc - 1, 0)]


def _recording_block(recorder: Recorder, compiled: CompiledProgram, pc: int, block: BasicBlock) -> BasicBlock:
    """Make the instructions of a basic block report to the recorder."""
    instructions = compiled.program.instructions[pc : pc + block.length]
    body = tuple(
        _recording_step(recorder, instruction, step)
        for instruction, step in zip(instructions, block.body, strict=False)
    )
    if len(block.body) == block.length or not instructions:
        return block._replace(body=body)
    last = instructions[-1]
    end = _recording_terminator(recorder, last, block.terminator)
    if pc + block.length - 1 in compiled.synchronising:
        end = _recording_warp_sync(recorder, last, end)
    return block._replace(body=body, terminator=end)


def _recording_terminator(recorder: Recorder, instruction: PtxInstruction, end: Terminator) -> Terminator:
    def recorded(execution: ControlState, active: Active) -> None:
        recorder.instruction, recorder.active = instruction, active
        if instruction.line == recorder.watch.line:
            who = executing_threads(execution.state, instruction, active)
            recorder.synchronised(execution.state.threads, "uses", instruction, who, (instruction.opcode,))
        end(execution, active)

    return recorded


def _recording_warp_sync(recorder: Recorder, instruction: PtxInstruction, end: Terminator) -> Terminator:
    """Record which lanes reach a warp-wide instruction, wait there, and continue."""
    group = _synchronisation_of(instruction) if instruction.mnemonic == "wgmma" else None
    if not (is_bar_warp(instruction) or group or recorder.watch.lanes):
        return end
    detail = instruction.opcode
    is_of_block = instruction.mnemonic in ("bar", "barrier") and not is_bar_warp(instruction)

    def recorded(execution: ControlState, active: Active) -> None:
        state, threads = execution.state, execution.state.threads
        waited = execution.at_warp()
        came = np.broadcast_to(state.live if active is None else active, state.shape) & ~waited
        if group is not None:
            recorder.synchronised(threads, group[0], instruction, came, (group[1],))
            return end(execution, active)
        end(execution, active)
        waits = execution.at_warp()
        stages = ("waits", came & waits), ("meets", came & ~waits), ("continues", waited & ~waits & state.live)
        for what, who in stages[:1] if is_of_block else stages:  # barriers of the block record their own stages
            for mask, mine in _by_mask(state, instruction, who):
                recorder.synchronised(threads, what, instruction, mine, (f"{detail} {mask}".strip(),))
        return None

    return recorded


def _by_mask(state: State, instruction: PtxInstruction, who: NDArray[np.bool_]) -> list[tuple[str, NDArray[np.bool_]]]:
    """Group the lanes at a ``bar.warp.sync`` by their membermask; at other instructions, all lanes are one group."""
    if not is_bar_warp(instruction) or not who.any():
        return [("", who)]
    masks = np.broadcast_to(state.read(instruction.operands[0], "u32"), state.shape)
    return [(f"{mask:#010x}", who & (masks == mask)) for mask in np.unique(masks[who]).tolist()]


def _recording_step(recorder: Recorder, instruction: PtxInstruction, step: Step) -> Step:
    """Record fences, commits and waits, the uses of the finding, and writes to the watched register."""
    register = recorder.watch.register
    if instruction.line == recorder.watch.line:
        return _recording_synchronisation(recorder, instruction, step, "uses", instruction.opcode)
    if register >= 0 and register in writes(instruction):
        return _recording_write(recorder, instruction, step, register)
    what = _synchronisation_of(instruction)
    return step if what is None else _recording_synchronisation(recorder, instruction, step, *what)


def _synchronisation_of(instruction: PtxInstruction) -> tuple[str, str] | None:
    """Return the event and the detail of an instruction that synchronises without accessing memory."""
    if instruction.mnemonic in ("membar", "fence"):
        return "fence", instruction.opcode
    if instruction.mnemonic in ("cp", "wgmma"):
        words = " ".join(instruction.modifiers)
        groups = next((str(x.value) for x in instruction.operands[:1] if isinstance(x, Immediate)), "")
        if "commit_group" in words:
            return "commits", instruction.opcode
        if "wait_group" in words or "wait_all" in words:
            return "waits for", f"{instruction.opcode} {groups}".strip()
        if instruction.mnemonic == "wgmma" and "fence" in words:
            return "fence", instruction.opcode
    return None


def _recording_synchronisation(
    recorder: Recorder, instruction: PtxInstruction, step: Step, what: str, detail: str
) -> Step:
    def recorded(state: State, active: Active) -> None:
        recorder.synchronised(
            state.threads, what, instruction, executing_threads(state, instruction, active), (detail,)
        )
        step(state, active)

    return recorded


def _recording_write(recorder: Recorder, instruction: PtxInstruction, step: Step, register: int) -> Step:
    def recorded(state: State, active: Active) -> None:
        who = executing_threads(state, instruction, active)
        step(state, active)
        value = state.values[register]
        if value is not None:
            recorder.register(state.threads, instruction, value, value.dtype.itemsize, who)

    return recorded


def executing_threads(state: State, instruction: PtxInstruction, active: Active) -> NDArray[np.bool_]:
    """Return the threads that execute a guarded instruction, without checking whether the guard is initialised."""
    who = np.broadcast_to(state.live if active is None else active, state.shape)
    if instruction.guard is None:
        return who
    return np.asarray(who & state.read(instruction.guard, "pred"))
