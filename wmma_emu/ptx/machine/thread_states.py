# SPDX-License-Identifier: MIT
"""Descriptions of where threads are and what they wait for: for deadlocks, and for launches that take too long."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.lane_ranges import lanes_text, ranges
from wmma_emu.ptx.machine.scheduler import AT_BARRIER, AT_WARP, READY
from wmma_emu.ptx.program.program import KernelProgram

_BLOCKS = 2
_PLACES = 6


def thread_states(execution: ControlState) -> str:
    """Describe the warps of the first blocks that still run: where they are, and what they wait for.

    For example: "block (0, 0, 0): warps 0-2 wait at line 88 (bar.sync 0;) for barrier 0, where 96 of 128 threads have
    arrived; 32 threads have exited".
    """
    blocks = np.flatnonzero(execution.state.live.any(axis=(1, 2)))
    shown = [_of_block(execution, int(g)) for g in blocks[:_BLOCKS]]
    more = len(blocks) - _BLOCKS
    return "; ".join(shown) + (f"; and {more} more blocks" if more > 0 else "")


def states_of_threads(execution: ControlState, g: int, among: NDArray[np.bool_]) -> list[str]:
    """Describe where some threads of a block, (warps, 32), are, each pc once, and what they wait for there."""
    state, scheduler = execution.state, execution.scheduler
    live = state.live[g]
    among = among & live
    together = scheduler.converged_pc
    at = np.full(live.shape, together) if together is not None else scheduler.pc[g]
    status = np.full(live.shape, READY) if together is not None else scheduler.status[g]
    parts = []
    for pc in np.unique(at[among]).tolist()[:_PLACES]:
        for now in (AT_WARP, AT_BARRIER, READY):
            participants = among & (at == pc) & (status == now)
            if participants.any():
                name, is_one = _name_threads(participants, live)
                verb = ("is at" if is_one else "are at") if now == READY else ("waits at" if is_one else "wait at")
                parts.append(
                    f"{name} {verb} {_line(state.program, pc, now)}{_awaited(execution, g, participants, pc, now)}"
                )
    return parts


def _of_block(execution: ControlState, g: int) -> str:
    state = execution.state
    live = state.live[g]
    parts = states_of_threads(execution, g, live)
    parts += state.memory.mbarriers.describe_waits(g)
    exited = np.count_nonzero(~live) - (0 if state.threads.exists is None else np.count_nonzero(~state.threads.exists))
    if exited:
        parts.append(f"{exited} threads have exited")
    return f"block {tuple(state.threads.name_block(g))}: {', '.join(parts)}"


def _awaited(execution: ControlState, g: int, participants: NDArray[np.bool_], pc: int, status: int) -> str:
    """Describe what threads of a block wait for at one pc."""
    if status == AT_BARRIER:
        return execution.barriers.describe_waits(g, participants)
    if status == AT_WARP:
        everyone = np.zeros(execution.state.shape, np.bool_)
        everyone[g] = participants
        missing = execution.synchronising[pc].missing(execution, everyone)[g]
        if missing.any():
            return f" for {_name_threads(missing, execution.state.live[g])[0]}"
    return ""


def _name_threads(participants: NDArray[np.bool_], live: NDArray[np.bool_]) -> tuple[str, bool]:
    """Name whole warps, or lanes of warps, grouped by equal lanes; return also whether it is one warp or lane."""
    whole = [w for w in range(len(participants)) if participants[w].any() and (participants[w] == live[w]).all()]
    names = [f"warp{'s' * (len(whole) > 1)} {ranges(whole)}"] if whole else []
    parts: dict[str, list[int]] = {}
    for w in np.flatnonzero(participants.any(axis=1)).tolist():
        if w not in whole:
            parts.setdefault(lanes_text(np.flatnonzero(participants[w]).tolist()), []).append(w)
    names += [
        f"{lanes} of {'each of ' * (len(warps) > 1)}warp{'s' * (len(warps) > 1)} {ranges(warps)}"
        for lanes, warps in parts.items()
    ]
    is_one = len(names) == 1 and (len(whole) == 1 or (not whole and np.count_nonzero(participants) == 1))
    return " and ".join(names), is_one


def _line(program: KernelProgram, pc: int, status: int) -> str:
    """Name the instruction at a pc; threads that wait at a barrier have the pc after it."""
    last = len(program.instructions) - 1
    found = program.instructions[min(max(pc - (status == AT_BARRIER), 0), last)]
    line, text = f"line {found.line} of the PTX", program.text(found.line)
    return f"{found.source} ({line}: {text})" if found.source else f"{line} ({text})"
