# SPDX-License-Identifier: MIT
"""The texels of one fetch: the byte at which each begins, its weight, and whether it is in the texture."""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.textures.coordinates import Axis, Place, nearest, neighbours
from wmma_emu.ptx.textures.objects import Texture
from wmma_emu.ptx.textures.texels import Indices, Texels
from wmma_emu.ptx.textures.weights import weights_of

Coordinates = tuple[NDArray[np.float32], ...]
Mask = NDArray[np.bool_]


class Fetched(NamedTuple):
    """A texel of a fetch: the position of its first byte in the array, and its weight in units of 1/256.

    ``inside`` marks the threads for which it is in the texture, None if it is for all.
    """

    position: Indices
    inside: Mask | None
    weight: Indices


def axes_of(texture: Texture) -> list[Axis]:
    """Return the axes of a texture: x, y, z."""
    is_normalised = texture.coordinates == "normalised"
    return [Axis(size, mode, is_normalised) for size, mode in zip(texture.texels.extents, texture.address, strict=True)]


def layer_of(texels: Texels, layer: NDArray[np.uint32]) -> Indices:
    """Return the layer that an index selects: the fact "layers"."""
    return np.minimum(np.asarray(layer, np.int64), (texels.layers or 1) - 1)


def sampled(texture: Texture, coordinates: Coordinates, layer: Indices | None) -> Fetched:
    """Return the texel of point sampling.

    Examples
    --------
    >>> from wmma_emu.ptx.textures.objects import texture
    >>> t = texture(np.zeros((4, 8), np.float32))
    >>> sampled(t, (np.array([2.5], np.float32), np.array([1.0], np.float32)), None).position
    array([40])
    """
    places = [nearest(x, axis) for x, axis in zip(coordinates, axes_of(texture), strict=True)]
    return _at(texture.texels, places, layer, np.asarray(1))


def filtered_texels(texture: Texture, coordinates: Coordinates, layer: Indices | None) -> list[Fetched]:
    """Return the texels of filtering: two of each axis; x changes fastest.

    Examples
    --------
    >>> from wmma_emu.ptx.textures.objects import texture
    >>> t = texture(np.zeros((4, 8), np.float32), filter="linear")
    >>> found = filtered_texels(t, (np.array([2.75], np.float32), np.array([1.5], np.float32)), None)
    >>> [(x.position.item(), x.weight.item()) for x in found]
    [(40, 192), (44, 64), (72, 0), (76, 0)]
    """
    pairs = [neighbours(x, axis) for x, axis in zip(coordinates, axes_of(texture), strict=True)]
    found = []
    weights = weights_of([fraction for _, _, fraction in pairs])
    for chosen, weight in zip(product((0, 1), repeat=len(pairs)), weights, strict=True):
        places = [high if second else low for (low, high, _), second in zip(pairs, reversed(chosen), strict=True)]
        found.append(_at(texture.texels, places, layer, weight))
    return found


def gathered(texture: Texture, coordinates: Coordinates, layer: Indices | None) -> list[Fetched]:
    """Return the four texels of ``tld4`` in the order of its results: the fact "gather"."""
    low_left, low_right, high_left, high_right = filtered_texels(texture, coordinates, layer)
    return [high_left, high_right, low_right, low_left]


def indexed(texels: Texels, indices: tuple[NDArray[np.int32], ...], layer: Indices | None) -> Fetched:
    """Return the texel of a fetch by integers, which is outside unless each index is in range: the fact "outside".

    Examples
    --------
    >>> from wmma_emu.ptx.textures.objects import texture
    >>> indexed(texture(np.zeros(4, np.int16)).texels, (np.array([-1, 3], np.int32),), None)
    Fetched(position=array([0, 6]), inside=array([False,  True]), weight=array(1))
    """
    places = [
        Place(np.clip(np.asarray(x, np.int64), 0, size - 1), (x >= 0) & (x < size))
        for x, size in zip(indices, texels.extents, strict=True)
    ]
    return _at(texels, places, layer, np.asarray(1))


def _at(texels: Texels, places: list[Place], layer: Indices | None, weight: Indices) -> Fetched:
    x, *others = (place.texel for place in places)
    inside: Mask | None = None
    for place in places:
        if place.inside is not None:
            inside = place.inside if inside is None else inside & place.inside
    return Fetched(texels.rows(tuple(others), layer) + x * texels.texel_bytes, inside, weight)
