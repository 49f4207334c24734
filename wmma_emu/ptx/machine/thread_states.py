# SPDX-License-Identifier: MIT
"""Who is where, and waits for what, in words: for deadlocks, and for launches that take too long."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.lane_ranges import lanes_text, ranges
from wmma_emu.ptx.machine.scheduler import AT_BARRIER, AT_WARP, READY
from wmma_emu.ptx.program.program import KernelProgram

_BLOCKS = 2
_PLACES = 6


def thread_states(execution: ControlState) -> str:
    """Say for the first blocks that still run which of their warps are where, and what they wait for.

    As in: "block (0, 0, 0): warps 0-2 wait at line 88 (bar.sync 0;) for barrier 0, where 96 of 128 threads have
    arrived; 32 threads have exited".
    """
    blocks = np.flatnonzero(execution.state.live.any(axis=(1, 2)))
    shown = [_of_block(execution, int(g)) for g in blocks[:_BLOCKS]]
    more = len(blocks) - _BLOCKS
    return "; ".join(shown) + (f"; and {more} more blocks" if more > 0 else "")


def states_of_threads(execution: ControlState, g: int, among: NDArray[np.bool_]) -> list[str]:
    """Say where some threads of a block, (warps, 32), stand, each place once, and what they wait for there."""
    state, positions = execution.state, execution.scheduler
    live = state.live[g]
    among = among & live
    together = positions.converged_pc
    at = np.full(live.shape, together) if together is not None else positions.pc[g]
    status = np.full(live.shape, READY) if together is not None else positions.status[g]
    parts = []
    for pc in np.unique(at[among]).tolist()[:_PLACES]:
        for now in (AT_WARP, AT_BARRIER, READY):
            who = among & (at == pc) & (status == now)
            if who.any():
                name, is_one = _who(who, live)
                verb = ("is at" if is_one else "are at") if now == READY else ("waits at" if is_one else "wait at")
                parts.append(f"{name} {verb} {_line(state.program, pc, now)}{_what_for(execution, g, who, pc, now)}")
    return parts


def _of_block(execution: ControlState, g: int) -> str:
    state = execution.state
    live = state.live[g]
    parts = states_of_threads(execution, g, live)
    parts += state.memory.mbarriers.unmet(g)
    exited = np.count_nonzero(~live) - (0 if state.threads.exists is None else np.count_nonzero(~state.threads.exists))
    if exited:
        parts.append(f"{exited} threads have exited")
    return f"block {tuple(state.threads.name_block(g))}: {', '.join(parts)}"


def _what_for(execution: ControlState, g: int, who: NDArray[np.bool_], pc: int, status: int) -> str:
    """Say what threads of a block that stand at one place wait for there."""
    if status == AT_BARRIER:
        return execution.barriers.awaited(g, who)
    if status == AT_WARP:
        everyone = np.zeros(execution.state.shape, np.bool_)
        everyone[g] = who
        missing = execution.synchronising[pc].missing(execution, everyone)[g]
        if missing.any():
            return f" for {_who(missing, execution.state.live[g])[0]}"
    return ""


def _who(who: NDArray[np.bool_], live: NDArray[np.bool_]) -> tuple[str, bool]:
    """Name whole warps, or lanes of warps, those of equal lanes together; and say whether it is one warp, or lane."""
    whole = [w for w in range(len(who)) if who[w].any() and (who[w] == live[w]).all()]
    names = [f"warp{'s' * (len(whole) > 1)} {ranges(whole)}"] if whole else []
    parts: dict[str, list[int]] = {}
    for w in np.flatnonzero(who.any(axis=1)).tolist():
        if w not in whole:
            parts.setdefault(lanes_text(np.flatnonzero(who[w]).tolist()), []).append(w)
    names += [
        f"{lanes} of {'each of ' * (len(warps) > 1)}warp{'s' * (len(warps) > 1)} {ranges(warps)}"
        for lanes, warps in parts.items()
    ]
    is_one = len(names) == 1 and (len(whole) == 1 or (not whole and np.count_nonzero(who) == 1))
    return " and ".join(names), is_one


def _line(program: KernelProgram, pc: int, status: int) -> str:
    """Name the instruction at a place; of a barrier that threads wait at it is the one before."""
    last = len(program.instructions) - 1
    found = program.instructions[min(max(pc - (status == AT_BARRIER), 0), last)]
    line, text = f"line {found.line} of the PTX", program.text(found.line)
    return f"{found.source} ({line}: {text})" if found.source else f"{line} ({text})"
