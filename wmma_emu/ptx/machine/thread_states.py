# SPDX-License-Identifier: MIT
"""Descriptions of where threads are and what they wait for: for deadlocks, and for launches that take too long."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.lane_ranges import name_threads
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
                name, is_one = name_threads(participants, live)
                verb = ("is at" if is_one else "are at") if now == READY else ("waits at" if is_one else "wait at")
                parts.append(
                    f"{name} {verb} {_line(state.program, pc, now)}{_awaited(execution, g, participants, pc, now)}"
                )
    return parts


def _of_block(execution: ControlState, g: int) -> str:
    state = execution.state
    live = state.live[g]
    parts = states_of_threads(execution, g, live)
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
            return f" for {name_threads(missing, execution.state.live[g])[0]}"
    return ""


def _line(program: KernelProgram, pc: int, status: int) -> str:
    """Name the instruction at a pc; threads that wait at a barrier have the pc after it."""
    last = len(program.instructions) - 1
    found = program.instructions[min(max(pc - (status == AT_BARRIER), 0), last)]
    line, text = f"line {found.line} of the PTX", program.text(found.line)
    return f"{found.source} ({line}: {text})" if found.source else f"{line} ({text})"
