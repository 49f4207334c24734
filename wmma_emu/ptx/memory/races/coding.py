# SPDX-License-Identifier: MIT
"""The encoding of a granule's number: an access with its strength, or a chain of several accesses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Array

_STRENGTHS = 3


class Coding:
    """Numbers of 32 or 64 bits: the highest bit marks a chain, the next two are the strength of an access.

    Examples
    --------
    >>> coding = Coding(np.dtype(np.uint32))
    >>> number = coding.access(np.array([5], np.uint32), 3)
    >>> coding.stamps(number).item(), coding.strengths(number).item(), coding.are_chains(number).item()
    (5, 3, False)
    >>> coding.heads(coding.chains(np.array([17]))).item()
    17
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        bits = dtype.itemsize * 8
        self.dtype, self._type = dtype, dtype.type
        self._chain = self._type(1 << (bits - 1))
        self._shift = self._type(bits - 3)
        self._stamp = self._type((1 << (bits - 3)) - 1)
        self.largest = int(self._stamp)
        self.last_access = int(self._chain) - 1

    def access(self, stamps: Array, strength: int) -> Array:
        """Encode accesses of one strength."""
        stamps = stamps.astype(self.dtype, copy=False)
        return np.asarray(stamps | self._type(strength << int(self._shift))) if strength else stamps

    def chains(self, heads: NDArray[np.int64]) -> Array:
        """Encode chains."""
        return np.asarray(heads.astype(self.dtype) | self._chain)

    def are_chains(self, numbers: Array) -> NDArray[np.bool_]:
        """Return which numbers are chains."""
        return np.asarray(numbers >= self._chain)

    def heads(self, numbers: Array) -> NDArray[np.int64]:
        """Return the heads of chains."""
        return np.asarray(numbers & ~self._chain).astype(np.int64)

    def stamps(self, numbers: Array) -> Array:
        """Return the stamps of accesses."""
        return np.asarray(numbers & self._stamp)

    def strengths(self, numbers: Array) -> Array:
        """Return the strengths of accesses."""
        return np.asarray(numbers >> self._shift & self._type(_STRENGTHS))

    def recoded(self, numbers: Array, old: "Coding") -> Array:
        """Convert numbers from another encoding to this one."""
        chains = old.are_chains(numbers)
        strengths = old.strengths(numbers).astype(self.dtype) << self._shift
        accesses = old.stamps(numbers).astype(self.dtype) | strengths
        return np.where(chains, self.chains(np.where(chains, old.heads(numbers), 0)), accesses)
