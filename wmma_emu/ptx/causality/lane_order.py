# SPDX-License-Identifier: MIT
"""What lanes know of other lanes of their warp where ``bar.warp.sync`` joins some of them only."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES

__all__ = ["LaneOrder"]


class LaneOrder:
    """Up to which time each lane knows what another lane of its warp did, beyond what all lanes of the warp know.

    Attributes
    ----------
    known : int32 array (G, W, 32, 32)

    Examples
    --------
    >>> order, half = LaneOrder((1, 1)), np.arange(32).reshape(1, 1, 32) < 16
    >>> order.meet(half, np.array([[7]]), np.array([[2]]))
    >>> order.known[0, 0, 3, [4, 15, 16]], order.known[0, 0, 20, 4]
    (array([7, 7, 2], dtype=int32), np.int32(0))
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.known = np.zeros((*shape, LANES, LANES), np.int32)

    def meet(self, together: NDArray[np.bool_], now: NDArray[np.int32], met: NDArray[np.int32]) -> None:
        """Let some lanes of each warp wait for each other.

        Parameters
        ----------
        together : bool array (G, W, 32)
        now, met : int32 arrays (G, W)
            The time of each warp, and the one up to which all its lanes know each other.
        """
        g, w = np.nonzero(together.any(axis=-1))
        lanes = together[g, w]
        rows = np.maximum(self.known[g, w], met[g, w][:, None, None])
        told = np.where(lanes[:, :, None], rows, 0).max(axis=1)
        told = np.where(lanes, now[g, w][:, None], told)
        self.known[g, w] = np.where(lanes[:, :, None], told[:, None, :], self.known[g, w])
