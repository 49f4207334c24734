# SPDX-License-Identifier: MIT
"""Instructions that lanes execute together: each waits for those of its warp that take part."""

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
"""Instructions that all lanes of a warp execute, and where that is said."""

_NAMES_LANES = ("shfl", "vote", "match", "redux", "elect")
"""Instructions whose last operand is a membermask."""

_WARPGROUP = ("wgmma",)

_WARPS_OF_A_GROUP = 4


def takes_part(instruction: PtxInstruction) -> Operand | str | None:
    """Tell who takes part in an instruction of a warp.

    That is the membermask; "all" where every lane of the warp has to, "live" where those do that have not exited; None
    where the instruction is none of a warp.
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
    """Tell ``bar.warp.sync`` from the barriers of a block."""
    return instruction.mnemonic == "bar" and instruction.modifiers[:1] == ("warp",)


class WarpSync(NamedTuple):
    """One such instruction, with what executes it, and sends the threads on, once the lanes are there.

    ``members`` is the membermask; "all" where every lane has to be there, "live" where those count that have not
    exited. ``kind`` is the finding if they cannot come.
    """

    instruction: PtxInstruction
    act: Callable[[ControlState, Active], None]
    members: Operand | str
    pc: int
    kind: str = "partial warp"

    def __call__(self, execution: ControlState, active: Active) -> None:
        """Execute it in the warps whose lanes are all there; the lanes of others wait."""
        state = execution.state
        if active is None and not (self._is_of_warpgroup and state.shape[1] % _WARPS_OF_A_GROUP):
            return self.act(execution, None)
        who = np.broadcast_to(state.live if active is None else active, state.shape)
        if self._is_of_warpgroup and state.shape[1] % _WARPS_OF_A_GROUP:
            who = self._leave_out(execution, who)
            if not who.any():
                return None
        missing = self.missing(execution, who)
        waits = who & self._widen(execution, missing)  # of a warpgroup: where any of its warps lacks lanes
        if waits.any():
            if self.members == "live":
                execution.await_lanes(missing)
            execution.scheduler.wait(waits, AT_WARP, self.pc)
            execution.instructions -= int(np.count_nonzero(waits))  # counted when it is executed
            who = who & ~waits
            if not who.any():
                return None
        return self._execute(execution, who, state.live if (who == state.live).all() else who)

    def _leave_out(self, execution: ControlState, who: _Mask) -> _Mask:
        """Let the last warps of a block pass by a product if they are no whole warpgroup; return who is left."""
        state = execution.state
        whole = state.shape[1] // _WARPS_OF_A_GROUP * _WARPS_OF_A_GROUP
        alone = who & (np.arange(state.shape[1]) >= whole)[:, None]
        if "mma_async" not in self.instruction.modifiers or not alone.any():
            return who
        note(
            state, self.instruction, self.kind, alone,
            f"warps {ranges([*range(whole, state.shape[1])])} are the last of their block, and no warpgroup, which is "
            f"{_WARPS_OF_A_GROUP} warps: they compute nothing here",
        )  # fmt: skip
        execution.scheduler.jump(alone, self.pc + 1)
        return who & ~alone

    def force_reconverge(self, execution: ControlState, who: _Mask) -> None:
        """Execute it although lanes are missing that cannot come: a finding, unless they have exited."""
        missing = self.missing(execution, who)
        if missing.any():
            g = int(np.argmax(missing.any(axis=(1, 2))))
            first = missing[g] & (np.arange(len(missing[g])) == int(np.argmax(missing[g].any(axis=1))))[:, None]
            there = ", ".join(states_of_threads(execution, g, first))
            verb = "is" if np.count_nonzero(first) == 1 else "are"
            self._report(execution, who, missing, f"which {verb} blocked elsewhere and cannot arrive: {there}")
        execution.instructions += int(np.count_nonzero(who))
        self._execute(execution, who, who)

    def _execute(self, execution: ControlState, who: _Mask, active: _Mask) -> None:
        if self.members == "all":
            absent = who.any(axis=-1, keepdims=True) & ~execution.state.live
            if self._is_of_warpgroup:
                absent = self._widen(execution, who) & ~execution.state.live
            if absent.any():
                self._report(execution, who, absent, "which have exited or do not exist")
        elif self.members == "live":
            passed = execution.lanes_that_passed_by(who)
            if passed.any():
                self._report(execution, who, passed, "which bypassed the barrier and have exited")
        self.act(execution, active)

    def missing(self, execution: ControlState, who: _Mask) -> _Mask:
        """Find the live lanes that have to take part, beside those that are there."""
        state = execution.state
        if isinstance(self.members, str):
            return np.asarray(self._widen(execution, who) & state.live & ~who)
        mask = np.where(who, state.read(self.members, "u32"), np.uint32(0))
        named = np.bitwise_or.reduce(mask, axis=-1, keepdims=True)
        lanes = (named >> np.arange(LANES, dtype=np.uint32)) & np.uint32(1)
        return np.asarray((lanes != 0) & state.live & ~who)

    def _widen(self, execution: ControlState, who: _Mask) -> _Mask:
        """Mark every lane of the warps, or of the warpgroups, that are concerned."""
        blocks, warps, lanes = execution.state.shape
        concerned: _Mask = np.asarray(who.any(axis=-1, keepdims=True))
        if self._is_of_warpgroup:
            size = _WARPS_OF_A_GROUP
            padded = np.pad(concerned[..., 0], ((0, 0), (0, -warps % size))).reshape(blocks, -1, size)
            concerned = padded.any(axis=-1).repeat(size, axis=-1)[:, :warps, None]
        return np.broadcast_to(concerned, (blocks, warps, lanes))

    @property
    def _is_of_warpgroup(self) -> bool:
        return self.instruction.mnemonic in _WARPGROUP

    def _report(self, execution: ControlState, who: _Mask, absent: _Mask, why: str) -> None:
        if not execution.state.findings.are_sought(self.kind):
            return
        threads = execution.state.threads
        g, w, _ = (int(x) for x in np.unravel_index(int(np.argmax(absent)), absent.shape))
        here = np.flatnonzero(who[g, w]).tolist()
        there, lacking = lanes_text(here), lanes_text(np.flatnonzero(absent[g, w]).tolist())
        verb = "is" if len(here) == 1 else "are"
        block, thread, _ = threads.first(who)
        execution.state.findings.add(
            self.kind,
            self.instruction,
            f"only {there} of warp {w} {verb} here, without {lacking}, {why}"
            if here
            else f"no lane of warp {w} is here: it lacks {lacking}, {why}",
            block=block,
            thread=thread,
            count=int(np.count_nonzero(absent)),
        )
