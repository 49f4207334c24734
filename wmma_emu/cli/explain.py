# SPDX-License-Identifier: MIT
"""``wmma-emu explain``: two files in; out comes why one element of their product has its bits."""

import json
from argparse import Namespace

from wmma_emu.api import explain
from wmma_emu.cli.fit import fit
from wmma_emu.cli.inputs import read_inputs
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import check_choice, check_number
from wmma_emu.instructions import DEFAULT_ARCH, arch_of

__all__ = ["run"]


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
    for paragraph in ([line] for line in lines) if terminal.width is None else fit(lines, terminal.width):
        style = "" if paragraph[0].startswith(" ") else "heading"
        terminal.lines((Styled(line, style),) for line in paragraph)
