# SPDX-License-Identifier: MIT
"""The structure that all tiles of a draw share: positions of k that cancel or stand out, levels of rows and columns."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wmma_emu.generators.facts import Facts
from wmma_emu.generators.words import Words, permutation, random_words

Indices = NDArray[np.intp]


class Plan:
    """The structure over k, rows and columns of one draw.

    It depends only on the seed, not on a tile, so every tile of A can be combined with every tile of B and of C.

    The pairing selects the positions that cancel each other: ``"random"`` pairs, except for a few positions that are
    left over; ``"halves"`` pairs each position of the first half with its counterpart in the second; ``"byte_pairs"``
    pairs k % 4 < 2 with k + 2. ``order`` has all positions, shuffled; each position in ``second`` cancels its
    counterpart in ``first``, and ``rest`` has the positions that are left over.
    """

    def __init__(self, facts: Facts, key: str, pairing: str = "") -> None:
        self.facts = facts
        self.key = f"{key}|plan"
        terms = facts.terms
        self.order: Indices = permutation(f"{self.key}|order", terms)
        everything: Indices = np.arange(terms)
        none = everything[:0]
        match pairing:
            case "random":
                self.first, self.second, self.rest = self._random_pairs()
            case "halves":
                self.first, self.second, self.rest = everything[: terms // 2], everything[terms // 2 :], none
            case "byte_pairs":
                self.first = everything[everything % 4 < 2]
                self.second, self.rest = self.first + 2, none
            case _:
                self.first, self.second, self.rest = none, none, everything

    def _random_pairs(self) -> tuple[Indices, Indices, Indices]:
        """Return shuffled pairs and the positions left over; elements that metadata moves together stay together."""
        together = self.facts.together
        groups = self.facts.terms // together
        order = self.order if together == 1 else permutation(f"{self.key}|groups", groups)
        pairs = (groups - max(groups // 8, 2)) // 2
        positions = (order[:, None] * together + np.arange(together)).ravel()
        cuts = pairs * together
        return positions[:cuts], positions[cuts : 2 * cuts], positions[2 * cuts :]

    def _levels(self, name: str, count: int) -> NDArray[np.int64]:
        words: Words = random_words(f"{self.key}|{name}", count)
        return (words >> np.uint64(62)).astype(np.int64)

    @cached_property
    def row_levels(self) -> NDArray[np.int64]:
        """A number from 0 to 3 for each row of A and C, shape (m, 1)."""
        return self._levels("rows", self.facts.m)[:, None]

    @cached_property
    def column_levels(self) -> NDArray[np.int64]:
        """A number from 0 to 3 for each column of B and C, shape (1, n)."""
        return self._levels("columns", self.facts.n)[None]

    @cached_property
    def partner(self) -> Indices:
        """For each position, the position that it cancels, or the position itself."""
        partner: Indices = np.arange(self.facts.terms)
        partner[self.second] = self.first
        return partner
