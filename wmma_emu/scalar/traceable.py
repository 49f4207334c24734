# SPDX-License-Identifier: MIT
"""Functions that differ for NumPy's arrays and for the symbols of `wmma_emu.llvm`, which write code: equal bits.

Other functions of this package are the same for both.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def is_traced(*arrays: Any) -> bool:
    """Return whether one of these arrays is a symbol.

    Examples
    --------
    >>> is_traced(np.ones(1), 1)
    False
    """
    for array in arrays:
        if not isinstance(array, np.ndarray) and hasattr(array, "multiply_add"):
            return True
    return False


def fused(x: Any, y: Any, z: Any) -> Any:
    """Return ``x * y + z`` of floats, rounded once, if the arrays have such an operation; otherwise None.

    NumPy's arrays have none; symbols have one.

    Examples
    --------
    >>> fused(np.ones(1), np.ones(1), np.ones(1)) is None
    True
    """
    for array in (x, y, z):
        if is_traced(array):
            return array.multiply_add(x, y, z)
    return None


def corrected(result: Any, wrong: Any, function: Callable[..., Any], *operands: Any) -> Any:
    """Return a function of operands, of which ``result`` has the right elements except where ``wrong`` holds.

    NumPy computes only these elements, in place; symbols compute all.

    Examples
    --------
    >>> corrected(np.array([-3, 2]), np.array([False, True]), np.negative, np.array([3, 4]))
    array([-3, -4])
    """
    if is_traced(*operands):
        return function(*operands)
    result[wrong] = function(*(np.broadcast_to(x, wrong.shape)[wrong] for x in operands))
    return result


def looked_up(table: Any, index: Any) -> Any:
    """Return the elements of a table at indices, as ``table[index]``.

    Examples
    --------
    >>> looked_up(np.array([5, 6, 7]), np.array([2, 0]))
    array([7, 5])
    """
    if isinstance(index, np.ndarray) or not is_traced(index):
        return table[index]
    return index.taken_from(table)


def tabulated(table: Any, function: Callable[[Any], Any], index: Any) -> Any:
    """Return a function of integers of at most 31 bits; NumPy's arrays look up its results in a table.

    Examples
    --------
    >>> tabulated(np.array([0, 1, 4]), np.square, np.array([2]))
    array([4])
    """
    if isinstance(index, np.ndarray) or not is_traced(index):
        return table[index]
    return function(index.astype(np.int32)).astype(table.dtype)
