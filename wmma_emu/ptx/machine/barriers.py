# SPDX-License-Identifier: MIT
"""The barriers of a block: who has arrived, who waits, when they go on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import NUM_BARRIERS, OF_CLUSTER
from wmma_emu.ptx.machine.barrier_counts import ALL, REDUCTIONS_OF_BARRIERS, are_complete, require_one_count
from wmma_emu.ptx.machine.lane_ranges import ranges
from wmma_emu.ptx.machine.scheduler import AT_BARRIER, Scheduler
from wmma_emu.ptx.program.program import Immediate, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active, Array

_SEVERAL = "barriers at several instructions"


class BarrierForm(NamedTuple):
    """A barrier instruction taken apart.

    ``waits`` is False of ``arrive``; ``reduction`` is "", "popc", "and" or "or"; ``threads`` is None where all
    threads of the block are meant.
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
    """The barriers of some blocks."""

    def __init__(self, state: State, scheduler: Scheduler) -> None:
        self._state, self._scheduler = state, scheduler
        blocks = state.shape[0]
        self._arrived = np.zeros((blocks, NUM_BARRIERS + 1), np.int64)
        self._wanted = np.zeros((blocks, NUM_BARRIERS + 1), np.int64)
        self._number = np.full(state.shape, -1, np.int8)
        self._form = np.full(state.shape, -1, np.int32)
        self._forms: list[BarrierForm] = []
        self._votes = np.zeros(state.shape, np.bool_)

    def arrive(self, form: BarrierForm, active: Active, pc: int) -> None:
        """Let the active threads arrive, and wait if they do, to go on at a place."""
        state = self._state
        number = state.read(form.number, "u32")
        threads = None if form.threads is None else state.read(form.threads, "u32")
        if not self._are_legal(form, number, threads, active):
            return self._scheduler.jump(active, pc)
        if active is None and form.waits and threads is None and number.size == 1:
            return self._meet(form, pc)
        who = np.broadcast_to(state.live if active is None else active, state.shape)
        if form.source is not None:
            np.copyto(self._votes, state.read(form.source, "pred"), where=who)
        for n in np.unique(np.broadcast_to(number, state.shape)[who]).tolist():
            self._count(form, int(n), np.asarray(who & (number == n)), threads)
        if form.waits:
            if form not in self._forms:
                self._forms.append(form)
            self._form[who] = self._forms.index(form)
            self._number[who] = np.broadcast_to(number, state.shape)[who]
            self._scheduler.wait(who, AT_BARRIER, pc)
        else:
            self._scheduler.jump(active, pc)
        return self.complete()

    def _meet(self, form: BarrierForm, pc: int) -> None:
        """All threads of all blocks are here."""
        if form.reduction:
            votes = np.broadcast_to(self._state.read(form.source, "pred"), self._state.shape)
            self._write(form, votes, self._state.live, None)
        causality = self._state.causality
        if form.is_of_cluster:
            everyone = self._state.live
            causality.complete(OF_CLUSTER, np.arange(len(everyone)), everyone, everyone)
        else:
            causality.meet_all()
        self._scheduler.jump(None, pc)

    def arrive_of_cluster(self, active: Active, *, relaxed: bool) -> None:
        """Let the active threads hand on what they did to those who wait; ``relaxed``, what they did before a fence."""
        state = self._state
        who = np.broadcast_to(state.live if active is None else active, state.shape)
        state.causality.arrive(OF_CLUSTER, who, state.live, relaxed=relaxed)

    def _are_legal(self, form: BarrierForm, number: Array, threads: Array | None, active: Active) -> bool:
        """Note a finding for a barrier that no block has, and for a number of threads that is none of whole warps."""
        if form.is_of_cluster:
            return True
        who = self._state.live if active is None else active
        wrong = np.asarray(number >= NUM_BARRIERS) & who
        message = "barrier {} does not exist: a block has 16, from 0 on"
        value = number
        if threads is not None and not wrong.any():
            wrong = np.asarray((threads % 32 != 0) | ((threads == 0) & (not form.waits))) & who
            message, value = "{} threads are no whole number of warps", threads
        if not wrong.any():
            return True
        given = int(np.broadcast_to(value, wrong.shape)[wrong][0])
        note(self._state, form.instruction, "illegal operand", wrong, message.format(given))
        return False

    def _count(self, form: BarrierForm, n: int, who: NDArray[np.bool_], threads: Array | None) -> None:
        """Count threads as arrived at one barrier of their blocks, with all that they have seen."""
        if threads is not None or self._wanted[:, n].any():
            require_one_count(self._state, form.instruction, n, who, threads, self._arrived[:, n], self._wanted[:, n])
        arrivals = np.count_nonzero(who, axis=(1, 2))
        blocks = np.flatnonzero(arrivals)
        self._arrived[blocks, n] += arrivals[blocks]
        if n != OF_CLUSTER:
            self._state.causality.arrive(n, who, self._state.live)
        wanted = np.broadcast_to(np.int64(ALL) if threads is None else threads, self._state.shape)
        self._wanted[blocks, n] = np.where(who, wanted, 0).max(axis=(1, 2))[blocks]

    def complete(self) -> None:
        """Let the threads go on whose barrier has all that it waits for: of all threads, those that have not exited."""
        state = self._state
        live = np.count_nonzero(state.live, axis=(1, 2))
        done = are_complete(self._arrived, self._wanted, live[:, None])
        for n in np.flatnonzero(done.any(axis=0)).tolist():
            blocks = np.flatnonzero(done[:, n])
            waiting = np.asarray((self._number == n) & done[:, n].reshape(-1, 1, 1) & state.live)
            self._require_one_place(n, blocks, waiting)
            self._reduce(waiting)
            of_all = (self._wanted[blocks, n] == ALL) & (n != OF_CLUSTER)
            state.causality.complete(n, blocks[~of_all], waiting, state.live)
            state.causality.meet(n, blocks[of_all])
            self._arrived[blocks, n] = 0
            self._number[waiting] = -1
            self._scheduler.release(waiting)

    def _require_one_place(self, n: int, blocks: NDArray[np.int64], waiting: NDArray[np.bool_]) -> None:
        """Note a finding where a barrier of all threads of a block was met at several instructions.

        That is what ``compute-sanitizer --tool synccheck`` reports (CUDA 13.0, NVIDIA H200, 2026-11-21: two branches
        with a barrier each; a branch with one more than the other); threads that have exited are none of the block's.
        Where lanes of one warp meet aligned barriers at several instructions, another finding says so: each of these
        is met by a part of the warp.
        """
        state = self._state
        if len(self._forms) < 2 or not state.findings.are_sought(_SEVERAL):
            return
        for g in blocks[self._wanted[blocks, n] == ALL].tolist():
            forms = np.unique(self._form[g][waiting[g]]).tolist()
            if len(forms) < 2 or self._part_warps(g, forms, waiting[g]):
                continue
            lines = sorted({self._forms[x].instruction.line for x in forms})
            last = max(forms, key=lambda x: self._forms[x].instruction.line)
            here = np.zeros_like(waiting)
            here[g] = waiting[g] & (self._form[g] == last)
            note(
                state, self._forms[last].instruction, _SEVERAL, here,
                f"the threads of the block meet barrier {n} at several instructions, lines "
                f"{', '.join(map(str, lines))}; here, warps {ranges(np.flatnonzero(here[g].any(axis=1)).tolist())}",
            )  # fmt: skip

    def _part_warps(self, g: int, forms: list[int], waiting: NDArray[np.bool_]) -> bool:
        """Whether lanes of one warp of a block wait at several aligned barriers."""
        met = np.zeros(len(waiting), np.int64)
        for x in forms:
            if is_aligned(self._forms[x].instruction):
                met += (waiting & (self._form[g] == x)).any(axis=1)
        return bool((met > 1).any())

    def _reduce(self, waiting: NDArray[np.bool_]) -> None:
        """Write what each ``bar.red`` gives to the threads that wait at it."""
        for x in np.unique(self._form[waiting]).tolist():
            if self._forms[x].reduction:
                self._write(self._forms[x], self._votes, waiting, waiting & (self._form == x))

    def _write(self, form: BarrierForm, votes: NDArray[np.bool_], there: NDArray[np.bool_], active: Active) -> None:
        """Reduce the votes of a block's threads that are there, and write the result of one instruction."""
        found = REDUCTIONS_OF_BARRIERS[form.reduction](votes, there)
        self._state.write(form.result, found.reshape(-1, 1, 1), active)

    def awaited(self, g: int, who: NDArray[np.bool_]) -> str:
        """Say what threads of a block wait for at barriers: " for barrier 0, where 50 of 64 threads have arrived"."""
        live = int(np.count_nonzero(self._state.live[g]))
        texts = []
        for n in np.unique(self._number[g][who]).tolist():
            name = "the barrier of the cluster" if n == OF_CLUSTER else f"barrier {n}"
            wanted = int(self._wanted[g, n])
            wanted = live if wanted == ALL else wanted
            arrived = int(self._arrived[g, n])
            texts.append(f"{name}, where {arrived} of {wanted} threads {'has' if arrived == 1 else 'have'} arrived")
        return f" for {' and '.join(texts)}"

    @property
    def is_waited_at(self) -> bool:
        """Whether any thread waits at a barrier."""
        return bool((self._number >= 0).any())


def barrier_form(instruction: PtxInstruction) -> BarrierForm:
    """Take ``bar`` and ``barrier`` apart; raises ValueError for a form that PTX does not have."""
    words = [
        x for x in instruction.modifiers if x not in ("cta", "aligned", "cluster", "release", "acquire", "relaxed")
    ]
    operands = list(instruction.operands)
    everywhere = Immediate("int", OF_CLUSTER)
    if "cluster" in instruction.modifiers:
        return BarrierForm(instruction, everywhere, None, waits=True, is_of_cluster=True)
    if words[:1] == ["red"] and len(words) == 3 and words[1] in ("popc", "and", "or"):
        result, number, *rest = operands
        if not isinstance(result, Register) or not 1 <= len(rest) <= 2:
            raise ValueError
        source = rest[-1]
        if not isinstance(source, Predicate | Register) or number is None:
            raise ValueError
        return BarrierForm(instruction, number, rest[0] if len(rest) == 2 else None, True, words[1], result, source)
    if words not in (["sync"], ["arrive"]) or not 1 <= len(operands) <= 2 or operands[0] is None:
        raise ValueError
    if words == ["arrive"] and len(operands) < 2:
        raise ValueError
    threads = operands[1] if len(operands) == 2 else None
    return BarrierForm(instruction, operands[0], threads, words == ["sync"])


def is_aligned(barrier: PtxInstruction) -> bool:
    """Whether all threads of a warp have to execute a barrier of the block together."""
    return barrier.mnemonic == "bar" or "aligned" in barrier.modifiers
