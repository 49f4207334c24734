# SPDX-License-Identifier: MIT
"""Writes of global memory by bulk copies and reductions, and the waits that complete them."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.proxies.pieces import PIECE, LastAccesses
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import PtxInstruction

_KEPT = 16
"""Waits of each thread that are remembered; older ones count as known to all threads."""

_GROUP_BITS = 32


class BulkWrites:
    """For each piece of global memory the last bulk copy to it: the thread that issued it, and its bulk group.

    The copy is complete for a thread that waits for the group without ``.read``, and for threads to which
    this wait is known. ``follows`` is whether the order between threads is kept: without it, any wait counts as known.

    Examples
    --------
    >>> order = CausalityOrder(1, 2)
    >>> order.begin(np.arange(1))
    >>> writes, pieces, issuer = BulkWrites(order, (1, 2, 32), 64), np.array([1]), np.array([0])
    >>> copy = PtxInstruction("cp.async.bulk.global.shared::cta", "cp", ("async", "bulk"), (), None, 2, 1)
    >>> writes.begin(pieces, issuer, np.array([0]), copy, reduces=False)
    >>> writes.not_complete(pieces, issuer, reduces=False)
    array([ True])
    >>> writes.wait(np.array([1]), issuer)
    >>> writes.not_complete(pieces, issuer, reduces=False)
    array([False])
    """

    def __init__(self, order: CausalityOrder, shape: tuple[int, int, int], size: int, *, follows: bool = True) -> None:
        self._order, self._follows = order, follows
        self._last = LastAccesses(size)
        self._codes = zeroed(-(-size // PIECE) + 1, np.int64)
        self._reduce = zeroed(len(self._codes), np.bool_)
        threads = int(np.prod(shape))
        self._limits, self._stamps = zeroed((_KEPT, threads), np.int64), zeroed((_KEPT, threads), np.uint64)
        self._counts = zeroed(threads, np.int64)

    @property
    def is_used(self) -> bool:
        """Whether there was a copy."""
        return self._last.is_used

    def begin(
        self, pieces: NDArray[np.int64], threads: NDArray[np.int64], groups: NDArray[np.int64],
        instruction: PtxInstruction, *, reduces: bool,
    ) -> None:  # fmt: skip
        """Record that threads, counted through the wave, issue copies to pieces, as parts of their bulk groups."""
        self._last.put(pieces, self._order.stamps(None).reshape(-1)[threads], instruction)
        self._codes[pieces] = threads << _GROUP_BITS | groups + 1
        self._reduce[pieces] = reduces

    def wait(self, limits: NDArray[np.int64], threads: NDArray[np.int64]) -> None:
        """Record that threads have waited until their groups with numbers below some limits had written."""
        slot = self._counts[threads] % _KEPT
        self._limits[slot, threads] = limits
        self._stamps[slot, threads] = self._order.stamps(None).reshape(-1)[threads]
        self._counts[threads] += 1

    def not_complete(
        self, pieces: NDArray[np.int64], threads: NDArray[np.int64], *, reduces: bool
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Return which threads access a piece to which a copy may still write.

        Accesses that are not ordered after the copy was issued are races, which are reported instead. Reductions
        (``reduces``) are atomic operations, and may be done in any order.
        """
        found = np.zeros(len(pieces), np.bool_)
        codes = self._codes.take(pieces)
        at = np.flatnonzero((codes != 0) & ~(self._reduce.take(pieces) & reduces))
        if not len(at):
            return found
        owners, groups = codes[at] >> _GROUP_BITS, (codes[at] & ((1 << _GROUP_BITS) - 1)) - 1
        others = threads[at]
        waited = self._limits[:, owners] > groups
        is_known = waited & (np.ones_like(waited) if not self._follows else owners == others)
        if self._follows:
            queried = np.nonzero(waited & ~is_known)
            is_known[queried] = ~self._order.unordered_for(self._stamps[:, owners][queried], others[queried[1]])
        is_over = is_known.any(axis=0) | ((self._counts[owners] > _KEPT) & waited.all(axis=0))
        if self._follows:
            is_over |= (owners != others) & self._order.unordered_for(self._last.stamps(pieces[at]), others)
        found[at[~is_over]] = True
        return found

    def forget(self, pieces: NDArray[np.int64]) -> None:
        """Remove the copies to pieces that something else writes."""
        if self.is_used:
            self._codes[pieces] = 0

    def copy_to(self, piece: int) -> PtxInstruction:
        """Return the instruction of the last copy to a piece."""
        return self._last.instruction(piece)
