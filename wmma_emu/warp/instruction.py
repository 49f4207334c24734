# SPDX-License-Identifier: MIT
"""One instruction on one chip, ready to run: on registers, as the hardware sees it, or on matrices."""

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import DotModel, applied, check_engine, dot_product_of, matmul
from wmma_emu.display import render, warn_caller
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, UnverifiedModelWarning, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.packing import pack_words
from wmma_emu.instructions import OPERANDS, Arch, Instruction, Operand, machine_instructions
from wmma_emu.layouts import LaneMap, pack_metadata, unpack_metadata
from wmma_emu.layouts.spec import Ints
from wmma_emu.warp.options import check_options
from wmma_emu.warp.quad_pairs import per_quad_pair
from wmma_emu.warp.register_products import multiply_registers
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.warp.sparse import compress, matmul_sparse

if TYPE_CHECKING:
    from wmma_emu.warp.schedule import Schedule

__all__ = ["BoundInstruction", "matrix_bits"]


class BoundInstruction:
    """A matrix instruction as one chip executes it.

    Made by `wmma_emu.instruction`. Calling it multiplies matrices; `execute` works on the registers of whole
    warps, lanes last.

    Parameters
    ----------
    instruction : Instruction
        Row of the instruction table.
    arch : Arch
        The chip.
    lowering : str, optional
        Which compiler's sequence, where the chip runs the instruction as software.

    Attributes
    ----------
    a, b, c, d : BoundOperand
        Layout, format, number of registers, ``pack`` and ``unpack`` of each operand.
    model : DotModel
        What is computed, and how that is known.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> ins = we.instruction("m16n8k8.f32.tf32.tf32.f32", arch="sm_80")
    >>> ins.a.num_registers, ins.b.num_registers, ins.d.num_registers
    (4, 2, 4)
    >>> A, B = np.ones((16, 8), np.float32), np.ones((8, 8), np.float32)
    >>> d = ins.execute(ins.a.pack(A), ins.b.pack(B), ins.c.pack(np.zeros((16, 8), np.float32)))
    >>> d.shape, hex(d[0, 0])
    ((4, 32), '0x41000000')
    """

    def __init__(self, instruction: Instruction, arch: Arch, lowering: str | None = None) -> None:
        self.instruction = instruction
        self.arch = arch
        self.product = dot_product_of(instruction, arch.name, lowering)
        self.a, self.b, self.c, self.d = (self._operand(x) for x in OPERANDS)
        if self.model.status in ("literature", "inferred"):
            warn_caller(
                f"{instruction.mnemonic} on {arch}: the arithmetic is {self.model.status}, with no recording behind "
                f"it ({self.model.source})",
                UnverifiedModelWarning,
            )

    def _operand(self, operand: Operand) -> BoundOperand:
        """Bind an operand: in registers, unless a kind of instruction has it elsewhere."""
        return BoundOperand(self.instruction, operand, self.arch.name)

    def __repr__(self) -> str:
        lowering = "" if self.model.lowering == "native" else f", lowering={self.model.lowering!r}"
        return f"<{self.mnemonic} on {self.arch}{lowering}, {self.model.status}>"

    def _repr_html_(self) -> str:
        return str(render("instruction.html", self))

    @property
    def mnemonic(self) -> str:
        """The full PTX mnemonic."""
        return self.instruction.mnemonic

    @property
    def model(self) -> DotModel:
        """What is computed, and how that is known."""
        return self.product.model

    def with_model(self, model: DotModel) -> Self:
        """Bind the same instruction to another arithmetic: one that `wmma_emu.testing.probe` found, or a variant.

        Parameters
        ----------
        model : DotModel
            Any parameters that mean something for the instruction's formats, whether a chip has them or not. Models
            far from those of chips run on the reference engine, some thousand times slower.

        Returns
        -------
        BoundInstruction
            A new one.

        Raises
        ------
        UnsupportedInstructionError
            For a model that contradicts itself or the instruction.

        Examples
        --------
        >>> import dataclasses, numpy as np, wmma_emu as we
        >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
        >>> short = ins.with_model(dataclasses.replace(ins.model, fraction_bits=24))
        >>> A, B = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
        >>> A[:, 1], A[:, 2:], B[1:] = -1, 2.0**-13, 1
        >>> B[2:] = 2.0**-12
        >>> hex(ins(A, B).view(np.uint32)[0, 0]), hex(short(A, B).view(np.uint32)[0, 0])
        ('0x34e00000', '0x0')
        """
        other = copy(self)
        other.product = applied(model, self.instruction)
        return other

    @property
    def machine(self) -> str:
        """The machine instructions that it becomes on this chip."""
        return str(machine_instructions(self.instruction, self.arch.name, self.model.lowering))

    @property
    def schedule(self) -> "Schedule":
        """The machine instructions in their order, and what each of them reads, makes and writes.

        Raises
        ------
        UnsupportedInstructionError
            If the machine code does not divide the product among machine instructions.

        Examples
        --------
        >>> import wmma_emu as we
        >>> volta = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").schedule
        >>> volta, volta.sets[2][3].opcode, volta.sets[2][3].ks
        (<Schedule of wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 on sm_70: 16 machine instructions>,
         'HMMA.884.F32.F32.STEP3', (8, 9, 10, 11))
        """
        from wmma_emu.warp.schedule import scheduled  # here, because every start of the program would wait for it

        return scheduled(self.instruction, self.arch, self.product)

    def execute(
        self,
        a: NDArray[Any],
        b: NDArray[Any],
        c: NDArray[Any],
        *,
        metadata: NDArray[np.uint32] | None = None,
        selector: int = 0,
        engine: str = "auto",
    ) -> NDArray[Any]:
        """Execute the instruction on the registers of one or many warps.

        Parameters
        ----------
        a, b, c : uint32 arrays, shape (num_registers, *warps, 32)
            Registers of every lane (uint64 for f64). The warps' axes broadcast.
        metadata : uint32 array, shape (*warps, 32), optional
            Where the packed elements of a sparse A stand; lanes that the selector leaves out may hold anything.
        selector : int
            The sparsity selector.
        engine : {"auto", "reference", "numpy", "numba", "cupy"}

        Returns
        -------
        uint32 array, shape (num_registers, *warps, 32)
            Fresh registers of D.

        Raises
        ------
        FragmentMismatchError
            If the registers are too many, too few, of another dtype, or not 32 lanes wide; if metadata is missing,
            superfluous, or has nibbles that the manual forbids.
        """
        check_engine(engine)
        check_options(self.instruction, metadata=metadata, selector=selector)
        operands = ((self.a, a, "a"), (self.b, b, "b"), (self.c, c, "c"))
        if engine == "numba" and not self.instruction.is_sparse:
            given = (operand.checked_registers(registers, name) for operand, registers, name in operands)
            d = multiply_registers(self.product, self._layouts, *given)
            if d is not None:
                return d
        x, y, z = (operand.unpack_elements(registers, name) for operand, registers, name in operands)
        if self.instruction.is_sparse:
            indices = self.indices(metadata, selector)
            return pack_words(self._execute_sparse(x, y, z, indices, engine), self.d.format)
        return pack_words(self.execute_elements(x, y, z, engine=engine), self.d.format)

    @cached_property
    def _layouts(self) -> tuple[LaneMap, LaneMap, LaneMap, LaneMap]:
        return self.a.layout, self.b.layout, self.c.layout, self.d.layout

    def indices(self, metadata: Any, selector: int = 0) -> Ints:
        """Read metadata, as the instruction does: the k of each packed element of A, (*warps, m, terms).

        Raises
        ------
        FragmentMismatchError
            For nibbles that the manual forbids, in lanes that the instruction reads; and if there is none.
        """
        check_options(self.instruction, metadata=metadata, selector=selector)
        return unpack_metadata(self.instruction, metadata, selector)

    def compress(self, A: ArrayLike, selector: int = 0) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Pack a matrix that has the zeros that a sparse A needs.

        Parameters
        ----------
        A : array, shape (*warps, M, K)
            In the operand's dtype, or raw bits. Of four elements in a row two are zero (of tf32 one of two; of 4-bit
            elements two pairs of four).
        selector : int

        Returns
        -------
        packed : array, shape (*warps, M, K / 2)
        metadata : uint32 array, shape (*warps, 32)

        Examples
        --------
        >>> import numpy as np, wmma_emu as we
        >>> ins = we.instruction("mma.sp.m16n8k16.f32.f16.f16.f32")
        >>> packed, metadata = ins.compress(np.tile(np.array([0, 3, 0, 5], np.float16), (16, 4)))
        >>> packed[0, :4].tolist(), hex(metadata[0])
        ([3.0, 5.0, 3.0, 5.0], '0xdddddddd')
        """
        bits = to_bits(A, self.a.format, "A")
        _check_logical_a(self, bits)
        packed, indices = compress(self.instruction, bits)
        return from_bits(packed, self.a.format), pack_metadata(self.instruction, indices, selector)

    def _execute_sparse(self, a: Bits, b: Bits, c: Bits, indices: Ints, engine: str) -> Bits:
        x, y, z = (
            operand.layout.scatter(bits)
            for operand, bits in zip((self.a, self.b, self.c), (a, b, c), strict=True)
        )  # fmt: skip
        if not _broadcast(x, y, z, indices):
            warps = [
                f"{name} {bits.shape[:-2]}" for name, bits in (("a", x), ("b", y), ("c", z), ("metadata", indices))
            ]
            raise FragmentMismatchError(
                f"the warps' axes do not broadcast: {', '.join(warps)}; give each as many, or 1"
            )
        return self.d.layout.gather(matmul_sparse(self.product, x, y, z, indices, engine=engine))

    def execute_elements(self, a: Bits, b: Bits, c: Bits, *, engine: str = "auto") -> Bits:
        """`execute` on elements that are not packed into registers: patterns, (num_elements, *warps, 32).

        Of duplicates in a lane only those count that the instruction reads. Where lanes hold copies of A and B, on
        Volta, each quad pair multiplies its own.
        """
        layouts = list(self._layouts)
        if any(layout.reads_copies for layout in layouts):
            layouts = [per_quad_pair(layout) for layout in layouts]
        x, y, z = (layout.scatter(bits) for layout, bits in zip(layouts[:3], (a, b, c), strict=True))
        if not _broadcast(x, y, z):
            warps = ", ".join(f"{name} {bits.shape[1:-1]}" for name, bits in zip("abc", (a, b, c), strict=True))
            raise FragmentMismatchError(
                f"the warps' axes of the registers do not broadcast: {warps}; give each as many, or 1"
            )
        return layouts[3].gather(matmul(self.product, x, y, z, engine=engine))

    def __call__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        a_format: str | None = None,
        b_format: str | None = None,
        engine: str = "auto",
    ) -> NDArray[Any]:
        """Multiply matrices of exactly the instruction's shape: D = A B + C.

        Parameters
        ----------
        A : array, shape (..., M, K)
            For a sparse instruction all of A, with the zeros that it leaves out; see `compress`.
        B : array, shape (..., K, N)
        C : array, shape (..., M, N), optional
            +0 if left out. Leading axes broadcast as in `numpy.matmul`.
        a_format, b_format : str, optional
            Formats of packed 4-bit and 1-bit matrices, given as uint8, packed along k, lowest k lowest.
        engine : {"auto", "reference", "numpy", "numba", "cupy"}

        Returns
        -------
        array, shape (..., M, N)
            In the dtype of D.

        Raises
        ------
        FragmentMismatchError
            If a shape or dtype is not the instruction's.

        Examples
        --------
        >>> import numpy as np, wmma_emu as we
        >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
        >>> D = ins(np.ones((16, 16), np.float16), np.ones((16, 8), np.float16))
        >>> D[0, 0], D.dtype
        (np.float32(16.0), dtype('float32'))
        """
        check_engine(engine)
        product = self.product
        a = matrix_bits(A, product.a, "A", packed_axis=-1, named=a_format)
        b = matrix_bits(B, product.b, "B", packed_axis=-2, named=b_format)
        if C is None:
            batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if _broadcast(a, b) else ()
            c: Bits = np.zeros((*batch, self.instruction.m, self.instruction.n), product.c.storage)
        else:
            c = matrix_bits(C, product.c, "C")
        if self.instruction.is_sparse:
            _check_logical_a(self, a)
        else:
            _check_matrix(self, "A", a, (self.instruction.m, self.instruction.k))
        _check_matrix(self, "B", b, (self.instruction.k, self.instruction.n))
        _check_matrix(self, "C", c, (self.instruction.m, self.instruction.n))
        if not _broadcast(a, b, c):
            raise FragmentMismatchError(
                f"the leading axes do not broadcast: A {a.shape[:-2]}, B {b.shape[:-2]}, C {c.shape[:-2]}"
            )
        if self.instruction.is_sparse:
            packed, indices = compress(self.instruction, a)
            return from_bits(matmul_sparse(product, packed, b, c, indices, engine=engine), product.d)
        return from_bits(matmul(product, a, b, c, engine=engine), product.d)


def matrix_bits(
    matrix: ArrayLike, fmt: Format, name: str, packed_axis: int | None = None, named: str | None = None
) -> Bits:
    """Turn a user's matrix into patterns of a format; ``named`` is the format that the user gave by name."""
    if named is None:
        return to_bits(matrix, fmt, name)
    if not isinstance(named, str) or named != fmt.name:
        raise FragmentMismatchError(
            f"{name.lower()}_format={shorten(named)} was given, but {name} of this instruction is {fmt.name}"
        )
    return to_bits(matrix, fmt, name, packed_axis=packed_axis)


def _broadcast(*matrices: Bits | Ints) -> bool:
    try:
        np.broadcast_shapes(*(x.shape[:-2] for x in matrices))
    except ValueError:
        return False
    return True


def _check_logical_a(ins: BoundInstruction, matrix: Bits) -> None:
    """Check all of a sparse A, zeros included."""
    row = ins.instruction
    if not row.is_sparse:
        raise UnsupportedInstructionError(f"{ins.mnemonic} takes a dense A: there is nothing to compress")
    if matrix.ndim >= 2 and matrix.shape[-2:] == (row.m, row.terms):
        raise FragmentMismatchError(
            f"A has shape {matrix.shape}, which is packed; here all of A is wanted, (..., {row.m}, {row.k}), zeros "
            "included. Packed elements go to execute, with their metadata"
        )
    _check_matrix(ins, "A", matrix, (row.m, row.k))


def _check_matrix(ins: BoundInstruction, name: str, matrix: Bits, legal: tuple[int, int]) -> None:
    if matrix.ndim >= 2 and matrix.shape[-2:] == legal:
        return
    fix = "wmma_emu.gemm takes any shape"
    if matrix.ndim >= 2 and matrix.shape[:-3:-1] == legal:
        fix = f"pass {name}.T, or its last two axes exchanged"
    raise FragmentMismatchError(
        f"{name} has shape {matrix.shape}; {ins.mnemonic} takes (..., {legal[0]}, {legal[1]}); {fix}"
    )
