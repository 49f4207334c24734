# SPDX-License-Identifier: MIT
"""``wmma-emu explain``: explain the bits of one element of the product of two files, as text or as a picture."""

import json
from argparse import Namespace

from wmma_emu.arithmetic.explanation import Explanation
from wmma_emu.cli.choices import EXPLAIN_FORMATS
from wmma_emu.cli.fit import fit
from wmma_emu.cli.inputs import read_inputs
from wmma_emu.cli.output import format_of, output_of, write_output
from wmma_emu.cli.spelling import ELEMENT
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError, check_number, from_words
from wmma_emu.gemm import explain
from wmma_emu.instructions import DEFAULT_ARCH, arch_of

_DRAWN = ("html", "svg")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Explain one element of a product."""
    from_words(arguments, ("row", "col"), _numbers(" ".join(arguments.numbers)))
    if missing := [f"--{x}" for x in ("row", "col") if getattr(arguments, x) is None]:
        raise UsageError(f"explain needs {' and '.join(missing)}: the position of an element of D, counted from 0")
    output = format_of(arguments.format, arguments.output, EXPLAIN_FORMATS)
    inputs_read = arguments.a, arguments.b, arguments.c, arguments.scale_a, arguments.scale_b
    file = output_of(arguments.output, output, EXPLAIN_FORMATS, "explained.html", inputs_read)
    step = None if arguments.step is None else check_number("--step", arguments.step, 1)
    if step is not None and output not in _DRAWN:
        raise UsageError(f"--step {step} applies only to pictures; add --format svg or --format html")
    chip = arch_of(DEFAULT_ARCH if arguments.arch is None else arguments.arch)
    inputs = read_inputs(arguments, chip)
    row, col = check_number("--row", arguments.row), check_number("--col", arguments.col)
    explanation = explain(
        arguments.instr, inputs.a, inputs.b, inputs.c, row=row, col=col, arch=chip,
        lowering=arguments.lowering, model=arguments.model, a_format=inputs.a_format, b_format=inputs.b_format,
        scale_a=inputs.scale_a, scale_b=inputs.scale_b,
    )  # fmt: skip
    if output == "text" and file is None:
        _show(explanation, terminal)
    else:
        write_output(file, _written(explanation, output, step), terminal)


def _numbers(text: str) -> list[str]:
    """Read ``3 5``, ``3,5`` and ``D[3][5]``."""
    found = ELEMENT.fullmatch(text)
    if found and found[1] not in "dD":
        raise UsageError(f"{text[:80]!r} is not an element of D; only elements of D can be explained")
    return ELEMENT.sub(r"\2\4 \3\5", text).replace(",", " ").split()


def _written(explanation: Explanation, output: str, step: int | None) -> str:
    if output == "text":
        return f"{explanation}\n"
    if output == "json":
        return json.dumps(explanation.to_dict()) + "\n"
    from wmma_emu.viz.arithmetic.explanation import draw_explanation, html
    from wmma_emu.viz.picture import page

    if output == "svg":
        return str(draw_explanation(explanation, step=step))
    if step is None:
        return page(explanation.headline, html(explanation))
    return draw_explanation(explanation, step=step).html()


def _show(explanation: Explanation, terminal: Terminal) -> None:
    lines = str(explanation).splitlines()
    for paragraph in ([line] for line in lines) if terminal.width is None else fit(lines, terminal.width):
        style = "" if paragraph[0].startswith(" ") else "heading"
        terminal.lines((Styled(line, style),) for line in paragraph)
