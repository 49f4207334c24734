# SPDX-License-Identifier: MIT
"""The arguments and results of the driver's functions."""

import numpy as np

from wmma_emu.ptx.program.program import Operand, PtxInstruction, Register, Symbol
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active, Array


def read_argument(state: State, instruction: PtxInstruction, operand: Operand | None, active: Active) -> Array:
    """Return an argument of each thread: a register, a number, or the value in a ``.param`` variable."""
    if isinstance(operand, Symbol):
        address = state.memory.address_of(operand)
        values, undefined = state.memory.load(instruction, "local", address, min(operand.bytes, 8), 1, active)
        state.require_written(instruction, undefined, active, "an argument of the call")
        found = values[0]
    else:
        state.require_defined(instruction, operand, active, "an argument of the call")
        found = state.read(operand, "u64")
    return np.broadcast_to(found, state.shape).astype(np.uint64)


def write_result(
    state: State, instruction: PtxInstruction, result: Operand | None, values: Array, active: Active
) -> None:
    """Write the result of each thread to a register or a ``.param`` variable."""
    if isinstance(result, Symbol):
        address = state.memory.address_of(result)
        state.memory.store(instruction, "local", address, values[None], active)
    elif isinstance(result, Register):
        state.write(result, values, active)
