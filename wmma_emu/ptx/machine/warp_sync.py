# SPDX-License-Identifier: MIT
"""Instructions that lanes execute together: each lane waits for those of its warp that take part."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.machine.barriers import is_aligned
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.lane_ranges import lanes_text, ranges
from wmma_emu.ptx.machine.scheduler import AT_WARP
from wmma_emu.ptx.machine.thread_states import states_of_threads
from wmma_emu.ptx.program.program import Operand, PtxInstruction
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active

_Mask = NDArray[np.bool_]

WHOLE_WARP = {
    "ldmatrix": "PTX ISA 9.1, ldmatrix: .aligned, all threads in the warp must execute the same instruction",
    "stmatrix": "PTX ISA 9.1, stmatrix: .aligned",
    "movmatrix": "PTX ISA 9.1, movmatrix: .aligned",
    "mma": "PTX ISA 9.1, mma: .aligned",
    "wmma": "PTX ISA 9.1, wmma: .aligned",
    "wgmma": "PTX ISA 9.1, wgmma.mma_async: .aligned, in all warps of the warpgroup",
    "setmaxnreg": "PTX ISA 9.1, setmaxnreg: .aligned, in all warps of the warpgroup",
}
"""Instructions that all lanes of a warp must execute, with the source of that rule."""

_NAMES_LANES = ("shfl", "vote", "match", "redux", "elect")
"""Instructions whose last operand is a membermask."""

_WARPGROUP = ("wgmma", "setmaxnreg")
"""Instructions that all warps of a warpgroup must execute."""

_WARPS_OF_A_GROUP = 4


def required_lanes(instruction: PtxInstruction) -> Operand | str | None:
    """Return the lanes that must execute an instruction together.

    That is the membermask; "all" if every lane of the warp must, "live" if every lane that has not exited must; None if
    each lane executes the instruction on its own.
    """
    if instruction.mnemonic in ("bar", "barrier") and not is_bar_warp(instruction):
        return "live" if is_aligned(instruction) else None
    if instruction.mnemonic in WHOLE_WARP:
        return "all"
    if "sync" not in instruction.modifiers or not instruction.operands:
        return None
    if instruction.mnemonic in _NAMES_LANES:
        return instruction.operands[-1]
    if is_bar_warp(instruction):
        return instruction.operands[0]
    return None


def is_bar_warp(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is ``bar.warp.sync``, rather than a barrier of the block."""
    return instruction.mnemonic == "bar" and instruction.modifiers[:1] == ("warp",)


class WarpSync(NamedTuple):
    """An instruction that lanes execute together, once all of them have arrived.

    ``act`` executes it and sends the threads on. ``members`` is the membermask; "all" if every lane must arrive, "live"
    if those that have not exited must. ``kind`` is the finding if lanes cannot arrive.
    """

    instruction: PtxInstruction
    act: Callable[[ControlState, Active], None]
    members: Operand | str
    pc: int
    kind: str = "partial warp"

    def __call__(self, execution: ControlState, active: Active) -> None:
        """Execute the instruction in the warps whose lanes have all arrived; the lanes of others wait."""
        state = execution.state
        if active is None and not (self._is_of_warpgroup and state.shape[1] % _WARPS_OF_A_GROUP):
            return self.act(execution, None)
        participants = np.broadcast_to(state.live if active is None else active, state.shape)
        if self._is_of_warpgroup and state.shape[1] % _WARPS_OF_A_GROUP:
            participants = self._skip_partial_warpgroup(execution, participants)
            if not participants.any():
                return None
        missing = self.missing(execution, participants)
        waits = participants & self._widen(execution, missing)  # of a warpgroup: where any of its warps lacks lanes
        if waits.any():
            if self.members == "live":
                execution.await_lanes(missing)
            execution.scheduler.wait(waits, AT_WARP, self.pc)
            execution.instructions -= int(np.count_nonzero(waits))  # counted when it is executed
            participants = participants & ~waits
            if not participants.any():
                return None
        return self._execute(
            execution, participants, state.live if (participants == state.live).all() else participants
        )

    def _skip_partial_warpgroup(self, execution: ControlState, participants: _Mask) -> _Mask:
        """Let the last warps of a block skip an instruction if they do not form a warpgroup; return the other lanes."""
        state = execution.state
        whole = state.shape[1] // _WARPS_OF_A_GROUP * _WARPS_OF_A_GROUP
        alone = participants & (np.arange(state.shape[1]) >= whole)[:, None]
        skips = self.instruction.mnemonic == "setmaxnreg" or "mma_async" in self.instruction.modifiers
        if not skips or not alone.any():
            return participants
        last = [*range(whole, state.shape[1])]
        note(
            state, self.instruction, self.kind, alone,
            f"the block has {state.shape[1]} warps, not a multiple of the warpgroup size, {_WARPS_OF_A_GROUP}: "
            f"{f'warp {last[0]} skips' if len(last) == 1 else f'warps {ranges(last)} skip'} this instruction",
        )  # fmt: skip
        execution.scheduler.jump(alone, self.pc + 1)
        return participants & ~alone

    def force_reconverge(self, execution: ControlState, participants: _Mask) -> None:
        """Execute the instruction although lanes are missing that cannot arrive: a finding, unless they have exited."""
        missing = self.missing(execution, participants)
        if missing.any():
            g = int(np.argmax(missing.any(axis=(1, 2))))
            first = missing[g] & (np.arange(len(missing[g])) == int(np.argmax(missing[g].any(axis=1))))[:, None]
            elsewhere = ", ".join(states_of_threads(execution, g, first))
            self._report(execution, participants, missing, f"blocked elsewhere: {elsewhere}")
        execution.instructions += int(np.count_nonzero(participants))
        self._execute(execution, participants, participants)

    def _execute(self, execution: ControlState, participants: _Mask, active: _Mask) -> None:
        if self.members == "all":
            absent = participants.any(axis=-1, keepdims=True) & ~execution.state.live
            if self._is_of_warpgroup:
                absent = self._widen(execution, participants) & ~execution.state.live
            if absent.any():
                self._report(execution, participants, absent, "exited, or not part of the block")
        elif self.members == "live":
            passed = execution.lanes_that_bypassed(participants)
            if passed.any():
                self._report(execution, participants, passed, "exited without reaching the barrier")
        self.act(execution, active)

    def missing(self, execution: ControlState, participants: _Mask) -> _Mask:
        """Return the live lanes that must take part and are not among the participants."""
        state = execution.state
        if isinstance(self.members, str):
            return np.asarray(self._widen(execution, participants) & state.live & ~participants)
        mask = np.where(participants, state.read(self.members, "u32"), np.uint32(0))
        named = np.bitwise_or.reduce(mask, axis=-1, keepdims=True)
        lanes = (named >> np.arange(LANES, dtype=np.uint32)) & np.uint32(1)
        return np.asarray((lanes != 0) & state.live & ~participants)

    def _widen(self, execution: ControlState, participants: _Mask) -> _Mask:
        """Return a mask of every lane of the warps, or warpgroups, that have a participant."""
        blocks, warps, lanes = execution.state.shape
        concerned: _Mask = np.asarray(participants.any(axis=-1, keepdims=True))
        if self._is_of_warpgroup:
            size = _WARPS_OF_A_GROUP
            padded = np.pad(concerned[..., 0], ((0, 0), (0, -warps % size))).reshape(blocks, -1, size)
            concerned = padded.any(axis=-1).repeat(size, axis=-1)[:, :warps, None]
        return np.broadcast_to(concerned, (blocks, warps, lanes))

    @property
    def _is_of_warpgroup(self) -> bool:
        return self.instruction.mnemonic in _WARPGROUP

    def _report(self, execution: ControlState, participants: _Mask, absent: _Mask, why: str) -> None:
        if not execution.state.findings.are_sought(self.kind):
            return
        threads = execution.state.threads
        g, w, _ = (int(x) for x in np.unravel_index(int(np.argmax(absent)), absent.shape))
        present, lacking = np.flatnonzero(participants[g, w]).tolist(), np.flatnonzero(absent[g, w]).tolist()
        arrived = f"only {lanes_text(present)} of warp {w}" if present else f"no lane of warp {w}"
        arrived += " arrives" if len(present) < 2 else " arrive"
        missing = f"{lanes_text(lacking)} {'is' if len(lacking) == 1 else 'are'} missing"
        block, thread, _ = threads.first(participants)
        execution.state.findings.add(
            self.kind,
            self.instruction,
            f"{arrived}; {missing} ({why})",
            block=block,
            thread=thread,
            count=int(np.count_nonzero(absent)),
        )
