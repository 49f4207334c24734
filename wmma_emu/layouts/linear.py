# SPDX-License-Identifier: MIT
"""Tables of numbers that are a sum over the bits of their indices, described by one weight per bit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wmma_emu.errors import ArgumentValueError
from wmma_emu.layouts.spec import Ints
from wmma_emu.suggestions import listed


@dataclass(frozen=True, slots=True)
class BitField:
    """Adjacent bits of an input whose weights double from one bit to the next: one product of a formula.

    ``weight`` is the weight of the lowest bit; ``is_top`` is whether the input has no bit above the field.
    """

    name: str
    low: int
    width: int
    weight: int
    is_top: bool


@dataclass(frozen=True, slots=True)
class Linear:
    """A number that is the sum of the weights of those input bits that are set.

    Parameters
    ----------
    inputs : tuple of (str, int)
        The name of each input, and the number of its values, which begin at 0.
    weights : tuple of tuple of int
        For each input, the weight of each bit, from the lowest one up.

    Examples
    --------
    >>> row = Linear((("lane", 32), ("index", 4)), ((0, 0, 1, 2, 4), (0, 8)))
    >>> row(31, 0), row(4, 3), row(np.arange(0, 32, 4), 2).tolist()
    (7, 9, [8, 9, 10, 11, 12, 13, 14, 15])
    >>> for field in row.fields():
    ...     print(field)
    BitField(name='lane', low=2, width=3, weight=1, is_top=True)
    BitField(name='index', low=1, width=1, weight=8, is_top=True)
    """

    inputs: tuple[tuple[str, int], ...]
    weights: tuple[tuple[int, ...], ...]

    def __call__(self, *values: "int | Ints") -> "int | Ints":
        """Add the weights of the bits that are set; arrays broadcast against each other."""
        total: int | Ints = 0
        for value, weights in zip(values, self.weights, strict=True):
            for bit, weight in enumerate(weights):
                total = total + (value >> bit & 1) * weight
        return total

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(name for name, _ in self.inputs)

    def bits(self) -> list[tuple[int, str, int]]:
        """Return weight, input and bit of every bit with a weight, the largest weight first."""
        found = [
            (weight, name, bit)
            for name, weights in zip(self.names, self.weights, strict=True)
            for bit, weight in enumerate(weights)
            if weight
        ]
        return sorted(found, key=lambda x: -x[0])

    def fields(self) -> list[BitField]:
        """Return the bits with a weight as fields of adjacent bits, input by input, the lowest bits first."""
        found: list[BitField] = []
        for name, weights in zip(self.names, self.weights, strict=True):
            bit = 0
            while bit < len(weights):
                width = 1
                while bit + width < len(weights) and weights[bit + width] == weights[bit] << width:
                    width += 1
                if weights[bit]:
                    found.append(BitField(name, bit, width, weights[bit], bit + width == len(weights)))
                bit += width
        return found


def fit(what: str, table: Ints, names: Sequence[str]) -> Linear:
    """Read the weights from a table where one bit is set, and verify that they reproduce the whole table.

    ``what`` names the numbers; the table has an axis for each input. A table that is not such a sum is rejected, and
    the message names the first contradicting position.

    Examples
    --------
    >>> lane = np.arange(32)
    >>> fit("row", lane // 4, ["lane"]).weights
    ((0, 0, 1, 2, 4),)
    >>> fit("row", lane % 3, ["lane"])
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: row is not a sum over the bits of lane: at lane 3 it is 0, and the bits give 3
    """
    weights = []
    for axis, size in enumerate(table.shape):
        along = np.moveaxis(table, axis, 0).reshape(size, -1)[:, 0]  # where all other inputs are 0
        weights.append(tuple(int(along[1 << bit]) for bit in range((size - 1).bit_length())))
    found = Linear(tuple(zip(names, table.shape, strict=True)), tuple(weights))
    expected = np.broadcast_to(found(*np.ix_(*map(np.arange, table.shape))), table.shape)
    wrong = np.argwhere(expected != table)
    if wrong.size:
        place = tuple(int(x) for x in wrong[0])
        where = ", ".join(f"{name} {x}" for name, x in zip(names, place, strict=True))
        raise ArgumentValueError(
            f"{what} is not a sum over the bits of {listed(names)}: at {where} it is {table[place]}, and the bits give "
            f"{expected[place]}"
        )
    return found
