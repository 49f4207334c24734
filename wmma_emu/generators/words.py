# SPDX-License-Identifier: MIT
"""The source of random bits: words of a counter-based generator whose key is a readable string."""

import hashlib

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Int64s = NDArray[np.int64]


def random_words(key: str, count: int) -> Words:
    """Return the first 64-bit words of Philox under the hash of a key.

    The words are the same on every machine and with every version of NumPy: NumPy guarantees the raw words of a bit
    generator, but not its distributions. A larger count for the same key begins with the same words.

    Examples
    --------
    >>> [hex(word) for word in random_words("one key", 2)]
    ['0x16a94f5680b79ba4', '0x46dfc34c4d3c2b02']
    """
    digest = hashlib.shake_128(key.encode()).digest(16)
    return np.random.Philox(key=int.from_bytes(digest, "little")).random_raw(count)


def numbers_between(words: Words, low: int, high: int) -> Int64s:
    """Make uniform integers from the lowest 16 bits of words, both ends included."""
    scaled = (words & np.uint64(0xFFFF)) * np.uint64(high - low + 1)
    return (scaled >> np.uint64(16)).astype(np.int64) + low


def permutation(key: str, count: int) -> NDArray[np.intp]:
    """Return the numbers below ``count`` in shuffled order.

    Examples
    --------
    >>> sorted(permutation("one key", 4).tolist())
    [0, 1, 2, 3]
    """
    return np.argsort(random_words(key, count), kind="stable")
