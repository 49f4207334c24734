# SPDX-License-Identifier: MIT
"""``wmma-emu what``: the matrix elements that a lane holds, in all its registers or in one."""

from argparse import Namespace

from wmma_emu.cli.choices import PLACE_FORMATS
from wmma_emu.cli.operand import Selection, asked_for, selections_of
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.places import Held, Place, places_of_lanes, write_places
from wmma_emu.cli.scales import run_scales, scales_of
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, from_words


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Look into a lane's registers: those of one operand, or of each that has such a register."""
    asked = asked_for(arguments, numbers=2)
    from_words(arguments, ("lane", "register"), asked.numbers)
    if arguments.lane is None:
        raise UsageError("what needs --lane: 0 to 31, of wgmma 0 to 127")
    if scaled := scales_of(asked, arguments):
        run_scales(arguments, asked, scaled, terminal)
        return
    output = format_of(arguments.format, arguments.output, PLACE_FORMATS)
    selections = selections_of(asked)
    with writing(arguments, PLACE_FORMATS, "places.csv", terminal) as out:
        if len(selections) > 1 and arguments.register is not None:
            selections = [x for x in selections if _has(arguments.register, x)] or selections
        held = [Held(x, _places(arguments, x)) for x in selections]
        write_places(held, lambda x: _subject(arguments, x), output, out, len(held) > 1)


def _has(register: str, selection: Selection) -> bool:
    """Whether an operand has such a register; what is no number is an error for all."""
    return not register.strip().isdecimal() or int(register[:80]) < selection.layout.num_registers


def _subject(arguments: Namespace, selection: Selection) -> str:
    lane = f"lane {int(arguments.lane)} of {selection.name}"
    return f"L{lane[1:]}" if arguments.register is None else f"Register {int(arguments.register)} of {lane}"


def _places(arguments: Namespace, selection: Selection) -> list[Place]:
    lane = selection.lane_of(arguments)
    register = None if arguments.register is None else selection.register_of(arguments)
    return places_of_lanes(selection.layout, [lane], register)
