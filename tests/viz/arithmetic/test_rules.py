# SPDX-License-Identifier: MIT
"""The rules of pictures of explanations, one fact each: fields of patterns, digits on a ruler, the steps drawn."""

from fractions import Fraction

import numpy as np
import pytest

import wmma_emu as we
from tests.viz.operand_pictures import texts_of
from wmma_emu.errors import OptionError
from wmma_emu.formats import format_of
from wmma_emu.viz import draw_explanation
from wmma_emu.viz.arithmetic.bit_rows import Bits, Ruler, gaps_of
from wmma_emu.viz.arithmetic.chosen_steps import Stretch, chosen_steps, loss
from wmma_emu.viz.arithmetic.pattern_fields import fields_of

F16, FMA = "m16n8k16.f32.f16.f16.f32", "fma.f32"


def explain(a, b, instr=F16, arch="h100"):
    dtype = np.float32 if instr == FMA else np.float16
    return we.explain(instr, np.array([a], dtype), np.array([b], dtype).T, row=0, col=0, arch=arch)


def fields(bits, name):
    return [(x.kind, x.digits, x.label) for x in fields_of(bits, format_of(name))]


def test_a_floating_point_pattern_has_a_sign_an_exponent_and_a_fraction():
    assert fields(0xBC01, "f16") == [
        ("sign", "1", "−"), ("exponent", "01111", "2^0"), ("fraction", "0000000001", "fraction"),
    ]  # fmt: skip


def test_bits_that_a_format_does_not_read_are_a_separate_field():
    assert [(x[0], len(x[1])) for x in fields(0x3F800001, "tf32")] == [
        ("sign", 1), ("exponent", 8), ("fraction", 10), ("ignored", 13),
    ]  # fmt: skip


def test_an_integer_is_one_field():
    assert fields(0xFE, "s8") == [("fraction", "11111110", "two's complement")]
    assert fields(0xFE, "u8") == [("fraction", "11111110", "unsigned")]


@pytest.mark.parametrize(("bits", "label"), [
    (0x0000, "zero"), (0x0001, "subnormal"), (0x4000, "2^1"), (0x7C00, "infinity"), (0x7E00, "NaN"),
])  # fmt: skip
def test_the_label_of_an_exponent_names_what_the_number_is(bits, label):
    assert fields(bits, "f16")[1][2] == label


def test_digits_start_at_the_leading_one_or_at_a_given_power():
    assert list(Bits.of(0b101, -3).powers) == [-1, -2, -3]
    assert list(Bits.of(0b101, -3, 0).powers) == [0, -1, -2, -3]
    assert [Bits.of(0b101, -3, 0).digit(x) for x in (0, -1, -2, -3)] == [0, 1, 0, 1]


def test_trailing_zeros_can_be_left_out():
    assert Bits.stripped(0b10100, -5) == Bits(0b101, -3, -1)


def test_a_power_of_two_has_one_column_on_a_ruler_and_a_break_is_narrower_than_the_columns_that_it_replaces():
    plain, broken = Ruler(0, 0, -40), Ruler(0, 0, -40, [(-5, -35)])
    assert plain.x(-1) - plain.x(0) == broken.x(-1) - broken.x(0) == 11
    assert plain.right == 41 * 11
    assert broken.right == 10 * 11 + 44
    assert broken.x(-4) == plain.x(-4)


def test_long_runs_without_a_change_in_any_row_become_breaks_and_short_ones_do_not():
    assert gaps_of([Bits.of(1, 0), Bits.of(1, -10)]) == []
    [(high, low)] = gaps_of([Bits.of(1, 0), Bits.of(1, -100)])
    assert -5 < high < 0 and -100 < low < -95


def test_the_loss_of_a_step_is_its_distance_from_the_exact_sum():
    assert loss(explain([1, 1], [1, 1]).steps[0]) == 0
    assert loss(explain([1, 2.0**-13], [1, 2.0**-13]).steps[0]) == Fraction(1, 2**26)


def test_up_to_16_steps_are_all_drawn():
    steps = explain([1.0] * 16, [1.0] * 16, FMA).steps
    assert chosen_steps(steps) == list(steps)


def test_of_more_steps_the_first_and_last_4_and_the_4_least_exact_are_drawn():
    drawn = chosen_steps(explain([1.0] * 40, [1.0] * 40, FMA).steps)
    # No step loses a bit, so the earliest of the others count as the least exact.
    assert [x.number for x in drawn if not isinstance(x, Stretch)] == [*range(1, 9), *range(37, 41)]
    assert [x.words for x in drawn if isinstance(x, Stretch)] == [
        "Steps 9 to 36 are not drawn: only the first 4, the last 4 and 4 inexact steps are. "
        "draw_explanation(explanation, step=9) draws any one."
    ]


def test_steps_that_add_zero_products_are_one_sentence():
    drawn = chosen_steps(explain([1.0, 0.0, 0.0, 0.0], [1.0] * 4, FMA).steps)
    assert [x.words for x in drawn if isinstance(x, Stretch)] == [
        "Steps 2 to 4 add products that are zero, and change nothing. "
        "draw_explanation(explanation, step=2) draws any one."
    ]


def test_a_picture_shows_the_patterns_of_the_operands_and_the_digits_of_the_sum():
    texts = texts_of(draw_explanation(explain([1.0, 1.0], [1.0, 1.0])))
    assert texts.count("0x3c00 × 0x3c00") == 2
    assert "100000000000000000000000000" in texts  # 2, with 25 fraction bits


def test_one_step_can_be_drawn_alone_and_one_that_does_not_exist_is_an_error():
    e = explain([1.0] * 32, [1.0] * 32)
    assert "step 2: 16 products and step 1" in " ".join(x for x in texts_of(draw_explanation(e, step=2)) if x)
    with pytest.raises(OptionError, match="its steps are 1 to 2"):
        draw_explanation(e, step=3)
