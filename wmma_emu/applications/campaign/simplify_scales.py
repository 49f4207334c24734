# SPDX-License-Identifier: MIT
"""Fewer and simpler block scales for a mismatch, and the pairs of products that cancel under them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from wmma_emu.applications.campaign.cases import Case, one_of_scales
from wmma_emu.applications.campaign.simplify import power, times
from wmma_emu.formats import Format
from wmma_emu.formats.reference import unpack
from wmma_emu.warp import BoundInstruction

_NO_NUMBER = 100.0


def cost_of_scales(ins: BoundInstruction, case: Case) -> float:
    """Return the distance of the scales from one: the number of others, their exponents, their significant bits."""
    fmt = ins.product.scale
    if fmt is None:
        return 0.0
    return sum(_cost(x, fmt) for x in (*case.scale_a, *case.scale_b))


def _cost(bits: int, fmt: Format) -> float:
    u = unpack(bits, fmt)
    if u.kind == "nan":
        return _NO_NUMBER
    if u.kind == "zero":
        return _NO_NUMBER / 2
    exponent, width = _size(bits, fmt)
    padding = bits.bit_length() > fmt.magnitude_bits
    return 2.0 * (exponent != 0 or width > 1) + 0.25 * abs(exponent) + 2.0 * (width - 1) + padding


def _size(bits: int, fmt: Format) -> tuple[int, int]:
    """Return the exponent of the leading bit, and the number of bits from there to the last set bit."""
    u = unpack(bits, fmt)
    last = (u.significand & -u.significand).bit_length()
    return u.exponent + u.significand.bit_length() - 1 - fmt.fraction_bits, u.significand.bit_length() - last + 1


def simpler_scales(ins: BoundInstruction, case: Case) -> Iterator[Case]:
    """Propose cases whose scales are one: all of them, one side's, one block's; or nearer to one."""
    fmt = ins.product.scale
    if fmt is None:
        return
    one = one_of_scales(ins.instruction)
    ones = (one,) * len(case.scale_a)
    yield replace(case, scale_a=ones, scale_b=ones)
    yield replace(case, scale_a=ones)
    yield replace(case, scale_b=ones)
    for block in range(len(ones)):
        yield _with_block(case, block, one, one)
        for nearer_a in _nearer(case.scale_a[block], fmt, one):
            yield _with_block(case, block, nearer_a, case.scale_b[block])
        for nearer_b in _nearer(case.scale_b[block], fmt, one):
            yield _with_block(case, block, case.scale_a[block], nearer_b)
    # All blocks together, so that products in different blocks still cancel.
    for side in ("scale_a", "scale_b"):
        scales: tuple[int, ...] = getattr(case, side)
        for shift in sorted({-_size(x, fmt)[0] // part for x in scales for part in (1, 2, 4)} | {-1, 1}):
            yield _replaced(case, side, tuple(times(x, fmt, shift) for x in scales))
        yield _replaced(case, side, tuple(_power(x, fmt) for x in scales))


def _replaced(case: Case, side: str, scales: tuple[int, ...]) -> Case:
    return replace(case, scale_a=scales) if side == "scale_a" else replace(case, scale_b=scales)


def _with_block(case: Case, block: int, of_a: int, of_b: int) -> Case:
    a, b = list(case.scale_a), list(case.scale_b)
    a[block], b[block] = of_a, of_b
    return replace(case, scale_a=tuple(a), scale_b=tuple(b))


def _nearer(bits: int, fmt: Format, one: int) -> Iterator[int]:
    yield one
    if unpack(bits, fmt).kind != "finite":
        return
    exponent, _ = _size(bits, fmt)
    yield _power(bits, fmt)
    for shift in {-exponent // 2, -1 if exponent > 0 else 1}:
        yield times(bits, fmt, shift)


def _power(bits: int, fmt: Format) -> int:
    if unpack(bits, fmt).kind != "finite":
        return bits
    return power(_size(bits, fmt)[0], fmt)


def terms_that_cancel(ins: BoundInstruction, case: Case, terms: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of terms in different blocks or groups with opposite products.

    A candidate keeps both or removes both.
    """
    product = ins.product
    if product.scale is None:
        return
    size = product.model.group_terms or product.scale_block
    products: dict[tuple[int, int], list[int]] = {}
    for term in (x for x in terms if x >= 0):
        a, b = unpack(case.a[term], product.a), unpack(case.b[case.k_of(term)], product.b)
        if {a.kind, b.kind} == {"finite"}:
            value = a.significand * b.significand
            low = (value & -value).bit_length() - 1
            exponent = a.exponent + b.exponent - product.a.fraction_bits - product.b.fraction_bits + low
            signed = -(value >> low) if a.sign ^ b.sign else value >> low
            products.setdefault((signed, exponent), []).append(term)
    for (value, exponent), here in products.items():
        for i in here if value > 0 else ():
            for j in products.get((-value, exponent), ()):
                if product.model.scaling == "exponents" or i // size != j // size:
                    yield i, j
