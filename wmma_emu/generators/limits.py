# SPDX-License-Identifier: MIT
"""Input generators for both ends of the range: subnormal operands and results, underflow, overflow."""

import numpy as np

from wmma_emu.generators.draws import ALL, Draw
from wmma_emu.generators.words import Words


def subnormal_operands(draw: Draw) -> Words:
    """Draw subnormal operands, whole lines of them, and ordinary and large factors; c is of the same size, or zero."""
    fmt = draw.fmt
    if draw.operand == "c":
        size = min(draw.facts.a.emin, draw.facts.b.emin)
        return draw.mix((ALL // 2, draw.zero()), rest=draw.number(size + draw.between(-12, 6)))
    # A subnormal has the exponent of the smallest normal number unless it is normalised first; with a large factor,
    # that exponent changes the alignment of the other terms.
    ordinary = draw.number(draw.between(-6, 6) if fmt.exponent_bits >= 8 else draw.between(fmt.emin, fmt.emax))
    kind = draw.line_number(0, 3)
    weight = np.where(kind < 2, ALL, np.where(kind == 2, ALL * 3 // 4, 0))
    if draw.operand == "b":
        weight = np.where(kind == 0, ALL, np.where(kind == 1, ALL // 4, 0))
    return np.where(draw.selector < weight, draw.subnormal(), ordinary)


def _lowest(draw: Draw) -> int:
    """Return an exponent whose products end below the accumulator's last place, or the lowest exponent available."""
    out = draw.facts.accumulator
    return max(out.emin - out.fraction_bits, draw.facts.bottom_product + 6)


def small_products(draw: Draw) -> Words:
    """Draw products near the accumulator's smallest number; c is zero."""
    if draw.operand == "c":
        return draw.zero()
    exponent = draw.share(_lowest(draw)) + draw.line_number(-2, 2) + draw.between(-2, 1)
    return draw.mix((ALL // 8, draw.zero()), rest=draw.number(exponent))


def small_products_and_c(draw: Draw) -> Words:
    """Draw products near the accumulator's smallest number; c is subnormal."""
    if draw.operand != "c":
        return small_products(draw)
    few = draw.signed(draw.payload & np.uint64(15))
    return draw.mix((ALL // 2, few), rest=draw.subnormal())


def subnormal_results(draw: Draw) -> Words:
    """Draw sums among the accumulator's subnormals and just above them."""
    out = draw.facts.accumulator
    if draw.operand == "c":
        above = draw.number(out.emin + draw.between(0, 3))
        return draw.mix((ALL // 4, draw.zero()), (ALL // 8, above), rest=draw.subnormal())
    exponent = draw.share(max(out.emin - 4, draw.facts.bottom_product + 4)) + draw.between(-3, 2)
    return draw.mix((ALL // 8, draw.zero()), rest=draw.number(exponent))


def floor_bits(draw: Draw) -> Words:
    """Draw the lowest bit of the accumulator's subnormals, or half of it, and single bits far below; c is zero.

    The alignment exponent is as low as it can be, and a floor under it decides whether the small bits count.
    """
    facts, out, order = draw.facts, draw.facts.accumulator, draw.plan.order
    if draw.operand == "c":
        return draw.zero()
    place = draw.share(out.emin - out.fraction_bits)
    # A datapath that keeps F = 23 to 25 bits and stops aligning at emin - 5 - (F - 23) cuts at emin - 28 to emin - 32.
    tail = draw.power(draw.share(out.emin - 25) - draw.line_number(0, 9, start=16))
    if draw.operand == "b":
        return np.where(draw.at(order[:1]), draw.power(place), tail)
    weight = np.left_shift(np.int64(ALL // facts.terms), draw.line_number(0, 3, start=32))
    tail = np.where(draw.selector < weight, tail, draw.zero())
    # An odd multiple of the last place or of half of it: that bit itself, and one bit above it.
    above = draw.line_number(0, min(2, draw.fmt.fraction_bits), start=48)
    odd = np.where(above == 0, 0, np.int64(1) << (draw.fmt.fraction_bits - above)).astype(np.uint64)
    multiple = draw.number(place - draw.line_number(0, 1) + above, odd)
    return np.where(draw.at(order[:1]), multiple, tail)


def lone_underflow(draw: Draw) -> Words:
    """Draw one product below the accumulator's smallest number, of either sign, or two that nearly cancel.

    C is zero.
    """
    if draw.operand == "c":
        return draw.mix((ALL // 8, draw.signed(1)), rest=draw.zero())
    out = draw.facts.accumulator
    exponent = draw.share(out.emin - out.fraction_bits - 2) - draw.line_number(0, 3)
    if draw.operand == "b":
        return draw.number(exponent)
    terms = draw.facts.terms
    present = draw.position == draw.line_index % terms
    second = (draw.position == (draw.line_index + 1) % terms) & (draw.line_number(0, 3, start=16) == 0)
    return np.where(present | second, draw.number(exponent), draw.zero())


def straddle_overflow(draw: Draw) -> Words:
    """Draw a few products just below and just above the accumulator's range; c is near the end of the range."""
    facts = draw.facts
    top = min(facts.accumulator.emax + 1, facts.top_product - 1)
    if draw.operand == "c":
        near = draw.number(facts.accumulator.emax - draw.between(0, 3))
        return draw.mix((ALL // 4, draw.zero()), rest=near)
    large = draw.number(draw.share(top) - draw.between(0, 2) + draw.line_number(-1, 1))
    if draw.operand == "b":
        return large
    few = ALL * 3 // max(facts.terms, 3)
    return np.where(draw.selector < few, large, draw.zero())


def scaled_to_the_ends(draw: Draw) -> Words:
    """Draw ordinary products that block scales move to the ends of the accumulator's range; c is there too, or zero."""
    if draw.operand != "c":
        return draw.mix((ALL // 8, draw.zero()), rest=draw.number(draw.between(-3, 4)))
    near = draw.number(draw.fmt.emax - draw.between(0, 12))
    return draw.mix((ALL // 2, draw.zero()), (ALL // 8, draw.subnormal()), (ALL // 8, draw.number(draw.between(-4, 4))),
                    rest=near)  # fmt: skip


def largest_results(draw: Draw) -> Words:
    """Draw the accumulator's largest number, as a product or as c; half of its last place; and single lower bits."""
    facts, out, order = draw.facts, draw.facts.accumulator, draw.plan.order
    top, last = out.emax, out.fraction_bits
    half = top - last - 1
    if draw.operand == "c":
        largest = draw.signed(np.uint64(out.max_finite) - (draw.payload & np.uint64(1)))
        return draw.mix((ALL // 2, draw.zero()), (ALL // 4, largest), rest=draw.power(half + draw.between(-2, 1)))
    high = facts.depths[1] - 2
    low = min(last + 2, high - 4)
    if draw.operand == "b":
        tail = draw.power(draw.share(top - low) - draw.between(0, (high - low + 1) // 2))
        large, middle = draw.power(draw.share(top)), draw.power(draw.share(half))
    else:
        ones = np.uint64((1 << draw.fmt.fraction_bits) - 1)
        large = np.where(
            draw.line_number(0, 1) == 1, draw.zero(), draw.number(draw.share(top), ones - (draw.payload & np.uint64(1)))
        )
        middle = np.where(draw.line_number(0, 3, start=16) == 0, draw.zero(), draw.power(draw.share(half)))
        tail = draw.power(draw.share(top - low) - draw.line_number(0, (high - low) // 2, start=32))
        tail = np.where(draw.selector < 2 * ALL // facts.terms, tail, draw.zero())
    return np.where(draw.at(order[:1]), large, np.where(draw.at(order[1:2]), middle, tail))
