# SPDX-License-Identifier: MIT
"""The order between lanes of a warp if ``bar.warp.sync`` joins only some lanes."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES

_BITS = np.int64(1) << np.arange(LANES)


class LaneOrder:
    """The time up to which each lane knows another lane of its warp, beyond what all lanes of the warp know.

    ``known[i, j]``: what lane i knows of lane j, (32, 32, G, W).

    Examples
    --------
    >>> order, half = LaneOrder((1, 1)), np.arange(32).reshape(1, 1, 32) < 16
    >>> order.meet(half, np.array([[7]]), np.array([[2]]))
    >>> order.known[3, [4, 15, 16], 0, 0], order.known[20, 4, 0, 0]
    (array([7, 7, 2], dtype=int32), np.int32(0))
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.known = np.zeros((LANES, LANES, *shape), np.int32)

    def meet(self, together: NDArray[np.bool_], now: NDArray[np.int32], met: NDArray[np.int32]) -> None:
        """Order some lanes of each warp by a barrier.

        ``now`` is the time of each warp, ``met`` the time up to which all its lanes know each other, (G, W).
        """
        bits = together.dot(_BITS)
        for pattern in np.unique(bits[bits > 0]).tolist():
            lanes = np.flatnonzero(pattern >> np.arange(LANES) & 1)
            released = np.maximum(self.known[lanes].max(axis=0), met)
            released[lanes] = now
            warps = bits == pattern
            for lane in lanes.tolist():
                if warps.all():
                    self.known[lane] = released
                else:
                    np.copyto(self.known[lane], released, where=warps)

    def of(self, g: NDArray[np.int64], w: NDArray[np.int64], lanes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return what lanes know of the lanes of their warp, (n, 32)."""
        return np.asarray(self.known[lanes, :, g, w])
