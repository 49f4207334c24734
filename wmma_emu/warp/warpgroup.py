# SPDX-License-Identifier: MIT
"""Four warps together: `wgmma`, which reads B, and A if it is wanted there, from shared memory."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import check_engine, dot_product_of, matmul
from wmma_emu.display import warn_caller
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, UnverifiedModelWarning, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.layouts.shared_memory import image_of
from wmma_emu.layouts.spec import LANES, WARPS, Ints
from wmma_emu.warp.instruction import BoundInstruction
from wmma_emu.warp.registers import BoundOperand
from wmma_emu.warp.shared_operand import InSharedMemory, SharedOperand
from wmma_emu.warp.sparse import matmul_sparse

__all__ = ["BoundWarpgroupInstruction", "SharedOperand", "bound_instruction"]


class BoundWarpgroupInstruction(BoundInstruction):
    """`wgmma` as one chip executes it: 64 rows, 16 in each of four warps.

    Made by `wmma_emu.instruction`. Registers of A, C and D are ``uint32[num_registers, *batch, 4, 32]``.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> ins = we.instruction("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16")
    >>> ins.b
    <B of wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 on sm_90: 16x16 f16 in shared memory>
    >>> A, B = np.ones((64, 16), np.float16), np.full((16, 16), 2, np.float16)
    >>> b = ins.in_shared_memory("b", B, swizzle=32)
    >>> d = ins.execute(ins.a.pack(A), b, None, scale_d=0)
    >>> d.shape, hex(d[0, 3, 31])
    ((8, 4, 32), '0x42000000')
    """

    def __init__(self, instruction: Instruction, arch: Arch, lowering: str | None = None) -> None:
        if not instruction.is_warpgroup:
            raise UnsupportedInstructionError(
                f"{instruction.mnemonic} is executed by one warp: it is a BoundInstruction"
            )
        self.instruction = instruction
        self.arch = arch
        self.product = dot_product_of(instruction, arch.name, lowering)
        self.a, self.c, self.d = (BoundOperand(instruction, x, arch.name) for x in ("a", "c", "d"))
        self.b = InSharedMemory(instruction, "b", arch.name)
        if self.model.status in ("literature", "inferred"):
            warn_caller(
                f"{instruction.mnemonic} on {arch}: the arithmetic is {self.model.status}, with no recording behind "
                f"it ({self.model.source})",
                UnverifiedModelWarning,
            )

    def in_shared_memory(
        self,
        operand: Literal["a", "b"],
        matrix: ArrayLike,
        *,
        swizzle: int = 0,
        transpose: bool = False,
        leading: int | None = None,
        stride: int | None = None,
    ) -> SharedOperand:
        """Lay A or B out in shared memory, as a kernel does before `wgmma`.

        Parameters
        ----------
        operand : {"a", "b"}
        matrix : array, shape (*batch, 64, terms) or (*batch, K, N)
            In the operand's dtype, or raw bits; a sparse A packed.
        swizzle : {0, 32, 64, 128}
        transpose : bool
            Whether rows of A, or columns of B, lie contiguous, not k: for 16-bit formats.
        leading, stride : int, optional
            Byte offsets of the descriptor; by default atoms lie side by side.

        Raises
        ------
        FragmentMismatchError, AlignmentError, UnsupportedInstructionError
            For another matrix, and for offsets and swizzles that do not fit it.
        """
        if not isinstance(operand, str) or operand not in ("a", "b"):
            raise UnsupportedInstructionError(f"only a and b lie in shared memory, not {shorten(operand)}")
        bits = self._matrix(operand, matrix)
        lines_first = bits if operand == "a" else np.ascontiguousarray(bits.swapaxes(-1, -2))
        memory, descriptor = image_of(
            lines_first,
            (self.a if operand == "a" else self.b).format,
            swizzle=swizzle,
            major="mn" if transpose else "k",
            leading=leading,
            stride=stride,
        )
        return SharedOperand(memory, descriptor.encode(), transpose)

    def execute(
        self,
        a: Any,
        b: Any,
        c: Any,
        *,
        scale_d: int = 1,
        negate_a: bool = False,
        negate_b: bool = False,
        metadata: NDArray[np.uint32] | None = None,
        selector: int = 0,
        engine: str = "auto",
    ) -> NDArray[Any]:
        """Execute the instruction for one or many warpgroups: D = A B + C.

        Parameters
        ----------
        a : uint32 array (4, *batch, 4, 32), matrix (*batch, 64, terms), or SharedOperand
            Registers, or elements in their dtype or as raw bits. A sparse A is packed.
        b : matrix (*batch, K, N), or SharedOperand
        c : uint32 array, shape (num_registers, *batch, 4, 32), or None
            None only where ``scale_d`` is 0. The batches broadcast.
        scale_d : {0, 1}
            0 leaves C out: its bits are not looked at. A zero sum is +0 then as ever.
        negate_a, negate_b : bool
            imm-scale-a, imm-scale-b of -1: multiply by -A, -B. Floating point only.
        metadata : uint32 array, shape (*batch, 4, 32), optional
            Where the packed elements of a sparse A stand.
        selector : int
            The sparsity selector.
        engine : {"auto", "reference", "numpy"}

        Returns
        -------
        uint32 array, shape (num_registers, *batch, 4, 32)
            Fresh registers of D.

        Raises
        ------
        FragmentMismatchError
            If registers, a matrix or metadata are not the instruction's; if C is missing.
        OutOfBoundsError, AlignmentError
            If a descriptor leads out of the shared memory, or does not fit its swizzle.
        UnsupportedInstructionError
            For an option that the instruction lacks: negation of integers, transposition of other than 16-bit formats.

        Notes
        -----
        PTX ISA 9.1, sections 9.7.15.5.2 and 9.7.15.6. All that is asynchronous has happened when this returns.
        """
        check_engine(engine)
        keeps_c = self._keeps_c(scale_d)
        x = self._multiplicand("a", a, negate_a)
        y = self._multiplicand("b", b, negate_b)
        z = self._addend(c, keeps_c)
        if self.instruction.is_sparse:
            indices = self.indices(metadata, selector)
            _require_broadcast({"a": x, "b": y, "c": z, "metadata": indices})
            return self.d.pack_bits(matmul_sparse(self.product, x, y, z, indices, engine=engine))
        self._refuse_metadata(metadata, selector)
        _require_broadcast({"a": x, "b": y, "c": z})
        return self.d.pack_bits(matmul(self.product, x, y, z, engine=engine))

    def _keeps_c(self, scale_d: object) -> bool:
        given = int(scale_d) if isinstance(scale_d, bool | np.bool_) else integer_of(scale_d)
        if given not in (0, 1):
            raise UnsupportedInstructionError(f"scale_d is 1, or 0 to leave C out, not {shorten(scale_d)}")
        return given == 1

    def _multiplicand(self, operand: Literal["a", "b"], given: Any, negate: object) -> Bits:
        """Read A or B from wherever it is, as a matrix of patterns."""
        fmt = (self.a if operand == "a" else self.b).format
        if isinstance(given, SharedOperand):
            row = self.instruction
            rows, k = (row.m, row.terms) if operand == "a" else (row.n, row.k)
            bits = given.read(rows, k, fmt)
            bits = bits if operand == "a" else bits.swapaxes(-1, -2)
        elif operand == "a" and _are_registers(given):
            bits = self.a.unpack_bits(given, "a")
        else:
            bits = self._matrix(operand, given)
        if not isinstance(negate, bool | np.bool_):
            raise UnsupportedInstructionError(f"negate_{operand} is True or False, not {shorten(negate)}")
        if not negate:
            return bits
        if not fmt.is_float:
            raise UnsupportedInstructionError(
                f"{self.mnemonic} multiplies {fmt}: negate_{operand} is for floating point; negate the elements"
            )
        return bits ^ bits.dtype.type(fmt.sign_mask)

    def _matrix(self, operand: Literal["a", "b"], matrix: Any) -> Bits:
        bound = self.a if operand == "a" else self.b
        bits = to_bits(matrix, bound.format, bound.name)
        bound.check_matrix(bits.shape)
        return bits

    def _addend(self, c: Any, keeps_c: bool) -> Bits:
        if c is None:
            if keeps_c:
                raise FragmentMismatchError(
                    f"c is None: {self.mnemonic} adds C unless scale_d is 0; give its registers, "
                    f"uint32 of shape ({self.c.num_registers}, *batch, {WARPS}, {LANES})"
                )
            return np.zeros(self.c.matrix_shape, self.c.format.storage)
        bits = self.c.unpack_bits(c, "c")
        return bits if keeps_c else np.zeros_like(bits)


def bound_instruction(instruction: Instruction, arch: Arch, lowering: str | None = None) -> BoundInstruction:
    """Bind a row of the instruction table to a chip: as one warp's instruction, or as four warps'."""
    kind = BoundWarpgroupInstruction if instruction.is_warpgroup else BoundInstruction
    return kind(instruction, arch, lowering)


def _are_registers(given: Any) -> bool:
    """Whether A comes as registers; a matrix of uint32 is raw tf32, whose last axes are never 4 and 32."""
    return isinstance(given, np.ndarray) and given.dtype == np.uint32 and given.shape[-2:] == (WARPS, LANES)


def _require_broadcast(operands: dict[str, Bits | Ints]) -> None:
    try:
        np.broadcast_shapes(*(bits.shape[:-2] for bits in operands.values()))
    except ValueError:
        batches = ", ".join(f"{name} {bits.shape[:-2]}" for name, bits in operands.items())
        raise FragmentMismatchError(
            f"the batches of warpgroups do not broadcast: {batches}; give each as many, or 1"
        ) from None
