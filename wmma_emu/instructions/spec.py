# SPDX-License-Identifier: MIT
"""A matrix instruction: shape, operand formats, layouts, modifiers and registers."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from wmma_emu.chips import Arch
from wmma_emu.display import render
from wmma_emu.drawn_types import drawn_by
from wmma_emu.evidence import Evidence, Sourced, Status
from wmma_emu.formats import Format, format_of

__all__ = ["OPERANDS", "TENSOR_FAMILIES", "Arch", "Container", "Family", "Instruction", "Operand"]

Operand = Literal["a", "b", "c", "d"]

Family = Literal[
    "mma.sync", "wmma.mma", "mma.sp", "mma.sp::ordered_metadata", "wgmma", "wgmma.sp",
    "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp",
]  # fmt: skip

TENSOR_FAMILIES: tuple[Family, ...] = ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp")
"""Families whose operands are in tensor and shared memory, and whose shape and types are in a descriptor."""

OPERANDS: tuple[Operand, ...] = ("a", "b", "c", "d")

_SPARSE = ("mma.sp", "mma.sp::ordered_metadata", "wgmma.sp", "tcgen05.mma.sp", "tcgen05.mma.ws.sp")

_IN_BYTES = ("kind::f8f6f4", "kind::mxf8f6f4")
"""Kinds whose operands of 8, 6 or 4 bits take a byte each."""


class Container(NamedTuple):
    """The storage of an element's pattern: the width in bits, and the pattern's lowest bit, ``shift``.

    The bits around the pattern are padding: ignored when read, and zero when written.
    """

    bits: int
    shift: int


@drawn_by("instruction_entries")
@dataclass(frozen=True, slots=True)
class Instruction(Sourced):
    """One entry of the table of instructions: a matrix instruction with everything in its PTX mnemonic.

    Parameters
    ----------
    family : {"mma.sync", "wmma.mma", "mma.sp", "mma.sp::ordered_metadata", "wgmma", "wgmma.sp", "tcgen05.mma", ...}
    m, n, k : int
    a_layout, b_layout : {"row", "col"}
    d, a, b, c : str
        PTX names of the element formats.
    modifiers : tuple of str
        In the order of the mnemonic: ``"satfinite"``, ``"xor.popc"``, ``"and.popc"``, ``"rn"``, ``"rz"``,
        ``"rm"``, ``"rp"``, ``"kind::f8f6f4"``, ``"block_scale"``, ``"scale_vec::1X"``.
    num_registers : tuple of int
        Registers per lane of a, b, c, d: 32-bit ones, 64-bit ones for f64. `wgmma` reads b, and may read a, from
        shared memory: it has no registers for b, and for a the number that it has if a comes in registers.
    archs : tuple of str
        Names of the chips (`Arch`) whose assembler accepts it.
    evidence : Evidence
        The evidence that assemblers accept it; inferred for instructions that were not assembled.
    scale : str
        Format of the block scales, ``"ue8m0"`` or ``"ue4m3"``; empty if there are none.
    scale_vec : int
        Number of scales of a row of A, and of a column of B: 1, 2 or 4; 0 if there are none.
    """

    family: Family
    m: int
    n: int
    k: int
    a_layout: Literal["row", "col"]
    b_layout: Literal["row", "col"]
    d: str
    a: str
    b: str
    c: str
    modifiers: tuple[str, ...]
    num_registers: tuple[int, int, int, int]
    archs: tuple[str, ...]
    evidence: Evidence = field(hash=False)
    scale: str = ""
    scale_vec: int = 0

    def __str__(self) -> str:
        return self.mnemonic

    def _repr_html_(self) -> str:
        return str(render("instruction.html", self))

    @property
    def status(self) -> Status:
        """The status of the evidence that the instruction exists."""
        return self.evidence.of(self.mnemonic).status

    @property
    def source(self) -> str:
        """The source for its existence."""
        return self.evidence.of(self.mnemonic).source

    @property
    def shape(self) -> str:
        """The shape in PTX notation, ``"m16n8k16"``."""
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def mnemonic(self) -> str:
        """The full PTX mnemonic."""
        types = [self.d, self.a, self.b, self.c]
        layouts = [self.a_layout, self.b_layout]
        has = self.modifiers.__contains__
        rounding = [x for x in self.modifiers if x in ("rn", "rz", "rm", "rp")]
        popc = [x for x in self.modifiers if x.endswith(".popc")]
        satfinite = ["satfinite"] if has("satfinite") else []
        kind = [x for x in self.modifiers if x.startswith(("kind::", "block_scale", "scale_vec::"))]
        scale = [self.scale] if self.scale else []
        if self.family == "wmma.mma":
            if self.a == "f16":
                types = [self.d, self.c]
            order = ["wmma.mma", *popc, "sync.aligned", *layouts, self.shape, *rounding, *types, *satfinite]
        elif self.is_warpgroup:
            sparse = ["sp"] if self.is_sparse else []
            order = ["wgmma.mma_async", *sparse, "sync.aligned", self.shape, *types[:3], *satfinite, *popc]
        elif self.is_tensor:
            order = [self.family, *self.modifiers, self.shape, *types[:3], *scale]
        else:
            name = self.family.removesuffix(".sync")
            order = [name, "sync.aligned", self.shape, *layouts, *kind, *satfinite, *types, *scale, *popc, *rounding]
        return ".".join(order)

    @property
    def short_mnemonic(self) -> str:
        """The mnemonic without its optional parts: the `mma.sync` prefix, ``sync.aligned``, ``row.col``."""
        text = self.mnemonic.replace(".sync.aligned", "").replace(".mma_async", "").replace(".row.col", "")
        return text.removeprefix("mma.") if self.family == "mma.sync" else text

    @property
    def types(self) -> tuple[str, ...]:
        """The formats in the order of the mnemonic: d, a, b, c, and the format of the scales.

        For `wgmma` and `tcgen05.mma`, c has the format of d and is not named.
        """
        unnamed = self.is_warpgroup or self.is_tensor
        types = (self.d, self.a, self.b) if unnamed else (self.d, self.a, self.b, self.c)
        return (*types, self.scale) if self.scale else types

    @property
    def is_warpgroup(self) -> bool:
        """Whether four warps execute it together, with operands in shared memory."""
        return self.family in ("wgmma", "wgmma.sp")

    @property
    def is_sparse(self) -> bool:
        """Whether A is packed: metadata selects the half of its elements that are stored."""
        return self.family in _SPARSE

    @property
    def is_tensor(self) -> bool:
        """Whether it is a `tcgen05.mma`: one thread starts it, D is in tensor memory."""
        return self.family in TENSOR_FAMILIES

    @property
    def kind(self) -> str:
        """The kind as in the mnemonic, ``"kind::f8f6f4"``; empty if there is none."""
        return next((x for x in self.modifiers if x.startswith("kind::")), "")

    @property
    def bit_operation(self) -> Literal["", "xor", "and"]:
        """The operation on bits of A and B before ones are counted; empty for other formats."""
        return "xor" if "xor.popc" in self.modifiers else "and" if "and.popc" in self.modifiers else ""

    @property
    def is_block_scaled(self) -> bool:
        """Whether blocks of A and B have scales."""
        return self.scale_vec > 0

    @property
    def scale_block(self) -> int:
        """The number of elements of k that share a scale; 0 without scales. For a sparse A, zeros count too."""
        return self.k // self.scale_vec if self.scale_vec else 0

    @property
    def warps(self) -> int:
        """The number of warps that execute it together."""
        return 4 if self.is_warpgroup else 1

    @property
    def terms(self) -> int:
        """The number of products in one dot product: k, or half of it if A is sparse."""
        return self.k // 2 if self.is_sparse else self.k

    @property
    def products(self) -> int:
        """The number of independent products: four for the f16 `mma.sync` m8n8k4, one per quad pair; else one."""
        return 4 if self.family == "mma.sync" and self.a == "f16" and self.m == 8 else 1

    def format(self, operand: Operand) -> Format:
        """Return the element format of an operand."""
        return format_of(getattr(self, operand))

    def container(self, operand: Operand) -> Container:
        """Return the width of an element's storage and the position of its pattern in it.

        Examples
        --------
        >>> from wmma_emu.instructions import lookup
        >>> narrow = lookup("m16n8k32.kind::f8f6f4.f32.e2m1.e3m2.f32")
        >>> narrow.container("a"), narrow.container("b")                   # e2m1 in bits 5 to 2 of its byte
        (Container(bits=8, shift=2), Container(bits=8, shift=0))
        >>> lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0").container("a")
        Container(bits=4, shift=0)
        """
        bits = self.format(operand).bits
        if operand in ("a", "b") and any(x in self.modifiers for x in _IN_BYTES):
            return Container(8, 2 if bits == 4 else 0)
        return Container(bits, 0)

    def place(self, operand: Operand) -> str:
        """Return the location of an operand: registers, shared memory or tensor memory.

        Examples
        --------
        >>> from wmma_emu.instructions import lookup
        >>> [lookup("wgmma.m64n8k16.f32.f16.f16", "sm_90").place(x) for x in ("b", "d")]
        ['shared memory', 'registers']
        """
        if self.is_tensor:
            return {"a": "shared or tensor memory", "b": "shared memory"}.get(operand, "tensor memory")
        return "shared memory" if self.is_warpgroup and operand == "b" else "registers"

    def registers(self, operand: Operand) -> int:
        """Return the number of registers per lane of an operand."""
        return self.num_registers[OPERANDS.index(operand)]

    def matrix_shape(self, operand: Operand) -> tuple[int, int]:
        """Return (rows, columns) of an operand's matrix; a sparse A is packed, half as wide as k."""
        return {"a": (self.m, self.terms), "b": (self.k, self.n)}.get(operand, (self.m, self.n))
