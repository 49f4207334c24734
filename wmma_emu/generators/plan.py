# SPDX-License-Identifier: MIT
"""What all tiles of a draw have in common: which k cancel each other, which stand out, how rows and columns scale."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wmma_emu.generators.facts import Facts
from wmma_emu.generators.words import Words, permutation, random_words

Indices = NDArray[np.intp]


class Plan:
    """The structure over k, rows and columns of one draw.

    It comes from the seed alone, never from a tile: so every tile of A goes with every tile of B and of C.

    The pairing says which positions cancel each other: ``"random"`` ones, but for a few that stay over; of ``"halves"``
    each of the first half its counterpart in the second; of ``"byte_pairs"`` k % 4 < 2 the k two further on. ``order``
    has the positions, shuffled; each of ``second`` cancels its counterpart of ``first``, ``rest`` are left over.
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
        """Shuffled pairs, and what stays over; elements that metadata move together stay together."""
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
        """For each row of A and C a number from 0 to 3, shape (m, 1)."""
        return self._levels("rows", self.facts.m)[:, None]

    @cached_property
    def column_levels(self) -> NDArray[np.int64]:
        """For each column of B and C a number from 0 to 3, shape (1, n)."""
        return self._levels("columns", self.facts.n)[None]

    @cached_property
    def partner(self) -> Indices:
        """For each position the one that it cancels, or itself."""
        partner: Indices = np.arange(self.facts.terms)
        partner[self.second] = self.first
        return partner
