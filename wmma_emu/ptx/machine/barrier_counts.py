# SPDX-License-Identifier: MIT
"""The number of threads that a barrier expects, on which all threads that use it must agree."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Array

ALL = 0
"""Stands for all threads of the block."""

BARRIER_REDUCTIONS: dict[str, Callable[[NDArray[np.bool_], NDArray[np.bool_]], Array]] = {
    "popc": lambda votes, waiting: np.count_nonzero(votes & waiting, axis=(1, 2)).astype(np.uint32),
    "and": lambda votes, waiting: np.asarray((votes | ~waiting).all(axis=(1, 2))),
    "or": lambda votes, waiting: np.asarray((votes & waiting).any(axis=(1, 2))),
}
"""The reduction that each ``bar.red`` computes from the votes of the waiting threads, by block (PTX ISA 9.1, bar.red).
"""


def are_complete(arrived: Array, expected: Array, live: Array) -> NDArray[np.bool_]:
    """Return which barriers are complete: all expected threads arrived, or all threads that have not exited.

    Examples
    --------
    >>> are_complete(np.array([64, 64, 0]), np.array([ALL, 96, ALL]), np.array([64, 128, 0]))
    array([ True, False, False])
    """
    needed = np.where(expected == ALL, live, expected)
    return np.asarray((arrived > 0) & (arrived >= needed))


def require_one_count(
    state: State, instruction: PtxInstruction, n: int, arriving: NDArray[np.bool_], threads: Array | None,
    arrived: NDArray[np.int64], expected_before: NDArray[np.int64],
) -> None:  # fmt: skip
    """Report a finding if threads give a different thread count at a barrier from those that arrived before.

    The manual defines the count as the number of threads that take part, and does not define what happens if threads
    disagree on it.

    ``n`` is the barrier's number; the threads of ``arriving``, (G, W, 32), give the count ``threads``, None for all of
    the block. Before them, ``arrived`` threads of each block had come, (G,), and gave ``expected_before``.
    """
    everyone = state.shape[1] * LANES
    given = np.broadcast_to(np.int64(everyone) if threads is None else threads.astype(np.int64), state.shape)
    given = np.where(given == ALL, everyone, given)
    most = np.where(arriving, given, 0).max(axis=(1, 2))
    expected = np.where(arrived > 0, np.where(expected_before == ALL, everyone, expected_before), most)[:, None, None]
    wrong = arriving & (given != expected)
    note(
        state, instruction, "illegal operand", wrong,
        lambda g, w, lane: f"this thread gives barrier {n} a count of {given[g, w, lane]} threads, and others that "
        f"arrived before gave {expected[g, 0, 0]}: all threads must give the same count",
    )  # fmt: skip
