# SPDX-License-Identifier: MIT
"""``wmma-emu layout``: the layout of an operand, as a drawing, a list, or functions in C and Python."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from wmma_emu.cli.choices import LAYOUT_FORMATS, POSITION_FORMATS
from wmma_emu.cli.files import write_file
from wmma_emu.cli.grid import grid_of
from wmma_emu.cli.operand import Selection, asked_for, selections_of
from wmma_emu.cli.output import check_pipe, format_of, output_of, writing
from wmma_emu.cli.positions import OperandPositions, positions_of_lanes, write_positions
from wmma_emu.cli.scales import run_scales, scales_of
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, check_choice
from wmma_emu.viz.operands.held_cells import cell_size
from wmma_emu.viz.operands.windows import RegisterWindow

if TYPE_CHECKING:
    from wmma_emu.viz.operands.focus import Focus
    from wmma_emu.viz.picture import Picture

_PICTURES = ("svg", "png", "tex", "tikz")
_DRAWN = ("grid", "html", *_PICTURES)
_WRITTEN = ("cute", "c", "python")


class _Highlight(NamedTuple):
    """The highlighted elements: those in the given lane, in the given register, and at the given position."""

    lane: int | None
    register: int | None
    element: tuple[int, int] | None

    def focus(self, selection: Selection) -> "Focus | None":
        """Return the highlighted elements; None if nothing is highlighted."""
        if self == (None, None, None):
            return None
        from wmma_emu.viz.operands.focus import focus_on
        from wmma_emu.viz.operands.subject import subject_of

        return focus_on(subject_of(selection.bound), *self)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Show the layout of an operand."""
    asked = asked_for(arguments)
    if scaled := scales_of(asked, arguments):
        run_scales(arguments, asked, scaled, terminal)
        return
    output = format_of(arguments.format, arguments.output, LAYOUT_FORMATS)
    view = check_choice("--view", arguments.view, ("matrix", "registers"))
    _check_options(arguments, output)
    file = output_of(arguments.output, output, LAYOUT_FORMATS, "layout.svg")
    selections = selections_of(asked)
    if len(selections) > 1:
        _check_options_of_several(arguments, output)
    if output == "png":
        _write_png(selections[0], _highlight(arguments, selections[0]), view, file)
        return
    with writing(arguments, LAYOUT_FORMATS, "layout.svg", terminal) as out:
        _write(arguments, selections, output, view, out)


def _write(
    arguments: Namespace, selections: list[Selection], output: str, view: str | None, terminal: Terminal
) -> None:
    asked = [_highlight(arguments, x) for x in selections]
    if len(selections) == 1:
        _write_one(selections[0], asked[0], output, view, terminal)
    elif output in POSITION_FORMATS:
        held = [
            OperandPositions(x, positions_of_lanes(x.layout, _lanes(x, y)))
            for x, y in zip(selections, asked, strict=True)
        ]
        write_positions(held, lambda x: x.name, output, terminal, named=True)
    elif output == "html":
        from wmma_emu.viz.picture import page

        pictures = [x for one, at in zip(selections, asked, strict=True) for x in _pictures(one, at, view)]
        terminal.raw(page(str(selections[0].instruction), "\n".join(f"<figure>{x}</figure>" for x in pictures)))
    else:
        for number, (selection, at) in enumerate(zip(selections, asked, strict=True)):
            if number and output != "cute":
                terminal.line()
            if number and output == "grid" and selection.repeats(selections[number - 1]):
                terminal.line(f"{selection.name} has the same layout as {selections[number - 1].name}.")
                continue
            _write_one(selection, at, output, view, terminal)


def _write_png(selection: Selection, asked: _Highlight, view: str | None, path: str | None) -> None:
    if path is None:
        check_pipe("a PNG", "layout.png")
    png = _pictures(selection, asked, view or "matrix")[0].png()
    if path is None:
        sys.stdout.buffer.write(png)
    else:
        write_file(path, lambda file: file.write(png))


def _lanes(selection: Selection, asked: _Highlight) -> range:
    return range(selection.layout.num_lanes) if asked.lane is None else range(asked.lane, asked.lane + 1)


def _check_options_of_several(arguments: Namespace, output: str) -> None:
    for name in ("register", "row"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} requires one operand; name it after the instruction, as in A")
    if output in _PICTURES:
        raise UsageError("a picture shows one operand; name it after the instruction, as in A, or add --format html")


def _check_options(arguments: Namespace, output: str) -> None:
    if (arguments.row is None) != (arguments.col is None):
        given, missing = ("row", "col") if arguments.col is None else ("col", "row")
        raise UsageError(
            f"--{given} {getattr(arguments, given)[:80]} is only half of an element's position; add --{missing}"
        )
    if output not in _DRAWN:
        drawn = "applies only to drawings; add --format grid, svg or html"
        if arguments.view is not None:
            raise UsageError(f"--view {arguments.view} {drawn}, not {output}")
        if arguments.register is not None:
            raise UsageError(f"--register {drawn}, not {output}; wmma-emu what lists a register's elements")
        if arguments.row is not None:
            raise UsageError(f"--row and --col highlight an element of a drawing; add --format grid, svg or html, "
                             f"not {output}; "
                             "wmma-emu where lists the registers that hold it")  # fmt: skip
    if output in _WRITTEN and arguments.lane is not None:
        raise UsageError(f"--lane: functions in {output} cover all lanes; omit it, or choose another --format")


def _highlight(arguments: Namespace, selection: Selection) -> _Highlight:
    lane = None if arguments.lane is None else selection.lane_of(arguments)
    register = None if arguments.register is None else selection.register_of(arguments)
    return _Highlight(lane, register, None if arguments.row is None else selection.element_of(arguments))


def _write_one(selection: Selection, asked: _Highlight, output: str, view: str | None, terminal: Terminal) -> None:
    if output == "grid":
        _draw(selection, asked, view or ("matrix" if asked.lane is None else "registers"), terminal)
    elif output in _WRITTEN:
        terminal.raw(_written(selection, output))
    elif output in POSITION_FORMATS:
        _list(selection, asked, output, terminal)
    else:
        terminal.raw(_picture(selection, asked, output, view))


def _written(selection: Selection, output: str) -> str:
    formulas = selection.layout.formulas
    if output != "cute":
        return formulas.c(selection.name) if output == "c" else formulas.python(selection.name)
    cute = selection.layout.cute
    threads = "" if cute.threads.rank == 1 else f"  threads {cute.threads}"
    return f"{selection.name}  {cute}{threads}\n"


def _draw(selection: Selection, asked: _Highlight, view: str, terminal: Terminal) -> None:
    """Draw the matrix or all registers as text; list the registers of a lane."""
    if view == "registers" and asked.lane is not None:
        _list(selection, asked, "grid", terminal)
        return
    layout, focus = selection.layout, asked.focus(selection)
    pointed_out = [] if focus is None else [("marked *", focus.sentence.replace("–", "-"))]
    if view == "matrix":
        elements, at = (frozenset(), (0, 0)) if focus is None else (focus.elements(), focus.at())
        grid = grid_of(layout, terminal.width, elements, at)
        selection.write_head(selection.name, terminal, [*grid.facts(), *pointed_out])
        terminal.lines(grid.lines())
        return
    from wmma_emu.cli.register_lines import describe_registers, register_lines

    held = None if focus is None else focus.held
    window = RegisterWindow.of(layout, held)
    more = [*describe_registers(layout, window, selection.name), *pointed_out]
    selection.write_head(f"Registers of {selection.name}", terminal, more)
    terminal.lines(register_lines(layout, window, terminal.width, held))


def _list(selection: Selection, asked: _Highlight, output: str, terminal: Terminal) -> None:
    layout = selection.layout
    in_short = output == "grid" and layout.element_bits == 1  # a line for each of 128 bits adds nothing
    size = cell_size(layout) if in_short else (1, 1)
    subject = selection.name if asked.lane is None else f"Lane {asked.lane} of {selection.name}"
    positions = positions_of_lanes(layout, _lanes(selection, asked), asked.register, size)
    if asked.element is not None and (focus := asked.focus(selection)):
        held, count = focus.held, size[0] * size[1]
        positions = [x for x in positions if held[x.element : x.element + count, x.lane].any()]
    write_positions([OperandPositions(selection, positions)], lambda _: subject, output, terminal)


def _picture(selection: Selection, asked: _Highlight, output: str, view: str | None) -> str:
    from wmma_emu.viz.picture import page

    pictures = _pictures(selection, asked, "matrix" if view is None and output != "html" else view)
    if len(pictures) == 1:
        return pictures[0].text(output)
    return page(pictures[0].title, "\n".join(f"<figure>{x}</figure>" for x in pictures))


def _pictures(selection: Selection, asked: _Highlight, view: str | None) -> "list[Picture]":
    from wmma_emu.viz.operands.matrix_view import draw_matrix
    from wmma_emu.viz.operands.register_view import draw_registers

    draw = {"matrix": draw_matrix, "registers": draw_registers}
    return [function(selection.bound, **asked._asdict()) for name, function in draw.items() if view in (None, name)]
