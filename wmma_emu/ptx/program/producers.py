# SPDX-License-Identifier: MIT
"""The producers of values: reciprocals and negatives that are undone, and values packed from parts."""

from dataclasses import replace

from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.program import (
    Immediate,
    Operand,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)
from wmma_emu.ptx.program.rewriting import with_opcode

FLUSHED_RECIPROCAL = "rcp.approx.ftz.f32"
_NEGATIVES = ("f16", "f16x2", "f32", "f64")
"""The types in which ptxas removes a double negation; bf16x2 is not among them."""
_MINUS_ONES = {"f32": 0xBF80_0000, "f64": 0xBFF0 << 48}


_Piece = Register | Immediate | SpecialRegister | Symbol | None


class Producers:
    """The instructions that write each register."""

    def __init__(self, code: tuple[PtxInstruction, ...]) -> None:
        makers: dict[int, PtxInstruction | None] = {}
        for instruction in code:
            for register in writes(instruction):
                makers[register] = None if register in makers else instruction
        self._written = frozenset(makers)
        self._producers = {register: made for register, made in makers.items() if made is not None}

    def producer(self, operand: Operand | None) -> PtxInstruction | None:
        """Return the only instruction that writes a register; None if there are several."""
        return self._producers.get(operand.index) if isinstance(operand, Register) else None

    def origin(self, operand: Operand | None) -> PtxInstruction | None:
        """Return the unguarded instruction that produced a value, through copies; None if there is none."""
        made = self.producer(operand)
        passed: set[int] = set()  # registers that only copy each other would loop indefinitely
        while made is not None and made.mnemonic == "mov" and made.guard is None and len(made.operands) == 2:
            source = made.operands[1]
            if not isinstance(source, Register) or source.index in passed:
                break
            passed.add(source.index)
            made = self.producer(source)
        return made if made is not None and made.guard is None else None

    def reciprocated(self, operand: Operand | None) -> Register | None:
        """Return the register of which a register contains the reciprocal with .ftz."""
        made = self.origin(operand)
        return self._written_once(made.operands[1]) if made is not None and made.opcode == FLUSHED_RECIPROCAL else None

    def negated(self, operand: Operand | None, kind: str) -> Register | None:
        """Return the register of which a register contains the negative in a type."""
        made = self.origin(operand)
        if made is None or made.modifiers != (kind,) or kind not in _NEGATIVES:
            return None
        if made.mnemonic == "neg":
            return self._written_once(made.operands[1])
        if made.mnemonic == "mul" and len(made.operands) == 3 and kind in _MINUS_ONES:
            first, second = made.operands[1:]
            number, source = (first, second) if isinstance(first, Immediate) else (second, first)
            if isinstance(number, Immediate) and number.value == _MINUS_ONES[kind]:
                return self._written_once(source)
        return None

    def _written_once(self, operand: Operand | None) -> Register | None:
        """Return a register if it has one writer."""
        return operand if isinstance(operand, Register) and operand.index in self._producers else None

    def reads_written_lanes(self, instruction: PtxInstruction) -> bool:
        """Return whether an instruction receives an initialised value from another lane."""
        if instruction.mnemonic != "shfl" or len(instruction.operands) < 2:
            return False
        source = instruction.operands[1]
        return not isinstance(source, Register) or source.index in self._written

    def with_known_pieces(self, instruction: PtxInstruction) -> PtxInstruction:
        """Return an instruction that reads the parts of a packed value instead of the value; a part may be known."""
        if instruction.mnemonic not in ("mov", "cvt") or len(instruction.operands) != 2:
            return instruction
        target, source = instruction.operands
        pieces = self._pieces(source)
        if not pieces or not all(isinstance(x, Immediate) or self._written_once(x) for x in pieces):
            return instruction
        if instruction.opcode == "cvt.u32.u64":
            return with_opcode(instruction, "mov", ("b32",), (target, pieces[0]))
        if not isinstance(target, VectorOperand) or len(target.elements) != len(pieces):
            return instruction
        return replace(instruction, operands=(target, VectorOperand(pieces)))

    def _pieces(self, operand: Operand | None) -> tuple[_Piece, ...]:
        """Return the parts from which a register was packed, the lowest first; empty if it was not packed."""
        made = self.origin(operand)
        if made is None or len(made.operands) != 2 or not isinstance(made.operands[0], Register):
            return ()
        source = made.operands[1]
        if made.mnemonic == "mov" and isinstance(source, VectorOperand):
            return source.elements
        is_widened = made.opcode == "cvt.u64.u32"
        return (source, Immediate("int", 0)) if is_widened and isinstance(source, Register) else ()
