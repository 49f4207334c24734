# SPDX-License-Identifier: MIT
"""Search by words: ``m16n8k16``, ``fp8``, ``wgmma f16``. Each word must occur among the words of an instruction."""

import re
from functools import cache, lru_cache

from wmma_emu.formats.names import FORMAT_NAMES
from wmma_emu.instructions.family_names import FAMILY_NAMES, names_of_scaled
from wmma_emu.instructions.spec import Instruction
from wmma_emu.instructions.table import INSTRUCTIONS

_SHAPE = re.compile(r"\bm?(\d+)\s*[,x×n*]\s*(\d+)\s*[,x×k*]\s*(\d+)\b", re.ASCII)


def words_of_query(text: str) -> list[str]:
    """Split a query into words; three sizes form a shape, in any spelling.

    Examples
    --------
    >>> words_of_query("WMMA 16, 16, 16 fp16"), words_of_query("16x8x16 bf16")
    (['wmma', 'm16n16k16', 'fp16'], ['m16n8k16', 'bf16'])
    """
    plain = _SHAPE.sub(r"m\1n\2k\3", text.lower())
    return [x for x in (word.strip(".:") for word in re.split(r"[^a-z0-9_.:]+", plain)) if x]


@cache
def _words() -> tuple[tuple[Instruction, frozenset[str], frozenset[str]], ...]:
    """Return every instruction with its words, and the words of the format of A."""
    return tuple(
        (entry, frozenset(_words_of(entry)), frozenset(FORMAT_NAMES[entry.a])) for entry in INSTRUCTIONS.values()
    )


def _words_of(instruction: Instruction) -> list[str]:
    words = [
        instruction.shape,
        instruction.mnemonic,
        instruction.short_mnemonic,
        *instruction.mnemonic.lower().split("."),
    ]
    words += [part for word in words for part in word.split("::")]
    words += FAMILY_NAMES[instruction.family]
    words += [
        name
        for operand in {instruction.d, instruction.a, instruction.b, instruction.c}
        for name in FORMAT_NAMES[operand]
    ]
    if instruction.is_block_scaled:
        words += names_of_scaled(instruction.scale, instruction.a)
    return words


@lru_cache(maxsize=64)  # a query is repeated word by word, and with other words
def matching(text: str) -> tuple[Instruction, ...]:
    """Return the instructions that have every word of a query, as a word or as the beginning of one.

    Instructions that have all of them as whole words come first, then those whose A has the named format, then the
    others; each in the order of the table.

    Examples
    --------
    >>> [str(x) for x in matching("wgmma m64n8k32 fp8")][:2]
    ['wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3', 'wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3']
    >>> matching("m3n3k3"), len(matching("m16n8k16"))
    ((), 32)
    """
    wanted = words_of_query(text)
    found = []
    for number, (entry, words, of_a) in enumerate(_words()):
        pieces = [[word] if word in words else re.split(r"\.|::", word) for word in wanted]
        loose = [piece for group in pieces for piece in group if piece not in words]
        if wanted and all(any(word.startswith(piece) for word in words) for piece in loose):
            names_type = any(word in _FORMAT_WORDS for word in wanted)
            other_type = names_type and not any(word in of_a for word in wanted)
            found.append((len(loose), other_type, number, entry))
    return tuple(entry for *_, entry in sorted(found, key=lambda x: x[:3]))


_FORMAT_WORDS = frozenset(word for names in FORMAT_NAMES.values() for word in names)
