# SPDX-License-Identifier: MIT
"""Every modelled mnemonic, and the builder of its step."""

from wmma_emu.ptx.steps import (
    async_copies,
    atomics,
    matrix_moves,
    memory_steps,
    mma_steps,
    object_queries,
    register_counts,
    shuffles,
    stack_steps,
    surface_steps,
    tensor_map_steps,
    texture_steps,
    votes,
    wgmma_steps,
    wmma_steps,
)
from wmma_emu.ptx.steps.lane_operations import MachineStep
from wmma_emu.ptx.steps.values import VALUE_STEPS

__all__ = ["MACHINE_STEPS", "NOTHING", "VALUE_STEPS"]

_MODULES = (
    memory_steps, atomics, async_copies, shuffles, votes, matrix_moves, wmma_steps, mma_steps, wgmma_steps,
    stack_steps, texture_steps, surface_steps, object_queries, tensor_map_steps, register_counts,
)  # fmt: skip

MACHINE_STEPS: dict[str, MachineStep] = {
    mnemonic: build for module in _MODULES for mnemonic, build in module.MACHINE_STEPS.items()
}
"""The builders of instructions that need more than the values of one thread: memory, a warp, or the machine."""

NOTHING = {
    "brkpt": "PTX ISA 9.1, brkpt: suspends a debugger's target",
    "pmevent": "PTX ISA 9.1, pmevent: triggers performance monitor events",
}
"""The instructions without an effect on values, with the source of this fact."""
