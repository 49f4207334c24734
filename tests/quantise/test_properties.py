# SPDX-License-Identifier: MIT
"""Properties of any block: quantised numbers are unchanged, errors are bounded, powers of two pass through."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quantise.arrays import FRACTION_BITS, MX
from wmma_emu.formats import FORMATS
from wmma_emu.quantise import BLOCK_FORMATS, quantise

pytestmark = pytest.mark.property

F = np.float32
finite = st.integers(0, 2**32 - 1).map(lambda x: np.uint32(x).view(F)).filter(np.isfinite)
near = st.floats(-8, 8, width=16).map(F)
blocks = st.lists(finite | near, min_size=32, max_size=32).map(lambda x: np.array(x, F))
moderate = st.lists(near, min_size=32, max_size=32).map(lambda x: np.array(x, F))
formats = st.sampled_from(MX)


@settings(max_examples=60, deadline=None)
@given(x=blocks, name=formats, rule=st.sampled_from(["floor", "ceil", "rceil", "even"]))
def test_quantised_numbers_are_quantised_to_themselves(x, name, rule):
    once = quantise(x, name, rule=rule).dequantise()
    twice = quantise(once, name, rule=rule)
    assert (twice.dequantise() == once).all()
    if rule == "floor":
        assert (twice.scale_bits == quantise(x, name).scale_bits).all()


def test_rne_may_change_quantised_numbers():
    x = np.full(32, 340.0, F)  # more than 3/4 of 448, and 320 is less
    once = quantise(x, "mxfp8_e4m3", rule="rne").dequantise()
    assert once[0] == 352.0
    x = np.full(32, 336.0, F)
    once = quantise(x, "mxfp8_e4m3", rule="rne").dequantise()
    assert (once[0], quantise(once, "mxfp8_e4m3", rule="rne").dequantise()[0]) == (320.0, 224.0)


@settings(max_examples=40, deadline=None)
@given(x=moderate.filter(lambda x: (np.abs(x).reshape(2, 16).max(axis=1) > 0.1).all()))
def test_nvfp4_numbers_are_quantised_to_themselves_under_the_same_tensor_scale(x):
    once = quantise(x, "nvfp4")
    twice = quantise(once.dequantise(), "nvfp4", tensor_scale=once.tensor_scale)
    assert (twice.scale_bits == once.scale_bits).all()
    assert (twice.element_bits == once.element_bits).all()


@settings(max_examples=40, deadline=None)
@given(x=blocks, name=formats, rule=st.sampled_from(["ceil", "rceil"]))
def test_without_saturation_the_error_is_half_a_step(x, name, rule):
    ours, row = quantise(x, name, rule=rule), BLOCK_FORMATS[name]
    scale = Fraction(2) ** (int(ours.scale_bits[0]) - 127)
    if scale == Fraction(2) ** 127:
        return
    smallest = Fraction(2) ** (
        row.element_exponent if name == "mxint8" else row.element.emin - row.element.fraction_bits
    )
    for given_x, found in zip(x.tolist(), ours.dequantise().tolist(), strict=True):
        exact = Fraction(given_x)
        step = scale * smallest
        if name != "mxint8":
            step = max(step, abs(exact) / 2 ** FRACTION_BITS[name])
        assert abs(exact - Fraction(found)) <= step / 2


@settings(max_examples=40, deadline=None)
@given(x=moderate, n=st.integers(-60, 60), name=st.sampled_from([*MX, "nvfp4"]), data=st.data())
def test_a_power_of_two_changes_only_scales(x, n, name, data):
    rules = (
        ["floor", "ceil", "rceil", "even", "rne"]
        if name != "nvfp4"
        else ["rne", "torchao", "torchao_cuda", "division", "transformer_engine"]
    )
    rule = data.draw(st.sampled_from(rules))
    one, other = quantise(x, name, rule=rule), quantise(np.ldexp(x, n), name, rule=rule)
    assert (one.element_bits == other.element_bits).all()
    if name == "nvfp4":
        assert (one.scale_bits == other.scale_bits).all()
        assert not x.any() or other.tensor_scale == np.ldexp(one.tensor_scale, n)
    elif x.any():
        assert other.scale_bits.astype(int).tolist() == (one.scale_bits.astype(int) + n).tolist()


@settings(max_examples=30, deadline=None)
@given(x=moderate, order=st.permutations(range(16)), name=st.sampled_from([*MX, "nvfp4"]))
def test_the_order_within_a_block_does_not_matter(x, order, name):
    order = [*order, *range(16, 32)]
    one, other = quantise(x, name), quantise(x[order], name)
    assert (one.scale_bits == other.scale_bits).all()
    assert (one.element_bits[order] == other.element_bits).all()


@settings(max_examples=30, deadline=None)
@given(x=moderate, name=st.sampled_from([*MX, "nvfp4"]))
def test_the_sign_passes_through(x, name):
    one, other = quantise(x, name), quantise(-x, name)
    assert (one.scale_bits == other.scale_bits).all()
    assert (one.dequantise() == -other.dequantise()).all()


def test_the_formats_of_the_tests_are_the_formats_of_the_package():
    assert {x.element.name for x in BLOCK_FORMATS.values()} <= set(FORMATS)
