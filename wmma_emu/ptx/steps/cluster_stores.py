# SPDX-License-Identifier: MIT
"""``st.async`` and ``red.async``: asynchronous stores and reductions, which complete transactions of an mbarrier."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.atomic import atomic
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import Operand, PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import address_operand, addresses_of, space_of
from wmma_emu.ptx.steps.atomic_table import operation_of
from wmma_emu.ptx.steps.barrier_accesses import BarrierAccesses, barrier_accesses, barrier_operand, deliver
from wmma_emu.ptx.steps.bulk_reductions import SHARED_REDUCTIONS
from wmma_emu.ptx.steps.lane_operations import Active, Step
from wmma_emu.ptx.steps.loads import elements_of, require_values
from wmma_emu.ptx.threads import Array
from wmma_emu.ptx.widths import bits_of_type

_STORED = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
_ALSO = {"add": ("s64",)}
"""Types of ``red.async`` that the manual does not list, and that ptxas 13.0 accepts; the sum has the bits of u64."""

_VECTORS = {"v2": 2, "v4": 4}

_Write = Callable[[State, Array, NDArray[np.bool_]], None]


def async_store(instruction: PtxInstruction) -> Step:
    """Build the step of ``st.async`` to the shared memory of the block's cluster: of the block itself."""
    kind = _kind(instruction, _STORED)
    length = next((n for name, n in _VECTORS.items() if name in instruction.modifiers), 1)
    values, space = _values(instruction, length), space_of(instruction)

    def write_of(state: State, active: Active) -> _Write:
        parts = [state.read(x, kind) for x in values]
        given = parts[0][None] if len(parts) == 1 else np.stack(np.broadcast_arrays(*parts))
        undefined = state.undefined_of(values, given.dtype, active)
        return lambda state, where, mask: state.memory.store(
            instruction, space, where, given, mask, undefined=undefined
        )

    return _completing(instruction, values, bits_of_type(kind) // 8 * length, write_of)


def async_reduction(instruction: PtxInstruction) -> Step:
    """Build the step of ``red.async`` to the shared memory of the block's cluster: of the block itself."""
    name = next((x for x in instruction.modifiers if x in SHARED_REDUCTIONS), "")
    if not name:
        raise refusal(instruction, f"needs an operation: {', '.join('.' + x for x in SHARED_REDUCTIONS)}")
    kind = _kind(instruction, SHARED_REDUCTIONS[name] + _ALSO.get(name, ()))
    values, space = _values(instruction, 1), space_of(instruction)
    as_kind = "u64" if kind == "s64" else kind
    size = bits_of_type(kind) // 8

    def write_of(state: State, active: Active) -> _Write:
        state.require_defined(instruction, values[0], active, "the operand")
        value = state.read(values[0], kind)

        def write(state: State, where: Array, mask: NDArray[np.bool_]) -> None:
            atomic(
                state.memory, instruction, space, where, (value,), mask,
                lambda found: operation_of(name, as_kind, found), size, state.order, "relaxed",
            )  # fmt: skip

        return write

    return _completing(instruction, values, size, write_of)


def _kind(instruction: PtxInstruction, types: tuple[str, ...]) -> str:
    given = instruction.modifiers[-1]
    if given not in types:
        raise refusal(instruction, f"does not exist with .{given}; legal types are {', '.join('.' + x for x in types)}")
    if len(instruction.operands) != 3:
        raise refusal(instruction, f"expects 3 operands, not {len(instruction.operands)}")
    return given


def _values(instruction: PtxInstruction, length: int) -> tuple[Operand | None, ...]:
    values = elements_of(instruction.operands[1])
    if len(values) != length:
        raise refusal(instruction, f"expects {length} values, not {len(values)}")
    require_values(instruction, *values)
    return values


def _completing(
    instruction: PtxInstruction, values: tuple[Operand | None, ...], size: int,
    write_of: Callable[[State, Active], _Write],
) -> Step:  # fmt: skip
    """Build the step of a write of ``size`` bytes by each thread, which completes as many bytes of its mbarrier."""
    address = address_operand(instruction, instruction.operands[0], ("shared",))
    barrier = barrier_operand(instruction, instruction.operands[2])

    def step(state: State, active: Active) -> None:
        state.require_arrived(instruction, tuple(i for x in values for i in registers_in(x)), active)
        state.require_defined(instruction, address, active, "the address")
        where, write, barriers = addresses_of(state, address), write_of(state, active), state.memory.mbarriers
        accesses = barrier_accesses(state, instruction, barrier, active, write=False)

        def complete(accesses: BarrierAccesses) -> None:
            write(state, where, accesses.mask(state.shape))
            barriers.release(accesses.positions, accesses.at, state.live, relaxed=False)
            deliver(state, instruction, accesses, np.full(len(accesses.positions), size, np.int64), size)

        if state.memory.asynchrony.delays(instruction):
            barriers.postpone(accesses.positions, lambda chosen: complete(accesses.only(chosen)))
        else:
            complete(accesses)

    return step
