# SPDX-License-Identifier: MIT
"""Operands of `wgmma` in shared memory: bytes with a matrix descriptor; and a B that has no registers."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts import LaneMap
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import read_matrix
from wmma_emu.warp.registers import BoundOperand

__all__ = ["InSharedMemory", "SharedOperand"]


@dataclass(frozen=True, slots=True, eq=False)
class SharedOperand:
    """A matrix in shared memory, as `wgmma` is told of it.

    Parameters
    ----------
    memory : uint8 array, shape (*batch, bytes)
        Shared memory from address 0 on. Not copied: what is stored there later, later instructions read.
    descriptor : int or MatrixDescriptor
        The matrix descriptor, kept as an integer.
    transpose : bool
        imm-trans-a or imm-trans-b: rows of A, or columns of B, are contiguous, not k.

    Raises
    ------
    FragmentMismatchError
        For other memory, or a descriptor that is no integer of 64 bits.
    UnsupportedInstructionError
        For a descriptor with reserved bits.
    """

    memory: NDArray[np.uint8]
    descriptor: int
    transpose: bool = False

    def __post_init__(self) -> None:
        memory, _ = as_numpy(self.memory, "memory")
        if memory.dtype != np.uint8 or memory.ndim == 0:
            raise FragmentMismatchError(
                f"shared memory is a uint8 array of shape (..., bytes), not {shorten(memory.dtype, str)} of shape "
                f"{memory.shape}; .view(np.uint8) of a contiguous array is its bytes"
            )
        if not isinstance(self.transpose, bool | np.bool_) and integer_of(self.transpose) not in (0, 1):
            raise FragmentMismatchError(f"transpose is True or False, not {shorten(self.transpose)}")
        given: object = self.descriptor
        fields = given if isinstance(given, MatrixDescriptor) else MatrixDescriptor.decode(self.descriptor)
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "descriptor", fields.encode())
        object.__setattr__(self, "transpose", bool(self.transpose))

    def __repr__(self) -> str:
        transposed = ", transpose=True" if self.transpose else ""
        return f"<SharedOperand of {self.memory.shape} bytes, {MatrixDescriptor.decode(self.descriptor)}{transposed}>"

    def read(self, rows: int, k: int, fmt: Format | str) -> Bits:
        """Read patterns, (*batch, rows, k), rows of A or columns of B first; see `wmma_emu.layouts.read_matrix`."""
        major: Literal["k", "mn"] = "mn" if self.transpose else "k"
        return read_matrix(self.memory, MatrixDescriptor.decode(self.descriptor), rows, k, fmt, major)


class InSharedMemory(BoundOperand):
    """B of `wgmma`: it has a format and a shape, but no registers."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Look up no layout: there is none."""

    def __repr__(self) -> str:
        shape = "x".join(str(x) for x in self.matrix_shape)
        return f"<{self.name} of {self.instruction.mnemonic} on {self.arch}: {shape} {self.format} in shared memory>"

    @property
    def layout(self) -> LaneMap:
        """There is none."""
        raise UnsupportedInstructionError(
            f"{self.instruction.mnemonic} reads {self.name} from shared memory, so it has no registers: give execute "
            f"the matrix {self.matrix_shape} itself, or a SharedOperand, which in_shared_memory() makes of a matrix"
        )

    @property
    def matrix_shape(self) -> tuple[int, ...]:
        """(k, n)."""
        return self.instruction.matrix_shape(self.operand)

    @property
    def num_registers(self) -> int:
        """0."""
        return 0

    @property
    def num_elements(self) -> int:
        """0."""
        return 0

    def pack_bits(self, bits: Bits) -> NDArray[Any]:
        """Refuse: there are no registers."""
        return self.layout.gather(bits)
