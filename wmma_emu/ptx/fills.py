# SPDX-License-Identifier: MIT
"""The initial contents of shared memory, local memory and registers.

A GPU leaves them open: they hold leftover data. A kernel that does not use uninitialised data gives the same bits with
every fill.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.ptx.pages import zeroed
from wmma_emu.suggestions import did_you_mean

FILLS = {"zeros": 0x00, "ones": 0xFF}
"""The byte that each named fill repeats."""


class Fill:
    """Uninitialised data of all blocks of a launch: "zeros", "ones", or bytes drawn from a seed.

    Examples
    --------
    >>> Fill("ones").memory(4)
    array([255, 255, 255, 255], dtype=uint8)
    >>> Fill("ones").register(np.dtype(np.uint16), (1, 4, 32)).tolist()
    [[[65535]]]
    >>> Fill(7).register(np.dtype(np.uint16), (1, 4, 32)).shape
    (1, 4, 32)
    >>> Fill(7).memory(4).tolist() == Fill(7).memory(4).tolist()
    True
    """

    def __init__(self, given: str | int = "zeros") -> None:
        require_fill(given)
        self._byte = FILLS[given] if isinstance(given, str) else None
        self._rng = np.random.default_rng(None if isinstance(given, str) else given)

    def memory(self, size: int) -> NDArray[np.uint8]:
        """Return the initial bytes of newly allocated memory."""
        if self._byte == 0:
            return zeroed(size)
        if self._byte is not None:
            return np.full(size, self._byte, np.uint8)
        return np.frombuffer(self._rng.bytes(size), np.uint8).copy()

    def register(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Return a register's initial patterns for threads of a shape; one if they are the same in all threads."""
        shape = shape if self._byte is None else (1,) * len(shape)
        count = int(np.prod(shape))
        raw = self.memory(count * dtype.itemsize)
        return ((raw & 1).astype(np.bool_) if dtype == np.bool_ else raw.view(dtype)).reshape(shape)


def require_fill(given: object) -> None:
    """Refuse anything but a fill."""
    number = None if isinstance(given, str) else integer_of(given)
    if given in FILLS if isinstance(given, str) else number is not None and number >= 0:
        return
    names = " nor ".join(repr(x) for x in FILLS)
    hint = did_you_mean(given, FILLS)
    raise OptionError(f"fill={shorten(given)} is neither {names} nor a seed, which is an integer from 0 on{hint}")
