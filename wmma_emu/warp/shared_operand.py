# SPDX-License-Identifier: MIT
"""Operands of `wgmma` in shared memory."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import Instruction
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import image_of, read_matrix
from wmma_emu.layouts.shared_memory_addresses import as_shared_memory
from wmma_emu.layouts.spec import LANES, WARPS
from wmma_emu.warp.registers import BoundOperand


def is_in_shared_memory(instruction: Instruction, operand: str, given: Any) -> bool:
    """Return whether an operand is read from shared memory: B of `wgmma`, and A unless it is in registers.

    Registers of A are uint32 of shape (num_registers, *batch, 4, 32). A matrix of uint32 is raw tf32, whose last axes
    are never 4 and 32.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> instruction = lookup("wgmma.m64n8k16.f32.f16.f16", "sm_90")
    >>> is_in_shared_memory(instruction, "a", np.zeros((4, 4, 32), np.uint32))
    False
    >>> is_in_shared_memory(instruction, "a", np.zeros((64, 16), np.float16))
    True
    """
    if not instruction.is_warpgroup or operand not in ("a", "b"):
        return False
    registers = isinstance(given, np.ndarray) and given.dtype == np.uint32 and given.shape[-2:] == (WARPS, LANES)
    return operand == "b" or not registers


def lines_of(instruction: Instruction, operand: Literal["a", "b"]) -> tuple[int, int]:
    """Return the number of an operand's lines in shared memory, rows of A or columns of B, and the elements of each.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> lines_of(lookup("wgmma.sp.m64n8k32.f32.f16.f16", "sm_90"), "a")
    (64, 16)
    """
    return (instruction.m, instruction.terms) if operand == "a" else (instruction.n, instruction.k)


def in_shared_memory(
    bound: BoundOperand,
    matrix: Any,
    *,
    swizzle: int = 0,
    transpose: bool = False,
    leading: int | None = None,
    stride: int | None = None,
) -> "SharedOperand":
    """Store a matrix in shared memory: see `BoundWarpgroupInstruction.in_shared_memory`, also for errors.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> b = BoundOperand(lookup("wgmma.m64n8k16.f32.f16.f16", "sm_90"), "b", "sm_90")
    >>> in_shared_memory(b, np.eye(16, 8, dtype=np.float16)).memory[:4].tolist()             # 1.0 is 0x3C00
    [0, 60, 0, 0]
    """
    bits = to_bits(matrix, bound.format, bound.name)
    bound.check_matrix(bits.shape)
    memory, descriptor = image_of(
        bits if bound.operand == "a" else np.ascontiguousarray(bits.swapaxes(-1, -2)),
        bound.format,
        swizzle=swizzle,
        major="mn" if transpose else "k",
        leading=leading,
        stride=stride,
    )
    return SharedOperand(memory, descriptor.encode(), transpose)


@dataclass(frozen=True, slots=True, eq=False)
class SharedOperand:
    """A matrix in shared memory as an operand of `wgmma`.

    Parameters
    ----------
    memory : uint8 array, shape (*batch, bytes)
        Shared memory from address 0. It is not copied: later instructions read data that is stored in it later.
    descriptor : int or MatrixDescriptor
        The matrix descriptor, kept as an integer.
    transpose : bool
        imm-trans-a or imm-trans-b: whether rows of A, or columns of B, are contiguous instead of k.

    Raises
    ------
    FragmentMismatchError
        If the memory is not valid, or the descriptor is not an integer of 64 bits.
    UnsupportedInstructionError
        If the descriptor has reserved bits set.
    """

    memory: NDArray[np.uint8]
    descriptor: int
    transpose: bool = False

    def __post_init__(self) -> None:
        memory = as_shared_memory(self.memory)
        if not isinstance(self.transpose, bool | np.bool_) and integer_of(self.transpose) not in (0, 1):
            raise ArgumentError(f"transpose is True or False, not {shorten(self.transpose)}")
        given: object = self.descriptor
        fields = given if isinstance(given, MatrixDescriptor) else MatrixDescriptor.decode(self.descriptor)
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "descriptor", fields.encode())
        object.__setattr__(self, "transpose", bool(self.transpose))

    def __repr__(self) -> str:
        transposed = ", transpose=True" if self.transpose else ""
        return f"<SharedOperand of {self.memory.shape} bytes, {MatrixDescriptor.decode(self.descriptor)}{transposed}>"

    def read(self, rows: int, k: int, fmt: Format | str) -> Bits:
        """Read patterns, (*batch, rows, k), rows of A or columns of B first: `layouts.shared_memory.read_matrix`."""
        major: Literal["k", "mn"] = "mn" if self.transpose else "k"
        return read_matrix(self.memory, MatrixDescriptor.decode(self.descriptor), rows, k, fmt, major)
