# SPDX-License-Identifier: MIT
"""shfl: a lane reads a register of another lane of its warp."""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, everywhere, joined
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.steps.collectives import (
    LANE,
    Members,
    destinations,
    has_bit,
    members_of,
    operands_of,
    require_spelling,
)
from wmma_emu.ptx.steps.forms import Active, Array, Binding, MachineStep, Step
from wmma_emu.ptx.steps.loads import require_values

if TYPE_CHECKING:
    from wmma_emu.ptx.state import State

__all__ = ["MACHINE_STEPS", "sources"]

_MODES = ("up", "down", "bfly", "idx")
_SPELLINGS = tuple(f"shfl.{sync}{mode}.b32" for sync in ("sync.", "") for mode in _MODES)


def sources(mode: str, b: Array, c: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the lane that each lane reads, and whether that lane is within the bounds that ``c`` sets.

    Parameters
    ----------
    mode : {"up", "down", "bfly", "idx"}
    b : uint32 array
        A distance, an xor mask or a lane: its lowest five bits.
    c : uint32 array
        The clamp in bits 0 to 4, the mask of segments in bits 8 to 12.

    Notes
    -----
    PTX ISA 9.1, section 9.7.9.6 (shfl.sync). A lane whose source is out of bounds reads itself.

    Examples
    --------
    >>> lane, inside = sources("down", np.uint32(4), np.uint32(0x181F))      # segments of eight lanes
    >>> lane[0, 0, :9].tolist(), inside[0, 0, :9].tolist()
    ([4, 5, 6, 7, 4, 5, 6, 7, 12], [True, True, True, True, False, False, False, False, True])
    """
    lane, five = LANE.astype(np.int32), np.int32(31)
    b = b.astype(np.int32) & five
    segments = (c >> np.uint32(8)).astype(np.int32) & five
    first = lane & segments
    last = first | (c.astype(np.int32) & five & ~segments)
    if mode == "up":
        source = lane - b
        inside = source >= last
    else:
        source = {"down": lane + b, "bfly": lane ^ b, "idx": first | (b & ~segments)}[mode]
        inside = source <= last
    return np.where(inside, source, lane), inside


@cache
def _constant_sources(mode: str, b: int, c: int) -> tuple[Array, NDArray[np.bool_]]:
    return sources(mode, np.full((1, 1, 1), b, np.uint32), np.full((1, 1, 1), c, np.uint32))


def _shuffle(instruction: Instruction, binding: Binding) -> Step:
    words = require_spelling(instruction, _SPELLINGS).split(".")
    mode, is_sync = words[-2], words[1] == "sync"
    target, a, b, c, *mask = operands_of(instruction, 5 if is_sync else 4)
    require_values(instruction, a, b, c, *mask)
    result, predicate = destinations(target)
    membermask = mask[0] if is_sync else None

    def step(state: "State", active: Active) -> None:
        members = members_of(state, instruction, membermask, active)
        state.require_defined(instruction, b, members.active, "the lane")
        state.require_defined(instruction, c, members.active, "the clamp")
        lanes, bounds, value = state.read(b, "b32"), state.read(c, "b32"), state.read(a, "b32")
        if lanes.size == bounds.size == 1:
            source, inside = _constant_sources(mode, lanes.item() & 31, bounds.item() & 0x1F1F)
        else:
            source, inside = sources(mode, lanes, bounds)
        missing = None if members.is_everyone else _missing(members, source)
        if result is not None:
            state.require_arrived(instruction, registers_in(a), active)
            lost = state.undefined_in(a, value.dtype)
            if lost is not None:
                lost = Undefined(_taken(lost.bits, source), _taken(lost.origin, source))
            if missing is not None and "undefined" in state.checks:
                lanes = state.memory.origins.of_lanes(instruction, source)
                lost = joined(missing, Undefined(everywhere(missing, value.dtype), lanes), lost)
            state.write(result, _taken(value, source), active, lost)
        if predicate is not None:
            state.write(predicate, inside, active)

    return step


def _taken(value: Array, source: Array) -> Array:
    """What each lane reads: as narrow as the value where all lanes of a warp agree."""
    if value.shape[-1] == 1:
        return value
    if source.shape[:2] == (1, 1):
        taken: Array = value.take(source[0, 0], axis=-1)
        return taken
    shape = np.broadcast_shapes(value.shape, source.shape)
    return np.take_along_axis(np.broadcast_to(value, shape), np.broadcast_to(source, shape), axis=-1)


def _missing(members: Members, source: Array) -> NDArray[np.bool_] | None:
    """Find the lanes that read one which does not take part: what they get is undefined (PTX ISA 9.1, shfl.sync).

    That is no error as long as nobody uses it. Lanes that their own membermask leaves out have a finding already.
    """
    missing = ~has_bit(members.together, source.astype(np.uint32)) & has_bit(members.mask, LANE)
    if members.active is not None:
        missing = missing & members.active
    return missing if missing.any() else None


MACHINE_STEPS: dict[str, MachineStep] = {"shfl": _shuffle}
"""Builders of the steps by mnemonic."""
