# SPDX-License-Identifier: MIT
"""In which order blocks run, and threads are served that meet at one address."""

from typing import Any, Protocol

import numpy as np

BACKWARDS = -1
"""The schedule that has the last block, the last thread and the last instruction first."""


class Order(Protocol):
    """What puts blocks and threads into another order than that of their numbers."""

    def permutation(self, x: Any, /) -> Any:
        """Give the numbers below an integer, or the elements of an array, in that order."""


class _Backwards:
    """The order from the last to the first.

    Examples
    --------
    >>> order_of(BACKWARDS).permutation(4).tolist()
    [3, 2, 1, 0]
    """

    def permutation(self, x: Any, /) -> Any:
        return (np.arange(x) if isinstance(x, int) else x)[::-1]


def order_of(schedule: int | None) -> Order | None:
    """Return the order of a schedule: None is that of the numbers, a seed draws one."""
    if schedule is None:
        return None
    return _Backwards() if schedule == BACKWARDS else np.random.default_rng(schedule)
