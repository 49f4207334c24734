# SPDX-License-Identifier: MIT
"""``txq``, ``suq`` and ``istypep``: questions about textures and surfaces."""

import numpy as np

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import Operand, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operand_rules import require_source, require_target
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.object_operands import object_address, objects_of
from wmma_emu.ptx.textures.objects import Surface, Texture, TextureObject
from wmma_emu.ptx.textures.texels import Texels

_SIZES = ("width", "height", "depth", "array_size")
"""The queries that are modelled, and exist for textures and surfaces."""

_KINDS: dict[str, type[TextureObject] | None] = {"texref": Texture, "surfref": Surface, "samplerref": None}
"""The classes that ``istypep`` asks for; CUDA has no samplers apart from textures."""


def _query(instruction: PtxInstruction, context: CompileContext) -> Step:
    name = next((x for x in instruction.modifiers if x in _SIZES), "")
    if not name:
        raise refusal(instruction, f"expects one of {', '.join('.' + x for x in _SIZES)}")
    if len(instruction.operands) != 2:
        raise refusal(instruction, f"expects 2 operands, not {len(instruction.operands)}")
    target = instruction.operands[0]
    require_target(instruction, target, "b32")
    address = object_address(instruction, instruction.operands[1])
    if address.coordinates:
        raise refusal(instruction, "expects an object without coordinates, [object]")
    kind: type[TextureObject] = Texture if instruction.mnemonic == "txq" else Surface

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, address, active, "the handle")
        state.write(_register(target), np.zeros((1, 1, 1), np.uint32), active)
        for mapped, threads in objects_of(state, instruction, address, active, kind):
            size = _size(mapped.object.texels, name)
            if size is None:
                where = np.broadcast_to(state.live if threads is None else threads, state.shape)
                note(state, instruction, "illegal operand", where, f"{mapped.object!r} has no {name}")
            else:
                state.write(_register(target), np.full((1, 1, 1), size, np.uint32), threads)

    return step


def _size(texels: Texels, name: str) -> int | None:
    if name == "array_size":
        return texels.layers
    axis = _SIZES.index(name)
    return texels.extents[axis] if axis < len(texels.extents) else None


def _is_type(instruction: PtxInstruction, context: CompileContext) -> Step:
    if len(instruction.operands) != 2 or instruction.modifiers[:1] == () or instruction.modifiers[0] not in _KINDS:
        raise refusal(instruction, "expects .texref, .surfref or .samplerref, a predicate and a 64-bit register")
    target, source = instruction.operands
    require_target(instruction, target, "pred")
    require_source(instruction, source, "u64")
    kind = _KINDS[instruction.modifiers[0]]

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, source, active, "the handle")
        handles = state.read(source, "u64")
        objects = state.memory.heap.objects
        legal = [x for x, found in objects.items() if kind is not None and isinstance(found.object, kind)]
        state.write(_register(target), np.isin(handles, np.array(legal, np.uint64)), active)

    return step


def _register(operand: Operand | None) -> Register | None:
    return operand if isinstance(operand, Register) else None


MACHINE_STEPS: dict[str, MachineStep] = {"txq": _query, "suq": _query, "istypep": _is_type}
"""The builders of the steps of questions, by mnemonic."""
