# SPDX-License-Identifier: MIT
"""What a granule's number says: an access, with its strength, or a chain of several."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Array

_STRENGTHS = 3


class Coding:
    """Numbers of 32 bits, or of 64: the highest bit says that it is a chain, the next two how strong an access is.

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
        """Number accesses of one strength."""
        stamps = stamps.astype(self.dtype, copy=False)
        return np.asarray(stamps | self._type(strength << int(self._shift))) if strength else stamps

    def chains(self, heads: NDArray[np.int64]) -> Array:
        """Number chains."""
        return np.asarray(heads.astype(self.dtype) | self._chain)

    def are_chains(self, numbers: Array) -> NDArray[np.bool_]:
        """Say which numbers are those of chains."""
        return np.asarray(numbers >= self._chain)

    def heads(self, numbers: Array) -> NDArray[np.int64]:
        """Give the last entries of chains."""
        return np.asarray(numbers & ~self._chain).astype(np.int64)

    def stamps(self, numbers: Array) -> Array:
        """Give the stamps of accesses."""
        return np.asarray(numbers & self._stamp)

    def strengths(self, numbers: Array) -> Array:
        """Give the strengths of accesses."""
        return np.asarray(numbers >> self._shift & self._type(_STRENGTHS))

    def recoded(self, numbers: Array, old: "Coding") -> Array:
        """Bring numbers from another coding to this one."""
        chains = old.are_chains(numbers)
        strengths = old.strengths(numbers).astype(self.dtype) << self._shift
        accesses = old.stamps(numbers).astype(self.dtype) | strengths
        return np.where(chains, self.chains(np.where(chains, old.heads(numbers), 0)), accesses)
