# SPDX-License-Identifier: MIT
"""Facts that operations add to words, one behind the other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Ids = NDArray[np.int64]

SEVERAL = -1
"""In the place of a block where there are several."""


class Links(NamedTuple):
    """What operations add to a word, (n, k): facts, 0 for none.

    With each goes the time of one access of its thread, alone at that time, that is known with the fact: 0 for none.
    """

    facts: _Ids
    accesses: _Ids


class Ranges:
    """Facts from a first one on, up to some that grows."""

    def __init__(self, facts: _Ids, begin: _Ids, end: _Ids) -> None:
        self.facts, self._begin, self._last = facts, begin, end - 1

    def any(self, what: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell in which ranges there is any such fact."""
        count = np.append(0, np.cumsum(what))
        return np.asarray(count[self._last + 1] > count[self._begin])

    def alike(self, blocks: _Ids, old: _Ids, of_old: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block of all facts of a range and of the piece before them, `SEVERAL` if there are others."""
        one = blocks[self._begin]
        changes = np.append(False, blocks[1:] != blocks[:-1])
        changed = np.cumsum(changes)
        same = (changed[self._last] == changed[self._begin]) & (one != SEVERAL)
        return np.where(same & ((old == 0) | (of_old[old] == one)), one, SEVERAL)
