# SPDX-License-Identifier: MIT
"""Helpers of matrix instructions: binding to a chip, registers of whole warps, and sparsity metadata."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import ENGINES, check_engine
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions import Instruction, lookup
from wmma_emu.layouts.metadata import granularity_of, metadata_map
from wmma_emu.layouts.metadata_registers import unpack_metadata
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import Immediate, Operand, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note, read_registers, registers_of_vector
from wmma_emu.ptx.steps.lane_operations import Active, Array, CompileContext
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.ptx.threads import Warps
from wmma_emu.warp import BoundInstruction, bound_instruction


class BoundProduct(NamedTuple):
    """A matrix instruction of a program, bound to a chip, and the engine of its products."""

    matrix: BoundInstruction
    engine: str

    @property
    def entry(self) -> Instruction:
        """The entry in the instruction table."""
        return self.matrix.instruction

    @property
    def not_bit_exact(self) -> str | None:
        """The reason why its results are not proved to be bit-exact; None if they are."""
        return self.matrix.doubt


def bind(opcode: str, context: CompileContext) -> BoundProduct:
    """Look up a mnemonic and bind it; a model without a recording becomes a caveat of the step instead of a warning."""
    matrix = bound_instruction(lookup(opcode, context.arch.name), context.arch, warns=False)
    engine = check_engine(context.engine)
    # The numpy engine supports every instruction, with the same bits.
    return BoundProduct(matrix, engine if engine == "auto" or ENGINES[engine].has(matrix.product) else "numpy")


def targets_of(instruction: PtxInstruction, operand: Operand | None, count: int) -> tuple[Register | None, ...]:
    """Return the registers of a vector of results."""
    elements = registers_of_vector(instruction, operand, count)
    if not all(x is None or isinstance(x, Register) for x in elements):
        raise UnsupportedInstructionError(f"{instruction.opcode} expects registers as its results")
    return elements  # type: ignore[return-value]


def sources_of(instruction: PtxInstruction, operand: Operand | None, count: int) -> tuple[Operand | None, ...]:
    """Return the elements of a vector of sources."""
    elements = registers_of_vector(instruction, operand, count)
    require_values(instruction, *elements)
    return elements


def gathered(state: State, warps: Warps, elements: tuple[Operand | None, ...], kind: str) -> Array:
    """Read a vector's registers for the warps that execute: (registers, count, 32); count is 1 if all warps agree."""
    values = read_registers(state, elements, kind)
    if values.shape[1] == values.shape[2] == 1:
        return values[:, 0]
    full = np.broadcast_to(values, (len(values), *warps.shape))
    if warps.index is None:
        return full.reshape(len(values), -1, LANES)
    return full[:, warps.index[0], warps.index[1]]


def write_registers(
    state: State, warps: Warps, targets: tuple[Register | None, ...], values: Array, active: Active,
    undefined: Undefined | None = None,
) -> None:  # fmt: skip
    """Write (registers, count, 32) to a vector's registers; count may be 1 if all warps agree.

    ``undefined`` covers all threads: (registers, blocks, warps, 32).
    """
    is_shared = values.shape[1] == 1 and warps.count > 1
    for k, (register, value) in enumerate(zip(targets, values, strict=True)):
        lost = None if undefined is None else Undefined(undefined.bits[k], undefined.origin)
        state.write(register, value[None] if is_shared else warps.scatter(value), active, lost)


def immediate_of(instruction: PtxInstruction, operand: Operand | None, what: str) -> int:
    """Return the value of an operand that has to be a constant."""
    if not isinstance(operand, Immediate) or operand.kind != "int":
        message = f"{what} of {instruction.opcode} has to be an integer constant, not {describe(operand)}"
        raise UnsupportedInstructionError(message)
    return operand.value


class Metadata(NamedTuple):
    """The metadata register of a sparse instruction, and the lanes that are read.

    ``lanes`` are the lanes that the selector chooses, bool (1, 1, 32).
    """

    entry: Instruction
    register: Operand | None
    selector: int
    lanes: NDArray[np.bool_]

    @classmethod
    def of(cls, entry: Instruction, register: Operand | None, selector: int) -> "Metadata":
        """Check the selector, and determine the lanes that it chooses."""
        try:
            found = metadata_map(entry, selector)
        except FragmentMismatchError as error:
            raise UnsupportedInstructionError(str(error)) from None
        lanes = np.isin(np.arange(LANES), found.lane).reshape(1, 1, LANES)
        return cls(entry, register, selector, lanes)

    def read(
        self, state: State, instruction: PtxInstruction, warps: Warps, active: Active
    ) -> tuple[Array, NDArray[np.bool_] | None]:
        """Return the metadata of the warps, uint32 (count, 32), and which warps have legal metadata, None for all.

        Illegal metadata is replaced by legal metadata; the products of these warps must not be used.
        """
        state.require_defined(
            instruction, self.register, self.lanes if active is None else active & self.lanes, "the metadata"
        )
        words = np.ascontiguousarray(warps.gather(state.read(self.register, "b32")))
        found, places = metadata_map(self.entry, self.selector), granularity_of(self.entry)
        known = np.zeros(16, np.bool_)
        known[list(places.nibbles)] = True
        lane = found.lane % LANES
        first_of_warp = np.arange(self.entry.m)[:, None] // (self.entry.m // self.entry.warps)
        by_group = words.reshape(-1, self.entry.warps, LANES)
        nibbles = by_group[:, first_of_warp, lane] >> (4 * found.nibble).astype(np.uint32) & np.uint32(15)
        legal = known[nibbles].all(axis=(1, 2))
        if legal.all():
            return words, None
        bad = np.repeat(~legal, self.entry.warps)
        self._note(state, instruction, warps, words, bad)
        nibble = next(iter(places.nibbles))
        return np.where(bad[:, None], np.uint32(nibble * 0x1111_1111), words), ~bad

    def _note(
        self, state: State, instruction: PtxInstruction, warps: Warps, words: Array, bad: NDArray[np.bool_]
    ) -> None:
        first = np.flatnonzero(bad)[: self.entry.warps]
        given = words[first] if self.entry.is_warpgroup else words[first[0]]
        try:
            unpack_metadata(
                self.entry, given.reshape(-1, 4, LANES)[0] if self.entry.is_warpgroup else given, self.selector
            )
            text = "the metadata is illegal"
        except FragmentMismatchError as error:
            text = str(error)
        where = warps.scatter(np.broadcast_to(bad[:, None], (warps.count, LANES)))
        note(state, instruction, "illegal metadata", where & self.lanes, text)
