# SPDX-License-Identifier: MIT
"""``bar.warp.sync``: lanes of a warp that wait for each other, at whichever of these instructions each of them is."""

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
    """The lanes that are at barriers of their warps, and the membermask that each gives: (blocks, warps, 32)."""

    lanes: _Mask
    masks: _Words


class WarpBarrier(NamedTuple):
    """One ``bar.warp.sync``.

    A lane goes on when all lanes that its membermask names, and that have not exited, have come to a barrier of the
    warp with the same membermask (PTX ISA 9.1, bar.warp.sync; CUDA C++ Programming Guide, __syncwarp): to this one or
    to another one, in another branch.
    """

    instruction: PtxInstruction
    membermask: Operand
    pc: int

    def __call__(self, execution: ControlState, active: Active) -> None:
        """Let the active lanes arrive, and those go on whose lanes are all there."""
        state = execution.state
        state.require_defined(self.instruction, self.membermask, active, "the membermask")
        masks = state.read(self.membermask, "u32")
        who = np.broadcast_to(state.live if active is None else active, state.shape)
        if masks.size == 1 and masks.item() == FULL and _are_whole(who, state.live):
            state.causality.meet_lanes(active, masks, state.live)
            return execution.scheduler.jump(active, self.pc + 1)
        arrived = self._arrivals(execution, who, masks)
        agree = lanes_giving_equal_masks(arrived.masks, arrived.lanes)
        done = arrived.lanes & (arrived.masks & word_of(state.live) & ~agree == 0)
        done |= self._outside(state, who, arrived) | self._at_odds(state, who, arrived, agree)
        state.causality.meet_lanes(done, arrived.masks, state.live)
        waits = who & ~done
        self._release(execution, done & ~who)
        if waits.any():
            execution.scheduler.jump(who & done, self.pc + 1)
            execution.scheduler.wait(waits, AT_WARP, self.pc)
            execution.instructions -= int(np.count_nonzero(waits))  # counted when it is executed
        else:
            execution.scheduler.jump(active, self.pc + 1)
        return None

    def force_reconverge(self, execution: ControlState, who: _Mask) -> None:
        """Let lanes go on although others are missing that cannot come: a finding, unless those have exited."""
        state = execution.state
        missing = self.missing(execution, who)
        if missing.any() and state.findings.are_sought("partial warp"):
            g, w, _ = (int(x) for x in np.unravel_index(int(np.argmax(missing)), missing.shape))
            here, absent = np.zeros_like(who), np.zeros_like(who)
            here[g, w], absent[g, w] = who[g, w], missing[g, w]
            block, thread, _ = state.threads.first(here)
            mask = int(np.broadcast_to(state.read(self.membermask, "u32"), state.shape)[here][0])
            state.findings.add(
                "partial warp",
                self.instruction,
                lambda: f"{lanes_text(np.flatnonzero(here[g, w]).tolist())} of warp {w} "
                f"wait{'s' if np.count_nonzero(here) == 1 else ''} here with the membermask {mask:#010x}, and without "
                f"{lanes_text(np.flatnonzero(absent[g, w]).tolist())}, which cannot arrive: "
                f"{', '.join(states_of_threads(execution, g, absent[g]))}",
                block=block, thread=thread, count=int(np.count_nonzero(missing)),
            )  # fmt: skip
        state.causality.meet_lanes(who, state.read(self.membermask, "u32"), state.live)
        execution.instructions += int(np.count_nonzero(who))
        execution.scheduler.jump(who, self.pc + 1)

    def missing(self, execution: ControlState, who: _Mask) -> _Mask:
        """Find the lanes that some lanes wait for here: live ones that are at no barrier with the same membermask."""
        state = execution.state
        arrived = self._arrivals(execution, who, state.read(self.membermask, "u32"))
        lacking = np.where(who, arrived.masks & ~lanes_giving_equal_masks(arrived.masks, arrived.lanes), np.uint32(0))
        return state.live & has_bit(np.bitwise_or.reduce(lacking, axis=-1, keepdims=True), LANE)

    def _arrivals(self, execution: ControlState, who: _Mask, masks: _Words) -> _Arrivals:
        """Collect who is at barriers of the warps that some lanes are of."""
        state, positions = execution.state, execution.scheduler
        given = np.where(who, masks, np.uint32(0))
        lanes = who.copy()
        if positions.converged_pc is not None:
            return _Arrivals(lanes, given)
        waiting = state.live & (positions.status == AT_WARP) & who.any(axis=-1, keepdims=True) & ~who
        for pc in np.unique(positions.pc[waiting]).tolist():
            other = execution.synchronising[pc]
            if isinstance(other, WarpBarrier):
                there = waiting & (positions.pc == pc)
                given = np.where(there, state.read(other.membermask, "u32"), given)
                lanes |= there
        return _Arrivals(lanes, given)

    def _outside(self, state: State, who: _Mask, arrived: _Arrivals) -> _Mask:
        """Find lanes that their own membermask leaves out: they wait for nobody."""
        outside = who & ~has_bit(arrived.masks, LANE)
        note(
            state, self.instruction, "illegal operand", outside,
            lambda g, w, lane: f"lane {lane} executes this, but the membermask that it gives, "
            f"{int(arrived.masks[g, w, lane]):#010x}, leaves it out",
        )  # fmt: skip
        return outside

    def _at_odds(self, state: State, who: _Mask, arrived: _Arrivals, agree: _Words) -> _Mask:
        """Find lanes that wait for each other with different membermasks, which no later arrival can mend."""
        masks = arrived.masks
        odd: _Mask = np.zeros(who.shape, np.bool_)
        others = masks & word_of(arrived.lanes) & ~agree  # whom a lane names that is here with another membermask
        warps = np.nonzero((others != 0).any(axis=-1))
        if not len(warps[0]):
            return odd
        names = has_bit(others[warps][..., None], LANE[0])
        both = word_of(names & np.swapaxes(names, -1, -2))
        odd[warps] = both[..., 0] != 0
        if odd.any():
            partner = np.zeros(who.shape, np.int64)
            partner[warps] = np.bitwise_count((both & ~both + np.uint32(1)) - np.uint32(1))[..., 0]
            note(
                state, self.instruction, "illegal operand", odd & who if (odd & who).any() else odd,
                lambda g, w, lane: f"lane {lane} gives the membermask {int(masks[g, w, lane]):#010x}, and lane "
                f"{partner[g, w, lane]}, which it names, waits for it with "
                f"{int(masks[g, w, partner[g, w, lane]]):#010x}: they have to agree",
            )  # fmt: skip
        return odd

    def _release(self, execution: ControlState, done: _Mask) -> None:
        """Let lanes go on that waited at other barriers of their warp."""
        if not done.any():
            return
        positions = execution.scheduler
        for pc in np.unique(positions.pc[done]).tolist():
            positions.jump(done & (positions.pc == pc), pc + 1)
        execution.instructions += int(np.count_nonzero(done))


def _are_whole(who: _Mask, live: _Mask) -> bool:
    """Whether all live lanes of the warps that some lanes are of are there."""
    return who is live or bool((who == (live & who.any(axis=-1, keepdims=True))).all())
