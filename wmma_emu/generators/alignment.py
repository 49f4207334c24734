# SPDX-License-Identifier: MIT
"""Input generators for alignment: the bits kept below the largest term, and the term that counts as the largest."""

import numpy as np

from wmma_emu.generators.draws import ALL, Draw
from wmma_emu.generators.words import Words


def one_large(draw: Draw) -> Words:
    """Draw one or two large products, or a large c, and many small ones around the last bit kept."""
    facts, large = draw.facts, draw.facts.large
    low, high = facts.depths
    if draw.operand == "c":
        small = draw.number(large - draw.between(low, high + 4))
        return draw.mix((ALL // 4, draw.zero()), (ALL // 4, draw.number(large)), rest=small)
    # Half of the distance comes from the row of A, half from the column of B.
    depth = draw.line_number(0, (high - low) // 2)
    jitter = draw.between(0, 2)
    small = draw.number(draw.share(large - low) - depth - jitter)
    small = draw.mix((ALL // 8, draw.zero()), rest=small)
    standing_out = draw.plan.order[:2]
    if draw.operand == "b":
        return np.where(draw.at(standing_out), draw.number(draw.share(large)), small)
    which = draw.line_number(0, 3, start=16)
    present = (draw.at(standing_out[:1]) & ((which & 1) != 0)) | (draw.at(standing_out[1:]) & ((which & 2) != 0))
    outstanding = np.where(present, draw.number(draw.share(large)), draw.zero())
    return np.where(draw.at(standing_out), outstanding, small)


def single_bits(draw: Draw) -> Words:
    """Draw powers of two only: a large one, and a few near the last bit of the result and of the aligned sum."""
    facts, large = draw.facts, draw.facts.large
    last = facts.last_bit
    low, high = min(last - 1, facts.depths[0] + 2), max(last, facts.depths[1] - 2)
    if draw.operand == "c":
        near = draw.power(large - draw.between(low, high))
        one_more = draw.number(large, draw.payload & np.uint64(3))
        return draw.mix((ALL // 2, draw.zero()), (ALL // 8, draw.power(large)), (ALL // 8, one_more), rest=near)
    first = draw.plan.order[:1]
    span = high - low
    depth = draw.line_number(0, span // 2) + draw.between(0, 1)
    small = draw.power(draw.share(large - low) - depth)
    if draw.operand == "a":
        # A row has few small terms, so that a single one decides.
        weight = np.left_shift(np.int64(ALL // facts.terms), draw.line_number(0, 3, start=16))
        small = np.where(draw.selector < weight, small, draw.zero())
        top = np.where(draw.line_number(0, 7, start=32) == 0, draw.zero(), draw.power(draw.share(large)))
    else:
        top = draw.power(draw.share(large))
    return np.where(draw.at(first), top, small)


def ties(draw: Draw) -> Words:
    """Draw a number, half of its last place, and single lower bits that decide the direction of the tie."""
    facts, large, order = draw.facts, draw.facts.large, draw.plan.order
    last = facts.d.fraction_bits
    high = facts.depths[1] - 2
    # If the numbers of A have fewer bits than the result, the tie is at a different bit.
    low = min(last + 2, high - 4)
    if draw.operand == "c":
        tail = draw.power(large - draw.between(low, high))
        return draw.mix((ALL // 2, draw.zero()), (ALL // 4, draw.number(large)), (ALL // 8, tail),
                        rest=draw.power(large - last - 1))  # fmt: skip
    if draw.operand == "a":
        some = draw.line_number(0, 3)
        top = np.where(some == 0, draw.zero(), draw.number(draw.share(large)))
        half = np.where(draw.line_number(0, 7, start=16) == 0, draw.zero(), draw.power(draw.share(large - last - 1)))
        depth = draw.line_number(0, (high - low) // 2, start=32)
        tail = draw.power(draw.share(large - low) - depth)
        tail = np.where(draw.selector < 2 * ALL // facts.terms, tail, draw.zero())
    else:
        top, half = draw.power(draw.share(large)), draw.power(draw.share(large - last - 1))
        tail = draw.power(draw.share(large - low) - draw.between(0, (high - low + 1) // 2))
    return np.where(draw.at(order[:1]), top, np.where(draw.at(order[1:2]), half, tail))


def largest_significands(draw: Draw) -> Words:
    """Draw the largest significands, mostly of one sign, with one exponent for each row and column.

    c makes the sum carry further.
    """
    plan, fmt = draw.plan, draw.fmt
    ones = (1 << fmt.fraction_bits) - 1
    if draw.operand == "c":
        exponent = plan.row_levels + plan.column_levels + draw.between(0, 6)
        return draw.number(exponent, draw.fraction | np.uint64(ones & ~7))
    levels = plan.row_levels if draw.operand == "a" else plan.column_levels
    # One line in eight has both signs.
    one_sign = (draw.line & np.uint64(1)) * np.uint64(fmt.sign_mask)
    sign = np.where(draw.line_number(0, 7, start=16) == 0, draw.sign, one_sign)
    return draw.number(np.broadcast_to(levels, draw.shape), ones, sign)


def zero_times_huge(draw: Draw) -> Words:
    """Draw zeros that are multiplied by huge numbers, and small terms next to them: a zero has no exponent."""
    facts = draw.facts
    if draw.operand == "c":
        return draw.mix((ALL // 2, draw.zero()), rest=draw.number(draw.between(-40, -12)))
    huge = draw.plan.order[: max(facts.terms // 2, 1)]
    fmt = draw.fmt
    # A format with few exponents needs its smallest numbers to be far below the huge ones.
    lowest = -10 if fmt.exponent_bits >= 8 else fmt.emin - fmt.fraction_bits
    small = draw.number(draw.between(lowest, max(lowest, -6)))
    if draw.operand == "a":
        return np.where(draw.at(huge), draw.zero(), small)
    return np.where(draw.at(huge), draw.number(fmt.emax - draw.between(0, 3)), small)
