# SPDX-License-Identifier: MIT
"""The instruction descriptor of `tcgen05.mma`: 32 bits with shape, types and options as named fields."""

from dataclasses import dataclass, fields
from typing import Any

from wmma_emu.errors import ArgumentError, CallError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions.spec import Instruction
from wmma_emu.instructions.tensor import TensorKind, tensor_instruction, tensor_sizes
from wmma_emu.tcgen05.instruction_descriptor_table import (
    DESCRIPTOR_FIELDS,
    FLAGS,
    SHIFTS,
    codes_of,
    kind_of,
    kind_row,
    meaning_of,
)
from wmma_emu.warp.options import check_flag


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """The fields of the instruction descriptor of a `tcgen05.mma`.

    Parameters
    ----------
    kind : str
        The ``.kind`` of the mnemonic, which determines the fields and is itself not encoded.
    m, n : int
        Rows and columns of D, of both CTAs together.
    d, a, b : str
        Formats of D, A and B; D of a block-scaled kind is f32, and is not encoded.
    sparse : bool
    sparsity_selector : int
        0 to 3: the column of the metadata that is read; kinds f16 and tf32.
    saturate : bool
        Clamp integers: kind i8.
    negate_a, negate_b : bool
    transpose_a, transpose_b : bool
        Whether the operand is MN-major instead of K-major.
    max_shift : {0, 8, 16, 32}
        The maximum number of columns by which B may be shifted; ``.ws`` only.
    scale : {"", "ue8m0", "ue4m3"}
        Format of the block scales.
    scale_id_a, scale_id_b : int
        The byte of each word of tensor memory that holds the first scale of a row.
    k : int
        0, or 96 (FP4 on sm_103).

    Raises
    ------
    UnsupportedInstructionError
        If the kind does not support a format, size or option.

    Notes
    -----
    PTX ISA 9.3, section on the instruction descriptor of tcgen05.

    Examples
    --------
    >>> d = InstructionDescriptor("f16", 128, 256, "f32", "bf16", "bf16", transpose_b=True)
    >>> hex(d.encode())
    '0x8410490'
    >>> InstructionDescriptor.decode(0x8410490, "f16") == d
    True
    >>> print(d.instruction())
    tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.bf16.bf16
    >>> InstructionDescriptor.decode(0x8410490 | 1 << 6, "f16")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: bit 6 of an instruction descriptor of kind::f16 is reserved and
        must be 0; 0x84104d0 has it set
    """

    kind: str
    m: int
    n: int
    d: str
    a: str
    b: str
    sparse: bool = False
    sparsity_selector: int = 0
    saturate: bool = False
    negate_a: bool = False
    negate_b: bool = False
    transpose_a: bool = False
    transpose_b: bool = False
    max_shift: int = 0
    scale: str = ""
    scale_id_a: int = 0
    scale_id_b: int = 0
    k: int = 0

    def __post_init__(self) -> None:
        entry = kind_row(self.kind)
        for name in FLAGS:
            object.__setattr__(self, name, check_flag(name, getattr(self, name)))
        self._check_presence(entry)
        self._check_formats(entry)
        self._check_sizes(entry)
        self._check_options(entry)

    @classmethod
    def of(cls, instruction: Instruction, **options: Any) -> "InstructionDescriptor":
        """Return the descriptor of an instruction; ``options`` are the fields that the instruction does not determine.

        Raises
        ------
        UnsupportedInstructionError
            If the instruction has no descriptor, and as for the class.
        FragmentMismatchError
            If an option is not a field, or the instruction determines it.

        Examples
        --------
        >>> instruction = tensor_instruction("i8", 64, 32, "s32", "u8", "s8", saturate=True)
        >>> hex(InstructionDescriptor.of(instruction).encode())
        '0x4080428'
        """
        if not isinstance(instruction, Instruction) or not instruction.is_tensor:
            raise CallError(f"{shorten(instruction, str)} is not a tcgen05.mma: it has no descriptor")
        decided: dict[str, Any] = {
            "kind": kind_of(instruction), "m": instruction.m, "n": instruction.n,
            "d": instruction.d, "a": instruction.a, "b": instruction.b,
            "sparse": instruction.is_sparse, "saturate": "satfinite" in instruction.modifiers,
            "scale": instruction.scale, "k": 96 if instruction.k == 96 else 0,
        }  # fmt: skip
        free = [x.name for x in fields(cls) if x.name not in decided]
        for name in options:
            if name not in free:
                raise ArgumentError(f"{name} is not an option of {instruction.mnemonic}; options are {', '.join(free)}")
        found = cls(**decided, **options)
        _check_use(found, instruction)
        return found

    @classmethod
    def decode(cls, value: int, kind: str) -> "InstructionDescriptor":
        """Decode 32 bits as the descriptor of a kind.

        Raises
        ------
        FragmentMismatchError
            If the value is not an integer of 32 bits.
        UnsupportedInstructionError
            If reserved bits are set, a code is not defined, or the kind does not support a field.
        """
        entry = kind_row(kind)
        word = integer_of(value)
        if word is None or not 0 <= word < 1 << 32:
            raise ArgumentError(f"an instruction descriptor is an integer of 32 bits, not {shorten(value)}")
        found: dict[str, Any] = {}
        for field in DESCRIPTOR_FIELDS[entry.name]:
            code = word >> field.low & (1 << field.width) - 1
            if field.name:
                found[field.name] = meaning_of(entry.name, field, code, word)
            elif code:
                bit = field.low + (code & -code).bit_length() - 1
                raise UnsupportedInstructionError(
                    f"bit {bit} of an instruction descriptor of kind::{entry.name} is reserved and must be 0; "
                    f"{word:#x} has it set"
                )
        if "d" not in found:
            found["d"] = "f32"
        return cls(kind=entry.name, **found)

    def encode(self) -> int:
        """Return the 32 bits."""
        word = 0
        for field in DESCRIPTOR_FIELDS[self.kind]:
            if field.name:
                word |= codes_of(self.kind, field.name)[getattr(self, field.name)] << field.low
        return word

    def instruction(self, *, ws: bool = False, cta_group: int = 1, scale_vec: int = 0) -> Instruction:
        """Return the instruction for this descriptor and a mnemonic.

        Parameters
        ----------
        ws : bool
        cta_group : {1, 2}
        scale_vec : int, optional
            Scales of a row; may be omitted if there is only one legal number.

        Raises
        ------
        UnsupportedInstructionError
            If the mnemonic and the descriptor contradict each other.
        """
        entry = tensor_instruction(
            self.kind, self.m, self.n, self.d, self.a, self.b,
            k=self.k or None, scale=self.scale, scale_vec=scale_vec, sparse=self.sparse, ws=ws,
            cta_group=cta_group, saturate=self.saturate,
        )  # fmt: skip
        _check_use(self, entry)
        return entry

    def _check_presence(self, entry: TensorKind) -> None:
        """Reject fields that the descriptor of the kind has no bits for."""
        there = {x.name for x in DESCRIPTOR_FIELDS[entry.name]}
        for name in ("sparsity_selector", "saturate", "max_shift", "scale_id_a", "scale_id_b", "k", "scale"):
            given = getattr(self, name)
            if name not in there and not (isinstance(given, int | str) and given in (0, "")):
                raise UnsupportedInstructionError(
                    f"the instruction descriptor of kind::{entry.name} has no {name}: omit {name}={shorten(given)}"
                )

    def _check_formats(self, entry: TensorKind) -> None:
        legal_d = [x for x, _ in entry.types]
        formats = (("d", self.d, legal_d), ("a", self.a, entry.operands), ("b", self.b, entry.operands))
        for name, given, legal in formats:
            if not isinstance(given, str) or given not in legal:
                raise UnsupportedInstructionError(
                    f"{name} of kind::{entry.name} is {' or '.join(legal)}, not {shorten(given)}"
                )
        pairs = dict(entry.types)[self.d]
        if self.a not in pairs or self.b not in pairs:
            raise UnsupportedInstructionError(
                f"kind::{entry.name} with D of {self.d} multiplies {', '.join(pairs)}, not {self.a} and {self.b}"
            )
        scales = [x for x, _ in entry.scales] or [""]
        if not isinstance(self.scale, str) or self.scale not in scales:
            raise UnsupportedInstructionError(
                f"the block scales of kind::{entry.name} are {' or '.join(scales)}: pass scale={scales[0]!r}; not "
                f"{shorten(self.scale)}"
            )

    def _check_sizes(self, entry: TensorKind) -> None:
        ways = [
            x
            for ws in (False, True)
            for group in (1, 2)
            for x in tensor_sizes(entry.name, cta_group=group, ws=ws, sparse=self.sparse)
            if x.k == integer_of(self.k)
        ]
        if not ways:
            raise UnsupportedInstructionError(
                f"kind::{entry.name} {'sparse ' * self.sparse}has no k = {shorten(self.k)}; 0 is its default"
            )
        m, n = integer_of(self.m), integer_of(self.n)
        if not any(m in x.m and n in x.n for x in ways):
            every = sorted({x for way in ways for x in way.m})
            raise UnsupportedInstructionError(
                f"no tcgen05.mma of kind::{entry.name} has m = {shorten(self.m)} with n = {shorten(self.n)}; "
                f"m must be one of {', '.join(str(x) for x in every)}, and n at most 256, in steps of at least 8"
            )

    def _check_options(self, entry: TensorKind) -> None:
        if self.saturate and entry.name != "i8":
            raise UnsupportedInstructionError(f"kind::{entry.name} does not saturate: only kind::i8 does, to s32")
        if not entry.negates and (self.negate_a or self.negate_b):
            raise UnsupportedInstructionError(f"kind::{entry.name} does not negate: negate the elements")
        for transposed, name in ((self.transpose_a, self.a), (self.transpose_b, self.b)):
            if transposed and not entry.transposes:
                raise UnsupportedInstructionError(
                    f"{name} of kind::{entry.name} is not transposed: store it K-major, with k contiguous"
                )
        selector = integer_of(self.sparsity_selector)
        if selector not in range(4):
            raise UnsupportedInstructionError(f"the sparsity selector is 0 to 3, not {shorten(self.sparsity_selector)}")
        if selector and (not self.sparse or entry.name not in ("f16", "tf32")):
            raise UnsupportedInstructionError(
                f"the sparsity selector is 0 {'of' if self.sparse else 'in a dense product of'} kind::{entry.name}, "
                f"not {selector}"
            )
        if integer_of(self.max_shift) not in SHIFTS:
            raise UnsupportedInstructionError(f"max_shift is 0, 8, 16 or 32, not {shorten(self.max_shift)}")
        legal = (0, 1, 2, 3) if entry.name == "mxf8f6f4" or self.k == 96 else (0, 2)
        for name in ("scale_id_a", "scale_id_b"):
            if integer_of(getattr(self, name)) not in legal:
                shown = ", ".join(str(x) for x in legal)
                raise UnsupportedInstructionError(
                    f"{name} of kind::{entry.name} is one of {shown}, not {shorten(getattr(self, name))}"
                )


def _check_use(descriptor: InstructionDescriptor, instruction: Instruction) -> None:
    """Reject options that the mnemonic does not support."""
    ws = instruction.family.startswith("tcgen05.mma.ws")
    if descriptor.max_shift and not ws:
        raise UnsupportedInstructionError(f"max_shift is an option of tcgen05.mma.ws, not of {instruction.mnemonic}")
    step = 16 * (2 if "cta_group::2" in instruction.modifiers else 1)
    if descriptor.transpose_b and instruction.container("b").bits == 8 and instruction.n % step:
        raise UnsupportedInstructionError(
            f"an 8-bit B can be transposed if n is a multiple of {step}, not {instruction.n}, in {instruction.mnemonic}"
        )
    if instruction.scale_vec == 4 and (descriptor.scale_id_a or descriptor.scale_id_b):
        raise UnsupportedInstructionError(
            f"four scales fill a word of tensor memory: scale_id_a and scale_id_b of {instruction.mnemonic} are 0"
        )
