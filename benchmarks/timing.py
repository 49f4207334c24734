# SPDX-License-Identifier: MIT
"""Timing: in rounds of all cases, so that other load on the machine affects all cases equally."""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

_SHORTEST = 0.02
"""Seconds of one measurement: what is faster is repeated within it."""

_LONG = 2.0
"""The least seconds of a first run that need no repetition within a round."""


class Run(NamedTuple):
    """A timed function, and its set-up outside the measured time."""

    call: Callable[[], object]
    around: Callable[[], AbstractContextManager[Any]] = nullcontext

    def seconds(self, times: int = 1) -> float:
        with self.around():
            return seconds(self.call, times)


def seconds(run: Callable[[], object], times: int = 1) -> float:
    """Return the seconds of one run, the mean of several."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def in_rounds(runs: Sequence[Run], rounds: Sequence[int]) -> list[list[float]]:
    """Time every run in several rounds, after one that does not count; one round is only a smoke test."""
    shortest = _SHORTEST if max(rounds, default=0) > 1 else 0.0
    repeats = [_repeats(run, shortest) for run in runs]
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(max(rounds, default=0)):
        for found, run, repeat, wanted in zip(times, runs, repeats, rounds, strict=True):
            if turn < wanted:
                found.append(run.seconds(repeat))
    return times


def _repeats(run: Run, shortest: float) -> int:
    first = run.seconds()  # includes building and compiling
    if first > _LONG or not shortest:
        return 1
    return max(1, round(shortest / max(run.seconds(), 1e-9)))


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Limit the threads of BLAS; do nothing without threadpoolctl."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(count, "blas")


def summary(times: Sequence[float], work: float) -> dict[str, float]:
    """Work a second: median, and the slowest and the fastest round."""
    return {"median": work / statistics.median(times), "slowest": work / max(times), "fastest": work / min(times)}
