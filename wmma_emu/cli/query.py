# SPDX-License-Identifier: MIT
"""Words that instructions have, ``wgmma fp8 h100``: which rows have all of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from wmma_emu.cli.usage import FAMILIAR, UsageError, did_you_mean
from wmma_emu.errors import WmmaEmuError
from wmma_emu.instructions import INSTRUCTIONS, Arch, Instruction, arch_of

__all__ = ["Query", "families_of", "query_of", "shape_of", "types_of", "with_type"]

_SHAPE = re.compile(r"m?(\d{1,4})[nx](\d{1,4})[kx](\d{1,4})", re.ASCII)
_MOST_WORDS = 6
"""Of a chip's name."""
_SHORT_SHAPE = re.compile(r"m\d{1,4}nnk\d{1,4}", re.ASCII)
_FAMILY_WORDS: dict[str, Callable[[str], bool]] = {
    "mma": lambda family: family.startswith("mma."),
    "wmma": lambda family: family.startswith("wmma."),
    "wgmma": lambda family: family.startswith("wgmma"),
    "sparse": lambda family: ".sp" in family,
    "dense": lambda family: ".sp" not in family,
}
_OTHER_WORDS: dict[str, Callable[[Instruction], bool]] = {
    **dict.fromkeys(("sparse", "sp"), lambda row: row.is_sparse),
    "dense": lambda row: not row.is_sparse,
    **dict.fromkeys(("scaled", "block", "blockscaled", "block-scaled", "mx"), lambda row: row.is_block_scaled),
    **dict.fromkeys(("mxfp8", "mxfp6", "mxf8f6f4"), lambda row: "kind::mxf8f6f4" in row.modifiers),
    **dict.fromkeys(("mxfp4", "mxf4"), lambda row: "kind::mxf4" in row.modifiers),
    **dict.fromkeys(("nvfp4", "mxf4nvf4"), lambda row: "kind::mxf4nvf4" in row.modifiers),
}
"""What else an instruction can have: words, and the rows that they are true of."""


class Query(NamedTuple):
    """What is asked for: rows that have all of it, on a chip if one is among the words."""

    rows: tuple[Instruction, ...]
    chip: Arch | None
    unknown: tuple[str, ...]
    parts: int
    """How many of the words say something of an instruction."""


def query_of(words: Iterable[str]) -> Query:
    """Find the rows that have everything that words say.

    Parameters
    ----------
    words : iterable of str
        Families, shapes, formats, parts of mnemonics, chips, in any order; each may be several with dots between.

    Examples
    --------
    >>> found = query_of(["mma.sync", "m16n8k8", "half", "A100"])
    >>> [row.short_mnemonic for row in found.rows], found.chip.name
    (['m16n8k8.f32.f16.f16.f32', 'm16n8k8.f16.f16.f16.f16'], 'sm_80')
    >>> query_of(["m16n8k16", "nonsense"]).unknown
    ('nonsense',)
    """
    tests: list[Callable[[Instruction], bool]] = []
    chip: Arch | None = None
    unknown: list[str] = []
    for text in _pieces(words):
        found = _test_of(text)
        if found is not None:
            tests.append(found)
        elif (named := _chip(text)) is not None:
            chip = named
        else:
            unknown.append(text)
    rows = tuple(
        row for row in INSTRUCTIONS.values()
        if all(test(row) for test in tests) and (chip is None or chip.name in row.archs)
    )  # fmt: skip
    return Query(rows, chip, tuple(unknown), len(tests))


def families_of(given: str) -> list[str]:
    """Name the families that a word means: one of them, or several as in ``wmma``, ``sparse``.

    Raises
    ------
    UsageError

    Examples
    --------
    >>> families_of("WGMMA.SP"), families_of("sparse")
    (['wgmma.sp'], ['mma.sp', 'mma.sp::ordered_metadata', 'wgmma.sp'])
    """
    every = _families()
    word = given.strip().casefold()
    if word in every:
        return [word]
    if word in _FAMILY_WORDS:
        return [x for x in every if _FAMILY_WORDS[word](x)]
    raise UsageError(f"--family {given[:80]!r} is not one of {', '.join(every)}{did_you_mean(given, every)}")


def shape_of(text: str) -> str:
    """Write a shape as PTX does: ``16x8x16`` is m16n8k16; what is no shape stays as it is.

    Examples
    --------
    >>> shape_of("16x8x16"), shape_of("M64nNk16"), shape_of("x")
    ('m16n8k16', 'm64nNk16', 'x')
    """
    word = text.strip().casefold()
    if found := _SHAPE.fullmatch(word):
        return "m{}n{}k{}".format(*found.groups())
    return re.sub("nnk", "nNk", word) if _SHORT_SHAPE.fullmatch(word) else text


@cache
def _operand_types() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The formats of A and B, and those that C and D alone have."""
    multiplied = dict.fromkeys(name for row in INSTRUCTIONS.values() for name in (row.a, row.b))
    summed = dict.fromkeys(name for row in INSTRUCTIONS.values() for name in (row.c, row.d) if name not in multiplied)
    return tuple(multiplied), tuple(summed)


def types_of(given: str) -> tuple[str, ...]:
    """Name the formats of operands that a word means; none if it is no format.

    Examples
    --------
    >>> types_of("bf16"), types_of("FP8"), types_of("float16"), types_of("f17")
    (('bf16',), ('e4m3', 'e5m2'), ('f16',), ())
    """
    every = [x for group in _operand_types() for x in group]
    word = given.strip().casefold()
    return (word,) if word in every else tuple(x for x in FAMILIAR.get(word, ()) if x in every)


def with_type(row: Instruction, types: Sequence[str]) -> bool:
    """Whether A or B have one of the formats; of formats that are only summed, C or D."""
    multiplied, _ = _operand_types()
    return any(x in ((row.a, row.b) if x in multiplied else (row.c, row.d)) for x in types)


def _pieces(words: Iterable[str]) -> Iterator[str]:
    """Cut words where they have blanks, commas or dots, unless they are something as they are."""
    found = " ".join(words).casefold().replace(",", " ").rstrip("; ").split()
    while found:
        count = next((i for i in range(min(_MOST_WORDS, len(found)), 1, -1) if _is_chip_alone(found[:i])), 1)
        word = " ".join(found[:count])
        if count > 1 or _test_of(word) is not None or _chip(word) is not None:
            yield word
        else:
            yield from _joined(x for x in word.split(".") if x)
        del found[:count]


def _joined(parts: Iterable[str]) -> Iterator[str]:
    """Put ``xor.popc`` together again, which is one word, and leave out what every mnemonic has."""
    parts = [x for x in parts if x not in ("sync", "aligned", "mma_async")]
    while parts:
        count = 2 if parts[1:2] == ["popc"] else 1
        yield ".".join(parts[:count])
        del parts[:count]


@cache
def _families() -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.family for row in INSTRUCTIONS.values()))


@cache
def _modifiers() -> frozenset[str]:
    return frozenset(x.casefold() for row in INSTRUCTIONS.values() for x in row.modifiers)


def _test_of(word: str) -> Callable[[Instruction], bool] | None:
    """What is true of the rows that have a word; None if it is no word of instructions."""
    shape = shape_of(word)
    if _SHAPE.fullmatch(shape):
        return lambda row: row.shape == shape
    if _SHORT_SHAPE.fullmatch(word):
        return lambda row: row.is_warpgroup and f"m{row.m}nnk{row.k}" == word
    if types := types_of(word):
        return lambda row: with_type(row, types)
    if word in _OTHER_WORDS:
        return _OTHER_WORDS[word]
    if word in _FAMILY_WORDS:
        has = _FAMILY_WORDS[word]
        return lambda row: has(row.family)
    if word in _families():
        return lambda row: row.family == word
    if word in ("row", "col"):
        return lambda row: word in (row.a_layout, row.b_layout)
    if word in _modifiers():
        return lambda row: word in (x.casefold() for x in row.modifiers)
    return None


def _is_chip_alone(words: Sequence[str]) -> bool:
    """Whether words are a chip together, and not each something: ``rtx 4090``, ``h100 sxm``."""
    return _chip(" ".join(words)) is not None and all(_test_of(x) is None for x in words)


def _chip(word: str) -> Arch | None:
    try:
        return arch_of(word)
    except WmmaEmuError:
        return None
