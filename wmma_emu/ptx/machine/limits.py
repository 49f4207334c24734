# SPDX-License-Identifier: MIT
"""Limits of a launch: steps, seconds, bytes."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from wmma_emu.ptx.findings import Sighting
from wmma_emu.ptx.memory.footprint import DEFAULT_LIMIT

_clock = time.perf_counter


class Limits(NamedTuple):
    """The resources that a launch may use before it is stopped.

    ``steps`` counts instructions as they are stepped, each for many threads at once; ``bytes`` limits the memory that
    is emulated at any time. ``stack`` and ``heap`` are the bytes of a thread's stack and of the device heap.
    """

    steps: int = 10**8
    seconds: float | None = None
    bytes: int = DEFAULT_LIMIT
    stack: int = 1 << 10
    heap: int = 8 << 20


class Counts(NamedTuple):
    """The resources that a launch used.

    ``instructions`` counts the instructions that threads executed, ``steps`` those that were stepped;
    ``blocks_at_once`` is the size of a wave. ``completed`` is False if a deadlock or a trap ended the launch.
    ``output`` is the printed text, ``printed`` the same text call by call, ``left_out`` the number of calls whose
    output was not kept. ``may_hide_races`` is whether another order of taking locks may show races that this one did
    not (`Locks.may_hide`). ``machine`` is the machine that ran the launch, "native" or "numpy", and ``machine_reason``
    why it was not the native one.
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
    machine: str = "numpy"
    machine_reason: str = ""


class Interrupted(NamedTuple):
    """The progress of a launch until it exceeded a limit: the resources that it used, and its sightings."""

    counts: Counts
    sightings: list[Sighting]


class Exceeded(Exception):
    """A launch exceeded a limit, which the message names; the caller adds the states of the threads."""


class Deadline:
    """Checks the limits of a launch while it runs; ``spent`` are seconds of the time limit that have passed already.

    Examples
    --------
    >>> seconds = iter([0, 1, 3])
    >>> deadline = Deadline(Limits(seconds=2), lambda: next(seconds))
    >>> deadline.check()
    >>> deadline.check()
    Traceback (most recent call last):
        ...
    wmma_emu.ptx.machine.limits.Exceeded: 2 seconds (max_seconds)
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] | None = None, *, spent: float = 0) -> None:
        self.limits = limits
        self._clock = _clock if clock is None else clock
        self._start = self._clock() - spent
        self._end = math.inf if limits.seconds is None else self._start + _as_float(limits.seconds)
        self.steps = 0

    @property
    def seconds(self) -> float:
        """Seconds since the launch began."""
        return self._clock() - self._start

    def count(self, steps: int) -> None:
        """Count steps and check the time; raise `Exceeded` at a limit."""
        self.steps += steps
        if self.steps > self.limits.steps:
            raise Exceeded(f"{self.limits.steps} steps (max_steps)")
        self.check()

    def check(self) -> None:
        """Check the time: after each instruction, and within those that process threads one by one."""
        if self._clock() > self._end:
            raise Exceeded(f"{self.limits.seconds} seconds (max_seconds)")


def _as_float(seconds: float) -> float:
    try:
        return float(seconds)
    except OverflowError:  # an integer beyond the range of float
        return math.inf
