# SPDX-License-Identifier: MIT
"""Products scaled by 1/8, 1/4, 1/2, 2, 4 or 8, which ptxas merges into one instruction with one rounding.

After contraction, ptxas compiles ``mul.f32 u, a, b; mul.f32 d, u, 2`` to ``FMUL.M2 d, a, b``, without an overflow or a
rounding between the two: ``docs/decisions/0024-constants-that-ptxas-knows.md``. The inner product has an open rounding,
or is the last product of a quotient or a reciprocal, and has no other reader. The internal instruction ``%mul``
replaces the inner product, and a copy the outer one.
"""

from wmma_emu.ptx.program.flow import Blocks, definitions, needed, readers_of, reads, writes
from wmma_emu.ptx.program.fusions import ends_in_product, is_product
from wmma_emu.ptx.program.program import Immediate, KernelProgram, PtxInstruction, Register
from wmma_emu.ptx.program.rewriting import Rewriting, as_copy, with_opcode
from wmma_emu.scalar.scaled_product import POWERS

Scale = tuple[str, ...]
"""The modifiers of a scaled product: the power of two, .ftz and .sat."""


def scale_products(program: KernelProgram) -> KernelProgram:
    """Merge the pairs of products that ptxas merges; contraction has to come before."""
    if not any(_scale_of(x) for x in program.instructions):
        return program
    return _Scaling(program).program


class _Scaling(Rewriting):
    def __init__(self, program: KernelProgram) -> None:
        super().__init__(program, "scaled")
        self._writers = definitions(self._code)
        self._needed = needed(self._code)
        self._readers = readers_of(self._code, self._needed)
        new: dict[int, list[PtxInstruction]] = {}
        self._blocks = Blocks(self._code)
        for block, span in enumerate(self._blocks.spans):
            for pc in span:
                found = self._scale(pc, block) if pc in self._needed and pc not in new else None
                if found is None:
                    continue
                scale, outer, names = found
                result = self._new_register("b32")
                new.update((x, []) for x in names)
                new[pc] = self._product(self._code[pc], scale, result)
                new.update((reader, [as_copy(self._code[reader], result)]) for reader in outer)
        self.program = self._rewritten(new)

    def _scale(self, pc: int, block: int) -> tuple[Scale, list[int], list[int]] | None:
        """Return the scale of a product, the scaling instructions, and its copies; None if it has other readers."""
        product = self._code[pc]
        if product.guard is not None or not is_product(product) or product.modifiers[-1] != "f32":
            return None
        outer, names, waiting = [], [], [pc]
        scales: set[Scale | None] = set()
        while waiting:
            readers = self._readers_of_result(waiting.pop(), block)
            if readers is None:
                return None
            for reader in readers:
                if self._is_copy(self._code[reader]):
                    names.append(reader)
                    waiting.append(reader)
                else:
                    outer.append(reader)
                    scales.add(_scale_of(self._code[reader]))
        scale = scales.pop() if len(scales) == 1 else None
        return None if scale is None else (scale, outer, names)

    def _readers_of_result(self, pc: int, block: int) -> list[int] | None:
        target = self._code[pc].operands[0]
        if not isinstance(target, Register):
            return None
        if len(self._writers[target.index]) == 1:
            return sorted(self._readers.get(target.index, ()))
        found: list[int] = []
        for later in range(pc + 1, self._blocks.spans[block].stop):
            if later in self._needed and target.index in reads(self._code[later]):
                found.append(later)
            if target.index in writes(self._code[later]):
                return found if self._code[later].guard is None else None
        return None if self._blocks.live[block] >> target.index & 1 else found

    def _is_copy(self, instruction: PtxInstruction) -> bool:
        if instruction.mnemonic != "mov" or instruction.guard is not None or len(instruction.operands) != 2:
            return False
        target, source = instruction.operands
        return isinstance(target, Register) and isinstance(source, Register) and len(self._writers[target.index]) == 1

    def _product(self, product: PtxInstruction, scale: Scale, result: Register) -> list[PtxInstruction]:
        """Return the scaled product that replaces a product, after the factors of a quotient or a reciprocal."""
        modifiers = (*scale, "f32")
        if ends_in_product(product):
            ahead, pair = self._split_into_factors(product)
            return [ahead, with_opcode(product, "%mul", modifiers, (result, *pair))]
        return [with_opcode(product, "%mul", modifiers, (result, *product.operands[1:]))]


def _scale_of(instruction: PtxInstruction) -> Scale | None:
    """Return the scale of an instruction that multiplies by one of the powers of two, else None."""
    *others, kind = instruction.modifiers or ("",)
    if instruction.mnemonic != "mul" or kind != "f32" or not {"rn", "ftz", "sat"}.issuperset(others):
        return None
    numbers = [x for x in instruction.operands[1:] if isinstance(x, Immediate)]
    power = POWERS.get(numbers[0].value) if len(numbers) == 1 and numbers[0].kind == "f32" else None
    return None if power is None else (power, *(x for x in ("ftz", "sat") if x in others))
