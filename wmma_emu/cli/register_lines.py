# SPDX-License-Identifier: MIT
"""The registers of all lanes as text, each with the matrix elements that it holds."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.cli.operand import span
from wmma_emu.cli.terminal import Line, Styled
from wmma_emu.layouts import LaneMap
from wmma_emu.palette import INK, lane_colour
from wmma_emu.viz.operands.held_cells import cell_of
from wmma_emu.viz.operands.windows import RegisterWindow

_WIDTH_OF_FILES = 100
_GAP = "  "
_MARK = "*"


def describe_registers(layout: LaneMap, window: RegisterWindow, name: str) -> list[tuple[str, str]]:
    """Return an explanation of the first cell, and the rules by which the registers continue.

    Examples
    --------
    >>> import wmma_emu as we
    >>> a = we.instruction("m16n8k16.f32.f16.f16.f32").a.layout
    >>> describe_registers(a, RegisterWindow(range(32), range(4)), "A")
    [('a cell', '0,0-1: row 0, columns 0-1 of A, the first in the lowest bits')]
    """
    cell = cell_of(layout, window.lanes[0], window.registers[0])
    row, col = span(cell.row, cell.rows), span(cell.col, cell.cols)
    text = f"{row},{col}: row{'s' * (cell.rows > 1)} {row}, column{'s' * (cell.cols > 1)} {col} of {name}"
    return [("a cell", text + ", the first in the lowest bits" * (cell.elements > 1)), *window.rules]


def register_lines(
    layout: LaneMap, window: RegisterWindow, width: int | None, held: NDArray[np.bool_] | None = None
) -> Iterator[Line]:
    r"""Format registers, a line for each lane; columns beyond the width (None: a file) continue below.

    ``held`` (num_elements, num_lanes) selects the marked elements.

    Examples
    --------
    >>> import wmma_emu as we
    >>> b = we.instruction("m16n8k16.f32.f16.f16.f32").b.layout
    >>> lines = register_lines(b, RegisterWindow(range(5, 7), range(2)), None)
    >>> print("\n".join("".join(x.text for x in line) for line in lines))
    LANE  0      1
    T5    2-3,1  10-11,1
    T6    4-5,1  12-13,1
    """
    packed = layout.elements_per_register
    pointed_out = np.zeros((layout.num_elements, layout.num_lanes), np.bool_) if held is None else held
    registers_held = pointed_out.reshape(layout.num_registers, packed, layout.num_lanes)
    marked: NDArray[np.bool_] = np.logical_or.reduce(registers_held, axis=1)
    texts = {
        (lane, i): f"{span(x.row, x.rows)},{span(x.col, x.cols)}{_MARK * bool(marked[i, lane])}"
        for lane in window.lanes for i in window.registers for x in [cell_of(layout, lane, i)]
    }  # fmt: skip
    first = max(len("LANE"), *(len(f"T{x}") for x in window.lanes))
    size = max(map(len, texts.values()))
    count = max(1, ((width or _WIDTH_OF_FILES) - first) // (size + len(_GAP)))
    for start in range(0, len(window.registers), count):
        registers = window.registers[start : start + count]
        if start:
            yield ()
        yield _line(
            Styled(f"{'LANE':<{first}}", "heading"), [Styled(str(i), "heading") for i in registers], registers, texts
        )
        for lane in window.lanes:
            look = f"{INK} on {lane_colour(lane)}"
            cells = [
                Styled(texts[lane, i], look if held is None else f"bold {look}" if marked[i, lane] else "")
                for i in registers
            ]  # fmt: skip
            yield _line(Styled(f"{f'T{lane}':<{first}}", "label"), cells, registers, texts)


def _line(label: Styled, cells: list[Styled], registers: range, texts: dict[tuple[int, int], str]) -> Line:
    """Pad the cells of one line: each column is as wide as its longest cell."""
    pieces = [label]
    for i, cell in zip(registers, cells, strict=True):
        width = max(len(str(i)), *(len(x) for (_, register), x in texts.items() if register == i))
        padding = "" if i == registers[-1] else " " * (width - len(cell.text))
        pieces += [Styled(_GAP), cell, Styled(padding)]
    return tuple(pieces)
