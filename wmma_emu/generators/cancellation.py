# SPDX-License-Identifier: MIT
"""Input generators in which large products cancel exactly; the remainder shows how the sum was formed."""

import numpy as np

from wmma_emu.generators.draws import ALL, Draw
from wmma_emu.generators.words import Words


def cancel(draw: Draw) -> Words:
    """Draw products that cancel in pairs, small ones that do not, and c of any size below them."""
    low, high = (0, 56) if draw.facts.accumulator.name == "f64" else (0, 28)
    large = min(draw.facts.large, 8 if draw.facts.accumulator.name == "f16" else 12)
    if draw.operand == "c":
        return draw.mix((ALL // 8, draw.zero()), rest=draw.number(large - draw.between(low, high)))
    share = draw.share(large)
    cancelling = draw.number(share + draw.line_number(-1, 1) - draw.between(0, 4))
    if draw.fmt.exponent_bits < 8:
        # Subnormal factors too, times the largest ones: a subnormal may be aligned by the format's exponent or by its
        # own.
        extreme = draw.subnormal() if draw.operand == "a" else draw.number(draw.fmt.emax - draw.between(0, 2))
        cancelling = np.where(draw.line_number(0, 3, start=32) == 0, extreme, cancelling)
    depth = draw.line_number(low, high // 2, start=16)
    rest = draw.number(share - 2 - depth - draw.between(0, 4))
    return draw.cancelled(np.where(draw.at(draw.plan.rest), rest, cancelling))


def overflow_and_cancel(draw: Draw) -> Words:
    """Draw products too large for the accumulator that cancel in pairs; c and a few small products remain."""
    facts = draw.facts
    over = min(facts.accumulator.emax + 1, facts.top_product - 1)
    if draw.operand == "c":
        far = draw.number(over - draw.between(1, 24))
        return draw.mix((ALL // 4, draw.zero()), (ALL // 2, far), rest=draw.number(draw.between(-4, 4)))
    large = draw.number(draw.share(over) + draw.between(-1, 0))
    rest = draw.number(draw.share(over - 8) - draw.line_number(0, 10) - draw.between(0, 3))
    # Few pairs, so that not every sum overflows.
    if draw.operand == "a" and facts.terms > 4:
        few = np.where(draw.line_number(0, 1, start=16) == 1, ALL // 2, ALL)
        large = np.where(draw.selector < few, large, draw.zero())
    return draw.cancelled(np.where(draw.at(draw.plan.rest), rest, large))
