# SPDX-License-Identifier: MIT
"""How much a launch may take: steps, seconds, bytes."""

import time
from typing import NamedTuple

from wmma_emu.errors import LaunchLimitError

__all__ = ["Counts", "Deadline", "Limits"]

_LOOKS_EVERY = 64


class Limits(NamedTuple):
    """What a launch may take before it is stopped.

    ``steps`` counts instructions as they are stepped, each for many threads at once; ``bytes`` is all the memory that
    is emulated at a time.
    """

    steps: int = 10**8
    seconds: float | None = None
    bytes: int = 4 << 30


class Counts(NamedTuple):
    """What a launch took.

    ``instructions`` counts what threads executed, ``steps`` what was stepped, ``blocks_at_once`` the size of a chunk.
    ``completed`` is False where a deadlock or a trap ended the launch.
    """

    instructions: int
    steps: int
    seconds: float
    blocks_at_once: int
    completed: bool
    output: str = ""


class Deadline:
    """Watches the limits of a launch while it runs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._start = time.perf_counter()
        self._looks = 0
        self.steps = 0

    @property
    def seconds(self) -> float:
        """Seconds since the launch."""
        return time.perf_counter() - self._start

    def count(self, steps: int) -> str | None:
        """Count steps; say what is exceeded, if anything is."""
        self.steps += steps
        if self.steps > self._limits.steps:
            return f"{self._limits.steps} steps (max_steps)"
        self._looks += 1
        if self._limits.seconds is None or self._looks % _LOOKS_EVERY:
            return None
        return f"{self._limits.seconds} seconds (max_seconds)" if self.seconds > self._limits.seconds else None

    @staticmethod
    def exceed(what: str, where: str) -> LaunchLimitError:
        """Say that a launch took more than it may, and who was where."""
        return LaunchLimitError(f"the launch took more than {what}; {where}")
