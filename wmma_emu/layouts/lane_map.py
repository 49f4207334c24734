# SPDX-License-Identifier: MIT
"""Register layouts of operands, which distribute matrices to lanes and collect them again."""

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
    """The position of every element of one operand in the registers of a warp, or of four warps.

    Parameters
    ----------
    coords : int array, (num_elements, 32, 2), for a warpgroup (num_elements, 4, 32, 2)
        Row and column of element i of lane l. Elements count from register 0 upward and, inside a register,
        from the least significant bits up. With several matrices: within the lane's own matrix.
    rows, cols : int
        Shape of the matrix.
    element_bits : int
    read_elements : int
        The number of leading elements of every lane that the instruction reads. Later elements are duplicates:
        changing them has no effect.
    source, status : str
    matrix_of_lane : int array, (32,), optional
        The independent product that a lane belongs to; 0 except for `m8n8k4` of f16.
    of_b : bool
        Whether the operand is B, which is k x n here, and n x k in CuTe's notation.

    Raises
    ------
    FragmentMismatchError
        If a number is not an integer or out of range, elements do not fill registers, the matrix has more elements
        than the lanes read, a lane has more than 65,536 elements, or a string has control characters.

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
        """The same layout as formulas in C and Python, with inverses; see `wmma_emu.layouts.formulas.formulas_of`.

        Raises
        ------
        FragmentMismatchError
            If a layout of your own is not a sum over the bits of lane and index.
        """
        from wmma_emu.layouts.formulas import formulas_of

        return formulas_of(self)

    @cached_property
    def cute(self) -> "ThreadValueLayout":
        """The same layout in CuTe's notation, (thread, value) to element: ``((4,8),(2,2,2)):((32,1),(16,8,128))``.

        Raises
        ------
        FragmentMismatchError
            If a layout of your own cannot be written with sizes and strides.
        """
        from wmma_emu.layouts.thread_value import thread_value_layout

        return thread_value_layout(self)

    def gather(self, matrix: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Distribute a matrix to the lanes: ``(*batch, rows, cols)`` to ``(num_elements, *batch, 32)``.

        For four warps the result is ``(num_elements, *batch, 4, 32)``. The axis of several matrices comes directly
        before the rows.
        """
        _require_array(matrix, "a matrix to gather")
        inner = self.matrix_shape
        batch = matrix.shape[: matrix.ndim - len(inner)]
        if matrix.shape != batch + inner:
            raise ShapeError(f"a matrix of shape {matrix.shape} does not end in {inner}")
        flat = matrix.reshape(*batch, math.prod(inner))
        return np.ascontiguousarray(np.moveaxis(np.take(flat, self._cells, axis=-1), len(batch), 0))

    def scatter(self, elements: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Assemble a matrix from the lanes: the inverse of `gather`.

        If an element has several replicas, the first one that the instruction reads is used.
        """
        _require_array(elements, "elements to scatter")
        inner = self.lane_shape
        if elements.ndim < 1 + len(inner) or (elements.shape[0], *elements.shape[-len(inner) :]) != (
            self.num_elements, *inner,
        ):  # fmt: skip
            lanes = ", ".join(str(x) for x in inner)
            raise ShapeError(f"elements of shape {elements.shape} are not ({self.num_elements}, *batch, {lanes})")
        batch = elements.shape[1 : -len(inner)]
        flat = np.moveaxis(elements, 0, len(batch)).reshape(*batch, self.num_elements * self.num_lanes)
        return np.take(flat, self._owners[:, 0], axis=-1).reshape(*batch, *self.matrix_shape)

    def agree(self, elements: NDArray[_Scalar]) -> NDArray[np.bool_]:
        """Return for each warp whether all replicas that the instruction reads are equal, as after any load.

        If they differ, no single matrix represents the fragment: each replica belongs to a different part of the
        product.
        """
        read = self.gather(self.scatter(elements))[: self.read_elements] == elements[: self.read_elements]
        lanes = tuple(range(-len(self.lane_shape), 0))
        agreed: NDArray[np.bool_] = read.all(axis=(0, *lanes))
        return agreed


def _require_array(given: object, what: str) -> None:
    if not isinstance(given, np.ndarray):
        raise ArgumentError(f"{what} must be a NumPy array, not {type(given).__name__}")
