# SPDX-License-Identifier: MIT
"""Bring modifiers, in any order that ptxas accepts, to the manual's order, which the tables use."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache

from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.steps.syntax_table import SYNTAXES, Syntax
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES, VALUE_ENTRIES
from wmma_emu.scalar.cvt_table import CVT_FORMS

_TYPE = re.compile(r"([busf]\d+(x\d+)?|b\d+x\d+(_p\d+)?|bf16(x2)?|tf32|f16x2|u?e\dm\d(x\d)?|pred)\Z")
_SPACE = re.compile(r"(global|const|local|shared|param)(::\w+)?\Z")
_LAYOUT = re.compile(r"(row|col)\Z")
_REDUCTION = re.compile(r"(and|xor|popc)\Z")

_NAMES = {
    "mul": "lo hi wide", "mad": "lo hi wide", "madc": "lo hi", "mul24": "lo hi", "mad24": "lo hi", "dp2a": "lo hi",
    "div": "full", "shf": "l r", "cvt": "pack",
}  # fmt: skip
"""The modifiers that belong to the name of a lane operation, and have to come first (ptxas 13.0)."""

_SWITCHES = frozenset("sat satfinite relu NaN approx cc shiftamt sync uni".split())
"""The only modifiers that may be repeated, without effect (ptxas 13.0)."""

_Key = tuple[str, str, tuple[str, ...], frozenset[str]]


def ordered(mnemonic: str, modifiers: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return modifiers in the manual's order; None if no order of them is legal.

    ptxas accepts any order, with three exceptions: words that belong to the instruction's name come first; types, state
    spaces and layouts keep their order; only switches (``.sat``, ``.sync``) may be repeated.

    Examples
    --------
    >>> ordered("add", ("f32", "ftz", "rn")), ordered("cp", ("async", "shared", "global", "ca"))
    (('rn', 'ftz', 'f32'), ('async', 'ca', 'shared', 'global'))
    >>> ordered("mul", ("s32", "lo")), ordered("add", ("ftz", "ftz", "f32"))
    (None, None)
    """
    words = modifiers
    if len(set(words)) < len(words):
        words = tuple(x for i, x in enumerate(words) if x not in _SWITCHES or x not in words[:i])
    return _ordered(mnemonic, words)


@lru_cache(1 << 14)
def _ordered(mnemonic: str, modifiers: tuple[str, ...]) -> tuple[str, ...] | None:
    if mnemonic in SYNTAXES:
        found = _syntax(mnemonic, modifiers)
        return None if found is None else found[1]
    key = _key(mnemonic, modifiers)
    return None if key is None else _spellings(mnemonic).get(key)


def _key(mnemonic: str, modifiers: Iterable[str]) -> _Key | None:
    words = list(modifiers)
    name = words.pop(0) if words and words[0] in _NAMES.get(mnemonic, "").split() else ""
    types = tuple(x for x in words if _TYPE.match(x))
    free = [x for x in words if not _TYPE.match(x)]
    found = frozenset(free)
    return (mnemonic, name, types, found) if len(found) == len(free) else None


@cache
def _spellings(mnemonic: str) -> dict[_Key, tuple[str, ...]]:
    """Return the spellings of a lane operation in its entries."""
    found: dict[_Key, tuple[str, ...]] = {}
    for opcode in _opcodes(mnemonic):
        words = tuple(opcode.split(".")[1:])
        key = _key(mnemonic, words)
        if key is not None:
            found.setdefault(key, words)
    return found


def _opcodes(mnemonic: str) -> Iterator[str]:
    for entries in (VALUE_ENTRIES, ALL_VIDEO_ENTRIES):
        yield from (x for x in entries if x.split(".", 1)[0] == mnemonic)
    if mnemonic == "cvt":
        yield from (x.mnemonic for x in CVT_FORMS.values())


def syntax_of(instruction: PtxInstruction) -> Syntax | None:
    """Return the syntax of an instruction whose modifiers are in the manual's order; None if no syntax matches."""
    found = _syntax(instruction.mnemonic, instruction.modifiers)
    return None if found is None else found[0]


@lru_cache(1 << 14)
def _syntax(mnemonic: str, modifiers: tuple[str, ...]) -> tuple[Syntax, tuple[str, ...]] | None:
    for syntax in SYNTAXES.get(mnemonic, ()):
        name = syntax.name[1:]
        if modifiers[: len(name)] != name:
            continue
        if not syntax.is_known:
            return syntax, modifiers
        rest = _in_slots(modifiers[len(name) :], syntax)
        if rest is not None:
            return syntax, name + rest
    return None


def _in_slots(words: tuple[str, ...], syntax: Syntax) -> tuple[str, ...] | None:
    """Assign words to slots; return None if a word or a required slot is left over, or a fixed order changes."""
    left, placed = list(words), []
    for slot in syntax.slots:
        word = next((x for x in left if slot.words.fullmatch(x)), None)
        if word is not None:
            left.remove(word)
            placed.append(word)
        elif slot.is_needed:
            return None
    if left:
        return None
    for group in (_TYPE, _SPACE, _LAYOUT, _REDUCTION):
        if [x for x in words if group.match(x)] != [x for x in placed if group.match(x)]:
            return None
    return tuple(placed)


def in_manual_order(program: KernelProgram) -> KernelProgram:
    """Bring all modifiers of a program to the manual's order; illegal modifiers are left unchanged."""
    known: dict[str, tuple[str, ...] | None] = {}
    changed: dict[int, PtxInstruction] = {}
    for index, instruction in enumerate(program.instructions):
        opcode = instruction.opcode
        if opcode in known:
            words = known[opcode]
        else:
            words = ordered(instruction.mnemonic, instruction.modifiers)
            words = known[opcode] = None if words == instruction.modifiers else words
        if words is not None:
            changed[index] = replace(instruction, opcode=".".join((instruction.mnemonic, *words)), modifiers=words)
    if not changed:
        return program
    return replace(program, instructions=tuple([changed.get(i, x) for i, x in enumerate(program.instructions)]))
