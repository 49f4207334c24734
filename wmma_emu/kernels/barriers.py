# SPDX-License-Identifier: MIT
"""Barriers: what a warp waits for, when it is released, and who is to blame where nobody ever is."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import DivergenceError, as_finding
from wmma_emu.kernels.sites import Frame
from wmma_emu.kernels.trace import Meeting
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.machine.barrier_counts import ALL, BARRIER_REDUCTIONS, are_complete
from wmma_emu.ptx.machine.lane_ranges import ranges


class Barrier(NamedTuple):
    """What a kernel yields: one of a block's 16 barriers, for all its threads or for a number of them."""

    call: str
    number: int = 0
    threads: int | None = None
    predicate: NDArray[np.bool_] | None = None

    def __str__(self) -> str:
        return self.call


class Waiting(NamedTuple):
    """A warp at a barrier: which, and where: in a function that the kernel called, and so on, at last in the kernel."""

    warp: int
    barrier: Barrier
    frames: tuple[Frame, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The kernel's line, then those of the functions it called."""
        return tuple(line for _, _, line in reversed(self.frames))


_RESULTS = {"t.syncthreads_count()": "popc", "t.syncthreads_and()": "and", "t.syncthreads_or()": "or"}
"""The reductions that calls make."""


def release(waiting: list[Waiting], live: int) -> tuple[dict[int, Any], list[Meeting]]:
    """Find the warps whose barrier is complete, what the barrier returns to them, and who met there.

    A barrier of all threads is complete when every warp that has not returned waits at it; one of a number of threads
    when so many wait. ``waiting`` is in the order of their arrival; ``live`` counts the warps that have not returned.
    """
    released: dict[int, Any] = {}
    meetings: list[Meeting] = []
    for number in {x.barrier.number for x in waiting}:
        here = [x for x in waiting if x.barrier.number == number]
        _require_agreement(here)
        threads = here[0].barrier.threads
        wanted = ALL if threads is None else threads
        if are_complete(np.array(len(here) * LANES), np.array(wanted), np.array(live * LANES)):
            complete = here if threads is None else here[: threads // LANES]
            _require_one_line(complete)
            released.update(dict.fromkeys((x.warp for x in complete), _result(complete)))
            meetings.append(Meeting(number, tuple(x.warp for x in complete), threads is None))
    return released, meetings


def _result(here: list[Waiting]) -> int | None:
    name = _RESULTS.get(here[0].barrier.call)
    if name is None:
        return None
    votes = np.stack([x.barrier.predicate for x in here if x.barrier.predicate is not None])[np.newaxis]
    return int(BARRIER_REDUCTIONS[name](votes, np.ones_like(votes))[0])


def _require_agreement(here: list[Waiting]) -> None:
    """All warps at one barrier must have called the same function with the same number of threads."""
    if len({(x.barrier.call, x.barrier.threads) for x in here}) > 1:
        raise _finding(
            "barrier divergence", here,
            f"warps meet at barrier {here[0].barrier.number} with different calls, which is undefined on a GPU: "
            f"{_waiting_text(here)}; let all of them make the same call",
        )  # fmt: skip


def _require_one_line(here: list[Waiting]) -> None:
    """CUDA allows __syncthreads in conditional code only where the whole block takes the same way."""
    if len({x.lines for x in here}) > 1 and here[0].barrier.call.startswith("t.syncthreads"):
        raise _finding(
            "barrier divergence", here,
            f"the block is divided over different barriers, which is undefined on a GPU: {_waiting_text(here)}; "
            "move the barrier out of the condition",
        )  # fmt: skip


def require_release(released: object, waiting: list[Waiting], returned: Iterable[int]) -> None:
    """Report a deadlock: warps wait, and no barrier is complete."""
    if released:
        return
    gone = sorted(returned)
    ended = f"; returned: {_warps(gone)}" if gone else ""
    raise _finding(
        "deadlock", waiting,
        f"deadlock, every warp that is left waits: {_waiting_text(waiting)}{ended}; let as many threads reach a "
        "barrier as it waits for",
    )  # fmt: skip


def _finding(kind: str, waiting: list[Waiting], message: str) -> DivergenceError:
    error = as_finding(kind, DivergenceError(message))
    error.waiting = waiting  # type: ignore[attr-defined]
    return error


def _waiting_text(waiting: list[Waiting]) -> str:
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
