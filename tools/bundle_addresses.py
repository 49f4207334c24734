# SPDX-License-Identifier: MIT
"""Addresses of arrays that are written in arrays: those of the GPU in a bundle, those of this process in a launch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["translate"]

Array = NDArray[Any]

_WORD = 8


def translate(arrays: Mapping[str, Array], old: Mapping[str, int], new: Mapping[str, int]) -> None:
    """Change each aligned 8-byte word that is an address in an array, from the old addresses to the new ones.

    Examples
    --------
    >>> arrays = {"x": np.array([0x7F10, 0x7F40], np.uint64), "y": np.zeros(4, np.uint64)}
    >>> translate(arrays, {"x": 0x5000, "y": 0x7F00}, {"x": 0, "y": 0x100})
    >>> [hex(x) for x in arrays["x"]]                                   # y has 32 bytes: 0x7f40 is not in it
    ['0x110', '0x7f40']
    """
    for array in arrays.values():
        content = array.reshape(-1).view(np.uint8)
        words = content[: content.size // _WORD * _WORD].view(np.uint64)
        before = words.copy()
        for name, start in old.items():
            inside = (before >= start) & (before < start + arrays[name].nbytes)
            words[inside] = before[inside] - np.uint64(start) + np.uint64(new[name])
