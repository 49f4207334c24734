# SPDX-License-Identifier: MIT
"""Where D differs: the other side from the emulator, and the emulator from itself."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.applications.campaign.cases import Case, ElementIndex
from wmma_emu.applications.campaign.registers import Packed
from wmma_emu.applications.campaign.tasks import Task
from wmma_emu.arithmetic.reference import dot
from wmma_emu.formats.codec import Bits
from wmma_emu.generators import Operands, Scales
from wmma_emu.warp import BoundInstruction

BY_REFERENCE = 4
"""Elements of a task that the reference engine computes too."""

_TILES_EXECUTED = 128
"""One tile in so many goes through ``ins.execute`` too, registers to registers; at least one of a task."""


class DifferingElement(NamedTuple):
    """One element of D that differs; or, if ``unread``, the first of a tile whose elements do not, but other bits."""

    kind: str
    place: ElementIndex
    unread: bool = False


def differing(
    ins: BoundInstruction, theirs: NDArray[Any], ours: NDArray[Any], tiles: Bits
) -> Iterator[DifferingElement]:
    """Compare D of a task: registers, and the patterns in them."""
    for (i, j, *rest), unread in _differing_positions(ins, theirs, ours, tiles):
        yield DifferingElement("bits", (i, j, rest[0], rest[1], rest[2]), unread)


def differing_registers(
    ins: BoundInstruction, packed: Packed, ours: NDArray[Any], tiles: Bits, task: Task
) -> tuple[list[DifferingElement], int]:
    """Execute some pairs of tiles through ``ins.execute``; returns what differs, and how many elements that were."""
    i, j = _some_pairs(task)
    (a, b, c), keywords = packed.some_pairs(i, j)
    theirs = ins.execute(a, b, c, **keywords)
    found = [
        DifferingElement("registers", (int(i[at]), int(j[at]), rest[0], rest[1], rest[2]), unread)
        for (at, *rest), unread in _differing_positions(ins, theirs, ours[:, i, j], tiles[i, j])
    ]
    return found, len(i) * tiles[0, 0].size


def _differing_positions(
    ins: BoundInstruction, theirs: NDArray[Any], ours: NDArray[Any], tiles: Bits
) -> Iterator[tuple[list[int], bool]]:
    """Where elements differ: indices of the batch, of the warp's product (0 if it has one), row and column.

    Last the tiles whose registers differ although their elements do not, which only a fault can do: bits that hold no
    element, or a layout that does not give back what it was given.
    """
    if np.array_equal(theirs, ours):
        return
    one = ins.instruction.products == 1
    wrong = ins.d.unpack_bits(theirs) != tiles
    for place in np.argwhere(wrong).tolist():
        yield ([*place[:-2], 0, *place[-2:]] if one else place), False
    batch = tiles.ndim - (2 if one else 3)
    registers = theirs != ours
    registers = registers.any((0, *range(1 + batch, registers.ndim)))
    for place in np.argwhere(registers & ~wrong.any(tuple(range(batch, wrong.ndim)))).tolist():
        yield [*place, 0, 0, 0], True


def _some_pairs(task: Task) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose some of the pairs of a task; rows of A and columns of B take their turns."""
    pairs = np.arange(task.number % _TILES_EXECUTED % (task.p * task.q), task.p * task.q, _TILES_EXECUTED)
    i, j = np.divmod(pairs, task.q)
    return i, (i + j) % task.q


def unlike_reference(
    ins: BoundInstruction, operands: Operands, tiles: Bits, task: Task, scales: Scales | None = None
) -> Iterator[DifferingElement]:
    """Compute a few elements, spread over the tiles, by the reference engine; yields where one differs."""
    for part in range(BY_REFERENCE):
        # 7919 is prime: other elements in every task and part.
        flat = ((task.number * BY_REFERENCE + part) * 7919) % tiles.size
        i, j, *product, row, column = (int(x) for x in np.unravel_index(flat, tiles.shape))
        place = (i, j, product[0] if product else 0, row, column)
        case = Case.at(ins, operands, place, task.variant, scales)
        if dot(ins.product, *case.dot_operands(ins), **case.dot_scales(ins)) != int(tiles[i, j, *product, row, column]):
            yield DifferingElement("reference", place)
