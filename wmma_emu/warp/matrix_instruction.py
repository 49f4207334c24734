# SPDX-License-Identifier: MIT
"""The common parts of matrix instructions on one chip: the arithmetic, and products of matrices."""

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import DotModel, applied, check_engine, dot_product_of
from wmma_emu.display import render, warn_caller
from wmma_emu.errors import ShapeError, UnverifiedModelWarning
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.instructions import OPERANDS, Arch, Instruction, machine_instructions
from wmma_emu.layouts.block_scales import SCALED
from wmma_emu.warp.block_scales import BoundScale
from wmma_emu.warp.matrices import broadcast, check_logical_a, check_matrix, matrix_bits
from wmma_emu.warp.options import check_scales
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.warp.sparse import Extras, compress, multiply

if TYPE_CHECKING:
    from wmma_emu.schedule import Schedule


class BoundMatrixInstruction:
    """A matrix instruction as one chip executes it: what instructions on registers and on tensor memory share.

    Calling it multiplies matrices. For execution, parameters and attributes see `BoundInstruction`,
    `BoundWarpgroupInstruction` and `wmma_emu.tcgen05.BoundTensorInstruction`.
    """

    def __init__(
        self,
        instruction: Instruction,
        arch: Arch,
        lowering: str | None = None,
        model: str | None = None,
        *,
        warns: bool = True,
    ) -> None:
        self._require_entry(instruction)
        self.instruction = instruction
        self.arch = arch
        self.product = dot_product_of(instruction, arch.name, lowering, model)
        self.a, self.b, self.c, self.d = (BoundOperand(instruction, x, arch.name) for x in OPERANDS)
        self.scale_a, self.scale_b = (
            BoundScale(instruction, x, arch.name) if instruction.is_block_scaled else None for x in SCALED
        )
        if warns and self.doubt is not None:
            warn_caller(self.doubt, UnverifiedModelWarning)

    def _require_entry(self, instruction: Instruction) -> None:
        """Reject an instruction that this class does not execute."""

    @property
    def doubt(self) -> str | None:
        """The reason why the result is not proven to be the chip's; None if a recording confirms it."""
        if self.model.status not in ("literature", "inferred"):
            return None
        return (
            f"{self.instruction.mnemonic} on {self.arch}: the arithmetic is {self.model.status}, with no recording "
            f"({self.model.source})"
        )

    def __repr__(self) -> str:
        lowering = "" if self.model.lowering == "native" else f", lowering={self.model.lowering!r}"
        model = f", model={self.model.name!r}" if self.model.name else ""
        return f"<{self.mnemonic} on {self.arch}{lowering}{model}, {self.model.status}>"

    def _repr_html_(self) -> str:
        return str(render("instruction.html", self))

    @property
    def mnemonic(self) -> str:
        """The full PTX mnemonic."""
        return self.instruction.mnemonic

    @property
    def model(self) -> DotModel:
        """The arithmetic, with its evidence."""
        return self.product.model

    def with_model(self, model: DotModel) -> Self:
        """Bind the same instruction to a different arithmetic, such as a result of `wmma_emu.testing.probe`.

        Parameters
        ----------
        model : DotModel
            Any parameters that are meaningful for the instruction's formats, whether a chip has them or not. Models
            far from those of chips run on the reference engine, about a thousand times slower.

        Returns
        -------
        BoundInstruction
            A new object.

        Raises
        ------
        UnsupportedInstructionError
            If the model contradicts itself or the instruction.

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
        """The machine instructions of the instruction on this chip."""
        return str(machine_instructions(self.instruction, self.arch.name, self.model.lowering))

    @property
    def schedule(self) -> "Schedule":
        """The machine instructions in order, with the elements that each of them reads, computes and writes.

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
        from wmma_emu.schedule import scheduled  # imported late, because it delays the start of every program

        return scheduled(self.instruction, self.arch, self.product)

    @takes_tensors
    def __call__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        a_format: str | None = None,
        b_format: str | None = None,
        scale_a: ArrayLike | None = None,
        scale_b: ArrayLike | None = None,
        engine: str = "auto",
    ) -> NDArray[Any]:
        """Multiply matrices of exactly the instruction's shape: D = A B + C.

        Parameters
        ----------
        A : array, shape (..., M, K)
            Arrays of NumPy, PyTorch (on the CPU) or JAX. For a sparse instruction all of A, including its zeros;
            see `compress`.
        B : array, shape (..., K, N)
        C : array, shape (..., M, N), optional
            +0 if omitted. Leading axes broadcast as in `numpy.matmul`.
        a_format, b_format : str, optional
            Formats of packed 4-bit and 1-bit matrices, passed as uint8, packed along k, lowest k lowest.
        scale_a, scale_b : array, shape (..., M, scale_vec), (..., scale_vec, N), optional
            Block scales, if the instruction has them: the first scale of a row of A applies to its first K / scale_vec
            columns. float8_e8m0fnu for ue8m0; float8_e4m3fn without negative numbers for ue4m3; or uint8 patterns.
        engine : {"auto", "reference", "numpy", "native", "cupy"}

        Returns
        -------
        array, shape (..., M, N)
            In the dtype of D; a torch tensor or a JAX array if an operand is one.

        Raises
        ------
        FragmentMismatchError
            If a shape or dtype is not the instruction's, or block scales are missing or not expected.

        Examples
        --------
        >>> import numpy as np, wmma_emu as we
        >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
        >>> D = ins(np.ones((16, 16), np.float16), np.ones((16, 8), np.float16))
        >>> D[0, 0], D.dtype
        (np.float32(16.0), dtype('float32'))
        """
        engine = check_engine(engine)
        instruction, product = self.instruction, self.product
        check_scales(instruction, scale_a, scale_b)
        extras = Extras()
        if self.scale_a is not None and self.scale_b is not None:
            given: tuple[tuple[BoundScale, Any], ...] = ((self.scale_a, scale_a), (self.scale_b, scale_b))
            extras = Extras(None, *(bound.significant(bound.bits(x)) for bound, x in given))
        a = matrix_bits(A, product.a, "A", packed_axis=-1, named=a_format)
        b = matrix_bits(B, product.b, "B", packed_axis=-2, named=b_format)
        if C is None:
            factors = (a, b, *extras.given.values())
            batch = np.broadcast_shapes(*(x.shape[:-2] for x in factors)) if broadcast(*factors) else ()
            c: Bits = np.zeros((*batch, instruction.m, instruction.n), product.c.storage)
        else:
            c = matrix_bits(C, product.c, "C")
        if instruction.is_sparse:
            check_logical_a(instruction, a)
        else:
            check_matrix(instruction, "A", a, (instruction.m, instruction.k))
        check_matrix(instruction, "B", b, (instruction.k, instruction.n))
        check_matrix(instruction, "C", c, (instruction.m, instruction.n))
        matrices = {"A": a, "B": b, "C": c, **extras.given}
        if not broadcast(*matrices.values()):
            shapes = ", ".join(f"{name} {x.shape[:-2]}" for name, x in matrices.items())
            raise ShapeError(f"the leading axes do not broadcast: {shapes}")
        if instruction.is_sparse:
            a, indices = compress(instruction, a)
            extras = extras._replace(indices=indices)
        return from_bits(multiply(product, a, b, c, extras, engine=engine), product.d)
