# SPDX-License-Identifier: MIT
"""``tensormap``: maps that a kernel makes, field by field, and copies from shared to global memory."""

from typing import NamedTuple

import numpy as np

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import AddressOperand, Immediate, Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES
from wmma_emu.ptx.tensor_maps.encoding import MAP_BYTES
from wmma_emu.ptx.threads import Array


class _Part(NamedTuple):
    """Bits of a word of the map: the value's bits from ``taken`` upwards."""

    word: int
    shift: int
    bits: int
    taken: int = 0


_FIELDS = {
    "global_address": (_Part(0, 0, 32), _Part(1, 0, 32, 32)),
    "rank": (_Part(2, 4, 3),),
    "elemtype": (_Part(2, 7, 4),),
    "interleave_layout": (_Part(2, 11, 2),),
    "swizzle_mode": (_Part(2, 13, 2), _Part(2, 22, 1, 2)),
    "fill_mode": (_Part(2, 15, 1),),
}
"""The fields without an index: the bits that ptxas 12.9 inserts."""

_INDEXED = {"box_dim": 5, "global_dim": 5, "element_stride": 5, "global_stride": 4}
"""The fields with an index, and the number of indices."""

_CHOICES = {"interleave_layout": 3, "swizzle_mode": 5, "fill_mode": 2}
"""The number of values of the fields that are constants (PTX ISA 9.1, tensormap.replace)."""

NARROW = "names elements of 4 or 6 bits, which sm_90 does not have and are not modelled"
"""The reason why some element types are refused."""

_ELEMENT_TYPES = 16
"""The element types of PTX (PTX ISA 9.1, tensormap.replace)."""

_TF32 = _Part(2, 16, 1)


def _parts_of(field: str, index: int) -> tuple[_Part, ...]:
    """Return the bits of a field with an index."""
    if field == "box_dim":
        return (_Part(14, 8 * (index - 1), 8) if index else _Part(13, 24, 8),)
    if field == "global_dim":
        return (_Part(8 + index, 0, 32),)
    if field == "element_stride":
        return (_Part(13, 3 * index, 3),)
    return _Part(3 + index, 0, 32, 4), _Part(7, 4 * index, 4, 36)


def _tensormap(instruction: PtxInstruction, context: CompileContext) -> Step:
    if "cp_fenceproxy" in instruction.modifiers:
        return _copied_map(instruction)
    field = next((x for x in instruction.modifiers if x in _FIELDS or x in _INDEXED), "")
    if "replace" not in instruction.modifiers or not field:
        fields = ", ".join([*_FIELDS, *_INDEXED])
        raise refusal(instruction, f"does not exist; tensormap.replace.tile has the fields {fields}")
    operands = list(instruction.operands)
    expected = 3 if field in _INDEXED else 2
    if len(operands) != expected:
        raise refusal(instruction, f"expects {expected} operands, not {len(operands)}")
    address, value = address_operand(instruction, operands[0]), operands[-1]
    require_values(instruction, value)
    if field in _INDEXED:
        parts = _parts_of(field, _constant(instruction, operands[1], _INDEXED[field]))
        return _replace(instruction, address, parts, value, less=0 if field == "global_stride" else 1)
    if field == "elemtype":
        number = _constant(instruction, value, _ELEMENT_TYPES)
        if number >= len(ELEMENT_TYPES):
            raise refusal(instruction, NARROW)
        element = ELEMENT_TYPES[number]
        found = [*_FIELDS[field], *([_TF32] if element.is_tf32 else [])]
        return _replace(instruction, address, tuple(found), Immediate("int", element.code), always=_TF32)
    if field in _CHOICES:
        _constant(instruction, value, _CHOICES[field])
    return _replace(instruction, address, _FIELDS[field], value)


def _constant(instruction: PtxInstruction, operand: Operand | None, count: int) -> int:
    if not isinstance(operand, Immediate) or operand.kind != "int" or not 0 <= operand.value < count:
        raise refusal(instruction, f"expects a constant from 0 to {count - 1}")
    return operand.value


def _replace(
    instruction: PtxInstruction, address: AddressOperand, parts: tuple[_Part, ...], value: Operand | None, *,
    less: int = 0, always: _Part | None = None,
) -> Step:  # fmt: skip
    """Build the step that inserts a value in the map, with plain loads and stores of the words that it changes.

    The bit ``always`` of the parts is set, whatever the value.
    """
    space = next((x.split("::")[0] for x in instruction.modifiers if x.split("::")[0] in ("global", "shared")), "")
    wide = "b64" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, address, active, "the address of the tensor map")
        state.require_defined(instruction, value, active, "the new value of the field")
        given = state.read(value, "b64" if wide else "b32").astype(np.uint64) - np.uint64(less)
        first = addresses_of(state, address)
        for part in parts:
            where = first + np.uint64(4 * part.word)
            word, _ = state.memory.load(instruction, space, where, 4, 1, active)
            mask = np.uint32(((1 << part.bits) - 1) << part.shift)
            new: Array = (given >> np.uint64(part.taken)).astype(np.uint32) << np.uint32(part.shift)
            new = np.full_like(new, mask) if part is always else new & mask
            state.memory.store(instruction, space, where, word & ~mask | new, active)

    return step


def _copied_map(instruction: PtxInstruction) -> Step:
    """Build the step of a copy of a map by a whole warp, a word by each lane, as ptxas makes it."""
    if len(instruction.operands) != 3:
        raise refusal(instruction, f"expects 3 operands, not {len(instruction.operands)}")
    target, source = (
        address_operand(instruction, x, (space,))
        for x, space in zip(instruction.operands[:2], ("global", "shared"), strict=True)
    )
    _constant(instruction, instruction.operands[2], MAP_BYTES + 1)
    own = (np.arange(LANES, dtype=np.uint64) * np.uint64(4)).reshape(1, 1, LANES)

    def step(state: State, active: Active) -> None:
        for operand in (target, source):
            state.require_defined(instruction, operand, active, "the address of the tensor map")
        everyone = np.full((1, 1, 1), 0xFFFFFFFF, np.uint32)
        state.causality.meet_lanes(active, everyone, state.live)
        words, undefined = state.memory.load(instruction, "shared", addresses_of(state, source) + own, 4, 1, active)
        state.memory.store(instruction, "global", addresses_of(state, target) + own, words, active, undefined=undefined)
        if state.memory.proxies is not None:
            state.memory.proxies.map_releases.execute(state.live if active is None else active)
        state.causality.meet_lanes(active, everyone, state.live)

    return step


MACHINE_STEPS: dict[str, MachineStep] = {"tensormap": _tensormap}
"""The builder of the steps of tensormap."""
