# SPDX-License-Identifier: MIT
"""vote, match, redux, elect and activemask: collective operations of the lanes of a warp."""

from collections.abc import Callable

import numpy as np

from wmma_emu.chip_sets import chips_since
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions.refusals import unsupported_on
from wmma_emu.ptx.definedness.undefined import Undefined, origin_of_warp
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.availability import require_since
from wmma_emu.ptx.steps.collectives import (
    LANE,
    Participants,
    destinations,
    executing,
    operands_of,
    participants_of,
    require_spelling,
)
from wmma_emu.ptx.steps.lane_operations import Active, Array, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.warp.lane_words import FULL, has_bit, word_of
from wmma_emu.warp.vote import REDUX, VOTES, float_reduction, integer_reduction, lanes_with_equal_values

_VOTE_SPELLINGS = tuple(
    f"vote.{sync}{mode}.{'b32' if mode == 'ballot' else 'pred'}" for sync in ("sync.", "") for mode in VOTES
)


def _vote(instruction: PtxInstruction, context: CompileContext) -> Step:
    words = require_spelling(instruction, _VOTE_SPELLINGS).split(".")
    decide, is_sync = VOTES[words[-2]], words[1] == "sync"
    target, a, *mask = operands_of(instruction, 3 if is_sync else 2)
    require_values(instruction, a, *mask)
    result, _ = destinations(target)

    def step(state: State, active: Active) -> None:
        members = participants_of(state, instruction, mask[0] if is_sync else None, active)
        predicate = state.read(a, "pred")
        found = decide(_word(predicate) & members.together, members.together)
        lost = state.undefined_in(a, predicate.dtype, members.active)
        if lost is not None:
            least, most = (_word(x) & members.together for x in (predicate & ~lost.bits, predicate | lost.bits))
            lost = Undefined(_undecided(words[-2], least, most, members.together), origin_of_warp(lost))
        state.write(result, found, active, lost)

    return step


def _word(predicate: Array) -> Array:
    return np.where(predicate, FULL, np.uint32(0)) if predicate.shape[-1] == 1 else word_of(predicate)


def _undecided(mode: str, least: Array, most: Array, taking_part: Array) -> Array:
    """Return the undecided part of a vote, from the lanes that are certainly true, and the lanes that may be true."""
    if mode == "ballot":
        return least ^ most
    if mode == "all":
        return np.asarray((least == taking_part) != (most == taking_part))
    if mode == "any":
        return np.asarray((least != 0) != (most != 0))
    # uni is undecided unless one lane is certainly true and another certainly false.
    return np.asarray((least != most) & ~((least != 0) & (most != taking_part)))


_MATCH_SPELLINGS = tuple(f"match.{mode}.sync.{kind}" for mode in ("any", "all") for kind in ("b32", "b64"))


def _match(instruction: PtxInstruction, context: CompileContext) -> Step:
    opcode = instruction.opcode.replace("match.sync.any", "match.any.sync").replace("match.sync.all", "match.all.sync")
    words = opcode.split(".")
    if opcode not in _MATCH_SPELLINGS:
        require_spelling(instruction, _MATCH_SPELLINGS)
    target, a, mask = operands_of(instruction, 3)
    require_values(instruction, a, mask)
    result, predicate = destinations(target)

    def step(state: State, active: Active) -> None:
        members = participants_of(state, instruction, mask, active)
        value = state.read(a, words[-1])
        open_pairs, origin = _possible_matches(state.undefined_in(a, value.dtype, members.active), value, members)
        alike = np.full((1, 1, 1), FULL) if value.shape[-1] == 1 else lanes_with_equal_values(value)
        same = alike & members.together
        if words[1] == "any":
            state.write(result, same, active, None if open_pairs is None else Undefined(open_pairs, origin))
            return
        agreed = same == members.together
        lost = lost_words = None
        if open_pairs is not None:
            undecided = (open_pairs != 0) & (same | open_pairs == members.together)
            lost = Undefined(undecided, origin)
            lost_words = Undefined(np.where(undecided, members.together, np.uint32(0)), origin)
        state.write(result, np.where(agreed, same, np.uint32(0)), active, lost_words)
        if predicate is not None:
            state.write(predicate, agreed, active, lost)

    return step


def _possible_matches(undefined: Undefined | None, value: Array, members: Participants) -> tuple[Array | None, Array]:
    """Return for each lane the lanes whose equality is undecided, and the origin of the undefined bits."""
    if undefined is None:
        return None, np.zeros((1, 1, 1), np.uint64)
    full = np.broadcast_shapes(value.shape, undefined.bits.shape, LANE.shape)
    x, bits = np.broadcast_to(value, full), np.broadcast_to(undefined.bits, full)
    lost = bits[..., :, None] | bits[..., None, :]
    is_open = (lost != 0) & ((x[..., :, None] ^ x[..., None, :]) & ~lost == 0) & ~np.eye(LANE.size, dtype=np.bool_)
    return word_of(is_open)[..., 0] & members.together, origin_of_warp(undefined)


_INTEGERS = tuple(f"redux.sync.{x}.{kind}" for x in ("add", "min", "max") for kind in ("u32", "s32"))
_BITS = tuple(f"redux.sync.{x}.b32" for x in ("and", "or", "xor"))
_FLOATS = tuple(f"redux.sync.{x}{a}{n}.f32" for x in ("min", "max") for a in ("", ".abs") for n in ("", ".NaN"))
_CHIPS_OF_FLOATS = chips_since("sm_100f")
"""The chips with reductions of f32 (PTX ISA 9.1, redux.sync; of the modelled chips, ptxas 13.0 accepts only sm_100a and
sm_103a)."""


def _reduce(instruction: PtxInstruction, context: CompileContext) -> Step:
    words = require_spelling(instruction, _INTEGERS + _BITS + _FLOATS).split(".")
    is_float = words[-1] == "f32"
    require_since(instruction.opcode, context.arch, REDUX.since)
    if is_float and context.arch.name not in _CHIPS_OF_FLOATS:
        raise UnsupportedInstructionError(unsupported_on(context.arch, instruction.opcode, _CHIPS_OF_FLOATS))
    target, a, mask = operands_of(instruction, 3)
    require_values(instruction, a, mask)
    result, _ = destinations(target)
    operation = words[2]
    combine = (
        float_reduction(operation, "abs" in words, "NaN" in words)
        if is_float
        else integer_reduction(operation, words[-1])
    )

    def step(state: State, active: Active) -> None:
        members = participants_of(state, instruction, mask, active)
        value = state.read(a, "b32")
        found = _in_groups(members, value, combine)
        lost = state.undefined_in(a, value.dtype, members.active)
        if lost is not None:
            lost = Undefined(_lost_of_reduction(operation, members, value, lost.bits, combine), origin_of_warp(lost))
        state.write(result, found, active, lost)

    return step


def _lost_of_reduction(
    operation: str, members: Participants, value: Array, bits: Array, combine: Callable[[Array, Array], Array]
) -> Array:
    """Return the undefined bits of a reduction: bit by bit, from the lowest one upwards, or all."""
    if operation in ("and", "or"):
        return _in_groups(members, value & ~bits, combine) ^ _in_groups(members, value | bits, combine)
    lost = _in_groups(members, bits, integer_reduction("or", "b32"))
    if operation == "xor":
        return lost
    if operation == "add":
        return ~(lost & (~lost + np.uint32(1))) + np.uint32(1)
    return np.where(lost != 0, FULL, np.uint32(0))


def _in_groups(members: Participants, value: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """Combine the lanes of each membermask; usually all lanes have the same one."""
    groups = np.unique(members.mask)
    if len(groups) == 1:
        return combine(value, has_bit(members.together, LANE))
    shape = np.broadcast_shapes(value.shape, members.together.shape, LANE.shape)
    result = np.zeros(shape, np.uint32)
    for group in groups:
        in_group = members.mask == group
        # Only lanes with this mask count; the participating lanes of the mask are in `together`.
        takes_part = has_bit(np.where(in_group, members.together, np.uint32(0)).max(axis=-1, keepdims=True), LANE)
        np.copyto(result, combine(value, takes_part), where=in_group)
    return result


def _elect(instruction: PtxInstruction, context: CompileContext) -> Step:
    require_spelling(instruction, ("elect.sync",))
    require_since(instruction.opcode, context.arch, "sm_90")
    target, mask = operands_of(instruction, 2)
    require_values(instruction, mask)
    result, predicate = destinations(target)

    def step(state: State, active: Active) -> None:
        members = participants_of(state, instruction, mask, active)
        lowest = members.together & (~members.together + np.uint32(1))  # the lowest set bit alone
        if predicate is not None:
            state.write(predicate, lowest == np.uint32(1) << LANE, active)
        if result is not None:
            state.write(result, np.bitwise_count(lowest - np.uint32(1)).astype(np.uint32), active)

    return step


def _active_mask(instruction: PtxInstruction, context: CompileContext) -> Step:
    require_spelling(instruction, ("activemask.b32",))
    (target,) = operands_of(instruction, 1)
    result, _ = destinations(target)

    def step(state: State, active: Active) -> None:
        now = executing(state, active)
        word = np.full((1, 1, 1), FULL) if now is None else word_of(np.broadcast_to(now, state.shape))
        state.write(result, word, active)

    return step


MACHINE_STEPS: dict[str, MachineStep] = {
    "vote": _vote,
    "match": _match,
    "redux": _reduce,
    "elect": _elect,
    "activemask": _active_mask,
}
"""The builders of the steps, by mnemonic."""
