# SPDX-License-Identifier: MIT
"""Parser of mnemonics: sorts their parts into family, shape, layouts, types and modifiers.

The assembler accepts a modifier in any position (``.satfinite`` before or after the types, ``.rn`` after the shape or
at the end: ptxas 13.0 accepts all of these); the order of the types, of the layouts, and within ``.xor.popc`` matters.
This parser does the same.
"""

import re
from dataclasses import dataclass

from wmma_emu.errors import CallError, UnsupportedInstructionError, shorten
from wmma_emu.formats import FORMATS
from wmma_emu.suggestions import nearest

_LONGEST_MNEMONIC = 200

_SHAPE = re.compile(r"m[0-9]{1,4}n[0-9]{1,4}k[0-9]{1,4}", re.ASCII)

_OPERANDS = re.compile(r"[\s{}%\[\],]")

_FAMILIES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("mma", "sp"), "mma.sp"),
    (("mma", "sp::ordered_metadata"), "mma.sp::ordered_metadata"),
    (("mma",), "mma.sync"),
    (("wmma", "mma"), "wmma.mma"),
    (("wmma",), "wmma.mma"),
    (("wgmma", "mma_async", "sp"), "wgmma.sp"),
    (("wgmma", "sp"), "wgmma.sp"),
    (("wgmma", "mma_async"), "wgmma"),
    (("wgmma",), "wgmma"),
)
"""The beginnings of mnemonics, longer ones first, and the families that they name."""

_ELSEWHERE = {
    "tcgen05": "of tcgen05 only mma multiplies; wmma_emu.tcgen05 executes ld, st, cp and shift",
    "wmma.load": "it moves data, and is not a matrix product",
    "wmma.store": "it moves data, and is not a matrix product",
    "ldmatrix": "it moves data: wmma_emu.warp.ldmatrix executes it, and wmma-emu explore shows it",
    "stmatrix": "it moves data: wmma_emu.warp.stmatrix executes it, and wmma-emu explore shows it",
    "movmatrix": "it moves data: wmma_emu.warp.movmatrix executes it, and wmma-emu explore shows it",
    "fma": "it is not a matrix instruction; 'fma.f32' stands for the CUDA-core baseline of whole products",
}

_MODIFIERS = (
    *("satfinite", "rn", "rz", "rm", "rp", "xor.popc", "and.popc", "or.popc"),
    *("kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", "block_scale"),
    *("scale_vec::1x", "scale_vec::2x", "scale_vec::4x"),
)

_USUAL_SCALE_VEC = {"kind::mxf8f6f4": "scale_vec::1x", "kind::mxf4": "scale_vec::2x"}
"""The default scale_vec of each kind; ``kind::mxf4nvf4`` has no default."""

_WORDS = ("sync", "aligned", "mma_async", "sp", "row", "col", "xor", "and", "or", "popc", *FORMATS, *_MODIFIERS)


@dataclass(frozen=True, slots=True)
class MnemonicParts:
    """The parts of a mnemonic as written; only the family and the default scale_vec are completed.

    ``full`` is whether ``sync`` was spelled out; ``unknown`` holds the words that belong to no mnemonic, each
    with the most similar known word, if there is one.
    """

    text: str
    family: str
    family_given: bool
    full: bool
    shapes: tuple[str, ...]
    layouts: tuple[str, ...]
    types: tuple[str, ...]
    modifiers: tuple[str, ...]
    unknown: tuple[tuple[str, tuple[str, ...]], ...]


def parse(text: object) -> MnemonicParts:
    """Sort the parts of a mnemonic."""
    if not isinstance(text, str):
        raise CallError(
            f"an instruction is named by its PTX mnemonic, such as 'm16n8k16.f32.f16.f16.f32', "
            f"not by {type(text).__name__} {shorten(text)}"
        )
    given = text[: 2 * _LONGEST_MNEMONIC].strip().rstrip(";").rstrip()
    if len(given) > _LONGEST_MNEMONIC or len(text) > 2 * _LONGEST_MNEMONIC:
        raise UnsupportedInstructionError(
            f"{len(text)} characters are too long for a mnemonic (this begins with {text[:40]!a}); give the PTX "
            f"mnemonic alone, such as 'm16n8k16.f32.f16.f16.f32'"
        )
    if not given:
        raise UnsupportedInstructionError(
            "an empty string names no instruction; give a PTX mnemonic such as 'm16n8k16.f32.f16.f16.f32'"
        )
    if not given.isascii():
        raise UnsupportedInstructionError(f"{text.strip()!a} has characters that do not occur in PTX mnemonics")
    if found := _OPERANDS.search(given):
        raise UnsupportedInstructionError(
            f"{text.strip()!r} is more than a mnemonic; omit the operands: {given[: found.start()]!r}"
        )
    given = given.lower()
    words = given.split(".")
    for name, reason in _ELSEWHERE.items():
        if given == name or given.startswith(name + "."):
            raise UnsupportedInstructionError(f"{text.strip()!r} cannot be looked up as a product: {reason}")
    return _sort(text.strip(), words)


def _sort(text: str, words: list[str]) -> MnemonicParts:
    begins = [(beginning, name) for beginning, name in _FAMILIES if tuple(words[: len(beginning)]) == beginning]
    family_given = bool(begins)
    beginning, family = begins[0] if begins else ((), "mma.sync")
    rest = words[len(beginning) :]
    late = next((x for x in rest if beginning == ("mma",) and x in ("sp", "sp::ordered_metadata")), None)
    if late:  # CUTLASS writes it after the kind, which ptxas accepts
        family = f"mma.{late}"
        rest.remove(late)
    shapes: list[str] = []
    layouts: list[str] = []
    types: list[str] = []
    modifiers: list[str] = []
    unknown: list[tuple[str, tuple[str, ...]]] = []
    if words[0] == "wmma" and words[1:2] != ["mma"]:
        unknown.append(("wmma", ("wmma.mma",)))
    operations = [x for x in rest if x in ("xor", "and", "or", "popc")]
    while operations:  # .xor.popc is one modifier of two words
        length = 2 if operations[0] != "popc" and operations[1:2] == ["popc"] else 1
        modifiers.append(".".join(operations[:length]))
        del operations[:length]
    for word in rest:
        if _SHAPE.fullmatch(word):
            shapes.append(word)
        elif word in ("row", "col"):
            layouts.append(word)
        elif word in FORMATS:
            types.append(word)
        elif word in _MODIFIERS:
            modifiers.append(word)
        elif word not in ("sync", "aligned", "xor", "and", "or", "popc"):
            near = nearest(word, _WORDS, cutoff=0.5) if len(word) < 30 else []
            unknown.append((word, tuple(near)))
            types.extend(x for x in near if x in FORMATS)
    if "block_scale" in modifiers and not any(x.startswith("scale_vec::") for x in modifiers):
        modifiers.extend(_USUAL_SCALE_VEC[x] for x in modifiers if x in _USUAL_SCALE_VEC)
    full = family_given and "sync" in rest
    return MnemonicParts(
        text, family, family_given, full,
        tuple(shapes), tuple(layouts), tuple(types), tuple(modifiers), tuple(unknown),
    )  # fmt: skip
