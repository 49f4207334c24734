# SPDX-License-Identifier: MIT
"""`tcgen05.mma` on one chip, executed on matrices, or on tensor memory, shared memory and descriptors."""

from typing import Any

import numpy as np

from wmma_emu.arithmetic import check_engine
from wmma_emu.errors import FragmentMismatchError, OptionError, UnsupportedInstructionError
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions import Arch, Instruction, arch_of, lookup
from wmma_emu.instructions.tensor import tensor_instruction_named
from wmma_emu.layouts.spec import Ints
from wmma_emu.tcgen05.cells import base_of, read_cells, write_d
from wmma_emu.tcgen05.data_layouts import a_placement, d_placement, metadata_placement, scale_placement
from wmma_emu.tcgen05.instruction_descriptor import InstructionDescriptor
from wmma_emu.tcgen05.instruction_descriptor_table import kind_of
from wmma_emu.tcgen05.operands import (
    disabled_lanes,
    indices_of,
    negated,
    read_a_from_shared_memory,
    read_b_from_shared_memory,
    scaled_input,
)
from wmma_emu.tcgen05.options import TensorOptions
from wmma_emu.tcgen05.pairs import tensor_memories
from wmma_emu.tcgen05.staging import StagedInstruction, Stored
from wmma_emu.tcgen05.tensor_memory import TensorMemory
from wmma_emu.tcgen05.zero_column_mask import ZeroColumnMask
from wmma_emu.warp.options import check_flag
from wmma_emu.warp.sparse import Extras, multiply

_SCALED = "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
"""Examples of block-scaled instructions on chips without tensor memory."""

Memories = tuple[TensorMemory, ...]


class BoundTensorInstruction(StagedInstruction):
    """`tcgen05.mma` as one chip executes it.

    Created by `bound_tensor_instruction` or `wmma_emu.instruction`. Calling it multiplies matrices; `execute` works on
    tensor memory, shared memory and descriptors. `store` and `in_shared_memory` write operands as a kernel does, and
    `load` reads D.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> from wmma_emu.tcgen05 import TensorMemory, bound_tensor_instruction
    >>> with warnings.catch_warnings(action="ignore"):                     # the arithmetic is from the literature
    ...     ins = bound_tensor_instruction("tcgen05.mma.kind::f16.m128n64.f32.f16.f16", "sm_100")
    >>> A, B = np.ones((128, 16), np.float16), np.full((16, 64), 2, np.float16)
    >>> tmem = TensorMemory()
    >>> d = tmem.alloc(64)
    >>> ins.execute(tmem, d, ins.in_shared_memory("a", A), ins.in_shared_memory("b", B), enable_input_d=False)
    >>> ins.load(tmem, d)[5, :3].tolist(), ins(A, B)[5, :3].tolist()
    ([32.0, 32.0, 32.0], [32.0, 32.0, 32.0])
    """

    def execute(
        self,
        tmem: Any,
        d: int,
        a: Any,
        b: Any,
        *,
        descriptor: InstructionDescriptor | int | None = None,
        scale_a: int | None = None,
        scale_b: int | None = None,
        metadata: int | None = None,
        enable_input_d: bool = True,
        scale_input_d: int = 0,
        disable_output_lane: Any = None,
        zero_column_mask: ZeroColumnMask | int | None = None,
        engine: str = "auto",
    ) -> None:
        """Execute the instruction on tensor memory: D = A B + D, or D = A B.

        Parameters
        ----------
        tmem : TensorMemory, or a pair of them for cta_group::2
            The pair begins with the tensor memory of the even CTA.
        d : int
            The address of D; in both CTAs of a pair.
        a : int or (memory, descriptor)
            An address in tensor memory; or uint8 arrays of shared memory (a pair of them for cta_group::2) and a
            `SharedMemoryDescriptor` or its 64 bits. A sparse A is packed.
        b : (memory, descriptor)
            The operand in shared memory.
        descriptor : InstructionDescriptor or int, optional
            By default the instruction's descriptor, without options.
        scale_a, scale_b : int
            Addresses of the block scales, for kinds that have them.
        metadata : int
            The address of the metadata of a sparse A.
        enable_input_d : bool
            False omits D, whose bits are ignored.
        scale_input_d : int
            0 to 15: D is multiplied by ``2 ** -scale_input_d``, if it is added. Kinds f16 and tf32, without ``.ws``.
        disable_output_lane : sequence of int, optional
            Four words: lanes whose bit is set keep their contents. Eight for cta_group::2; the first four are assumed
            to be for the even CTA, which the manual does not say. Not with block scales, not with ``.ws``.
        zero_column_mask : ZeroColumnMask or int, optional
            For ``.ws``.
        engine : {"auto", "reference", "numpy", "native", "cupy"}

        Raises
        ------
        OutOfBoundsError, AlignmentError
            If an operand is outside of its memory or of the allocated columns, or begins at an illegal address. Tensor
            memory is unchanged after every error.
        FragmentMismatchError
            If an operand is missing or not expected, or its replicas in tensor memory differ.
        UnsupportedInstructionError
            If a descriptor contradicts the instruction, or an option is not supported.

        Warns
        -----
        UnverifiedModelWarning
            If the position of an operand is inferred, and binding the instruction has not warned: for integers, whose
            arithmetic is known, this concerns A of a folded product and metadata.

        Notes
        -----
        PTX ISA 9.3, tcgen05.mma, tcgen05.mma.sp, tcgen05.mma.ws. All asynchronous operations are complete on return.
        For a 16-bit D the upper halves of the words count as uninitialised: the manual does not define them.
        """
        options = TensorOptions(
            descriptor, scale_a, scale_b, metadata, enable_input_d, scale_input_d, disable_output_lane,
            zero_column_mask, engine,
        )  # fmt: skip
        self.execute_with(tmem, d, a, b, options)

    def execute_with(self, tmem: Any, d: int, a: Any, b: Any, options: TensorOptions) -> None:
        """Execute with all keywords in one value; otherwise as `execute`."""
        engine = check_engine(options.engine)
        instruction, path = self.instruction, self.data_path
        memories = tensor_memories(tmem, path.cta_group, self.mnemonic)
        decoded = self._checked_descriptor(options.descriptor)
        mask = options.checked(instruction)
        kept = disabled_lanes(options.disable_output_lane, path.cta_group)
        base = self._base("d", d)
        x = self._read_a(memories, a, decoded, base)
        y = read_b_from_shared_memory(instruction, self.arch, b, decoded.transpose_b, mask, decoded.max_shift)
        if decoded.negate_b:
            y = negated(y, self.product.b)
        z = self._read_input(memories, base, options)
        indices = self._read_indices(memories, options.metadata, decoded, base)
        extras = Extras(indices, *self._read_scales(memories, options, decoded))
        write_d(memories, d_placement(instruction), *base, multiply(self.product, x, y, z, extras, engine=engine), kept)

    def _checked_descriptor(self, given: InstructionDescriptor | int | None) -> InstructionDescriptor:
        if given is None:
            return self.descriptor()
        instruction, kind = self.instruction, kind_of(self.instruction)
        found = given if isinstance(given, InstructionDescriptor) else InstructionDescriptor.decode(given, kind)
        if found.kind != kind:
            raise OptionError(f"{instruction.mnemonic} takes no descriptor of kind::{found.kind}")
        ws = instruction.family.startswith("tcgen05.mma.ws")
        meant = found.instruction(ws=ws, cta_group=self.data_path.cta_group, scale_vec=instruction.scale_vec)
        if meant.mnemonic != instruction.mnemonic:
            raise OptionError(f"the descriptor is for {meant.mnemonic}, not for {instruction.mnemonic}")
        return found

    def _read_a(self, memories: Memories, given: Any, decoded: InstructionDescriptor, base: tuple[int, int]) -> Bits:
        instruction, fmt = self.instruction, self.product.a
        if integer_of(given) is None:
            bits = read_a_from_shared_memory(instruction, self.arch, given, decoded.transpose_a)
        else:
            if decoded.transpose_a:
                raise OptionError("A in tensor memory cannot be transposed: a lane holds a row")
            lane, column = self._same_lanes("a", given, base)
            words = read_cells(memories, self._with_warning(a_placement(instruction)), lane, column) >> np.uint32(
                instruction.container("a").shift
            )
            bits = (words & np.uint32(fmt.mask)).astype(fmt.storage)
        return negated(bits, fmt) if decoded.negate_a else bits

    def _read_input(self, memories: Memories, base: tuple[int, int], options: TensorOptions) -> Bits:
        """Return the addend: D as it is, or scaled, or zeros."""
        fmt, exponent = self.product.c, options.scale_input_d
        if not check_flag("enable_input_d", options.enable_input_d):
            return np.zeros((self.instruction.m, self.instruction.n), fmt.storage)
        d = read_cells(memories, d_placement(self.instruction), *base).astype(fmt.storage)
        return scaled_input(d, fmt, exponent) if exponent else d

    def _read_indices(
        self, memories: Memories, address: int | None, decoded: InstructionDescriptor, base: tuple[int, int]
    ) -> Ints | None:
        if address is None:
            return None
        placement = self._with_warning(metadata_placement(self.instruction, decoded.sparsity_selector))
        nibbles = read_cells(memories, placement, *self._same_lanes("metadata", address, base))
        return indices_of(self.instruction, nibbles.astype(np.int64))

    def _same_lanes(self, operand: Stored, address: object, base: tuple[int, int]) -> tuple[int, int]:
        """Check that an operand uses the same half of the lanes as D."""
        lane, column = self._base(operand, address)
        if lane != base[0]:
            raise FragmentMismatchError(
                f"{operand} begins in lane {lane} and D in lane {base[0]}; {self.mnemonic} uses half of the lanes, the "
                "same ones for A, D and metadata"
            )
        return lane, column

    def _read_scales(
        self, memories: Memories, options: TensorOptions, decoded: InstructionDescriptor
    ) -> tuple[Bits, ...]:  # fmt: skip
        if self.scale_a is None or self.scale_b is None:
            return ()
        found = []
        for name, address, scale_id, scale in (
            ("scale_a", options.scale_a, decoded.scale_id_a, self.scale_a),
            ("scale_b", options.scale_b, decoded.scale_id_b, self.scale_b),
        ):
            placement = self._with_warning(scale_placement(self.instruction, scale.operand, scale_id))
            cells = read_cells(memories, placement, *base_of(name, address, (0,)))
            found.append(scale.significant(cells.astype(np.uint8)))
        return tuple(found)


def bound_tensor_instruction(
    instruction: str | Instruction, arch: str | Arch, lowering: str | None = None, model: str | None = None
) -> BoundTensorInstruction:
    """Bind a `tcgen05.mma` to a chip.

    Parameters
    ----------
    instruction : Instruction or str
        An instruction from `wmma_emu.instructions.tensor`, or its name.
    arch : str or Arch
        A chip that supports it: sm_100 or sm_103.
    lowering, model : str, optional
        As for `wmma_emu.instruction`.

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support it, or its arithmetic is not known.
    """
    chip = arch_of(arch)
    entry = instruction if isinstance(instruction, Instruction) else tensor_instruction_named(instruction)
    if not chip.tensor_memory and chip.name in lookup(_SCALED).archs:
        raise UnsupportedInstructionError(
            f"{chip.name} ({chip.generation}) has no tensor memory and no tcgen05: it multiplies with mma.sync; FP8, "
            f"FP6 and FP4 with .kind::f8f6f4 or .block_scale, such as {_SCALED}"
        )
    return BoundTensorInstruction(entry, chip, lowering, model)
