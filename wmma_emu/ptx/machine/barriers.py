# SPDX-License-Identifier: MIT
"""The barriers of a block: arrivals, waiting threads and completion."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import NUM_BARRIERS, OF_CLUSTER
from wmma_emu.ptx.machine.barrier_counts import ALL, BARRIER_REDUCTIONS, are_complete, require_one_count
from wmma_emu.ptx.machine.lane_ranges import ranges
from wmma_emu.ptx.machine.scheduler import AT_BARRIER, Scheduler
from wmma_emu.ptx.program.program import Immediate, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active, Array

_SEVERAL = "barriers at several instructions"


class DecodedBarrier(NamedTuple):
    """A decoded barrier instruction.

    ``waits`` is False for ``arrive``; ``reduction`` is "", "popc", "and" or "or"; ``threads`` is None if the barrier is
    for all threads of the block.
    """

    instruction: PtxInstruction
    number: Operand
    threads: Operand | None
    waits: bool
    reduction: str = ""
    result: Register | None = None
    source: Operand | None = None
    is_of_cluster: bool = False


class Barriers:
    """The barriers of the blocks of a wave."""

    def __init__(self, state: State, scheduler: Scheduler) -> None:
        self._state, self._scheduler = state, scheduler
        blocks = state.shape[0]
        self._arrived = np.zeros((blocks, NUM_BARRIERS + 1), np.int64)
        self._expected = np.zeros((blocks, NUM_BARRIERS + 1), np.int64)
        self._number = np.full(state.shape, -1, np.int8)
        self._barrier_index = np.full(state.shape, -1, np.int32)
        self._decoded: list[DecodedBarrier] = []
        self._votes = np.zeros(state.shape, np.bool_)

    def arrive(self, barrier: DecodedBarrier, active: Active, pc: int) -> None:
        """Let the active threads arrive; those that wait continue at ``pc`` once the barrier is complete."""
        state = self._state
        number = state.read(barrier.number, "u32")
        threads = None if barrier.threads is None else state.read(barrier.threads, "u32")
        if not self._are_legal(barrier, number, threads, active):
            return self._scheduler.jump(active, pc)
        if active is None and barrier.waits and threads is None and number.size == 1:
            return self._complete_for_all(barrier, pc)
        participants = np.broadcast_to(state.live if active is None else active, state.shape)
        if barrier.source is not None:
            np.copyto(self._votes, state.read(barrier.source, "pred"), where=participants)
        for n in np.unique(np.broadcast_to(number, state.shape)[participants]).tolist():
            self._count(barrier, int(n), np.asarray(participants & (number == n)), threads)
        if barrier.waits:
            if barrier not in self._decoded:
                self._decoded.append(barrier)
            self._barrier_index[participants] = self._decoded.index(barrier)
            self._number[participants] = np.broadcast_to(number, state.shape)[participants]
            self._scheduler.wait(participants, AT_BARRIER, pc)
        else:
            self._scheduler.jump(active, pc)
        return self.complete()

    def _complete_for_all(self, barrier: DecodedBarrier, pc: int) -> None:
        """Complete the barrier for all threads of all blocks."""
        if barrier.reduction:
            votes = np.broadcast_to(self._state.read(barrier.source, "pred"), self._state.shape)
            self._write(barrier, votes, self._state.live, None)
        causality = self._state.causality
        if barrier.is_of_cluster:
            everyone = self._state.live
            causality.complete(OF_CLUSTER, np.arange(len(everyone)), everyone, everyone)
        else:
            causality.meet_all()
        self._scheduler.jump(None, pc)

    def arrive_at_cluster_barrier(self, active: Active, *, relaxed: bool) -> None:
        """Release what the active threads did to those that wait; if ``relaxed``, what they did before a fence."""
        state = self._state
        participants = np.broadcast_to(state.live if active is None else active, state.shape)
        state.causality.arrive(OF_CLUSTER, participants, state.live, relaxed=relaxed)

    def _are_legal(self, barrier: DecodedBarrier, number: Array, threads: Array | None, active: Active) -> bool:
        """Report a finding for a barrier number that does not exist, or an illegal thread count."""
        if barrier.is_of_cluster:
            return True
        participants = self._state.live if active is None else active
        wrong = np.asarray(number >= NUM_BARRIERS) & participants
        message = "barrier {} does not exist; a block has 16 barriers, 0 to 15"
        value = number
        if threads is not None and not wrong.any():
            wrong = np.asarray((threads % 32 != 0) | ((threads == 0) & (not barrier.waits))) & participants
            message, value = "the thread count {} is not a positive multiple of the warp size, 32", threads
        if not wrong.any():
            return True
        given = int(np.broadcast_to(value, wrong.shape)[wrong][0])
        note(self._state, barrier.instruction, "illegal operand", wrong, message.format(given))
        return False

    def _count(self, barrier: DecodedBarrier, n: int, participants: NDArray[np.bool_], threads: Array | None) -> None:
        """Count threads as arrived at one barrier of their blocks, and release their knowledge there."""
        if threads is not None or self._expected[:, n].any():
            require_one_count(
                self._state, barrier.instruction, n, participants, threads, self._arrived[:, n], self._expected[:, n]
            )
        arrivals = np.count_nonzero(participants, axis=(1, 2))
        blocks = np.flatnonzero(arrivals)
        self._arrived[blocks, n] += arrivals[blocks]
        if n != OF_CLUSTER:
            self._state.causality.arrive(n, participants, self._state.live)
        expected = np.broadcast_to(np.int64(ALL) if threads is None else threads, self._state.shape)
        self._expected[blocks, n] = np.where(participants, expected, 0).max(axis=(1, 2))[blocks]

    def complete(self) -> None:
        """Release the threads whose barrier is complete: every thread that is expected, and has not exited, arrived."""
        state = self._state
        live = np.count_nonzero(state.live, axis=(1, 2))
        done = are_complete(self._arrived, self._expected, live[:, None])
        for n in np.flatnonzero(done.any(axis=0)).tolist():
            blocks = np.flatnonzero(done[:, n])
            waiting = np.asarray((self._number == n) & done[:, n].reshape(-1, 1, 1) & state.live)
            self._require_one_instruction(n, blocks, waiting)
            self._reduce(waiting)
            of_whole_block = (self._expected[blocks, n] == ALL) & (n != OF_CLUSTER)
            state.causality.complete(n, blocks[~of_whole_block], waiting, state.live)
            state.causality.meet(n, blocks[of_whole_block])
            self._arrived[blocks, n] = 0
            self._number[waiting] = -1
            self._release(waiting)

    def _release(self, waiting: NDArray[np.bool_]) -> None:
        """Let the threads of a complete barrier continue."""
        self._scheduler.release(waiting)

    def _require_one_instruction(self, n: int, blocks: NDArray[np.int64], waiting: NDArray[np.bool_]) -> None:
        """Report a finding if threads arrived at several instructions at a barrier of all threads of a block.

        ``compute-sanitizer --tool synccheck`` reports the same (CUDA 13.0, NVIDIA H200, 2026-11-21: two branches with a
        barrier each; a branch with one more than the other); threads that have exited do not count. Where lanes of one
        warp arrive at several aligned barriers, another finding is reported: only a part of the warp executes each
        barrier.
        """
        state = self._state
        if len(self._decoded) < 2 or not state.findings.are_sought(_SEVERAL):
            return
        for g in blocks[self._expected[blocks, n] == ALL].tolist():
            indices = np.unique(self._barrier_index[g][waiting[g]]).tolist()
            if len(indices) < 2 or self._splits_a_warp(g, indices, waiting[g]):
                continue
            lines = sorted({self._decoded[x].instruction.line for x in indices})
            last = max(indices, key=lambda x: self._decoded[x].instruction.line)
            present = np.zeros_like(waiting)
            present[g] = waiting[g] & (self._barrier_index[g] == last)
            note(
                state, self._decoded[last].instruction, _SEVERAL, present,
                f"threads of one block arrive at barrier {n} at several instructions, lines "
                f"{', '.join(map(str, lines))}; warps "
                f"{ranges(np.flatnonzero(present[g].any(axis=1)).tolist())} at this one",
            )  # fmt: skip

    def _splits_a_warp(self, g: int, indices: list[int], waiting: NDArray[np.bool_]) -> bool:
        """Return whether lanes of one warp of a block wait at several aligned barriers."""
        met = np.zeros(len(waiting), np.int64)
        for x in indices:
            if is_aligned(self._decoded[x].instruction):
                met += (waiting & (self._barrier_index[g] == x)).any(axis=1)
        return bool((met > 1).any())

    def _reduce(self, waiting: NDArray[np.bool_]) -> None:
        """Write the result of each ``bar.red`` to the threads that wait at it."""
        for x in np.unique(self._barrier_index[waiting]).tolist():
            if self._decoded[x].reduction:
                self._write(self._decoded[x], self._votes, waiting, waiting & (self._barrier_index == x))

    def _write(
        self, barrier: DecodedBarrier, votes: NDArray[np.bool_], waiting: NDArray[np.bool_], active: Active
    ) -> None:
        """Reduce the votes of a block's waiting threads, and write the result of one instruction."""
        found = BARRIER_REDUCTIONS[barrier.reduction](votes, waiting)
        self._state.write(barrier.result, found.reshape(-1, 1, 1), active)

    def describe_waits(self, g: int, participants: NDArray[np.bool_]) -> str:
        """Describe the barriers that threads of a block wait for.

        For example: " for barrier 0, where 50 of 64 threads have arrived".
        """
        live = int(np.count_nonzero(self._state.live[g]))
        texts = []
        for n in np.unique(self._number[g][participants]).tolist():
            name = "the barrier of the cluster" if n == OF_CLUSTER else f"barrier {n}"
            expected = int(self._expected[g, n])
            expected = live if expected == ALL else expected
            arrived = int(self._arrived[g, n])
            texts.append(f"{name}, where {arrived} of {expected} threads {'has' if arrived == 1 else 'have'} arrived")
        return f" for {' and '.join(texts)}"

    @property
    def has_waiting_threads(self) -> bool:
        """Whether any thread waits at a barrier."""
        return bool((self._number >= 0).any())


def decode_barrier(instruction: PtxInstruction) -> DecodedBarrier:
    """Decode a ``bar`` or ``barrier`` instruction; raise ValueError for a form that PTX does not define."""
    words = [
        x for x in instruction.modifiers if x not in ("cta", "aligned", "cluster", "release", "acquire", "relaxed")
    ]
    operands = list(instruction.operands)
    everywhere = Immediate("int", OF_CLUSTER)
    if "cluster" in instruction.modifiers:
        return DecodedBarrier(instruction, everywhere, None, waits=True, is_of_cluster=True)
    if words[:1] == ["red"] and len(words) == 3 and words[1] in ("popc", "and", "or"):
        result, number, *rest = operands
        if not isinstance(result, Register) or not 1 <= len(rest) <= 2:
            raise ValueError
        source = rest[-1]
        if not isinstance(source, Predicate | Register) or number is None:
            raise ValueError
        return DecodedBarrier(instruction, number, rest[0] if len(rest) == 2 else None, True, words[1], result, source)
    if words not in (["sync"], ["arrive"]) or not 1 <= len(operands) <= 2 or operands[0] is None:
        raise ValueError
    if words == ["arrive"] and len(operands) < 2:
        raise ValueError
    threads = operands[1] if len(operands) == 2 else None
    return DecodedBarrier(instruction, operands[0], threads, words == ["sync"])


def is_aligned(barrier: PtxInstruction) -> bool:
    """Return whether all threads of a warp must execute a barrier of the block together."""
    return barrier.mnemonic == "bar" or "aligned" in barrier.modifiers
