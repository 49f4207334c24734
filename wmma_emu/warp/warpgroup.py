# SPDX-License-Identifier: MIT
"""`wgmma`, which four warps execute together, with B, and optionally A, in shared memory."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import check_engine
from wmma_emu.errors import ArgumentError, CallError, ShapeError, UnknownNameError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.layouts.spec import LANES, WARPS, Ints
from wmma_emu.warp.block_scales import Selectors
from wmma_emu.warp.instruction import BoundInstruction
from wmma_emu.warp.matrices import broadcast
from wmma_emu.warp.options import ExecuteOptions, check_options
from wmma_emu.warp.shared_operand import SharedOperand, in_shared_memory, is_in_shared_memory, lines_of
from wmma_emu.warp.sparse import multiply

__all__ = ["BoundWarpgroupInstruction", "SharedOperand", "bound_instruction"]


class BoundWarpgroupInstruction(BoundInstruction):
    """`wgmma` as one chip executes it: 64 rows, 16 in each of four warps.

    Created by `wmma_emu.instruction`. Registers of A, C and D are ``uint32[num_registers, *batch, 4, 32]``.

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

    def _require_entry(self, instruction: Instruction) -> None:
        if not instruction.is_warpgroup:
            raise CallError(f"{instruction.mnemonic} is executed by one warp: it is a BoundInstruction")

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
        """Store A or B in shared memory, as a kernel does before `wgmma`.

        Parameters
        ----------
        operand : {"a", "b"}
        matrix : array, shape (*batch, 64, terms) or (*batch, K, N)
            In the operand's dtype, or raw bits; a sparse A packed.
        swizzle : {0, 32, 64, 128}
        transpose : bool
            Whether rows of A, or columns of B, are contiguous instead of k: for 16-bit formats.
        leading, stride : int, optional
            Byte offsets of the descriptor; by default atoms are adjacent.

        Raises
        ------
        FragmentMismatchError, AlignmentError, UnsupportedInstructionError
            If the matrix is not the operand's, or offsets and swizzle do not fit it.
        """
        if not isinstance(operand, str) or operand not in ("a", "b"):
            raise UnknownNameError(f"only a and b can be in shared memory, not {shorten(operand)}")
        bound = self.a if operand == "a" else self.b
        return in_shared_memory(bound, matrix, swizzle=swizzle, transpose=transpose, leading=leading, stride=stride)

    @takes_tensors
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
        scale_a: NDArray[np.uint32] | None = None,
        scale_b: NDArray[np.uint32] | None = None,
        byte_id_a: int = 0,
        thread_id_a: int = 0,
        byte_id_b: int = 0,
        thread_id_b: int = 0,
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
            0 omits C, whose bits are ignored. A zero sum is +0, as always.
        negate_a, negate_b : bool
            imm-scale-a, imm-scale-b of -1: multiply by -A, -B. Floating point only.
        metadata : uint32 array, shape (*batch, 4, 32), optional
            The positions of the packed elements of a sparse A.
        selector : int
            The sparsity selector.
        scale_a, scale_b, byte_id_a, thread_id_a, byte_id_b, thread_id_b
            Options of other instructions: `wgmma` has no block scales.
        engine : {"auto", "reference", "numpy", "native", "cupy"}

        Returns
        -------
        uint32 array, shape (num_registers, *batch, 4, 32)
            New registers of D.

        Raises
        ------
        FragmentMismatchError
            If registers, a matrix or metadata are not the instruction's, or C is missing.
        OutOfBoundsError, AlignmentError
            If a descriptor reaches outside of the shared memory, or does not fit its swizzle.
        UnsupportedInstructionError
            If an option is not supported: negation of integers, transposition of formats other than 16-bit ones.

        Notes
        -----
        PTX ISA 9.1, sections 9.7.15.5.2 and 9.7.15.6. All asynchronous operations are complete on return.
        """
        selectors = Selectors(byte_id_a, thread_id_a, byte_id_b, thread_id_b)
        options = ExecuteOptions(
            metadata, selector, scale_a, scale_b, selectors, scale_d, negate_a, negate_b, engine
        )  # fmt: skip
        return self.execute_with(a, b, c, options)

    def execute_with(self, a: Any, b: Any, c: Any, options: ExecuteOptions) -> NDArray[Any]:
        """Execute with all keywords in one value; otherwise as `execute`."""
        engine = check_engine(options.engine)
        adds_c = check_options(self.instruction, options)
        x = self._multiplicand("a", a, options.negate_a)
        y = self._multiplicand("b", b, options.negate_b)
        z = self._addend(c, adds_c)
        extras = self._extras(options)
        given: dict[str, Bits | Ints] = {"a": x, "b": y, "c": z, **extras.given}
        if not broadcast(*given.values()):
            batches = ", ".join(f"{name} {bits.shape[:-2]}" for name, bits in given.items())
            raise ShapeError(f"the batches of warpgroups do not broadcast: {batches}; give each as many, or 1")
        return self.d.pack_bits(multiply(self.product, x, y, z, extras, engine=engine))

    def _multiplicand(self, operand: Literal["a", "b"], given: Any, negate: bool) -> Bits:
        bound = self.a if operand == "a" else self.b
        if isinstance(given, SharedOperand):
            bits = given.read(*lines_of(self.instruction, operand), bound.format)
            bits = bits if operand == "a" else bits.swapaxes(-1, -2)
        elif is_in_shared_memory(self.instruction, operand, given):
            bits = to_bits(given, bound.format, bound.name)
            bound.check_matrix(bits.shape)
        else:
            bits = bound.unpack_bits(given, operand)
        return bits ^ bits.dtype.type(bound.format.sign_mask) if negate else bits

    def _addend(self, c: Any, adds_c: bool) -> Bits:
        if c is None:
            if adds_c:
                raise ArgumentError(
                    f"c is None: {self.mnemonic} adds C unless scale_d is 0; give its registers, "
                    f"uint32 of shape ({self.c.num_registers}, *batch, {WARPS}, {LANES})"
                )
            return np.zeros(self.c.matrix_shape, self.c.format.storage)
        bits = self.c.unpack_bits(c, "c")
        return bits if adds_c else np.zeros_like(bits)


def bound_instruction(
    instruction: Instruction,
    arch: Arch,
    lowering: str | None = None,
    model: str | None = None,
    *,
    warns: bool = True,
) -> BoundInstruction:
    """Bind an instruction to a chip, as an instruction of one warp or of four warps.

    ``lowering`` names a compiler's sequence, ``model`` an entry of the table of models, if there are several. With
    ``warns=False`` the caller is responsible for its `doubt`.
    """
    kind = BoundWarpgroupInstruction if instruction.is_warpgroup else BoundInstruction
    return kind(instruction, arch, lowering, model, warns=warns)
