# SPDX-License-Identifier: MIT
"""What a matrix instruction is: shape, operand formats, layouts, modifiers, registers, as one frozen row."""

from dataclasses import dataclass
from typing import Literal

from wmma_emu.display import render
from wmma_emu.formats import Format, format_of

__all__ = ["OPERANDS", "Arch", "Family", "Instruction", "Operand"]

Operand = Literal["a", "b", "c", "d"]

Family = Literal["mma.sync", "wmma.mma", "mma.sp", "mma.sp::ordered_metadata", "wgmma", "wgmma.sp"]

OPERANDS: tuple[Operand, ...] = ("a", "b", "c", "d")


@dataclass(frozen=True, slots=True)
class Arch:
    """One chip architecture: its PTX target, the generation's name, products, and other names.

    It means the chip with its architecture-specific features: ``sm_90`` is ``sm_90a`` too.
    """

    name: str
    number: int
    generation: str
    products: tuple[str, ...]
    aliases: tuple[str, ...]
    source: str
    status: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row of the table of instructions: a matrix instruction with everything that PTX spells out.

    Parameters
    ----------
    family : {"mma.sync", "wmma.mma", "mma.sp", "mma.sp::ordered_metadata", "wgmma", "wgmma.sp"}
    m, n, k : int
    a_layout, b_layout : {"row", "col"}
    d, a, b, c : str
        PTX names of the element formats.
    modifiers : tuple of str
        In the order of the mnemonic: ``"satfinite"``, ``"xor.popc"``, ``"and.popc"``, ``"rn"``, ``"rz"``,
        ``"rm"``, ``"rp"``, ``"kind::f8f6f4"``.
    num_registers : tuple of int
        Registers a lane of a, b, c, d: 32-bit ones, 64-bit ones for f64. `wgmma` reads b, and may read a, from
        shared memory: its b has none, its a as many as it has where it comes in registers.
    archs : tuple of str
        Names of the `Arch` rows whose assembler accepts it.
    source, status : str
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
    source: str
    status: str

    def __str__(self) -> str:
        return self.mnemonic

    def _repr_html_(self) -> str:
        return str(render("instruction.html", self))

    @property
    def shape(self) -> str:
        """The shape as PTX writes it, ``"m16n8k16"``."""
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
        kind = [x for x in self.modifiers if x.startswith("kind::")]
        if self.family == "wmma.mma":
            if self.a == "f16":
                types = [self.d, self.c]
            order = ["wmma.mma", *popc, "sync.aligned", *layouts, self.shape, *rounding, *types, *satfinite]
        elif self.is_warpgroup:
            sparse = ["sp"] if self.is_sparse else []
            order = ["wgmma.mma_async", *sparse, "sync.aligned", self.shape, *types[:3], *satfinite, *popc]
        else:
            name = self.family.removesuffix(".sync")
            order = [name, "sync.aligned", self.shape, *layouts, *kind, *satfinite, *types, *popc, *rounding]
        return ".".join(order)

    @property
    def short_mnemonic(self) -> str:
        """The mnemonic without what may be left out: the `mma.sync` prefix, ``sync.aligned``, ``row.col``."""
        text = self.mnemonic.replace(".sync.aligned", "").replace(".mma_async", "").replace(".row.col", "")
        return text.removeprefix("mma.") if self.family == "mma.sync" else text

    @property
    def types(self) -> tuple[str, ...]:
        """The formats as the mnemonic names them: d, a, b and c; `wgmma` has c in the format of d, unnamed."""
        return (self.d, self.a, self.b) if self.is_warpgroup else (self.d, self.a, self.b, self.c)

    @property
    def is_warpgroup(self) -> bool:
        """Whether four warps execute it together, with operands in shared memory."""
        return self.family in ("wgmma", "wgmma.sp")

    @property
    def is_sparse(self) -> bool:
        """Whether A is packed: metadata says which half of its elements are there."""
        return self.family in ("mma.sp", "mma.sp::ordered_metadata", "wgmma.sp")

    @property
    def warps(self) -> int:
        """Warps that execute it together."""
        return 4 if self.is_warpgroup else 1

    @property
    def terms(self) -> int:
        """Products in one dot product: k, or half of it where A is sparse."""
        return self.k // 2 if self.is_sparse else self.k

    @property
    def products(self) -> int:
        """Independent products: four for the f16 `mma.sync` m8n8k4, one for each quad pair; else one."""
        return 4 if self.family == "mma.sync" and self.a == "f16" and self.m == 8 else 1

    def format(self, operand: Operand) -> Format:
        """Return the element format of an operand."""
        return format_of(getattr(self, operand))

    def registers(self, operand: Operand) -> int:
        """Return the registers a lane of an operand."""
        return self.num_registers[OPERANDS.index(operand)]

    def matrix_shape(self, operand: Operand) -> tuple[int, int]:
        """(rows, columns) of an operand's matrix; a sparse A is packed, half as wide as k."""
        return {"a": (self.m, self.terms), "b": (self.k, self.n)}.get(operand, (self.m, self.n))
