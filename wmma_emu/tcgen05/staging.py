# SPDX-License-Identifier: MIT
"""Staging of the operands of `tcgen05.mma` in shared memory and tensor memory."""

from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.display import warn_caller
from wmma_emu.errors import (
    ArgumentValueError,
    CallError,
    OptionError,
    ShapeError,
    UnknownNameError,
    UnverifiedModelWarning,
    shorten,
)
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.instructions import Arch, Instruction, lookup
from wmma_emu.layouts.shared_memory_table import Mode
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.cells import base_of, read_cells, write_cells, write_d
from wmma_emu.tcgen05.data_layouts import (
    DataPath,
    Placement,
    a_placement,
    d_placement,
    data_path,
    metadata_placement,
    scale_placement,
)
from wmma_emu.tcgen05.instruction_descriptor import InstructionDescriptor
from wmma_emu.tcgen05.operands import SharedMemories, indices_of, nibbles_of
from wmma_emu.tcgen05.pairs import tensor_memories
from wmma_emu.tcgen05.shared_descriptor import SharedMemoryDescriptor
from wmma_emu.tcgen05.shared_matrix import image_of
from wmma_emu.warp.matrices import check_logical_a
from wmma_emu.warp.matrix_instruction import BoundMatrixInstruction
from wmma_emu.warp.options import check_flag
from wmma_emu.warp.sparse import compress

Stored = Literal["a", "d", "scale_a", "scale_b", "metadata"]

_METADATA_COLUMNS = 2
"""CuTe begins metadata in even columns; otherwise the selector could not be distinguished from the address. An odd
column faulted on an sm_110 (published notes on sparse metadata in Triton)."""

_FARTHEST_SHIFT = 32
"""The number of columns of B beyond N that a zero-column mask may reach."""


class StagedInstruction(BoundMatrixInstruction):
    """The part of `BoundTensorInstruction` that writes operands to memory, and reads D."""

    def __init__(
        self, instruction: Instruction, arch: Arch, lowering: str | None = None, model: str | None = None
    ) -> None:
        if not instruction.is_tensor:
            raise CallError(f"{instruction.mnemonic} is not a tcgen05.mma: it is a BoundInstruction")
        super().__init__(lookup(instruction, arch), arch, lowering, model)

    def _repr_html_(self) -> str:
        return f"<p><span>{escape(repr(self))}</span></p>"

    @property
    def data_path(self) -> DataPath:
        """The distribution of D over the lanes of tensor memory."""
        return data_path(self.instruction)

    def descriptor(self, **options: Any) -> InstructionDescriptor:
        """Return the instruction descriptor, with options such as ``negate_a=True`` or ``scale_id_b=2``.

        Raises
        ------
        UnsupportedInstructionError, FragmentMismatchError
            As for `InstructionDescriptor.of`.
        """
        return InstructionDescriptor.of(self.instruction, **options)

    def in_shared_memory(
        self,
        operand: Literal["a", "b"],
        matrix: ArrayLike,
        *,
        swizzle: Mode = 0,
        transpose: bool = False,
        more_columns: int = 0,
    ) -> tuple[NDArray[np.uint8] | SharedMemories, SharedMemoryDescriptor]:
        """Store A or B in shared memory, as a kernel does before `tcgen05.mma`.

        Parameters
        ----------
        operand : {"a", "b"}
        matrix : array, shape (M, terms) or (K, N + more_columns)
            In the operand's dtype, or raw bits; a sparse A packed.
        swizzle : {0, 32, 64, 128, "128B with 32B atoms"}
        transpose : bool
            Whether to store it MN-major; the descriptor must have the same option.
        more_columns : int
            The number of columns of B beyond N, for shifts of ``.ws``: 0 to 32.

        Returns
        -------
        memory : uint8 array, or a pair of them for cta_group::2
            Each CTA has half of the rows of A, or half of the columns of B.
        descriptor : SharedMemoryDescriptor

        Raises
        ------
        FragmentMismatchError, UnsupportedInstructionError
            If the matrix is not the operand's, or no descriptor describes it.
        """
        if not isinstance(operand, str) or operand not in ("a", "b"):
            raise UnknownNameError(f"only a and b can be in shared memory, not {shorten(operand)}")
        bound = self.a if operand == "a" else self.b
        bits = to_bits(matrix, bound.format, bound.name)
        instruction = self.instruction
        columns = instruction.n + self._more_columns(operand, more_columns)
        legal = (instruction.m, instruction.terms) if operand == "a" else (instruction.k, columns)
        if bits.shape != legal:
            raise ShapeError(f"{bound.name} has shape {bits.shape}; {instruction.mnemonic} takes {legal}")
        lines = bits if operand == "a" else np.ascontiguousarray(bits.T)
        major: Literal["k", "mn"] = "mn" if check_flag("transpose", transpose) else "k"
        group = self.data_path.cta_group
        images = [
            image_of(x, bound.format, swizzle=swizzle, major=major, container=instruction.container(operand))
            for x in np.split(lines, group)
        ]
        memories = tuple(memory for memory, _ in images)
        return (memories[0] if group == 1 else memories), images[0][1]

    def _more_columns(self, operand: str, given: object) -> int:
        columns = integer_of(given)
        shifts = operand == "b" and self.instruction.family.startswith("tcgen05.mma.ws")
        if columns is None or not 0 <= columns <= (_FARTHEST_SHIFT if shifts else 0):
            raise OptionError(
                f"more_columns is 0 to {_FARTHEST_SHIFT} for B of tcgen05.mma.ws, which can shift B, and 0 for "
                f"{operand} of {self.mnemonic}; not {shorten(given)}"
            )
        return columns

    def placement(self, operand: Stored, *, scale_id: int = 0, selector: int = 0) -> Placement:
        """Return the placement of an operand in tensor memory; see `wmma_emu.tcgen05.data_layouts`.

        Raises
        ------
        UnsupportedInstructionError
            If the operand is not in tensor memory, or the instruction does not have it, or the operand has no
            such ``scale_id`` or ``selector``.
        """
        if not isinstance(operand, str) or operand not in ("a", "d", "scale_a", "scale_b", "metadata"):
            raise UnknownNameError(
                f"a, d, scale_a, scale_b and metadata can be in tensor memory, not {shorten(operand)}"
            )
        scaled = operand.startswith("scale")
        for name, given, taken in (("scale_id", scale_id, scaled), ("selector", selector, operand == "metadata")):
            if not taken and integer_of(given) != 0:
                raise OptionError(f"{operand} has no {name}: omit {name}={shorten(given)}")
        if scaled:
            return scale_placement(self.instruction, "a" if operand == "scale_a" else "b", scale_id)
        if operand == "metadata":
            return metadata_placement(self.instruction, selector)
        return a_placement(self.instruction) if operand == "a" else d_placement(self.instruction)

    def _with_warning(self, placement: Placement) -> Placement:
        """Return a placement; warn if no source states it, unless binding the instruction has already warned."""
        if placement.status == "inferred" and self.model.status not in ("literature", "inferred"):
            warn_caller(
                f"{self.mnemonic}: the position of {placement.operand} in tensor memory is inferred, with no recording "
                f"({placement.source})",
                UnverifiedModelWarning,
            )
        return placement

    def store(
        self, tmem: Any, operand: Stored, address: int, matrix: ArrayLike, *, scale_id: int = 0, selector: int = 0
    ) -> None:
        """Write an operand, all replicas, into tensor memory, as a kernel does with `tcgen05.st` and `tcgen05.cp`.

        Parameters
        ----------
        tmem : TensorMemory, or a pair of them for cta_group::2
        operand : {"a", "d", "scale_a", "scale_b", "metadata"}
        address : int
        matrix : array
            A (M, terms), packed if sparse; C (M, N); scales (M, scale_vec), (scale_vec, N); metadata (M, chunks),
            a nibble per array element, as returned by `compress`.
        scale_id, selector : int
            As in the instruction descriptor.

        Raises
        ------
        FragmentMismatchError, AlignmentError, OutOfBoundsError
            If the matrix is not the operand's, it begins at an illegal address, or columns are not allocated.

        Warns
        -----
        UnverifiedModelWarning
            If the position of the operand is inferred, and binding the instruction has not warned.
        """
        memories = tensor_memories(tmem, self.data_path.cta_group, self.mnemonic)
        placement = self._with_warning(self.placement(operand, scale_id=scale_id, selector=selector))
        bits = self._stored_bits(operand, matrix)
        if bits.shape != placement.shape:
            raise ShapeError(f"{placement.operand} has shape {bits.shape}; {self.mnemonic} takes {placement.shape}")
        if operand == "a":
            bits = bits.astype(np.uint32) << np.uint32(self.instruction.container("a").shift)
        base = self._base(operand, address)
        if operand == "d":
            write_d(memories, placement, *base, bits)
        else:
            write_cells(memories, placement, *base, bits)

    def _stored_bits(self, operand: Stored, matrix: ArrayLike) -> Bits:
        scale = {"scale_a": self.scale_a, "scale_b": self.scale_b}.get(operand)
        if scale is not None:
            return scale.bits(matrix)
        if operand == "metadata":
            given = as_numpy(matrix, "metadata")
            if given.dtype.kind not in "iu" or ((given < 0) | (given > 15)).any():
                raise ArgumentValueError(f"metadata are nibbles, integers of 0 to 15, not {shorten(matrix)}")
            return given.astype(np.uint32)
        bound = self.a if operand == "a" else self.d
        return to_bits(matrix, bound.format, bound.name)

    def load(self, tmem: Any, address: int) -> NDArray[Any]:
        """Read D, (M, N), as a kernel does with `tcgen05.ld`.

        Raises
        ------
        AlignmentError, OutOfBoundsError, FragmentMismatchError
            As for `store`.
        """
        memories = tensor_memories(tmem, self.data_path.cta_group, self.mnemonic)
        placement, fmt = d_placement(self.instruction), self.product.d
        return from_bits(read_cells(memories, placement, *self._base("d", address)).astype(fmt.storage), fmt)

    def indices(self, metadata: Any, selector: int = 0) -> Ints:
        """Read nibbles, (M, chunks), as the instruction does: return the k of each packed element of A, (M, terms).

        Raises
        ------
        FragmentMismatchError
            If the shape is wrong, or a nibble is not defined.
        """
        nibbles = self._stored_bits("metadata", metadata)
        legal = metadata_placement(self.instruction, selector).shape
        if nibbles.shape != legal:
            raise ShapeError(f"metadata has shape {nibbles.shape}; {self.mnemonic} takes {legal}")
        return indices_of(self.instruction, nibbles.astype(np.int64))

    def _base(self, operand: Stored, address: object) -> tuple[int, int]:
        lanes = (0, 16) if self.data_path.half else (0,)
        return base_of(operand, address, lanes, _METADATA_COLUMNS if operand == "metadata" else 1)

    @takes_tensors
    def compress(self, A: ArrayLike, selector: int = 0) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Pack a matrix that has the zeros that a sparse A needs.

        Parameters
        ----------
        A : array, shape (..., M, K)
        selector : int
            It has no effect: it selects the position of metadata, not their contents.

        Returns
        -------
        packed : array, shape (..., M, K / 2)
        nibbles : uint32 array, shape (..., M, chunks)
            Metadata, for `store`.
        """
        bits = to_bits(A, self.a.format, "A")
        check_logical_a(self.instruction, bits)
        packed, indices = compress(self.instruction, bits)
        return from_bits(packed, self.a.format), nibbles_of(self.instruction, indices).astype(np.uint32)
