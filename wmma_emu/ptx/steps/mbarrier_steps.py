# SPDX-License-Identifier: MIT
"""``mbarrier``: barriers in shared memory for threads and asynchronous copies."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import ThreadIndices
from wmma_emu.ptx.memory.generic import classify
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import AddressOperand, Operand, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of, space_of
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, Step
from wmma_emu.ptx.steps.loads import require_values, written_register
from wmma_emu.ptx.threads import Array

_LARGEST_COUNT = (1 << 20) - 1
_TOO_MANY = "the arrival count exceeds the pending arrivals of the barrier's phase"


class _BarrierAccesses(NamedTuple):
    """The threads that access a barrier, in order: the position of each thread's barrier, and the thread."""

    positions: NDArray[np.int64]
    blocks: NDArray[np.int64]
    warps: NDArray[np.int64]
    lanes: NDArray[np.int64]

    def of(self, value: Array, shape: tuple[int, int, int]) -> Array:
        """Return the values of these threads."""
        return np.asarray(np.broadcast_to(value, shape)[self.blocks, self.warps, self.lanes])

    def only(self, where: NDArray[np.bool_]) -> "_BarrierAccesses":
        return _BarrierAccesses(*(x[where] for x in self))

    def mask(self, shape: tuple[int, int, int]) -> NDArray[np.bool_]:
        out = np.zeros(shape, np.bool_)
        out[self.blocks, self.warps, self.lanes] = True
        return out

    @property
    def at(self) -> ThreadIndices:
        return self.blocks, self.warps, self.lanes


def mbarrier(instruction: PtxInstruction, context: CompileContext) -> Step:
    """Build the step of an mbarrier instruction."""
    action = instruction.modifiers[0] if instruction.modifiers else ""
    build = _BUILDERS.get(action)
    if build is None:
        raise refusal(instruction, f"does not exist; expected one of {', '.join('mbarrier.' + x for x in _BUILDERS)}")
    return build(instruction)


def _barrier_accesses(
    state: State,
    instruction: PtxInstruction,
    address: AddressOperand,
    active: Active,
    *,
    write: bool,
    exists: bool = True,
) -> _BarrierAccesses:
    """Return the barriers that active threads access; threads without a valid barrier are reported and left out."""
    memory, shape = state.memory, state.shape
    state.require_defined(instruction, address, active, "the address")
    active = state.threads.exists if active is None else active
    space, addresses = space_of(instruction, address), addresses_of(state, address)
    if not space:
        part = classify(addresses, fit(active, addresses.shape))[0]
        space, addresses = part.space, part.addresses
    space = "shared" if space.startswith("shared") else space
    reached = memory.resolve(instruction, space, addresses, 8, 1, 8, active, write=True, ordering="weak")
    mask = np.ones(shape, np.bool_) if reached.mask is None else np.broadcast_to(reached.mask, shape)
    if space != "shared":
        text = f"a barrier has to be in shared memory, not in {space} memory"
        note(state, instruction, "illegal operand", mask, text)
        mask = np.zeros(shape, np.bool_)
    positions = np.broadcast_to(reached.where.positions, shape)[mask]
    if space == "shared" and write:
        memory.note_store(reached, positions, active, None)
    elif space == "shared" and memory.races is not None:
        memory.races.read(reached, active)
    accesses = _BarrierAccesses(positions, *np.nonzero(mask))
    if exists:
        made = memory.mbarriers.exist(positions)
        if not made.all():
            wrong = accesses.only(~made).mask(shape)
            text = "this address does not contain a barrier: no mbarrier.init has created one"
            note(state, instruction, "illegal operand", wrong, text)
            accesses = accesses.only(made)
    return accesses


def _init(instruction: PtxInstruction) -> Step:
    address, count = _barrier(instruction, _operand(instruction, 0)), _value(instruction, 1)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, count, active, "the number of arrivals")
        counts, barriers = state.read(count, "u32"), state.memory.mbarriers
        accesses = _barrier_accesses(state, instruction, address, active, write=True, exists=False)
        numbers = accesses.of(counts, state.shape)
        wrong = (numbers == 0) | (numbers > _LARGEST_COUNT)
        note(
            state, instruction, "illegal operand", accesses.only(wrong).mask(state.shape),
            f"the arrival count of a phase is not legal; legal counts are 1 to {_LARGEST_COUNT}",
        )  # fmt: skip
        for position, number in zip(accesses.positions.tolist(), numbers.tolist(), strict=True):
            barriers.make(position, number & _LARGEST_COUNT)

    return step


def _inval(instruction: PtxInstruction) -> Step:
    address = _barrier(instruction, _operand(instruction, 0))

    def step(state: State, active: Active) -> None:
        for position in _barrier_accesses(state, instruction, address, active, write=True).positions.tolist():
            state.memory.mbarriers.put(position, None)

    return step


def _barrier(instruction: PtxInstruction, operand: Operand | None) -> AddressOperand:
    return address_operand(instruction, operand, ("shared",))


def _operand(instruction: PtxInstruction, k: int) -> Operand | None:
    if k >= len(instruction.operands):
        raise refusal(instruction, f"expects at least {k + 1} operands")
    return instruction.operands[k]


def _value(instruction: PtxInstruction, k: int) -> Operand | None:
    operand = _operand(instruction, k)
    require_values(instruction, operand)
    return operand


def _arrive(instruction: PtxInstruction) -> Step:
    # The state may be omitted for the barrier of another block; the emulator's clusters have one block.
    operands = list(instruction.operands)
    returns = not (operands and isinstance(operands[0], AddressOperand))
    target = operands.pop(0) if returns and operands else None
    if not operands:
        raise refusal(instruction, "expects an address")
    address, amount = _barrier(instruction, operands[0]), operands[1] if len(operands) > 1 else None
    require_values(instruction, *operands[1:2])
    drop = instruction.modifiers[0] == "arrive_drop"
    relaxed = "relaxed" in instruction.modifiers
    expects, never_completes = "expect_tx" in instruction.modifiers, "noComplete" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, amount, active, "the number of arrivals or of bytes")
        amounts = np.ones((1, 1, 1), np.uint32) if amount is None else state.read(amount, "u32")
        barriers, accesses = state.memory.mbarriers, _barrier_accesses(state, instruction, address, active, write=False)
        numbers = accesses.of(amounts, state.shape).astype(np.int64)
        counts, expected = (np.ones_like(numbers), numbers) if expects else (numbers, np.zeros_like(numbers))
        barriers.release(accesses.positions, accesses.at, state.live, relaxed=relaxed)
        tokens, refused = barriers.arrive(
            accesses.positions, counts, expected, drop=drop, completes=not never_completes
        )  # fmt: skip
        note(state, instruction, "illegal operand", accesses.only(refused).mask(state.shape), _TOO_MANY)
        if isinstance(target, Register):
            states = np.zeros(state.shape, np.uint64)
            states[accesses.blocks, accesses.warps, accesses.lanes] = tokens
            state.write(target, states, active)

    return step


def _transactions(sign: int) -> Callable[[PtxInstruction], Step]:
    def build(instruction: PtxInstruction) -> Step:
        address, amount = _barrier(instruction, _operand(instruction, 0)), _value(instruction, 1)

        def step(state: State, active: Active) -> None:
            state.require_defined(instruction, amount, active, "the number of bytes")
            amounts, barriers = state.read(amount, "u32"), state.memory.mbarriers
            accesses = _barrier_accesses(state, instruction, address, active, write=False)
            numbers = accesses.of(amounts, state.shape).tolist()
            for position, number in zip(accesses.positions.tolist(), numbers, strict=True):
                barriers.expect(position, sign * number)

        return step

    return build


def _wait(instruction: PtxInstruction) -> Step:
    target = written_register(instruction, _operand(instruction, 0), "a predicate")
    address, phase = _barrier(instruction, _operand(instruction, 1)), _value(instruction, 2)
    by_parity, relaxed = "parity" in instruction.modifiers, "relaxed" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, phase, active, "the phase")
        given = state.read(phase, "u32" if by_parity else "b64")
        parities = given & given.dtype.type(1) if by_parity else given >> np.uint64(63)
        barriers, accesses = state.memory.mbarriers, _barrier_accesses(state, instruction, address, active, write=False)
        is_over = barriers.parities(accesses.positions) != accesses.of(parities, state.shape)
        barriers.note_waits(instruction, accesses.positions, is_over)
        over = accesses.only(is_over)
        barriers.observe(over.positions, over.at, state.live, relaxed=relaxed)
        state.write(target, over.mask(state.shape), active)

    return step


def _pending_count(instruction: PtxInstruction) -> Step:
    target, source = written_register(instruction, _operand(instruction, 0)), _value(instruction, 1)

    def step(state: State, active: Active) -> None:
        value: Array = state.read(source, "b64") & np.uint64(_LARGEST_COUNT)
        lost = state.undefined_in(source, value.dtype, active)
        if lost is not None:
            lost = lost._replace(bits=lost.bits & np.uint64(_LARGEST_COUNT))
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
    address = _barrier(instruction, _operand(instruction, 0))

    def step(state: State, active: Active) -> None:
        memory = state.memory
        barriers = memory.mbarriers
        now = None if memory.races is None else memory.races.now()
        accesses = _barrier_accesses(state, instruction, address, active, write=False)
        under_way = memory.copies.in_flight()
        for position in np.unique(accesses.positions).tolist():
            who = accesses.only(accesses.positions == position).mask(state.shape)
            barriers.attach(position, [(copy, who) for copy in under_way], now)
        barriers.release(accesses.positions, accesses.at, state.live, relaxed=False)
        if counted:
            once = np.ones(len(accesses.positions), np.int64)
            _, refused = barriers.arrive(accesses.positions, once, 0 * once)
            note(state, instruction, "illegal operand", accesses.only(refused).mask(state.shape), _TOO_MANY)

    return step
