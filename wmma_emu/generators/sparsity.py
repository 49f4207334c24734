# SPDX-License-Identifier: MIT
"""Indices for a packed A, and a B whose elements at those indices have the structure of the input generator."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.generators.facts import Facts
from wmma_emu.generators.plan import Plan
from wmma_emu.generators.words import Words, random_words

ALTERNATIVES = 2
"""The number of candidate k for each packed position."""

_PAIRS = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], np.int64)
"""All ascending choices of two out of four."""

_ANY_ROW = slice(3, None, 4)
"""The rows that may take any of the choices."""


def _alternative_k(facts: Facts) -> NDArray[np.int64]:
    """Return both candidate k of each packed position, shape (terms, 2).

    Four groups of k share two packed groups: the lower packed group is group 0 or 1, the upper is group 2 or 3. For
    tf32, with one of two kept, the packed group is either of the two. A group is one k, or two neighbouring k of 4-bit
    elements.
    """
    together = facts.together
    group, element = np.divmod(np.arange(facts.terms), together)
    return (2 * group[:, None] + np.arange(2)) * together + element[:, None]


def spread(facts: Facts, packed: Words) -> Words:
    """Distribute B over k: each two tiles of packed structure make one tile, one for each alternative.

    ``packed`` has shape (2 * tiles, terms, n), the result (tiles, k, n).
    """
    tiles, terms, n = packed.shape
    result = np.empty((tiles // ALTERNATIVES, facts.k, n), packed.dtype)
    result[:, _alternative_k(facts).T.ravel()] = packed.reshape(tiles // ALTERNATIVES, ALTERNATIVES * terms, n)
    return result


def draw_indices(facts: Facts, plan: Plan, key: str, tiles: int) -> NDArray[np.int64]:
    """Draw legal indices, shape (tiles, m, terms).

    Three of four rows preserve the generator's structure: every position takes one of its two k, and positions that
    cancel take the same alternative. Every fourth row has any legal pairs, in either order if metadata need not be
    ordered.
    """
    together = facts.together
    groups = facts.terms // together
    words = random_words(f"{key}|indices", tiles * facts.m * groups).reshape(tiles, facts.m, groups)
    # The elements of a group move together, and so do whole groups that cancel each other.
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
