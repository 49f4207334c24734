# SPDX-License-Identifier: MIT
"""One instruction on one chip, executed on registers or on matrices."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import check_engine
from wmma_emu.drawn_types import drawn_by
from wmma_emu.errors import ShapeError
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.layouts import pack_metadata, unpack_metadata
from wmma_emu.layouts.spec import Ints
from wmma_emu.warp.block_scales import Selectors
from wmma_emu.warp.matrices import broadcast, check_logical_a
from wmma_emu.warp.matrix_instruction import BoundMatrixInstruction
from wmma_emu.warp.options import ExecuteOptions, check_metadata, check_options
from wmma_emu.warp.quad_pairs import per_quad_pair
from wmma_emu.warp.sparse import NOTHING, Extras, compress, multiply


@drawn_by("instructions")
class BoundInstruction(BoundMatrixInstruction):
    """A matrix instruction as one chip executes it.

    Created by `wmma_emu.instruction`. Calling it multiplies matrices; `execute` works on the registers of whole
    warps, lanes last.

    Parameters
    ----------
    instruction : Instruction
        The instruction.
    arch : Arch
        The chip.
    lowering : str, optional
        The compiler's sequence, if the chip executes the instruction in software.
    model : str, optional
        The entry of the table of models, if sources disagree; the first by default.
    warns : bool
        Whether a `doubt` causes an `UnverifiedModelWarning`.

    Attributes
    ----------
    a, b, c, d : BoundOperand
        Layout, format, number of registers, ``pack`` and ``unpack`` of each operand.
    scale_a, scale_b : BoundScale or None
        The same for the block scales of A and B, if the instruction has them.
    model : DotModel
        The arithmetic, with its evidence.

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
            The positions of the packed elements of a sparse A; lanes that the selector does not choose are ignored.
        selector : int
            The sparsity selector.
        scale_a, scale_b : uint32 arrays, shape (*warps, 32), optional
            Block scales in the layout of `BoundScale.pack`; bytes and lanes that the selectors do not choose are
            ignored.
        byte_id_a, thread_id_a, byte_id_b, thread_id_b : int
            The selectors of block scales, which choose the bytes and lanes that are read.
        engine : {"auto", "reference", "numpy", "native", "cupy"}

        Returns
        -------
        uint32 array, shape (num_registers, *warps, 32)
            New registers of D.

        Raises
        ------
        FragmentMismatchError
            If the number, dtype or shape of registers is wrong; if metadata is missing, not expected, or has nibbles
            that the manual does not permit; if block scales are missing or not expected, or a selector is not legal
            for the instruction.

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
        selectors = Selectors(byte_id_a, thread_id_a, byte_id_b, thread_id_b)
        options = ExecuteOptions(metadata, selector, scale_a, scale_b, selectors, engine=engine)
        return self.execute_with(a, b, c, options)

    def execute_with(self, a: Any, b: Any, c: Any, options: ExecuteOptions) -> NDArray[Any]:
        """Execute with all keywords in one value; otherwise as `execute`."""
        engine = check_engine(options.engine)
        check_options(self.instruction, options)
        operands = ((self.a, a, "a"), (self.b, b, "b"), (self.c, c, "c"))
        x, y, z = (operand.unpack_elements(registers, name) for operand, registers, name in operands)
        return self.d.pack_elements(self.execute_elements(x, y, z, extras=self._extras(options), engine=engine))

    def _extras(self, options: ExecuteOptions) -> Extras:
        """Read metadata and block scales from registers, if the instruction has them."""
        indices = self.indices(options.metadata, options.selector) if self.instruction.is_sparse else None
        if self.scale_a is None or self.scale_b is None:
            return Extras(indices)
        return Extras(
            indices,
            self.scale_a.significant(self.scale_a.unpack_bits(options.scale_a, *options.selectors.of("a"))),
            self.scale_b.significant(self.scale_b.unpack_bits(options.scale_b, *options.selectors.of("b"))),
        )

    @cached_property
    def _layouts(self) -> tuple[Any, ...]:
        """The layouts of A, B, C and D: a `LaneMap`, or None for an operand in memory."""
        return tuple(x.layout if x.in_registers else None for x in (self.a, self.b, self.c, self.d))

    def indices(self, metadata: Any, selector: int = 0) -> Ints:
        """Read metadata as the instruction does: return the k of each packed element of A, (*warps, m, terms).

        Raises
        ------
        FragmentMismatchError
            If a lane that the instruction reads has a nibble that the manual does not permit, or metadata is missing.
        """
        check_metadata(self.instruction, metadata, selector)
        return unpack_metadata(self.instruction, metadata, selector)

    @takes_tensors
    def compress(self, A: ArrayLike, selector: int = 0) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Pack a matrix with the zeros that a sparse A requires.

        Parameters
        ----------
        A : array, shape (*warps, M, K)
            In the operand's dtype, or raw bits. Two of every four elements of a row are zero (for tf32, one of two;
            for 4-bit elements, two pairs of four).
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

    def execute_elements(
        self, a: Bits, b: Bits, c: Bits, *, extras: Extras = NOTHING, engine: str = "auto"
    ) -> Bits:  # fmt: skip
        """Execute on elements that are not packed into registers: patterns, (num_elements, *warps, 32).

        Only the duplicates in a lane that the instruction reads are used. If lanes hold replicas of A and B, as
        on Volta, each quad pair multiplies its own. Metadata and block scales are matrices, and so is an operand in
        memory, B of `wgmma`: (*batch, K, N).
        """
        layouts = self._layouts
        if any(layout is not None and layout.reads_copies for layout in layouts):
            layouts = tuple(per_quad_pair(layout) for layout in layouts)
        x, y, z = (
            bits if layout is None else layout.scatter(bits) for layout, bits in zip(layouts, (a, b, c), strict=False)
        )
        if not broadcast(x, y, z, *extras.given.values()):
            axes = {
                name: bits.shape[:-2] if layout is None else bits.shape[1 : -len(layout.lane_shape)]
                for name, bits, layout in zip("abc", (a, b, c), layouts, strict=False)
            }
            axes |= {name: bits.shape[:-2] for name, bits in extras.given.items()}
            warps = ", ".join(f"{name} {given}" for name, given in axes.items())
            raise ShapeError(f"the warps' axes of the registers do not broadcast: {warps}; give each as many, or 1")
        d: Bits = layouts[3].gather(multiply(self.product, x, y, z, extras, engine=engine))
        return d
