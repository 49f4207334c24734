# SPDX-License-Identifier: MIT
"""The executions of a basic block: its warps, its threads, and the warps that execute it in part."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES


class Executions:
    """Counts the executions of one basic block of ``length`` instructions.

    Examples
    --------
    >>> live = np.ones((1, 2, 32), bool)
    >>> found = Executions(3)
    >>> found.everyone(live)
    >>> found.some(live & (np.arange(64).reshape(1, 2, 32) < 40), live)
    array([[ True,  True]])
    >>> found.warps, found.threads, found.divergent
    (4, 104, 1)
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self.warps = self.threads = self.divergent = 0
        self._live: NDArray[np.bool_] | None = None
        self._lanes: NDArray[Any] = np.zeros(0)
        self._totals = 0, 0

    def everyone(self, live: NDArray[np.bool_]) -> None:
        """Count an execution by all remaining threads, a mask that is never changed in place."""
        self._look_at(live)
        self.warps += self._totals[0]
        self.threads += self._totals[1]

    def some(self, active: NDArray[np.bool_], live: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Count an execution by some of the remaining threads; return their warps."""
        self._look_at(live)
        lanes = lanes_of(active)
        warps = lanes > 0
        self.warps += int(np.count_nonzero(warps))
        self.threads += int(lanes.sum(dtype=np.int64))
        self.divergent += int(np.count_nonzero(warps & (lanes < self._lanes)))
        return warps

    def _look_at(self, live: NDArray[np.bool_]) -> None:
        if live is not self._live:
            self._live, self._lanes = live, lanes_of(live)
            self._totals = int(np.count_nonzero(self._lanes)), int(self._lanes.sum(dtype=np.int64))


def lanes_of(mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the number of lanes of each warp in a mask, (..., 32).

    Examples
    --------
    >>> lanes_of(np.arange(64).reshape(2, 32) < 40).tolist()
    [32, 8]
    """
    counts: NDArray[np.uint8] = np.bitwise_count(np.packbits(mask, axis=-1).view(f"u{LANES // 8}"))
    return counts[..., 0]
