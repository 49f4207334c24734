# SPDX-License-Identifier: MIT
"""The proxy fences of the threads of a wave, and whether one of them is between two accesses."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.causality import CausalityOrder, threads_in
from wmma_emu.ptx.threads import Active

_KEPT = 32
"""Fences of each thread that are remembered; older ones count as known to all threads."""

_NEVER = np.int64(2**62)


class ProxyFences:
    """The times of the last fences of one sort of each thread.

    A fence advances the time of its warp, so that accesses before it have times up to its own, and accesses after it
    later ones. ``follows`` is whether the order between threads is kept: without it, any fence of another thread
    counts as known.

    Examples
    --------
    >>> order = CausalityOrder(1, 2)
    >>> order.begin(np.arange(1))
    >>> fences, stamps = ProxyFences(order, (1, 2, 32)), order.stamps().reshape(-1)[:2]
    >>> fences.lie_between(stamps, np.array([0, 33]))
    array([False, False])
    >>> fences.execute(None)
    >>> fences.lie_between(stamps, np.array([0, 33]))                                # warp 1 does not know of it yet
    array([ True, False])
    >>> order.meet_all()
    >>> fences.lie_between(stamps, np.array([0, 33]))
    array([ True,  True])
    """

    def __init__(self, order: CausalityOrder, shape: tuple[int, int, int], *, follows: bool = True) -> None:
        self._order, self._shape, self._follows = order, shape, follows
        self._times = np.zeros((_KEPT, *shape), np.int32)
        self._counts = np.zeros(shape, np.int32)
        self._known = np.zeros((*shape[:2], shape[1]), np.int32)
        self._known_at = np.zeros(shape[:2], np.int32)
        self._held = np.zeros(shape, np.int64)
        self._holdings: object = None

    def execute(self, active: Active) -> None:
        """Let the active threads execute a fence."""
        order = self._order
        at = threads_in(np.broadcast_to(True if active is None else active, self._shape))
        g, w, lane = at
        self._times[self._counts[at] % _KEPT, g, w, lane] = order.now[g, w]
        self._counts[at] += 1
        self._known[g, w], self._known_at[g, w] = order.known[g, w], order.now[g, w]
        if order.holdings_so_far is not None:
            if self._holdings is not order.holdings_so_far:
                self._holdings = order.holdings_so_far
                self._held[:] = 0
            self._held[at] = order.holdings_so_far.of(at)
        some = np.zeros(self._shape[:2], np.bool_)
        some[g, w] = True
        order.tick(some, learns=False)

    def lie_between(self, stamps: NDArray[np.unsignedinteger], threads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for accesses, by their stamps, whether a fence is between each and what a thread does now.

        The fence is one of the accessing thread, which the other thread knows, or one of the other thread, after it
        knew the access. Accesses of threads of other waves count as fenced.
        """
        owners, found = self._in_wave(stamps)
        at = np.flatnonzero(~found)
        own = np.unravel_index(owners[at], self._shape)
        times = self._order.time(stamps[at]).astype(np.int64)
        given = stamps[at], own, times, threads[at]
        found[at] = self._of_owner(*given) | self._of_other(*given)
        return found

    def _in_wave(self, stamps: NDArray[np.unsignedinteger]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the threads of accesses, counted through the wave, and which are of other waves."""
        numbers = self._order.threads_of(stamps)
        per_block = self._shape[1] * LANES
        order = np.argsort(self._order.blocks)
        blocks = numbers // per_block
        at = order[np.searchsorted(self._order.blocks, blocks, sorter=order).clip(max=len(order) - 1)]
        return at * per_block + numbers % per_block, self._order.blocks[at] != blocks

    def _of_owner(
        self, stamps: NDArray[np.unsignedinteger], own: tuple[NDArray[np.intp], ...], times: NDArray[np.int64],
        threads: NDArray[np.int64],
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Return where the accessing thread executed a fence afterwards that the other thread knows."""
        g, w, lane = own
        fences = self._times[:, g, w, lane].astype(np.int64)
        after = np.where((fences >= times) & (fences > 0), fences, _NEVER)
        first = after.min(axis=0)
        exists = first != _NEVER
        are_old = (self._counts[own] > _KEPT) & (fences >= times).all(axis=0)
        if not self._follows:
            return np.asarray(exists)
        thread = (stamps & stamps.dtype.type((1 << self._order.bits) - 1)).astype(np.uint64)
        marks = np.where(exists, first, 0).astype(np.uint64) << np.uint64(self._order.bits) | thread
        return np.asarray(exists & (are_old | ~self._order.unordered_for(marks, threads)))

    def _of_other(
        self, stamps: NDArray[np.unsignedinteger], own: tuple[NDArray[np.intp], ...], times: NDArray[np.int64],
        threads: NDArray[np.int64],
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Return where the other thread executed a fence when it knew the access."""
        g, w, lane = np.unravel_index(threads, self._shape)
        count = self._counts[g, w, lane]
        last = self._times[(count - 1) % _KEPT, g, w, lane]
        if not self._follows:
            return np.asarray(count > 0)
        is_last = (count > 0) & (last == self._known_at[g, w])
        knew = (self._known[g, w, own[1]] >= times) & (own[0] == g)
        found = np.asarray(is_last & knew)
        unchanged = np.flatnonzero(~found & (count > 0) & (self._order.now[g, w] == last + 1))
        if len(unchanged):
            found[unchanged] = ~self._order.unordered_for(stamps[unchanged], threads[unchanged])
        holdings = self._order.holdings_so_far
        if holdings is not None and holdings is self._holdings and not found.all():
            at = np.flatnonzero(~found & (count > 0))
            held = self._held[g[at], w[at], lane[at]]
            found[at] = holdings.pieces_contain(held, self._order.threads_of(stamps[at]), times[at])
        return found
