# SPDX-License-Identifier: MIT
"""``mbarrier``: barriers in shared memory, on which threads and asynchronous copies arrive."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.copies import copies_of
from wmma_emu.ptx.memory.generic import classify
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.memory.mbarriers import Mbarriers, Word, mbarriers_of
from wmma_emu.ptx.program.program import AddressOperand, Instruction, Operand, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of, space_of
from wmma_emu.ptx.steps.forms import Active, Binding, Step
from wmma_emu.ptx.steps.loads import refuse
from wmma_emu.ptx.threads import Array

__all__ = ["arrive_of_copies", "mbarrier"]

_LARGEST_COUNT = (1 << 20) - 1


class _Visit(NamedTuple):
    """One thread at its barrier; ``word`` is None where there is none."""

    position: int
    word: Word | None
    block: int
    warp: int
    lane: int


def mbarrier(instruction: Instruction, binding: Binding) -> Step:
    """Make the step of an mbarrier instruction."""
    action = instruction.modifiers[0] if instruction.modifiers else ""
    build = _BUILDERS.get(action)
    if build is None:
        raise refuse(instruction, f"there are {', '.join('mbarrier.' + x for x in _BUILDERS)}")
    return build(instruction)


def _visits(
    state: State, instruction: Instruction, address: AddressOperand, active: Active, *, write: bool, exists: bool = True
) -> Iterator[_Visit]:
    """Find the barrier of each active thread, one thread after another; note where there is none."""
    memory, shape = state.memory, state.shape
    state.require_defined(instruction, address, active, "the address")
    active = state.threads.exists if active is None else active
    space, addresses = space_of(instruction), addresses_of(state, address)
    if not space:
        part = classify(addresses, fit(active, addresses.shape))[0]
        space, addresses = part.space, part.addresses
    space = "shared" if space.startswith("shared") else space
    reached = memory.reach(instruction, space, addresses, 8, 1, 8, active, write=True, ordering="weak")
    if space != "shared":
        state.findings.add("illegal operand", instruction, f"a barrier lies in shared memory, not in {space} memory")
        return
    positions = np.broadcast_to(reached.where.positions, shape)
    mask = np.ones(shape, np.bool_) if reached.mask is None else np.broadcast_to(reached.mask, shape)
    if write:
        memory.note_store(reached, positions[mask], 1, 8, active, None)
    elif memory.races is not None:
        memory.races.read(reached.touch, active)
    barriers = mbarriers_of(memory)
    missing: NDArray[np.bool_] = np.zeros(shape, np.bool_)
    for g, w, lane in zip(*np.nonzero(mask), strict=True):
        position = int(positions[g, w, lane])
        word = barriers.word(position)
        if word is None and exists:
            missing[g, w, lane] = True
            continue
        yield _Visit(position, word, int(g), int(w), int(lane))
    if missing.any():
        _wrong(state, instruction, missing, "there is no barrier at this address: no mbarrier.init made one")


def _wrong(state: State, instruction: Instruction, mask: NDArray[np.bool_], text: str) -> None:
    block, thread, count = state.threads.first(mask)
    state.findings.add("illegal operand", instruction, text, block=block, thread=thread, count=count)


def _init(instruction: Instruction) -> Step:
    address, count = address_operand(instruction, instruction.operands[0]), _operand(instruction, 1)

    def step(state: State, active: Active) -> None:
        counts = np.broadcast_to(state.read(count, "u32"), state.shape)
        barriers = mbarriers_of(state.memory)
        for visit in _visits(state, instruction, address, active, write=True, exists=False):
            number = int(counts[visit.block, visit.warp, visit.lane])
            if not 0 < number <= _LARGEST_COUNT:
                one = np.zeros(state.shape, np.bool_)
                one[visit.block, visit.warp, visit.lane] = True
                _wrong(state, instruction, one, f"a phase of {number} arrivals; there are 1 to {_LARGEST_COUNT}")
            barriers.make(visit.position, number & _LARGEST_COUNT)

    return step


def _inval(instruction: Instruction) -> Step:
    address = address_operand(instruction, instruction.operands[0] if instruction.operands else None)

    def step(state: State, active: Active) -> None:
        for visit in list(_visits(state, instruction, address, active, write=True)):
            mbarriers_of(state.memory).put(visit.position, None)

    return step


def _operand(instruction: Instruction, k: int) -> Operand | None:
    if k >= len(instruction.operands):
        raise refuse(instruction, f"takes {k + 1} operands or more")
    return instruction.operands[k]


def _arrive(instruction: Instruction) -> Step:
    # The state may be left out where the barrier is that of another block; here, clusters have one.
    operands = list(instruction.operands)
    returns = not (operands and isinstance(operands[0], AddressOperand))
    target = operands.pop(0) if returns and operands else None
    if not operands:
        raise refuse(instruction, "takes an address")
    address, amount = address_operand(instruction, operands[0]), operands[1] if len(operands) > 1 else None
    drop = instruction.modifiers[0] == "arrive_drop"
    expects, never_completes = "expect_tx" in instruction.modifiers, "noComplete" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        amounts = np.broadcast_to(
            np.ones((1, 1, 1), np.uint32) if amount is None else state.read(amount, "u32"), state.shape
        )
        barriers = mbarriers_of(state.memory)
        states, too_many = np.zeros(state.shape, np.uint64), np.zeros(state.shape, np.bool_)
        for position, word, block, warp, lane in _visits(state, instruction, address, active, write=False):
            if word is None:
                continue
            number = int(amounts[block, warp, lane])
            states[block, warp, lane] = word.bits()
            count, expect = (1, number) if expects else (number, 0)
            if count > word.pending or (never_completes and count == word.pending and not word.bytes + expect):
                too_many[block, warp, lane] = True
                count = word.pending
            barriers.arrive(position, word, block, warp, count, expect=expect, drop=drop)
        if too_many.any():
            _wrong(state, instruction, too_many, "more arrivals than the phase has pending")
        if isinstance(target, Register):
            state.write(target, states, active)

    return step


def _transactions(sign: int) -> Callable[[Instruction], Step]:
    def build(instruction: Instruction) -> Step:
        address, amount = address_operand(instruction, _operand(instruction, 0)), _operand(instruction, 1)

        def step(state: State, active: Active) -> None:
            amounts = np.broadcast_to(state.read(amount, "u32"), state.shape)
            barriers = mbarriers_of(state.memory)
            for position, word, block, warp, lane in _visits(state, instruction, address, active, write=False):
                if word is not None:
                    word.bytes += sign * int(amounts[block, warp, lane])
                    barriers.settle(position, word)

        return step

    return build


def _wait(instruction: Instruction) -> Step:
    target = _operand(instruction, 0)
    address, phase = address_operand(instruction, _operand(instruction, 1)), _operand(instruction, 2)
    by_parity = "parity" in instruction.modifiers
    if target is not None and not isinstance(target, Register):
        raise refuse(instruction, "writes a predicate")

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, phase, active, "the phase")
        given = np.broadcast_to(state.read(phase, "u32" if by_parity else "b64"), state.shape)
        parities = given & given.dtype.type(1) if by_parity else given >> np.uint64(63)
        done, barriers = np.zeros(state.shape, np.bool_), mbarriers_of(state.memory)
        seen: set[tuple[int, int, int]] = set()
        for position, word, block, warp, lane in _visits(state, instruction, address, active, write=False):
            if word is not None and word.parity != int(parities[block, warp, lane]):
                done[block, warp, lane] = True
                if (position, block, warp) not in seen:
                    seen.add((position, block, warp))
                    barriers.observe(position, block, warp)
        state.write(target, done, active)

    return step


def _pending_count(instruction: Instruction) -> Step:
    target, source = _operand(instruction, 0), _operand(instruction, 1)
    if target is not None and not isinstance(target, Register):
        raise refuse(instruction, "writes a register")

    def step(state: State, active: Active) -> None:
        value: Array = state.read(source, "b64") & np.uint64(_LARGEST_COUNT)
        state.write(target, value.astype(np.uint32), active, state.undefined_of(source))

    return step


_BUILDERS: dict[str, Callable[[Instruction], Step]] = {
    "init": _init, "inval": _inval, "arrive": _arrive, "arrive_drop": _arrive, "expect_tx": _transactions(1),
    "complete_tx": _transactions(-1), "test_wait": _wait, "try_wait": _wait, "pending_count": _pending_count,
}  # fmt: skip


def arrive_of_copies(instruction: Instruction, counted: bool) -> Step:
    """Make the step of cp.async.mbarrier.arrive: the copies under way arrive with the phase of a barrier.

    Without .noinc the phase needs one arrival more than its count says, which is this one: the two cancel.
    """
    address = address_operand(instruction, instruction.operands[0] if instruction.operands else None)

    def step(state: State, active: Active) -> None:
        memory = state.memory
        barriers: Mbarriers = mbarriers_of(memory)
        now = memory.clocks.now.copy()
        visits = list(_visits(state, instruction, address, active, write=False))
        under_way = copies_of(memory).of_threads(active)
        for position in {visit.position for visit in visits}:
            who = np.zeros(state.shape, np.bool_)
            for visit in visits:
                who[visit.block, visit.warp, visit.lane] |= visit.position == position
            barriers.attach(position, [(copy, who) for copy, _ in under_way], now)
        for position, _, block, warp, _ in visits:
            word = barriers.word(position)
            if word is not None and counted:
                barriers.arrive(position, word, block, warp, 1)
            else:
                barriers.release(position, block, warp)

    return step
