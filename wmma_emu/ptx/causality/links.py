# SPDX-License-Identifier: MIT
"""Facts that operations add to words, in order."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Ids = NDArray[np.int64]

SEVERAL = -1
"""Replaces the number of a block if there are several blocks."""


class Links(NamedTuple):
    """Facts that operations add to a word, (n, k); 0 for none.

    ``accesses`` has, for each fact, the time of a single access of its thread that is known with it; 0 for none.
    """

    facts: _Ids
    accesses: _Ids


class Ranges:
    """Ranges of facts, whose first index is fixed and whose end grows."""

    def __init__(self, facts: _Ids, begin: _Ids, end: _Ids) -> None:
        self.facts, self._begin, self._last = facts, begin, end - 1

    def any(self, what: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return in which ranges any fact has a property."""
        count = np.append(0, np.cumsum(what))
        return np.asarray(count[self._last + 1] > count[self._begin])

    def alike(self, blocks: _Ids, old: _Ids, of_old: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the block of all facts of a range and of the piece before them, `SEVERAL` if they differ."""
        one = blocks[self._begin]
        changes = np.append(False, blocks[1:] != blocks[:-1])
        changed = np.cumsum(changes)
        same = (changed[self._last] == changed[self._begin]) & (one != SEVERAL)
        return np.where(same & ((old == 0) | (of_old[old] == one)), one, SEVERAL)
