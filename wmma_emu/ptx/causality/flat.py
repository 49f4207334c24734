# SPDX-License-Identifier: MIT
"""A flattened piece of knowledge: the time up to which each warp, and single threads, are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TIME = 2**31


@dataclass(frozen=True, slots=True)
class FlatKnowledge:
    """Times of warps, of single threads, and single accesses.

    ``warps``, by number of the warp in the launch: all accesses of its threads up to this time. ``threads`` by number,
    in order, and all accesses of each up to the time in ``times``. ``accesses``: thread * 2**31 + time of single
    accesses, in order.
    """

    warps: NDArray[np.int32]
    threads: NDArray[np.int64]
    times: NDArray[np.int64]
    accesses: NDArray[np.int64]

    @classmethod
    def of(
        cls, warps: NDArray[np.int32], threads: NDArray[Any], times: NDArray[Any], access_threads: NDArray[Any],
        access_times: NDArray[Any], others: "list[FlatKnowledge]",
    ) -> "FlatKnowledge":  # fmt: skip
        """Join what was found with other flattened pieces."""
        for other in others:
            np.maximum(warps, other.warps, out=warps)
        keys = np.concatenate([np.asarray(threads, np.int64), *(x.threads for x in others)])
        values = np.concatenate([np.asarray(times, np.int64), *(x.times for x in others)])
        later = values > warps[keys >> 5]
        keys, values = keys[later], values[later]
        order = np.lexsort((values, keys))
        keys, values = keys[order], values[order]
        last = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
        single = np.asarray(access_threads, np.int64) * _TIME + access_times
        accesses = np.unique(np.concatenate([single, *(x.accesses for x in others)]))
        return cls(warps, keys[last], values[last], accesses)

    @property
    def bytes(self) -> int:
        """Bytes of host memory in use."""
        return self.warps.nbytes + self.threads.nbytes + self.times.nbytes + self.accesses.nbytes

    def knows(self, threads: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which accesses are known, given by thread number in the launch and time."""
        found = times <= self.warps[threads >> 5]
        if len(self.threads):
            at = np.minimum(np.searchsorted(self.threads, threads), len(self.threads) - 1)
            found |= (self.threads[at] == threads) & (times <= self.times[at])
        if len(self.accesses):
            keys = threads * _TIME + times
            at = np.minimum(np.searchsorted(self.accesses, keys), len(self.accesses) - 1)
            found |= self.accesses[at] == keys
        return np.asarray(found)
