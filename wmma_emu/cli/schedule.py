# SPDX-License-Identifier: MIT
"""``wmma-emu schedule``: the machine instructions of a matrix instruction, step by step, as text or as a picture."""

import json
from argparse import Namespace

from wmma_emu.cli.choices import SCHEDULE_FORMATS
from wmma_emu.cli.names import chip_for, one_instruction
from wmma_emu.cli.operand import check_index
from wmma_emu.cli.output import format_of, output_of, write_output
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError
from wmma_emu.schedule import Schedule, schedule_of

_DRAWN = ("svg", "html")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Show a schedule."""
    output = format_of(arguments.format, arguments.output, SCHEDULE_FORMATS)
    file = output_of(arguments.output, output, SCHEDULE_FORMATS, "schedule.svg")
    schedule = _schedule(arguments)
    step = None
    if arguments.step is not None:
        if output not in _DRAWN:
            raise UsageError(
                f"--step {arguments.step[:80]} applies only to pictures; add --format svg or --format html"
            )
        count = len(schedule.steps)
        has = f"the schedule has {count} machine instruction{'s' * (count > 1)}"
        step = check_index("--step", arguments.step, count, has)
    if output == "text" and file is None:
        for number, line in enumerate(str(schedule).splitlines()):
            terminal.line(Styled(line, "" if number else "title"))
        return
    write_output(file, _written(schedule, output, step), terminal)


def _schedule(arguments: Namespace) -> Schedule:
    """Return the schedule of INSTR on --arch with --lowering; see `chip_for` for the default chip."""
    found = one_instruction(arguments.words, arguments.arch)
    return schedule_of(found.instruction, chip_for(found.instruction, found.chip), arguments.lowering)


def _written(schedule: Schedule, output: str, step: int | None) -> str:
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
