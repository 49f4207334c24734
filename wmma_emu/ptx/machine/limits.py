# SPDX-License-Identifier: MIT
"""How much a launch may take: steps, seconds, bytes."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT

_clock = time.perf_counter


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
    same call by call, ``left_out`` the calls whose text was not kept. ``may_hide_races`` says that another order of
    taking locks may show races that this one did not (`Locks.may_hide`).
    """

    instructions: int
    steps: int
    seconds: float
    blocks_at_once: int
    completed: bool
    output: str = ""
    printed: tuple[str, ...] = ()
    left_out: int = 0
    may_hide_races: bool = False


class Exceeded(Exception):
    """A launch has taken more than it may; says of what. Whoever knows where the threads are says that too."""


class Deadline:
    """Watches the limits of a launch while it runs.

    Examples
    --------
    >>> seconds = iter([0, 1, 3])
    >>> deadline = Deadline(Limits(seconds=2), lambda: next(seconds))
    >>> deadline.look()
    >>> deadline.look()
    Traceback (most recent call last):
        ...
    wmma_emu.ptx.machine.limits.Exceeded: 2 seconds (max_seconds)
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] | None = None) -> None:
        self._limits = limits
        self._clock = _clock if clock is None else clock
        self._start = self._clock()
        self._end = math.inf if limits.seconds is None else self._start + limits.seconds
        self.steps = 0

    @property
    def seconds(self) -> float:
        """Seconds since the launch."""
        return self._clock() - self._start

    def count(self, steps: int) -> None:
        """Count steps, and look at the clock; `Exceeded` ends the launch."""
        self.steps += steps
        if self.steps > self._limits.steps:
            raise Exceeded(f"{self._limits.steps} steps (max_steps)")
        self.look()

    def look(self) -> None:
        """Look at the clock: behind each instruction, and within those that go through threads one by one."""
        if self._clock() > self._end:
            raise Exceeded(f"{self._limits.seconds} seconds (max_seconds)")
