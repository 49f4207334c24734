# SPDX-License-Identifier: MIT
"""How the short kernel of each kind of finding is launched, so that it meets its bug. Rows only."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["EXAMPLES", "Example"]


class Example(NamedTuple):
    """A launch of a kernel: threads of a block, arguments, blocks."""

    block: int
    arguments: Callable[[], tuple[Any, ...]]
    grid: int = 1


def _ints(count: int) -> Any:
    return np.arange(count, dtype=np.int32)


def _floats(count: int) -> Any:
    return np.arange(count, dtype=np.float32)


def _bytes(count: int) -> Any:
    return np.arange(count, dtype=np.uint8)


def _input(count: int) -> Any:
    """An array that its kernel has to leave alone."""
    array = _floats(count)
    array.flags.writeable = False
    return array


EXAMPLES = {
    "out of bounds": Example(32, lambda: (_ints(60), 60, 7), grid=2),
    "misaligned": Example(32, lambda: (_floats(132), _floats(128))),
    "uninitialised": Example(64, lambda: (_ints(64), _ints(64))),
    "partly uninitialised": Example(32, lambda: (_bytes(32), _bytes(32), _bytes(64))),
    "read-only": Example(32, lambda: (_input(32), _floats(32), 0.5)),
    "race": Example(64, lambda: (_ints(64), _ints(64))),
    "race of an unused value": Example(64, lambda: (_ints(32),)),
    "race within a warp": Example(32, lambda: (_ints(32), _ints(32))),
    "lanes store to one place": Example(32, lambda: (_ints(32) - 8, _ints(1))),
    "race of equal bytes": Example(64, lambda: (_ints(64) - 48, _ints(1))),
    "missing wait": Example(32, lambda: (_ints(32), _ints(32))),
    "barrier divergence": Example(32, lambda: (_ints(32), _ints(32))),
    "barriers at several instructions": Example(64, lambda: (_ints(32), _ints(32))),
    "deadlock": Example(96, lambda: (_ints(96),)),
    "partial warp": Example(32, lambda: (_ints(32), _ints(32))),
    "illegal metadata": Example(32, lambda: (0x3C003C00, 0x40004000, _floats(128))),
    "illegal operand": Example(32, lambda: (_ints(32), _ints(32))),
    "trap": Example(32, lambda: (_floats(32), _floats(32))),
}
"""A launch for each kind."""
