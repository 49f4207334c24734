# SPDX-License-Identifier: MIT
"""The row of a lane operation for one instruction: the name of its code, and the positions of its operands."""

from functools import partial
from typing import NamedTuple

import numpy as np

from wmma_emu.ptx.constants import constant
from wmma_emu.ptx.machine.value_steps import operands_of, require_widths
from wmma_emu.ptx.native.operations.code import Slot, define
from wmma_emu.ptx.native.rows import Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import Immediate, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.state import carry_of
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.operation_entries import CARRY
from wmma_emu.ptx.steps.values import VALUE_STEPS
from wmma_emu.ptx.widths import bits_of_type

BUILT_IN = {"lop3": 3, "prmt": 2}
"""The source that the code contains if it is a constant, and not only the record: the table, and the selector."""


class _Place(NamedTuple):
    """An operand: its slot, and its offset in the memory of the warp; None for a sink and for a built-in constant."""

    slot: Slot
    offset: int | None


def row_of(instruction: PtxInstruction, layout: WarpLayout, context: CompileContext) -> Row | None:
    """Return the row of a lane operation; None for other instructions.

    Raises
    ------
    NotNativeError
        If the operation, or one of its operands, has no native code.
    """
    if instruction.mnemonic not in VALUE_STEPS:
        return None
    operation = VALUE_STEPS[instruction.mnemonic](instruction)
    targets, sources = operands_of(instruction, operation, carry_of(layout.program))
    require_widths(instruction, [*targets, *sources], (*operation.destinations, *operation.sources))
    written = [_target(x, _type(kind), layout) for x, kind in zip(targets, operation.destinations, strict=True)]
    built_in = BUILT_IN.get(instruction.mnemonic)
    read = [
        _built_in(x, kind) if i == built_in and isinstance(x, Immediate) else _source(x, _type(kind), layout)
        for i, (x, kind) in enumerate(zip(sources, operation.sources, strict=True))
    ]
    places = (*written, *read)
    name = f"{instruction.opcode} {_spelled(written)} from {_spelled(read)}"
    record = tuple(x.offset for x in places if x.offset is not None)
    slots = tuple(x.slot for x in written), tuple(x.slot for x in read)
    return Row(name, partial(define, name=name, compute=operation.compute, targets=slots[0], sources=slots[1]), record)


def _spelled(places: list[_Place]) -> str:
    return " ".join(str(x.slot) for x in places)


def _type(kind: str) -> str:
    return "pred" if kind == CARRY else kind


def _target(register: Register | None, kind: str, layout: WarpLayout) -> _Place:
    bits = bits_of_type(kind)
    if register is None:
        return _Place(Slot(bits, 0), None)
    return _Place(Slot(bits, bits_of_type(register.type)), layout.offset_of(register))


def _source(operand: Operand, kind: str, layout: WarpLayout) -> _Place:
    bits, negated = bits_of_type(kind), isinstance(operand, Predicate) and operand.negated
    stored = bits_of_type(operand.type) if isinstance(operand, Register) else bits
    return _Place(Slot(bits, stored, negated), layout.source(operand, kind))


def _built_in(operand: Immediate, kind: str) -> _Place:
    value = np.asarray(constant(operand, kind)).flat[0]
    return _Place(Slot(bits_of_type(kind), 0, constant=int(value)), None)
