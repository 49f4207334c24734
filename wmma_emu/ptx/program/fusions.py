# SPDX-License-Identifier: MIT
"""The assembler's choice of the products with an open rounding that are fused into sums.

The rules were read from machine code; see `docs/decisions/0015-contraction.md`.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wmma_emu.ptx.program.flow import Blocks, constants, definitions, needed, reads, writes
from wmma_emu.ptx.program.program import Immediate, KernelProgram, PtxInstruction, Register
from wmma_emu.scalar.approx_sequences import FACTORS

Kinds = Callable[[PtxInstruction], frozenset[str]]
"""A function that returns the kinds of an instruction's machine instructions: "add", "mul", "fma"."""

_UNITS = {
    "f32": {0x3F800000: 1, 0xBF800000: -1},
    "f64": {0x3FF0000000000000: 1, 0xBFF0000000000000: -1},
    "f16": {0x3C00: 1, 0xBC00: -1},
    "bf16": {0x3F80: 1, 0xBF80: -1},
}
"""The bit patterns of 1 and -1. The assembler keeps products with these in packed types."""

_TYPES = frozenset(("f32", "f32x2", "f64", "f16", "f16x2", "bf16", "bf16x2"))


@dataclass(frozen=True, slots=True)
class Fusion:
    """A product that is fused into a sum, both by the indices of their instructions.

    ``position`` is its operand of the sum, 1 or 2; ``negated`` is whether it was negated before; ``names`` are the
    indices of all copies and negatives of the product.
    """

    product: int
    total: int
    position: int
    negated: bool
    names: tuple[int, ...]


@dataclass(slots=True)
class _Product:
    """A product and its readers: the sums, by index; ``kept`` if anything else reads it.

    A product that is read only by a negation with .ftz is ``free``: it is fused into every sum, even if the negative
    has other readers.
    """

    pc: int
    kind: tuple[str, bool]
    sums: list[int] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    kept: bool = False
    free: bool = False

    @property
    def is_fused(self) -> bool:
        return self.free or not self.kept


_Alias = tuple[_Product, bool]
"""A product, and whether the register contains its negative."""


@dataclass(slots=True)
class _Sum:
    """A sum, and its operands, 1 or 2, that are products or their negatives."""

    pc: int
    products: dict[int, _Alias] = field(default_factory=dict)


def choose(program: KernelProgram, kinds: Kinds | None = None) -> tuple[list[Fusion], tuple[int, ...]]:
    """Return the fusions in the order of the sums: those of the machine code or, without ``kinds``, of the rules.

    By the rules, products that are read by one sum are fused first, then products that are read by several sums, into
    each sum. If a sum has two products, the one with fewer readers is fused; with equal numbers, the first operand. The
    other product is then kept, and not fused into any sum. Also return the indices of the sums for which the machine
    code is missing or ambiguous; for these the rules decide.
    """
    code, flow = program.instructions, _ProductFlow(program.instructions)
    ruled = _by_rules(flow.sums, flow.counts)
    if kinds is None:
        return [ruled[x] for x in sorted(ruled)], ()
    chosen: list[Fusion] = []
    open_sums: list[int] = []
    for total in flow.sums:
        found = kinds(code[total.pc]) - {"mul"}
        if found == {"fma"}:
            absent = [x for x in total.products.items() if "mul" not in kinds(code[x[1][0].pc])]
            chosen.append(_fusion(total, min(absent or total.products.items(), key=lambda x: x[0])))
        elif found != {"add"}:
            open_sums.append(total.pc)
            chosen += [ruled[total.pc]] if total.pc in ruled else []
    return chosen, tuple(open_sums)


def _by_rules(sums: list[_Sum], counts: dict[int, int]) -> dict[int, Fusion]:
    """Return the fusions by the indices of their sums."""
    taken: dict[int, Fusion] = {}
    for most in (1, max(counts.values(), default=1)):
        for total in sums:
            if total.pc in taken:
                continue
            fit = [
                (counts[product.pc], position)
                for position, (product, _) in total.products.items()
                if product.is_fused and counts[product.pc] <= most
            ]
            if fit:
                position = min(fit)[1]
                taken[total.pc] = _fusion(total, (position, total.products[position]))
                for other, _ in (total.products[x] for x in total.products if x != position):
                    other.kept = True
    return taken


def _fusion(total: _Sum, taken: tuple[int, _Alias]) -> Fusion:
    position, (product, negated) = taken
    return Fusion(product.pc, total.pc, position, negated, tuple(product.names))


class _ProductFlow:
    """The products and sums of a kernel, collected by following products through copies and negations in each block.

    A product is visible in its own block. A product with a constant factor is visible everywhere if nothing else writes
    its register, because the assembler recomputes it where that saves an instruction.
    """

    def __init__(self, code: tuple[PtxInstruction, ...]) -> None:
        self._code = code
        self._writers = definitions(code)
        self._constants = constants(code, self._writers)
        self.sums: list[_Sum] = []
        self._products: dict[int, _Product] = {}
        self._global_aliases: dict[int, _Alias] = {}
        self._aliases: ChainMap[int, _Alias] = ChainMap()
        alive = needed(code)
        self._readers: dict[int, list[PtxInstruction]] = {}
        self._flushes: set[int] = set()
        for pc in alive:
            for register in reads(code[pc]):
                self._readers.setdefault(register, []).append(code[pc])
        for pc in sorted(alive):
            self._note_global_alias(pc)
        blocks = Blocks(code)
        for span, live in zip(blocks.spans, blocks.live, strict=True):
            # Global aliases have one writer: blocks find them below their own aliases, and never remove them.
            block_aliases: dict[int, _Alias] = {}
            self._aliases = ChainMap(block_aliases, self._global_aliases)
            for pc in span:
                if pc in alive:
                    self._read(pc)
            for register, (product, _) in block_aliases.items():
                if live >> register & 1 and register not in self._global_aliases:
                    product.kept = True

    @property
    def counts(self) -> dict[int, int]:
        """The number of sums that read each product, by its index."""
        return {pc: len(product.sums) for pc, product in self._products.items()}

    def _note_global_alias(self, pc: int) -> None:
        instruction = self._code[pc]
        target = writes(instruction)
        if instruction.guard is not None or len(target) != 1 or len(self._writers[target[0]]) > 1:
            return
        if (negated := self._flushed(instruction)) is not None:
            self._flushes.add(target[0])
            negated.free = len(self._readers[writes(self._code[negated.pc])[0]]) == 1
            if negated.free:
                self._global_aliases[target[0]] = negated, True
        elif (found := self._aliased_product(instruction, self._global_aliases)) is not None:
            self._global_aliases[target[0]] = found
        elif self._is_product(instruction) and self._has_constant_factor(instruction):
            self._global_aliases[target[0]] = self._product(pc), False

    def _has_constant_factor(self, instruction: PtxInstruction) -> bool:
        """Return whether a factor (or the dividend of a quotient) is a constant."""
        return self._has_plain_factors(instruction) and any(
            isinstance(x, Immediate) or (isinstance(x, Register) and x.index in self._constants)
            for x in self._factors(instruction)
        )

    @staticmethod
    def _has_plain_factors(instruction: PtxInstruction) -> bool:
        """Return whether operands are factors: the operands of ``mul``, and the dividend of ``div.approx.ftz``."""
        return _is_open(instruction, "mul") or instruction.opcode == "div.approx.ftz.f32"

    @staticmethod
    def _factors(instruction: PtxInstruction) -> tuple[object, ...]:
        return instruction.operands[1:] if instruction.mnemonic == "mul" else instruction.operands[1:2]

    def _is_product(self, instruction: PtxInstruction) -> bool:
        """Return whether a product can be fused: the assembler removes products with 1 and -1."""
        return is_product(instruction) and not self._unit_in(instruction)

    def _unit_in(self, instruction: PtxInstruction) -> int:
        """Return 1 or -1 if a factor of a product has that value, else 0."""
        if not self._has_plain_factors(instruction):
            return 0
        units = _UNITS.get(instruction.modifiers[-1], {})
        return next((units[x] for x in map(self._number, self._factors(instruction)) if x in units), 0)

    def _number(self, operand: object) -> int | None:
        if isinstance(operand, Immediate):
            return operand.value
        return self._constants.get(operand.index) if isinstance(operand, Register) else None

    def _aliased_product(self, instruction: PtxInstruction, aliases: Mapping[int, _Alias]) -> _Alias | None:
        """Return the product that an instruction copies or negates, and whether the result is its negative."""
        source, negates = self._aliased_source(instruction)
        if source is None or source.index not in aliases:
            return None
        product, negated = aliases[source.index]
        # The assembler flips the sign for a plain negative; other negations stay separate instructions.
        is_sign_alone = _kind(instruction) == (product.kind[0], False) and product.kind[0] != "bf16x2"
        if instruction.mnemonic == "neg" and not is_sign_alone:
            return None
        if instruction.mnemonic == "mul" and product.kind != _kind(instruction):
            return None
        return product, negated ^ negates

    def _flushed(self, instruction: PtxInstruction) -> _Product | None:
        """Return the product of which an instruction is the negative with .ftz.

        If the product has other readers, then only if the negative is read by sums alone.
        """
        if instruction.opcode != "neg.ftz.f32" or instruction.guard is not None:
            return None
        target, source = instruction.operands
        if not isinstance(source, Register) or not isinstance(target, Register):
            return None
        pcs = self._writers.get(source.index, ())
        if len(pcs) != 1 or len(self._writers[target.index]) != 1:
            return None
        (pc,) = pcs
        product = self._code[pc]
        if product.guard is not None or not self._is_product(product) or _kind(product) != ("f32", True):
            return None
        is_alone = len(self._readers[source.index]) == 1
        adding = (
            is_sum(x) and _kind(x) == ("f32", True) and not (x.mnemonic == "sub" and x.operands[-1] == target)
            for x in self._readers.get(target.index, ())
        )  # fmt: skip
        return self._product(pc) if is_alone or all(adding) else None

    def _aliased_source(self, instruction: PtxInstruction) -> tuple[Register | None, bool]:
        """Return the register whose value or negative an instruction copies, and whether it is the negative."""
        target, *sources = instruction.operands or (None,)
        if instruction.guard is not None or not isinstance(target, Register) or not sources:
            return None, False
        if instruction.mnemonic in ("mov", "neg") or instruction.opcode in ("cvt.f32.f32", "cvt.f64.f64"):
            source = sources[0] if len(sources) == 1 else None
            return (source if isinstance(source, Register) else None), instruction.mnemonic == "neg"
        unit = self._unit_in(instruction) if _is_open(instruction, "mul") else 0
        if not unit:
            return None, False
        units = _UNITS[instruction.modifiers[-1]]
        others = [x for x in sources if isinstance(x, Register) and self._number(x) not in units]
        return (others[0] if len(others) == 1 else None), unit == -1

    def _note_sum(self, instruction: PtxInstruction, pc: int) -> bool:
        """Record a sum into which products may be fused; return False if the instruction is not a sum."""
        if not is_sum(instruction):
            return False
        last = instruction.operands[-1]
        is_number = instruction.mnemonic == "sub" and isinstance(last, Register) and last.index in self._flushes
        operands = {
            i: self._aliases[x.index]
            for i, x in enumerate(instruction.operands)
            if i and isinstance(x, Register) and x.index in self._aliases
            and not (is_number and x == last)  # a subtracted negative with .ftz is not fused
        }  # fmt: skip
        pcs = [product.pc for product, _ in operands.values()]
        if len(set(pcs)) < len(pcs) or any(x.kind != _kind(instruction) for x, _ in operands.values()):
            for product, _ in operands.values():
                product.kept = product.kept or pcs.count(product.pc) > 1 or product.kind != _kind(instruction)
            operands = {i: x for i, x in operands.items() if x[0].is_fused and pcs.count(x[0].pc) == 1}
        if operands:
            self.sums.append(_Sum(pc, operands))
        for product, _ in operands.values():
            product.sums.append(pc)
        return True

    def _product(self, pc: int) -> _Product:
        return self._products.setdefault(pc, _Product(pc, _kind(self._code[pc])))

    def _read(self, pc: int) -> None:
        instruction, aliases = self._code[pc], self._aliases
        negated = self._flushed(instruction)
        is_alias = negated is not None and (negated.free or any(x is negated for x, _ in aliases.values()))
        found = (negated, True) if negated is not None and is_alias else self._aliased_product(instruction, aliases)
        if found is not None:
            found[0].names.append(pc)
        elif not self._note_sum(instruction, pc):
            for register in reads(instruction):
                if register in aliases:
                    aliases[register][0].kept = True
        for register in writes(instruction):
            if instruction.guard is not None and register in aliases:
                aliases[register][0].kept = True
            aliases.pop(register, None)
        target = instruction.operands[0] if instruction.operands else None
        if instruction.guard is None and isinstance(target, Register):
            if found is None and self._is_product(instruction):
                found = self._product(pc), False
            if found is not None:
                aliases[target.index] = found


def is_sum(instruction: PtxInstruction) -> bool:
    """Return whether an instruction is an addition or subtraction with an open rounding."""
    return _is_open(instruction, "add") or _is_open(instruction, "sub")


def is_product(instruction: PtxInstruction) -> bool:
    """Return whether an instruction ends in a product with an open rounding: ``mul``, or an entry of `FACTORS`."""
    return _is_open(instruction, "mul") or ends_in_product(instruction)


def ends_in_product(instruction: PtxInstruction) -> bool:
    """Return whether the last machine instruction of an instruction's sequence is a multiplication."""
    variant, *others = instruction.modifiers or ("",)
    return (f"{instruction.mnemonic}.{variant}", "ftz" in others) in FACTORS and others[-1:] == ["f32"]


def _is_open(instruction: PtxInstruction, mnemonic: str) -> bool:
    """Return whether an instruction has a mnemonic, a floating-point type and an open rounding."""
    if instruction.mnemonic != mnemonic or not instruction.modifiers or len(instruction.operands) != 3:
        return False
    *modifiers, type_name = instruction.modifiers
    return type_name in _TYPES and ({"ftz"} if mnemonic == "mul" else {"ftz", "sat"}).issuperset(modifiers)


def _kind(instruction: PtxInstruction) -> tuple[str, bool]:
    return instruction.modifiers[-1], "ftz" in instruction.modifiers
