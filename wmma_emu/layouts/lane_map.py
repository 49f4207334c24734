# SPDX-License-Identifier: MIT
"""A layout of registers: it hands matrices out to the lanes; as formulas, in CuTe's notation, as a picture."""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wmma_emu.display import render
from wmma_emu.errors import ArgumentError, ShapeError
from wmma_emu.layouts.spec import RegisterLayout

if TYPE_CHECKING:
    from wmma_emu.layouts.formulas import Formulas
    from wmma_emu.layouts.thread_value import ThreadValueLayout

_Scalar = TypeVar("_Scalar", bound="np.generic[Any]")


class LaneMap(RegisterLayout):
    """Where every element of one operand lives in the registers of a warp, or of four.

    Parameters
    ----------
    coords : int array, (num_elements, 32, 2), of a warpgroup (num_elements, 4, 32, 2)
        Row and column of element i of lane l. Elements count from register 0 upward and, inside a register,
        from the least significant bits up. With several matrices: within the lane's own one.
    rows, cols : int
        Shape of the matrix.
    element_bits : int
    read_elements : int
        So many leading elements of every lane are read by the instruction. Those after them are duplicates:
        editing them changes nothing.
    source, status : str
    matrix_of_lane : int array, (32,), optional
        Which of the independent products a lane belongs to; 0 everywhere but in `m8n8k4` of f16.
    of_b : bool
        Whether it is B, which is k x n here, and n x k in CuTe's notation.

    Raises
    ------
    FragmentMismatchError
        For numbers that are no integers or out of range; elements that do not fill registers; a matrix with more
        elements than the lanes read; more than 65,536 elements a lane; texts with control characters.

    Examples
    --------
    >>> from wmma_emu.instructions.table import INSTRUCTIONS
    >>> from wmma_emu.layouts import layout_for
    >>> ins = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    >>> a = layout_for(ins, "a", "sm_90")
    >>> a
    <LaneMap 16x16: 8 elements of 16 bits a lane in 4 registers, measured>
    >>> a.coords[:, 5].tolist()                                    # the eight elements of lane 5
    [[1, 2], [1, 3], [9, 2], [9, 3], [1, 10], [1, 11], [9, 10], [9, 11]]
    >>> a.locate(9, 3)
    (Location(lane=5, register=1, bit=16, element=3),)
    >>> a.element_at(lane=5, register=1, bit=16)
    (9, 3)
    """

    def _repr_html_(self) -> str:
        return str(render("layout.html", self))

    @cached_property
    def formulas(self) -> "Formulas":
        """The same layout as formulas in C and Python, both ways; `wmma_emu.layouts.formulas.formulas_of` says how.

        Raises
        ------
        FragmentMismatchError
            For a layout of your own that is no sum over the bits of lane and index.
        """
        from wmma_emu.layouts.formulas import formulas_of

        return formulas_of(self)

    @cached_property
    def cute(self) -> "ThreadValueLayout":
        """The same layout in CuTe's notation, (thread, value) to element: ``((4,8),(2,2,2)):((32,1),(16,8,128))``.

        Raises
        ------
        FragmentMismatchError
            For a layout of your own that has no sizes and strides.
        """
        from wmma_emu.layouts.thread_value import thread_value_layout

        return thread_value_layout(self)

    def gather(self, matrix: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Hand a matrix out to the lanes: ``(*batch, rows, cols)`` to ``(num_elements, *batch, 32)``.

        To those of four warps: ``(num_elements, *batch, 4, 32)``. Where there are several matrices, their axis stands
        right before the rows.
        """
        _require_array(matrix, "a matrix to gather")
        inner = self.matrix_shape
        batch = matrix.shape[: matrix.ndim - len(inner)]
        if matrix.shape != batch + inner:
            raise ShapeError(f"a matrix of shape {matrix.shape} does not end in {inner}")
        flat = matrix.reshape(*batch, math.prod(inner))
        return np.ascontiguousarray(np.moveaxis(np.take(flat, self._cells, axis=-1), len(batch), 0))

    def scatter(self, elements: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Put a matrix together from the lanes: the inverse of `gather`.

        Of duplicates the first one that the instruction reads is taken.
        """
        _require_array(elements, "elements to scatter")
        inner = self.lane_shape
        if elements.ndim < 1 + len(inner) or (elements.shape[0], *elements.shape[-len(inner) :]) != (
            self.num_elements, *inner,
        ):  # fmt: skip
            lanes = ", ".join(str(x) for x in inner)
            raise ShapeError(
                f"elements of shape {elements.shape} are not ({self.num_elements}, *batch, {lanes})"
            )
        batch = elements.shape[1 : -len(inner)]
        flat = np.moveaxis(elements, 0, len(batch)).reshape(*batch, self.num_elements * self.num_lanes)
        return np.take(flat, self._owners[:, 0], axis=-1).reshape(*batch, *self.matrix_shape)

    def agree(self, elements: NDArray[_Scalar]) -> NDArray[np.bool_]:
        """Say for each warp whether all copies that the instruction reads are equal, as after any load.

        Where they are not, no single matrix stands for the fragment: each copy serves another part of the
        product.
        """
        read = self.gather(self.scatter(elements))[: self.read_elements] == elements[: self.read_elements]
        lanes = tuple(range(-len(self.lane_shape), 0))
        agreed: NDArray[np.bool_] = read.all(axis=(0, *lanes))
        return agreed


def _require_array(given: object, what: str) -> None:
    if not isinstance(given, np.ndarray):
        raise ArgumentError(f"{what} is a NumPy array, not {type(given).__name__}")
