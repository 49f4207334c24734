# SPDX-License-Identifier: MIT
"""``bar.warp.sync``: lanes of a warp wait for each other, each at any instruction of this kind."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.lane_ranges import lanes_text
from wmma_emu.ptx.machine.scheduler import AT_WARP
from wmma_emu.ptx.machine.thread_states import states_of_threads
from wmma_emu.ptx.program.program import Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import LANE, lanes_giving_equal_masks, note
from wmma_emu.ptx.threads import Active
from wmma_emu.warp.lane_words import FULL, has_bit, word_of

_Mask = NDArray[np.bool_]
_Words = NDArray[np.uint32]


class _Arrivals(NamedTuple):
    """The lanes at barriers of their warps, and the membermask that each gives: (blocks, warps, 32)."""

    lanes: _Mask
    masks: _Words


class WarpBarrier(NamedTuple):
    """One ``bar.warp.sync``.

    A lane continues when all lanes in its membermask that have not exited are at a barrier of the warp with the same
    membermask (PTX ISA 9.1, bar.warp.sync; CUDA C++ Programming Guide, __syncwarp): at this one, or at one in another
    branch.
    """

    instruction: PtxInstruction
    membermask: Operand
    pc: int

    def __call__(self, execution: ControlState, active: Active) -> None:
        """Let the active lanes arrive, and let those continue whose lanes have all arrived."""
        state = execution.state
        state.require_defined(self.instruction, self.membermask, active, "the membermask")
        masks = state.read(self.membermask, "u32")
        participants = np.broadcast_to(state.live if active is None else active, state.shape)
        if masks.size == 1 and masks.item() == FULL and _are_whole(participants, state.live):
            state.causality.meet_lanes(active, masks, state.live)
            return execution.scheduler.jump(active, self.pc + 1)
        arrived = self._arrivals(execution, participants, masks)
        agree = lanes_giving_equal_masks(arrived.masks, arrived.lanes)
        done = arrived.lanes & (arrived.masks & word_of(state.live) & ~agree == 0)
        done |= self._outside_own_mask(state, participants, arrived) | self._with_other_masks(
            state, participants, arrived, agree
        )
        state.causality.meet_lanes(done, arrived.masks, state.live)
        waits = participants & ~done
        self._release(execution, done & ~participants)
        if waits.any():
            execution.scheduler.jump(participants & done, self.pc + 1)
            execution.scheduler.wait(waits, AT_WARP, self.pc)
            execution.instructions -= int(np.count_nonzero(waits))  # counted when it is executed
        else:
            execution.scheduler.jump(active, self.pc + 1)
        return None

    def force_reconverge(self, execution: ControlState, participants: _Mask) -> None:
        """Let lanes continue although other lanes cannot arrive: a finding, unless those have exited."""
        state = execution.state
        missing = self.missing(execution, participants)
        if missing.any() and state.findings.are_sought("partial warp"):
            g, w, _ = (int(x) for x in np.unravel_index(int(np.argmax(missing)), missing.shape))
            present, absent = np.zeros_like(participants), np.zeros_like(participants)
            present[g, w], absent[g, w] = participants[g, w], missing[g, w]
            block, thread, _ = state.threads.first(present)
            mask = int(np.broadcast_to(state.read(self.membermask, "u32"), state.shape)[present][0])
            state.findings.add(
                "partial warp",
                self.instruction,
                lambda: f"{lanes_text(np.flatnonzero(present[g, w]).tolist())} of warp {w} "
                f"wait{'s' if np.count_nonzero(present) == 1 else ''} with the membermask {mask:#010x} for "
                f"{lanes_text(np.flatnonzero(absent[g, w]).tolist())}, which cannot arrive: "
                f"{', '.join(states_of_threads(execution, g, absent[g]))}",
                block=block, thread=thread, count=int(np.count_nonzero(missing)),
            )  # fmt: skip
        state.causality.meet_lanes(participants, state.read(self.membermask, "u32"), state.live)
        execution.instructions += int(np.count_nonzero(participants))
        execution.scheduler.jump(participants, self.pc + 1)

    def missing(self, execution: ControlState, participants: _Mask) -> _Mask:
        """Return the live lanes that these lanes wait for: those at no barrier with the same membermask."""
        state = execution.state
        arrived = self._arrivals(execution, participants, state.read(self.membermask, "u32"))
        equal = lanes_giving_equal_masks(arrived.masks, arrived.lanes)
        lacking = np.where(participants, arrived.masks & ~equal, np.uint32(0))
        return state.live & has_bit(np.bitwise_or.reduce(lacking, axis=-1, keepdims=True), LANE)

    def _arrivals(self, execution: ControlState, participants: _Mask, masks: _Words) -> _Arrivals:
        """Collect the lanes at barriers of the warps to which some lanes belong."""
        state, scheduler = execution.state, execution.scheduler
        given = np.where(participants, masks, np.uint32(0))
        lanes = participants.copy()
        if scheduler.converged_pc is not None:
            return _Arrivals(lanes, given)
        waiting = state.live & (scheduler.status == AT_WARP) & participants.any(axis=-1, keepdims=True) & ~participants
        for pc in np.unique(scheduler.pc[waiting]).tolist():
            other = execution.synchronising[pc]
            if isinstance(other, WarpBarrier):
                at_barrier = waiting & (scheduler.pc == pc)
                given = np.where(at_barrier, state.read(other.membermask, "u32"), given)
                lanes |= at_barrier
        return _Arrivals(lanes, given)

    def _outside_own_mask(self, state: State, participants: _Mask, arrived: _Arrivals) -> _Mask:
        """Return the lanes that their own membermask does not include: they wait for no lane."""
        outside = participants & ~has_bit(arrived.masks, LANE)
        note(
            state, self.instruction, "illegal operand", outside,
            lambda g, w, lane: f"lane {lane} executes this instruction, but its membermask, "
            f"{int(arrived.masks[g, w, lane]):#010x}, does not include it",
        )  # fmt: skip
        return outside

    def _with_other_masks(self, state: State, participants: _Mask, arrived: _Arrivals, agree: _Words) -> _Mask:
        """Return the lanes that wait for each other with different membermasks, which no later arrival can fix."""
        masks = arrived.masks
        odd: _Mask = np.zeros(participants.shape, np.bool_)
        others = masks & word_of(arrived.lanes) & ~agree  # lanes in the mask that arrived with another mask
        warps = np.nonzero((others != 0).any(axis=-1))
        if not len(warps[0]):
            return odd
        names = has_bit(others[warps][..., None], LANE[0])
        both = word_of(names & np.swapaxes(names, -1, -2))
        odd[warps] = both[..., 0] != 0
        if odd.any():
            partner = np.zeros(participants.shape, np.int64)
            partner[warps] = np.bitwise_count((both & ~both + np.uint32(1)) - np.uint32(1))[..., 0]
            note(
                state, self.instruction, "illegal operand", odd & participants if (odd & participants).any() else odd,
                lambda g, w, lane: f"lane {lane} waits with the membermask {int(masks[g, w, lane]):#010x} for lane "
                f"{partner[g, w, lane]}, which waits for it with {int(masks[g, w, partner[g, w, lane]]):#010x}: "
                "both must give the same membermask",
            )  # fmt: skip
        return odd

    def _release(self, execution: ControlState, done: _Mask) -> None:
        """Let lanes continue that waited at other barriers of their warp."""
        if not done.any():
            return
        scheduler = execution.scheduler
        for pc in np.unique(scheduler.pc[done]).tolist():
            scheduler.jump(done & (scheduler.pc == pc), pc + 1)
        execution.instructions += int(np.count_nonzero(done))


def _are_whole(participants: _Mask, live: _Mask) -> bool:
    """Return whether all live lanes of the warps to which some lanes belong are among these lanes."""
    return participants is live or bool((participants == (live & participants.any(axis=-1, keepdims=True))).all())
