# SPDX-License-Identifier: MIT
"""The block scales of a matrix instruction: their registers, and the selectors of bytes and threads."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import scale_map, scale_selectors_of
from wmma_emu.layouts.block_scales import SCALED, Scaled
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.program import Immediate, Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operations import Active, Array
from wmma_emu.ptx.steps.matrix_operands import gathered, sources_of
from wmma_emu.ptx.threads import Warps

OPERANDS_OF_SCALES = 4
"""The number of operands: scale-a-data, {byte-id-a, thread-id-a}, scale-b-data, {byte-id-b, thread-id-b}."""

_LANE = np.arange(LANES)


class OperandScales(NamedTuple):
    """The scales of A or of B: their register, byte-id and thread-id."""

    operand: Scaled
    data: tuple[Operand | None, ...]
    byte_id: Operand | None
    thread_id: Operand | None

    @property
    def is_constant(self) -> bool:
        """Whether the selectors are constants."""
        return isinstance(self.byte_id, Immediate) and isinstance(self.thread_id, Immediate)


class BlockScales(NamedTuple):
    """The operands of block scales."""

    entry: Instruction
    sides: tuple[OperandScales, ...]

    @classmethod
    def of(cls, instruction: PtxInstruction, entry: Instruction, operands: tuple[Operand | None, ...]) -> "BlockScales":
        """Check the four operands; constant selectors are checked at once, registers when they are read."""
        sides = []
        for operand, data, selectors in zip(SCALED, operands[::2], operands[1::2], strict=True):
            side = OperandScales(operand, sources_of(instruction, data, 1), *sources_of(instruction, selectors, 2))
            if side.is_constant:
                try:
                    scale_map(entry, operand, *(x.value for x in side[2:] if isinstance(x, Immediate)))
                except FragmentMismatchError as error:
                    raise UnsupportedInstructionError(str(error)) from None
            sides.append(side)
        return cls(entry, tuple(sides))

    def read(
        self, state: State, instruction: PtxInstruction, warps: Warps, active: Active
    ) -> tuple[dict[str, Array], NDArray[np.bool_] | None]:
        """Read the scales of the warps, aligned to byte-id 0 and thread-id 0: uint32 (count or 1, 32) by keyword.

        Also return which warps have legal selectors, (count,), None for all; the products of the others must not be
        used.
        """
        scales, legal = {}, np.ones(warps.count, np.bool_)
        for side in self.sides:
            byte, thread = self._selectors(state, instruction, warps, side, legal, active)
            read = _LANE % 4 // 2 == thread if side.operand == "a" else _LANE % 4 == thread
            lanes = warps.scatter(np.broadcast_to(read, (warps.count, LANES)))
            what = f"the scales of {side.operand.upper()}"
            state.require_defined(instruction, side.data[0], lanes if active is None else lanes & active, what)
            words = gathered(state, warps, side.data, "b32")[0]
            source = _LANE // 4 * 4 + (_LANE % 2 + 2 * thread if side.operand == "a" else thread)
            shape = np.broadcast_shapes(words.shape, source.shape)
            chosen = np.take_along_axis(np.broadcast_to(words, shape), np.broadcast_to(source, shape), axis=-1)
            scales[f"scale_{side.operand}"] = chosen >> (8 * byte).astype(np.uint32)
        return scales, None if legal.all() else legal

    def _selectors(
        self, state: State, instruction: PtxInstruction, warps: Warps, side: OperandScales, legal: NDArray[np.bool_],
        active: Active,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return byte-id and thread-id of the warps, (count, 1) or (1, 1); report illegal ones and replace them."""
        allowed = scale_selectors_of(self.entry, side.operand)
        found = []
        for name, operand, values in zip(("byte", "thread"), side[2:], allowed, strict=True):
            if side.is_constant and isinstance(operand, Immediate):
                found.append(np.full((1, 1), operand.value))
                continue
            state.require_defined(instruction, operand, active, f"{name}-id-{side.operand}")
            given = warps.gather(state.read(operand, "b16")).astype(np.int64)
            executes = np.ones_like(given, np.bool_) if warps.active is None else warps.active
            first = np.take_along_axis(given, executes.argmax(axis=-1)[:, None], axis=-1)
            bad = (((given != first) & executes).any(axis=-1, keepdims=True)) | ~np.isin(first, values)
            if bad.any():
                where = warps.scatter(np.broadcast_to(bad, given.shape) & executes)
                values_given = ", ".join(map(str, np.unique(given[bad[:, 0]])))
                note(
                    state, instruction, "illegal operand", where,
                    f"{name}-id-{side.operand} is {values_given}; it has to be {' or '.join(map(str, values))}, the "
                    "same in all lanes",
                )  # fmt: skip
                legal &= ~bad[:, 0]
            found.append(np.where(bad, 0, first))
        return found[0], found[1]
