# SPDX-License-Identifier: MIT
"""Checks of the parameters of a `LaneMap`: integers in range, single lines of text, enough elements for the matrix."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, shorten
from wmma_emu.formats.arrays import integer_of, is_masked

MOST_ELEMENTS = 1 << 16
"""The most elements of a lane: more than the 1-bit elements of a thread's 255 registers."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""Characters that break a line, or that cannot be stored in a file."""

_BITS = (1, 2, 4, 8, 16, 32, 64)
"""Widths of elements that fill a register of 32 bits, or of 64."""


def checked_integers(name: str, given: object, legal: str) -> NDArray[Any]:
    """Return an array of integers; nothing is rounded.

    Examples
    --------
    >>> checked_integers("coords", [[1, 2]], "(1, 2)").tolist()
    [[1, 2]]
    >>> checked_integers("coords", [[1, 2.5]], "(1, 2)")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentError: coords are an array of float64; give integers, (1, 2)
    """
    if is_masked(given):
        raise ArgumentError(f"{name} are a masked array; give integers, {legal}, such as {name}.filled(0)")
    try:
        array = np.asarray(given)
    except Exception as error:  # whatever NumPy, or a user's __array__, raises
        raise ArgumentError(f"{name} are {shorten(given)}, not an array; give integers, {legal}") from error
    if array.dtype.kind not in "iu":
        raise ArgumentError(
            f"{name} are an array of {shorten(array.dtype, str)}; give integers, {legal}"
        )  # fmt: skip
    return array


def checked_count(name: str, given: object, most: int | None = None) -> int:
    """Return a positive count.

    Examples
    --------
    >>> checked_count("rows", np.uint8(16))
    16
    """
    count = integer_of(given)
    if count is None or count < 1 or (most is not None and count > most):
        legal = "a positive integer" if most is None else f"an integer from 1 to {most}"
        raise ArgumentValueError(f"{name} is {shorten(given)}; expected {legal}")
    return count


def checked_bits(given: object) -> int:
    """Return the width of an element."""
    bits = integer_of(given)
    if bits not in _BITS:
        raise ArgumentValueError(
            f"element_bits is {shorten(given)}; legal widths are {', '.join(map(str, _BITS))}, because elements must "
            "fill a register"
        )
    return bits


def checked_sentence(name: str, given: object) -> str:
    """Return a string on one line, without control characters."""
    if not isinstance(given, str):
        raise ArgumentError(f"{name} is {shorten(given)}; expected a string, such as 'my own' or 'documented'")
    if _CONTROL.search(given):
        raise ArgumentValueError(
            f"{name} is {shorten(given)}; expected one line, without control characters and lone surrogates"
        )
    return given


def require_capacity(shape: tuple[int, int, int], read: int, lanes: int) -> None:
    """Reject matrices with more elements than the lanes hold."""
    matrices, rows, cols = shape
    if matrices * rows * cols > read * lanes:
        several = f"{shorten(matrices)} matrices of " if matrices > 1 else "a matrix of "
        raise ArgumentValueError(
            f"{several}{shorten(rows)} x {shorten(cols)} elements do not fit: {lanes} lanes that each read {read} "
            f"hold {read * lanes}, and each element must be in a lane; give fewer rows or cols, or more elements"
        )
