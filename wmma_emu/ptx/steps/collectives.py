# SPDX-License-Identifier: MIT
"""Helpers of warp-level instructions: legal spellings, membermasks, lane masks, and findings about lanes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.findings import Diagnosis
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Operand,
    PairOperand,
    PtxInstruction,
    Register,
    VectorOperand,
)
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import addresses_of
from wmma_emu.ptx.threads import Active, Array
from wmma_emu.suggestions import nearest, nearest_are
from wmma_emu.warp.lane_words import FULL, has_bit, word_of

LANE = np.arange(LANES, dtype=np.uint32).reshape(1, 1, LANES)


def require_spelling(instruction: PtxInstruction, legal: Iterable[str]) -> str:
    """Return the opcode if it is legal, else raise an error with the nearest legal opcodes."""
    names = tuple(legal)
    if instruction.opcode in names:
        return instruction.opcode
    near = nearest(instruction.opcode, names, 3, 0.0)
    raise UnsupportedInstructionError(f"{instruction.opcode} does not exist or is not modelled. {nearest_are(near)}")


def operands_of(instruction: PtxInstruction, *counts: int) -> tuple[Operand | None, ...]:
    """Return the operands of an instruction if their number is legal."""
    if len(instruction.operands) not in counts:
        legal = " or ".join(str(n) for n in counts)
        raise UnsupportedInstructionError(
            f"{instruction.opcode} expects {legal} operands, not {len(instruction.operands)}"
        )
    return instruction.operands


def destinations(operand: Operand | None) -> tuple[Register | None, Register | None]:
    """Return the registers of a destination ``d`` or ``d|p``; None for an omitted one."""
    if isinstance(operand, PairOperand):
        first, _ = destinations(operand.first)
        return first, operand.second
    if operand is None or isinstance(operand, Register):
        return operand, None
    raise UnsupportedInstructionError(f"expected a register as the destination, not {describe(operand)}")


def registers_of_vector(instruction: PtxInstruction, operand: Operand | None, count: int) -> tuple[Operand | None, ...]:
    """Return the elements of ``{a, b, ...}``; a single register is a vector of one."""
    elements = operand.elements if isinstance(operand, VectorOperand) else (operand,)
    if len(elements) != count:
        raise UnsupportedInstructionError(
            f"{instruction.opcode} expects a vector of {count} registers, not of {len(elements)}"
        )
    return elements


def read_registers(state: State, elements: tuple[Operand | None, ...], kind: str) -> Array:
    """Read a vector's registers: (number, blocks, warps, 32); blocks and warps are 1 if all registers are narrow."""
    values = [state.read(x, kind) for x in elements]
    shape = np.broadcast_shapes(*(x.shape for x in values))[:2]
    out = np.empty((len(values), *shape, LANES), values[0].dtype)
    for i, value in enumerate(values):
        out[i] = value
    return out


def defined_addresses(state: State, instruction: PtxInstruction, address: AddressOperand, active: Active) -> Array:
    """Return the address ``[base + offset]`` of each thread, uint64, and report undefined addresses."""
    state.require_defined(instruction, address, active, "the address")
    return addresses_of(state, address)


def executing(state: State, active: Active) -> Active:
    """Return the threads that execute; None only if every lane of every warp does."""
    if active is None or active is state.live:
        return None if state.live.all() else state.live
    return active


def lanes_giving_equal_masks(masks: Array, lanes: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return for each of some lanes the mask of the lanes that give the same membermask; 0 for other lanes.

    The loop runs once for each membermask in a warp, usually one or two times.

    Examples
    --------
    >>> masks = np.where(np.arange(32) < 4, np.uint32(0xF), np.uint32(0xF0)).reshape(1, 1, 32)
    >>> [hex(x) for x in lanes_giving_equal_masks(masks, np.arange(32).reshape(1, 1, 32) < 8)[0, 0, [0, 7, 8]].tolist()]
    ['0xf', '0xf0', '0x0']
    """
    found, left = np.zeros(masks.shape, np.uint32), lanes.copy()
    while left.any():
        first = np.take_along_axis(masks, left.argmax(axis=-1, keepdims=True), axis=-1)
        together = left & (masks == first)
        np.copyto(found, word_of(together), where=together)
        left &= ~together
    return found


class Participants(NamedTuple):
    """The lanes that execute a collective instruction together.

    ``active`` are the threads that execute; ``mask`` is the membermask of each lane, ``together`` the executing lanes
    in it: words, (blocks, warps, 32) or narrower.
    """

    active: Active
    mask: Array
    together: Array

    @property
    def is_whole_warp(self) -> bool:
        """Whether every lane of every warp takes part."""
        return self.together.size == 1 and self.together.item() == FULL


def participants_of(state: State, instruction: PtxInstruction, operand: Operand | None, active: Active) -> Participants:
    """Read a membermask and report errors in it; without an operand, the executing lanes participate."""
    active = executing(state, active)
    present = np.full((1, 1, 1), FULL) if active is None else word_of(np.broadcast_to(active, state.shape))
    if operand is None:
        return Participants(active, present, present)
    state.require_defined(instruction, operand, active, "the membermask")
    mask = state.read(operand, "b32")
    if "synchronisation" in state.checks and (mask.size > 1 or mask.item() != FULL):
        _check_mask(state, instruction, mask, present, active)
    together = mask & present
    state.causality.lanes_met(together if active is None else np.where(active, together, np.uint32(0)))
    return Participants(active, mask, together)


def _check_mask(state: State, instruction: PtxInstruction, mask: Array, present: Array, active: Active) -> None:
    left_out = ~has_bit(mask, LANE)
    wrong = left_out if active is None else left_out & active
    note(
        state, instruction, "illegal operand", wrong,
        lambda g, w, lane: f"lane {lane} executes this instruction, but its membermask, "
        f"{_at(mask, g, w, lane):#010x}, does not include it",
    )  # fmt: skip
    if mask.shape[-1] > 1:
        shape = np.broadcast_shapes(mask.shape, present.shape, LANE.shape)
        given, there = np.broadcast_to(mask, shape), np.broadcast_to(has_bit(present, LANE), shape)
        other = mask & present & ~lanes_giving_equal_masks(given, there) != 0
        note(
            state, instruction, "illegal operand", other if active is None else other & active,
            lambda g, w, lane: f"lane {lane} has the membermask {_at(mask, g, w, lane):#010x}, but a lane in it "
            "gives a different one: both must give the same membermask",
        )  # fmt: skip


def _at(values: Array, *where: int) -> int:
    """Return one thread's value of a narrow array."""
    return int(values[tuple(i if size > 1 else 0 for i, size in zip(where, values.shape, strict=True))])


def note(
    state: State,
    instruction: PtxInstruction,
    kind: str,
    where: NDArray[np.bool_],
    message: str | Diagnosis | Callable[[int, int, int], str],
) -> None:
    """Report a finding about the threads of a mask, unless it is empty.

    The message may be a function of the block, warp and lane of the first thread.
    """
    if not where.any():
        return
    full = np.broadcast_to(where, state.shape)
    g, w, lane = (int(i) for i in np.unravel_index(int(full.argmax()), state.shape))
    text = message if isinstance(message, str | Diagnosis) else lambda: message(g, w, lane)
    state.findings.add(
        kind, instruction, text, block=state.threads.name_block(g), thread=state.threads.name_thread(w, lane),
        count=int(np.count_nonzero(full)),
    )  # fmt: skip


def uniform_value(state: State, instruction: PtxInstruction, values: Array, active: Active, what: str) -> Array:
    """Return lane 0's value for each warp, (blocks, warps, 1), and report lanes with other values."""
    if values.shape[-1] == 1:
        return values
    first = values[..., :1]
    differs = values != first
    note(
        state, instruction, "illegal operand", differs if active is None else differs & active,
        lambda g, w, lane: f"{what} of lane {lane} differs from that of lane 0: it has to be the same in all lanes",
    )  # fmt: skip
    return first
