# SPDX-License-Identifier: MIT
"""The weights of filtering: those of the axes, multiplied and rounded so that all of a fetch are 256 together."""

import numpy as np

from wmma_emu.ptx.textures.coordinates import FRACTION_BITS
from wmma_emu.ptx.textures.texels import Indices

_ONE = 1 << FRACTION_BITS


def weights_of(fractions: list[Indices]) -> list[Indices]:
    """Return the weights of the texels in units of 1/256, x changing fastest: the fact "products of weights".

    ``fractions`` are the weights of the second texel along x, y and z. The weight 256 is shared out along z, then along
    x, then along y; each time one of the two parts is rounded, and the other one is the rest.

    Examples
    --------
    >>> x, y, z = (np.array([k]) for k in (169, 193, 109))
    >>> [w.item() for w in weights_of([x, y])], [w.item() for w in weights_of([x, y, z])]
    ([21, 42, 66, 127], [12, 24, 38, 73, 9, 18, 28, 54])
    """
    if len(fractions) == 1:
        return [_ONE - fractions[0], fractions[0]]
    x, y, *others = fractions
    slices = [_ONE - others[0], others[0]] if others else [np.asarray(_ONE)]
    return [weight for whole in slices for weight in _of_a_square(whole, x, y)]


def _of_a_square(whole: Indices, x: Indices, y: Indices) -> list[Indices]:
    right = _part(whole, x)
    left = whole - right
    upper_left, lower_right = _part(left, _ONE - y), _part(right, y)
    return [upper_left, right - lower_right, left - upper_left, lower_right]


def _part(weight: Indices, fraction: Indices) -> Indices:
    """Multiply a weight by a fraction in units of 1/256, and round to the nearest; ties go up."""
    return np.asarray((weight * fraction + _ONE // 2) >> FRACTION_BITS)
