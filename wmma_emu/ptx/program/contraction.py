# SPDX-License-Identifier: MIT
"""Products and sums that leave their rounding open, fused as ptxas fuses them.

``mul.f32`` and ``add.f32`` without ``.rn`` are the assembler's to contract (PTX ISA, add and mul). What ptxas 12.9 does
for sm_90 at its defaults was read out of its machine code: a product is fused if all that uses it can take it in; of
two products in one sum the one that nothing else uses, and the first of those; ``.ftz`` has to agree; guarded or
saturated products stay. Products that are copied or negated on their way, which ptxas looks through, stay here:
compilers leave none.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from wmma_emu.ptx.operands import bits_of_type
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Instruction,
    KernelProgram,
    Operand,
    PairOperand,
    Predicate,
    Register,
    Target,
    VectorOperand,
)

__all__ = ["contract"]

_TYPES = frozenset(("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"))
_ENDS = frozenset(("bra", "brx", "call", "ret", "exit", "trap"))


def contract(program: KernelProgram) -> tuple[KernelProgram, tuple[int, ...]]:
    """Fuse what ptxas fuses.

    Returns
    -------
    KernelProgram
    tuple of int
        Lines of the products that are no more.
    """
    plan = _Plan(program)
    if not plan.taken:
        return program, ()
    gone = {product for product, _ in plan.taken.values()}
    lines = tuple(sorted({program.instructions[x].line for x in gone}))
    return _rebuilt(program, plan.taken, gone), lines


class _Plan:
    """Which sum takes which product in: ``taken`` maps a sum's place to the product's, and to its position there."""

    def __init__(self, program: KernelProgram) -> None:
        self._code = program.instructions
        self._uses: dict[int, list[int]] = defaultdict(list)
        self._writes: dict[int, list[int]] = defaultdict(list)
        for place, instruction in enumerate(self._code):
            for register in _registers(instruction):
                self._uses[register].append(place)
            for register in _registers_of(instruction.operands[0] if instruction.operands else None):
                self._writes[register].append(place)
        self._blocks = self._basic_blocks()
        self.taken: dict[int, tuple[int, int]] = {}
        products = [i for i, x in enumerate(self._code) if _is_open(x, "mul") and x.guard is None]
        candidates = {i: sums for i in products if (sums := self._sums(i))}
        for count in sorted({len(x) for x in candidates.values()}):
            self._take({i: x for i, x in candidates.items() if len(x) == count})

    def _take(self, candidates: dict[int, list[int]]) -> None:
        """Give products to their sums, where all of these are free; a sum of two takes its first operand."""
        chosen: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for product, sums in candidates.items():
            for place in sums:
                chosen[place].append((self._position(product, place), product, place))
        first = {place: min(x)[1] for place, x in chosen.items()}
        for product, sums in candidates.items():
            if all(place not in self.taken and first[place] == product for place in sums):
                for place in sums:
                    self.taken[place] = product, self._position(product, place)

    def _position(self, product: int, place: int) -> int:
        register = self._code[product].operands[0]
        return 1 if self._code[place].operands[1] == register else 2

    def _sums(self, product: int) -> list[int]:
        """Places of all that uses a product, if each can take it in; else none."""
        code, target = self._code, self._code[product].operands[0]
        if not isinstance(target, Register) or self._writes[target.index] != [product]:
            return []
        uses = [x for x in self._uses[target.index] if x != product]
        factors = [x.index for x in code[product].operands[1:] if isinstance(x, Register)]
        is_square = self._uses[target.index].count(product) > 1
        for place in uses:
            user = code[place]
            fits = _is_open(user, "add") or _is_open(user, "sub")
            if not fits or uses.count(place) > 1 or place < product or is_square:
                return []
            if _kind(user) != _kind(code[product]) or not all(self._is_stable(x, product, place) for x in factors):
                return []
        return uses

    def _is_stable(self, register: int, start: int, end: int) -> bool:
        """Whether a register holds the same at two places: written once at all, or not between them in one block."""
        writes = self._writes[register]
        if len(writes) <= 1:
            return True
        return self._blocks[start] == self._blocks[end] and not any(start <= x < end for x in writes)

    def _basic_blocks(self) -> list[int]:
        """Number of each instruction's basic block."""
        targets = {x.index for i in self._code for x in i.operands if isinstance(x, Target)}
        targets |= {x for i in self._code for x in i.targets}
        numbers, number = [], 0
        for place, instruction in enumerate(self._code):
            number += place in targets
            numbers.append(number)
            number += instruction.mnemonic in _ENDS
        return numbers


def _rebuilt(program: KernelProgram, taken: dict[int, tuple[int, int]], gone: set[int]) -> KernelProgram:
    """Leave the products out, and put fused instructions in the places of the sums."""
    code: list[Instruction] = []
    registers = list(program.registers)
    moved: list[int] = []
    for place, instruction in enumerate(program.instructions):
        moved.append(len(code))
        if place in taken:
            product, position = taken[place]
            code += _fused(program.instructions[product], instruction, position, registers)
        elif place not in gone:
            code.append(instruction)
    moved.append(len(code))
    return replace(program, instructions=tuple(_moved(x, moved) for x in code), registers=tuple(registers))


def _fused(product: Instruction, total: Instruction, position: int, registers: list[Register]) -> Iterator[Instruction]:
    """Make the instructions that stand for a product and a sum."""
    type_name = total.modifiers[-1]
    target, first, second = total.operands
    a, b = product.operands[1:]
    c = second if position == 1 else first
    if total.mnemonic == "sub":
        place = len(registers)
        negative = Register(place, f"%contracted{place}", f"b{bits_of_type(type_name)}")
        registers.append(negative)
        source = c if position == 1 else a
        ftz = tuple(x for x in total.modifiers if x == "ftz")
        yield _instruction(total, "neg", (*ftz, type_name), (negative, source))
        a, c = (a, negative) if position == 1 else (negative, c)
    yield _instruction(total, "fma", ("rn", *total.modifiers), (target, a, b, c))


def _instruction(
    like: Instruction, mnemonic: str, modifiers: tuple[str, ...], operands: tuple[Operand | None, ...]
) -> Instruction:
    opcode = ".".join((mnemonic, *modifiers))
    return replace(like, opcode=opcode, mnemonic=mnemonic, modifiers=modifiers, operands=operands)


def _moved(instruction: Instruction, moved: list[int]) -> Instruction:
    """Let labels point to where their instructions are now."""
    operands = tuple(replace(x, index=moved[x.index]) if isinstance(x, Target) else x for x in instruction.operands)
    callee = None if instruction.callee is None else moved[instruction.callee]
    targets = tuple(moved[x] for x in instruction.targets)
    if (operands, callee, targets) == (instruction.operands, instruction.callee, instruction.targets):
        return instruction
    return replace(instruction, operands=operands, callee=callee, targets=targets)


def _is_open(instruction: Instruction, mnemonic: str) -> bool:
    """Whether an instruction is of a kind, of a floating-point type, and leaves its rounding open."""
    if instruction.mnemonic != mnemonic or instruction.modifiers[-1:] == () or len(instruction.operands) != 3:
        return False
    *modifiers, type_name = instruction.modifiers
    legal = {"ftz"} if mnemonic == "mul" else {"ftz", "sat"}
    return type_name in _TYPES and legal.issuperset(modifiers)


def _kind(instruction: Instruction) -> tuple[str, bool]:
    return instruction.modifiers[-1], "ftz" in instruction.modifiers


def _registers(instruction: Instruction) -> Iterator[int]:
    """Every register that an instruction names, as often as it does."""
    for operand in instruction.operands:
        yield from _registers_of(operand)
    yield from _registers_of(instruction.guard)


def _registers_of(operand: object) -> Iterator[int]:
    if isinstance(operand, Register):
        yield operand.index
    elif isinstance(operand, Predicate):
        yield operand.register.index
    elif isinstance(operand, VectorOperand):
        for element in operand.elements:
            yield from _registers_of(element)
    elif isinstance(operand, PairOperand):
        yield from _registers_of(operand.first)
        yield from _registers_of(operand.second)
    elif isinstance(operand, AddressOperand):
        yield from _registers_of(operand.base)
        for coordinate in operand.coordinates:
            yield from _registers_of(coordinate)
