# SPDX-License-Identifier: MIT
"""``cp.async``: asynchronous copies from global to shared memory, and groups of copies."""

import numpy as np

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import Immediate, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of
from wmma_emu.ptx.steps.bulk_copies import bulk_copy
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import is_hint, require_values
from wmma_emu.ptx.steps.mbarrier_steps import arrive_of_copies, mbarrier
from wmma_emu.ptx.threads import Array

_SIZES = {"ca": (4, 8, 16), "cg": (16,)}


def _cp(instruction: PtxInstruction, context: CompileContext) -> Step:
    kind = instruction.modifiers
    if "bulk" in kind[:3]:
        return bulk_copy(instruction)
    if kind[:1] != ("async",):
        raise refusal(instruction, "does not exist; did you mean cp.async?")
    if "mbarrier" in kind:
        return arrive_of_copies(instruction, "noinc" in kind)
    if kind[1:] == ("commit_group",):
        return lambda state, active: state.memory.copies.commit(active)
    if kind[1:] == ("wait_all",):
        return lambda state, active: state.memory.copies.wait(None, active)
    if kind[1:] == ("wait_group",):
        pending = _number(instruction, instruction.operands[0] if instruction.operands else None)
        if pending < 0:
            raise refusal(instruction, f"expects a number of pending groups from 0 upwards, not {pending}")
        return lambda state, active: state.memory.copies.wait(pending, active)
    return _copy(instruction)


def _number(instruction: PtxInstruction, operand: Operand | None) -> int:
    if not isinstance(operand, Immediate) or operand.kind != "int":
        raise refusal(instruction, "expects an integer constant")
    return operand.value


def _copy(instruction: PtxInstruction) -> Step:
    kind = instruction.modifiers[1:]
    spaces = [x.split("::")[0] for x in kind if x.split("::")[0] in ("shared", "global")]
    if not kind or kind[0] not in _SIZES or spaces != ["shared", "global"]:
        raise refusal(instruction, "does not exist; expected cp.async.ca.shared.global or cp.async.cg.shared.global")
    for modifier in kind[1:]:
        if not (modifier.split("::")[0] in ("shared", "global") or is_hint(modifier)):
            raise refusal(instruction, f".{modifier} is not a modifier of cp.async")
    operands = list(instruction.operands)
    if "L2::cache_hint" in kind:
        operands.pop()
    if len(operands) not in (3, 4):
        raise refusal(instruction, "expects two addresses, a size, and optionally the number of bytes to read")
    target, source = (address_operand(instruction, x, (y,)) for x, y in zip(operands, spaces, strict=False))
    size, limit = _number(instruction, operands[2]), operands[3] if len(operands) == 4 else None
    if size not in _SIZES[kind[0]]:
        raise refusal(instruction, f"copies {' or '.join(map(str, _SIZES[kind[0]]))} bytes; {size} is not a legal size")
    require_values(instruction, *operands[3:])
    ignores = isinstance(limit, Predicate) or (isinstance(limit, Register) and limit.type == "pred")

    def step(state: State, active: Active) -> None:
        for operand in (target, source, limit):
            state.require_defined(instruction, operand, active, "an operand")
        if limit is None:
            read: Array = np.full((1, 1, 1), size, np.uint32)
        elif ignores:
            read = np.where(state.read(limit, "pred"), np.uint32(0), np.uint32(size))
        else:
            read = state.read(limit, "u32")
            if read.max() > size:
                wrong = (read > np.uint32(size)) & (state.live if active is None else active)
                note(state, instruction, "illegal operand", wrong, f"reads more than the {size} bytes that it copies")
                read = np.minimum(read, np.uint32(size))
        state.memory.copies.issue(
            instruction, addresses_of(state, target), addresses_of(state, source), size, read, active
        )

    return step


MACHINE_STEPS: dict[str, MachineStep] = {"cp": _cp, "mbarrier": mbarrier}
"""The builders of the steps of asynchronous copies and mbarriers, by mnemonic."""
