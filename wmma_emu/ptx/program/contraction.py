# SPDX-License-Identifier: MIT
"""Products and sums that leave their rounding open, fused as ptxas fuses them.

``mul.f32`` and ``add.f32`` without ``.rn`` are the assembler's to contract (PTX ISA, add and mul). What ptxas does at
its defaults was read out of its machine code: ``docs/decisions/0015-contraction.md``.
"""

from collections.abc import Iterator
from dataclasses import replace

from wmma_emu.ptx.program.flow import reads, writes
from wmma_emu.ptx.program.fusions import Fusion, choose
from wmma_emu.ptx.program.program import Instruction, KernelProgram, Operand, Register, Target
from wmma_emu.ptx.widths import bits_of_type

__all__ = ["contract"]


def contract(program: KernelProgram) -> tuple[KernelProgram, tuple[int, ...]]:
    """Fuse what ptxas fuses.

    A product that nothing reads any more is left out, and so are its copies. Where a factor is overwritten
    before the sum, it is copied where the product was.

    Returns
    -------
    KernelProgram
    tuple of int
        Lines of the products that were fused.
    """
    fusions = choose(program)
    if not fusions:
        return program, ()
    lines = tuple(sorted({program.instructions[x.product].line for x in fusions}))
    return _Rebuilt(program, fusions).program, lines


class _Rebuilt:
    """The program with fused instructions in the places of sums."""

    def __init__(self, program: KernelProgram, fusions: list[Fusion]) -> None:
        self._code = program.instructions
        self._registers = list(program.registers)
        by_total = {x.total: x for x in fusions}
        gone = self._unread(fusions)
        copied = self._copies(fusions)
        code: list[Instruction] = []
        moved: list[int] = []
        for place, instruction in enumerate(self._code):
            moved.append(len(code))
            if place in copied:
                copies = copied[place]
                for source, copy in copies.items():
                    width = f"b{bits_of_type(copy.type)}"
                    code.append(_like(instruction, "mov", (width,), (copy, self._registers[source])))
            if place in by_total:
                fusion = by_total[place]
                code += self._fused(fusion, copied.get(fusion.product, {}))
            elif place not in gone:
                code.append(instruction)
        moved.append(len(code))
        instructions = tuple(_moved(x, moved) for x in code)
        self.program = replace(program, instructions=instructions, registers=tuple(self._registers))

    def _unread(self, fusions: list[Fusion]) -> set[int]:
        """Products, and their copies and negatives, that only the sums read that take them in."""
        readers: dict[int, set[int]] = {}
        for place, instruction in enumerate(self._code):
            for register in reads(instruction):
                readers.setdefault(register, set()).add(place)
        sums: dict[int, set[int]] = {}
        for fusion in fusions:
            for name in (fusion.product, *fusion.names):
                sums.setdefault(name, set()).add(fusion.total)
        gone: set[int] = set()
        # Names come behind what they name.
        for place in sorted(sums, reverse=True):
            if readers.get(writes(self._code[place])[0], set()) <= sums[place] | gone:
                gone.add(place)
        return gone

    def _copies(self, fusions: list[Fusion]) -> dict[int, dict[int, Register]]:
        """New registers for factors, by product, that are overwritten before a sum that takes it in."""
        copies: dict[int, dict[int, Register]] = {}
        for fusion in fusions:
            between = {x for i in range(fusion.product, fusion.total) for x in writes(self._code[i])}
            for factor in self._code[fusion.product].operands[1:]:
                known = copies.get(fusion.product, {})
                if isinstance(factor, Register) and factor.index in between and factor.index not in known:
                    copies.setdefault(fusion.product, {})[factor.index] = self._new(factor.type)
        return copies

    def _new(self, type_name: str) -> Register:
        place = len(self._registers)
        self._registers.append(Register(place, f"%contracted{place}", type_name))
        return self._registers[-1]

    def _fused(self, fusion: Fusion, copies: dict[int, Register]) -> Iterator[Instruction]:
        """Make the instructions that stand for a product and a sum."""
        total, product = self._code[fusion.total], self._code[fusion.product]
        type_name = total.modifiers[-1]
        target, first, second = total.operands
        a, b = (copies.get(x.index, x) if isinstance(x, Register) else x for x in product.operands[1:])
        c = second if fusion.position == 1 else first
        is_difference = total.mnemonic == "sub"
        if fusion.negated ^ (is_difference and fusion.position == 2):
            negative = self._new(f"b{bits_of_type(type_name)}")
            yield _like(total, "neg", _flushing(total, type_name), (negative, a))
            a = negative
        if is_difference and fusion.position == 1:
            negative = self._new(f"b{bits_of_type(type_name)}")
            yield _like(total, "neg", _flushing(total, type_name), (negative, c))
            c = negative
        yield _like(total, "fma", ("rn", *total.modifiers), (target, a, b, c))


def _flushing(total: Instruction, type_name: str) -> tuple[str, ...]:
    return ("ftz", type_name) if "ftz" in total.modifiers else (type_name,)


def _like(
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
