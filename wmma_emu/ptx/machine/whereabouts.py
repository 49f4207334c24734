# SPDX-License-Identifier: MIT
"""Who is where, in words: for deadlocks, and for launches that take too long."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.positions import READY, Positions
from wmma_emu.ptx.program.program import KernelProgram
from wmma_emu.ptx.state import State

__all__ = ["ranges", "whereabouts"]

_BLOCKS = 2
_PLACES = 6


def whereabouts(state: State, positions: Positions) -> str:
    """Say for the first blocks that still run which of their warps are where.

    Returns
    -------
    str
        "block (0, 0, 0): warps 0-2 wait at line 88 (bar.sync 0;), 32 threads have exited".
    """
    live = state.live
    blocks = np.flatnonzero(live.any(axis=(1, 2)))
    shown = [_of_block(state, positions, int(g)) for g in blocks[:_BLOCKS]]
    more = len(blocks) - _BLOCKS
    return "; ".join(shown) + (f"; and {more} more blocks" if more > 0 else "")


def _of_block(state: State, positions: Positions, g: int) -> str:
    live = state.live[g]
    together = positions.together
    at = np.full(live.shape, together) if together is not None else positions.at[g]
    waiting = np.zeros(live.shape, bool) if together is not None else positions.status[g] != READY
    parts = []
    for place in np.unique(at[live]).tolist()[:_PLACES]:
        for waits in (True, False):
            who = live & (at == place) & (waiting == waits)
            if who.any():
                name, is_one = _who(who, live)
                verb = ("waits at" if is_one else "wait at") if waits else ("is at" if is_one else "are at")
                parts.append(f"{name} {verb} {_line(state.program, place, waits)}")
    exited = np.count_nonzero(~live) - (0 if state.threads.exists is None else np.count_nonzero(~state.threads.exists))
    if exited:
        parts.append(f"{exited} threads have exited")
    return f"block {tuple(state.threads.name_block(g))}: {', '.join(parts)}"


def _who(who: NDArray[np.bool_], live: NDArray[np.bool_]) -> tuple[str, bool]:
    """Name whole warps, or lanes of warps, those of equal lanes together; and say whether it is one warp."""
    whole = [w for w in range(len(who)) if who[w].any() and (who[w] == live[w]).all()]
    names = [f"warp{'s' * (len(whole) > 1)} {ranges(whole)}"] if whole else []
    parts: dict[str, list[int]] = {}
    for w in np.flatnonzero(who.any(axis=1)).tolist():
        if w not in whole:
            parts.setdefault(ranges(np.flatnonzero(who[w]).tolist()), []).append(w)
    names += [
        f"lane{'s' * (not lanes.isdigit())} {lanes} of {'each of ' * (len(warps) > 1)}warp{'s' * (len(warps) > 1)} "
        f"{ranges(warps)}"
        for lanes, warps in parts.items()
    ]
    return " and ".join(names), names == [f"warp {ranges(whole)}"] and len(whole) == 1


def _line(program: KernelProgram, place: int, waits: bool) -> str:
    """Name the instruction at a place; of a barrier that threads wait at it is the one before."""
    last = len(program.instructions) - 1
    found = program.instructions[min(max(place, 0), last)]
    before = program.instructions[place - 1] if 0 < place <= last + 1 else found
    if waits and before.mnemonic in ("bar", "barrier"):
        found = before
    return f"line {found.line} ({program.text(found.line)})"


def ranges(numbers: Iterable[int]) -> str:
    """Write numbers in ascending order as ranges.

    Examples
    --------
    >>> ranges([0, 1, 2, 5])
    '0-2, 5'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
