# SPDX-License-Identifier: MIT
"""``wmma-emu what``: the matrix elements that a lane holds, in all its registers or in one."""

from argparse import Namespace

from wmma_emu.cli.choices import POSITION_FORMATS
from wmma_emu.cli.operand import Selection, asked_for, selections_of
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.positions import ElementPosition, OperandPositions, positions_of_lanes, write_positions
from wmma_emu.cli.scales import run_scales, scales_of
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, from_words


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Show a lane's registers of one operand, or of every operand that has the register."""
    asked = asked_for(arguments, numbers=2)
    from_words(arguments, ("lane", "register"), asked.numbers)
    if arguments.lane is None:
        raise UsageError("what needs --lane: 0 to 31, or 0 to 127 for wgmma")
    if scaled := scales_of(asked, arguments):
        run_scales(arguments, asked, scaled, terminal)
        return
    output = format_of(arguments.format, arguments.output, POSITION_FORMATS)
    selections = selections_of(asked)
    with writing(arguments, POSITION_FORMATS, "positions.csv", terminal) as out:
        if len(selections) > 1 and arguments.register is not None:
            selections = [x for x in selections if _has(arguments.register, x)] or selections
        held = [OperandPositions(x, _positions(arguments, x)) for x in selections]
        write_positions(held, lambda x: _subject(arguments, x), output, out, len(held) > 1)


def _has(register: str, selection: Selection) -> bool:
    """Return whether an operand has this register; True if it is not a number, which is rejected later."""
    return not register.strip().isdecimal() or int(register[:80]) < selection.layout.num_registers


def _subject(arguments: Namespace, selection: Selection) -> str:
    lane = f"lane {int(arguments.lane)} of {selection.name}"
    return f"L{lane[1:]}" if arguments.register is None else f"Register {int(arguments.register)} of {lane}"


def _positions(arguments: Namespace, selection: Selection) -> list[ElementPosition]:
    lane = selection.lane_of(arguments)
    register = None if arguments.register is None else selection.register_of(arguments)
    return positions_of_lanes(selection.layout, [lane], register)
