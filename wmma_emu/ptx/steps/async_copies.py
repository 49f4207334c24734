# SPDX-License-Identifier: MIT
"""``cp.async``: copies from global to shared memory that arrive when their thread waits, and groups of them."""

import numpy as np

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import Immediate, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operations import Active, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import is_hint, require_values
from wmma_emu.ptx.steps.mbarrier_steps import arrive_of_copies, mbarrier
from wmma_emu.ptx.threads import Array

_SIZES = {"ca": (4, 8, 16), "cg": (16,)}


def _cp(instruction: PtxInstruction, context: CompileContext) -> Step:
    kind = instruction.modifiers
    if kind[:1] != ("async",):
        raise refusal(instruction, "is no instruction; there is cp.async")
    if "bulk" in kind:
        if "tensor" in kind:
            raise refusal(
                instruction, "copies of tensors (TMA) are not modelled; compile for sm_80 or without descriptors"
            )
        raise refusal(instruction, "bulk copies are not modelled; cp.async.ca and cp.async.cg are")
    if "mbarrier" in kind:
        return arrive_of_copies(instruction, "noinc" in kind)
    if kind[1:] == ("commit_group",):
        return lambda state, active: state.memory.copies.commit(active)
    if kind[1:] == ("wait_all",):
        return lambda state, active: state.memory.copies.wait(None, active)
    if kind[1:] == ("wait_group",):
        pending = _number(instruction, instruction.operands[0] if instruction.operands else None)
        if pending < 0:
            raise refusal(instruction, f"waits for all but a number of groups from 0 on, not {pending}")
        return lambda state, active: state.memory.copies.wait(pending, active)
    return _copy(instruction)


def _number(instruction: PtxInstruction, operand: Operand | None) -> int:
    if not isinstance(operand, Immediate) or operand.kind != "int":
        raise refusal(instruction, f"takes a constant, not {operand}")
    return operand.value


def _copy(instruction: PtxInstruction) -> Step:
    kind = instruction.modifiers[1:]
    spaces = [x.split("::")[0] for x in kind if x.split("::")[0] in ("shared", "global")]
    if not kind or kind[0] not in _SIZES or spaces != ["shared", "global"]:
        raise refusal(
            instruction, "copies from global to shared memory: cp.async.ca.shared.global, cp.async.cg.shared.global"
        )
    for modifier in kind[1:]:
        if not (modifier.split("::")[0] in ("shared", "global") or is_hint(modifier)):
            raise refusal(instruction, f".{modifier} is no modifier of cp.async")
    operands = list(instruction.operands)
    if "L2::cache_hint" in kind:
        operands.pop()
    if len(operands) not in (3, 4):
        raise refusal(instruction, "takes two addresses, a size, and perhaps how much of it is read")
    target, source = (address_operand(instruction, x, (y,)) for x, y in zip(operands, spaces, strict=False))
    size, limit = _number(instruction, operands[2]), operands[3] if len(operands) == 4 else None
    if size not in _SIZES[kind[0]]:
        raise refusal(instruction, f"copies {' or '.join(map(str, _SIZES[kind[0]]))} bytes, not {size}")
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
                note(state, instruction, "illegal operand", wrong, f"reads more bytes than the {size} that it copies")
                read = np.minimum(read, np.uint32(size))
        state.memory.copies.issue(
            instruction, addresses_of(state, target), addresses_of(state, source), size, read, active
        )

    return step


MACHINE_STEPS: dict[str, MachineStep] = {"cp": _cp, "mbarrier": mbarrier}
"""Builders of the steps of asynchronous copies and of mbarriers, by mnemonic."""
