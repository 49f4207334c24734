# SPDX-License-Identifier: MIT
"""The entries of the table of instructions: the facts that several instructions share, field by field."""

from collections.abc import Iterator
from itertools import product
from typing import Literal, NamedTuple

from wmma_emu.chip_sets import chips_since
from wmma_emu.evidence import Evidence, Run
from wmma_emu.formats import format_of
from wmma_emu.instructions.spec import Family, Instruction

Layout = Literal["row", "col"]

_ROW_COL: tuple[tuple[Layout, Layout], ...] = (("row", "col"),)
_ASSEMBLED = "; chips and register counts as ptxas 13.0 accepts them (.version 9.0), 2026-11-20"


def _is_for(words: str, instruction: Instruction) -> bool:
    """Return whether a field's value applies to an instruction: it has one of the words, or there are no words."""
    has = {
        instruction.shape,
        instruction.a,
        f"{instruction.a}.{instruction.b}",
        f"{instruction.d}.{instruction.c}",
        instruction.bit_operation,
    }
    return not words or not has.isdisjoint(words.split())


class CodeEntry(NamedTuple):
    """The machine code of instructions from a chip onward.

    ``text`` has fields: the types ``{D}``, ``{A}``, ``{B}``; ``{F}``, which is F32 if c or d is f32; ``{A8}`` and
    ``{B8}``, the 8-bit types for 4-bit ones; ``{OP}``, XOR or AND; the modifiers ``{SAT}`` and ``{RND}``; ``{SP}``,
    which marks a sparse A; ``{SF}`` and ``{SCALE}``, which mark block scales. ``{N}`` has a separate table.
    ``{mnk}``, ``{m}``, ``{n}``, ``{k}`` are the shape of the machine instruction, which is ``unit``; ``{count}`` is the
    number of machine instructions that make the product, and ``{others}`` is one less. ``of`` restricts the entry to
    some instructions, by shapes, formats of A, d.c, xor or and; the first entry that applies to an instruction is used.
    An empty ``source`` is the source of the family.
    """

    since: str
    text: str
    note: str = ""
    source: str = ""
    of: str = ""
    unit: str = "m n k"


class PtxVersion(NamedTuple):
    """A version of PTX that instructions need, and its source; ``of`` is as in `CodeEntry`, or a.b."""

    version: tuple[int, int]
    source: str
    of: str = ""


class _FamilyFacts(NamedTuple):
    """The facts that all instructions of a family share; ``figures`` is the section with figures of their layouts."""

    section: str
    code_read: str
    ptx: PtxVersion
    figures: str = ""


EXACT = "ptxas 13.0, every kind of entry under every version, 2026-11-21: the oldest that it takes"
SUFFICES = "ptxas 13.0, every kind of entry under every version, 2026-11-21: it takes all, and of most older ones too: "
_PTX_7_8 = PtxVersion((7, 8), SUFFICES + "6.4 to 7.1 except e4m3, e5m2 and larger f64")
_READ = "ptxas 13.0 and 12.8, cubins disassembled, 2026-11-20"
_LATER_READ = "ptxas 13.0, cubins disassembled, 2026-11-21"

_FAMILIES: dict[Family, _FamilyFacts] = {
    "mma.sync": _FamilyFacts("9.7.14.5 (mma)", _READ, _PTX_7_8, "9.7.14.5.{}"),
    "wmma.mma": _FamilyFacts("9.7.14.4 (wmma.mma)", _READ, PtxVersion((7, 1), SUFFICES + "only and.popc needs it")),
    "mma.sp": _FamilyFacts("9.7.14.6 (mma.sp)", _LATER_READ, _PTX_7_8, "9.7.14.6.2"),
    "mma.sp::ordered_metadata": _FamilyFacts(
        "9.7.14.6 (mma.sp::ordered_metadata)", _LATER_READ, PtxVersion((8, 5), EXACT), "9.7.14.6.2"
    ),
    "wgmma": _FamilyFacts("9.7.15.5 (wgmma.mma_async)", _LATER_READ, PtxVersion((8, 0), EXACT), "9.7.15.5.1"),
    "wgmma.sp": _FamilyFacts("9.7.15.5 (wgmma.mma_async.sp)", _LATER_READ, PtxVersion((8, 2), EXACT), "9.7.15.6"),
}


class Group(NamedTuple):
    """A table entry: instructions that are a product of shapes, types, modifiers and layouts, and facts about them.

    ``types`` are written d.a.b.c. ``since`` names the chips that accept them, in the form of `chips_since`. A modifier
    may be several words, separated by dots. ``code`` is the machine code, a single string if it is the same on every
    chip. ``figures`` are the subsections of the manual with the layouts of the shapes, in their order; shapes without
    one follow the same rule. ``ptx`` is the version that they need beyond that of their family, ``accepted`` the
    evidence that they exist.
    """

    family: Family
    since: str
    shapes: str
    types: str
    modifiers: tuple[str, ...] = ("",)
    layouts: tuple[tuple[Layout, Layout], ...] = _ROW_COL
    code: str | tuple[CodeEntry, ...] = ()
    figures: str = ""
    ptx: tuple[PtxVersion, ...] = ()
    scale: str = ""
    scale_vec: int = 0
    accepted: str = _ASSEMBLED

    def codes(self, instruction: Instruction) -> Iterator[CodeEntry]:
        """Yield the machine code of an instruction on different chips."""
        codes = (CodeEntry(self.since, self.code),) if isinstance(self.code, str) else self.code
        return (
            x._replace(source=x.source or _FAMILIES[self.family].code_read) for x in codes if _is_for(x.of, instruction)
        )

    def ptx_version(self, instruction: Instruction) -> tuple[int, int]:
        """Return a version of PTX that supports an instruction; an older one may support it too."""
        return max(x.version for x in (_FAMILIES[self.family].ptx, *self.ptx) if _is_for(x.of, instruction))

    def figure(self, instruction: Instruction) -> str:
        """Return the section of the manual with the figures of an instruction's layouts, or an empty string."""
        section = _FAMILIES[self.family].figures
        of_shape = dict(zip(self.shapes.split(), self.figures.split(), strict=False)).get(instruction.shape, "")
        return section.format(of_shape) if of_shape or "{}" not in section else ""

    def instructions(self) -> Iterator[Instruction]:
        """Yield every combination of shape, types, modifiers and layouts."""
        archs = chips_since(self.since)
        section = f"PTX ISA 9.1, section {_FAMILIES[self.family].section}"
        accepted = Evidence("documented", section + self.accepted, Run("assembled", archs[0]))
        sizes = {x: tuple(map(int, x[1:].replace("n", " ").replace("k", " ").split())) for x in self.shapes.split()}
        formats = [(x.split("."), {y: format_of(y).bits for y in x.split(".")}) for x in self.types.split()]
        for (shape, (m, n, k)), ((d, a, b, c), bits), modifier, (a_layout, b_layout) in product(
            sizes.items(), formats, self.modifiers, self.layouts
        ):
            a_elements, b_elements, c_elements = m * k, k * n, m * n
            if self.family in ("mma.sp", "mma.sp::ordered_metadata", "wgmma.sp"):
                a_elements //= 2
            if self.family in ("wgmma", "wgmma.sp"):  # four warps share a, c and d; b is in shared memory
                a_elements, b_elements, c_elements = a_elements // 4, 0, c_elements // 4
            if a == "f16" and self.family == "wmma.mma":  # 16 elements a lane, duplicates where fewer differ
                a_elements, b_elements = max(a_elements, 32 * 16), max(b_elements, 32 * 16)
            elif a == "f16" and shape == "m8n8k4":
                a_elements, b_elements, c_elements = 4 * m * k, 4 * k * n, 4 * m * n  # one product a quad pair
            if modifier.startswith(("kind::f8f6f4", "kind::mxf8f6f4")):
                bits = bits | {a: 8, b: 8}  # each element takes a byte
            yield Instruction(
                self.family, m, n, k, a_layout, b_layout, d, a, b, c,
                modifiers=_words(modifier),
                num_registers=(
                    _registers(a_elements, bits[a]), _registers(b_elements, bits[b]),
                    _registers(c_elements, bits[c]), _registers(c_elements, bits[d]),
                ),
                archs=archs, evidence=accepted, scale=self.scale, scale_vec=self.scale_vec,
            )  # fmt: skip


def _registers(elements: int, bits: int) -> int:
    """Return the number of registers per lane for a warp's elements: 64-bit registers for f64, else 32-bit."""
    return elements // 32 * bits // max(bits, 32)


def _words(modifier: str) -> tuple[str, ...]:
    """Split modifiers of several words; ``xor.popc`` is one word."""
    if modifier.endswith(".popc"):
        return (modifier,)
    return tuple(modifier.split(".")) if modifier else ()
