# SPDX-License-Identifier: MIT
"""Which k the elements of a packed A stand for, and a B whose elements there are what the family means."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.generators.facts import Facts
from wmma_emu.generators.plan import Plan
from wmma_emu.generators.words import Words, random_words

ALTERNATIVES = 2
"""How many k are drawn for each packed position: it stands for one of two."""

_PAIRS = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], np.int64)
"""Every choice of two out of four, ascending."""

_ANY_ROW = slice(3, None, 4)
"""The rows that take any of them."""


def _alternative_k(facts: Facts) -> NDArray[np.int64]:
    """For each packed position its k of each alternative, shape (terms, 2).

    Four groups of k share two packed ones: the lower of those stands for group 0 or 1, the upper for 2 or 3. For
    tf32, one of two, the packed one for either. A group is one k, or two neighbours of 4 bits.
    """
    together = facts.together
    group, element = np.divmod(np.arange(facts.terms), together)
    return (2 * group[:, None] + np.arange(2)) * together + element[:, None]


def spread(facts: Facts, packed: Words) -> Words:
    """Lay B out over k: of the tiles of packed structure, each two make one, one for each alternative.

    ``packed`` has shape (2 * tiles, terms, n), the result (tiles, k, n).
    """
    tiles, terms, n = packed.shape
    result = np.empty((tiles // ALTERNATIVES, facts.k, n), packed.dtype)
    result[:, _alternative_k(facts).T.ravel()] = packed.reshape(tiles // ALTERNATIVES, ALTERNATIVES * terms, n)
    return result


def draw_indices(facts: Facts, plan: Plan, key: str, tiles: int) -> NDArray[np.int64]:
    """Draw legal indices, shape (tiles, m, terms).

    Three rows of four keep the structure of the family, every position standing for one of its own two k, and
    positions that cancel for the same of them. Every fourth row has any legal pairs, in either order where metadata
    need not be ordered.
    """
    together = facts.together
    groups = facts.terms // together
    words = random_words(f"{key}|indices", tiles * facts.m * groups).reshape(tiles, facts.m, groups)
    # A group's elements move together, and so do positions that cancel, whole groups of them.
    leader = plan.partner // together
    own = (words >> np.uint64(63)).astype(np.int64)[:, :, leader]
    k = _alternative_k(facts)
    indices = np.where(own == 0, k[:, 0], k[:, 1])
    if facts.a.bits == 32:
        return indices
    choice = (words[:, _ANY_ROW, ::2] & np.uint64(0xFFFF)) * np.uint64(len(_PAIRS)) >> np.uint64(16)
    pairs = _PAIRS[choice.astype(np.int64)]
    if not facts.ordered:
        descending = (words[:, _ANY_ROW, ::2, None] >> np.uint64(17)) & np.uint64(1) == 1
        pairs = np.where(descending, pairs[..., ::-1], pairs)
    group = np.arange(groups) // 2 * 4 + pairs.reshape(*pairs.shape[:2], groups)
    elements = group[..., None] * together + np.arange(together)
    indices[:, _ANY_ROW] = elements.reshape(*elements.shape[:2], facts.terms)
    return indices
