# SPDX-License-Identifier: MIT
"""Words with one bit per lane, as results of votes and as membermasks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FULL = np.uint32(0xFFFF_FFFF)
"""The membermask of a whole warp."""


def word_of(lanes: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Pack truth values of 32 lanes into a word: lane l is bit l; (..., 32) becomes (..., 1).

    Examples
    --------
    >>> hex(word_of(np.arange(32) % 4 == 0)[0])
    '0x11111111'
    """
    packed: NDArray[np.uint32] = np.packbits(lanes, axis=-1, bitorder="little").view("<u4")
    return packed


def has_bit(words: NDArray[Any], lane: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether a word contains a lane."""
    found: NDArray[np.bool_] = (words >> lane & np.uint32(1)) != 0
    return found
