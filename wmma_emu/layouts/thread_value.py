# SPDX-License-Identifier: MIT
"""Register layouts in CuTe's notation: (thread, value) to element, as in ``MMA_Traits<...>::ALayout``."""

from dataclasses import dataclass

import numpy as np

from wmma_emu.errors import ArgumentValueError
from wmma_emu.layouts.cute_layout import CuteLayout
from wmma_emu.layouts.cute_text import cpp
from wmma_emu.layouts.spec import RegisterLayout


@dataclass(frozen=True, slots=True)
class ThreadValueLayout:
    """A layout of each value of each thread in CuTe's notation; ``str()`` returns shape and stride.

    Parameters
    ----------
    layout : CuteLayout
        Two modes: thread and value to the element's number, counted down the columns of (m, k), (n, k) or (m, n).
    threads : CuteLayout
        The lane of each thread: CuTe's ``ThrID``. ``32:1`` except for the quad pairs of Volta.
    rows, cols : int
        The shape of the matrix as CuTe counts it: B is n x k.

    Examples
    --------
    >>> import wmma_emu as we
    >>> a = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_80").a.layout.cute
    >>> print(a, a.layout(5, 3), a.cpp)
    ((4,8),(2,2,2)):((32,1),(16,8,128)) 57 Layout<Shape<Shape<_4,_8>,Shape<_2,_2,_2>>,
        Stride<Stride<_32,_1>,Stride<_16,_8,_128>>>
    >>> volta = we.instruction("m8n8k4.f32.f16.f16.f32", arch="sm_70").d.layout.cute
    >>> print(volta, volta.threads)
    ((2,2,2),(2,2,2)):((1,16,4),(8,2,32)) (4,2):(1,16)
    """

    layout: CuteLayout
    threads: CuteLayout
    rows: int
    cols: int

    def __str__(self) -> str:
        return str(self.layout)

    @property
    def cpp(self) -> str:
        """The layout as a C++ type."""
        return cpp(self.layout.shape, self.layout.stride)

    def difference(self, other: "str | CuteLayout") -> str:
        """Return the first element in which another layout differs from this one; an empty string if there is none.

        Layouts that are written differently but map every thread and value to the same element do not differ.

        Raises
        ------
        FragmentMismatchError
            If a string is not a layout.

        Examples
        --------
        >>> import wmma_emu as we
        >>> b = we.instruction("m16n8k16.f32.f16.f16.f32").b.layout.cute
        >>> b.difference("((4,8),(2,2)):((16,1),(8,64))"), b.difference("((4,4,2),4):((16,1,4),8)")
        ('', 'value 2 of thread 0 is element 64, at (0, 8) of 8 x 16, and element 16 in ((4,4,2),4):((16,1,4),8)')
        """
        theirs = other if isinstance(other, CuteLayout) else CuteLayout.parse(other)
        own, table = self.layout.table(), theirs.table()
        if table.shape != own.shape:
            given = " x ".join(map(str, table.shape))
            return f"this layout is of {own.shape[0]} threads x {own.shape[1]} values, {theirs} of {given}"
        wrong = np.argwhere(own != table)
        if not len(wrong):
            return ""
        thread, value = (int(x) for x in min(wrong.tolist()))
        here, there = int(own[thread, value]), int(table[thread, value])
        place = (here % self.rows, here // self.rows)
        return (
            f"value {value} of thread {thread} is element {here}, at {place} of {self.rows} x {self.cols}, and "
            f"element {there} in {theirs}"
        )


def thread_value_layout(layout: RegisterLayout) -> ThreadValueLayout:
    """Write a layout in CuTe's notation.

    Raises
    ------
    FragmentMismatchError
        If a layout of your own cannot be written with sizes and strides.
    """
    lanes, matrices = np.arange(layout.num_lanes), np.broadcast_to(layout.matrix_of_lane, layout.lane_shape).ravel()
    rows, cols = (layout.cols, layout.rows) if layout.of_b else (layout.rows, layout.cols)
    row, col = np.moveaxis(layout.coords_of_lanes, -1, 0)
    index = col + rows * row if layout.of_b else row + rows * col
    threads = [lanes[matrices == number] for number in range(layout.num_matrices)]
    tables = [index[:, own].T for own in threads]
    if any(table.shape != tables[0].shape or (table != tables[0]).any() for table in tables):
        raise ArgumentValueError("the matrices of this layout have different layouts; CuTe requires equal ones")
    (table, *_), (own, *_) = tables, threads
    if table[0, 0] or (table != table[:, :1] + table[:1]).any():
        raise ArgumentValueError("no sizes and strides produce this layout: thread and value do not add up")
    lane = CuteLayout.of_tables(own).mode(0)
    return ThreadValueLayout(CuteLayout.of_tables(table[:, 0], table[0]), lane, rows, cols)
