# SPDX-License-Identifier: MIT
"""Accesses of blocks that precede whatever comes in the block: nobody needs to compare anything with them."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.masks import any_of
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.threads import Active

_Mask = NDArray[np.bool_]


class Settled:
    """The latest time at which each warp of a chunk made accesses that are not known to be settled.

    What is settled precedes all that any thread of the block does from now on, as it is behind a barrier.
    """

    def __init__(self, order: CausalityOrder) -> None:
        self._order = order
        self._latest = np.zeros(order.now.shape, np.int32)
        self._are_any = False

    def notice(self, touch: Access, active: Active) -> None:
        """Take an access into account."""
        if touch.times is None:
            return
        times = touch.times if active is None else np.where(any_of(active).any(axis=-1), touch.times, 0)
        np.maximum(self._latest, times, out=self._latest)
        self._are_any = True

    def blocks(self) -> _Mask | None:
        """Say in which blocks all of them are settled, (G,); None for all blocks."""
        if not self._are_any:
            return None
        over = self.at(self._latest)
        if over.all():
            self._latest[:] = 0
            self._are_any = False
            return None
        self._latest[over] = 0
        return over

    def at(self, times: NDArray[np.int32]) -> _Mask:
        """Say in which blocks what the warps did up to some times is settled."""
        return np.asarray((self._order.known >= times[:, None, :]).all(axis=(1, 2)))


def concerns_only(touch: Access, blocks: _Mask | None) -> bool:
    """Tell whether an access is one of some blocks alone; None is all of them."""
    if blocks is None:
        return True
    if touch.mask is None or not blocks.any():
        return False
    return not (any_of(touch.mask) & ~blocks.reshape(-1, 1, 1)).any()
