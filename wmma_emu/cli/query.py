# SPDX-License-Identifier: MIT
"""Words that filter instructions without naming one: chips, families, shapes with any n."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from wmma_emu.cli.usage import UsageError, did_you_mean
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import INSTRUCTIONS, Arch, Instruction, arch_of
from wmma_emu.instructions.family_names import FAMILY_NAMES, families_called

_SHAPE = re.compile(r"m?(\d{1,4})[nx](\d{1,4})[kx](\d{1,4})", re.ASCII | re.IGNORECASE)
_ANY_N = re.compile(r"m\d{1,4}nnk\d{1,4}", re.ASCII | re.IGNORECASE)
_MOST_WORDS = 6
"""The most words of a chip's name."""


class Query(NamedTuple):
    """The chip, and the instructions of the families and shapes, that words name; and the remaining words."""

    chip: Arch | None
    entries: tuple[Instruction, ...]
    rest: tuple[str, ...]

    @property
    def is_narrowed(self) -> bool:
        """Whether the words include a family or a shape."""
        return len(self.entries) < len(INSTRUCTIONS)


def query_of(words: Iterable[str]) -> Query:
    """Parse words.

    Examples
    --------
    >>> found = query_of(["wgmma", "fp8", "rtx", "4090"])
    >>> found.chip.name, {x.family for x in found.entries} == {"wgmma", "wgmma.sp"}, found.rest
    ('sm_89', True, ('fp8',))
    >>> {x.k for x in query_of(["m64nNk16"]).entries}
    {16}
    """
    left = " ".join(words).replace(",", " ").split()
    chip: Arch | None = None
    rest: list[str] = []
    entries = tuple(INSTRUCTIONS.values())
    while left:
        count = next((i for i in range(min(_MOST_WORDS, len(left)), 0, -1) if chip_named(left[:i]) is not None), 0)
        word = left[0].casefold()
        if count:
            chip = chip_named(left[:count])
        elif families := set(families_called(word)).intersection(_families()):
            entries = tuple(x for x in entries if x.family in families)
        elif _ANY_N.fullmatch(word):
            entries = tuple(x for x in entries if x.is_warpgroup and word == f"m{x.m}nnk{x.k}")
        else:
            rest.append(left[0])
        del left[: count or 1]
    return Query(chip, entries, tuple(rest))


def chip_named(words: Sequence[str]) -> Arch | None:
    """Find the chip that the words together name; None if they name something else.

    Examples
    --------
    >>> chip_named(["rtx", "4090"]).name, chip_named(["m16n8k16"])
    ('sm_89', None)
    """
    try:
        return arch_of(" ".join(words))
    except UnsupportedInstructionError:
        return None


@cache
def _families() -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.family for entry in INSTRUCTIONS.values()))


def families_of(given: str) -> list[str]:
    """List the families that a word names: one of them, or several as for ``wmma`` and ``sparse``.

    Examples
    --------
    >>> families_of("WGMMA.SP"), families_of("sparse")
    (['wgmma.sp'], ['mma.sp', 'mma.sp::ordered_metadata', 'wgmma.sp'])
    """
    word = given.strip().casefold()
    if word in _families():
        return [word]
    if found := [x for x in _families() if x in families_called(word)]:
        return found
    legal, words = ", ".join(_families()), [word for family in _families() for word in FAMILY_NAMES[family]]
    raise UsageError(f"--family {given[:80]!r} is not one of {legal}{did_you_mean(given, words)}")


def shape_of(text: str) -> str:
    """Write a shape as PTX does: ``16x8x16`` is m16n8k16; any other word is returned unchanged.

    Examples
    --------
    >>> shape_of("16x8x16"), shape_of("M64nNk16"), shape_of("x")
    ('m16n8k16', 'm64nNk16', 'x')
    """
    word = text.strip()
    if found := _SHAPE.fullmatch(word):
        return "m{}n{}k{}".format(*found.groups())
    return word.casefold().replace("nnk", "nNk") if _ANY_N.fullmatch(word) else text


@cache
def _operand_types() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the formats of A and B, and the formats that only C and D have."""
    multiplied = dict.fromkeys(name for entry in INSTRUCTIONS.values() for name in (entry.a, entry.b))
    summed = dict.fromkeys(x for entry in INSTRUCTIONS.values() for x in (entry.c, entry.d) if x not in multiplied)
    return tuple(multiplied), tuple(summed)


def types_of(given: str) -> tuple[str, ...]:
    """List the formats of operands that a word names; empty if it is not a format of an operand.

    Examples
    --------
    >>> types_of("bf16"), types_of("FP8"), types_of("float16"), types_of("f17")
    (('bf16',), ('e4m3', 'e5m2'), ('f16',), ())
    """
    from wmma_emu.instructions.notation import formats_called  # imported late: few command lines name a format

    every = [x for group in _operand_types() for x in group]
    return tuple(x for x in formats_called(given.strip()) if x in every)


def with_type(entry: Instruction, types: Sequence[str]) -> bool:
    """Return whether A or B has one of the formats, or C or D if the format is only accumulated."""
    multiplied, _ = _operand_types()
    return any(x in ((entry.a, entry.b) if x in multiplied else (entry.c, entry.d)) for x in types)
