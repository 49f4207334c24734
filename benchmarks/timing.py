# SPDX-License-Identifier: MIT
"""How time is taken: in rounds, each of all cases in turn, so that what else a machine does hits all alike."""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

_SHORTEST = 0.02
"""Seconds of one measurement: what is faster is repeated within it."""

_LONG = 2.0
"""Seconds of a first run from which on nobody asks how often to repeat it."""


class Run(NamedTuple):
    """What is timed, and what is set around it, outside the time."""

    call: Callable[[], object]
    around: Callable[[], AbstractContextManager[Any]] = nullcontext

    def seconds(self, times: int = 1) -> float:
        with self.around():
            return seconds(self.call, times)


def seconds(run: Callable[[], object], times: int = 1) -> float:
    """Seconds of one run, the mean of so many."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def in_rounds(runs: Sequence[Run], rounds: Sequence[int]) -> list[list[float]]:
    """Time every run, in so many rounds of each, after one that does not count; one round is but a smoke test."""
    shortest = _SHORTEST if max(rounds, default=0) > 1 else 0.0
    repeats = [_repeats(run, shortest) for run in runs]
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(max(rounds, default=0)):
        for found, run, repeat, wanted in zip(times, runs, repeats, rounds, strict=True):
            if turn < wanted:
                found.append(run.seconds(repeat))
    return times


def _repeats(run: Run, shortest: float) -> int:
    first = run.seconds()  # with what is built or compiled once
    if first > _LONG or not shortest:
        return 1
    return max(1, round(shortest / max(run.seconds(), 1e-9)))


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Within it, BLAS takes so many threads; does nothing without threadpoolctl."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(count, "blas")


def summary(times: Sequence[float], work: float) -> dict[str, float]:
    """Work a second: median, and the slowest and the fastest round."""
    return {"median": work / statistics.median(times), "slowest": work / max(times), "fastest": work / min(times)}
