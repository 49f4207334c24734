# SPDX-License-Identifier: MIT
"""Input generators for integers and bits: sums near the ends of the range, where wrapping and clamping differ."""

import numpy as np

from wmma_emu.generators.draws import ALL, Draw
from wmma_emu.generators.words import Words


def integer_normal(draw: Draw) -> Words:
    """Draw any elements and a moderate c."""
    if draw.operand != "c":
        return draw.raw
    return ((draw.raw & np.uint64((1 << 21) - 1)) - np.uint64(1 << 20)) & np.uint64(draw.fmt.mask)


def integer_limits(draw: Draw) -> Words:
    """Draw smallest and largest elements, mostly one kind in a line; c is near either end of its range."""
    fmt, mask = draw.fmt, np.uint64(draw.fmt.mask)
    if draw.operand == "c":
        return _near_the_ends(draw)
    extremes = np.array([fmt.max_integer, fmt.min_integer, fmt.min_integer + 1, 1], np.int64).view(np.uint64) & mask
    of_line = extremes[draw.line_number(0, 1 if fmt.bits > 1 else 0)]
    any_extreme = extremes[draw.between(0, 3)]
    mixed = draw.mix((ALL // 8, draw.raw), (ALL // 4, any_extreme), rest=np.broadcast_to(of_line, draw.shape))
    pure = draw.line_number(0, 1, start=16) == 1
    return np.where(pure, of_line, mixed)


def _near_the_ends(draw: Draw) -> Words:
    a, b = draw.facts.a, draw.facts.b
    reach = max(a.max_integer, -a.min_integer) * max(b.max_integer, -b.min_integer) * draw.facts.terms
    distance = (draw.raw % np.uint64(reach + 2)) >> (draw.selector & 3).astype(np.uint64)
    below_the_top = np.uint64(draw.fmt.max_integer) - distance
    above_the_bottom = (np.uint64(1 << 31) + distance) & np.uint64(draw.fmt.mask)
    return np.where(draw.sign != 0, above_the_bottom, below_the_top)


def integer_mostly_zero(draw: Draw) -> Words:
    """Draw rows of A with one element, at each position in turn; c is any number, often zero."""
    if draw.operand == "c":
        return draw.mix((ALL // 2, np.zeros(draw.shape, np.uint64)), rest=draw.raw)
    if draw.operand == "b":
        return draw.raw
    present = draw.position == draw.line_index % draw.facts.terms
    return np.where(present, draw.raw | np.uint64(1), np.uint64(0))


def integer_raw(draw: Draw) -> Words:
    """Draw uniform patterns."""
    return draw.raw
