# SPDX-License-Identifier: MIT
"""Generic addresses: the space to which each of them belongs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, joined
from wmma_emu.ptx.memory.address_map import WINDOW_BITS, WINDOWS
from wmma_emu.ptx.memory.masks import narrowest
from wmma_emu.ptx.threads import Active, Array

_TAGS = {address >> WINDOW_BITS: space for space, address in WINDOWS.items()}
_LOWEST, _HIGHEST = min(_TAGS), max(_TAGS)
_SHIFT, _INSIDE = np.uint64(WINDOW_BITS), np.uint64((1 << WINDOW_BITS) - 1)


class Part(NamedTuple):
    """The addresses of one space, in that space; ``mask`` marks them, None for all addresses."""

    space: str
    mask: NDArray[np.bool_] | None
    addresses: Array


def classify(addresses: Array, used: NDArray[np.bool_] | None) -> list[Part]:
    """Return the spaces of generic addresses, usually one; addresses outside all windows are global.

    Examples
    --------
    >>> part, = classify(np.full((1, 1, 1), 0x1_7E00_0000_0040, np.uint64), None)
    >>> part.space, part.addresses.item(), part.mask is None
    ('shared', 64, True)
    """
    tags = addresses >> _SHIFT
    seen = tags
    if used is not None:
        shape = np.broadcast_shapes(tags.shape, used.shape)
        seen = np.broadcast_to(tags, shape)[np.broadcast_to(used, shape)]
        if not seen.size:
            return [Part("global", None, addresses)]
    low, high = int(seen.min()), int(seen.max())
    if low > _HIGHEST or high < _LOWEST:
        return [Part("global", None, addresses)]
    if low == high and low in _TAGS:
        return [Part(_TAGS[low], None, addresses & _INSIDE)]
    parts, rest = [], np.ones(tags.shape, np.bool_)
    for tag, space in _TAGS.items():
        mask = tags == np.uint64(tag)
        if mask.any():
            parts.append(Part(space, mask, addresses & _INSIDE))
            rest &= ~mask
    return [*parts, Part("global", rest, addresses)] if rest.any() else parts


def in_each(
    parts: list[Part], active: Active, access: Callable[[str, Array, Active], tuple[Array, Undefined | None]]
) -> tuple[Array | None, Undefined | None]:
    """Access each part for the active threads in it, and join the results; None if there are none."""
    found: Array | None = None
    undefined: Undefined | None = None
    for space, mask, inside in parts:
        now = narrowest(active, mask)
        if mask is not None and now is not None and not now.any():
            continue
        got, bad = access(space, inside, now)
        found = got if found is None or mask is None else np.where(mask, got, found)
        undefined = joined(mask, bad, undefined)
    return found, undefined


def is_in(space: str, addresses: Array) -> NDArray[np.bool_]:
    """Return which generic addresses belong to a space: addresses outside all windows are global."""
    tags = addresses >> _SHIFT
    if space in WINDOWS:
        return np.asarray(tags == np.uint64(WINDOWS[space] >> WINDOW_BITS))
    inside = np.zeros(tags.shape, np.bool_)
    for tag in _TAGS:
        inside |= tags == np.uint64(tag)
    return ~inside
