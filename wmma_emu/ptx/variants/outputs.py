# SPDX-License-Identifier: MIT
"""The outputs of a function of rows: arrays by name, and their bits row by row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ShapeError, shorten
from wmma_emu.formats.arrays import as_numpy

Rows = Sequence[int]


def outputs_of(returned: Any, rows: Rows) -> dict[str, NDArray[Any]]:
    """Read the outputs that a function returned for some rows: an array, or a tuple, a list or a mapping of arrays.

    Examples
    --------
    >>> list(outputs_of((np.zeros((2, 3)), np.zeros(2)), (0, 1)))
    ['output 0', 'output 1']
    >>> outputs_of(np.zeros((4, 3)), (0, 1))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ShapeError: output has shape (4, 3) for 2 rows: the first axis of each output is the rows, in the
    order in which they were given
    """
    if returned is None:
        raise ArgumentError("run returned None; it has to return its outputs: an array, or several")
    if isinstance(returned, Mapping):
        named = {str(name): x for name, x in returned.items()}
    elif isinstance(returned, tuple | list):
        named = {f"output {i}": x for i, x in enumerate(returned)}
    else:
        named = {"output": returned}
    if not named:
        raise ArgumentError(f"run returned {shorten(returned)}, which has no arrays")
    found = {name: as_numpy(x, name) for name, x in named.items()}
    for name, array in found.items():
        if array.shape[:1] != (len(rows),):
            raise ShapeError(
                f"{name} has shape {array.shape} for {len(rows)} rows: the first axis of each output is the rows, in "
                "the order in which they were given"
            )
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """The elements of an output that differ from the reference.

    ``index`` and ``reference_index`` are the first of them in the variant's output and in the reference's; ``rows``
    are the rows that have some; ``compared`` counts all elements that both have.
    """

    output: str
    index: tuple[int, ...]
    reference_index: tuple[int, ...]
    rows: tuple[int, ...]
    count: int
    compared: int


def difference_of(
    name: str, mine: NDArray[Any], rows: Rows, reference: NDArray[Any], reference_rows: Rows
) -> Difference | None:
    """Compare the bits of the rows that both arrays have; None if they are the same.

    Examples
    --------
    >>> x, y = np.float32([[1, 2], [3, 4]]), np.float32([[3, 5]])
    >>> difference_of("y", y, (7,), x, (6, 7))
    Difference(output='y', index=(0, 1), reference_index=(1, 1), rows=(7,), count=1, compared=2)
    """
    if mine.dtype != reference.dtype or mine.shape[1:] != reference.shape[1:]:
        raise ShapeError(
            f"{name} is {mine.dtype} with rows of shape {mine.shape[1:]}, in the reference {reference.dtype} with rows "
            f"of shape {reference.shape[1:]}: rows of one kind can be compared"
        )
    place_of_row = {row: i for i, row in reversed([*enumerate(reference_rows)])}
    pairs = [(i, place_of_row[row]) for i, row in enumerate(rows) if row in place_of_row]
    here, there = [i for i, _ in pairs], [i for _, i in pairs]
    differ = (_bytes(mine[here]) != _bytes(reference[there])).any(axis=-1)
    if not differ.any():
        return None
    first = np.unravel_index(int(np.argmax(differ)), differ.shape)
    inner = tuple(int(x) for x in first[1:])
    i = int(first[0])
    wrong = differ.reshape(len(pairs), -1).any(axis=1)
    return Difference(
        name, (here[i], *inner), (there[i], *inner), tuple(rows[here[j]] for j in np.flatnonzero(wrong)),
        int(differ.sum()), differ.size,
    )  # fmt: skip


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    data = np.ascontiguousarray(array)
    return data.reshape(-1).view(np.uint8).reshape(*array.shape, array.dtype.itemsize)


def bits_text(array: NDArray[Any], index: tuple[int, ...]) -> str:
    """Return the bits of an element in hexadecimal, and its value.

    Examples
    --------
    >>> bits_text(np.float32([1.5]), (0,))
    '0x3fc00000 (1.5)'
    """
    element = array[index]
    return f"0x{element.tobytes()[::-1].hex()} ({element!s})"
