# SPDX-License-Identifier: MIT
"""The bytes of a surface that an access reads or writes, and what happens outside of the surface."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.textures.texels import Indices, Texels

Mask = NDArray[np.bool_]


class SurfacePlace(NamedTuple):
    """The positions of the accesses of threads.

    ``position`` is the first byte of each in the array, a legal one in any case; ``inside`` marks the accesses within
    the surface, after clamping; ``aligned`` those that begin at a multiple of their size.
    """

    position: Indices
    inside: Mask
    aligned: Mask


def surface_place(
    texels: Texels, coordinates: tuple[NDArray[np.int32], ...], layer: NDArray[np.uint32] | None, size: int, mode: str,
    *, counts_texels: bool,
) -> SurfacePlace:  # fmt: skip
    """Find the bytes of accesses of ``size`` bytes; ``mode`` is "trap", "clamp" or "zero".

    The first coordinate counts bytes, or texels if ``counts_texels``.

    Examples
    --------
    >>> from wmma_emu.ptx.textures.texels import texels_of
    >>> texels = texels_of(np.zeros((2, 4), np.float32), None, False, "a surface")
    >>> x, y = np.array([4, 13, 16, 8], np.int32), np.array([1, 0, 0, 2], np.int32)
    >>> place = surface_place(texels, (x, y), None, 4, "zero", counts_texels=False)
    >>> place.position.tolist(), place.inside.tolist(), place.aligned.tolist()
    ([20, 12, 12, 24], [True, False, False, False], [True, False, True, True])
    >>> surface_place(texels, (x, y), None, 4, "clamp", counts_texels=False).position.tolist()
    [20, 12, 12, 24]
    """
    unit = texels.texel_bytes if counts_texels else 1
    x, *others = (np.asarray(c, np.int64) for c in coordinates)
    x = x * unit
    last = (texels.row_bytes - size) // size * size
    inside = (x >= 0) & (x <= texels.row_bytes - size)
    rows = []
    for index, extent in zip(others, texels.extents[1:], strict=True):
        inside = inside & (index >= 0) & (index < extent)
        rows.append(np.clip(index, 0, extent - 1))
    chosen = None
    if layer is not None:
        number = np.asarray(layer, np.int64)
        inside = inside & (number < (texels.layers or 1))
        chosen = np.minimum(number, (texels.layers or 1) - 1)
    if mode == "clamp" and last >= 0:
        inside = np.ones_like(inside)
    position = texels.rows(tuple(rows), chosen) + np.clip(x, 0, max(last, 0))
    return SurfacePlace(position, inside, x % size == 0)
