# SPDX-License-Identifier: MIT
"""The trace of a dot product: the reference arithmetic with a unit that records its operations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from wmma_emu.arithmetic import reference
from wmma_emu.arithmetic.explanation import specials
from wmma_emu.arithmetic.explanation.notes import (
    Traced,
    aligned_term,
    k_of,
    name_of,
    number,
    rounding_note,
    scaled_blocks,
    stripped,
    word,
)
from wmma_emu.arithmetic.explanation.steps import (
    AlignedSum,
    BitCount,
    BitWord,
    Conversion,
    Converted,
    Execution,
    IntegerSum,
    IntegerTerm,
    MultiplyAdd,
    Step,
)
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.formats import Format
from wmma_emu.formats import Rounding as Mode
from wmma_emu.formats.reference import Unpacked, unpack
from wmma_emu.scalar import reference as scalar

_WORD = 32


def trace(
    product: DotProduct, a: list[int], b: list[int], c: int, ks: list[int] | None = None,
    scale_a: Sequence[int] = (), scale_b: Sequence[int] = (),
) -> tuple[Execution, ...]:  # fmt: skip
    """Compute one element of D, instruction by instruction over k, and record every step.

    The number of patterns of A's row and B's column is a multiple of ``product.k``. If A is sparse, ``ks`` are the k of
    its packed elements, and an instruction covers twice as many k.

    Examples
    --------
    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> p = dot_product_of(lookup("m16n8k8.f32.tf32.tf32.f32"), "sm_80")
    >>> [execution] = trace(p, [0x3F80_0000] * 8, [0x3F80_0000] * 8, 0)
    >>> [(step.exponent, step.total, hex(step.result)) for step in execution.steps]
    [(0, 67108864, '0x40800000'), (2, 33554432, '0x41000000')]
    """
    unit = TracingUnit()
    running: int = Traced.of(c, "c")
    executions: list[Execution] = []
    names, reach = (range(len(a)), product.k) if ks is None else (ks, 2 * product.k)
    for start in range(0, len(a), product.k):
        places = range(start, start + product.k)
        x = [Traced.of(a[i], f"a[{names[i]}]", names[i]) for i in places]
        y = [Traced.of(b[i], f"b[{names[i]}]", names[i]) for i in places]
        first_k = start // product.k * reach
        first, addend = len(unit.steps), running
        first_scale = start // product.k * product.scale_vec
        here = slice(first_scale, first_scale + product.scale_vec)
        running = reference.dot(product, list(x), list(y), addend, unit, scale_a[here], scale_b[here])
        execution = Execution(
            number=len(executions) + 1, first_k=first_k, last_k=first_k + reach - 1, c_name=name_of(addend),
            c=int(addend), steps=tuple(unit.steps[first:]), result=int(running),
        )  # fmt: skip
        executions.append(execution)
    return tuple(executions)


class _Operands(NamedTuple):
    """The operands of a term: a and b, two scales, or only the addend; and the name of a group."""

    bits: tuple[int, ...]
    group: str = ""

    @property
    def name(self) -> str:
        """The name of the term."""
        k = k_of(self.bits[0]) if len(self.bits) == 2 else None
        return self.group or (name_of(self.bits[0]) if k is None else f"k={k}")


class TracingUnit(reference.Datapath):
    """A unit that executes the operations of the reference and records each of them."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._numbered = 0

    def convert(self, bits: int, source: Format, target: Format) -> int:
        """Convert a number; all inputs of one operand are recorded in one entry."""
        result = super().convert(bits, source, target)
        name, k = name_of(bits), k_of(bits)
        operand = {"a": "A", "b": "B"}.get(name.partition("[")[0], name)
        one = Converted(name=name, bits=int(bits), result=result)
        last = self.steps[-1] if self.steps else None
        if k is not None and isinstance(last, Conversion) and last.operand == operand:
            self.steps[-1] = replace(last, numbers=(*last.numbers, one))
            return Traced.of(result, name, k)
        rounding = None
        u = unpack(bits, source)
        if k is None and u.kind == "finite":
            sign, significand, exponent = stripped(u.sign, u.significand, u.exponent - source.fraction_bits)
            rounding = rounding_note(sign, significand, exponent, target, "RNE")
        note = Conversion(number=0, operand=operand, source=source.name, target=target.name, numbers=(one,),
                          rounding=rounding, result=result)  # fmt: skip
        if source.bits <= target.bits:
            self.steps.append(note)
            return Traced.of(result, name, k)
        return self._write(replace(note, number=self._next()))

    def fused_step(
        self, product: DotProduct, a: list[int], b: list[int], c: int,
        scale_a: Sequence[int] = (), scale_b: Sequence[int] = (),
    ) -> int:  # fmt: skip
        """Record terms, alignment, truncation, sum and rounding; scales of each block, and the sums of groups."""
        result = super().fused_step(product, a, b, c, scale_a, scale_b)
        terms = reference.step_terms(product, a, b, c, scale_a, scale_b)
        blocks = scaled_blocks(product, a, b, scale_a, scale_b)
        model, out, formats = product.model, product.model.output_format, product.operand_formats
        operands = [_Operands(pair) for pair in zip(a, b, strict=True)]
        if model.scaling == "groups" and product.scale is not None:
            operands = [_Operands((block.scale_a, block.scale_b), block.name) for block in blocks]
            formats = product.scale, product.scale
        operands.append(_Operands((c,)))
        special = specials.of_terms([x.name for x in operands], terms, blocks)
        exponent = 0 if special else reference.alignment_exponent(model, terms)
        notes = [
            aligned_term(term, special is not None, exponent, model.fraction_bits, formats, pair, group)
            for term, (pair, group) in zip(terms, operands, strict=True)
        ]
        total = 0 if special else sum(term.kept for term in notes)
        rounding = None
        if total:
            low = exponent - model.fraction_bits
            rounding = rounding_note(int(total < 0), abs(total), low, out, model.rounding)
        counts = ("finite", "zero") if model.zero_groups == "aligned" else ("finite",)
        aligned_to = [
            note.name for note, term in zip(notes, terms, strict=True)
            if term.exponent == exponent and (term.kind == "finite" or (term.kind in counts and note.b is not None))
        ]  # fmt: skip
        return self._write(
            AlignedSum(
                number=self._next(), a_format=formats[0].name, b_format=formats[1].name,
                format=model.accumulator_format.name, result_format=out.name, terms=tuple(notes),
                fraction_bits=model.fraction_bits, exponent=exponent, floor=not (aligned_to or special),
                aligned_to="" if special or not aligned_to else aligned_to[0], total=total, rounding=rounding,
                special=special, result=result, scale_format=product.scale.name if product.scale else "",
                blocks=blocks, operand_formats=tuple(x.name for x in product.operand_formats) if blocks else (),
            )
        )  # fmt: skip

    def fma(self, product: DotProduct, a: int, b: int, c: int) -> int:
        """Execute and record one multiply-add of a chain."""
        result = super().fma(product, a, b, c)
        fmt, model = product.model.chain_format, product.model
        special = specials.of_multiply_add((a, b, c), fmt, model.nan, (name_of(a), name_of(b), name_of(c)))
        exact = scalar.exact_multiply_add(unpack(a, fmt), unpack(b, fmt), unpack(c, fmt), fmt)
        return self._multiply_add("fma", fmt, product.rounding, (a, b, c), special, exact, result)

    def mul(self, a: int, b: int, fmt: Format) -> int:
        """Execute and record one multiplication."""
        result = super().mul(a, b, fmt)
        zero = Unpacked("zero", 0, 0, 0)
        special = specials.of_multiply_add((a, b, 0), fmt, "canonical", (name_of(a), name_of(b), "+0"))
        exact = scalar.exact_multiply_add(unpack(a, fmt), unpack(b, fmt), zero, fmt)
        return self._multiply_add("mul", fmt, "RNE", (a, b), special, exact, result)

    def add(self, a: int, b: int, fmt: Format) -> int:
        """Execute and record one addition."""
        result = super().add(a, b, fmt)
        one = scalar.one(fmt)
        special = specials.of_multiply_add((one, a, b), fmt, "canonical", ("1", name_of(a), name_of(b)))
        exact = scalar.exact_multiply_add(unpack(one, fmt), unpack(a, fmt), unpack(b, fmt), fmt)
        return self._multiply_add("add", fmt, "RNE", (a, b), special, exact, result)

    def integer_sum(self, product: DotProduct, a: list[int], b: list[int], c: int) -> int:
        """Record products, total, and the wrapped or clamped result."""
        result = super().integer_sum(product, a, b, c)
        terms = []
        for x, y in zip(a, b, strict=True):
            value, other = reference.signed(int(x), product.a), reference.signed(int(y), product.b)
            terms.append(IntegerTerm(k=k_of(x) or 0, a=int(x), b=int(y), a_value=value, b_value=other,
                                     product=value * other))  # fmt: skip
        c_value = reference.signed(int(c), product.c)
        total, value = c_value + sum(t.product for t in terms), reference.signed(result, product.d)
        limit = "none" if total == value else "wrapped"
        if product.satfinite and total != value:
            limit = "highest" if total > value else "lowest"
        return self._write(
            IntegerSum(
                number=self._next(), a_format=product.a.name, b_format=product.b.name, format=product.d.name,
                terms=tuple(terms), c_name=name_of(c), c=int(c), c_value=c_value, total=total,
                satfinite=product.satfinite, limit=limit, result=result, value=value,  # type: ignore[arg-type]
            )
        )  # fmt: skip

    def popcount(self, product: DotProduct, a: list[int], b: list[int], c: int) -> int:
        """Record words of thirty-two bits, combined and counted."""
        result = super().popcount(product, a, b, c)
        combined = reference.combine_bits(product, a, b)
        words = []
        for i in range(0, len(a), _WORD):
            here = slice(i, i + _WORD)
            words.append(BitWord(k=k_of(a[i]) or 0, a=word(a[here]), b=word(b[here]), combined=word(combined[here]),
                                 count=sum(combined[here])))  # fmt: skip
        c_value, value = reference.signed(int(c), product.c), reference.signed(result, product.d)
        count = sum(word.count for word in words)
        return self._write(
            BitCount(
                number=self._next(), operation=product.bit_operation, format=product.d.name, words=tuple(words),
                count=count, c_name=name_of(c), c=int(c), c_value=c_value, total=c_value + count,
                limit="none" if c_value + count == value else "wrapped", result=result, value=value,
            )
        )  # fmt: skip

    def _multiply_add(
        self, operation: str, fmt: Format, mode: Mode, operands: tuple[int, ...], special: specials.Special | None,
        exact: tuple[int, int], result: int,
    ) -> int:  # fmt: skip
        total, low = (0, 0) if special else exact
        sign, significand, exponent = stripped(int(total < 0), abs(total), low)
        rounding = rounding_note(sign, significand, exponent, fmt, mode) if total else None
        names = [name_of(x) for x in operands]
        return self._write(
            MultiplyAdd(
                number=self._next(), operation=operation, k=k_of(operands[0]), format=fmt.name,  # type: ignore[arg-type]
                mode=mode, operands=tuple(number(x, n, fmt) for x, n in zip(operands, names, strict=True)), sign=sign,
                significand=significand, exponent=exponent, rounding=rounding, special=special, result=result,
            )
        )  # fmt: skip

    def _next(self) -> int:
        self._numbered += 1
        return self._numbered

    def _write(self, step: Step) -> Traced:
        self.steps.append(step)
        return Traced.of(step.result, f"step {step.number}")
