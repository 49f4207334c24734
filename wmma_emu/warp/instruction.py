# SPDX-License-Identifier: MIT
"""One instruction on one chip, ready to run: on registers, as the hardware sees it, or on matrices."""

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import DotModel, applied, check_engine, dot_product_of, matmul
from wmma_emu.arithmetic.compiled_code import Stopwatch, note_seconds
from wmma_emu.display import render, warn_caller
from wmma_emu.drawn_types import drawn_by
from wmma_emu.errors import ShapeError, UnverifiedModelWarning
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.instructions import OPERANDS, Arch, Instruction, Operand, machine_instructions
from wmma_emu.layouts import LaneMap, pack_metadata, unpack_metadata
from wmma_emu.layouts.spec import Ints
from wmma_emu.warp.block_scales import BoundScale, Selectors, bound_scale
from wmma_emu.warp.matrices import broadcast, check_logical_a, check_matrix, matrix_bits
from wmma_emu.warp.options import check_metadata, check_options, check_scales
from wmma_emu.warp.quad_pairs import per_quad_pair
from wmma_emu.warp.register_products import engine_of_registers, fits_registers, multiply_registers
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.warp.sparse import compress, matmul_sparse

if TYPE_CHECKING:
    from wmma_emu.schedule import Schedule

__all__ = ["BoundInstruction", "matrix_bits"]


_Scales = tuple[Bits, Bits] | None
"""Patterns of the block scales of A and of B."""


@drawn_by("instructions")
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
    model : str, optional
        Which row of the table of models, where sources disagree; the first by default.
    warns : bool
        Whether a `doubt` becomes an `UnverifiedModelWarning`.

    Attributes
    ----------
    a, b, c, d : BoundOperand
        Layout, format, number of registers, ``pack`` and ``unpack`` of each operand.
    scale_a, scale_b : BoundScale or None
        The same of the block scales of A and B, where the instruction has them.
    model : DotModel
        What is computed, and how that is known.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> ins = we.instruction("m16n8k8.f32.tf32.tf32.f32", arch="sm_90")
    >>> ins.a.num_registers, ins.b.num_registers, ins.d.num_registers
    (4, 2, 4)
    >>> A, B = np.ones((16, 8), np.float32), np.ones((8, 8), np.float32)
    >>> d = ins.execute(ins.a.pack(A), ins.b.pack(B), ins.c.pack(np.zeros((16, 8), np.float32)))
    >>> d.shape, hex(d[0, 0])
    ((4, 32), '0x41000000')
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
        self.instruction = instruction
        self.arch = arch
        self.product = dot_product_of(instruction, arch.name, lowering, model)
        self.a, self.b, self.c, self.d = (self._operand(x) for x in OPERANDS)
        self.scale_a: BoundScale | None = bound_scale(instruction, "a", arch.name)
        self.scale_b: BoundScale | None = bound_scale(instruction, "b", arch.name)
        if warns and self.doubt is not None:
            warn_caller(self.doubt, UnverifiedModelWarning)

    @property
    def doubt(self) -> str | None:
        """Why the bits are not proved to be the chip's; None where a recording is behind them."""
        if self.model.status not in ("literature", "inferred"):
            return None
        return (
            f"{self.instruction.mnemonic} on {self.arch}: the arithmetic is {self.model.status}, with no recording "
            f"behind it ({self.model.source})"
        )

    def _operand(self, operand: Operand) -> BoundOperand:
        """Bind an operand: in registers, unless a kind of instruction has it elsewhere."""
        return BoundOperand(self.instruction, operand, self.arch.name)

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
        from wmma_emu.schedule import scheduled  # here, because every start of the program would wait for it

        return scheduled(self.instruction, self.arch, self.product)

    @takes_tensors
    def execute(
        self,
        a: NDArray[Any],
        b: NDArray[Any],
        c: NDArray[Any],
        *,
        metadata: NDArray[np.uint32] | None = None,
        selector: int = 0,
        scale_a: NDArray[np.uint32] | None = None,
        scale_b: NDArray[np.uint32] | None = None,
        byte_id_a: int = 0,
        thread_id_a: int = 0,
        byte_id_b: int = 0,
        thread_id_b: int = 0,
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
        scale_a, scale_b : uint32 arrays, shape (*warps, 32), optional
            Block scales, as `BoundScale.pack` lays them out; bytes and lanes that the selectors leave out may hold
            anything.
        byte_id_a, thread_id_a, byte_id_b, thread_id_b : int
            The selectors of block scales: which bytes of which lanes are read.
        engine : {"auto", "reference", "numpy", "numba", "cupy"}

        Returns
        -------
        uint32 array, shape (num_registers, *warps, 32)
            Fresh registers of D.

        Raises
        ------
        FragmentMismatchError
            If the registers are too many, too few, of another dtype, or not 32 lanes wide; if metadata is missing,
            superfluous, or has nibbles that the manual forbids; if block scales are missing or superfluous, or the
            instruction does not take their selectors.

        Examples
        --------
        >>> import numpy as np, warnings, wmma_emu as we
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        ...     ins = we.instruction("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", arch="sm_120")
        >>> a, b, c = (np.full((x.num_registers, 32), y, np.uint32)             # 1.0 everywhere, and 0.0
        ...            for x, y in ((ins.a, 0x38383838), (ins.b, 0x38383838), (ins.c, 0)))
        >>> scales = np.full(32, 0x7F8081FF, np.uint32)                         # bytes 3, 2, 1: 1.0, 2.0, 4.0
        >>> d = ins.execute(a, b, c, scale_a=scales, scale_b=scales, byte_id_a=2, byte_id_b=1)
        >>> d.view(np.float32)[0, 0]                                            # 32 * 2 * 4
        np.float32(256.0)
        """
        check_engine(engine)
        selectors = Selectors(byte_id_a, thread_id_a, byte_id_b, thread_id_b)
        check_options(
            self.instruction,
            metadata=metadata,
            selector=selector,
            scale_a=scale_a,
            scale_b=scale_b,
            selectors=selectors,
        )
        operands = ((self.a, a, "a"), (self.b, b, "b"), (self.c, c, "c"))
        watch = None
        if engine in ("auto", "numba") and self._takes_registers:
            given = [operand.checked_registers(registers, name) for operand, registers, name in operands]
            if engine == "auto":
                engine = engine_of_registers(self.product, self.d.layout, *given)
                watch = Stopwatch() if engine == "numpy" else None
            d = multiply_registers(self.product, self._layouts, *given) if engine == "numba" else None
            if d is not None:
                return d
        x, y, z = (operand.unpack_elements(registers, name) for operand, registers, name in operands)
        scales = self._scales_of_registers(scale_a, scale_b, selectors)
        if self.instruction.is_sparse or scales is not None:
            indices = self.indices(metadata, selector) if self.instruction.is_sparse else None
            return self.d.pack_elements(self._execute_matrices(x, y, z, indices, scales, engine))
        registers = self.d.pack_elements(self.execute_elements(x, y, z, engine=engine))
        if watch is not None:
            note_seconds(self.product, watch.seconds)
        return registers

    @property
    def _takes_registers(self) -> bool:
        """Whether compiled code can take its operands from registers as they are."""
        if self.instruction.is_sparse or self.scale_a is not None:
            return False
        return fits_registers(self.product, self._layouts)

    def _scales_of_registers(self, a: Any, b: Any, selectors: Selectors) -> _Scales:
        """Read block scales from registers; None where the instruction has none."""
        if self.scale_a is None or self.scale_b is None:
            return None
        return (
            self.scale_a.significant(self.scale_a.unpack_bits(a, *selectors.of("a"))),
            self.scale_b.significant(self.scale_b.unpack_bits(b, *selectors.of("b"))),
        )

    def _scales_of_matrices(self, a: Any, b: Any) -> _Scales:
        """Read block scales from users' matrices; None where the instruction has none."""
        if self.scale_a is None or self.scale_b is None:
            return None
        return self.scale_a.significant(self.scale_a.bits(a)), self.scale_b.significant(self.scale_b.bits(b))

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
        check_metadata(self.instruction, metadata, selector)
        return unpack_metadata(self.instruction, metadata, selector)

    @takes_tensors
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
        check_logical_a(self.instruction, bits)
        packed, indices = compress(self.instruction, bits)
        return from_bits(packed, self.a.format), pack_metadata(self.instruction, indices, selector)

    def _execute_matrices(self, a: Bits, b: Bits, c: Bits, indices: Ints | None, scales: _Scales, engine: str) -> Bits:
        """Execute on every lane's elements what needs more than A, B and C: metadata, block scales."""
        x, y, z = (
            operand.layout.scatter(bits)
            for operand, bits in zip((self.a, self.b, self.c), (a, b, c), strict=True)
        )  # fmt: skip
        given: dict[str, Bits | Ints] = {"a": x, "b": y, "c": z}
        given |= {} if indices is None else {"metadata": indices}
        given |= dict(zip(("scale_a", "scale_b"), scales or (), strict=False))
        if not broadcast(*given.values()):
            warps = ", ".join(f"{name} {bits.shape[:-2]}" for name, bits in given.items())
            raise ShapeError(f"the warps' axes do not broadcast: {warps}; give each as many, or 1")
        return self.d.layout.gather(self._multiply(x, y, z, indices, scales, engine))

    def _multiply(self, a: Bits, b: Bits, c: Bits, indices: Ints | None, scales: _Scales, engine: str) -> Bits:
        scale_a, scale_b = scales or (None, None)
        if indices is None:
            return matmul(self.product, a, b, c, engine=engine, scale_a=scale_a, scale_b=scale_b)
        return matmul_sparse(self.product, a, b, c, indices, engine=engine, scale_a=scale_a, scale_b=scale_b)

    def execute_elements(self, a: Bits, b: Bits, c: Bits, *, engine: str = "auto") -> Bits:
        """`execute` on elements that are not packed into registers: patterns, (num_elements, *warps, 32).

        Of duplicates in a lane only those count that the instruction reads. Where lanes hold copies of A and B, on
        Volta, each quad pair multiplies its own.
        """
        layouts = list(self._layouts)
        if any(layout.reads_copies for layout in layouts):
            layouts = [per_quad_pair(layout) for layout in layouts]
        x, y, z = (layout.scatter(bits) for layout, bits in zip(layouts[:3], (a, b, c), strict=True))
        if not broadcast(x, y, z):
            warps = ", ".join(f"{name} {bits.shape[1:-1]}" for name, bits in zip("abc", (a, b, c), strict=True))
            raise ShapeError(
                f"the warps' axes of the registers do not broadcast: {warps}; give each as many, or 1"
            )
        return layouts[3].gather(matmul(self.product, x, y, z, engine=engine))

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
            Of NumPy, PyTorch (on the CPU) or JAX. For a sparse instruction all of A, with the zeros that it leaves out;
            see `compress`.
        B : array, shape (..., K, N)
        C : array, shape (..., M, N), optional
            +0 if left out. Leading axes broadcast as in `numpy.matmul`.
        a_format, b_format : str, optional
            Formats of packed 4-bit and 1-bit matrices, given as uint8, packed along k, lowest k lowest.
        scale_a, scale_b : array, shape (..., M, scale_vec), (..., scale_vec, N), optional
            Block scales, where the instruction has them: the first of a row of A is of its first K / scale_vec
            columns. float8_e8m0fnu for ue8m0; float8_e4m3fn, nothing negative, for ue4m3; or uint8 patterns.
        engine : {"auto", "reference", "numpy", "numba", "cupy"}

        Returns
        -------
        array, shape (..., M, N)
            In the dtype of D; a tensor of torch, or an array of JAX, if an operand is one.

        Raises
        ------
        FragmentMismatchError
            If a shape or dtype is not the instruction's; if block scales are missing or superfluous.

        Examples
        --------
        >>> import numpy as np, wmma_emu as we
        >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
        >>> D = ins(np.ones((16, 16), np.float16), np.ones((16, 8), np.float16))
        >>> D[0, 0], D.dtype
        (np.float32(16.0), dtype('float32'))
        """
        check_engine(engine)
        row, product = self.instruction, self.product
        check_scales(row, scale_a, scale_b)
        scales = self._scales_of_matrices(scale_a, scale_b)
        a = matrix_bits(A, product.a, "A", packed_axis=-1, named=a_format)
        b = matrix_bits(B, product.b, "B", packed_axis=-2, named=b_format)
        if C is None:
            given = (a, b, *(scales or ()))
            batch = np.broadcast_shapes(*(x.shape[:-2] for x in given)) if broadcast(*given) else ()
            c: Bits = np.zeros((*batch, row.m, row.n), product.c.storage)
        else:
            c = matrix_bits(C, product.c, "C")
        if row.is_sparse:
            check_logical_a(row, a)
        else:
            check_matrix(row, "A", a, (row.m, row.k))
        check_matrix(row, "B", b, (row.k, row.n))
        check_matrix(row, "C", c, (row.m, row.n))
        matrices = {"A": a, "B": b, "C": c, **dict(zip(("scale_a", "scale_b"), scales or (), strict=False))}
        if not broadcast(*matrices.values()):
            shapes = ", ".join(f"{name} {x.shape[:-2]}" for name, x in matrices.items())
            raise ShapeError(f"the leading axes do not broadcast: {shapes}")
        if row.is_sparse:
            packed, indices = compress(row, a)
            return from_bits(self._multiply(packed, b, c, indices, scales, engine), product.d)
        return from_bits(self._multiply(a, b, c, None, scales, engine), product.d)
