# SPDX-License-Identifier: MIT
"""Conversion of register layouts from CuTe's notation; `LaneMap.cute` is the inverse."""

import numpy as np

from wmma_emu.errors import ArgumentValueError
from wmma_emu.layouts.cute_layout import CuteLayout
from wmma_emu.layouts.lane_map import LaneMap
from wmma_emu.layouts.spec import LANES, WARPS, Ints
from wmma_emu.layouts.thread_value import ThreadValueLayout, thread_value_layout

__all__ = ["ThreadValueLayout", "lane_map_of_cute", "thread_value_layout"]

_QUAD_PAIR_THREADS = 8


def lane_map_of_cute(text: "str | CuteLayout", rows: int, cols: int, element_bits: int, of_b: bool = False) -> LaneMap:
    """Make a `LaneMap` from a layout in CuTe's notation.

    Parameters
    ----------
    text : str or CuteLayout
        A layout of two modes, thread and value.
    rows, cols : int
        The matrix as this package writes it: B is k x n.
    element_bits : int
    of_b : bool
        Whether CuTe counts the columns first, (n, k), as for B.

    Returns
    -------
    LaneMap
        A layout of a warp (32 threads), a warpgroup (128), or four quad pairs (8, as on Volta).

    Raises
    ------
    FragmentMismatchError
        If the layout does not map such a matrix to registers.

    Examples
    --------
    >>> a = lane_map_of_cute("((4,8),(2,2,2)):((32,1),(16,8,128))", 16, 16, 16)
    >>> a, a.element_at(lane=5, register=1, bit=16)
    (<LaneMap 16x16: 8 elements of 16 bits a lane in 4 registers, inferred>, (9, 3))
    >>> lane_map_of_cute("((4,8),(2,2,2)):((32,1),(16,8,128))", 16, 8, 16)
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: ((4,8),(2,2,2)):((32,1),(16,8,128)) goes up to element 255; a 16 x 8 matrix has
    128
    """
    layout = text if isinstance(text, CuteLayout) else CuteLayout.parse(text)
    legal = (LANES, WARPS * LANES, _QUAD_PAIR_THREADS)
    if layout.rank != 2 or layout.mode(0).size not in legal:
        raise ArgumentValueError(
            f"{layout} is not a layout of threads and values: it has {layout.rank} modes, the first of size "
            f"{layout.mode(0).size}; expected two modes, the first being the thread in a warp (32), a warpgroup (128) "
            "or a quad pair (8)"
        )
    if layout.cosize > rows * cols:
        raise ArgumentValueError(
            f"{layout} goes up to element {layout.cosize - 1}; a {rows} x {cols} matrix has {rows * cols}"
        )
    table = layout.table().T
    matrices: Ints = np.zeros(LANES if len(table[0]) < WARPS * LANES else (WARPS, LANES), np.int64)
    if len(table[0]) == _QUAD_PAIR_THREADS:
        lane = np.arange(LANES)
        matrices, table = lane % 16 // 4, table[:, lane % 4 + lane // 16 * 4]
    height = cols if of_b else rows
    coords = np.stack((table // height, table % height) if of_b else (table % height, table // height), axis=-1)
    if len(table[0]) > LANES:
        coords = coords.reshape(len(coords), WARPS, LANES, 2)
    return LaneMap(coords, rows, cols, element_bits, len(coords), f"CuTe, {layout}", "inferred", matrices, of_b)
