# SPDX-License-Identifier: MIT
"""The words that complete an argument, by kind: chips, instructions, files. This module never imports NumPy."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from wmma_emu.cli.choices import BLOCK_FORMATS, FINDINGS, SCALE_RULES
from wmma_emu.errors import WmmaEmuError

_MOST = 40
"""The most instruction names that are listed in full; of more, only the next part is completed."""
_SEGMENT = "."


class Candidate(NamedTuple):
    """A word and its meaning, for shells that display one."""

    word: str
    meaning: str = ""


WordSource = Callable[[str, Sequence[str]], list[Candidate]]
"""A function that lists the words of a kind, given the incomplete word and the words before it."""


def _chips(current: str, before: Sequence[str]) -> list[Candidate]:
    from wmma_emu.instructions.arch import ARCHS

    return [
        Candidate(word, entry.generation if word == entry.name else f"{entry.name}, {entry.generation}")
        for entry in ARCHS.values() for word in (entry.name, *(x for x in entry.products if " " not in x))
    ]  # fmt: skip


def _instructions(current: str, before: Sequence[str]) -> list[Candidate]:
    """Complete short mnemonics, or whole ones if none begins so; of more than `_MOST`, complete the next part."""
    from wmma_emu.instructions.table import INSTRUCTIONS

    start = current.casefold()
    short = (entry.short_mnemonic for entry in INSTRUCTIONS.values())
    names = [x for x in short if x.startswith(start)] or [x for x in INSTRUCTIONS if x.startswith(start)]
    if len(names) <= _MOST:
        return [Candidate(x) for x in names]
    parts: dict[str, None] = {}
    for name in names:
        end = name.find(_SEGMENT, len(start))
        parts[name if end < 0 else name[: end + 1]] = None
    return [Candidate(x) for x in parts]


def _operands(current: str, before: Sequence[str]) -> list[Candidate]:
    """List the operands, with their formats if the word before is an instruction."""
    from wmma_emu.instructions.lookup import lookup
    from wmma_emu.instructions.spec import OPERANDS

    try:
        entry = lookup(before[0])
    except (WmmaEmuError, IndexError):
        return [Candidate(x.upper()) for x in OPERANDS]
    named = [Candidate(x.upper(), getattr(entry, x)) for x in OPERANDS if not (entry.is_warpgroup and x == "b")]
    scales = [Candidate(f"scale_{x}", entry.scale) for x in ("a", "b")]
    return [*named, *(scales if entry.is_block_scaled else [])]


def _of_entries(words_of: Callable[[Any], tuple[str, ...]], *more: str) -> WordSource:
    """Return a function that lists words of the instructions, each once."""

    def list_them(current: str, before: Sequence[str]) -> list[Candidate]:
        from wmma_emu.instructions.table import INSTRUCTIONS

        return [Candidate(x) for x in dict.fromkeys((*(x for y in INSTRUCTIONS.values() for x in words_of(y)), *more))]

    return list_them


def _commands(current: str, before: Sequence[str]) -> list[Candidate]:
    from wmma_emu.cli.command_table import COMMANDS

    return [Candidate(name, row[1]) for name, row in COMMANDS.items()]


def _files(*endings: str) -> WordSource:
    """Return a function that lists directories, and files with one of the endings."""

    def list_them(current: str, before: Sequence[str]) -> list[Candidate]:
        start = current.rpartition("/")[2]
        shown = current[: len(current) - len(start)]
        try:
            entries = sorted(os.scandir(os.path.expanduser(shown) or "."), key=lambda x: x.name)
        except OSError:
            return []
        return [
            Candidate(f"{shown}{x.name}{'/' * x.is_dir()}") for x in entries
            if x.name.startswith(start) and (start or not x.name.startswith("."))
            and (x.is_dir() or not endings or x.name.casefold().endswith(endings))
        ]  # fmt: skip

    return list_them


_FORMS = {"raw:": "the bytes of a file", "zeros:": "temporary memory", "map:": "the tensor map of an array"}
_BEFORE_A_FILE = re.compile(r"(.*=)?(raw:|map:[0-9x]+:(\w+:\w+:)*)?")
"""The prefix that a kernel's argument has before its file."""


def _kernel_arguments(current: str, before: Sequence[str]) -> list[Candidate]:
    """List files, also after ``OUT.npy=``, ``raw:`` and ``map:8x64:``, and the forms of an argument."""
    start = max(current.rfind("="), current.rfind(":")) + 1
    prefix = current[:start]
    if not _BEFORE_A_FILE.fullmatch(prefix):
        return []
    forms = [] if prefix.endswith(":") else [Candidate(x, y) for x, y in _FORMS.items()]
    return [x._replace(word=f"{prefix}{x.word}") for x in (*_files(".npy")(current[start:], before), *forms)]


def _either(*kinds: WordSource) -> WordSource:
    return lambda current, before: [x for kind in kinds for x in kind(current, before)]


def _fixed(words: Iterable[str]) -> WordSource:
    return lambda current, before: [Candidate(x) for x in words]


_types = _of_entries(lambda entry: (entry.a, entry.b, entry.d))
_shapes = _of_entries(lambda entry: (f"m{entry.m}nNk{entry.k}" if entry.is_warpgroup else entry.shape,))
_families = _of_entries(lambda entry: (entry.family,), "wmma", "sparse")

KINDS: dict[str, WordSource] = {
    "chip": _chips,
    "instruction": _instructions,
    "operand": _operands,
    "type": _types,
    "shape": _shapes,
    "family": _families,
    "word": _either(_families, _types, _shapes, _chips),
    "command": _commands,
    "finding": _fixed(FINDINGS),
    "block format": _fixed(BLOCK_FORMATS),
    "scale rule": _fixed(SCALE_RULES),
    "file": _files(),
    ".npy": _files(".npy"),
    ".svg": _files(".svg"),
    "kernel argument": _kernel_arguments,
    "kernel file": _files(".ptx", ".cu"),
    "matrix or chip": _either(_files(".npy"), _chips),
}
"""The function that lists the words of each kind."""
