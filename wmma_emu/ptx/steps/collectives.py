# SPDX-License-Identifier: MIT
"""What instructions of whole warps share: legal spellings, membermasks, words of 32 lanes, findings about lanes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.findings import Said
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
    """Return the opcode if it is one of those that exist."""
    names = tuple(legal)
    if instruction.opcode in names:
        return instruction.opcode
    near = nearest(instruction.opcode, names, 3, 0.0)
    raise UnsupportedInstructionError(f"there is no {instruction.opcode}, or it is not modelled. {nearest_are(near)}")


def operands_of(instruction: PtxInstruction, *counts: int) -> tuple[Operand | None, ...]:
    """Return the operands of an instruction if there are as many as it takes."""
    if len(instruction.operands) not in counts:
        legal = " or ".join(str(n) for n in counts)
        raise UnsupportedInstructionError(
            f"{instruction.opcode} takes {legal} operands, not {len(instruction.operands)}"
        )
    return instruction.operands


def destinations(operand: Operand | None) -> tuple[Register | None, Register | None]:
    """Registers that ``d`` or ``d|p`` names; None for what is left out."""
    if isinstance(operand, PairOperand):
        return operand.first, operand.second
    if operand is None or isinstance(operand, Register):
        return operand, None
    raise UnsupportedInstructionError(f"{operand} is no register to write")


def registers_of_vector(instruction: PtxInstruction, operand: Operand | None, count: int) -> tuple[Operand | None, ...]:
    """Elements of ``{a, b, ...}``, or of a single register that stands for a vector of one."""
    elements = operand.elements if isinstance(operand, VectorOperand) else (operand,)
    if len(elements) != count:
        raise UnsupportedInstructionError(
            f"{instruction.opcode} takes {count} registers here, {{...}} has {len(elements)}"
        )
    return elements


def read_registers(state: State, elements: tuple[Operand | None, ...], kind: str) -> Array:
    """Read a vector's registers: (number, blocks, warps, 32), blocks and warps as narrow as all of them are."""
    values = [state.read(x, kind) for x in elements]
    shape = np.broadcast_shapes(*(x.shape for x in values))[:2]
    out = np.empty((len(values), *shape, LANES), values[0].dtype)
    for i, value in enumerate(values):
        out[i] = value
    return out


def defined_addresses(state: State, instruction: PtxInstruction, address: AddressOperand, active: Active) -> Array:
    """Read ``[base + offset]`` of each thread: uint64; what it is made of has to be defined."""
    state.require_defined(instruction, address, active, "the address")
    return addresses_of(state, address)


def executing(state: State, active: Active) -> Active:
    """The threads that execute, None only where every lane of every warp does."""
    if active is None or active is state.live:
        return None if state.live.all() else state.live
    return active


def lanes_giving_equal_masks(masks: Array, lanes: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """For each of some lanes those of them, as a word, that give its membermask; 0 for other lanes.

    It takes as many rounds as there are different membermasks in a warp: most often one or two.

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

    ``active`` are those that execute; ``mask`` is the membermask that each lane gives, ``together`` the executing lanes
    that this names: words, (blocks, warps, 32) or narrower.
    """

    active: Active
    mask: Array
    together: Array

    @property
    def is_whole_warp(self) -> bool:
        """Whether every lane of every warp takes part."""
        return self.together.size == 1 and self.together.item() == FULL


def participants_of(state: State, instruction: PtxInstruction, operand: Operand | None, active: Active) -> Participants:
    """Read a membermask, and note what is wrong with it; without an operand it is the executing lanes."""
    active = executing(state, active)
    present = np.full((1, 1, 1), FULL) if active is None else word_of(np.broadcast_to(active, state.shape))
    if operand is None:
        return Participants(active, present, present)
    state.require_defined(instruction, operand, active, "the membermask")
    mask = state.read(operand, "b32")
    if "synchronisation" in state.checks and (mask.size > 1 or mask.item() != FULL):
        _check_mask(state, instruction, mask, present, active)
    return Participants(active, mask, mask & present)


def _check_mask(state: State, instruction: PtxInstruction, mask: Array, present: Array, active: Active) -> None:
    left_out = ~has_bit(mask, LANE)
    wrong = left_out if active is None else left_out & active
    note(
        state, instruction, "illegal operand", wrong,
        lambda g, w, lane: f"lane {lane} executes this, but the membermask that it gives, "
        f"{_at(mask, g, w, lane):#010x}, leaves it out",
    )  # fmt: skip
    if mask.shape[-1] > 1:
        shape = np.broadcast_shapes(mask.shape, present.shape, LANE.shape)
        given, there = np.broadcast_to(mask, shape), np.broadcast_to(has_bit(present, LANE), shape)
        other = mask & present & ~lanes_giving_equal_masks(given, there) != 0
        note(
            state, instruction, "illegal operand", other if active is None else other & active,
            lambda g, w, lane: f"lane {lane} gives the membermask {_at(mask, g, w, lane):#010x}, and a lane that "
            "it names gives another one: they have to agree",
        )  # fmt: skip


def _at(values: Array, *where: int) -> int:
    """One thread's value of a narrow array."""
    return int(values[tuple(i if size > 1 else 0 for i, size in zip(where, values.shape, strict=True))])


def note(
    state: State,
    instruction: PtxInstruction,
    kind: str,
    where: NDArray[np.bool_],
    message: str | Said | Callable[[int, int, int], str],
) -> None:
    """Note a finding about the threads of a mask, if there are any.

    The message may be made of the first one's block, warp and lane.
    """
    if not where.any():
        return
    full = np.broadcast_to(where, state.shape)
    g, w, lane = (int(i) for i in np.unravel_index(int(full.argmax()), state.shape))
    text = message if isinstance(message, str | Said) else lambda: message(g, w, lane)
    state.findings.add(
        kind, instruction, text, block=state.threads.name_block(g), thread=state.threads.name_thread(w, lane),
        count=int(np.count_nonzero(full)),
    )  # fmt: skip


def uniform_value(state: State, instruction: PtxInstruction, values: Array, active: Active, what: str) -> Array:
    """Take lane 0's value for the warp, and note where others differ: (blocks, warps, 1)."""
    if values.shape[-1] == 1:
        return values
    first = values[..., :1]
    differs = values != first
    note(
        state, instruction, "illegal operand", differs if active is None else differs & active,
        lambda g, w, lane: f"{what} of lane {lane} is not that of lane 0: it has to be the same in all lanes",
    )  # fmt: skip
    return first
