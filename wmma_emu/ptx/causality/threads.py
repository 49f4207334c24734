# SPDX-License-Identifier: MIT
"""Lists of threads of a wave."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ThreadIndices = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Threads of the wave: positions of their blocks, their warps, their lanes."""


def threads_in(mask: NDArray[np.bool_]) -> ThreadIndices:
    """Return the threads of a mask, (..., G, W, 32), by block, warp and lane."""
    g, w, lane = np.nonzero(mask)[-3:]
    return g, w, lane
