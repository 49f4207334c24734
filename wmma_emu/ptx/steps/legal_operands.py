# SPDX-License-Identifier: MIT
"""Is an instruction one that an assembler takes: asked once of each opcode with operands of each kind."""

from wmma_emu.ptx.program.operand_kinds import kinds_of
from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.steps.forms import Form
from wmma_emu.ptx.steps.machine_operands import require_legal_operands
from wmma_emu.ptx.steps.operand_rules import require_legal_form
from wmma_emu.ptx.steps.syntax_table import SYNTAXES

__all__ = ["require_legal"]

_LEGAL: set[tuple[object, ...]] = set()
"""What was judged legal: a text has many instructions, and few opcodes with operands of few kinds."""

_MOST = 1 << 15


def require_legal(instruction: Instruction, form: Form | None = None) -> None:
    """Refuse what an assembler refuses; ``form`` is that of an instruction of one thread.

    Raises
    ------
    UnsupportedInstructionError
    """
    if form is None and instruction.mnemonic not in SYNTAXES:
        return
    key = (instruction.opcode, *kinds_of(instruction.operands))
    if key in _LEGAL:
        return
    if form is None:
        require_legal_operands(instruction)
    else:
        require_legal_form(instruction, form)
    if len(_LEGAL) >= _MOST:
        _LEGAL.clear()
    _LEGAL.add(key)
