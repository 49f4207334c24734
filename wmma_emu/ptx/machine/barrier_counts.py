# SPDX-License-Identifier: MIT
"""How many threads a barrier expects: one number, whoever names it."""

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

REDUCTIONS_OF_BARRIERS: dict[str, Callable[[NDArray[np.bool_], NDArray[np.bool_]], Array]] = {
    "popc": lambda votes, there: np.count_nonzero(votes & there, axis=(1, 2)).astype(np.uint32),
    "and": lambda votes, there: np.asarray((votes | ~there).all(axis=(1, 2))),
    "or": lambda votes, there: np.asarray((votes & there).any(axis=(1, 2))),
}
"""What a barrier gives to the threads that meet there, from their votes: of each block (PTX ISA 9.1, bar.red)."""


def are_complete(arrived: Array, wanted: Array, live: Array) -> NDArray[np.bool_]:
    """Say which barriers have all that they wait for: of all threads, those that have not exited.

    Examples
    --------
    >>> are_complete(np.array([64, 64, 0]), np.array([ALL, 96, ALL]), np.array([64, 128, 0]))
    array([ True, False, False])
    """
    expected = np.where(wanted == ALL, live, wanted)
    return np.asarray((arrived > 0) & (arrived >= expected))


def require_one_count(
    state: State, instruction: PtxInstruction, n: int, who: NDArray[np.bool_], threads: Array | None,
    arrived: NDArray[np.int64], wanted: NDArray[np.int64],
) -> None:  # fmt: skip
    """Note a finding where threads expect another number of them at a barrier than those that have arrived.

    The manual says what the number is, how many threads take part, and nothing of threads that do not agree on it.

    ``n`` is the barrier's number, ``who`` arrives, (G, W, 32), and expects ``threads``, None for all of the block;
    before, ``arrived`` had come in each block, (G,), and these expected ``wanted``.
    """
    everyone = state.shape[1] * LANES
    mine = np.broadcast_to(np.int64(everyone) if threads is None else threads.astype(np.int64), state.shape)
    mine = np.where(mine == ALL, everyone, mine)
    most = np.where(who, mine, 0).max(axis=(1, 2))
    expected = np.where(arrived > 0, np.where(wanted == ALL, everyone, wanted), most)[:, None, None]
    wrong = who & (mine != expected)
    note(
        state, instruction, "illegal operand", wrong,
        lambda g, w, lane: f"{mine[g, w, lane]} threads are expected here at barrier {n}, and {expected[g, 0, 0]} by "
        "others that meet there: all have to agree",
    )  # fmt: skip
