# SPDX-License-Identifier: MIT
"""What threads knew at their fences, and what barriers hand on of it."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.links import Links
from wmma_emu.ptx.causality.threads import At, threads_in

_Ids = NDArray[np.int64]

_NEAR, _FAR = 0, 1
"""Fences of any scope, and those whose scope reaches beyond the block."""


class Fences:
    """For each thread of a chunk what a strong write of it releases now.

    That is what the thread knew at its last fence, as a fact; and what other threads knew at fences of theirs before
    they met it at a barrier, as a piece. A fence and a barrier, and then one thread that counts for all of them, is how
    blocks hand on (PyTorch's reductions, for one): PTX itself asks for a fence of that very thread.
    """

    def __init__(self, knowledge: Knowledge, shape: tuple[int, int, int]) -> None:
        self.knowledge = knowledge
        self._shape = shape
        self._own = np.zeros((2, *shape), np.int64)
        self._handed = np.zeros((2, *shape), np.int64)
        self._carriers = np.zeros((2, *shape), np.int64)
        self._is_new = False

    def execute(self, at: At, facts: _Ids, *, wide: bool) -> None:
        """Let threads execute a fence, at which they know what the facts say: more than was handed to them."""
        for scope in (_NEAR, _FAR) if wide else (_NEAR,):
            self._own[scope][at] = facts
            self._handed[scope][at] = self._carriers[scope][at] = 0
        self._is_new = True

    def links(self, at: At, threads: _Ids, times: NDArray[np.int32]) -> Links:
        """What strong writes of threads, by number in the launch, release at a time: four facts each at most."""
        own_near, own_far = self._own[_NEAR][at], self._own[_FAR][at]
        handed_near, handed_far = self._handed[_NEAR][at], self._handed[_FAR][at]
        facts = np.zeros((len(threads), 4), np.int64)
        facts[:, 0], facts[:, 1] = np.where(own_near == own_far, 0, own_near), own_far
        if handed_near.any() or handed_far.any():
            facts[:, 2] = np.where(handed_near == handed_far, 0, self._carried(_NEAR, at, threads))
            facts[:, 3] = self._carried(_FAR, at, threads)
        return Links(facts, np.broadcast_to(times[:, None], facts.shape))

    def _carried(self, scope: int, at: At, threads: _Ids) -> _Ids:
        handed = self._handed[scope][at]
        new = (handed > 0) & (self._carriers[scope][at] == 0)
        if new.any():
            where = at[0][new], at[1][new], at[2][new]
            nothing = np.zeros(int(new.sum()), np.int32)
            made = self.knowledge.facts(threads[new], nothing, held=handed[new], wide=scope == _FAR)
            self._carriers[scope][where] = made
        return np.asarray(self._carriers[scope][at])

    def told(self, who: NDArray[np.bool_], *, by_warp: bool = False) -> _Ids:
        """What threads hand on, a piece for each block and each scope, (2, G); or for each warp, (2, G, W)."""
        at = threads_in(who)
        shape = self._shape[:2] if by_warp else self._shape[:1]
        groups = at[0] * self._shape[1] + at[1] if by_warp else at[0]
        out = np.zeros((2, *shape), np.int64)
        for scope in (_NEAR, _FAR):
            facts = self._own[scope][at]
            if scope == _FAR and np.array_equal(facts, self._own[_NEAR][at]):
                out[_FAR] = out[_NEAR]
            elif facts.any():
                which, pieces = self.knowledge.of_groups(facts, groups)
                out[scope].reshape(-1)[which] = pieces
            handed = self._handed[scope][at]
            for group in np.unique(groups[handed > 0]).tolist():
                others = np.unique(handed[groups == group]).tolist()
                flat = out[scope].reshape(-1)
                flat[group] = self.knowledge.join_all([int(flat[group]), *others])
        return out

    def hand(self, at: At, pieces: _Ids) -> None:
        """Hand pieces to threads, one each for each scope, (2, n)."""
        for scope in (_NEAR, _FAR):
            if pieces[scope].any():
                self._handed[scope][at] = self.knowledge.join(self._handed[scope][at], pieces[scope])
                self._carriers[scope][at] = 0

    def meet_blocks(self, blocks: _Ids, *, all_of_them: bool) -> None:
        """Let all threads of some blocks hand on to each other, if any has executed a fence since all did."""
        if self._is_new:
            who = np.zeros(self._shape, np.bool_)
            who[blocks] = True
            at = threads_in(who)
            self.hand(at, self.told(who)[:, at[0]])
            self._is_new = not all_of_them

    def meet_lanes(self, together: NDArray[np.bool_]) -> None:
        """Let the lanes of a mask, of each warp, hand on to each other."""
        if self._is_new and together.any():
            at = threads_in(together)
            self.hand(at, self.told(together, by_warp=True)[:, at[0], at[1]])
