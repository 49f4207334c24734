# SPDX-License-Identifier: MIT
"""The order in which blocks run, and in which threads access one address."""

from typing import Any, Protocol

import numpy as np

BACKWARDS = -1
"""The schedule that starts with the last block, the last thread and the last instruction."""


class Order(Protocol):
    """A source of permutations of blocks and threads."""

    def permutation(self, x: Any, /) -> Any:
        """Return the numbers below an integer, or the elements of an array, in this order."""


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
    """Return the order of a schedule: None keeps the order of the numbers, a seed draws one."""
    if schedule is None:
        return None
    return _Backwards() if schedule == BACKWARDS else np.random.default_rng(schedule)
