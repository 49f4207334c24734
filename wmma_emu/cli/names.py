# SPDX-License-Identifier: MIT
"""What people type for an instruction: a mnemonic, machine code, a fragment, or words that it has."""

from collections.abc import Sequence
from typing import NamedTuple

from wmma_emu.cli.query import query_of
from wmma_emu.cli.usage import SeveralError, UsageError, did_you_mean
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, DEFAULT_ARCH, INSTRUCTIONS, Arch, Instruction, arch_of, lookup
from wmma_emu.instructions.parse import parse

__all__ = ["Named", "One", "chip_for", "chip_named", "named", "one_instruction", "unknown_word"]

_MOST_LINES = 12
_MOST_TYPES = 2
"""Of words that are a question; with more formats they are a mnemonic, which exists or not."""


class Named(NamedTuple):
    """The rows that words mean, all at once; a chip and an operand if they name them."""

    rows: tuple[Instruction, ...]
    chip: Arch | None = None
    operand: str | None = None
    because: str = ""


def named(words: Sequence[str], arch: str | Arch | None = None, none_is_an_answer: bool = False) -> Named:
    """Find what words mean.

    Parameters
    ----------
    words : sequence of str
        As they were typed; blanks may stand within a word too.
    arch : str or Arch, optional
        A chip that must have it.
    none_is_an_answer : bool
        Whether there may be no row that has everything.

    Raises
    ------
    UnsupportedInstructionError
        If they mean nothing; the message is that of `wmma_emu.instructions.lookup` for one word.
    UsageError
        For words of which no instruction has all.

    Examples
    --------
    >>> print(*named(["m16n8k16.f32.f16.f16.f32"]).rows)
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    >>> len(named(["m16n8k16"]).rows), len(named(["m16n8k16 fp16", "h100"]).rows)
    (37, 12)
    """
    chip = None if arch is None else arch_of(arch)
    text = " ".join(words)
    try:
        return Named((lookup(text, chip),), chip)
    except UnsupportedInstructionError as error:
        refused = error
    if exact := _with_a_chip(words, chip):
        return exact
    found = query_of(words)
    chip = chip or found.chip
    rows = tuple(x for x in found.rows if chip is None or chip.name in x.archs)
    if none_is_an_answer and not found.unknown:
        return Named(rows, chip)
    if found.unknown and len(text.split()) > 1 and (found.parts or none_is_an_answer):
        raise UsageError(unknown_word(found.unknown[0])) from None
    if found.unknown or not found.parts or _is_mnemonic(text):
        raise refused
    if not rows:
        place = f" on {chip} ({chip.generation})" if chip else ""
        raise UsageError(f"no instruction{place} has all of {text[:80]!r}; leave a word out") from None
    return Named(rows, chip)


class One(NamedTuple):
    """The row that words mean; the chip and the operand, if they name them."""

    instruction: Instruction
    chip: Arch | None
    operand: str | None


def one_instruction(words: Sequence[str], arch: str | Arch | None = None) -> One:
    """Find the one row that words mean.

    Raises
    ------
    SeveralError
        If several rows have all that is said; the lines of the message list them.
    UnsupportedInstructionError, UsageError
        As of `named`.

    Examples
    --------
    >>> print(one_instruction(["m16n8k8", "bf16", "dense"]).instruction)
    mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
    """
    found = named(words, arch)
    if len(found.rows) == 1:
        return One(found.rows[0], found.chip, found.operand)
    raise SeveralError("\n".join(_choice(" ".join(words), found.rows)))


def chip_named(words: Sequence[str]) -> Arch | None:
    """Find the chip that words name together; None if they are something else."""
    try:
        return arch_of(" ".join(words))
    except UnsupportedInstructionError:
        return None


def unknown_word(word: str) -> str:
    """Say that a word is nothing that an instruction has, and what may be meant."""
    every = dict.fromkeys(x for row in INSTRUCTIONS.values() for x in (row.family, row.shape, *row.types, *row.modifiers))
    return (
        f"{word[:80]!r} is nothing that an instruction has; words are families, shapes, formats, modifiers and chips"
        f"{did_you_mean(word, every)}"
    )


def chip_for(row: Instruction, chip: Arch | None) -> Arch:
    """Choose the chip where none is named: the default one, or the first that has the instruction."""
    return chip or ARCHS[DEFAULT_ARCH if DEFAULT_ARCH in row.archs else row.archs[0]]


def _with_a_chip(words: Sequence[str], chip: Arch | None) -> Named | None:
    """Read a whole mnemonic beside the name of a chip."""
    parts = " ".join(words).split()
    for i, part in enumerate(parts):
        try:
            row = lookup(part)
        except UnsupportedInstructionError:
            continue
        rest = query_of([*parts[:i], *parts[i + 1 :]])
        if rest.chip is not None and not rest.unknown and not rest.parts:
            return Named((lookup(row, chip or rest.chip),), chip or rest.chip)
    return None


def _is_mnemonic(text: str) -> bool:
    """Whether a text says so many formats that it is no question."""
    try:
        return len(parse(text).types) > _MOST_TYPES
    except UnsupportedInstructionError:
        return False


def _choice(text: str, rows: Sequence[Instruction]) -> list[str]:
    """List what one of must be named, short names first; of `wgmma` a line stands for every n."""
    from wmma_emu.cli.listing import grouped

    groups = grouped(rows)
    lines = [
        f"{text[:80]!r} is {len(rows)} instructions; name one of them, or say more (a format, a shape, a chip); "
        f"wmma-emu list {text[:80]} has them all:"
    ]
    lines += [f"    {group[0].short_mnemonic}{f' and {len(group) - 1} with another n' if len(group) > 1 else ''}"
              for group in groups[:_MOST_LINES]]  # fmt: skip
    if len(groups) > _MOST_LINES:
        lines.append(f"    and {len(groups) - _MOST_LINES} more")
    return lines
