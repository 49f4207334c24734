# SPDX-License-Identifier: MIT
"""The values of local variables, parameters and results of functions that are written by a single store.

ptxas keeps these variables in registers, and propagates constants through calls. A variable whose address is taken, or
that is indexed, stays in memory.
"""

from itertools import pairwise

from wmma_emu.ptx.program.flow import writes
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    KernelProgram,
    Operand,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
)
from wmma_emu.ptx.program.rewriting import as_copy
from wmma_emu.ptx.widths import bits_of_type

_Slot = tuple[int, int]
"""The offset in the thread's local memory, and the size in bytes."""


class Slots:
    """The stores to local memory, by the slot that they write."""

    def __init__(self, program: KernelProgram) -> None:
        self._stores: dict[_Slot, list[Operand | _Slot | None]] = {}
        self._is_open = not program.local_bytes or bool(program.frames)
        for instruction in program.instructions:
            self._note(instruction)
        # Overlapping slots stay in memory.
        ordered = sorted(self._stores)
        self._overlapping = {x for a, b in pairwise(ordered) if a[0] + a[1] > b[0] for x in (a, b)}

    def _note(self, instruction: PtxInstruction) -> None:
        is_access = instruction.mnemonic in ("ld", "st") and len(instruction.operands) == 2
        for operand in instruction.operands:
            is_local = isinstance(operand, Symbol) and operand.space == "local"
            if is_local or (isinstance(operand, AddressOperand) and not is_access and _symbol(operand)):
                self._is_open = True
        if is_access and {"local", "param"} & set(instruction.modifiers):
            slot = _slot(instruction)
            if slot is None:
                self._is_open |= "local" in instruction.modifiers
            elif instruction.mnemonic == "st":
                self._stores.setdefault(slot, []).append(instruction.operands[1] if instruction.guard is None else None)
        for copy in (*instruction.copies_in, *instruction.copies_out):
            self._stores.setdefault((copy.target, copy.bytes), []).append((copy.source, copy.bytes))

    def loaded_value(self, instruction: PtxInstruction) -> Operand | None:
        """Return the operand that the only store to the loaded variable writes; None if there is no such store."""
        if self._is_open or instruction.mnemonic != "ld" or len(writes(instruction)) != 1:
            return None
        slot, seen = _slot(instruction), set[_Slot]()
        while slot is not None and slot not in seen and slot not in self._overlapping:
            seen.add(slot)
            stores = self._stores.get(slot, [])
            if len(stores) != 1:
                return None
            stored = stores[0]
            if not isinstance(stored, tuple):
                return stored
            slot = stored
        return None


def _symbol(operand: AddressOperand) -> Symbol | None:
    base = operand.base
    return base if isinstance(base, Symbol) and base.space == "local" else None


def _slot(instruction: PtxInstruction) -> _Slot | None:
    """Return the slot of a load or store of one value, if it accesses local memory at a known offset."""
    address, value = instruction.operands[:2] if instruction.mnemonic == "st" else instruction.operands[1::-1]
    if not isinstance(address, AddressOperand) or {"v2", "v4", "v8"} & set(instruction.modifiers):
        return None
    symbol = _symbol(address)
    if symbol is None or (not isinstance(value, Register) and instruction.mnemonic == "ld"):
        return None
    return symbol.offset + address.offset, bits_of_type(instruction.modifiers[-1]) // 8


def read_through(instruction: PtxInstruction, program: KernelProgram, slots: Slots) -> PtxInstruction:
    """Replace a load of a known variable, or the index of the only thread along an axis, by a copy of the value."""
    if len(instruction.operands) != 2 or instruction.mnemonic not in ("ld", "mov"):
        return instruction
    source = instruction.operands[1]
    value = slots.loaded_value(instruction)
    if instruction.opcode == "mov.u32" and isinstance(source, SpecialRegister) and program.required_block is not None:
        lengths = dict(zip(("tid.x", "tid.y", "tid.z"), program.required_block, strict=True))
        value = Immediate("int", 0) if lengths.get(source.name) == 1 else None
    return instruction if value is None else as_copy(instruction, value)
