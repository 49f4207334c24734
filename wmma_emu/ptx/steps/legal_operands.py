# SPDX-License-Identifier: MIT
"""Checks whether an assembler accepts an instruction, cached by opcode and kinds of operands."""

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.operand_kinds import kinds_of
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.steps.lane_operand_rules import require_legal_operation
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.machine_operand_rules import require_legal_operands
from wmma_emu.ptx.steps.syntax_table import SYNTAXES
from wmma_emu.ptx.steps.values import VALUE_STEPS

_LEGAL: set[tuple[object, ...]] = set()
"""The legal combinations found so far: source contains many instructions, but few combinations of opcode and kinds."""

_MOST = 1 << 15


def require_legal(instruction: PtxInstruction, operation: LaneOperation | None = None) -> None:
    """Raise an error if an assembler rejects an instruction; ``operation`` is given for lane operations."""
    if operation is None and instruction.mnemonic not in SYNTAXES:
        return
    key = (instruction.opcode, *kinds_of(instruction.operands))
    if key in _LEGAL:
        return
    if operation is None:
        require_legal_operands(instruction)
    else:
        require_legal_operation(instruction, operation)
    if len(_LEGAL) >= _MOST:
        _LEGAL.clear()
    _LEGAL.add(key)


def is_legal(program: KernelProgram) -> bool:
    """Return whether an assembler accepts all instructions; illegal programs are neither folded nor fused."""
    try:
        for instruction in program.instructions:
            if (instruction.opcode, *kinds_of(instruction.operands)) not in _LEGAL:
                build = VALUE_STEPS.get(instruction.mnemonic)
                require_legal(instruction, None if build is None else build(instruction))
    except UnsupportedInstructionError:
        return False
    return True
