# SPDX-License-Identifier: MIT
"""What goes to a GPU when `wgmma` reads an operand from shared memory: bytes for each tile, and a descriptor."""

from typing import Any, Literal

import numpy as np

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import image_of, read_matrix
from wmma_emu.layouts.spec import LANES
from wmma_emu.warp import SharedOperand

__all__ = ["is_in_shared_memory", "shared_operand"]

_UNIT = 16
"""Bytes that a thread copies at once."""


def is_in_shared_memory(row: Instruction, operand: str, given: Any) -> bool:
    """Whether an operand goes to the instruction through shared memory: B of `wgmma`, and A unless it is registers.

    Registers of A are uint32 of shape (num_registers, *batch, 4, 32), which no matrix has.
    """
    if not row.is_warpgroup or operand not in ("a", "b"):
        return False
    registers = isinstance(given, np.ndarray) and given.dtype == np.uint32 and given.shape[-2:] == (row.warps, LANES)
    return operand == "b" or not registers


def shared_operand(row: Instruction, operand: Literal["a", "b"], given: Any, checked: bool = True) -> SharedOperand:
    """Lay an operand out as `wgmma` reads it, in whole units of 16 bytes.

    Parameters
    ----------
    row : Instruction
    operand : {"a", "b"}
    given : SharedOperand, or array (..., 64, terms) or (..., K, N)
        A matrix is laid out without swizzle, k contiguous, atom beside atom.
    checked : bool
        Whether a descriptor has to be one that the emulator takes.

    Raises
    ------
    FragmentMismatchError
        If a matrix has another shape than the operand.
    OutOfBoundsError, AlignmentError, UnsupportedInstructionError
        For a descriptor that leads out of the memory, that does not fit its swizzle, or that transposes a format
        which cannot be.
    """
    fmt = row.format(operand)
    rows, k = (row.m, row.terms) if operand == "a" else (row.n, row.k)
    if isinstance(given, SharedOperand):
        if given.transpose and fmt.bits != 16:
            raise UnsupportedInstructionError(f"{row.mnemonic} cannot transpose {operand.upper()}: it is {fmt}")
        missing = -given.memory.shape[-1] % _UNIT
        memory = np.pad(given.memory, [(0, 0)] * (given.memory.ndim - 1) + [(0, missing)])
        first = given.memory.reshape(-1, given.memory.shape[-1])[:1]
        fields = MatrixDescriptor.decode(given.descriptor)
        if checked:
            read_matrix(first, fields, rows, k, fmt, "mn" if given.transpose else "k")
        return SharedOperand(memory, given.descriptor, given.transpose)
    bits = to_bits(given, fmt, operand.upper())
    legal = row.matrix_shape(operand)
    if bits.shape[-2:] != legal:
        raise FragmentMismatchError(
            f"{operand.upper()} has shape {bits.shape}; {row.mnemonic} takes a matrix (..., {legal[0]}, {legal[1]})"
        )
    lines_first = bits if operand == "a" else np.ascontiguousarray(bits.swapaxes(-1, -2))
    images, descriptor = image_of(lines_first, fmt)
    return SharedOperand(images, descriptor.encode(), False)
