# SPDX-License-Identifier: MIT
"""shfl: a lane reads a register of another lane of its warp."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, everywhere, joined
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import (
    LANE,
    Participants,
    destinations,
    operands_of,
    participants_of,
    require_spelling,
)
from wmma_emu.ptx.steps.lane_operations import Active, Array, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.warp.lane_words import has_bit
from wmma_emu.warp.shuffle import sources

_MODES = ("up", "down", "bfly", "idx")
_SPELLINGS = tuple(f"shfl.{sync}{mode}.b32" for sync in ("sync.", "") for mode in _MODES)


@cache
def _constant_sources(mode: str, b: int, c: int) -> tuple[Array, NDArray[np.bool_]]:
    return sources(mode, np.full((1, 1, 1), b, np.uint32), np.full((1, 1, 1), c, np.uint32))


def _shuffle(instruction: PtxInstruction, context: CompileContext) -> Step:
    words = require_spelling(instruction, _SPELLINGS).split(".")
    mode, is_sync = words[-2], words[1] == "sync"
    target, a, b, c, *mask = operands_of(instruction, 5 if is_sync else 4)
    require_values(instruction, a, b, c, *mask)
    result, predicate = destinations(target)
    membermask = mask[0] if is_sync else None

    def step(state: State, active: Active) -> None:
        members = participants_of(state, instruction, membermask, active)
        state.require_defined(instruction, b, members.active, "the lane")
        state.require_defined(instruction, c, members.active, "the clamp")
        lanes, bounds, value = state.read(b, "b32"), state.read(c, "b32"), state.read(a, "b32")
        if lanes.size == bounds.size == 1:
            source, inside = _constant_sources(mode, lanes.item() & 31, bounds.item() & 0x1F1F)
        else:
            source, inside = sources(mode, lanes, bounds)
        missing = None if members.is_whole_warp else _missing(members, source)
        if result is not None:
            state.require_arrived(instruction, registers_in(a), active)
            lost = state.undefined_in(a, value.dtype)
            if lost is not None:
                lost = Undefined(_read_lanes(lost.bits, source), _read_lanes(lost.origin, source))
            if missing is not None and "undefined" in state.checks:
                lanes = state.memory.origins.of_lanes(instruction, source)
                lost = joined(missing, Undefined(everywhere(missing, value.dtype), lanes), lost)
            state.write(result, _read_lanes(value, source), active, lost)
        if predicate is not None:
            state.write(predicate, inside, active)

    return step


def _read_lanes(value: Array, source: Array) -> Array:
    """Return the value that each lane reads, narrow if all lanes of a warp agree."""
    if value.shape[-1] == 1:
        return value
    if source.shape[:2] == (1, 1):
        taken: Array = value.take(source[0, 0], axis=-1)
        return taken
    shape = np.broadcast_shapes(value.shape, source.shape)
    return np.take_along_axis(np.broadcast_to(value, shape), np.broadcast_to(source, shape), axis=-1)


def _missing(members: Participants, source: Array) -> NDArray[np.bool_] | None:
    """Return the lanes that read a non-participating lane: their result is undefined (PTX ISA 9.1, shfl.sync).

    This is an error only if the result is used. Lanes that their own membermask excludes already have a finding.
    """
    missing = ~has_bit(members.together, source.astype(np.uint32)) & has_bit(members.mask, LANE)
    if members.active is not None:
        missing = missing & members.active
    return missing if missing.any() else None


MACHINE_STEPS: dict[str, MachineStep] = {"shfl": _shuffle}
"""The builders of the steps, by mnemonic."""
