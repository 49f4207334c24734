# SPDX-License-Identifier: MIT
"""What may stand next on a command line: what a shell asks for when Tab is pressed. Nothing here needs NumPy."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from wmma_emu.cli.candidates import KINDS, Candidate
from wmma_emu.cli.command_table import COMMANDS
from wmma_emu.cli.options import parser_of
from wmma_emu.cli.ptx_options import ACTIONS
from wmma_emu.cli.spelling import command_of, respelled

_OPEN = ("/", ".", "=", ",")
"""A word that ends in one of them goes on: no blank is put behind it."""
_QUOTED = " \\'\"()&;|<>*?$`!#"


def run(argv: Sequence[str]) -> int:
    """Answer a shell: ``bash LINE POINT WORD``, where a shell has its own idea of words, or ``zsh WORD...``."""
    shell, *words = argv
    if shell == "bash":
        answer = _for_bash(*words[:3])
    else:
        write = {"zsh": _for_zsh, "fish": _for_fish}[shell]
        answer = [write(x) for x in candidates_for(words or [""])]
    sys.stdout.write("".join(f"{line}\n" for line in answer))
    return 0


def candidates_for(words: Sequence[str]) -> list[Candidate]:
    """List what may stand in the place of the last word, which may be empty.

    Examples
    --------
    >>> [x.word for x in candidates_for(["sh"])]
    ['show']
    >>> [x.word for x in candidates_for(["what", "m16n8k16.f32.f16.f16.f32", "--op"])]
    ['--operand']
    >>> [x.word for x in candidates_for(["show", "m16n8k16.f32.bf16.b"])]
    ['m16n8k16.f32.bf16.bf16.f32']
    """
    *before, current = words
    if not before:
        commands = [Candidate(name, row[1]) for name, row in COMMANDS.items()]
        return _beginning(current, [*commands, Candidate("--help"), Candidate("--version")])
    command, *before = command_of(before)
    if command not in COMMANDS:
        return []
    action = None
    if command == "ptx":
        if not before or before[0] not in ACTIONS:
            return _beginning(current, [Candidate(name, row[1]) for name, row in ACTIONS.items()])
        action, *before = before
    parser = parser_of(command, action)
    place = _place(respelled(before, parser), current, parser)
    found = _values(place, respelled(before, parser)) if place.action is not None else _options(parser)
    return [Candidate(place.prefix + x.word, x.meaning) for x in _beginning(place.current, found)]


class _Place(NamedTuple):
    """Which argument is completed: None for the name of an option; what stands before it in its word; the rest."""

    action: Any
    prefix: str
    current: str


def _place(before: Sequence[str], current: str, parser: argparse.ArgumentParser) -> _Place:
    options = {name: x for x in parser._actions for name in x.option_strings}
    if "=" in current and current.split("=")[0] in options:
        name, _, value = current.partition("=")
        return _list(options[name], f"{name}=", value)
    if before and before[-1] in options and options[before[-1]].nargs != 0:
        return _list(options[before[-1]], "", current)
    if current.startswith("-"):
        return _Place(None, "", current)
    positionals = [x for x in parser._actions if not x.option_strings]
    taken = sum(
        not word.startswith("-") and not (i and before[i - 1] in options and options[before[i - 1]].nargs != 0)
        for i, word in enumerate(before)
    )
    if not positionals or (taken >= len(positionals) and positionals[-1].nargs not in ("*", "+")):
        return _Place(None, "", current)
    return _list(positionals[min(taken, len(positionals) - 1)], "", current)


def _list(action: Any, prefix: str, current: str) -> _Place:
    head, comma, last = current.rpartition(",")
    return _Place(action, prefix + head + comma, last)


def _values(place: _Place, before: Sequence[str]) -> Iterable[Candidate]:
    completes = getattr(place.action, "completes", ())
    if isinstance(completes, tuple):
        return [Candidate(x) for x in completes]
    return KINDS[completes](place.current, before)


def _options(parser: argparse.ArgumentParser) -> list[Candidate]:
    return [
        Candidate(max(x.option_strings, key=len), (x.help or "").split(";")[0])
        for x in parser._actions if x.option_strings and x.help != argparse.SUPPRESS
    ]  # fmt: skip


def _beginning(current: str, found: Iterable[Candidate]) -> list[Candidate]:
    start = current.casefold()
    return [x for x in found if x.word.casefold().startswith(start)]


def _for_zsh(candidate: Candidate) -> str:
    """A word and its meaning as `_describe` reads them, in which a colon stands between."""
    word = candidate.word.replace("\\", "\\\\").replace(":", "\\:")
    return f"{word}:{candidate.meaning}" if candidate.meaning else word


def _for_fish(candidate: Candidate) -> str:
    return f"{candidate.word}\t{candidate.meaning}" if candidate.meaning else candidate.word


def _for_bash(line: str, point: str, word: str) -> list[str]:
    """Complete as bash reads words: it ends them at ``:`` and ``=`` too, and what is before stays as it is."""
    text = line.encode()[: int(point)].decode(errors="ignore")
    words, quote = _split(text)
    kept = words[-1][: len(words[-1]) - len(word)] if word and words[-1].endswith(word) and word not in ":=" else ""
    kept = words[-1] if word in (":", "=") else kept
    found = [x.word[len(kept) :] for x in candidates_for(words[1:] or [""])]
    if not quote:
        found = ["".join(f"\\{c}" if c in _QUOTED else c for c in x) for x in found]
    return [x if x.endswith(_OPEN) else f"{x} " for x in found] if len(found) == 1 else found


def _split(text: str) -> tuple[list[str], str]:
    """Take a line apart as a shell does; a quote may still be open, which is returned."""
    for quote in ("", "'", '"'):
        try:
            words = shlex.split(text + quote)
        except ValueError:
            continue
        return ([*words, ""] if not text or (text[-1].isspace() and not quote) else words), quote
    return text.split(), ""
