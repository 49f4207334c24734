# SPDX-License-Identifier: MIT
"""Every float model of the table: contributions add up to the error, and no error exceeds its bound."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tests.applications.exact_cases import (
    PRODUCTS,
    Element,
    Sizes,
    adversarial_elements,
    exactly,
    plain_elements,
    sizes_of,
    value_of,
)
from wmma_emu.applications.error_analysis import KINDS, bound_of
from wmma_emu.applications.error_analysis.ledger import Ledger
from wmma_emu.arithmetic import dot_product_of, reference
from wmma_emu.instructions import lookup


def elements(name):
    """Elements of one instruction and, where D can be C of the next, of two that follow one another."""
    p = PRODUCTS[name]
    found = [*adversarial_elements(name, 11, 3), *plain_elements(name, 11, 1)]
    if p.chains:
        found += [Element(x.a + y.a, x.b + y.b, x.c) for x, y in pairwise(found)][::3]
    return found


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("name", PRODUCTS)
def test_contributions_add_up_to_the_error_and_errors_keep_their_bounds(name):
    p = PRODUCTS[name]
    ledger, unit, seen, lossy = Ledger(p), Fraction(2) ** Ledger(p).low, 0, 0
    for element in elements(name):
        bits = ledger.run(*element)
        assert bits == follow(p, element), element
        if ledger.overflow:
            continue
        error = value_of(bits, p.d) - exactly(p, element)
        assert sum(ledger.lost.values()) * unit == error, (element, ledger.lost)
        assert set(ledger.lost) == set(KINDS)
        sizes = sizes_of(p, element)
        assert abs(error) <= bound_of(p, len(element.a)).of(sizes.c, sizes.products, sizes.exponent), element
        seen, lossy = seen + 1, lossy + (error != 0)
    assert seen > 20
    assert lossy > 5


def follow(p, element):
    """The reference, instruction after instruction."""
    d = element.c
    for k in range(0, len(element.a), p.k):
        d = reference.dot(p, element.a[k : k + p.k], element.b[k : k + p.k], d)
    return d


HOPPER = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_90")
HALF = dot_product_of(lookup("m16n8k16.f16.f16.f16.f16"), "sm_90")
BFLOAT = dot_product_of(lookup("m16n8k16.f32.bf16.bf16.f32"), "sm_90")


def bits_of(values, dtype=np.float16):
    return np.array(values, dtype).view(np.uint16).tolist()


def ratio(honest, run, element):
    """The error of what one product computes, over the bound of another."""
    error = value_of(reference.dot(run, *element), run.d) - exactly(run, element)
    sizes = sizes_of(honest, element)
    return abs(error) / bound_of(honest, honest.k).of(sizes.c, sizes.products, sizes.exponent)


def just_below(place):
    """A one, and fifteen products just below 2**place."""
    a, b = 2.0 ** ((place - 2) // 2), 2.0 ** (place - 2 - (place - 2) // 2)
    return Element(bits_of([1] + [a * (2 - 2**-10)] * 15), bits_of([1] + [b * (2 - 2**-10)] * 15), 0)


def test_a_bound_is_nearly_reached():
    assert Fraction(2, 3) < ratio(HOPPER, HOPPER, just_below(-25)) <= 1


def test_a_unit_that_keeps_a_bit_less_breaks_the_bound():
    mutant = replace(HOPPER, model=replace(HOPPER.model, fraction_bits=24))
    assert ratio(HOPPER, mutant, just_below(-24)) > 1
    assert ratio(mutant, mutant, just_below(-24)) <= 1


def test_a_unit_that_truncates_where_it_should_round_breaks_the_bound():
    mutant = replace(HALF, model=replace(HALF.model, rounding="RZ"))
    element = Element(bits_of([1, 1, *[0] * 14]), bits_of([1, 2**-10 - 2**-20, *[0] * 14]), 0)
    assert ratio(HALF, mutant, element) > 1
    assert ratio(HALF, HALF, element) <= 1


def test_a_unit_with_a_higher_floor_breaks_the_bound():
    mutant = replace(BFLOAT, model=replace(BFLOAT.model, min_exponent=-90))
    tiny = np.array([2.0**-60] * 16, np.float32).view(np.uint32) >> 16
    element = Element(tiny.tolist(), tiny.tolist(), 0)
    assert ratio(BFLOAT, mutant, element) > 1
    assert ratio(BFLOAT, BFLOAT, element) <= 1


def test_a_unit_whose_conversion_loses_bits_has_no_bound():
    lossy = replace(BFLOAT, model=replace(BFLOAT.model, operand_format="e5m2"))
    with pytest.raises(ValueError, match=r"A is bf16, but the datapath converts it to e5m2 with loss"):
        bound_of(lossy, 16)


def test_conversions_of_operands_are_booked_where_they_lose_bits():
    lossy = replace(HOPPER, model=replace(HOPPER.model, operand_format="e5m2"))
    ledger = Ledger(lossy)
    element = Element(bits_of([1.125, *[0] * 15]), bits_of([3, *[0] * 15]), 0)
    assert value_of(ledger.run(*element), lossy.d) == 3
    fed = ledger.products * Fraction(2) ** ledger.low - exactly(lossy, element)
    assert fed == Fraction(-3, 8)
    assert not any(ledger.lost.values())


def test_sizes_alone_decide_a_bound():
    sizes = Sizes(Fraction(1), Fraction(2), 0, 0)
    bound = bound_of(HOPPER, 16)
    smallest = Fraction(2) ** -149
    rounding, alignment = (3 + smallest) * Fraction(2) ** -23, 17 * Fraction(2) ** -25
    assert bound.of(sizes.c, sizes.products, sizes.exponent) == rounding + alignment + smallest
