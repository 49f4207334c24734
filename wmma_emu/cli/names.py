# SPDX-License-Identifier: MIT
"""What people type for an instruction: a mnemonic, machine code, a fragment, or words that it has."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wmma_emu.cli.query import Query, query_of
from wmma_emu.cli.usage import SeveralError, UsageError
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, DEFAULT_ARCH, Arch, Instruction, arch_of, lookup
from wmma_emu.instructions.arch import usual_chip
from wmma_emu.instructions.family_names import FAMILY_NAMES
from wmma_emu.instructions.other_chips import why_not
from wmma_emu.instructions.tensor import TENSOR_KINDS
from wmma_emu.suggestions import first_chip

if TYPE_CHECKING:
    from wmma_emu.instructions.notation import Meaning

_MOST_LINES = 12

_TENSOR_NAMES = (
    "have no rows in the list: each is named in full, by kind, sizes and formats, as in "
    "tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16, which show, handout and the explorer take; "
    "wmma_emu.tcgen05 executes them"
)
"""What is said of instructions whose operands are in tensor memory: they are made by rules and are no rows."""


class Named(NamedTuple):
    """The rows that words mean, all at once; a chip and an operand if they name them."""

    rows: tuple[Instruction, ...]
    chip: Arch | None = None
    operand: str | None = None
    likeliest: bool = False
    """Whether the first row is meant where one is: the words are another name of it."""
    note: str = ""


def named(words: Sequence[str], arch: str | Arch | None = None) -> Named:
    """Find what words mean: a mnemonic, machine code, a CuTe atom, a fragment, or words that instructions have.

    Blanks may stand within a word too. A chip and a family may be among them; ``arch`` is a chip that must have it.

    Examples
    --------
    >>> print(*named(["m16n8k16.f32.f16.f16.f32"]).rows)
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    >>> len(named(["m16n8k16"]).rows), len(named(["dense m16n8k16 bf16", "h100"]).rows)
    (32, 1)
    """
    chip = None if arch is None else arch_of(arch)
    text = " ".join(words)
    if text.strip() and set(text.casefold().split()) <= set(FAMILY_NAMES["tcgen05.mma"]):
        raise UsageError(f"{text.strip()!r} is many instructions that {_TENSOR_NAMES}")
    if _is_mnemonic(text):
        return Named((lookup(text, chip),), chip)
    from wmma_emu.instructions.notation import meaning_of  # here, because a mnemonic is what is mostly typed

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
        rows = _with_rest(query, chip, text)
    except UnsupportedInstructionError:
        for word in query.rest:
            if why := why_not(word.casefold()):
                raise UsageError(f"{word[:80]!r} is a chip without a row: {why}") from None
        raise
    if not rows:
        elsewhere = {arch for row in (_with_rest(query, None, text) if chip else ()) for arch in row.archs}
        fix = first_chip([x for x in ARCHS if x in elsewhere], ARCHS) if elsewhere else "leave a word out"
        place = f" on {chip} ({chip.generation})" if chip else ""
        raise UsageError(f"no instruction{place} has all of {text[:80]!r}; {fix}")
    return Named(rows, chip)


def _is_mnemonic(text: str) -> bool:
    """Whether a text is a mnemonic as it is, on whichever chip; or nothing at all, which is refused as one."""
    try:
        return lookup(text) is not None
    except UnsupportedInstructionError:
        return not text.strip()


def _only_chip(found: "Meaning") -> Arch | None:
    """The chip that a text means where the default one has none of what it means."""
    return None if DEFAULT_ARCH in found.instruction.archs else arch_of(str(found.arch))


def _with_rest(query: Query, chip: Arch | None, text: str) -> tuple[Instruction, ...]:
    """Choose the rows that have the words that are no family and no chip."""
    rows = tuple(x for x in query.rows if chip is None or chip.name in x.archs)
    if not query.rest:
        if query.chip is None and not query.is_narrowed:
            raise UnsupportedInstructionError(f"{text[:80]!r} names no instruction")
        return rows
    found = _meant(" ".join(query.rest), chip)
    return tuple(x for x in found if x.is_tensor or x in rows) if query.is_narrowed else found


class One(NamedTuple):
    """The row that words mean; the chip and the operand, if they name them."""

    instruction: Instruction
    chip: Arch | None
    operand: str | None


def one_instruction(words: Sequence[str], arch: str | Arch | None = None) -> One:
    """Find the one row that words mean; where several have all that is said, the lines of the error list them.

    Examples
    --------
    >>> print(one_instruction(["m16n8k8", "bf16", "dense"]).instruction)
    mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32
    """
    found = named(words, arch)
    if len(found.rows) == 1 or found.likeliest:
        return One(found.rows[0], found.chip, found.operand)
    raise SeveralError("\n".join(_choice(" ".join(words), found.rows)))


def chip_for(row: Instruction, chip: Arch | None) -> Arch:
    """Choose the chip where none is named: the default one, or the first that has the instruction."""
    return chip or usual_chip(row.archs)


def _meant(text: str, chip: Arch | None) -> tuple[Instruction, ...]:
    from wmma_emu.instructions.notation import meaning_of

    try:
        return meaning_of(text, chip).instructions
    except UnsupportedInstructionError as error:
        if chip is None or not any(chip.name in x.archs for x in TENSOR_KINDS.values()):
            raise
        raise UnsupportedInstructionError(
            f"{error}; {chip} has tcgen05.mma too, whose operands are in tensor memory (wmma_emu.tcgen05)"
        ) from None


def grouped(rows: Iterable[Instruction]) -> list[tuple[Instruction, ...]]:
    """Put the rows of `wgmma` that differ in n alone together; every other row stands by itself."""
    groups: dict[object, list[Instruction]] = {}
    for row in rows:
        alike = (row.family, row.m, row.k, row.types, row.modifiers) if row.is_warpgroup else row
        groups.setdefault(alike, []).append(row)
    return [tuple(group) for group in groups.values()]


def _choice(text: str, rows: Sequence[Instruction]) -> list[str]:
    """List what one of must be named, short names first; of `wgmma` a line stands for every n."""
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
