# SPDX-License-Identifier: MIT
"""``wmma-emu finding``: the kinds of findings, and the description of one; no network is needed."""

import re
from argparse import Namespace
from collections.abc import Iterable

from wmma_emu.cli.choices import TEXT
from wmma_emu.cli.output import writing
from wmma_emu.cli.tables import Column, table_lines
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError, did_you_mean
from wmma_emu.ptx.findings import CHECKS, KINDS, SANITIZER, address_of, kind_of_slug, slug_of

_COLUMNS = (Column("kind"), Column("severity"), Column("check"))
_NUMBER_OF_A_FINDING = re.compile(r"-[0-9a-f]{10}\Z")
"""The end of a finding's identifier; its kind precedes it."""
_WIDTH_OF_FILES = 100
_MARGIN = "  "


def run(arguments: Namespace, terminal: Terminal) -> None:
    """List the kinds, or explain one of them."""
    words = " ".join(arguments.kind).strip()
    with writing(arguments, TEXT, "finding.txt", terminal) as out:
        if not words:
            _list(out)
        else:
            _page(_kind(words), out)


def _kind(words: str) -> str:
    """Find a kind by its name, its name in files, or the identifier of a finding."""
    slug = _NUMBER_OF_A_FINDING.sub("", slug_of(" ".join(words.casefold().split())))
    kind = kind_of_slug(slug)
    if kind is None:
        legal = ", ".join(KINDS)
        raise UsageError(f"{words[:80]!r} is not a kind of finding; the kinds are {legal}{did_you_mean(words, KINDS)}")
    return kind


def _list(terminal: Terminal) -> None:
    rows = [[kind, x.severity, x.check or "always"] for kind, x in KINDS.items()]
    terminal.lines(table_lines(_COLUMNS, rows, terminal.width))
    terminal.line()
    terminal.text("wmma-emu finding KIND explains a kind, with a kernel that has it, and how to fix it.")


def _page(kind: str, terminal: Terminal) -> None:
    from wmma_emu.ptx.examples import FIRST_LINE, fix_of, shown_source  # imported late: the list needs no kernel
    from wmma_emu.ptx.launch.silencing_comments import comment_of

    entry = KINDS[kind]
    terminal.line(Styled(kind, "title"))
    fields = [
        ("means", entry.says),
        ("severity", f"{entry.severity}: {entry.reason}"),
        ("check", entry.check or "always"),
        ("", CHECKS[entry.check] if entry.check else "it ends the launch"),
    ]
    terminal.fields([*fields, *([("page", address_of(kind))] if address_of(kind) else [])])
    _heading("A bug", terminal)
    _code((f"{i:>4}  {line}" for i, line in enumerate(shown_source(kind), FIRST_LINE)), terminal)
    _heading("Its report", terminal)
    _report(kind, terminal)
    _heading("How to fix it", terminal)
    terminal.text(_plain(entry.fix))
    _code((f"   {x.sign}  {x.text}" for x in fix_of(kind)), terminal)
    _heading("When it may be silenced", terminal)
    terminal.text(_plain(entry.silence))
    if entry.may_be_silenced:
        _code([f"      {comment_of(kind, 'the reason')}"], terminal)
    _heading("What compute-sanitizer says", terminal)
    terminal.text(_plain(entry.sanitizer))
    terminal.text(f"Seen with {SANITIZER}.")


def _plain(text: str) -> str:
    return text.replace("`", "")


def _heading(text: str, terminal: Terminal) -> None:
    terminal.line()
    terminal.line(Styled(text, "heading"))


def _code(lines: Iterable[str], terminal: Terminal) -> None:
    for line in lines:
        terminal.line(line.rstrip())


def _report(kind: str, terminal: Terminal) -> None:
    from wmma_emu.ptx.examples import launch_of

    width = (terminal.width or _WIDTH_OF_FILES) - len(_MARGIN)
    for finding in launch_of(kind).findings:
        _code((_MARGIN + line for line in finding.to_text(width).splitlines()), terminal)
