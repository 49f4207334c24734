# SPDX-License-Identifier: MIT
"""Knowledge of threads at their fences, and how barriers pass it on."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.causality.knowledge import Knowledge
from wmma_emu.ptx.causality.links import Links
from wmma_emu.ptx.causality.threads import ThreadIndices, threads_in

_Ids = NDArray[np.int64]

_NEAR, _FAR = 0, 1
"""Fences of any scope, and fences whose scope reaches beyond the block."""


class Fences:
    """The knowledge that a strong write of each thread of a wave would release now.

    It is the knowledge of the thread at its last fence, as a fact; and the knowledge of other threads at their fences
    before a barrier with this thread, as a piece. A fence, then a barrier, and then a write of one thread for all of
    them is a common way to synchronise blocks (PyTorch's reductions, for example): PTX itself requires a fence of the
    writing thread.
    """

    def __init__(self, knowledge: Knowledge, shape: tuple[int, int, int]) -> None:
        self.knowledge = knowledge
        self._shape = shape
        self._own = np.zeros((2, *shape), np.int64)
        self._handed = np.zeros((2, *shape), np.int64)
        self._carriers = np.zeros((2, *shape), np.int64)
        self._is_new = False

    def execute(self, at: ThreadIndices, facts: _Ids, *, wide: bool) -> None:
        """Let threads execute a fence at which they know the facts, which include what was passed to them."""
        for scope in (_NEAR, _FAR) if wide else (_NEAR,):
            self._own[scope][at] = facts
            self._handed[scope][at] = self._carriers[scope][at] = 0
        self._is_new = True

    def links(self, at: ThreadIndices, threads: _Ids, times: NDArray[np.int32]) -> Links:
        """Return the facts that strong writes of threads release at a time: at most four each.

        ``threads`` are the numbers of the threads in the launch.
        """
        own_near, own_far = self._own[_NEAR][at], self._own[_FAR][at]
        handed_near, handed_far = self._handed[_NEAR][at], self._handed[_FAR][at]
        facts = np.zeros((len(threads), 4), np.int64)
        facts[:, 0], facts[:, 1] = np.where(own_near == own_far, 0, own_near), own_far
        if handed_near.any() or handed_far.any():
            facts[:, 2] = np.where(handed_near == handed_far, 0, self._carried(_NEAR, at, threads))
            facts[:, 3] = self._carried(_FAR, at, threads)
        return Links(facts, np.broadcast_to(times[:, None], facts.shape))

    def _carried(self, scope: int, at: ThreadIndices, threads: _Ids) -> _Ids:
        handed = self._handed[scope][at]
        new = (handed > 0) & (self._carriers[scope][at] == 0)
        if new.any():
            where = at[0][new], at[1][new], at[2][new]
            nothing = np.zeros(int(new.sum()), np.int32)
            made = self.knowledge.facts(threads[new], nothing, held=handed[new], wide=scope == _FAR)
            self._carriers[scope][where] = made
        return np.asarray(self._carriers[scope][at])

    def released(self, participants: NDArray[np.bool_], *, by_warp: bool = False) -> _Ids:
        """Return what threads pass on, a piece for each block and each scope, (2, G); or for each warp, (2, G, W)."""
        at = threads_in(participants)
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

    def hand(self, at: ThreadIndices, pieces: _Ids) -> None:
        """Pass pieces to threads, one each for each scope, (2, n)."""
        for scope in (_NEAR, _FAR):
            if pieces[scope].any():
                self._handed[scope][at] = self.knowledge.join(self._handed[scope][at], pieces[scope])
                self._carriers[scope][at] = 0

    def meet_blocks(self, blocks: _Ids, *, all_of_them: bool) -> None:
        """Let all threads of some blocks pass on to each other, if any fence was executed since all threads did."""
        if self._is_new:
            participants = np.zeros(self._shape, np.bool_)
            participants[blocks] = True
            at = threads_in(participants)
            self.hand(at, self.released(participants)[:, at[0]])
            self._is_new = not all_of_them

    def meet_lanes(self, together: NDArray[np.bool_]) -> None:
        """Let the lanes of a mask, of each warp, pass on to each other."""
        if self._is_new and together.any():
            at = threads_in(together)
            self.hand(at, self.released(together, by_warp=True)[:, at[0], at[1]])
