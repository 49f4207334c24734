# SPDX-License-Identifier: MIT
"""Barriers: what a warp waits for, when it is released, and who is to blame where nobody ever is."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import DivergenceError
from wmma_emu.kernels.lanes import ranges
from wmma_emu.layouts.spec import LANES

__all__ = ["BARRIERS", "Barrier", "Waiting", "release", "require_release"]

BARRIERS = 16
"""Barriers of a block (PTX ISA 9.1, barrier)."""


class Barrier(NamedTuple):
    """What a kernel yields: one of a block's 16 barriers, for all its threads or for a number of them."""

    call: str
    number: int = 0
    threads: int | None = None
    predicate: NDArray[np.bool_] | None = None

    def __str__(self) -> str:
        return self.call


class Waiting(NamedTuple):
    """A warp at a barrier: which, and at which lines: the kernel's, then those of the functions it called."""

    warp: int
    barrier: Barrier
    lines: tuple[int, ...]


_RESULTS: dict[str, Callable[[NDArray[np.bool_]], int]] = {
    "t.syncthreads_count()": lambda x: int(x.sum()),
    "t.syncthreads_and()": lambda x: int(x.all()),
    "t.syncthreads_or()": lambda x: int(x.any()),
}


def release(waiting: list[Waiting], live: int) -> dict[int, Any]:
    """Find the warps whose barrier is complete, and what the barrier returns to them.

    A barrier of all threads is complete when every warp that has not returned waits at it; one of a number of
    threads when so many wait.

    Parameters
    ----------
    waiting : list of Waiting
        In the order of their arrival.
    live : int
        Warps that have not returned.
    """
    released: dict[int, Any] = {}
    for number in {x.barrier.number for x in waiting}:
        here = [x for x in waiting if x.barrier.number == number]
        _require_agreement(here)
        threads = here[0].barrier.threads
        wanted = live if threads is None else threads // LANES
        if len(here) >= wanted:
            complete = here[:wanted]
            _require_one_line(complete)
            released.update({x.warp: result for x, result in zip(complete, _results(complete), strict=True)})
    return released


def _results(here: list[Waiting]) -> list[int | None]:
    reduce = _RESULTS.get(here[0].barrier.call)
    if reduce is None:
        return [None] * len(here)
    predicates = np.stack([x.barrier.predicate for x in here if x.barrier.predicate is not None])
    return [reduce(predicates)] * len(here)


def _require_agreement(here: list[Waiting]) -> None:
    """All warps at one barrier must have called the same function with the same number of threads."""
    if len({(x.barrier.call, x.barrier.threads) for x in here}) > 1:
        raise DivergenceError(
            f"warps meet at barrier {here[0].barrier.number} with different calls, which is undefined on a GPU: "
            f"{_places(here)}; let all of them make the same call"
        )


def _require_one_line(here: list[Waiting]) -> None:
    """CUDA allows __syncthreads in conditional code only where the whole block takes the same way."""
    if len({x.lines for x in here}) > 1 and here[0].barrier.call.startswith("t.syncthreads"):
        raise DivergenceError(
            f"the block is divided over different barriers, which is undefined on a GPU: {_places(here)}; "
            "move the barrier out of the condition"
        )


def require_release(released: object, waiting: list[Waiting], returned: Iterable[int]) -> None:
    """Report a deadlock: warps wait, and no barrier is complete."""
    if released:
        return
    gone = sorted(returned)
    ended = f"; returned: {_warps(gone)}" if gone else ""
    raise DivergenceError(
        f"deadlock, every warp that is left waits: {_places(waiting)}{ended}; let as many threads reach a barrier as "
        "it waits for"
    )


def _places(waiting: list[Waiting]) -> str:
    """Say where each warp waits, equal ones together: ``warps 0-3 at t.syncthreads() in line 12``."""
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for x in sorted(waiting, key=lambda x: x.warp):
        groups.setdefault((x.barrier.call, x.lines), []).append(x.warp)
    return ", ".join(f"{_warps(warps)} at {call} in line {_lines(lines)}" for (call, lines), warps in groups.items())


def _lines(lines: tuple[int, ...]) -> str:
    """The line of the barrier, and from where its function was called."""
    return ", called in line ".join(str(x) for x in reversed(lines))


def _warps(numbers: list[int]) -> str:
    return f"warp{'s' * (len(numbers) > 1)} {ranges(numbers)}"
