# SPDX-License-Identifier: MIT
"""Input generators for infinities, NaN and signed zeros, at every position of k and in c."""

import numpy as np

from wmma_emu.generators.draws import ALL, Draw
from wmma_emu.generators.words import Words


def specials(draw: Draw) -> Words:
    """Draw ordinary numbers and a few specials: NaN, infinities, zeros and largest numbers, position by position."""
    ordinary = draw.number(draw.between(-3, 4))
    choice = draw.selector % 8
    special = np.where(choice < 2, draw.nan(), draw.infinity())
    special = np.where(choice == 5, draw.zero(), np.where(choice >= 6, draw.largest(), special))
    if draw.operand == "c":
        return draw.mix((ALL * 3 // 4, ordinary), rest=special)
    # Most rows of A have one special, position by position; some have a second one. The second one is at one of a few
    # positions, where B has its specials too.
    count = draw.line_number(0, 7, start=16)
    common = draw.plan.order[draw.line_number(0, min(3, draw.facts.terms - 1), start=32)]
    where = (draw.position == common) & (count >= 5)
    if draw.operand == "a":
        where = where | ((draw.position == draw.line_index % draw.facts.terms) & (count > 0) & (count < 7))
    return np.where(where, special, ordinary)


def signed_zeros(draw: Draw) -> Words:
    """Draw products that are all zeros of one sign, or of both, or that cancel; c is a zero of either sign."""
    fmt = draw.fmt
    plus, minus = np.zeros((1, 1, 1), np.uint64), np.full((1, 1, 1), fmt.sign_mask, np.uint64)
    if draw.operand == "c":
        return draw.mix((ALL // 4, np.broadcast_to(plus, draw.shape)), (ALL // 16, draw.power(0)),
                        (ALL // 16, draw.signed(1)), rest=np.broadcast_to(minus, draw.shape))  # fmt: skip
    kind = draw.line_number(0, 5)
    if draw.operand == "b":
        # Positive numbers and zeros in most columns: the signs of A decide.
        positive = draw.mix(
            (ALL // 4, np.broadcast_to(plus, draw.shape)), rest=draw.number(draw.between(-1, 1), None, plus)
        )
        return draw.cancelled(np.where(kind == 0, draw.zero(), positive))
    one = draw.position == draw.line_index % draw.facts.terms
    few = np.where(one, draw.power(0), draw.zero())
    paired = np.where(draw.at(draw.plan.rest), draw.zero(), draw.power(0))
    patterns = np.where(kind <= 1, minus, np.where(kind == 2, plus, np.where(kind == 3, draw.zero(), few)))
    cancelled = draw.cancelled(np.broadcast_to(paired, draw.shape))
    return np.where(kind == 5, cancelled, patterns)


def c_alone(draw: Draw) -> Words:
    """Draw products that are all zero, in different ways, and any c: only the operations on c remain."""
    if draw.operand == "c":
        finite = draw.number(draw.between(draw.fmt.emin, draw.fmt.emax))
        return draw.mix((ALL // 16, draw.zero()), (ALL // 8, draw.subnormal()), (ALL // 16, draw.raw),
                        (ALL // 32, draw.nan()), (ALL // 32, draw.infinity()), (ALL // 32, draw.largest()),
                        rest=finite)  # fmt: skip
    ordinary = draw.number(draw.between(-3, 4))
    # The odd positions of A and the even positions of B are zero: each product has one zero factor.
    zero = draw.position % 2 == (1 if draw.operand == "a" else 0)
    if draw.operand == "a":
        zero = zero | (draw.line_number(0, 3) == 0)
    return np.where(zero, draw.zero(), ordinary)
