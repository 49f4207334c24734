# SPDX-License-Identifier: MIT
"""Instructions for the text that a user types, in any notation."""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from wmma_emu.errors import CallError, UnknownNameError, UnsupportedInstructionError, shorten
from wmma_emu.instructions.arch import DEFAULT_ARCH, arch_of
from wmma_emu.instructions.lookup import lookup
from wmma_emu.instructions.notation.cute_atom_table import NO_MATRIX_ATOMS
from wmma_emu.instructions.notation.cute_atoms import ATOM, atom_name, instructions_of_atom
from wmma_emu.instructions.notation.fragments import FRAGMENT, fragment_meaning
from wmma_emu.instructions.notation.machine_names import MACHINE_NAME, machine_uses
from wmma_emu.instructions.notation.tensor_atoms import tensor_instruction_of_atom
from wmma_emu.instructions.notation.words import matching, words_of_query
from wmma_emu.instructions.spec import Arch, Instruction, Operand
from wmma_emu.suggestions import nearest

Notation = Literal["ptx", "machine code", "cute", "fragment", "words"]
"""The notation of a query: PTX, machine code (SASS), a CuTe atom, a fragment of `mma.h`, or search words."""

_LONGEST = 400
_PTX = re.compile(
    r"(?:(?:__)?asm(?:__)?\s+(?:volatile\s*)?\(|asm\()?[\s{\"]*(?:@!?%?\w+\s+)?"
    r"(?P<name>(?:mma|wmma|wgmma|tcgen05)\.[\w.:]+)(?=[\s{;\"\\]|$)",
    re.IGNORECASE,
)
"""A line of PTX, or of inline assembly in quotes."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The instructions that a query means, the most likely first.

    Parameters
    ----------
    text : str
        The text as typed.
    notation : {"ptx", "machine code", "cute", "fragment", "words"}
    instructions : tuple of Instruction
        At least one.
    operand : {"a", "b", "d"}, optional
        The operand that the text names; an accumulator is both C and D.
    arch : str, optional
        The chip on which the text means the first instruction, unless it is every chip that supports it.
    note : str
        Further information in complete sentences; may be empty.
    """

    text: str
    notation: Notation
    instructions: tuple[Instruction, ...]
    operand: Operand | None = None
    arch: str | None = None
    note: str = ""

    @property
    def instruction(self) -> Instruction:
        """The most likely instruction."""
        return self.instructions[0]


def meaning_of(text: str, arch: "str | Arch | None" = None) -> Meaning:
    """Return the instructions that a string means: PTX, machine code, a CuTe atom, a WMMA fragment, or words.

    Parameters
    ----------
    text : str
        In upper or lower case: ``"m16n8k16.f32.f16.f16.f32"``, a line of PTX or of disassembly,
        ``"HMMA.16816.F32"``, ``"SM80_16x8x16_F32F16F16F32_TN"``, ``"wmma::fragment<wmma::matrix_a, ...>"``,
        ``"wgmma fp8"``.
    arch : str or Arch, optional
        A chip that must support the instructions; others are omitted.

    Returns
    -------
    Meaning

    Raises
    ------
    UnsupportedInstructionError
        If the text does not mean any instruction, or none on this chip; the message names the nearest.

    Examples
    --------
    >>> print(meaning_of("SM89_16x8x32_F32E4M3E5M2F32_TN").instruction)
    mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32
    >>> meaning = meaning_of("/*0090*/  HMMA.16816.F32.BF16 R4, R8, R12, R4 ;")
    >>> print(meaning.instruction, meaning.arch, len(meaning.instructions))
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 sm_90 13
    >>> meaning = meaning_of("wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;")
    >>> print(meaning.instruction, meaning.operand)
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 b
    >>> meaning_of("HMMA.16832.F32")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: no instruction becomes 'HMMA.16832.F32' on any chip; the nearest
    machine instructions are HMMA.SP.16832.F32, HMMA.1688.F32, HMMA.16816.F32
    """
    if not isinstance(text, str):
        raise CallError(
            f"an instruction is named by a string such as 'm16n8k16.f32.f16.f16.f32', not by {shorten(text)}"
        )
    if len(text) > _LONGEST:
        raise UnsupportedInstructionError(
            f"{len(text)} characters are too long for the name of an instruction; this begins with {text[:40]!a}"
        )
    if odd := next((x for x in text if _is_odd(x)), None):
        raise UnsupportedInstructionError(
            f"{shorten(text)} has {odd!a}; names of instructions have only ASCII letters and digits"
        )
    chip = None if arch is None else arch_of(arch)
    if FRAGMENT.search(text):
        return _read_fragment(text, chip)
    if ATOM.search(text.strip()):
        return _read_atom(text, chip)
    return _read_machine_code(text, chip) if MACHINE_NAME.search(text) else _read_ptx(text, chip)


def _is_odd(character: str) -> bool:
    """Return whether a character only looks like an ASCII letter or digit, or is invisible."""
    return (not character.isascii() and character.isalnum()) or not (character.isprintable() or character.isspace())


def _read_fragment(text: str, chip: Arch | None) -> Meaning:
    entries, operand = fragment_meaning(text)
    note = "An accumulator is C and D: both have the same layout." if operand == "d" else ""
    return Meaning(text, "fragment", _on(entries, chip, text), operand, note=note)


def _read_atom(text: str, chip: Arch | None) -> Meaning:
    name = atom_name(text).name
    if re.match(r"SM10\d_", name) and name not in NO_MATRIX_ATOMS:
        entry, note = tensor_instruction_of_atom(text)
        return Meaning(text, "cute", _on((entry,), chip, text), note=note)
    entries, note = instructions_of_atom(text)
    return Meaning(text, "cute", _on(entries, chip, text), note=note)


def _read_machine_code(text: str, chip: Arch | None) -> Meaning:
    name = MACHINE_NAME.search(text)[0]  # type: ignore[index]
    uses = machine_uses(name)
    if not uses:
        raise UnsupportedInstructionError(
            f"no instruction becomes {name.upper()!r} on any chip; {_near_machine_names(name)}"
        )
    found = [(count, entry, arch) for of_name in uses.values() for count, entry, arch in of_name]
    on_chip = [x for x in found if chip is None or x[2] == chip.name]
    if not on_chip:
        chips = dict.fromkeys(arch for *_, arch in found)
        raise UnsupportedInstructionError(
            f"no instruction becomes {name.upper()!r} on {chip}; chips with such an instruction are {', '.join(chips)}"
        )
    wanted = chip.name if chip else DEFAULT_ARCH
    ordered = sorted(on_chip, key=lambda x: (x[0] > 1, x[2] != wanted, x[1].family != "mma.sync"))
    entries = tuple(dict.fromkeys(entry for _, entry, _ in ordered))
    count, first, arch = ordered[0]
    times = "" if count == 1 else f" and {count - 1} similar ones"
    shown = next(x for x, of_name in uses.items() if ordered[0] in of_name)
    several = f" So do {len(entries) - 1} others, some in several steps." if len(entries) > 1 else ""
    note = f"On {arch} {first.short_mnemonic} becomes {shown}{times}.{several}"
    return Meaning(text, "machine code", entries, arch=arch, note=note)


def _near_machine_names(name: str) -> str:
    near = nearest(name, (x for letter in "HIQDBO" for x in machine_uses(letter)), 3)
    return f"the nearest machine instructions are {', '.join(near)}" if near else (
        "machine instructions are named like HMMA.16816.F32"
    )  # fmt: skip


def _read_ptx(text: str, chip: Arch | None) -> Meaning:
    line = _PTX.search(text.strip())
    name = line["name"] if line and line.start() == 0 else text
    try:
        return Meaning(text, "ptx", (lookup(name, chip),))
    except UnsupportedInstructionError as error:
        return _read_words(text, chip, error)


def _read_words(text: str, chip: Arch | None, error: UnsupportedInstructionError) -> Meaning:
    """Search for words if a string is not a mnemonic; ``error`` is the reason why it is not."""
    named, rest = _chip_among(text)
    if chip is None and named and rest:
        return _read_words(rest, named, error)
    found = matching(text)
    on_chip = tuple(entry for entry in found if chip is None or chip.name in entry.archs)
    if on_chip:
        note = "" if len(on_chip) == 1 else f"{len(on_chip)} instructions match; this is the first."
        return Meaning(text, "words", on_chip, note=note)
    if found:
        return Meaning(text, "words", _on(found, chip, text))
    if words_of_query(text)[:1] == ["tcgen05"] or " " not in text.strip():
        raise error
    said = f"no instruction has all the words of {shorten(text)}; {_odd_word(text)}"
    raise UnsupportedInstructionError(said) from error


def _chip_among(text: str) -> tuple[Arch | None, str]:
    """Find a word that names a chip and not an instruction, and the other words: ``"hopper fp8"``."""
    words = text.split()
    for word in words:
        with suppress(UnknownNameError):
            if not matching(word):
                return arch_of(word), " ".join(x for x in words if x != word)
    return None, text


def _odd_word(text: str) -> str:
    odd = [word for word in words_of_query(text) if not matching(word)]
    if odd:
        return f"no instruction has {' or '.join(map(repr, odd))}"
    return "each of them occurs, but not all together: omit one of them"


def _on(entries: tuple[Instruction, ...], chip: Arch | None, text: str) -> tuple[Instruction, ...]:
    on_chip = tuple(entry for entry in entries if chip is None or chip.name in entry.archs)
    if not on_chip:
        archs = dict.fromkeys(arch for entry in entries for arch in entry.archs)
        raise UnsupportedInstructionError(
            f"{chip} has nothing that {shorten(text)} means; chips that support it are {', '.join(archs)}"
        )
    return on_chip
