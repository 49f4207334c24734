# SPDX-License-Identifier: MIT
"""Input generators for ordinary numbers: typical program data, random bits, and mostly zeros."""

import numpy as np

from wmma_emu.generators.draws import ALL, Draw
from wmma_emu.generators.words import Words


def normal(draw: Draw) -> Words:
    """Draw random significands with exponents in a narrow band."""
    return draw.number(draw.between(-2, 8) if draw.operand == "c" else draw.between(-3, 4))


def wide(draw: Draw) -> Words:
    """Draw random significands with exponents in a wide band."""
    reach = 7 if draw.facts.accumulator.name == "f16" else 12
    if draw.facts.accumulator.name == "f64":
        reach = 30
    return draw.number(draw.between(-2 * reach, 2 * reach) if draw.operand == "c" else draw.between(-reach, reach))


def wide_c(draw: Draw) -> Words:
    """Draw ordinary products; c is far above them, far below, or of the same size."""
    reach = 60 if draw.facts.accumulator.name == "f64" else 32
    return draw.number(draw.between(-reach, reach) if draw.operand == "c" else draw.between(-2, 2))


def raw(draw: Draw) -> Words:
    """Draw uniform patterns, an eighth of them replaced by zeros; half of the lines have no infinities or NaN."""
    fmt = draw.fmt
    # Cutting the top bit off an exponent field leaves a finite number.
    finite = draw.raw & ~np.uint64(1 << fmt.ignored_low_bits + fmt.magnitude_bits - 2)
    patterns = np.where(draw.line_number(0, 1) == 1, draw.raw, finite)
    return draw.mix((ALL // 3 if draw.operand == "c" else ALL // 8, draw.zero()), rest=patterns)


def near_one(draw: Draw) -> Words:
    """Draw numbers a few last places from one, of both signs, and small integers as c: most of a sum cancels."""
    fmt = draw.fmt
    if draw.operand == "c":
        integers = draw.one_of([float(x) for x in range(9)])
        return draw.mix((ALL // 2, integers), (ALL // 4, draw.zero()), rest=draw.number(draw.between(-24, -10)))
    # In f64 the product of two such differences from one is just below the last bit that rounding keeps.
    last_places = (draw.payload & np.uint64(63)) << np.uint64(20 if fmt.name == "f64" else 0)
    few = last_places & np.uint64((1 << min(fmt.fraction_bits, 30)) - 1)
    near = draw.number(0, few)
    return draw.mix((ALL // 4, draw.one_of([1.0, 1.0, 1.5, 2.0**-6])), (ALL // 8, draw.zero()), rest=near)


def mostly_zero(draw: Draw) -> Words:
    """Draw rows of A with one product, at each position in turn; or with only the first or the second half of k."""
    if draw.operand != "a":
        return draw.number(draw.between(-20, 8) if draw.operand == "c" else draw.between(-4, 4))
    terms, line = draw.facts.terms, draw.line_index
    alone = draw.position == line % terms
    half = (draw.position < terms // 2) == (draw.line_number(0, 1) == 1)
    present = np.where(draw.line_number(0, 3, start=16) == 0, half, alone)
    return np.where(present, draw.number(draw.between(-4, 4)), draw.zero())
