# SPDX-License-Identifier: MIT
"""``wmma-emu schedule``: the machine instructions of a matrix instruction, step by step, in words or drawn."""

import json
from argparse import Namespace

from wmma_emu.cli.operand import check_index
from wmma_emu.cli.output import output_of
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError, check_choice
from wmma_emu.instructions import ARCHS, DEFAULT_ARCH, arch_of, lookup
from wmma_emu.warp.schedule import Schedule, schedule_of

__all__ = ["run"]

_FORMATS = ("text", "json", "svg", "html")
_DRAWN = ("svg", "html")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Show a schedule.

    Raises
    ------
    UsageError, UnsupportedInstructionError
        For an instruction, a chip, a lowering or a format that does not exist, and for machine code that does not
        divide the product; then nothing is written.
    """
    output = check_choice("--format", arguments.format, _FORMATS) or "text"
    file = output_of(arguments.output, output, _FORMATS, "schedule.svg")
    schedule = _schedule(arguments)
    step = None
    if arguments.step is not None:
        if output not in _DRAWN:
            raise UsageError(f"--step {arguments.step[:80]} is of pictures; add --format svg or --format html")
        count = len(schedule.steps)
        has = f"it is {count} machine instruction{'s' * (count > 1)}"
        step = check_index("--step", arguments.step, count, has)
    if output == "text" and file.path is None:
        for number, line in enumerate(str(schedule).splitlines()):
            terminal.line(Styled(line, "" if number else "title"))
        return
    file.write(_written(schedule, output, step), terminal)


def _schedule(arguments: Namespace) -> Schedule:
    """Find what INSTR, --arch and --lowering name; without --arch the default chip, or the first one that has it."""
    chip = None if arguments.arch is None else arch_of(arguments.arch)
    row = lookup(arguments.instruction, chip)
    if chip is None:
        chip = ARCHS[DEFAULT_ARCH if DEFAULT_ARCH in row.archs else row.archs[0]]
    return schedule_of(row, chip, arguments.lowering)


def _written(schedule: Schedule, output: str, step: int | None) -> str:
    """What goes into a file, or through a pipe."""
    if output == "text":
        return f"{schedule}\n"
    if output == "json":
        return json.dumps(schedule.to_dict()) + "\n"
    from wmma_emu.viz.picture import page
    from wmma_emu.viz.schedules.schedule import draw_schedule, html

    picture = draw_schedule(schedule, step=step)
    if output == "svg":
        return str(picture)
    return page(picture.title, html(schedule)) if step is None else picture.html()
