# SPDX-License-Identifier: MIT
"""Barriers: the threads that a warp waits for, its release, and the report of a deadlock."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import DivergenceError, as_finding
from wmma_emu.kernels.sites import Frame
from wmma_emu.kernels.trace import MachineCall, Meeting
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.machine.barrier_counts import ALL, BARRIER_REDUCTIONS, are_complete
from wmma_emu.ptx.machine.lane_ranges import ranges


class Barrier(NamedTuple):
    """The value that a kernel yields: one of a block's 16 barriers, for all its threads or for a number of them."""

    call: str
    number: int = 0
    threads: int | None = None
    predicate: NDArray[np.bool_] | None = None

    def __str__(self) -> str:
        return self.call


class PhaseWait(NamedTuple):
    """The value that a kernel yields to wait for the phase of an mbarrier."""

    call: str
    machine_call: MachineCall
    is_over: Callable[[], bool]

    def __str__(self) -> str:
        return self.call


class Waiting(NamedTuple):
    """A warp that waits at a barrier, with the frames of the kernel and of the functions it called, innermost first."""

    warp: int
    barrier: Barrier
    frames: tuple[Frame, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The kernel's line, then the lines of the functions it called."""
        return _lines_of(self.frames)


class WaitingForPhase(NamedTuple):
    """A warp that waits for the phase of an mbarrier, with the same frames."""

    warp: int
    barrier: PhaseWait
    frames: tuple[Frame, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        """The kernel's line, then the lines of the functions it called."""
        return _lines_of(self.frames)


AnyWaiting = Waiting | WaitingForPhase


def _lines_of(frames: tuple[Frame, ...]) -> tuple[int, ...]:
    return tuple(line for _, _, line in reversed(frames))


MBARRIERS = "; mbarriers: "
"""The words in the message of a deadlock before what each mbarrier lacks."""

_RESULTS = {"t.syncthreads_count()": "popc", "t.syncthreads_and()": "and", "t.syncthreads_or()": "or"}
"""The reduction that each call performs."""


def release(waiting: list[Waiting], live: int) -> tuple[dict[int, Any], list[Meeting]]:
    """Find the warps whose barrier is complete, the value it returns to them, and the warps of each barrier.

    A barrier of all threads is complete when every warp that has not returned waits at it; a barrier of a number of
    threads when that many wait. ``waiting`` is in order of arrival; ``live`` counts the warps that have not returned.
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
    """Require that all warps at one barrier have called the same function with the same number of threads."""
    if len({(x.barrier.call, x.barrier.threads) for x in here}) > 1:
        raise _finding(
            "barrier divergence", here,
            f"warps reach barrier {here[0].barrier.number} with different calls, which is undefined on a GPU: "
            f"{_waiting_text(here)}; make the same call in all of them",
        )  # fmt: skip


def _require_one_line(here: list[Waiting]) -> None:
    """Require one line for __syncthreads.

    CUDA allows it in conditional code only if the whole block takes one branch.
    """
    if len({x.lines for x in here}) > 1 and here[0].barrier.call.startswith("t.syncthreads"):
        raise _finding(
            "barrier divergence", here,
            f"the warps of the block wait at different barriers, which is undefined on a GPU: {_waiting_text(here)}; "
            "move the barrier out of the condition",
        )  # fmt: skip


def require_release(
    released: object, waiting: Sequence[AnyWaiting], returned: Iterable[int],
    mbarriers: Callable[[], Sequence[str]] = tuple,
) -> None:  # fmt: skip
    """Report a deadlock if warps wait and no barrier is complete; ``mbarriers`` describes those of the block."""
    if released:
        return
    gone = sorted(returned)
    ended = f"; returned: {_warps(gone)}" if gone else ""
    fix = "make as many threads reach a barrier as it waits for"
    if any(isinstance(x, WaitingForPhase) for x in waiting):
        ended += f"{MBARRIERS}{', '.join(mbarriers())}"
        fix = "let as many arrivals and bytes come as a phase expects, and wait for the parity of the phase: 0, then 1"
    raise _finding(
        "deadlock", waiting, f"deadlock: every remaining warp waits: {_waiting_text(waiting)}{ended}; {fix}"
    )  # fmt: skip


def _finding(kind: str, waiting: Sequence[AnyWaiting], message: str) -> DivergenceError:
    error = as_finding(kind, DivergenceError(message))
    error.waiting = waiting  # type: ignore[attr-defined]
    return error


def _waiting_text(waiting: Sequence[AnyWaiting]) -> str:
    """Describe where each warp waits, grouping equal ones: ``warps 0-3 at t.syncthreads() in line 12``."""
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for x in sorted(waiting, key=lambda x: x.warp):
        groups.setdefault((x.barrier.call, x.lines), []).append(x.warp)
    return ", ".join(f"{_warps(warps)} at {call} in line {_lines(lines)}" for (call, lines), warps in groups.items())


def _lines(lines: tuple[int, ...]) -> str:
    """Return the line of the barrier, and the lines from which its function was called."""
    return ", called in line ".join(str(x) for x in reversed(lines))


def _warps(numbers: list[int]) -> str:
    return f"warp{'s' * (len(numbers) > 1)} {ranges(numbers)}"
