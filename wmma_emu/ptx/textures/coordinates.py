# SPDX-License-Identifier: MIT
"""From a coordinate to the texels of a fetch: the nearest one, or two with their weights, and the address modes.

Coordinates are float64 that hold f32, or their products with a size, exactly; all results are integers.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.textures.texels import Indices

Doubles = NDArray[np.float64]

FRACTION_BITS = 8
"""The bits of the fraction of a weight (the fact "weights")."""

_NORMALISED_BITS = 21
"""The least number of bits of the fraction of a normalised coordinate (the fact "scaled")."""

_SMALLEST_NORMAL = 2.0**-126

_ONE = 1 << FRACTION_BITS
_FARTHEST = 2.0**40
"""Coordinates beyond it are outside of every texture, like those at it."""


class Axis(NamedTuple):
    """One axis of a texture: its size in texels, its address mode, and whether coordinates are normalised."""

    size: int
    address: str
    is_normalised: bool


class Place(NamedTuple):
    """The index of a texel along one axis, and whether it is in the texture; None if it always is."""

    texel: Indices
    inside: NDArray[np.bool_] | None


def scaled(coordinate: NDArray[np.float32], axis: Axis) -> Doubles:
    """Return coordinates in texels, exactly: the fact "scaled"; a NaN is 0.

    Examples
    --------
    >>> scaled(np.array([0.5, np.nan, np.inf], np.float32), Axis(3, "wrap", True)).tolist()
    [1.5, 0.0, 1099511627776.0]
    >>> scaled(np.array([1 + 2**-21, 1 + 2**-22], np.float32), Axis(2**13, "wrap", True)).tolist()
    [8192.00390625, 8192.0]
    """
    x = np.nan_to_num(np.asarray(coordinate, np.float64), nan=0.0, posinf=_FARTHEST, neginf=-_FARTHEST)
    x = np.where(np.abs(x) < _SMALLEST_NORMAL, 0.0, x)
    if axis.is_normalised:
        bits = max(_NORMALISED_BITS, (axis.size - 1).bit_length() + FRACTION_BITS)
        x = np.floor(np.ldexp(x, bits)) * axis.size * 2.0**-bits
    return np.clip(x, -_FARTHEST, _FARTHEST)


def nearest(coordinate: NDArray[np.float32], axis: Axis) -> Place:
    """Return the texel that point sampling reads: the fact "nearest".

    Examples
    --------
    >>> nearest(np.array([-0.5, 1.75, 4.0], np.float32), Axis(4, "clamp", False)).texel
    array([0, 1, 3])
    """
    return placed(_integers(np.floor(scaled(coordinate, axis))), axis)


def neighbours(coordinate: NDArray[np.float32], axis: Axis) -> tuple[Place, Place, Indices]:
    """Return the two texels that filtering reads, and the weight of the second in units of 1/256: "weights".

    Where both are the same texel, the weight is 0.

    Examples
    --------
    >>> low, high, weight = neighbours(np.array([2.0, 1.5], np.float32), Axis(4, "clamp", False))
    >>> low.texel, high.texel, weight
    (array([1, 1]), array([2, 2]), array([128,   0]))
    """
    position = _integers(np.floor(scaled(coordinate, axis) * _ONE + 0.5)) - _ONE // 2
    first = position >> FRACTION_BITS
    low, high = placed(first, axis), placed(first + 1, axis)
    is_one = (low.texel == high.texel) if axis.address != "border" else np.False_
    return low, high, np.where(is_one, 0, position & (_ONE - 1))


def placed(index: Indices, axis: Axis) -> Place:
    """Return the texel that an index reads by the address mode of its axis: the fact "addresses".

    Examples
    --------
    >>> index = np.arange(-2, 5)
    >>> [placed(index, Axis(3, x, True)).texel.tolist() for x in ("clamp", "wrap", "mirror")]
    [[0, 0, 0, 1, 2, 2, 2], [1, 2, 0, 1, 2, 0, 1], [1, 0, 0, 1, 2, 2, 1]]
    >>> placed(index, Axis(3, "border", True)).inside.tolist()
    [False, False, True, True, True, False, False]
    """
    return _ADDRESSED[axis.address](index, axis.size)


def _clamped(index: Indices, size: int) -> Place:
    return Place(np.clip(index, 0, size - 1), None)


def _bordered(index: Indices, size: int) -> Place:
    return Place(np.clip(index, 0, size - 1), (index >= 0) & (index < size))


def _wrapped(index: Indices, size: int) -> Place:
    return Place(np.mod(index, size), None)


def _mirrored(index: Indices, size: int) -> Place:
    there = np.mod(index, 2 * size)
    return Place(np.minimum(there, 2 * size - 1 - there), None)


_ADDRESSED: dict[str, Callable[[Indices, int], Place]] = {
    "clamp": _clamped, "border": _bordered, "wrap": _wrapped, "mirror": _mirrored,
}  # fmt: skip
"""The effect of each address mode on an index."""


def _integers(whole: Doubles) -> Indices:
    """Return whole numbers as integers; every one of them fits."""
    return np.asarray(whole, np.float64).astype(np.int64)
