# SPDX-License-Identifier: MIT
"""One operand of an instruction on a chip: conversion between a matrix and the registers of whole warps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.display import render
from wmma_emu.errors import FragmentMismatchError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.formats.memory_limit import require_memory
from wmma_emu.instructions.spec import Container, Instruction, Operand
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.layouts.cute_layout import CuteLayout
from wmma_emu.layouts.tiled import TiledLayout, tiled_layout
from wmma_emu.warp.containers import pack_containers, unpack_containers
from wmma_emu.warp.quad_pairs import matrix_of_copies


@dataclass(frozen=True, slots=True)
class BoundOperand:
    """An operand of an instruction on a chip, in registers or in memory.

    Registers are ``uint32`` arrays (``uint64`` for f64) of shape ``(num_registers, *warps, 32)``; for `wgmma`, whose
    four warps hold a matrix together, ``(num_registers, *batch, 4, 32)``. `m8n8k4` of f16 multiplies four matrices at
    once, one per quad pair; their axis comes directly before the rows.

    Parameters
    ----------
    instruction : Instruction
    operand : {"a", "b", "c", "d"}
    arch : str
        Name of a chip that supports the instruction.

    Examples
    --------
    >>> import numpy as np
    >>> from wmma_emu.instructions.table import INSTRUCTIONS
    >>> ins = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    >>> a = BoundOperand(ins, "a", "sm_90")
    >>> a
    <A of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90: 16x16 f16 in 4 registers>
    >>> A = np.arange(256).reshape(16, 16).astype(np.float16)
    >>> registers = a.pack(A)
    >>> registers.shape, hex(registers[0, 0]), A[0, :2].view(np.uint16).tolist() == [0x0000, 0x3C00]
    ((4, 32), '0x3c000000', True)
    >>> np.array_equal(a.unpack(registers), A)
    True
    """

    instruction: Instruction
    operand: Operand
    arch: str

    def __post_init__(self) -> None:
        if self.in_registers:
            layout_for(self.instruction, self.operand, self.arch)

    def __repr__(self) -> str:
        shape = "x".join(str(x) for x in self.matrix_shape)
        place = f"{self.num_registers} registers" if self.in_registers else self.place
        return f"<{self.name} of {self.instruction.mnemonic} on {self.arch}: {shape} {self.format} in {place}>"

    def _repr_html_(self) -> str:
        return str(render("operand.html", self))

    @property
    def name(self) -> str:
        """The operand's letter as a matrix: ``"A"``."""
        return self.operand.upper()

    @property
    def place(self) -> str:
        """The location: ``"registers"``, ``"shared memory"``, ``"tensor memory"``, ``"shared or tensor memory"``."""
        return self.instruction.place(self.operand)

    @property
    def in_registers(self) -> bool:
        """Whether lanes hold the operand."""
        return self.place == "registers"

    @property
    def layout(self) -> LaneMap:
        """The layout in registers; raises `UnsupportedInstructionError` if the operand is in memory."""
        return layout_for(self.instruction, self.operand, self.arch)

    def tiled(
        self,
        warps: Sequence[int] | str | CuteLayout = (2, 2),
        tile: Sequence[int] | None = None,
        permutations: Sequence[str | CuteLayout | None] | None = None,
    ) -> TiledLayout:
        """Distribute the operand over several warps, as CuTe's ``TiledMMA`` does.

        Parameters
        ----------
        warps : sequence of int, str or CuteLayout
            The number along m, n (and k), or CuTe's ``AtomLayoutMNK``. For `wgmma` these are warpgroups.
        tile : sequence of int, optional
            m, n and k of the whole tile; by default one instruction for each warp.
        permutations : sequence of three, optional
            CuTe's ``PermutationMNK``.

        Raises
        ------
        UnsupportedInstructionError, FragmentMismatchError
            As for `wmma_emu.layouts.tiled.tiled_layout`.

        Examples
        --------
        >>> import wmma_emu as we
        >>> tile = we.instruction("m16n8k16.f32.f16.f16.f32").b.tiled((2, 2), (64, 64, 16))
        >>> tile.element_at(warp=2, lane=5, register=1), [x.warp for x in tile.locate(10, 9)]
        ((10, 9), [2, 3])
        """
        return tiled_layout(self.instruction, self.operand, warps, tile, arch=self.arch, permutations=permutations)

    @property
    def format(self) -> Format:
        """The format of the elements."""
        return self.instruction.format(self.operand)

    @property
    def container(self) -> Container:
        """The storage of an element within the bits of the layout: ``kind::f8f6f4`` uses a byte per element."""
        return self.instruction.container(self.operand)

    @property
    def matrix_shape(self) -> tuple[int, ...]:
        """Rows and columns of the matrix, after the number of matrices if a warp multiplies several."""
        return self.layout.matrix_shape if self.in_registers else self.instruction.matrix_shape(self.operand)

    @property
    def num_registers(self) -> int:
        """The number of registers of a lane; 0 for an operand in memory."""
        return self.layout.num_registers if self.in_registers else 0

    @property
    def num_elements(self) -> int:
        """The number of elements of a lane, duplicates included; 0 for an operand in memory."""
        return self.layout.num_elements if self.in_registers else 0

    @property
    def register_dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """``uint32``, or ``uint64`` for f64."""
        return np.dtype(f"u{self.layout.register_bits // 8}")

    @takes_tensors
    def pack(self, matrix: ArrayLike) -> NDArray[Any]:
        """Distribute a matrix to the registers of the lanes, as a load of the fragment does.

        Parameters
        ----------
        matrix : array, shape (*warps, rows, cols)
            In the operand's dtype, or raw bits.

        Returns
        -------
        uint32 array, shape (num_registers, *warps, 32)

        Raises
        ------
        FragmentMismatchError
            If the shape or dtype is not the operand's.
        """
        return self.pack_bits(to_bits(matrix, self.format, self.name))

    @takes_tensors
    def unpack(self, registers: NDArray[Any]) -> NDArray[Any]:
        """Assemble the matrix: the inverse of `pack`, in the dtype of the format.

        If an element has duplicates, those that the instruction reads are used.

        Raises
        ------
        FragmentMismatchError
            If the registers are not of this operand, or hold replicas of an element that differ although the
            instruction reads them all (WMMA on Volta).
        """
        return from_bits(self.unpack_bits(registers), self.format)

    def pack_bits(self, bits: Bits) -> NDArray[Any]:
        """Pack bit patterns, one per array element; otherwise as `pack`."""
        layout = self.layout
        self.check_matrix(bits.shape)
        return self.pack_elements(layout.gather(bits))

    def unpack_bits(self, registers: NDArray[Any], name: str = "registers") -> Bits:
        """Unpack to bit patterns, one per array element; error messages call the registers ``name``."""
        return matrix_of_copies(self.layout, self.unpack_elements(registers, name), self.name, self.arch)

    def pack_elements(self, elements: Bits) -> NDArray[Any]:
        """Pack every lane's elements, (num_elements, *warps, 32), into registers: the inverse of `unpack_elements`."""
        return pack_containers(elements, self.format, self.container)

    def unpack_elements(self, registers: NDArray[Any], name: str = "registers") -> Bits:
        """Unpack registers into every lane's elements, duplicates included: (num_elements, *warps, 32)."""
        return unpack_containers(self.checked_registers(registers, name), self.format, self.container)

    def checked_registers(self, registers: NDArray[Any], name: str = "registers") -> NDArray[Any]:
        """Return the registers of this operand, or raise an error."""
        registers = as_numpy(registers, name)
        require_memory(registers.shape, registers.dtype.itemsize, name)
        layout = self.layout
        count, lanes, dtype = layout.num_registers, layout.lane_shape, np.dtype(f"u{layout.register_bits // 8}")
        shape = registers.shape
        if registers.dtype == dtype and len(shape) > len(lanes) and shape[0] == count and shape[-len(lanes) :] == lanes:
            return registers
        given = f"registers of {self.name} are {shorten(registers.dtype, str)} of shape {shape}"
        legal = ", ".join(str(x) for x in (count, "*warps" if len(lanes) == 1 else "*batch", *lanes))
        wanted = f"{self.instruction.mnemonic} takes {dtype} of shape ({legal})"
        if registers.dtype != dtype:
            fix = f"pack() gives {dtype} registers"
            if registers.dtype.itemsize == dtype.itemsize:
                fix = f"reinterpret with .view(np.{dtype})"
        elif len(shape) < 1 + len(lanes) or shape[-len(lanes) :] != lanes:
            fix = "lanes come last" if len(lanes) == 1 else "the four warps and their lanes come last"
            if len(shape) >= 2 and shape[0] == lanes[-1]:
                fix = "registers come first, lanes last: move axis 0 to the end"
        else:
            fix = f"this operand has {count} registers a lane, not {shape[0]}"
        raise FragmentMismatchError(f"{given}; {wanted}; {fix}")

    def check_matrix(self, shape: tuple[int, ...]) -> None:
        """Reject a matrix whose shape is not the operand's, ignoring leading axes."""
        legal = self.matrix_shape
        if shape[max(0, len(shape) - len(legal)) :] == legal:
            return
        wanted = f"(..., {', '.join(str(x) for x in legal)})"
        fix = f"pad with zeros or crop to {legal[-2]} x {legal[-1]}"
        if shape[-2:] == legal[-2:]:
            fix = f"a warp multiplies {legal[0]}: stack {legal[0]} matrices in the axis before the rows"
        elif shape[-2:] == legal[:-3:-1]:
            fix = f"this looks like the transpose: pass {self.name}.swapaxes(-1, -2)"
        raise FragmentMismatchError(f"{self.name} has shape {shape}; {self.instruction.mnemonic} takes {wanted}; {fix}")
