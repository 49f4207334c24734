# SPDX-License-Identifier: MIT
"""Register layouts: the row and column of every element of every lane, and the inverse."""

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, OutOfBoundsError, ShapeError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.lane_map_checks import (
    MOST_ELEMENTS,
    checked_bits,
    checked_count,
    checked_integers,
    checked_sentence,
    require_capacity,
)
from wmma_emu.renamed import warn_renamed

Ints = NDArray[np.int64]

LANES = 32
"""The lanes of a warp."""

WARPS = 4
"""The warps of a warpgroup."""

_SHAPES = f"(num_elements, {LANES}, 2) or (num_elements, {WARPS}, {LANES}, 2)"


class Location(NamedTuple):
    """One position of a matrix element: the lane, its register, the lowest bit, and the element's number.

    In a fragment of four warps, ``lane`` is the thread of the warpgroup, 0 to 127.
    """

    lane: int
    register: int
    bit: int
    element: int


@dataclass(frozen=True, eq=False, repr=False)
class RegisterLayout:
    """The positions of an operand's elements in registers; `LaneMap` adds conversions of matrices."""

    coords: Ints
    rows: int
    cols: int
    element_bits: int
    read_elements: int
    source: str
    status: str
    matrix_of_lane: Ints = field(default_factory=lambda: np.zeros((), np.int64))
    of_b: bool = False

    def __post_init__(self) -> None:
        coords = checked_integers("coords", self.coords, _SHAPES)
        if coords.shape[1:] not in ((LANES, 2), (WARPS, LANES, 2)):
            raise ShapeError(f"coords are {_SHAPES}, not {coords.shape}")
        count = checked_count("the number of elements of coords", len(coords), MOST_ELEMENTS)
        set_field = partial(object.__setattr__, self)
        for name in ("rows", "cols"):
            set_field(name, checked_count(name, getattr(self, name)))
        for name in ("source", "status"):
            checked_sentence(name, getattr(self, name))
        set_field("element_bits", checked_bits(self.element_bits))
        set_field("read_elements", checked_count("read_elements", self.read_elements, count))
        shared = self.elements_per_register
        if count % shared or self.read_elements % shared:
            raise ArgumentValueError(
                f"{count} elements of {self.element_bits} bits, of which {self.read_elements} are read, do not fill "
                f"registers of {self.register_bits} bits; both must be multiples of {shared}"
            )
        inner = coords.shape[1:-1]
        matrices = checked_integers("matrix_of_lane", self.matrix_of_lane, f"{inner}")
        if matrices.shape not in ((), inner) or matrices.min() < 0:
            raise ShapeError(
                f"matrix_of_lane is of shape {matrices.shape}, from {matrices.min(initial=0)} up; expected numbers "
                f"from 0 up, of shape {inner}"
            )
        require_capacity((int(matrices.max()) + 1, self.rows, self.cols), self.read_elements, math.prod(inner))
        if (coords < 0).any() or (coords >= (self.rows, self.cols)).any():
            raise ArgumentValueError(f"coords are outside of the {self.rows} x {self.cols} matrix")
        for name, given in (("coords", coords), ("matrix_of_lane", np.broadcast_to(matrices, inner))):
            array = np.array(given, np.int64)
            array.setflags(write=False)
            set_field(name, array)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RegisterLayout):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        shape = f"{self.num_matrices} x " * (self.num_matrices > 1) + f"{self.rows}x{self.cols}"
        uneven = "" if self._is_even else ", not each held equally often"
        copies = uneven or ("" if self.multiplicity == 1 else f", each held {self.multiplicity} times")
        return (
            f"<LaneMap {shape}: {self.num_elements} elements of {self.element_bits} bits a lane in "
            f"{self.num_registers} registers{copies}, {self.status}>"
        )

    @property
    def num_elements(self) -> int:
        """The number of elements of a lane, duplicates included."""
        return int(self.coords.shape[0])

    @property
    def lane_shape(self) -> tuple[int, ...]:
        """``(32,)``, or ``(4, 32)`` if four warps hold the matrix together."""
        return self.coords.shape[1:-1]

    @property
    def num_lanes(self) -> int:
        """32, or 128 for the threads of a warpgroup."""
        return math.prod(self.lane_shape)

    @property
    def coords_of_lanes(self) -> Ints:
        """``coords`` with the threads of four warps in one axis: (num_elements, num_lanes, 2)."""
        return self.coords.reshape(self.num_elements, self.num_lanes, 2)

    @property
    def register_bits(self) -> int:
        """The width of a register: 64 for f64, else 32."""
        return max(self.element_bits, 32)

    @property
    def elements_per_register(self) -> int:
        """The number of elements that share a register."""
        return self.register_bits // self.element_bits

    @property
    def num_registers(self) -> int:
        """The number of registers of a lane."""
        return self.num_elements // self.elements_per_register

    @property
    def num_matrices(self) -> int:
        """The number of independent products that the warp computes at once."""
        return int(self.matrix_of_lane.max()) + 1

    @property
    def matrix_shape(self) -> tuple[int, ...]:
        """``(rows, cols)``, or ``(num_matrices, rows, cols)`` if there are several matrices."""
        several = (self.num_matrices,) if self.num_matrices > 1 else ()
        return (*several, self.rows, self.cols)

    @property
    def multiplicity(self) -> int:
        """The number of replicas of each matrix element; if that differs, the mean, rounded down."""
        return self.num_elements * self.num_lanes // math.prod(self.matrix_shape)

    @property
    def reads_copies(self) -> bool:
        """Whether the instruction reads an element from several lanes: WMMA in f16 on Volta."""
        return self.read_elements * self.num_lanes > math.prod(self.matrix_shape)

    @property
    def is_bijection(self) -> bool:
        """Whether every matrix element is held exactly once."""
        return bool((self.copies() == 1).all())

    def copies(self) -> Ints:
        """Count the owners of every matrix element: an array of ``matrix_shape``, all 1 for a bijection."""
        count = np.bincount(self._cells.ravel(), minlength=math.prod(self.matrix_shape))
        return count.reshape(self.matrix_shape)

    def owners(self) -> Ints:
        """Return the owners of every matrix element: ``(*matrix_shape, multiplicity)``.

        An owner is ``element * num_lanes + lane``; the first one that the instruction reads comes first.

        Raises
        ------
        FragmentMismatchError
            If elements are not all held equally often.
        """
        return self._owners.reshape(*self.matrix_shape, self.multiplicity)

    def holders(self) -> Ints:
        """Return `owners`, whose name this was."""
        warn_renamed("LaneMap.holders", "LaneMap.owners")
        return self.owners()

    def register_of(self, element: int) -> int:
        """Return the register that holds an element."""
        return within("element", element, self.num_elements) // self.elements_per_register

    def bit_of(self, element: int) -> int:
        """Return the lowest bit of an element in its register."""
        return within("element", element, self.num_elements) % self.elements_per_register * self.element_bits

    def locate(self, row: int, col: int, matrix: int = 0) -> tuple[Location, ...]:
        """Return every position of a matrix element, the first one that the instruction reads first.

        Raises
        ------
        OutOfBoundsError
            If the row, column or matrix does not exist.
        FragmentMismatchError
            If a value is not an integer.
        """
        row = within("row", row, self.rows)
        col = within("column", col, self.cols)
        matrix = within("matrix", matrix, self.num_matrices)
        owners = self._owners[(matrix * self.rows + row) * self.cols + col]
        pairs = ((int(h) // self.num_lanes, int(h) % self.num_lanes) for h in owners)
        return tuple(Location(lane, self.register_of(i), self.bit_of(i), i) for i, lane in pairs)

    def element_at(self, lane: int, register: int, bit: int = 0) -> tuple[int, int]:
        """Return row and column of the element that includes a bit of a lane's register.

        Raises
        ------
        OutOfBoundsError
            If the lane, register or bit does not exist.
        FragmentMismatchError
            If a value is not an integer.
        """
        lane = within("lane", lane, self.num_lanes)
        register = within("register", register, self.num_registers)
        bit = within("bit", bit, self.register_bits)
        row, col = self.coords_of_lanes[register * self.elements_per_register + bit // self.element_bits, lane]
        return int(row), int(col)

    @cached_property
    def _cells(self) -> Ints:
        """(num_elements, *lane_shape): the matrix element that is held, counted along rows, matrix by matrix."""
        row = self.matrix_of_lane * self.rows + self.coords[..., 0]
        cells: Ints = row * self.cols + self.coords[..., 1]
        return cells

    @cached_property
    def _owners(self) -> Ints:
        """(matrix elements, multiplicity): the owners of each, as element * num_lanes + lane, ascending."""
        if not self._is_even:
            raise ArgumentValueError(
                f"not every element of the matrix is held {self.multiplicity} times; copies() counts them"
            )
        return np.argsort(self._cells, axis=None, kind="stable").reshape(-1, self.multiplicity)

    @cached_property
    def _is_even(self) -> bool:
        """Whether every matrix element is held equally often."""
        copies = self.copies()
        return bool((copies == copies.flat[0]).all())

    @cached_property
    def _key(self) -> tuple[object, ...]:
        arrays = (self.coords.tobytes(), self.matrix_of_lane.tobytes())
        return (self.rows, self.cols, self.element_bits, self.read_elements, *arrays)


def within(name: str, value: int, stop: int) -> int:
    """Check an index against its range; negative indices do not count from the end."""
    index = integer_of(value)
    if index is None:
        raise ArgumentError(f"the {name} is {shorten(value)}, not an integer; legal values are 0 to {stop - 1}")
    if not 0 <= index < stop:
        raise OutOfBoundsError(f"there is no {name} {shorten(index)}; legal values are 0 to {stop - 1}")
    return index
