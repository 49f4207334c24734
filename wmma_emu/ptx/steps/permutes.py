# SPDX-License-Identifier: MIT
"""Bytes of two words in another order: few shifts where the selector is one number, a look-up of each byte else."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from wmma_emu.ptx.steps.patterns import Array
from wmma_emu.scalar.prmt import PRMT_MODES, prmt

__all__ = ["permute"]


def permute(mode: str) -> Callable[[Array, Array, Array], Array]:
    """Make the function of a `prmt` of a mode.

    Examples
    --------
    >>> a, b, c = (np.array([x], np.uint32) for x in (0x33221100, 0x77665544, 0x5410))
    >>> hex(permute("")(a, b, c)[0])
    '0x55441100'
    """

    def compute(a: Array, b: Array, c: Array) -> Array:
        if c.size == 1:
            return _plan(int(c.flat[0]), mode)(a, b)
        result: Array = prmt(a, b, c, mode)
        return result

    return compute


@lru_cache(4096)
def _plan(selector: int, mode: str) -> Callable[[Array, Array], Array]:
    """Turn a selector into shifts and masks: bytes that move by as many places out of one word move together."""
    chosen = PRMT_MODES[mode][selector & 3] if mode else tuple(selector >> 4 * i & 15 for i in range(4))
    masks: dict[tuple[int, int], int] = {}
    signs: list[tuple[int, int, int]] = []
    for place, pick in enumerate(chosen):
        word, byte = pick >> 2 & 1, pick & 3
        if pick & 8:
            signs.append((word, byte, place))
        else:
            key = word, place - byte
            masks[key] = masks.get(key, 0) | 0xFF << 8 * place

    def compute(a: Array, b: Array) -> Array:
        words = a, b
        result: Array | None = None
        for (word, places), mask in masks.items():
            part = words[word]
            if places > 0:
                part = part << np.uint32(8 * places)
            elif places < 0:
                part = part >> np.uint32(-8 * places)
            # A shift brings in zeros, so that bytes beside the word's end need no mask.
            if mask != _whole(places):
                part = part & np.uint32(mask)
            result = part if result is None else result | part
        for word, byte, place in signs:
            part = (words[word] >> np.uint32(8 * byte + 7) & np.uint32(1)) * np.uint32(0xFF << 8 * place)
            result = part if result is None else result | part
        return a if result is None else result

    return compute


def _whole(places: int) -> int:
    """The bits that a shift by a number of bytes can fill."""
    every = 0xFFFF_FFFF
    return every << 8 * places & every if places >= 0 else every >> -8 * places
