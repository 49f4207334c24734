# SPDX-License-Identifier: MIT
"""``wmma-emu compare A.npy B.npy``: where and by how much the product of two files differs between chips."""

import io
import json
from argparse import Namespace
from typing import Any

from wmma_emu.arithmetic import check_engine
from wmma_emu.cli.choices import REPORT_FORMATS
from wmma_emu.cli.inputs import BASELINE, read_inputs
from wmma_emu.cli.names import one_instruction
from wmma_emu.cli.output import STANDARD_OUTPUT, output_of, write_output, writing
from wmma_emu.cli.tables import Column, table_lines, write_table
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError, check_number
from wmma_emu.formats.distance import NOT_COMPARABLE
from wmma_emu.gemm import Comparison, compare_archs
from wmma_emu.gemm.comparison_text import short_mnemonic, summary
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of, lookup

_CHIPS = tuple(
    Column(*x) for x in (
        ("chip",), ("status",), ("differ",), ("median",), ("mean",), ("max ulps",), ("sign of 0",), ("NaN",),
        ("instruction", True), ("model", True),
    )
)  # fmt: skip
_WORST = tuple(Column(x) for x in ("chip", "element", "ulps", "reference", "here", "its value", "value here"))


def compare_products(
    arguments: Namespace, files: list[str], archs: list[str] | None, output: str, terminal: Terminal
) -> None:
    """Multiply two files on chips and write how the products differ; None means every chip."""
    count = check_number("--worst", arguments.worst)
    if count < 0:
        raise UsageError(f"--worst {count} is negative; pass 0 or more")
    check_engine(arguments.engine)
    if arguments.svg == STANDARD_OUTPUT and arguments.output is None:
        terminal = Terminal(io.StringIO())  # the picture alone is written
    read = (*files, arguments.c, arguments.scale_a, arguments.scale_b)
    picture = output_of(arguments.svg, "svg", ("svg",), "compare.svg", read)
    if arguments.output is not None:
        output_of(arguments.output, output, REPORT_FORMATS, "comparison.md", read)
    with writing(arguments, REPORT_FORMATS, "comparison.md", terminal) as out:
        found = _compared(arguments, files, archs)
        if arguments.svg is not None:
            write_output(picture, found.svg(), Terminal())
        _write(found, count, output, arguments.svg, out)


def _compared(arguments: Namespace, files: list[str], archs: list[str] | None) -> Comparison:
    arguments.a, arguments.b = files
    if arguments.instr not in (None, BASELINE):
        arguments.instr = one_instruction([arguments.instr]).instruction.mnemonic
    inputs = read_inputs(arguments, _chip_of_files(arguments.instr, archs))
    return compare_archs(
        inputs.a, inputs.b, inputs.c, instr=arguments.instr, archs=archs, reference=arguments.reference,
        engine=arguments.engine, lowering=_lowering(arguments.lowering), a_format=inputs.a_format,
        b_format=inputs.b_format, model=arguments.model, scale_a=inputs.scale_a, scale_b=inputs.scale_b,
    )  # fmt: skip


def _write(found: Comparison, count: int, output: str, picture: str | None, terminal: Terminal) -> None:
    if output == "json":
        terminal.raw(json.dumps(found.to_dict(count)) + "\n")
    elif output == "markdown":
        worst = _worst_rows(found, count)
        terminal.raw(found.to_markdown())
        if worst:
            terminal.line()
            write_table(_WORST, worst, output, terminal)
    else:
        _show(found, count, terminal)
        if picture not in (None, STANDARD_OUTPUT):
            terminal.line()
            terminal.line(f"the picture is {picture}")


def _chip_of_files(instr: str | None, archs: list[str] | None) -> Arch:
    """Return a chip that supports the instruction; the instruction names the formats that files do not."""
    if archs:
        return arch_of(archs[0])
    return arch_of(DEFAULT_ARCH if instr in (None, BASELINE) else lookup(instr).archs[0])


def _lowering(given: str | None) -> str | dict[str, str] | None:
    """Read ``L`` for all chips, or ``X=L,Y=L``."""
    if given is None or "=" not in given:
        return given
    named = {}
    for part in given.split(","):
        chip, equals, name = part.partition("=")
        if not equals:
            raise UsageError(
                f"--lowering {part[:80]!r} does not name a chip; write h100={part[:40]}, or one lowering alone for "
                f"all chips"
            )
        if chip.strip() in named:
            raise UsageError(f"--lowering names {chip.strip()[:80]!r} twice; keep one")
        named[chip.strip()] = name.strip()
    return named


def _show(found: Comparison, count: int, terminal: Terminal) -> None:
    data = found.to_dict(count)
    sizes = " x ".join(map(str, data["shape"]))
    reference = next(x for x in data["chips"] if x["arch"] == data["reference"])
    terminal.line(Styled(f"D {sizes} ({data['format']}), {reference['elements']} elements", "title"))
    terminal.line(f"compared with {data['reference']}")
    terminal.line()
    rows = [_chip_row(x, found) for x in data["chips"]]
    terminal.lines(table_lines(_CHIPS, rows, terminal.width))
    if worst := _worst_rows(found, count):
        terminal.line()
        terminal.lines(table_lines(_WORST, worst, terminal.width))


def _chip_row(chip: dict[str, Any], found: Comparison) -> list[str]:
    """Return the table row of a chip; the cells that compare with the reference are empty for the reference itself."""
    counts = [str(chip["differing"]), _number(chip["median"]), _number(chip["mean"]), _number(chip["largest"]),
              str(chip["zero_signs"] or ""), str(chip["nan"] or "")]  # fmt: skip
    counts = [""] * len(counts) if chip["arch"] == found.reference else counts
    instruction, model = short_mnemonic(chip["instruction"]), summary(found.models[chip["arch"]])
    return [chip["arch"], chip["status"], *counts, instruction, model]


def _number(value: float | None) -> str:
    return "" if value is None else str(value) if isinstance(value, int) else f"{value:.4g}"


def _worst_rows(found: Comparison, count: int) -> list[list[str]]:
    return [
        [x.arch, str(list(x.index)), "NaN" if x.ulps == NOT_COMPARABLE else str(x.ulps or "sign of 0"),
         *x.hex_bits(), str(x.reference_value), str(x.value)]
        for arch in found.results for x in found.worst(arch, count)
    ]  # fmt: skip
