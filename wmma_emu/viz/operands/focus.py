# SPDX-License-Identifier: MIT
"""The elements of an operand that a picture highlights: those of a lane, of a register, or one element."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.suggestions import listed
from wmma_emu.viz.operands.held_cells import HeldCell, span
from wmma_emu.viz.operands.subject import Subject

_MOST_RANGES = 5


class Focus(NamedTuple):
    """The highlighted elements, by lane and by matrix position, and a sentence, empty if nothing is highlighted.

    ``held`` (num_elements, num_lanes) selects elements by lane, all if nothing is highlighted; ``marked``
    (num_matrices, rows, cols) selects the same elements in the matrix.
    """

    held: NDArray[np.bool_]
    marked: NDArray[np.bool_]
    sentence: str

    def at(self) -> tuple[int, int]:
        """Return the first element, in row-major order."""
        _, row, col = (int(x[0]) for x in np.nonzero(self.marked))
        return row, col

    def elements(self) -> set[tuple[int, int, int]]:
        """Return matrix, row and column of all highlighted elements."""
        return {(int(i), int(row), int(col)) for i, row, col in np.argwhere(self.marked)}

    def share_of(self, cell: HeldCell) -> tuple[int, int]:
        """Return the first highlighted element of a cell, and the number of the adjacent highlighted elements."""
        part = self.marked[cell.matrix, cell.row : cell.row + cell.rows, cell.col : cell.col + cell.cols].ravel()
        where = np.flatnonzero(part)
        return (int(where[0]), len(where)) if len(where) else (0, 0)


def focus_on(
    subject: Subject,
    lane: int | None = None,
    register: int | None = None,
    element: tuple[int, int] | None = None,
    matrix: int | None = None,
) -> Focus:
    """Find the elements that match all of lane, register, element (row, col) and matrix that are given.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from wmma_emu.viz.operands.subject import subject_of
    >>> a = subject_of(we.instruction("m16n8k32.s32.s8.s8.s32").a)
    >>> print(focus_on(a, element=(9, 17)).sentence)
    A[9, 17] is in lane 4, register a3, bits 8 to 15 (x13)
    >>> print(focus_on(a, lane=5).sentence)
    Lane 5 holds rows 1, 9, columns 4–7, 20–23 of A
    """
    layout = subject.layout
    held = np.ones((layout.num_elements, layout.num_lanes), np.bool_)
    lanes_matrix = layout.matrix_of_lane.reshape(-1)
    row, col = _pair(element)
    if lane is not None:
        layout.element_at(lane, 0)  # rejects an illegal lane
        held &= np.arange(layout.num_lanes) == lane
    if register is not None:
        layout.element_at(0, register)
        held &= np.arange(layout.num_elements)[:, None] // layout.elements_per_register == register
    if matrix is not None:
        layout.locate(0, 0, matrix)
        held &= lanes_matrix == matrix
    if element is not None:
        layout.locate(row, col)
        held &= (layout.coords_of_lanes == (row, col)).all(axis=-1)
    if not held.any():
        elsewhere = f"; {focus_on(subject, element=element).sentence}" if element is not None else ""
        given = _given(lane=lane, register=register, element=element, matrix=matrix)
        raise OptionError(f"{given} have no element in common{elsewhere}; omit one of them")
    marked = np.zeros((layout.num_matrices, layout.rows, layout.cols), np.bool_)
    i, lanes = np.nonzero(held)
    marked[(lanes_matrix[lanes], *layout.coords_of_lanes[i, lanes].T)] = True
    if lane is None and register is None and element is None:
        return Focus(held, marked, "")
    if element is None:
        return Focus(held, marked, _holds(subject, lane, register, marked))
    places = [(int(x), int(y)) for x, y in zip(i, lanes, strict=True)]
    read = [x for x in places if x[0] < layout.read_elements]
    return Focus(held, marked, _found(subject, row, col, read or places))


def _pair(element: Any) -> tuple[int, int]:
    try:
        row, col = (0, 0) if element is None else element
    except (TypeError, ValueError):
        raise ArgumentError(f"the element is {shorten(element)}; give (row, column), as in element=(9, 17)") from None
    return row, col


def _found(subject: Subject, row: int, col: int, places: Sequence[tuple[int, int]]) -> str:
    """Describe the position of an element: one register and its bits in all lanes that hold it, or several."""
    name = subject.element(row, col) if subject.letter else f"Element [{row}, {col}]"
    held = {i: sorted({lane for x, lane in places if x == i}) for i, _ in places}
    return f"{name} is in {' and in '.join(_place(subject, i, lanes) for i, lanes in held.items())}"


def _place(subject: Subject, i: int, lanes: Sequence[int]) -> str:
    layout = subject.layout
    low = layout.bit_of(i)
    bits = f"bit {low}" if layout.element_bits == 1 else f"bits {low} to {low + layout.element_bits - 1}"
    who = f"{subject.lane}{'s' * (len(lanes) > 1)} {listed(lanes)}"
    return f"{who}, register {subject.register(layout.register_of(i))}, {bits} (x{i})"


def _holds(subject: Subject, lane: int | None, register: int | None, marked: NDArray[np.bool_]) -> str:
    """Describe the elements of a lane, a register or both by rows and columns, which all layouts combine freely."""
    who = f"Register {subject.register(register)}" if register is not None else ""
    if lane is not None:
        who = f"{who} of {subject.lane} {lane}" if who else f"{subject.lane.capitalize()} {lane}"
    matrices = np.flatnonzero(marked.any(axis=(1, 2)))
    of = subject.name
    if len(marked) > 1:
        of += f", matrix {matrices[0]}" if len(matrices) == 1 else ", each matrix"
    rows = np.flatnonzero(marked.any(axis=(0, 2))).tolist()
    cols = np.flatnonzero(marked.any(axis=(0, 1))).tolist()
    if len(rows) * len(cols) * len(matrices) != np.count_nonzero(marked):
        return f"{who} holds {np.count_nonzero(marked)} elements of {of}"
    return f"{who} holds {_lines('row', rows)}, {_lines('column', cols)} of {of}"


def _lines(name: str, numbers: list[int]) -> str:
    text = ranges(numbers)
    if text.count(",") >= _MOST_RANGES:
        return f"{len(numbers)} {name}s from {numbers[0]} to {numbers[-1]}"
    return f"{name}{'s' * (len(numbers) > 1)} {text}"


def _given(**given: object) -> str:
    return listed([f"{name}={shorten(x, str)}" for name, x in given.items() if x is not None])


def ranges(numbers: list[int]) -> str:
    """Write ascending numbers as ranges.

    Examples
    --------
    >>> ranges([0, 1, 2, 8, 10, 11])
    '0–2, 8, 10–11'
    """
    starts = [x for x in numbers if x - 1 not in numbers]
    ends = [x for x in numbers if x + 1 not in numbers]
    return ", ".join(span(x, y - x + 1) for x, y in zip(starts, ends, strict=True))
