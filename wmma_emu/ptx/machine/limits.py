# SPDX-License-Identifier: MIT
"""How much a launch may take: steps, seconds, bytes."""

import time
from typing import NamedTuple

from wmma_emu.errors import LaunchLimitError
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT

__all__ = ["Counts", "Deadline", "Limits"]


class Limits(NamedTuple):
    """What a launch may take before it is stopped.

    ``steps`` counts instructions as they are stepped, each for many threads at once; ``bytes`` is all the memory that
    is emulated at a time.
    """

    steps: int = 10**8
    seconds: float | None = None
    bytes: int = DEFAULT_LIMIT


class Counts(NamedTuple):
    """What a launch took.

    ``instructions`` counts what threads executed, ``steps`` what was stepped, ``blocks_at_once`` the size of a chunk.
    ``completed`` is False where a deadlock or a trap ended the launch. ``output`` is what it printed, ``printed`` the
    same call by call, ``left_out`` the calls whose text was not kept.
    """

    instructions: int
    steps: int
    seconds: float
    blocks_at_once: int
    completed: bool
    output: str = ""
    printed: tuple[str, ...] = ()
    left_out: int = 0


class Deadline:
    """Watches the limits of a launch while it runs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._start = time.perf_counter()
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
        limit = self._limits.seconds
        return None if limit is None or self.seconds <= limit else f"{limit} seconds (max_seconds)"

    @staticmethod
    def exceed(what: str, where: str) -> LaunchLimitError:
        """Say that a launch took more than it may, and who was where."""
        return LaunchLimitError(f"the launch took more than {what}; {where}")
