# SPDX-License-Identifier: MIT
"""Operands and block scales of `tcgen05.mma`, which have a format and a shape and no registers."""

from html import escape
from typing import Any

from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats.codec import Bits
from wmma_emu.layouts import LaneMap
from wmma_emu.warp.block_scales import BoundScale
from wmma_emu.warp.registers import BoundOperand

__all__ = ["InTensorMemory", "ScaleInTensorMemory"]


class InTensorMemory(BoundOperand):
    """An operand of `tcgen05.mma`: it has a format and a shape, but no registers."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Look up no layout: there is none."""

    def __repr__(self) -> str:
        shape = "x".join(str(x) for x in self.matrix_shape)
        where = {"a": "shared or tensor memory", "b": "shared memory"}.get(self.operand, "tensor memory")
        return f"<{self.name} of {self.instruction.mnemonic} on {self.arch}: {shape} {self.format} in {where}>"

    def _repr_html_(self) -> str:
        return f"<p><span>{escape(repr(self))}: no lane holds it</span></p>"

    @property
    def layout(self) -> LaneMap:
        """There is none."""
        raise UnsupportedInstructionError(
            f"{self.instruction.mnemonic} has no registers: {self.name} lies in tensor or in shared memory; "
            "placement and in_shared_memory of the instruction say where"
        )

    @property
    def matrix_shape(self) -> tuple[int, ...]:
        """Rows and columns; a sparse A is packed."""
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


class ScaleInTensorMemory(BoundScale):
    """Block scales of `tcgen05.mma`: they have a format and a shape, but no registers."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows, cols = self.matrix_shape
        what = f"{rows}x{cols} {self.format} in tensor memory"
        return f"<{self.name} of {self.instruction.mnemonic} on {self.arch}: {what}>"
