# SPDX-License-Identifier: MIT
"""The specification: one element of D from its row of A, its column of B and its c, on Python integers.

It is slow and simple. Every other engine must return the same bits.
"""

from collections.abc import Sequence
from functools import reduce

from wmma_emu.arithmetic.block_scale import Term, group_term, scale_pair, scaled
from wmma_emu.arithmetic.model import DotModel, DotProduct
from wmma_emu.errors import ShapeError
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.reference import pack_infinity, pack_nan, round_pack, unpack
from wmma_emu.scalar import reference as scalar

__all__ = [
    "UNIT",
    "Datapath",
    "Term",
    "alignment_exponent",
    "combine_bits",
    "cut",
    "dot",
    "fused_step",
    "integer_sum",
    "multiply",
    "popcount",
    "rounded_sum",
    "signed",
    "special_result",
    "step_terms",
]  # fmt: skip


class Datapath:
    """The operations of a dot product. An explanation replaces it by a unit that records them."""

    def convert(self, bits: int, source: Format, target: Format) -> int:
        """Convert a number, rounded to nearest even."""
        return scalar.convert(bits, source, target)

    def fused_step(
        self, product: DotProduct, a: list[int], b: list[int], c: int,
        scale_a: Sequence[int] = (), scale_b: Sequence[int] = (),
    ) -> int:  # fmt: skip
        """Execute one rounding step of an aligned sum, with two block scales per product if there are any."""
        return fused_step(product, a, b, c, scale_a, scale_b)

    def fma(self, product: DotProduct, a: int, b: int, c: int) -> int:
        """Execute one fused multiply-add of a chain."""
        model = product.model
        return scalar.fma(a, b, c, model.chain_format, product.rounding, model.nan)

    def mul(self, a: int, b: int, fmt: Format) -> int:
        """Multiply, rounded to nearest even."""
        return scalar.mul(a, b, fmt)

    def add(self, a: int, b: int, fmt: Format) -> int:
        """Add, rounded to nearest even."""
        return scalar.add(a, b, fmt)

    def integer_sum(self, product: DotProduct, a: list[int], b: list[int], c: int) -> int:
        """Sum all products of an integer instruction and c."""
        return integer_sum(product, a, b, c)

    def popcount(self, product: DotProduct, a: list[int], b: list[int], c: int) -> int:
        """Add c and the population count of a b1 instruction."""
        return popcount(product, a, b, c)


UNIT = Datapath()


def dot(
    product: DotProduct, a: list[int], b: list[int], c: int, unit: Datapath = UNIT,
    scale_a: Sequence[int] = (), scale_b: Sequence[int] = (),
) -> int:  # fmt: skip
    """Compute the bits of one element of D.

    The row of A and the column of B have ``product.k`` patterns each; ``unit`` executes the operations. Row and column
    have a scale for each ``product.scale_block`` products, or none without block scales.

    Examples
    --------
    Sixteen ones, and a c that is below the 25 bits that the unit keeps:

    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> p = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    >>> hex(dot(p, [0x3C00] * 16, [0x3C00] * 16, 0x2F800000))
    '0x41800000'
    """
    if (len(scale_a), len(scale_b)) != (product.scale_vec, product.scale_vec):
        raise ShapeError(
            f"{len(scale_a)} scales of the row and {len(scale_b)} of the column; expected {product.scale_vec} of each"
        )
    match product.model.arithmetic:
        case "aligned_sum":
            return _aligned_sum(product, a, b, c, unit, scale_a, scale_b)
        case "fma_chain":
            return _fma_chain(product, a, b, c, unit)
        case "integer":
            return unit.integer_sum(product, a, b, c)
        case "popcount":
            return unit.popcount(product, a, b, c)


def _aligned_sum(
    product: DotProduct,
    a: list[int],
    b: list[int],
    c: int,
    unit: Datapath,
    scale_a: Sequence[int],
    scale_b: Sequence[int],
) -> int:
    """Execute all rounding steps of one instruction, and combine c with their results."""
    model = product.model
    accumulator = model.accumulator_format
    a_format, b_format = product.operand_formats
    a = _converted(a, product.a, a_format, unit)
    b = _converted(b, product.b, b_format, unit)
    # c enters the unit in the accumulator's format, exactly.
    [c] = _converted([c], product.c, accumulator, unit)
    sums = []
    running = c if model.c_joins == "first_step" else 0
    for step in product.steps:
        x, y = [a[k] for k in step], [b[k] for k in step]
        block = product.scale_block
        scales = [[given[k // block] for k in step] for given in (scale_a, scale_b)] if block else []
        running = unit.fused_step(product, x, y, running, *scales)
        if model.partial_sums == "added":
            sums.append(running)
            running = 0
    if sums:
        running = reduce(lambda x, y: unit.add(x, y, accumulator), sums)
    if model.c_joins == "last_add":
        running = unit.add(c, running, accumulator)
    [d] = _converted([running], accumulator, product.d, unit)
    return d


def fused_step(
    product: DotProduct, a: list[int], b: list[int], c: int, scale_a: Sequence[int] = (), scale_b: Sequence[int] = ()
) -> int:
    """Execute one rounding step of the unit: form the terms, align, truncate, add, round once."""
    model = product.model
    terms = step_terms(product, a, b, c, scale_a, scale_b)
    if any(t.is_special for t in terms):
        return special_result(model, terms)
    return rounded_sum(model, terms, alignment_exponent(model, terms))


def rounded_sum(model: DotModel, terms: list[Term], exponent: int) -> int:
    """Truncate finite terms at the common exponent, add, and round once."""
    total = sum(cut(t, exponent, model.fraction_bits) for t in terms)
    result = round_pack(int(total < 0), abs(total), exponent - model.fraction_bits, model.output_format,
                        model.rounding, "infinity")  # fmt: skip
    # A zero sum is +0: also if all terms are -0, after cancellation, and after rounding to zero from either side.
    return 0 if result == model.output_format.sign_mask else result


def step_terms(
    product: DotProduct, a: list[int], b: list[int], c: int, scale_a: Sequence[int] = (), scale_b: Sequence[int] = ()
) -> list[Term]:
    """Return the terms of one step: its exact products with their two scales, or groups of them, then c."""
    model, formats = product.model, product.operand_formats
    accumulator = model.accumulator_format
    u = unpack(c, accumulator)
    addend = Term(u.kind, u.sign, u.exponent, u.significand, accumulator.fraction_bits)
    products = [multiply(x, formats[0], y, formats[1]) for x, y in zip(a, b, strict=True)]
    if product.scale is None:
        return [*products, addend]
    scales = [scale_pair(x, y, product.scale) for x, y in zip(scale_a, scale_b, strict=True)]
    if model.scaling == "exponents":
        return [*(scaled(t, pair) for t, pair in zip(products, scales, strict=True)), addend]
    size = model.group_terms
    groups = [group_term(products[i : i + size], formats, scales[i]) for i in range(0, len(products), size)]
    return [*groups, addend]


def multiply(x: int, x_format: Format, y: int, y_format: Format) -> Term:
    """Multiply exactly; the significand, in [0, 4), is not normalised."""
    p, q = unpack(x, x_format), unpack(y, y_format)
    sign = p.sign ^ q.sign
    kinds = {p.kind, q.kind}
    if "nan" in kinds or kinds == {"infinity", "zero"}:
        kind = "nan"
    elif "infinity" in kinds:
        kind = "infinity"
    else:
        kind = "zero" if "zero" in kinds else "finite"
    fraction_bits = x_format.fraction_bits + y_format.fraction_bits
    return Term(kind, sign, p.exponent + q.exponent, p.significand * q.significand, fraction_bits)


def alignment_exponent(model: DotModel, terms: list[Term]) -> int:
    """Return the largest exponent of the non-zero terms, but at least the unit's floor."""
    exponents = [t.exponent for t in terms if t.kind == "finite"]
    if model.zero_groups == "aligned":
        exponents += [t.exponent for t in terms[:-1] if t.kind == "zero"]
    return max([*exponents, model.min_exponent])


def cut(term: Term, exponent: int, fraction_bits: int) -> int:
    """Shift a term to the common exponent and truncate it; the result is in units of 2**(exponent - F)."""
    shift = fraction_bits - term.fraction_bits + term.exponent - exponent
    magnitude = term.significand << shift if shift >= 0 else term.significand >> -shift
    return -magnitude if term.sign else magnitude


def special_result(model: DotModel, terms: list[Term]) -> int:
    """Return NaN if any term is NaN, or if there are infinities of both signs; otherwise the infinity."""
    signs = {t.sign for t in terms if t.kind == "infinity"}
    if any(t.kind == "nan" for t in terms) or len(signs) == 2:
        return pack_nan(model.output_format)
    return pack_infinity(signs.pop(), model.output_format)


def _converted(bits: list[int], source: Format, target: Format, unit: Datapath) -> list[int]:
    return bits if source == target else [unit.convert(x, source, target) for x in bits]


def _fma_chain(product: DotProduct, a: list[int], b: list[int], c: int, unit: Datapath) -> int:
    """Execute fused multiply-adds over ascending k, each rounded once."""
    model, fmt = product.model, product.model.chain_format
    a = _converted(a, product.a, fmt, unit)
    b = _converted(b, product.b, fmt, unit)
    [c] = _converted([c], product.c, fmt, unit)
    if model.c_joins == "each_add":
        for step in product.steps:
            chain = unit.mul(a[step[0]], b[step[0]], fmt)
            for k in step[1:]:
                chain = unit.fma(product, a[k], b[k], chain)
            c = unit.add(c, chain, fmt)
        running = c
    else:
        running = 0 if model.c_joins == "last_add" else c
        for x, y in zip(a, b, strict=True):
            running = unit.fma(product, x, y, running)
        if model.c_joins == "last_add":
            running = unit.add(c, running, fmt)
    [d] = _converted([running], fmt, product.d, unit)
    return d


def integer_sum(product: DotProduct, a: list[int], b: list[int], c: int) -> int:
    """Return the exact total, wrapped or clamped once."""
    total = signed(c, product.c)
    total += sum(signed(x, product.a) * signed(y, product.b) for x, y in zip(a, b, strict=True))
    if product.satfinite:
        total = min(max(total, product.d.min_integer), product.d.max_integer)
    return total & product.d.mask


def popcount(product: DotProduct, a: list[int], b: list[int], c: int) -> int:
    """Return the number of bits set in ``a op b``, plus c."""
    count = sum(combine_bits(product, a, b))
    return (c + count) & format_of("s32").mask


def combine_bits(product: DotProduct, a: list[int], b: list[int]) -> list[int]:
    """Combine the bits of a and b one by one with the instruction's operation."""
    return [x ^ y if product.bit_operation == "xor" else x & y for x, y in zip(a, b, strict=True)]


def signed(bits: int, fmt: Format) -> int:
    """Return the value of an integer pattern."""
    return bits - (1 << fmt.bits) if bits & fmt.sign_mask else bits
