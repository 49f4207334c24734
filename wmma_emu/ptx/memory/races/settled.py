# SPDX-License-Identifier: MIT
"""Settled accesses: they happen before everything that follows in their block, so no comparison needs them."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.masks import any_of
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.threads import Active

_Mask = NDArray[np.bool_]


class Settled:
    """The latest time at which each warp of a wave made accesses that are not known to be settled.

    An access is settled if it happens before everything that any thread of the block does from now on, as after a
    barrier.
    """

    def __init__(self, order: CausalityOrder) -> None:
        self._order = order
        self._latest = np.zeros(order.now.shape, np.int32)
        self._are_any = False

    def notice(self, access: Access, active: Active) -> None:
        """Take an access into account."""
        if access.times is None:
            return
        times = access.times if active is None else np.where(any_of(active).any(axis=-1), access.times, 0)
        np.maximum(self._latest, times, out=self._latest)
        self._are_any = True

    def blocks(self) -> _Mask | None:
        """Return in which blocks all accesses are settled, (G,); None for all blocks."""
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
        """Return in which blocks the accesses of the warps up to some times are settled."""
        return np.asarray((self._order.known >= times[:, None, :]).all(axis=(1, 2)))


def concerns_only(access: Access, blocks: _Mask | None) -> bool:
    """Return whether an access is only made by some blocks; None stands for all blocks."""
    if blocks is None:
        return True
    if access.mask is None or not blocks.any():
        return False
    return not (any_of(access.mask) & ~blocks.reshape(-1, 1, 1)).any()
