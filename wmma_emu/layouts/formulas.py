# SPDX-License-Identifier: MIT
"""Formulas of a layout, derived from its table: row and column of a lane's element, and the inverse.

No formula is written by hand. Every bit of a lane and of an element's index adds its weight to the row or to the
column; the weights are read from the layout at inputs with one bit set, and verified on all elements.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from wmma_emu.errors import ArgumentError, ArgumentValueError, FragmentMismatchError, shorten
from wmma_emu.layouts.formula_set import FormulaSet
from wmma_emu.layouts.formula_text import Formula
from wmma_emu.layouts.linear import Linear, fit
from wmma_emu.layouts.spec import LANES, Ints, RegisterLayout
from wmma_emu.renamed import renamed_names


@dataclass(frozen=True, slots=True)
class Replica:
    """A further position of a matrix element: its offset in lanes and indices from the first position.

    ``is_read`` is whether the instruction reads it, as on Volta, where each replica belongs to a different block of the
    product; otherwise it is padding.
    """

    lane: int
    index: int
    is_read: bool

    def __str__(self) -> str:
        moves = (("lane", self.lane), ("index", self.index))
        return ", ".join(f"{name} {'+' if x > 0 else '-'} {abs(x)}" for name, x in moves if x)


@dataclass(frozen=True, repr=False)
class Formulas(FormulaSet):
    """The formulas of one layout; ``print`` writes them.

    Parameters
    ----------
    layout : LaneMap
    row, col : Linear
        Functions of a lane (with four warps: the thread, 0 to 127) and the index of one of its elements.
    matrix : Linear or None
        A function of a lane: the matrix that the lane belongs to, if there are several.
    lane, index : Linear
        Functions of row and column (and matrix): the first position that the instruction reads.
    register, bit : Linear
        Functions of an index: the element's register, and its lowest bit in that register.
    copies : tuple of Replica
        The other positions of the same element.

    Examples
    --------
    >>> from wmma_emu.layouts import fragment_layout
    >>> print(fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90").formulas)
    row = lane / 4 + 8 * (index / 2 % 2)
    col = lane % 4 * 2 + index % 2 + index / 4 * 8
    lane = row % 8 * 4 + col % 8 / 2
    index = col / 8 * 4 + row / 8 * 2 + col % 2
    register = index
    bit = 0
    >>> fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_90").formulas.copies
    (Replica(lane=0, index=8, is_read=False),)
    """

    layout: RegisterLayout
    row: Linear
    col: Linear
    matrix: Linear | None
    lane: Linear
    index: Linear
    register: Linear
    bit: Linear
    copies: tuple[Replica, ...]

    def __repr__(self) -> str:
        return f"<Formulas of {self.layout!r}>"

    def _formulas(self) -> tuple[Formula, ...]:
        matrix = () if self.matrix is None else (Formula("matrix", self.matrix),)
        return (
            Formula("row", self.row),
            Formula("col", self.col),
            *matrix,
            Formula("lane", self.lane, by_weight=True, note=self._copies()),
            Formula("index", self.index, by_weight=True),
            Formula("register", self.register, is_derived=False),
            Formula("bit", self.bit, is_derived=False),
        )

    def _title(self, name: str) -> list[str]:
        layout = self.layout
        lane = "thread of the warpgroup" if layout.num_lanes > LANES else "lane"
        what = (
            f"{layout.num_matrices} matrices of " * (layout.num_matrices > 1)
            + f"{layout.rows} x {layout.cols}, {_count(layout.num_elements, 'element')} of "
            + f"{_count(layout.element_bits, 'bit')} a {lane} in {_count(layout.num_registers, 'register')}."
        )
        return [
            f"{name}: {what}" if name else what,
            f"lane is {'the thread of the warpgroup, ' * (layout.num_lanes > LANES)}0 to {layout.num_lanes - 1}; index "
            f"counts the elements of a lane, 0 to {layout.num_elements - 1}.",
            f"{layout.status.capitalize()}; source: {layout.source}.",
        ]

    def _remarks(self) -> list[str]:
        one = self.one_line()
        shared = self.layout.elements_per_register
        held = "one element a register" if shared == 1 else f"{shared} elements a register, the first in the low bits"
        remarks = [f"register = {one['register']}, bit = {one['bit']}: {held}."]
        idle = [f"bit {bit} of {name}" for name, bit in self._idle_bits()]
        if idle:
            remarks.append(f"No bit of row or col: {', '.join(idle)}. {self._copies()}")
        return remarks

    def _idle_bits(self) -> list[tuple[str, int]]:
        """Return the bits of lane and index that only choose among replicas, and so have no weight."""
        given = [(name, bit) for name, size in self.row.inputs for bit in range((size - 1).bit_length())]
        counted = [x for x in (self.row, self.col, self.matrix) if x is not None]
        used = {(name, bit) for linear in counted for _, name, bit in linear.bits()}
        return [x for x in given if x not in used]

    def _copies(self) -> str:
        kinds = (("read as well", True), ("not read", False))
        found = ((how, "; ".join(str(copy) for copy in self.copies if copy.is_read == read)) for how, read in kinds)
        return " ".join(f"The same element again, {how}: {places}." for how, places in found if places)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def formulas_of(layout: RegisterLayout) -> Formulas:
    """Derive the formulas of a layout, and verify them on every element, in both directions.

    Parameters
    ----------
    layout : LaneMap
        Any layout of the tables, or your own if its rows and columns are sums over the bits of lane and index.

    Raises
    ------
    FragmentMismatchError
        If the layout is not such a sum; the message names the first position that contradicts it.

    Examples
    --------
    >>> import dataclasses
    >>> from wmma_emu.layouts import fragment_layout
    >>> layout = fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90")
    >>> formulas_of(layout).row.weights                                       # of the bits of lane, then of index
    ((0, 0, 1, 2, 4), (0, 8, 0))
    >>> rotated = dataclasses.replace(layout, coords=(layout.coords + 1) % 16)
    >>> formulas_of(rotated)
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: <LaneMap 16x16: 8 elements of 32 bits a lane in 8 registers, measured> has no
    formulas: row is not a sum over the bits of lane and index: at lane 0, index 0 it is 1, and the bits give 0;
    `coords` and `locate` still describe every element
    """
    if not isinstance(layout, RegisterLayout):
        raise ArgumentError(f"formulas need a LaneMap, such as `ins.d.layout`, not {shorten(layout)}")
    try:
        fitted = _fitted(layout)
    except FragmentMismatchError as error:
        raise ArgumentValueError(
            f"{layout!r} has no formulas: {error}; `coords` and `locate` still describe every element"
        ) from None
    return Formulas(layout, *fitted)


_Fitted = tuple[Linear, Linear, Linear | None, Linear, Linear, Linear, Linear, tuple[Replica, ...]]


@lru_cache(maxsize=512)
def _fitted(layout: RegisterLayout) -> _Fitted:
    """Fit once for equal layouts of several chips; source and status, which differ, are not part of the result."""
    per_lane = layout.coords_of_lanes.swapaxes(0, 1)  # lane, index, 2
    row, col = (fit(name, per_lane[..., i], ("lane", "index")) for i, name in enumerate(("row", "col")))
    several = layout.num_matrices > 1
    matrix = fit("matrix", layout.matrix_of_lane.ravel(), ("lane",)) if several else None
    # Row and column come first in a formula's arguments, as in `locate`; the matrix precedes them in an array.
    owners = np.moveaxis(layout.owners(), 0, 2) if several else layout.owners()
    names = ("row", "col", "matrix") if several else ("row", "col")
    index, lane = np.divmod(owners, layout.num_lanes)
    first_lane, first_index = fit("lane", lane[..., 0], names), fit("index", index[..., 0], names)
    copies = tuple(_copy(layout, lane, index, number) for number in range(1, layout.multiplicity))
    elements = np.arange(layout.num_elements)
    register, part = np.divmod(elements, layout.elements_per_register)
    in_registers = (fit("register", register, ("index",)), fit("bit", part * layout.element_bits, ("index",)))
    return (row, col, matrix, first_lane, first_index, *in_registers, copies)


def _copy(layout: RegisterLayout, lane: Ints, index: Ints, number: int) -> Replica:
    """Return the offset of a replica from the first position, which is the same for every element."""
    lanes, indices = (np.unique(x[..., number] - x[..., 0]) for x in (lane, index))
    if lanes.size > 1 or indices.size > 1:
        raise FragmentMismatchError(
            f"replica {number} is {', '.join(map(str, lanes))} lanes and {', '.join(map(str, indices))} indices after "
            "the first position, which is not the same distance for all elements"
        )
    return Replica(int(lanes[0]), int(indices[0]), bool((index[..., number] < layout.read_elements).all()))


__getattr__ = renamed_names(__name__, {"Copy": "Replica"})
