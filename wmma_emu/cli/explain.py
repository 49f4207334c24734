# SPDX-License-Identifier: MIT
"""``wmma-emu explain``: two files in; out comes why one element of their product has its bits."""

import json
import re
import textwrap
from argparse import Namespace
from collections.abc import Iterator

from wmma_emu.api import explain
from wmma_emu.cli.inputs import read_inputs
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import check_choice, check_number
from wmma_emu.instructions import DEFAULT_ARCH, arch_of

__all__ = ["run"]

_LABEL = re.compile(r" *\S+ {2,}")
"""A label and the gap before its text."""

_BITS = re.compile(r" {2}(?=[+-] [01]+\.| {2}bits, times )")
"""Where the bits of a term begin, and their heading."""


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Explain one element of a product.

    Raises
    ------
    WmmaEmuError
        For files, formats, shapes, names that do not fit, and an element that D does not have.
    """
    output = check_choice("--format", arguments.format, ("text", "json"))
    chip = arch_of(DEFAULT_ARCH if arguments.arch is None else arguments.arch)
    inputs = read_inputs(arguments, chip)
    row, col = check_number("--row", arguments.row), check_number("--col", arguments.col)
    explanation = explain(
        arguments.instr, inputs.a, inputs.b, inputs.c, row=row, col=col, arch=chip,
        lowering=arguments.lowering, a_format=inputs.a_format, b_format=inputs.b_format,
    )  # fmt: skip
    if output == "json":
        terminal.raw(json.dumps(explanation.to_dict()) + "\n")
        return
    lines = str(explanation).splitlines()
    for line in lines if terminal.width is None else _fitted(lines, terminal.width):
        terminal.line(Styled(line, "" if line.startswith(" ") else "heading"))


def _fitted(lines: list[str], width: int) -> Iterator[str]:
    """Fit text to a terminal: paragraphs are wrapped anew, rows of bits that are too long are halved, all alike."""
    if any(len(line) > width for line in lines if _BITS.search(line)):
        lines = [part for line in lines for part in _BITS.sub("\n" + " " * 6, line, count=1).splitlines() or [""]]
    for line, hang in _paragraphs(lines):
        # A terminal so narrow that a hanging text would be a column of words gets a shallow indent.
        indent = " " * (hang if 0 < hang <= width // 3 else len(line) - len(line.lstrip()) + 2)
        yield from textwrap.wrap(line.rstrip(), width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _paragraphs(lines: list[str]) -> list[tuple[str, int]]:
    """Join lines to the one that they continue: they begin where its text does, behind its label."""
    joined: list[tuple[str, int]] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if joined and line and indent == joined[-1][1] > 0:
            joined[-1] = (f"{joined[-1][0]} {line.lstrip()}", indent)
        else:
            label = _LABEL.match(line)
            joined.append((line, label.end() if label else 0))
    return joined
