# SPDX-License-Identifier: MIT
"""Contraction: products and sums with an open rounding are fused as ptxas fuses them.

The assembler may contract ``mul.f32`` and ``add.f32`` without ``.rn`` (PTX ISA, add and mul). The choices of ptxas with
default options were read from its machine code: ``docs/decisions/0015-contraction.md``.
"""

from collections.abc import Iterator
from typing import NamedTuple

from wmma_emu.ptx.program.flow import definitions, needed, readers_of, writes
from wmma_emu.ptx.program.fusions import Fusion, Kinds, choose, ends_in_product
from wmma_emu.ptx.program.program import Immediate, KernelProgram, Operand, PtxInstruction, Register
from wmma_emu.ptx.program.rewriting import Rewriting, with_opcode
from wmma_emu.ptx.widths import bits_of_type

_BOTH_SIGNS = 0x80000000_80000000


class Contracted(NamedTuple):
    """A program in which all open roundings are decided.

    ``lines`` are the lines of the fused products; ``undecided`` are the lines of the sums for which the given machine
    code is not conclusive.
    """

    program: KernelProgram
    lines: tuple[int, ...] = ()
    undecided: tuple[int, ...] = ()


def contract(program: KernelProgram, kinds: Kinds | None = None) -> Contracted:
    """Fuse the products and sums that ptxas fuses.

    A product without remaining readers is removed, with its copies. A factor that may be overwritten before the sum is
    copied at the product. In a quotient, or a reciprocal without ``.ftz``, the last multiplication is the product: the
    internal instructions ``%div`` and ``%rcp`` compute its two factors. ``kinds`` returns the machine instructions of
    each PTX instruction; without it, rules decide.
    """
    fusions, open_sums = choose(program, kinds)
    undecided = tuple(sorted({program.instructions[x].line for x in open_sums}))
    if not fusions:
        return Contracted(program, (), undecided)
    lines = tuple(sorted({program.instructions[x.product].line for x in fusions}))
    return Contracted(_Contraction(program, fusions).program, lines, undecided)


class _Contraction(Rewriting):
    def __init__(self, program: KernelProgram, fusions: list[Fusion]) -> None:
        super().__init__(program, "contracted")
        self._writers = definitions(self._code)
        by_total = {x.total: x for x in fusions}
        removed = self._removable(fusions)
        factors: dict[int, tuple[Operand | None, ...]] = {}
        ahead: dict[int, list[PtxInstruction]] = {}
        for pc in sorted({x.product for x in fusions}):
            ahead[pc], factors[pc] = self._factors(pc)
        new: dict[int, list[PtxInstruction]] = {}
        for pc in sorted({*ahead, *by_total, *removed}):
            new[pc] = [*ahead.get(pc, ())]
            if pc in by_total:
                new[pc] += self._fused(by_total[pc], factors[by_total[pc].product])
            elif pc not in removed:
                new[pc].append(self._code[pc])
        self.program = self._rewritten(new)

    def _removable(self, fusions: list[Fusion]) -> set[int]:
        """Return the products, copies and negatives that are read only by the sums into which they are fused."""
        readers = readers_of(self._code, needed(self._code))
        sums: dict[int, set[int]] = {}
        for fusion in fusions:
            for name in (fusion.product, *fusion.names):
                sums.setdefault(name, set()).add(fusion.total)
        removed: set[int] = set()
        # Copies follow the product.
        for pc in sorted(sums, reverse=True):
            if readers.get(writes(self._code[pc])[0], set()) <= sums[pc] | removed:
                removed.add(pc)
        return removed

    def _factors(self, pc: int) -> tuple[list[PtxInstruction], tuple[Operand | None, ...]]:
        """Return the instructions that compute the factors of a product, and the factors.

        The factors of a sequence that ends in a product are computed; those of ``mul`` are its operands, copied where
        their registers may be overwritten before the sum.
        """
        product = self._code[pc]
        operands = product.operands[1:]
        if ends_in_product(product):
            ahead, pair = self._split_into_factors(product)
            return [ahead], pair
        copies: list[PtxInstruction] = []
        factors: list[Operand | None] = []
        known: dict[int, Register] = {}
        for operand in operands:
            if isinstance(operand, Register) and any(x >= pc for x in self._writers.get(operand.index, ())):
                if operand.index not in known:
                    known[operand.index] = self._new_register(operand.type)
                    width = f"b{bits_of_type(operand.type)}"
                    copies.append(with_opcode(product, "mov", (width,), (known[operand.index], operand)))
                operand = known[operand.index]
            factors.append(operand)
        return copies, tuple(factors)

    def _fused(self, fusion: Fusion, factors: tuple[Operand | None, ...]) -> Iterator[PtxInstruction]:
        total = self._code[fusion.total]
        target, first, second = total.operands
        a, b = factors
        c = second if fusion.position == 1 else first
        is_difference = total.mnemonic == "sub"
        if fusion.negated ^ (is_difference and fusion.position == 2):
            yield (negative := self._negative(total, a))
            a = negative.operands[0]
        if is_difference and fusion.position == 1:
            yield (negative := self._negative(total, c))
            c = negative.operands[0]
        yield with_opcode(total, "fma", ("rn", *total.modifiers), (target, a, b, c))

    def _negative(self, total: PtxInstruction, operand: Operand | None) -> PtxInstruction:
        type_name = total.modifiers[-1]
        if type_name == "f32x2":  # PTX has no neg of pairs: the machine's sums read negative operands
            target = self._new_register("b64")
            return with_opcode(total, "xor", ("b64",), (target, operand, Immediate("int", _BOTH_SIGNS)))
        modifiers = ("ftz", type_name) if "ftz" in total.modifiers else (type_name,)
        return with_opcode(total, "neg", modifiers, (self._new_register(f"b{bits_of_type(type_name)}"), operand))
