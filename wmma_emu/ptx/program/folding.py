# SPDX-License-Identifier: MIT
"""Fold functions of constants as ptxas does where the result differs from the chip's instruction.

ptxas evaluates instructions with constant operands. For nearly all instructions the bits are the same; but approximate
functions are rounded correctly, a division by a constant becomes a multiplication, and a multiplication by 1 is
removed: ``docs/decisions/0024-constants-that-ptxas-knows.md``.
"""

from collections.abc import Mapping
from dataclasses import replace

from wmma_emu.ptx.program.flow import reads, registers_in, writes
from wmma_emu.ptx.program.foldable import (
    INFINITIES,
    SUMS,
    bits_of,
    is_extremum_of_one,
    is_folded_early,
    is_function,
    is_nan,
    is_negative,
    is_open_product,
    is_quotient,
    number_of,
)  # fmt: skip
from wmma_emu.ptx.program.known import ConstantFlow, FreshConstants
from wmma_emu.ptx.program.producers import FLUSHED_RECIPROCAL, Producers
from wmma_emu.ptx.program.program import (
    Immediate,
    KernelProgram,
    Operand,
    PtxInstruction,
    Register,
    VectorOperand,
)
from wmma_emu.ptx.program.propagation import copied_values, is_decided, propagates_constants
from wmma_emu.ptx.program.reciprocals import removed_reciprocals
from wmma_emu.ptx.program.rewriting import Rewriting, as_copy, with_opcode
from wmma_emu.ptx.program.slots import Slots, read_through
from wmma_emu.ptx.program.unrolling import Evaluate, unroll
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.approx_known import known_approx, known_reciprocal
from wmma_emu.scalar.approx_reference import multiply
from wmma_emu.scalar.known_sums import cut_tie
from wmma_emu.scalar.scaled_product import POWERS

__all__ = ["Evaluate", "fold"]

_ONE, _MINUS_ONE, _MINUS_ZERO, _NAN, _INFINITY = 0x3F80_0000, 0xBF80_0000, 0x8000_0000, 0x7FFF_FFFF, 0x7F80_0000

_ONES = {"f16": 0x3C00, "bf16": 0x3F80, "f32": _ONE, "f64": 0x3FF0 << 48}


def fold(
    program: KernelProgram, evaluate: Evaluate, *, contracts: bool = True
) -> tuple[KernelProgram, tuple[int, ...]]:
    """Replace instructions by numbers and products where ptxas does.

    Also return the lines of the functions and quotients that were evaluated or replaced by products. Without
    contraction (``-fmad=false``), ptxas keeps multiplications by 1.
    """
    if not any(map(_is_concerned, program.instructions)):
        return program, ()
    folded = _Folding(unroll(program, evaluate), evaluate, contracts)
    return folded.program, folded.lines


def _is_concerned(instruction: PtxInstruction) -> bool:
    kinds = (is_function, is_quotient, is_open_product, is_extremum_of_one, is_negative)
    return any(x(instruction) for x in kinds) or instruction.opcode in SUMS


class _Folding(Rewriting):
    def __init__(self, program: KernelProgram, evaluate: Evaluate, contracts: bool) -> None:
        super().__init__(program, "folded")
        self._fresh = FreshConstants(program.instructions)
        self._evaluate, self._contracts = evaluate, contracts
        self._results: dict[tuple[object, ...], Mapping[int, int]] = {}
        self._makers = Producers(program.instructions)
        self._removed = removed_reciprocals(self._code, self._makers)
        slots = Slots(program)
        self._seen = tuple(self._makers.with_known_pieces(read_through(x, program, slots)) for x in self._code)
        lines: set[int] = set()
        new: dict[int, list[PtxInstruction]] = {}
        producers = {
            i for i, x in enumerate(self._seen)
            if is_function(x) or is_quotient(x) or propagates_constants(x.opcode) or self._makers.reads_written_lanes(x)
        }  # fmt: skip
        candidates = {i for i, x in enumerate(self._code) if _is_concerned(x)}
        for pc, known in ConstantFlow(self._seen, producers, self._compute).found(candidates):
            made = self._replacement(pc, known)
            if made is not None:
                new[pc] = made
                instruction = self._code[pc]
                if is_function(instruction) or is_quotient(instruction):
                    lines.add(instruction.line)
        self.lines = tuple(sorted(lines))
        self.program = self._rewritten(new)

    def _compute(self, pc: int, known: Mapping[int, int]) -> Mapping[int, int]:
        instruction = self._seen[pc]
        written = writes(instruction)
        if instruction.mnemonic == "shfl" or all(isinstance(x, VectorOperand) for x in instruction.operands):
            return copied_values(instruction, known)
        if not _sources(instruction).issubset(known):
            if is_decided(instruction, known):
                known = {**dict.fromkeys(_sources(instruction), 0), **known}
            elif instruction.mnemonic != "selp":
                return {}
        if is_folded_early(instruction, known) and not self._is_fresh(pc):
            return {}
        if len(written) == 1 and len(instruction.operands) > 1:
            value = self._function_or_quotient(instruction, known)
            if value is not None:
                return {written[0]: value}
        if not propagates_constants(instruction.opcode):
            return {}
        given = self._evaluated(pc, known)
        if instruction.opcode in SUMS:
            given = {x: self._sum(instruction, known, bits) for x, bits in given.items()}
        kind = instruction.modifiers[-2 if instruction.mnemonic == "cvt" else -1]
        is_number = kind in INFINITIES and instruction.mnemonic not in ("mov", "selp", "slct", "setp")
        return {} if is_number and any(is_nan(x, kind) for x in given.values()) else given

    def _sum(self, instruction: PtxInstruction, known: Mapping[int, int], rounded: int) -> int:
        """Return a sum or difference as ptxas computes it, given the chip's ``rounded`` result."""
        a, b = (number_of(x, known) for x in instruction.operands[1:])
        if a is None or b is None:
            return rounded
        return cut_tie(a, b ^ (instruction.mnemonic == "sub") << 31, rounded)

    def _is_fresh(self, pc: int) -> bool:
        """Return whether the source (in a quotient, the divisor) is computed from constants of the same block."""
        source = self._code[pc].operands[2 if self._code[pc].mnemonic == "div" else 1]
        return self._fresh.is_fresh(source, pc)

    def _evaluated(self, pc: int, known: Mapping[int, int]) -> Mapping[int, int]:
        key = pc, *known.items()
        if key not in self._results:
            self._results[key] = self._evaluate(self._seen[pc], known)
        return self._results[key]

    def _function_or_quotient(self, instruction: PtxInstruction, known: Mapping[int, int]) -> int | None:
        flushes = "ftz" in instruction.modifiers
        if is_function(instruction):
            source = number_of(instruction.operands[1], known)
            value = None if source is None else known_approx(instruction.mnemonic, source, flushes)
        elif is_quotient(instruction) and len(instruction.operands) == 3:
            a, b = (number_of(x, known) for x in instruction.operands[1:])
            if a is None or b is None:
                return None
            factor, reciprocal = known_reciprocal(b, instruction.modifiers[0], flushes)
            value = multiply(a if factor == _ONE else multiply(a, factor, flushes), reciprocal, flushes)
        else:
            return None
        is_number = value is not None and not is_nan(value, "f32")
        return value if is_number and (instruction.mnemonic, value) != _LOGARITHM_OF_0 else None

    def _replacement(self, pc: int, known: Mapping[int, int]) -> list[PtxInstruction] | None:
        instruction = self._code[pc]
        if len(instruction.operands) < 2:
            return None
        if is_extremum_of_one(instruction):
            return [self._copy(instruction, instruction.operands[1])]
        target = instruction.operands[0]
        if not isinstance(target, Register):
            return None
        original = self._negated_twice(instruction)
        if original is not None:
            return [as_copy(instruction, original)]
        value = self._compute(pc, known).get(target.index)
        if value is not None:
            return [as_copy(instruction, Immediate("int", value))]
        if pc in self._removed.negative:
            return self._of_the_negative(instruction)
        if is_function(instruction):
            # The reciprocal of a reciprocal is its operand, with .ftz.
            if pc in self._removed.roots:
                return [_root_of(instruction, self._removed.roots[pc], target)]
            is_reciprocal = instruction.opcode == FLUSHED_RECIPROCAL
            original = self._reciprocated(pc, instruction.operands[1]) if is_reciprocal else None
            return None if original is None else [as_copy(instruction, original)]
        if is_folded_early(instruction, known) and not self._is_fresh(pc):
            return None
        if is_quotient(instruction):
            return self._product(pc, known)
        return self._multiplied_by_one(instruction, known) if self._contracts and is_open_product(instruction) else None

    def _negated_twice(self, instruction: PtxInstruction) -> Register | None:
        """Return the register whose double negation an instruction computes."""
        if instruction.mnemonic != "neg" or len(instruction.operands) != 2 or len(instruction.modifiers) != 1:
            return None
        return self._makers.negated(instruction.operands[1], instruction.modifiers[0])

    def _of_the_negative(self, function: PtxInstruction) -> list[PtxInstruction]:
        """Return a function of the negative of its operand."""
        negative = self._new_register("f32")
        ahead = with_opcode(function, "neg", ("f32",), (negative, function.operands[1]))
        return [ahead, replace(function, operands=(function.operands[0], negative))]

    def _reciprocated(self, pc: int, operand: Operand | None) -> Register | None:
        """Return the register whose reciprocal the operand of an instruction contains.

        A replaced reciprocal no longer contains the reciprocal of its operand.
        """
        if pc in self._removed.passed:
            return operand if isinstance(operand, Register) else None
        is_replaced = id(self._makers.origin(operand)) in self._removed.identities
        return None if is_replaced else self._makers.reciprocated(operand)

    def _product(self, pc: int, known: Mapping[int, int]) -> list[PtxInstruction] | None:
        """Return a quotient by a known number, or by a reciprocal, as a product."""
        instruction = self._code[pc]
        target, number, divisor = instruction.operands
        kind, flushes = instruction.modifiers[0], "ftz" in instruction.modifiers
        modifiers = instruction.modifiers[1:]
        if pc in self._removed.roots:
            root = self._new_register("f32")
            product = with_opcode(instruction, "mul", modifiers, (target, number, root))
            return [_root_of(instruction, self._removed.roots[pc], root), product]
        original = self._reciprocated(pc, divisor) if (kind, flushes) == ("approx", True) else None
        if original is not None:
            return [with_opcode(instruction, "mul", modifiers, (target, number, original))]
        bits = number_of(divisor, known)
        if bits is None or bits & _NAN > _INFINITY:
            return None
        factor, reciprocal = known_reciprocal(bits, kind, flushes)
        made = []
        if factor != _ONE:
            scaled = self._new_register("f32")
            made.append(with_opcode(instruction, "mul", modifiers, (scaled, number, Immediate("f32", factor))))
            number = scaled
        last = with_opcode(instruction, "mul", modifiers, (target, number, Immediate("f32", reciprocal)))
        made += (self._multiplied_by_one(last, known) if self._contracts else None) or [last]
        return made

    def _multiplied_by_one(self, product: PtxInstruction, known: Mapping[int, int]) -> list[PtxInstruction] | None:
        """Return the copy or negation that replaces a product with 1 or -1; it can no longer be fused into a sum."""
        kind = product.modifiers[-1]
        if kind not in _ONES or len(product.operands) != 3:
            return None
        first, second = (bits_of(x, known, kind) for x in product.operands[1:])
        for number, factor in ((product.operands[2], first), (product.operands[1], second)):
            if factor == _ONES[kind]:
                return [self._copy(product, number)]
            if factor is not None and factor ^ (1 << bits_of_type(kind) - 1) == _ONES[kind]:
                negative = with_opcode(product, "neg", product.modifiers, (product.operands[0], number))
                original = self._negated_twice(negative)
                return [negative] if original is None else [self._copy(product, original)]
            if kind == "f32" and factor in POWERS:
                return [replace(product, operands=(product.operands[0], number, Immediate("f32", factor)))]
        return None

    def _copy(self, instruction: PtxInstruction, source: Operand | None) -> PtxInstruction:
        """Return a copy of an operand; with .ftz, an instruction that flushes it, unless it is flushed already."""
        kind, target = instruction.modifiers[-1], instruction.operands[0]
        made = self._makers.producer(source)
        if "ftz" in instruction.modifiers and (made is None or "ftz" not in made.modifiers):
            return with_opcode(instruction, "add", ("rn", "ftz", kind), (target, source, Immediate("f32", _MINUS_ZERO)))
        return as_copy(instruction, source)


def _root_of(instruction: PtxInstruction, source: Register, target: Register) -> PtxInstruction:
    return with_opcode(instruction, "rsqrt", ("approx", "ftz", "f32"), (target, source))


_LOGARITHM_OF_0 = ("lg2", 0xFF80_0000)
"""The result of lg2 of 0, minus infinity: ptxas keeps the instruction."""


def _sources(instruction: PtxInstruction) -> set[int]:
    return set(reads(instruction)).difference(registers_in(instruction.guard))
