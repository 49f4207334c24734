# SPDX-License-Identifier: MIT
"""Stores that copy a structure element by element, with the same order of elements in source and target."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wmma_emu.ptx.program.flow import definitions, registers_in
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    KernelProgram,
    Operand,
    PtxInstruction,
    Register,
    VectorOperand,
)
from wmma_emu.ptx.syntax.literals import wrap
from wmma_emu.ptx.widths import bits_of_type

_CHOICES = ("mov", "selp", "shr", "bfe", "cvt", "prmt", "shfl")
_DEPTH = 8
"""The most instructions through which a value or an address is followed."""


def follows_in_copy(program: KernelProgram, store: PtxInstruction, reach: int) -> tuple[bool, ...]:
    """Return which elements of a store follow, in source and target, an element that another store copies.

    Both stores have the same base, and so have the loads; the distance of the two elements is the same in source and
    target, and less than ``reach`` bytes. A value selected from several is followed to the loads of each.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import Register
    >>> a, b, x, y = (Register(i, f"%r{i}", "b32") for i in range(4))
    >>> def access(name, value, base, offset):
    ...     operands = (value, AddressOperand(base, offset))[:: 1 if name == "ld" else -1]
    ...     return PtxInstruction(f"{name}.u32", name, ("u32",), operands, None, 1, 1)
    >>> code = access("ld", x, a, 8), access("ld", y, a, 12), access("st", x, b, 0), access("st", y, b, 4)
    >>> program = KernelProgram("k", (), 0, (a, b, x, y), code, (), 0, None, 0, None, None, ())
    >>> follows_in_copy(program, code[2], 16), follows_in_copy(program, code[3], 16)
    ((False,), (True,))
    """
    copies = _Copies(program.instructions)
    stores = [x for x in program.instructions if x.mnemonic == "st" and x is not store]
    others = [x for other in stores for x in copies.pieces(other)]
    return tuple(any(copies.precedes(x, one, reach) for x in others) for one in copies.pieces(store))


class _Piece(NamedTuple):
    """An element of a load or a store: a register, and its address as base and offset."""

    register: int | None
    base: Operand
    offset: int


class _Copies:
    """The flow of values from the loads of a program to its stores."""

    def __init__(self, code: Sequence[PtxInstruction]) -> None:
        self._code, self._writers = code, definitions(code)
        self._loaded: dict[int, list[_Piece]] = {}

    def precedes(self, first: _Piece, then: _Piece, reach: int) -> bool:
        """Return whether two stored elements are copies from one structure, in the same order and distance."""
        between = then.offset - first.offset
        if first.base != then.base or not 0 < between < reach:
            return False
        behind = self._sources(then.register)
        return any(x.base == y.base and y.offset - x.offset == between
                   for x in self._sources(first.register) for y in behind)  # fmt: skip

    def _sources(self, register: int | None) -> list[_Piece]:
        """Return the loaded elements that a register may hold, and remember them."""
        if register is None:
            return []
        if register not in self._loaded:
            self._loaded[register] = [*self._followed(register)]
        return self._loaded[register]

    def _followed(self, register: int) -> Iterator[_Piece]:
        reached, last = {register}, {register}
        for _ in range(_DEPTH):
            writers = [(x, self._code[pc]) for x in last for pc in self._writers.get(x, ())]
            for written, instruction in writers:
                if instruction.mnemonic == "ld":
                    yield from (x for x in self.pieces(instruction) if x.register == written)
            chosen = [y for _, x in writers if x.mnemonic in _CHOICES for y in x.operands[1:]]
            last = {x for operand in chosen for x in registers_in(operand)} - reached
            reached |= last

    def pieces(self, instruction: PtxInstruction) -> list[_Piece]:
        if len(instruction.operands) < 2 or "bulk" in instruction.modifiers:
            return []
        data, address = instruction.operands[:2] if instruction.mnemonic == "ld" else instruction.operands[1::-1]
        if not isinstance(address, AddressOperand):
            return []
        base, offset = self._resolved(address.base, address.offset)
        size = bits_of_type(instruction.modifiers[-1]) // 8
        elements = data.elements if isinstance(data, VectorOperand) else (data,)
        return [
            _Piece(x.index if isinstance(x, Register) else None, base, offset + i * size)
            for i, x in enumerate(elements)
        ]

    def _resolved(self, base: Operand, offset: int, depth: int = _DEPTH) -> tuple[Operand, int]:
        """Follow an address back through additions of constants, while all writers of its register agree."""
        pcs = self._writers.get(base.index, ()) if isinstance(base, Register) and depth else ()
        found = {self._added(self._code[x]) for x in pcs}
        if len(found) != 1 or None in found:
            return base, offset
        ((source, number),) = (x for x in found if x is not None)
        return self._resolved(source, offset + number, depth - 1)

    @staticmethod
    def _added(instruction: PtxInstruction) -> tuple[Register, int] | None:
        source, *more = instruction.operands[1:] or (None,)
        if not isinstance(source, Register) or instruction.mnemonic not in ("add", "mov"):
            return None
        number = more[0] if more else Immediate("int", 0)
        return (source, wrap("s64", number.value).value) if isinstance(number, Immediate) else None
