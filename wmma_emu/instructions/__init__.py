# SPDX-License-Identifier: MIT
"""The tables of chips and instructions: which instructions each chip supports, and their lookup by name."""

from wmma_emu.instructions.arch import ARCHS, DEFAULT_ARCH, arch_of, default_arch, launching_on
from wmma_emu.instructions.lookup import default_instruction, instructions_of, lookup
from wmma_emu.instructions.machine import MachineCode, lowerings, machine_instructions
from wmma_emu.instructions.spec import OPERANDS, Arch, Instruction, Operand
from wmma_emu.instructions.table import INSTRUCTIONS

__all__ = [
    "ARCHS",
    "DEFAULT_ARCH",
    "INSTRUCTIONS",
    "OPERANDS",
    "Arch",
    "Instruction",
    "MachineCode",
    "Operand",
    "arch_of",
    "default_arch",
    "default_instruction",
    "instructions_of",
    "launching_on",
    "lookup",
    "lowerings",
    "machine_instructions",
]


def __dir__() -> list[str]:
    return sorted(__all__)
