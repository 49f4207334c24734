# SPDX-License-Identifier: MIT
"""An execution that tells a recorder how its threads synchronise: barriers, warps, fences, waits, exits."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import OF_CLUSTER
from wmma_emu.ptx.history.recorder import Recorder
from wmma_emu.ptx.machine.barriers import BarrierForm, Barriers
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


class WatchedBarriers(Barriers):
    """The barriers of some blocks, whose arrivals are noted, and when they let threads go on."""

    def __init__(self, recorder: Recorder, state: State, positions: Scheduler) -> None:
        super().__init__(state, positions)
        self._recorder = recorder

    def arrive(self, form: BarrierForm, active: Active, pc: int) -> None:
        """Let the active threads arrive, and note it; those who all meet at once are noted when they go on."""
        state = self._state
        number = np.broadcast_to(state.read(form.number, "u32"), state.shape)
        who = np.broadcast_to(state.live if active is None else active, state.shape)
        everyone = active is None and form.waits and form.threads is None and len(np.unique(number)) == 1
        for n in np.unique(number[who]).tolist():
            what = "meets" if everyone else "arrives"
            self._tell(what, form, who & (number == n), int(n))
        super().arrive(form, active, pc)

    def complete(self) -> None:
        """Let the threads go on whose barrier has all that it waits for, and note it."""
        waited = self._number.copy()
        super().complete()
        gone = (waited >= 0) & (self._number < 0)
        for n in np.unique(waited[gone]).tolist():
            who = gone & (waited == n)
            self._tell("goes on", self._forms[int(self._form[who][0])], who, int(n))

    def _tell(self, what: str, form: BarrierForm, who: NDArray[np.bool_], n: int) -> None:
        name = "the barrier of the cluster" if n == OF_CLUSTER else f"barrier {n}"
        self._recorder.synchronised(self._state.threads, what, form.instruction, who, (name,))


class WatchedExecution(WaveExecution):
    """The threads of a chunk, whose synchronisation is noted."""

    def __init__(
        self, recorder: Recorder, compiled: CompiledProgram, state: State, deadline: Deadline, order: Order | None
    ) -> None:
        fragments = {pc: _watched(recorder, compiled, pc, x) for pc, x in compiled.basic_blocks.items()}
        super().__init__(replace(compiled, basic_blocks=fragments), state, deadline, order)
        self.recorder = recorder
        self.barriers = WatchedBarriers(recorder, state, self.scheduler)

    def exit(self, active: Active) -> None:
        """Let the active threads exit."""
        who = self.state.live if active is None else np.broadcast_to(active, self.state.shape)
        self.recorder.synchronised(self.state.threads, "exits", None, who)
        super().exit(active)

    def abort(self) -> None:
        """End the launch, by a trap of the threads that came here, or in a deadlock."""
        if self.recorder.here is not None and self.recorder.here.mnemonic in ("trap", "call"):
            who = self.state.live if self.recorder.who is None else np.broadcast_to(self.recorder.who, self.state.shape)
            self.recorder.synchronised(self.state.threads, "gives up", None, who)
        super().abort()

    def _force_reconverge(self) -> None:
        state = self.state
        waiting = state.live & (self.scheduler.status == AT_WARP)
        if not waiting.any():
            self.recorder.synchronised(state.threads, "no way on", self._place(state.live), state.live)
            return super()._force_reconverge()
        before, lowest = waiting, int(self.scheduler.pc[waiting].min())
        self.recorder.here = self.program.instructions[lowest]
        super()._force_reconverge()
        gone = before & ~self.at_warp()
        instruction = self.program.instructions[lowest]
        self.recorder.synchronised(state.threads, "goes on alone", instruction, gone, (instruction.opcode,))
        return None

    def _place(self, live: NDArray[np.bool_]) -> PtxInstruction:
        pc = int(self.scheduler.pc[live][0])
        return self.program.instructions[max(pc - 1, 0)]

    def at_warp(self) -> NDArray[np.bool_]:
        """Say which threads wait for lanes of their warp."""
        if self.scheduler.converged_pc is not None:
            return np.zeros(self.state.shape, np.bool_)
        return np.asarray(self.state.live & (self.scheduler.status == AT_WARP))


def _watched(recorder: Recorder, compiled: CompiledProgram, pc: int, fragment: BasicBlock) -> BasicBlock:
    """Let the instructions of a fragment tell the recorder what they do."""
    instructions = compiled.program.instructions[pc : pc + fragment.length]
    body = tuple(
        _watched_step(recorder, instruction, step)
        for instruction, step in zip(instructions, fragment.body, strict=False)
    )
    if len(fragment.body) == fragment.length or not instructions:
        return fragment._replace(body=body)
    last = instructions[-1]
    end = _telling(recorder, last, fragment.terminator)
    if pc + fragment.length - 1 in compiled.synchronising:
        end = _of_warps(recorder, last, end)
    return fragment._replace(body=body, terminator=end)


def _telling(recorder: Recorder, instruction: PtxInstruction, end: Terminator) -> Terminator:
    def told(execution: ControlState, active: Active) -> None:
        recorder.here, recorder.who = instruction, active
        if instruction.line == recorder.watch.line:
            who = _whose(execution.state, instruction, active)
            recorder.synchronised(execution.state.threads, "uses", instruction, who, (instruction.opcode,))
        end(execution, active)

    return told


def _of_warps(recorder: Recorder, instruction: PtxInstruction, end: Terminator) -> Terminator:
    """Note which lanes come to an instruction of their warp, wait there, and go on."""
    group = _what(instruction) if instruction.mnemonic == "wgmma" else None
    if not (is_bar_warp(instruction) or group or recorder.watch.lanes):
        return end
    detail = instruction.opcode
    is_of_block = instruction.mnemonic in ("bar", "barrier") and not is_bar_warp(instruction)

    def told(execution: ControlState, active: Active) -> None:
        state, threads = execution.state, execution.state.threads
        if not isinstance(execution, WatchedExecution):
            return end(execution, active)
        waited = execution.at_warp()
        came = np.broadcast_to(state.live if active is None else active, state.shape) & ~waited
        if group is not None:
            recorder.synchronised(threads, group[0], instruction, came, (group[1],))
            return end(execution, active)
        end(execution, active)
        waits = execution.at_warp()
        stages = ("waits", came & waits), ("meets", came & ~waits), ("goes on", waited & ~waits & state.live)
        for what, who in stages[:1] if is_of_block else stages:  # barriers of the block tell the rest themselves
            for mask, mine in _by_mask(state, instruction, who):
                recorder.synchronised(threads, what, instruction, mine, (f"{detail} {mask}".strip(),))
        return None

    return told


def _by_mask(state: State, instruction: PtxInstruction, who: NDArray[np.bool_]) -> list[tuple[str, NDArray[np.bool_]]]:
    """Sort the lanes at a ``bar.warp.sync`` by the membermask that they give; those of others are together."""
    if not is_bar_warp(instruction) or not who.any():
        return [("", who)]
    masks = np.broadcast_to(state.read(instruction.operands[0], "u32"), state.shape)
    return [(f"{mask:#010x}", who & (masks == mask)) for mask in np.unique(masks[who]).tolist()]


def _watched_step(recorder: Recorder, instruction: PtxInstruction, step: Step) -> Step:
    """Note a fence, or what is said to copies; and who writes the register that is watched."""
    register = recorder.watch.register
    if instruction.line == recorder.watch.line:
        return _synchronising(recorder, instruction, step, "uses", instruction.opcode)
    if register >= 0 and register in writes(instruction):
        return _writing(recorder, instruction, step, register)
    what = _what(instruction)
    return step if what is None else _synchronising(recorder, instruction, step, *what)


def _what(instruction: PtxInstruction) -> tuple[str, str] | None:
    """Say what an instruction does that synchronises and accesses no memory."""
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


def _synchronising(recorder: Recorder, instruction: PtxInstruction, step: Step, what: str, detail: str) -> Step:
    def told(state: State, active: Active) -> None:
        recorder.synchronised(state.threads, what, instruction, _whose(state, instruction, active), (detail,))
        step(state, active)

    return told


def _writing(recorder: Recorder, instruction: PtxInstruction, step: Step, register: int) -> Step:
    def told(state: State, active: Active) -> None:
        who = _whose(state, instruction, active)
        step(state, active)
        value = state.values[register]
        if value is not None:
            recorder.register(state.threads, instruction, value, value.dtype.itemsize, who)

    return told


def _whose(state: State, instruction: PtxInstruction, active: Active) -> NDArray[np.bool_]:
    """Find the threads that execute a guarded instruction, without a judgement of the guard."""
    who = np.broadcast_to(state.live if active is None else active, state.shape)
    if instruction.guard is None:
        return who
    return np.asarray(who & state.read(instruction.guard, "pred"))
