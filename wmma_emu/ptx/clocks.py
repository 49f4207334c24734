# SPDX-License-Identifier: MIT
"""What happened before what: a vector clock for each warp of each block."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clocks"]


class Clocks:
    """Logical times of the warps of some blocks.

    What warp v did at its time t happened before what warp w does now if w has seen that time of v: if
    ``seen[block, w, v] >= t``. An access is stamped with ``now[block, warp]``; at every synchronisation those that take
    part see all that each of them had seen, and their own times go on.

    Attributes
    ----------
    now : int32 array (G, W)
        Time of each warp, from 1 on.
    seen : int32 array (G, W, W)
        The latest time of warp v that warp w has synchronised with; its own is always the present.

    Examples
    --------
    >>> clocks = Clocks(1, 3)
    >>> stamp = clocks.now[0, 0].item()
    >>> block, both = np.array([0]), np.array([[True, True, False]])
    >>> clocks.learn(block, both, clocks.tell(block, both))
    >>> clocks.seen[0, 1, 0] >= stamp, clocks.seen[0, 2, 0] >= stamp
    (np.True_, np.False_)
    """

    def __init__(self, blocks: int, warps: int) -> None:
        self.now = np.ones((blocks, warps), np.int32)
        self.seen = np.zeros((blocks, warps, warps), np.int32)
        self._diagonal = np.arange(warps)
        self.seen[:, self._diagonal, self._diagonal] = 1
        self._handed_over = np.zeros((blocks, warps), np.int32)

    def tell(self, blocks: NDArray[np.int64], members: NDArray[np.bool_]) -> NDArray[np.int32]:
        """What warps have seen that arrive somewhere: those of ``members[i]`` (bool (n, W)) of block ``blocks[i]``.

        Their times go on: what they do from now on is not told.

        Returns
        -------
        int32 array (n, W)
        """
        told = np.where(members[:, :, None], self.seen[blocks], 0).max(axis=1)
        self.now[blocks] += members
        self.seen[:, self._diagonal, self._diagonal] = self.now
        return np.asarray(told)

    def learn(self, blocks: NDArray[np.int64], members: NDArray[np.bool_], told: NDArray[np.int32]) -> None:
        """Let warps that waited see what was told."""
        seen = self.seen[blocks]
        self.seen[blocks] = np.where(members[:, :, None], np.maximum(seen, told[:, None, :]), seen)

    def synchronise_all(self) -> None:
        """Let all warps of every block meet."""
        self.seen[:] = self.seen.max(axis=1, keepdims=True)
        self.now += 1
        self.seen[:, self._diagonal, self._diagonal] = self.now

    def hand_over(self, blocks: NDArray[np.int64], warps: NDArray[np.int64]) -> None:
        """Synchronise through memory: an atomic operation, a volatile or an acquiring or releasing access.

        Each warp (block ``blocks[i]``, warp ``warps[i]``) sees what every warp had seen that came here before,
        whatever the address was: too much is ordered by that, never too little.
        """
        order = np.argsort(blocks, kind="stable")
        blocks, warps = blocks[order], warps[order]
        first = np.flatnonzero(np.diff(blocks, prepend=-1))
        for begin, end in zip(first, [*first[1:], len(blocks)], strict=True):
            g, who = blocks[begin], warps[begin:end]
            before = np.concatenate((self._handed_over[g][None], self.seen[g, who]))
            known = np.maximum.accumulate(before)[1:]
            self.seen[g, who] = known
            self._handed_over[g] = known[-1]
            np.add.at(self.now[g], who, 1)
            self.seen[g, self._diagonal, self._diagonal] = self.now[g]
