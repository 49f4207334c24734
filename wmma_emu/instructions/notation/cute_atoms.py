# SPDX-License-Identifier: MIT
"""Conversion between CuTe's MMA atoms, ``SM80_16x8x16_F32F16F16F32_TN``, and instructions."""

import math
import re
from functools import cache
from typing import NamedTuple

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.formats.names import formats_called
from wmma_emu.instructions.notation.cute_atom_table import ATOMS, NO_MATRIX_ATOMS, AtomEntry
from wmma_emu.instructions.spec import Instruction
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.suggestions import likeness

ATOM = re.compile(r"\bSM\d{2,3}(_|::)|\bMMA_(Atom|Traits)\b|^cute::", re.IGNORECASE | re.ASCII)
"""A string that contains an atom, or a template around one."""

_WRAPPERS = re.compile(r"^\s*(?:(?:(?:cute::)?(?:MMA_Atom|MMA_Traits|TiledMMA))\s*<\s*)*", re.IGNORECASE)
_NAME = re.compile(r"(?P<spaces>(?:\w+::)*)(?P<name>\w+)\s*(?:<(?P<arguments>[^>]*))?", re.ASCII)
_FORMATS = "GC64|C64|F64|TF32|BF16|F32|F16|E4M3|E5M2|E3M2|E2M3|E2M1|S32|S8|U8|S4|U4|U1|B1"
_PARTS = re.compile(
    r"SM(?P<number>\d+)_(?P<sparse>SPARSE_)?(?P<shape>\d+X\d+X\d+)"
    rf"(?:_(?P<types>(?:{_FORMATS})+))?(?:_(?P<source>SS|RS))?(?:_(?P<layouts>[NT][NT]))?(?P<rest>(?:_\w+)?)"
)
_ORDERS = {"T": "row", "N": "col"}
"""The storage order of a matrix for each letter: transposed or not, as in BLAS, whose matrices are column-major."""

_ENDINGS = {
    "VS": "block_scale", "SATURATE": "satfinite", "XORPOPC": "xor.popc", "ANDPOPC": "and.popc",
}  # fmt: skip
_COMPLEX = {"GC64": "three", "C64": "four"}


class AtomName(NamedTuple):
    """The parts of an atom's name: the name without namespaces, and its template arguments."""

    name: str
    arguments: tuple[str, ...]


def atom_name(text: str) -> AtomName:
    """Remove everything around an atom's name.

    Examples
    --------
    >>> atom_name("cute::MMA_Atom<cute::SM90::GMMA::MMA_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::MN>>")
    AtomName(name='SM90_64X64X16_F32F16F16_SS', arguments=('K', 'MN'))
    >>> atom_name("SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 16>").name
    'SM120_16X8X64_TN_VS'
    """
    found = _NAME.search(text, _WRAPPERS.match(text).end())  # type: ignore[union-attr]
    if found is None:
        return AtomName("", ())
    spaces, name = found["spaces"].upper().split("::"), found["name"].upper()
    number = next((x for x in spaces if re.fullmatch(r"SM\d+", x)), "")
    inner = re.match(r"G?MMA_(?=\d)", name)
    if number and inner:
        sparse = "SPARSE_" if "SPARSE" in spaces else ""
        name = f"{number}_{sparse}{name[inner.end() :]}"
    arguments = (found["arguments"] or "").split(",")
    return AtomName(name, tuple(x.split("::")[-1].strip() for x in arguments if x.strip()))


def instructions_of_atom(text: str) -> tuple[tuple[Instruction, ...], str]:
    """Find the instructions of an atom; return them and a note.

    Names follow CuTe's rule for any chip: ``SM86_16x8x16_...`` is accepted too, if sm_86 supports the instruction.

    Examples
    --------
    >>> (found,), note = instructions_of_atom("SM80_16x8x32_S32S8U8S32_TN_SATURATE")
    >>> print(found, repr(note))
    mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 ''
    >>> instructions_of_atom("SM90_64x128x16_F32BF16BF16_RS")[1]
    'A comes from registers, B from shared memory.'
    >>> instructions_of_atom("SM80_16x8x16_F32F16F16_TN")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: there is no CuTe atom 'SM80_16x8x16_F32F16F16_TN'; the nearest are
    SM80_16x8x16_F32F16F16F32_TN, SM80_16x8x8_F32F16F16F32_TN, SM80_16x8x16_F16F16F16F16_TN
    """
    name, arguments = atom_name(text)
    parts = _PARTS.fullmatch(name)
    if parts is None or not (found := _rows_of(parts, arguments)):
        raise UnsupportedInstructionError(_refusal(text, name))
    return found, _note(parts, found)


def _rows_of(parts: "re.Match[str]", arguments: tuple[str, ...]) -> tuple[Instruction, ...]:
    ending = parts["rest"].removeprefix("_")
    sparse = bool(parts["sparse"]) or ending == "SPARSE"
    if ending not in ("", *_ENDINGS, "SPARSE"):
        return ()
    number = int(parts["number"])
    types = re.findall(_FORMATS, parts["types"] or "")
    wanted = tuple("f64" if x in _COMPLEX else "b1" if x == "U1" else x.lower() for x in types)
    vector = next((int(x) for x in arguments if x.isdecimal()), 0)
    named = [formats_called(x) for x in arguments if formats_called(x)]
    return tuple(
        entry
        for entry in _by_shape().get(parts["shape"].lower(), ())
        if f"sm_{number}" in entry.archs
        and entry.is_sparse == sparse
        and entry.is_warpgroup == bool(parts["source"])
        and _modifier(entry) == _ENDINGS.get(ending, "")
        and _orders_fit(entry, parts["layouts"])
        and (entry.types[: len(wanted)] == wanted and len(wanted) >= (3 if entry.is_warpgroup else 4) if wanted
             else _arguments_fit(entry, named, vector))
    )  # fmt: skip


@cache
def _by_shape() -> dict[str, list[Instruction]]:
    found: dict[str, list[Instruction]] = {}
    for entry in INSTRUCTIONS.values():
        if entry.family != "wmma.mma":
            found.setdefault(f"{entry.m}x{entry.n}x{entry.k}", []).append(entry)
    return found


def _modifier(instruction: Instruction) -> str:
    """Return the modifier at the end of an atom's name; a kind follows from the chip or the template arguments."""
    return next((x for x in instruction.modifiers if not x.startswith(("kind::", "scale_vec::"))), "")


def _orders_fit(instruction: Instruction, layouts: str | None) -> bool:
    if layouts is None or instruction.is_warpgroup:
        return True
    return (instruction.a_layout, instruction.b_layout) == (_ORDERS[layouts[0]], _ORDERS[layouts[1]])


def _arguments_fit(instruction: Instruction, named: list[tuple[str, ...]], vector: int) -> bool:
    """Return whether template arguments (a, b, c, scales, and elements per scale) match an instruction."""
    if instruction.kind in ("", "kind::mxf4"):
        return False
    types = (instruction.a, instruction.b, instruction.c, instruction.scale)
    return all(own in given for own, given in zip(types, named, strict=False)) and vector in (
        0,
        instruction.scale_block,
    )


def _note(parts: "re.Match[str]", found: tuple[Instruction, ...]) -> str:
    notes = []
    for word, count in _COMPLEX.items():
        if (parts["types"] or "").startswith(word):
            notes.append(f"A product of complex numbers: CuTe computes it with {count} of these instructions.")
    if parts["source"]:
        notes.append(f"A comes from {'registers' if parts['source'] == 'RS' else 'shared memory'}, "
                     f"B from shared memory.")  # fmt: skip
    if not parts["types"] and len(found) > 1:
        notes.append(f"Its template arguments select one of {len(found)} instructions; this is the first.")
    return " ".join(notes)


def _refusal(text: str, name: str) -> str:
    if name in NO_MATRIX_ATOMS:
        return f"{shorten(text)} is not a matrix instruction but {NO_MATRIX_ATOMS[name]}"
    near = _nearest(name)
    said = f"; the nearest are {', '.join(near)}" if near else (
        "; atoms are named like SM80_16x8x16_F32F16F16F32_TN: a chip, m x n x k, the types of d, a, b, c, "
        "and the storage order of A and B"
    )  # fmt: skip
    return f"there is no CuTe atom {shorten(text)}{said}"


def _nearest(name: str, count: int = 3) -> list[str]:
    """Return the atoms with the most similar names, those with the nearest shape first."""
    begin, shape, end = _apart(name)
    ranked = []
    for other in _all_names():
        other_begin, other_shape, other_end = _apart(other.upper())
        alike = likeness(begin + end, other_begin + other_end)
        apart = sum(abs(math.log2(max(x, 1) / y)) for x, y in zip(shape, other_shape, strict=False))
        ranked.append((apart / 10 - alike, other))
    near = [other for score, other in sorted(ranked)[:count] if score < -0.6]
    return near if shape else []


def _apart(name: str) -> tuple[str, list[int], str]:
    """Split a name into the part before the shape, the shape, and the part after it."""
    found = re.search(r"\d+X\d+(X\d+)?", name)
    if found is None:
        return name, [], ""
    return name[: found.start()], [int(x) for x in found[0].split("X")], name[found.end() :]


@cache
def _all_names() -> tuple[str, ...]:
    """Return every atom that CUTLASS has, without template arguments."""
    return tuple(dict.fromkeys(x.split("<")[0] for entry in INSTRUCTIONS.values() for x in cute_atoms(entry)))


def cute_atoms(instruction: Instruction) -> tuple[str, ...]:
    """Return the names of the CuTe atoms that CUTLASS has for an instruction.

    `wgmma` has two: with A from shared memory, and from registers. Arguments that do not affect the result (the layout
    of matrices in shared memory) are omitted.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> cute_atoms(lookup("m16n8k8.f32.f16.f16.f32"))
    ('SM75_16x8x8_F32F16F16F32_TN', 'SM80_16x8x8_F32F16F16F32_TN')
    >>> cute_atoms(lookup("wgmma.m64n64k32.f32.e4m3.e5m2"))
    ('SM90_64x64x32_F32E4M3E5M2_SS_TN', 'SM90_64x64x32_F32E4M3E5M2_RS_TN')
    >>> cute_atoms(lookup("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"))
    ('SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 16>',)
    """
    entries = [entry for entry in ATOMS if _has(entry, instruction)]
    return tuple(
        name
        for entry in entries
        for name in (_typed(entry, instruction) if entry.typed else _named(entry, instruction))
    )


def _has(entry: AtomEntry, ins: Instruction) -> bool:
    first = ins.modifiers[0] if ins.modifiers else "none"
    operands = entry.operands.split()
    return (
        entry.family == ins.family
        and (not entry.shapes or ins.shape in entry.shapes.split())
        and ins.a in operands and ins.b in operands
        and (not entry.only or f"{ins.d}.{ins.a}.{ins.b}.{ins.c}" in entry.only.split())
        and (not entry.modifiers or first in entry.modifiers.split("|"))
    )  # fmt: skip


def _named(entry: AtomEntry, ins: Instruction) -> tuple[str, ...]:
    types = "".join(x.upper().replace("B1", "U1") for x in ins.types)
    begin = f"SM{entry.number}_{ins.m}x{ins.n}x{ins.k}_{types}"
    ending = next((f"_{word}" for word, x in _ENDINGS.items() if word and x == _modifier(ins)), "")
    if not ins.is_warpgroup:
        letters = {x: letter for letter, x in _ORDERS.items()}
        return (f"{begin}_{letters[ins.a_layout]}{letters[ins.b_layout]}{ending}",)
    along_k = "" if ins.format("a").bits == 16 else "_TN"
    names = tuple(f"{begin}_{source}{along_k}{ending}" for source in ("SS", "RS"))
    return tuple(x.replace("SM90_", "SM90::GMMA::SPARSE::GMMA_") for x in names) if ins.is_sparse else names


def _typed(entry: AtomEntry, ins: Instruction) -> tuple[str, ...]:
    """Return a name with the types as template arguments."""
    accumulator = {"f32": "float", "f16": "half_t"}[ins.d]
    arguments = [f"float_{ins.a}_t", f"float_{ins.b}_t", accumulator]
    if ins.is_block_scaled:
        arguments += [f"float_{ins.scale}_t", str(ins.scale_block)]
    sparse, scaled = "SPARSE_" * ins.is_sparse, "_VS" * ins.is_block_scaled
    return (f"SM{entry.number}_{sparse}{ins.m}x{ins.n}x{ins.k}_TN{scaled}<{', '.join(arguments)}>",)
