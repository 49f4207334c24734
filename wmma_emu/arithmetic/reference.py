# SPDX-License-Identifier: MIT
"""The specification: one element of D from its row of A, its column of B and its c, on Python integers.

Slow and plain. Every other engine must give the same bits.
"""

from functools import reduce
from typing import NamedTuple

from wmma_emu.arithmetic.model import DotModel, DotProduct
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.reference import pack_infinity, pack_nan, round_pack, unpack
from wmma_emu.scalar import reference as scalar

__all__ = ["Term", "alignment_exponent", "cut", "dot", "fused_step", "multiply", "special_result", "widen"]


class Term(NamedTuple):
    """One term of a sum: ``(-1)**sign * significand * 2**(exponent - fraction_bits)``, not normalised."""

    kind: str
    sign: int
    exponent: int
    significand: int
    fraction_bits: int

    @property
    def is_special(self) -> bool:
        """Whether the term is an infinity or NaN."""
        return self.kind in ("infinity", "nan")


def dot(product: DotProduct, a: list[int], b: list[int], c: int) -> int:
    """Compute the bits of one element of D.

    Parameters
    ----------
    product : DotProduct
    a, b : list of int
        Patterns of the row of A and the column of B, ``product.k`` of each.
    c : int
        Pattern of the element of C.

    Examples
    --------
    Sixteen ones, and a c too small to reach the 25 bits that the unit keeps:

    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> p = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
    >>> hex(dot(p, [0x3C00] * 16, [0x3C00] * 16, 0x2F800000))
    '0x41800000'
    """
    match product.model.arithmetic:
        case "aligned_sum":
            return _aligned_sum(product, a, b, c)
        case "fma_chain":
            return _fma_chain(product, a, b, c)
        case "integer":
            return _integer(product, a, b, c)
        case "popcount":
            return _popcount(product, a, b, c)


def _aligned_sum(product: DotProduct, a: list[int], b: list[int], c: int) -> int:
    """All rounding steps of one instruction, and the way in which c and their results come together."""
    model = product.model
    accumulator = model.accumulator_format
    a_format, b_format = product.operand_formats
    a = [scalar.convert(x, product.a, a_format) for x in a]
    b = [scalar.convert(x, product.b, b_format) for x in b]
    c = widen(c, product.c, accumulator)
    sums = []
    running = c if model.c_joins == "first_step" else 0
    for step in product.steps:
        terms = [multiply(a[k], a_format, b[k], b_format) for k in step]
        running = fused_step(model, terms, running)
        if model.partial_sums == "added":
            sums.append(running)
            running = 0
    if sums:
        running = reduce(lambda x, y: scalar.add(x, y, accumulator), sums)
    if model.c_joins == "last_add":
        running = scalar.add(c, running, accumulator)
    return scalar.convert(running, accumulator, product.d) if accumulator != product.d else running


def fused_step(model: DotModel, products: list[Term], c: int) -> int:
    """One rounding step of the unit: align the terms, cut, add, round once."""
    terms = [*products, _term(c, model.accumulator_format)]
    if any(t.is_special for t in terms):
        return special_result(model, terms)
    exponent = alignment_exponent(model, terms)
    total = sum(cut(t, exponent, model.fraction_bits) for t in terms)
    result = round_pack(int(total < 0), abs(total), exponent - model.fraction_bits, model.output_format,
                        model.rounding, "infinity")  # fmt: skip
    # A zero sum is +0: of -0 terms alone, after cancellation, and rounded to zero from either side.
    return 0 if result == model.output_format.sign_mask else result


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
    """Largest exponent among the terms that are not zero, but at least the unit's floor."""
    return max([t.exponent for t in terms if t.kind == "finite"] + [model.min_exponent])


def cut(term: Term, exponent: int, fraction_bits: int) -> int:
    """Shift a term to the common exponent and cut it toward zero; the result counts 2**(exponent - F)."""
    shift = fraction_bits - term.fraction_bits + term.exponent - exponent
    magnitude = term.significand << shift if shift >= 0 else term.significand >> -shift
    return -magnitude if term.sign else magnitude


def special_result(model: DotModel, terms: list[Term]) -> int:
    """NaN if any term is, or if infinities of both signs meet; else the infinity."""
    signs = {t.sign for t in terms if t.kind == "infinity"}
    if any(t.kind == "nan" for t in terms) or len(signs) == 2:
        return pack_nan(model.output_format)
    return pack_infinity(signs.pop(), model.output_format)


def widen(bits: int, source: Format, target: Format) -> int:
    """c enters the unit in the accumulator's format, exactly."""
    return bits if source == target else scalar.convert(bits, source, target)


def _term(bits: int, fmt: Format) -> Term:
    u = unpack(bits, fmt)
    return Term(u.kind, u.sign, u.exponent, u.significand, fmt.fraction_bits)


def _fma_chain(product: DotProduct, a: list[int], b: list[int], c: int) -> int:
    """Fused multiply-adds over ascending k, each rounded once."""
    model, fmt = product.model, product.model.chain_format
    a = [widen(x, product.a, fmt) for x in a]
    b = [widen(x, product.b, fmt) for x in b]
    c = widen(c, product.c, fmt)
    if model.c_joins == "each_add":
        for step in product.steps:
            chain = scalar.mul(a[step[0]], b[step[0]], fmt)
            for k in step[1:]:
                chain = scalar.fma(a[k], b[k], chain, fmt)
            c = scalar.add(c, chain, fmt)
        return scalar.convert(c, fmt, product.d)
    running = 0 if model.c_joins == "last_add" else c
    for x, y in zip(a, b, strict=True):
        running = scalar.fma(x, y, running, fmt, product.rounding, model.nan)
    if model.c_joins == "last_add":
        running = scalar.add(c, running, fmt)
    return scalar.convert(running, fmt, product.d) if fmt != product.d else running


def _integer(product: DotProduct, a: list[int], b: list[int], c: int) -> int:
    """The exact total, wrapped or clamped once."""
    total = _signed(c, product.c)
    total += sum(_signed(x, product.a) * _signed(y, product.b) for x, y in zip(a, b, strict=True))
    if product.satfinite:
        total = min(max(total, product.d.min_integer), product.d.max_integer)
    return total & product.d.mask


def _popcount(product: DotProduct, a: list[int], b: list[int], c: int) -> int:
    """Bits set in ``a op b``, added to c."""
    pairs = zip(a, b, strict=True)
    count = sum(x ^ y if product.bit_operation == "xor" else x & y for x, y in pairs)
    return (c + count) & format_of("s32").mask


def _signed(bits: int, fmt: Format) -> int:
    return bits - (1 << fmt.bits) if bits & fmt.sign_mask else bits
