# SPDX-License-Identifier: MIT
"""Steps of lane operations: read the operands of all threads, compute, write."""

from collections.abc import Callable
from typing import Any

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.constants import constant
from wmma_emu.ptx.definedness.bit_rules import Sources
from wmma_emu.ptx.definedness.rules import is_move, rule_of
from wmma_emu.ptx.definedness.undefined import Undefined, computed, origin_of
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import Immediate, Operand, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.lane_operations import LaneOperation, Step
from wmma_emu.ptx.steps.loads import require_values
from wmma_emu.ptx.steps.operation_entries import CARRY, flat_operands
from wmma_emu.ptx.threads import Active, Array
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits

_Read = Callable[[State], Array]


def value_step(instruction: PtxInstruction, operation: LaneOperation, carry: Register) -> Step:
    """Make the step of a lane operation for all threads; the carry flag is kept in ``carry``."""
    targets, sources = operands_of(instruction, operation, carry)
    require_widths(instruction, [*targets, *sources], (*operation.destinations, *operation.sources))
    compute = operation.compute
    reads = [_reader(operand, _width(type_name)) for operand, type_name in zip(sources, operation.sources, strict=True)]
    used = frozenset(i for operand in sources for i in registers_in(operand))
    indices = [None if x is None else x.index for x in targets]
    casts = [_cast(register, _width(x)) for register, x in zip(targets, operation.destinations, strict=True)]
    lost_of = _lost(instruction, operation, sources, reads, frozenset(used))

    if len(indices) == 1 and indices[0] is not None:
        target, cast = indices[0], casts[0]

        def one(state: State, active: Active) -> None:
            lost = None if state.watched.isdisjoint(used) else lost_of(state, active)
            result: Any = compute(*[read(state) for read in reads])
            result = result if cast is None else result.astype(cast)
            state.put(target, result, active, None if lost is None else lost[0])

        return one

    def several(state: State, active: Active) -> None:
        lost = None if state.watched.isdisjoint(used) else lost_of(state, active)
        results: Any = compute(*[read(state) for read in reads])
        results = results if isinstance(results, tuple) else (results,)
        for i, (index, cast, result) in enumerate(zip(indices, casts, results, strict=True)):
            if index is not None:
                result = result if cast is None else result.astype(cast)
                state.put(index, result, active, None if lost is None else lost[i])

    return several


def _lost(
    instruction: PtxInstruction,
    operation: LaneOperation,
    sources: list[Operand],
    reads: list[_Read],
    used: frozenset[int],
) -> Callable[[State, Active], list[Undefined] | None]:
    """Make a function that returns the undefined bits of the results, if a source has undefined bits."""
    rule, moves = rule_of(instruction.mnemonic, instruction.modifiers), is_move(instruction)
    dtypes = [dtype_of_bits(bits_of_type(_width(x))) for x in operation.sources]
    results = tuple(dtype_of_bits(bits_of_type(_width(x))) for x in operation.destinations)
    names = tuple((registers_in(x) or i, getattr(x, "negated", False)) for i, x in enumerate(sources))

    def lost(state: State, active: Active) -> list[Undefined] | None:
        state.require_arrived(instruction, tuple(used), active)
        found = [state.undefined_in(x, dtype, active) for x, dtype in zip(sources, dtypes, strict=True)]
        if not any(found):
            return None
        bits = [None if x is None else x.bits for x in found]
        undefined = rule(Sources([read(state) for read in reads], bits, names, operation.compute, results))
        origin = origin_of(found) if moves else computed(origin_of(found))
        return [Undefined(x, origin) for x in undefined]

    return lost


def require_widths(instruction: PtxInstruction, operands: list[Any], types: tuple[str, ...]) -> None:
    """Refuse registers of another width than the type's, which only `cvt` accepts (PTX ISA 9.1, Operand Size)."""
    for operand, type_name in zip(operands, types, strict=True):
        if instruction.mnemonic == "cvt" or not isinstance(operand, Register):
            continue
        given, required = bits_of_type(operand.type), bits_of_type(_width(type_name))
        if given != required:
            raise UnsupportedInstructionError(
                f"line {instruction.line}: {operand.name} is a register of .{operand.type}, {given} bits; this "
                f"operand of {instruction.opcode} must be a .{type_name}, {required} bits"
            )


def operands_of(
    instruction: PtxInstruction, operation: LaneOperation, carry: Register
) -> tuple[list[Register | None], list[Operand]]:
    """Return the destinations and the sources of an instruction, including the carry flag if it is one."""
    given = iter(flat_operands(instruction))
    types = (*operation.destinations, *operation.sources)
    flat: list[Any] = [carry if x == CARRY else next(given, ...) for x in types]
    left = len(list(given))
    if left or ... in flat:
        named = len(types) - types.count(CARRY)
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {instruction.opcode} takes {named} operands; "
            f"{named + left - flat.count(...)} are given"
        )
    targets, sources = flat[: len(operation.destinations)], flat[len(operation.destinations) :]
    for x in targets:
        if x is not None and not isinstance(x, Register):
            raise UnsupportedInstructionError(
                f"line {instruction.line}: {instruction.opcode} writes a register, not {x}"
            )
    require_values(instruction, *sources)
    return targets, sources


def _reader(operand: Operand, type_name: str) -> _Read:
    if isinstance(operand, Immediate):
        word = constant(operand, type_name)
        return lambda state: word
    if isinstance(operand, Register):
        dtype = dtype_of_bits(bits_of_type(type_name))
        if dtype_of_bits(bits_of_type(operand.type)) == dtype:
            index = operand.index

            def register(state: State) -> Array:
                value = state.values[index]
                return state.uninitialised[index] if value is None else value

            return register
    return lambda state: state.read(operand, type_name)


def _width(type_name: str) -> str:
    return "pred" if type_name == CARRY else type_name


def _cast(register: Register | None, type_name: str) -> Any:
    if register is None:
        return None
    dtype = dtype_of_bits(bits_of_type(register.type))
    return None if dtype == dtype_of_bits(bits_of_type(type_name)) else dtype
