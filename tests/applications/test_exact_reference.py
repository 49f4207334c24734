# SPDX-License-Identifier: MIT
"""The reference engine compared with exact fractions: equal, rounded once, wherever no bit is cut.

Whether a bit is cut follows from the operands alone. Let q be the weight of the last bit of any product or c, and s the
sum of their absolute values. No sum, in whatever order, exceeds s, nor has a bit below q. So alignment cuts nothing if
no exponent that it can meet, of a product or of a number up to s, is above q + F; and a format holds every sum if it
has as many bits as lie between q and s.
"""

from fractions import Fraction

import numpy as np
import pytest

from tests.applications.exact_cases import (
    PRODUCTS,
    adversarial_elements,
    exactly,
    plain_elements,
    rounded,
    sizes_of,
)
from wmma_emu.arithmetic import reference
from wmma_emu.formats import decode, format_of
from wmma_emu.testing import exact_dot


def exponent_of(x):
    return x.numerator.bit_length() - x.denominator.bit_length() + 1  # no less than the number's


def nothing_is_cut(p, sizes):
    """Whether alignment loses no bit, whatever the order of the sum."""
    if p.model.arithmetic != "aligned_sum":
        return True
    exponents = [p.model.min_exponent, p.model.accumulator_format.emin]
    if total := sizes.c + sizes.products:
        exponents.append(exponent_of(total))
    if sizes.exponent is not None:
        exponents.append(sizes.exponent)
    return max(exponents) - p.model.fraction_bits <= sizes.last_place


def every_sum_fits(p, sizes):
    """Whether no rounding between the operands and the sum of all terms changes it."""
    inner = p.model.output_format if p.model.arithmetic == "aligned_sum" else p.model.chain_format
    total, place = sizes.c + sizes.products, sizes.last_place
    widest = Fraction(2) ** (place + inner.fraction_bits + 1)
    return place >= inner.emin - inner.fraction_bits and total < min(widest, Fraction(2) ** inner.emax)


def expected(p, element, sizes):
    """The exact sum rounded once; None where the operands alone do not say that nothing else is lost."""
    exact = exactly(p, element)
    if not nothing_is_cut(p, sizes):
        return None
    if every_sum_fits(p, sizes):
        return rounded(exact, p.d, "RNE")
    alone = len(p.steps) == 1 and p.model.c_joins == "first_step" and p.model.accumulator == p.d.name
    if p.model.arithmetic == "aligned_sum" and alone:
        return rounded(exact, p.model.output_format, p.model.rounding)
    return None


@pytest.mark.sweep(keep=1 / 16)
@pytest.mark.parametrize("name", PRODUCTS)
def test_where_no_bit_is_cut_the_reference_is_the_exact_sum_rounded_once(name):
    p, compared = PRODUCTS[name], 0
    plain = list(plain_elements(name, 7))
    for element in (*plain, *adversarial_elements(name, 7, count=4)):
        want = expected(p, element, sizes_of(p, element))
        if want is None:
            continue
        got = reference.dot(p, element.a, element.b, element.c)
        zeros = not (want | got) & ~p.d.sign_mask  # a fraction has no sign of zero
        assert got == want or zeros, (element, hex(got), hex(want))
        compared += 1
    assert compared > len(plain)


def test_a_bit_that_is_cut_is_missing_from_the_exact_sum():
    p = next(
        p for name, p in PRODUCTS.items() if name.startswith("sm_90|native|mma.sync.aligned.m16n8k16.row.col.f32.f16")
    )
    a = b = np.array([1.0] + [2.0**-13] * 8 + [0.0] * 7, np.float16)
    bits = a.view(np.uint16).tolist()
    got = reference.dot(p, bits, bits, 0)
    assert decode(np.array(got, np.uint32), format_of("f32")) == 1
    assert exact_dot(a, b) == 1 + 8 * 2.0**-26
