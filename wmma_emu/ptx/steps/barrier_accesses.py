# SPDX-License-Identifier: MIT
"""The mbarrier operand of an instruction, and the threads that access the barriers that it names."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import ThreadIndices
from wmma_emu.ptx.findings import Diagnosis
from wmma_emu.ptx.memory.generic import classify
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.memory.mbarrier_messages import NOT_INITIALISED
from wmma_emu.ptx.memory.mbarrier_records import Fault
from wmma_emu.ptx.memory.resolved_access import BLOCK
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import AddressOperand, Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of, space_of
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operations import Active
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.ptx.threads import Array


class BarrierAccesses(NamedTuple):
    """The threads that access a barrier, in order: the position of each thread's barrier, and the thread."""

    positions: NDArray[np.int64]
    blocks: NDArray[np.int64]
    warps: NDArray[np.int64]
    lanes: NDArray[np.int64]

    def of(self, value: Array, shape: tuple[int, int, int]) -> Array:
        """Return the values of these threads."""
        return np.asarray(np.broadcast_to(value, shape)[self.blocks, self.warps, self.lanes])

    def only(self, where: NDArray[np.bool_]) -> "BarrierAccesses":
        """Return some of the threads."""
        return BarrierAccesses(*(x[where] for x in self))

    def mask(self, shape: tuple[int, int, int]) -> NDArray[np.bool_]:
        """Return the mask of the threads, (blocks, warps, 32)."""
        out = np.zeros(shape, np.bool_)
        out[self.blocks, self.warps, self.lanes] = True
        return out

    @property
    def at(self) -> ThreadIndices:
        """The indices of the threads."""
        return self.blocks, self.warps, self.lanes


def barrier_operand(instruction: PtxInstruction, operand: Operand | None) -> AddressOperand:
    """Return the operand that is the address of an mbarrier."""
    return address_operand(instruction, operand, ("shared",))


def operand_at(instruction: PtxInstruction, k: int) -> Operand | None:
    """Return an operand that an instruction needs."""
    if k >= len(instruction.operands):
        raise refusal(instruction, f"expects at least {k + 1} operands")
    return instruction.operands[k]


def value_at(instruction: PtxInstruction, k: int) -> Operand | None:
    """Return an operand that must have a value."""
    operand = operand_at(instruction, k)
    require_values(instruction, operand)
    return operand


def barrier_accesses(
    state: State,
    instruction: PtxInstruction,
    address: AddressOperand,
    active: Active,
    *,
    write: bool,
    exists: bool = True,
    words: Array | None = None,
) -> BarrierAccesses:
    """Return the barriers that active threads access; threads without a valid barrier are reported and left out.

    ``words`` are the 64 bits that each thread writes, if it is known: equal ones of the lanes of a warp do not race.
    """
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
        memory.note_store(reached, positions, active, None, None if words is None else words[None])
    elif space == "shared" and memory.races is not None:
        strong = reached.access._replace(strength=BLOCK)  # a bulk copy does not load its barrier as a value
        memory.races.read(reached._replace(access=strong), active)
    accesses = BarrierAccesses(positions, *np.nonzero(mask))
    if exists:
        made = memory.mbarriers.exist(positions)
        if not made.all():
            unknown = ~made & ~np.isin(positions, list(memory.mbarriers.reused))
            if unknown.any():
                described = memory.mbarriers.describe_missing(int(positions[unknown][0]))
                note(state, instruction, NOT_INITIALISED, accesses.only(unknown).mask(shape), described)
            accesses = accesses.only(made)
    return accesses


def report_faults(
    state: State, instruction: PtxInstruction, accesses: BarrierAccesses, faults: Sequence[Fault]
) -> None:  # fmt: skip
    """Report the faults of threads that access barriers: of each kind, the first one and the number of threads."""
    for kind in dict.fromkeys(x.kind for x in faults):
        found = [x for x in faults if x.kind == kind]
        threads = np.zeros(len(accesses.positions), np.bool_)
        threads[[x.access for x in found]] = True
        first = min(found, key=lambda x: x.access)
        note(state, instruction, kind, accesses.only(threads).mask(state.shape), Diagnosis(first.message, first.remedy))


def deliver(
    state: State, instruction: PtxInstruction, accesses: BarrierAccesses, amounts: NDArray[np.int64], packet: int
) -> None:
    """Complete the transactions of copies at mbarriers, whose bytes are counted in packets."""
    faults = state.memory.mbarriers.deliver(instruction, accesses.positions, accesses.at, amounts, packet)
    report_faults(state, instruction, accesses, faults)
