# SPDX-License-Identifier: MIT
"""Users' names of instructions: a mnemonic, machine code, a fragment, or words that an instruction matches."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wmma_emu.cli.query import Query, query_of
from wmma_emu.cli.usage import SeveralError, UsageError
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import FORMATS
from wmma_emu.instructions import ARCHS, DEFAULT_ARCH, Arch, Instruction, arch_of, lookup
from wmma_emu.instructions.arch import usual_chip
from wmma_emu.instructions.family_names import FAMILY_NAMES
from wmma_emu.instructions.other_chips import why_not
from wmma_emu.instructions.tensor import TENSOR_KINDS
from wmma_emu.suggestions import first_chip, nearest, question

if TYPE_CHECKING:
    from wmma_emu.instructions.notation import Meaning

_MOST_LINES = 12

_TENSOR_NAMES = (
    "are not in the list: name one in full, by kind, sizes and formats, as in "
    "tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16, which show, handout and the explorer accept; "
    "wmma_emu.tcgen05 executes them"
)
"""The message about instructions of tensor memory, which are made by rules and are not in the table."""


class Named(NamedTuple):
    """The instructions that words name, with the chip and the operand if the words name these."""

    entries: tuple[Instruction, ...]
    chip: Arch | None = None
    operand: str | None = None
    likeliest: bool = False
    """Whether the first instruction is meant if only one can be: the words are another name of it."""
    note: str = ""


def named(words: Sequence[str], arch: str | Arch | None = None) -> Named:
    """Find the instructions that words name: by mnemonic, machine code, CuTe atom, fragment, or matching words.

    Words may contain spaces, and may include a chip and a family; ``arch`` is a chip that must support them.

    Examples
    --------
    >>> print(*named(["m16n8k16.f32.f16.f16.f32"]).entries)
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    >>> len(named(["m16n8k16"]).entries), len(named(["dense m16n8k16 bf16", "h100"]).entries)
    (32, 1)
    """
    chip = None if arch is None else arch_of(arch)
    text = " ".join(words)
    if text.strip() and set(text.casefold().split()) <= set(FAMILY_NAMES["tcgen05.mma"]):
        raise UsageError(f"{text.strip()!r} names many instructions, which {_TENSOR_NAMES}")
    if _is_mnemonic(text):
        return Named((lookup(text, chip),), chip)
    from wmma_emu.instructions.notation import meaning_of  # imported late: users mostly type a mnemonic

    try:
        found = meaning_of(text, chip)
        if found.notation != "words":
            likeliest = found.notation != "ptx"
            on = chip or (None if found.arch is None or not likeliest else _only_chip(found))
            return Named(found.instructions, on, found.operand, likeliest, found.note)
    except UnsupportedInstructionError:
        pass  # a chip or a family may be among them
    query = query_of(words)
    chip = chip or query.chip
    try:
        entries = _with_rest(query, chip, text)
    except UnsupportedInstructionError:
        for word in query.rest:
            if why := why_not(word.casefold()):
                raise UsageError(f"{word[:80]!r} is a chip that is not modelled: {why}") from None
        if strange := next((x for x in query.rest if _is_strange(x)), None):
            raise UnsupportedInstructionError(
                f"{strange[:80]!r} names no instruction, chip, format or shape{_near(strange)}"
            ) from None
        raise
    if not entries:
        elsewhere = {arch for entry in (_with_rest(query, None, text) if chip else ()) for arch in entry.archs}
        fix = first_chip([x for x in ARCHS if x in elsewhere], ARCHS) if elsewhere else "remove a word"
        where = f" on {chip} ({chip.generation})" if chip else ""
        raise UsageError(f"no instruction{where} matches all words of {text[:80]!r}; {fix}")
    return Named(entries, chip)


_LEGAL = (
    "name an instruction, as in m16n8k16.f32.f16.f16.f32 or HMMA.16816.F32; or words that instructions match, as in "
    "bf16 m16n8k16 h100"
)


def _is_strange(word: str) -> bool:
    """Return whether a word has no part in common with names of instructions."""
    from wmma_emu.instructions.notation import meaning_of

    if "." in word or ":" in word or any(x in word.casefold() for x in ("mma", "m8n", "m16n", "m32n", "m64n")):
        return False
    try:
        meaning_of(word)
    except UnsupportedInstructionError as error:
        return "is not part of any mnemonic" in str(error)
    return False


def _near(word: str) -> str:
    """Return the end of a message: the nearest format, family or chip, and what is legal."""
    chips = {y: x.name for x in ARCHS.values() for y in (x.name, *x.aliases, *x.products) if y[0].isalpha()}
    families = (y for names in FAMILY_NAMES.values() for y in names)
    return question(nearest(word, (*FORMATS, *families, *chips), cutoff=0.75), _LEGAL, show=str)


def _is_mnemonic(text: str) -> bool:
    """Return whether a string is a mnemonic of any chip, or empty (an empty string is rejected as a mnemonic)."""
    try:
        return lookup(text) is not None
    except UnsupportedInstructionError:
        return not text.strip()


def _only_chip(found: "Meaning") -> Arch | None:
    """Return the chip that the words imply, or None if the default chip supports the instruction."""
    return None if DEFAULT_ARCH in found.instruction.archs else arch_of(str(found.arch))


def _with_rest(query: Query, chip: Arch | None, text: str) -> tuple[Instruction, ...]:
    """Select the instructions that match the words other than family and chip."""
    entries = tuple(x for x in query.entries if chip is None or chip.name in x.archs)
    if not query.rest:
        if query.chip is None and not query.is_narrowed:
            raise UnsupportedInstructionError(f"{text[:80]!r} does not name an instruction")
        return entries
    found = _meant(" ".join(query.rest), chip)
    return tuple(x for x in found if x.is_tensor or x in entries) if query.is_narrowed else found


class OneInstruction(NamedTuple):
    """The instruction that words name, with the chip and the operand if the words name these."""

    instruction: Instruction
    chip: Arch | None
    operand: str | None


def one_instruction(words: Sequence[str], arch: str | Arch | None = None) -> OneInstruction:
    """Find the one instruction that words name; if several match, the lines of the error list them.

    Examples
    --------
    >>> print(one_instruction(["m16n8k8", "bf16", "dense"]).instruction)
    mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
    """
    found = named(words, arch)
    if len(found.entries) == 1 or found.likeliest:
        return OneInstruction(found.entries[0], found.chip, found.operand)
    raise SeveralError("\n".join(_choice(" ".join(words), found.entries)))


def chip_for(entry: Instruction, chip: Arch | None) -> Arch:
    """Return the named chip, else the default chip if it supports the instruction, else the first that does."""
    return chip or usual_chip(entry.archs)


def _meant(text: str, chip: Arch | None) -> tuple[Instruction, ...]:
    from wmma_emu.instructions.notation import meaning_of

    try:
        return meaning_of(text, chip).instructions
    except UnsupportedInstructionError as error:
        if chip is None or not any(chip.name in x.archs for x in TENSOR_KINDS.values()):
            raise
        raise UnsupportedInstructionError(
            f"{error}; {chip} also supports tcgen05.mma, whose operands are in tensor memory (wmma_emu.tcgen05)"
        ) from None


def grouped(entries: Iterable[Instruction]) -> list[tuple[Instruction, ...]]:
    """Group the instructions of `wgmma` that differ only in n; every other instruction is its own group."""
    groups: dict[object, list[Instruction]] = {}
    for entry in entries:
        alike = (entry.family, entry.m, entry.k, entry.types, entry.modifiers) if entry.is_warpgroup else entry
        groups.setdefault(alike, []).append(entry)
    return [tuple(group) for group in groups.values()]


def _choice(text: str, entries: Sequence[Instruction]) -> list[str]:
    """List the matching instructions, so that the user can name one; one line of `wgmma` covers every n."""
    groups = grouped(entries)
    lines = [
        f"{text[:80]!r} matches {len(entries)} instructions; name one, or add words (a format, a shape, a chip); "
        f"wmma-emu list {text[:80]} lists them all:"
    ]
    lines += [f"    {group[0].short_mnemonic}{f' and {len(group) - 1} with another n' if len(group) > 1 else ''}"
              for group in groups[:_MOST_LINES]]  # fmt: skip
    if len(groups) > _MOST_LINES:
        lines.append(f"    and {len(groups) - _MOST_LINES} more")
    return lines
