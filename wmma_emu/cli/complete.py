# SPDX-License-Identifier: MIT
"""Completion of a command line, as shells request it when Tab is pressed; this module never imports NumPy."""

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

_OPEN = ("/", ".", "=", ",", ":")
"""The endings of words that may continue: no space is added after them."""
_QUOTED = " \\'\"()&;|<>*?$`!#"


def run(argv: Sequence[str]) -> int:
    """Answer a shell: ``bash LINE POINT WORD``, because bash splits words differently, or ``zsh WORD...``."""
    shell, *words = argv
    if shell == "bash":
        answer = _for_bash(*words[:3])
    else:
        write = {"zsh": _for_zsh, "fish": _for_fish}[shell]
        answer = [write(x) for x in candidates_for(words or [""])]
    sys.stdout.write("".join(f"{line}\n" for line in answer))
    return 0


def candidates_for(words: Sequence[str]) -> list[Candidate]:
    """List the words that complete the last word, which may be empty.

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
    target = _completed_argument(respelled(before, parser), current, parser)
    found = _values(target, respelled(before, parser)) if target.action is not None else _options(parser)
    return [Candidate(target.prefix + x.word, x.meaning) for x in _beginning(target.current, found)]


class _CompletionTarget(NamedTuple):
    """The argument to complete (None for an option's name), and the word before and at the part to complete."""

    action: Any
    prefix: str
    current: str


def _completed_argument(before: Sequence[str], current: str, parser: argparse.ArgumentParser) -> _CompletionTarget:
    options = {name: x for x in parser._actions for name in x.option_strings}
    if "=" in current and current.split("=")[0] in options:
        name, _, value = current.partition("=")
        return _list(options[name], f"{name}=", value)
    if before and before[-1] in options and options[before[-1]].nargs != 0:
        return _list(options[before[-1]], "", current)
    if current.startswith("-"):
        return _CompletionTarget(None, "", current)
    positionals = [x for x in parser._actions if not x.option_strings]
    taken = sum(
        not word.startswith("-") and not (i and before[i - 1] in options and options[before[i - 1]].nargs != 0)
        for i, word in enumerate(before)
    )
    if not positionals or (taken >= len(positionals) and positionals[-1].nargs not in ("*", "+")):
        return _CompletionTarget(None, "", current)
    return _list(positionals[min(taken, len(positionals) - 1)], "", current)


def _list(action: Any, prefix: str, current: str) -> _CompletionTarget:
    head, comma, last = current.rpartition(",")
    return _CompletionTarget(action, prefix + head + comma, last)


def _values(target: _CompletionTarget, before: Sequence[str]) -> Iterable[Candidate]:
    completes = getattr(target.action, "completes", ())
    if isinstance(completes, tuple):
        return [Candidate(x) for x in completes]
    return KINDS[completes](target.current, before)


def _options(parser: argparse.ArgumentParser) -> list[Candidate]:
    return [
        Candidate(max(x.option_strings, key=len), (x.help or "").split(";")[0])
        for x in parser._actions if x.option_strings and x.help != argparse.SUPPRESS
    ]  # fmt: skip


def _beginning(current: str, found: Iterable[Candidate]) -> list[Candidate]:
    start = current.casefold()
    return [x for x in found if x.word.casefold().startswith(start)]


def _for_zsh(candidate: Candidate) -> str:
    """Return a word and its meaning, separated by a colon, as `_describe` reads them."""
    word = candidate.word.replace("\\", "\\\\").replace(":", "\\:")
    return f"{word}:{candidate.meaning}" if candidate.meaning else word


def _for_fish(candidate: Candidate) -> str:
    return f"{candidate.word}\t{candidate.meaning}" if candidate.meaning else candidate.word


def _for_bash(line: str, point: str, word: str) -> list[str]:
    """Complete as bash splits words: at ``:`` and ``=`` too; the text before these is not returned."""
    text = line.encode()[: int(point)].decode(errors="ignore")
    words, quote = _split(text)
    kept = words[-1][: len(words[-1]) - len(word)] if word and words[-1].endswith(word) and word not in ":=" else ""
    kept = words[-1] if word in (":", "=") else kept
    found = [x.word[len(kept) :] for x in candidates_for(words[1:] or [""])]
    if not quote:
        found = ["".join(f"\\{c}" if c in _QUOTED else c for c in x) for x in found]
    return [x if x.endswith(_OPEN) else f"{x} " for x in found] if len(found) == 1 else found


def _split(text: str) -> tuple[list[str], str]:
    """Split a line as a shell does; return the words, and the quote that is still open."""
    for quote in ("", "'", '"'):
        try:
            words = shlex.split(text + quote)
        except ValueError:
            continue
        return ([*words, ""] if not text or (text[-1].isspace() and not quote) else words), quote
    return text.split(), ""
