# SPDX-License-Identifier: MIT
"""A table of the mbarriers of blocks that do not make progress: phase, missing arrivals and bytes, waiting threads."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.findings import InSource, Message, Table, place_of
from wmma_emu.ptx.machine.lane_ranges import name_threads
from wmma_emu.ptx.memory.mbarrier_messages import (
    BYTES,
    OVER_ARRIVAL,
    PARITY,
    bytes_left,
    bytes_text,
    phase_left_out,
    wrong_phase,
)
from wmma_emu.ptx.memory.mbarrier_records import BarrierRecord
from wmma_emu.ptx.memory.mbarrier_words import Word
from wmma_emu.ptx.memory.mbarriers import Mbarriers
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note

_BLOCKS = 2
_REFUSED = ("illegal operand", "misaligned", "out of bounds")
"""The kinds of findings about copies that are left out, or moved other bytes."""


def mbarrier_table(state: State) -> Table:
    """Return a line for each mbarrier of the first blocks that still run, those with waiting threads first."""
    blocks = np.flatnonzero(state.live.any(axis=(1, 2)))
    barriers, stride = state.memory.mbarriers, state.memory.shared.stride
    rows: list[Message] = []
    for g in blocks[:_BLOCKS].tolist():
        found = [x for x in sorted(barriers.records) if x // stride == g and x not in barriers.ended]
        waiting = {x: _waiting(state, barriers, x) for x in found}
        name = (f"block {tuple(state.threads.name_block(g))}, ",) if len(blocks) > 1 else ()
        rows += [(*name, *_row(state, barriers, x, waiting[x])) for x in sorted(found, key=lambda x: not waiting[x])]
    return Table(tuple(rows))


def report_wrong_parities(state: State) -> None:
    """Report the waits that caused races because they were for the wrong parity."""
    if not state.findings.are_sought(PARITY):
        return
    barriers = state.memory.mbarriers
    for found in barriers.suspects.confirmed():
        block, warp, lane = found.thread
        state.findings.add(
            PARITY, found.wait.instruction, wrong_phase(barriers.location(found.address), found),
            block=state.threads.name_block(block), thread=state.threads.name_thread(warp, lane),
        )  # fmt: skip


def report_skipped_phases(state: State) -> None:
    """Report waits, in a deadlock, for the phase after a complete one that none of the threads has seen."""
    barriers = state.memory.mbarriers
    if any(x.kind == OVER_ARRIVAL for x in state.findings):
        return  # it has completed phases too early
    for position, record in barriers.records.items():
        phases, g = barriers.phases_of_threads(position), position // state.memory.shared.stride
        for line, who in _waiting(state, barriers, position).items():
            if phases.last_seen(g, who) >= record.phase - 1:
                continue
            threads = np.zeros(state.shape, np.bool_)
            threads[g] = who
            diagnosis = phase_left_out(barriers.location(position), record)
            note(state, barriers.waiting[line][0], PARITY, threads, diagnosis)


def report_bytes_left(state: State) -> None:
    """Report the phases whose bytes are not balanced when all threads have exited, unless a copy was refused."""
    if any(x.kind in _REFUSED for x in state.findings):
        return
    barriers, stride = state.memory.mbarriers, state.memory.shared.stride
    for position, record in barriers.records.items() if state.findings.are_sought(BYTES) else ():
        awaited = barriers.word(position).bytes
        instruction = record.expectation if awaited > 0 else record.delivery
        if not awaited or instruction is None or record.is_reported or position in barriers.ended:
            continue
        where = state.threads.name_block(position // stride)
        state.findings.add(BYTES, instruction, bytes_left(barriers.location(position), record, awaited), block=where)


def remedy_of_deadlock(state: State) -> str:
    """Return the remedy of a deadlock: of arrivals that were too many, of missing bytes, or of a phase left out."""
    if any(x.kind == OVER_ARRIVAL for x in state.findings):
        return "arrivals"
    barriers = state.memory.mbarriers
    awaited = [x for x in barriers.records if x not in barriers.ended and _waiting(state, barriers, x)]
    words = [barriers.word(x) for x in awaited]
    if any(not x.pending and x.bytes for x in words):
        return "bytes"
    return "parity" if any(_leave_a_phase_out(state, barriers, x) for x in awaited) else ""


def _leave_a_phase_out(state: State, barriers: Mbarriers, position: int) -> bool:
    """Return whether threads wait for a phase, and none of them has seen the one before it, which is complete."""
    waiting = _waiting(state, barriers, position)
    seen = barriers.phases_of_threads(position).last_seen(position // state.memory.shared.stride, _any(waiting))
    return barriers.records[position].phase > seen + 1


def _waiting(state: State, barriers: Mbarriers, position: int) -> dict[int, NDArray[np.bool_]]:
    """Return the threads of the block, (warps, 32), that wait for an mbarrier, by the line of the wait."""
    g = position // state.memory.shared.stride
    found = {line: (at[g] == position) & state.live[g] for line, (_, at) in barriers.waiting.items()}
    return {line: who for line, who in found.items() if who.any()}


def _row(state: State, barriers: Mbarriers, position: int, waiting: dict[int, NDArray[np.bool_]]) -> Message:
    record, word, location = barriers.records[position], barriers.word(position), barriers.location(position)
    g = position // state.memory.shared.stride
    row: list[object] = [location, InSource(f" at {location.address:#x}"), f": phase {record.phase} "]
    row += [f"(parity {word.parity}) ", *_missing(word, record)]
    if record.arrival is not None:
        row += ["; the last arrival is at ", place_of(record.arrival)]
    for line, who in waiting.items():
        name, is_one = name_threads(who, state.live[g])
        row += [f"; {name} {'waits' if is_one else 'wait'} for it at ", place_of(barriers.waiting[line][0])]
    if waiting and _leave_a_phase_out(state, barriers, position):
        row += [
            f", and did not wait for phase {record.phase - 1}, which is complete and has parity {1 - word.parity}"
        ]  # fmt: skip
    return tuple(row)  # type: ignore[arg-type]


def _any(waiting: dict[int, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    return np.asarray(np.logical_or.reduce(list(waiting.values())))


def _missing(word: Word, record: BarrierRecord) -> list[object]:
    arrivals = f"{word.pending} of {word.expected} arrivals"
    parts: list[object] = [f"lacks {arrivals} and {bytes_text(max(word.bytes, 0))}"]
    if word.bytes > 0:
        parts.append(f": {bytes_text(record.expected_bytes)} are expected")
        parts += [] if record.expectation is None else [" (", place_of(record.expectation), ")"]
        parts.append(f", copies have delivered {record.arrived_bytes}")
        parts += [] if record.delivery is None else [" (", place_of(record.delivery), ")"]
    if word.bytes < 0:
        parts.append(f"; copies have delivered {bytes_text(-word.bytes)} more than it expects")
        parts += [] if record.delivery is None else [" (", place_of(record.delivery), ")"]
    return parts
