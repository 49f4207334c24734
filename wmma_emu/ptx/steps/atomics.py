# SPDX-License-Identifier: MIT
"""``atom`` and ``red``: atomic read-modify-write operations."""

import re

import numpy as np

from wmma_emu.ptx.memory.atomic import atomic
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of, space_of
from wmma_emu.ptx.steps.atomic_table import TYPES, VECTOR_TYPES, operation_of
from wmma_emu.ptx.steps.cluster_stores import async_reduction
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import ORDERINGS, SCOPES, elements_of, is_hint, require_values
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type

_TYPE = re.compile(r"(([busf]|bf)(16|32|64)|b?f16x2|b128)\Z")
_VECTORS = {"v2", "v4", "v8"}
_WORDS = (*ORDERINGS, *SCOPES, "noftz", "vec_8_bit", "vec_16_bit", "vec_32_bit", "v2", "v4", "v8")


def _atomic(instruction: PtxInstruction, context: CompileContext) -> Step:
    if instruction.modifiers[:1] == ("async",):
        return async_reduction(instruction)
    returns = instruction.mnemonic == "atom"
    name, kind = name_and_type(instruction)
    operands = list(instruction.operands)
    if "L2::cache_hint" in instruction.modifiers:
        operands.pop()
    needed = 1 + returns + (2 if name == "cas" else 1)
    if len(operands) != needed:
        raise refusal(instruction, f"expects {needed} operands, not {len(operands)}")
    targets = elements_of(operands.pop(0)) if returns else ()
    spaces = None if space_of(instruction) else ("global", "shared")
    address = address_operand(instruction, operands.pop(0), spaces)
    vectors = [elements_of(x) for x in operands]
    length = len(vectors[0])
    if any(len(x) != length for x in vectors) or (returns and len(targets) != length):
        raise refusal(instruction, "has vectors of different lengths")
    require_values(instruction, *(x for vector in vectors for x in vector))
    size, space = bits_of_type(kind) // 8, space_of(instruction, address)
    ordering = next((x for x in instruction.modifiers if x in ORDERINGS), "relaxed")
    registers = [x if isinstance(x, Register) else None for x in targets]
    keeps_subnormals = "noftz" in instruction.modifiers

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, address, active, "the address")
        first = addresses_of(state, address)
        for k in range(length):
            for vector in vectors:
                state.require_defined(instruction, vector[k], active, "the operand")
            values: tuple[Array, ...] = tuple(state.read(vector[k], kind) for vector in vectors)
            old, undefined = atomic(
                state.memory, instruction, space, first + np.uint64(k * size) if k else first, values, active,
                lambda where: operation_of(name, kind, where, keeps_subnormals=keeps_subnormals),
                size * length if k == 0 else size, state.order, ordering,
            )  # fmt: skip
            if returns:
                state.write(registers[k], old, active, undefined)

    return step


def name_and_type(instruction: PtxInstruction) -> tuple[str, str]:
    """Return the operation and the type of ``atom`` or ``red``."""
    name = kind = ""
    for modifier in instruction.modifiers:
        if modifier in TYPES:
            name = modifier
        elif _TYPE.match(modifier):
            kind = modifier
        elif not (modifier in _WORDS or is_hint(modifier) or modifier.split("::")[0] in ("global", "shared")):
            raise refusal(instruction, f".{modifier} is not a modifier of {instruction.mnemonic}")
    if not name:
        raise refusal(instruction, f"does not contain an operation; legal operations are {', '.join(TYPES)}")
    if instruction.mnemonic == "red" and name in ("exch", "cas"):
        raise refusal(instruction, f"red does not support {name}, which returns the old value; use atom.{name}")
    legal = TYPES[name]
    if _VECTORS & set(instruction.modifiers):
        legal += VECTOR_TYPES.get(name, ())
    if kind not in legal:
        types = ", ".join("." + x for x in legal)
        raise refusal(instruction, f"{name} does not support .{kind}; legal types are {types}")
    return name, kind


MACHINE_STEPS: dict[str, MachineStep] = {"atom": _atomic, "red": _atomic}
"""The builders of the steps of atomic operations, by mnemonic."""
