# SPDX-License-Identifier: MIT
"""``mbarrier``: barriers in shared memory for threads and asynchronous copies."""

from collections.abc import Callable

import numpy as np

from wmma_emu.ptx.memory.mbarrier_words import COUNT_BITS, LARGEST_COUNT
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import AddressOperand, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.barrier_accesses import (
    BarrierAccesses,
    barrier_accesses,
    barrier_operand,
    operand_at,
    report_faults,
    value_at,
)
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, Step
from wmma_emu.ptx.steps.loads import require_values, written_register
from wmma_emu.ptx.threads import Array


def mbarrier(instruction: PtxInstruction, context: CompileContext) -> Step:
    """Build the step of an mbarrier instruction."""
    action = instruction.modifiers[0] if instruction.modifiers else ""
    build = _BUILDERS.get(action)
    if build is None:
        raise refusal(instruction, f"does not exist; expected one of {', '.join('mbarrier.' + x for x in _BUILDERS)}")
    return build(instruction)


def _init(instruction: PtxInstruction) -> Step:
    address, count = barrier_operand(instruction, operand_at(instruction, 0)), value_at(instruction, 1)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, count, active, "the number of arrivals")
        counts, barriers = state.read(count, "u32"), state.memory.mbarriers
        words = barriers.first_words(np.broadcast_to(counts, state.shape))
        accesses = barrier_accesses(state, instruction, address, active, write=True, exists=False, words=words)
        numbers = accesses.of(counts, state.shape).astype(np.int64)
        wrong = (numbers == 0) | (numbers > LARGEST_COUNT)
        note(
            state, instruction, "illegal operand", accesses.only(wrong).mask(state.shape),
            f"the arrival count of a phase is not legal; legal counts are 1 to {LARGEST_COUNT}",
        )  # fmt: skip
        report_faults(
            state, instruction, accesses, barriers.make(instruction, accesses.positions, numbers & LARGEST_COUNT)
        )

    return step


def _inval(instruction: PtxInstruction) -> Step:
    address = barrier_operand(instruction, operand_at(instruction, 0))

    def step(state: State, active: Active) -> None:
        with state.memory.causality.in_execution():
            accesses = barrier_accesses(state, instruction, address, active, write=True)
        state.memory.mbarriers.end(instruction, accesses.positions)

    return step


def _arrive(instruction: PtxInstruction) -> Step:
    # The state may be omitted for the barrier of another block; the emulator's clusters have one block.
    operands = list(instruction.operands)
    returns = not (operands and isinstance(operands[0], AddressOperand))
    target = operands.pop(0) if returns and operands else None
    if not operands:
        raise refusal(instruction, "expects an address")
    address, amount = barrier_operand(instruction, operands[0]), operands[1] if len(operands) > 1 else None
    require_values(instruction, *operands[1:2])
    drop = instruction.modifiers[0] == "arrive_drop"
    relaxed = "relaxed" in instruction.modifiers
    expects, never_completes = "expect_tx" in instruction.modifiers, "noComplete" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, amount, active, "the number of arrivals or of bytes")
        amounts = np.ones((1, 1, 1), np.uint32) if amount is None else state.read(amount, "u32")
        barriers, accesses = state.memory.mbarriers, barrier_accesses(state, instruction, address, active, write=False)
        numbers = accesses.of(amounts, state.shape).astype(np.int64)
        counts, expected = (np.ones_like(numbers), numbers) if expects else (numbers, np.zeros_like(numbers))
        wrong = (counts == 0) | (counts > LARGEST_COUNT)
        note(
            state, instruction, "illegal operand", accesses.only(wrong).mask(state.shape),
            f"the number of arrivals is not legal; legal numbers are 1 to {LARGEST_COUNT}",
        )  # fmt: skip
        barriers.release(accesses.positions, accesses.at, state.live, relaxed=relaxed)
        arrivals = barriers.arrive(
            instruction, accesses.positions, accesses.at, counts, expected, drop=drop, completes=not never_completes
        )
        report_faults(state, instruction, accesses, arrivals.faults)
        if isinstance(target, Register):
            states = np.zeros(state.shape, np.uint64)
            states[accesses.blocks, accesses.warps, accesses.lanes] = arrivals.states
            state.write(target, states, active)

    return step


def _transactions(sign: int) -> Callable[[PtxInstruction], Step]:
    def build(instruction: PtxInstruction) -> Step:
        address, amount = barrier_operand(instruction, operand_at(instruction, 0)), value_at(instruction, 1)

        def step(state: State, active: Active) -> None:
            state.require_defined(instruction, amount, active, "the number of bytes")
            amounts, barriers = state.read(amount, "u32"), state.memory.mbarriers
            accesses = barrier_accesses(state, instruction, address, active, write=False)
            numbers = sign * accesses.of(amounts, state.shape).astype(np.int64)
            report_faults(state, instruction, accesses, barriers.expect(instruction, accesses.positions, numbers))

        return step

    return build


def _wait(instruction: PtxInstruction) -> Step:
    target = written_register(instruction, operand_at(instruction, 0), "a predicate")
    address, phase = barrier_operand(instruction, operand_at(instruction, 1)), value_at(instruction, 2)
    by_parity, relaxed = "parity" in instruction.modifiers, "relaxed" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, phase, active, "the phase")
        given = state.read(phase, "u32" if by_parity else "b64")
        parities = given & given.dtype.type(1) if by_parity else given >> np.uint64(63)
        barriers, accesses = state.memory.mbarriers, barrier_accesses(state, instruction, address, active, write=False)
        is_over = barriers.parities(accesses.positions) != accesses.of(parities, state.shape)
        faults = barriers.wait(instruction, accesses.positions, accesses.at, is_over, by_parity=by_parity)
        report_faults(state, instruction, accesses, faults)
        over = accesses.only(is_over)
        barriers.observe(over.positions, over.at, state.live, relaxed=relaxed)
        state.write(target, over.mask(state.shape), active)

    return step


def _pending_count(instruction: PtxInstruction) -> Step:
    target, source = written_register(instruction, operand_at(instruction, 0)), value_at(instruction, 1)

    def step(state: State, active: Active) -> None:
        layout, states = state.memory.mbarriers.layout, state.read(source, "b64")
        first, mask = np.uint64(layout.pending.first), np.uint64((1 << layout.counted) - 1)
        value: Array = np.uint64(1 << layout.counted) - (states >> first & mask)
        lost = state.undefined_in(source, states.dtype, active)
        if lost is not None:
            counted = np.uint64((2 << COUNT_BITS) - 1)
            lost = lost._replace(bits=np.where(lost.bits >> first & mask, counted, np.uint64(0)))
        state.write(target, value.astype(np.uint32), active, lost)

    return step


_BUILDERS: dict[str, Callable[[PtxInstruction], Step]] = {
    "init": _init, "inval": _inval, "arrive": _arrive, "arrive_drop": _arrive, "expect_tx": _transactions(1),
    "complete_tx": _transactions(-1), "test_wait": _wait, "try_wait": _wait, "pending_count": _pending_count,
}  # fmt: skip


def arrive_of_copies(instruction: PtxInstruction, counted: bool) -> Step:
    """Build the step of cp.async.mbarrier.arrive: the pending copies complete with the phase of a barrier.

    Without .noinc the phase expects one additional arrival, which this instruction provides: the two cancel.
    """
    address = barrier_operand(instruction, operand_at(instruction, 0))

    def step(state: State, active: Active) -> None:
        memory = state.memory
        barriers = memory.mbarriers
        now = None if memory.races is None else memory.races.now()
        accesses = barrier_accesses(state, instruction, address, active, write=False)
        under_way = memory.copies.in_flight()
        barriers.release(accesses.positions, accesses.at, state.live, relaxed=False)

        def complete(accesses: BarrierAccesses, arrives: bool) -> None:
            for position in np.unique(accesses.positions).tolist():
                who = accesses.only(accesses.positions == position).mask(state.shape)
                barriers.attach(position, [(copy, who) for copy in under_way], now)
            if arrives:
                once = np.ones(len(accesses.positions), np.int64)
                arrivals = barriers.arrive(instruction, accesses.positions, accesses.at, once, 0 * once)
                report_faults(state, instruction, accesses, arrivals.faults)

        if not memory.asynchrony.delays(instruction):
            complete(accesses, counted)
            return
        if not counted:
            barriers.await_more(accesses.positions)
        barriers.postpone(accesses.positions, lambda chosen: complete(accesses.only(chosen), True))

    return step
