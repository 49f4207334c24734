# SPDX-License-Identifier: MIT
"""Facts about the arithmetic of one lane, one at a time, with bits from IEEE 754, the PTX manual and an H200."""

import numpy as np
import pytest

from wmma_emu.scalar import add, approx, convert, cvt, div, float_as_uint, fma, lop3, lop3_lut, mul, prmt, rcp, sqrt

F32, F64 = np.uint32, np.uint64
ONE, MINUS_ONE, INFINITY, NAN = 0x3F80_0000, 0xBF80_0000, 0x7F80_0000, 0x7FFF_FFFF


def patterns(*words: int, dtype: type = F32) -> list[np.ndarray]:
    return [np.array([word], dtype) for word in words]


def test_a_fused_multiply_add_is_rounded_once():
    # (1 + 2**-12)**2 is 1 + 2**-11 + 2**-24. Rounded to f32, the product loses the last term.
    a, c = patterns(0x3F80_0800, 0xBF80_1000)
    assert fma(a, a, c, "f32")[0] == 0x3380_0000
    assert add(mul(a, a, "f32"), c, "f32")[0] == 0


@pytest.mark.parametrize(("rounding", "zero"), [("RNE", 0), ("RZ", 0), ("RU", 0), ("RD", 0x8000_0000)])
def test_an_exact_cancellation_is_plus_zero_or_minus_zero_when_rounding_down(rounding, zero):
    assert add(*patterns(ONE, MINUS_ONE), "f32", rounding)[0] == zero


def test_a_product_keeps_the_sign_of_zero():
    assert mul(*patterns(0x8000_0000, ONE), "f32")[0] == 0x8000_0000
    assert mul(*patterns(0x8000_0001, 0x0000_0001), "f32")[0] == 0x8000_0000


def test_infinity_times_zero_is_the_canonical_nan():
    assert mul(*patterns(INFINITY, 0), "f32")[0] == NAN


def test_f64_units_return_the_first_nan_of_b_c_and_a_made_quiet():
    a, b, c = patterns(0xFFF0_0000_0000_0AAA, 0x7FF0_0000_0000_0BBB, 0x7FF8_0000_0000_0CCC, dtype=F64)
    assert fma(a, b, c, "f64", nan="propagate")[0] == 0x7FF8_0000_0000_0BBB
    assert fma(a, b, c, "f64")[0] == 0xFFF8_0000_0000_0000


@pytest.mark.parametrize(("rounding", "third"), [("RNE", 0x3EAA_AAAB), ("RZ", 0x3EAA_AAAA), ("RU", 0x3EAA_AAAB)])
def test_quotients_are_correctly_rounded(rounding, third):
    assert div(*patterns(ONE, 0x4040_0000), "f32", rounding)[0] == third


def test_square_roots_are_correctly_rounded_and_nan_for_negative_numbers():
    assert sqrt(*patterns(0x4000_0000), "f32")[0] == 0x3FB5_04F3
    assert sqrt(*patterns(0x8000_0000), "f32")[0] == 0x8000_0000
    assert sqrt(*patterns(MINUS_ONE), "f32")[0] == NAN


def test_ftz_flushes_subnormal_operands_and_results():
    assert div(*patterns(0x0000_0001, ONE), "f32")[0] == 0x0000_0001
    assert div(*patterns(0x8000_0001, ONE), "f32", ftz=True)[0] == 0x8000_0000
    assert rcp(*patterns(0x7F00_0000), "f32")[0] == 0x0040_0000
    assert rcp(*patterns(0x7F00_0000), "f32", ftz=True)[0] == 0


@pytest.mark.parametrize(("word", "rounding", "integer"), [
    (0x4060_0000, "RNE", 4), (0x4020_0000, "RNE", 2), (0x4060_0000, "RZ", 3), (0xC060_0000, "RD", 0xFFFF_FFFC),
    (0x4F00_0000, "RZ", 0x7FFF_FFFF), (0xFF80_0000, "RZ", 0x8000_0000), (0x7FC0_0000, "RZ", 0),
])  # fmt: skip
def test_a_float_becomes_an_integer_rounded_and_clamped_and_nan_becomes_0(word, rounding, integer):
    assert convert(*patterns(word), "f32", "s32", rounding)[0] == integer


def test_an_f64_nan_becomes_the_integer_with_only_its_top_bit_set():
    assert convert(*patterns(0x7FF8_0000_0000_0000, dtype=F64), "f64", "s32", "RZ")[0] == 0x8000_0000


def test_cvt_puts_its_first_source_into_the_upper_half():
    one, two, big = patterns(ONE, 0x4000_0000, 0xC480_0000)
    assert cvt(one, "cvt.rn.f16x2.f32", two)[0] == 0x3C00_4000
    assert cvt(one, "cvt.rn.satfinite.e4m3x2.f32", big)[0] == 0x38FE


@pytest.mark.parametrize(("instruction", "word", "result"), [
    ("cvt.rna.tf32.f32", 0x3F80_1000, 0x3F80_2000),
    ("cvt.rna.tf32.f32", 0x7F80_0001, 0x7F80_0000),  # a NaN whose payload is only in the low 13 bits
    ("cvt.rn.tf32.f32", 0x7F80_0001, 0x7FFF_E000),
    ("cvt.rn.relu.f16.f32", MINUS_ONE, 0x0000),
    ("cvt.sat.s8.s32", 300, 0x7F),
])  # fmt: skip
def test_cvt_of_one_register(instruction, word, result):
    assert cvt(*patterns(word), instruction)[0] == result


@pytest.mark.parametrize(("name", "word", "result"), [
    ("rcp", 0x8000_0000, 0xFF80_0000), ("rcp", 0xFF80_0000, 0x8000_0000), ("rsqrt", 0, INFINITY),
    ("rsqrt", MINUS_ONE, NAN), ("lg2", 0, 0xFF80_0000), ("lg2", MINUS_ONE, NAN), ("lg2", ONE, 0),
    ("ex2", 0xFF80_0000, 0), ("ex2", 0, ONE), ("sin", 0x8000_0000, 0x8000_0000), ("sin", INFINITY, NAN),
    ("cos", 0, ONE),
])  # fmt: skip
def test_approximations_of_special_operands_follow_the_manual(name, word, result):
    assert approx(name, *patterns(word))[0] == result


def test_the_table_of_lop3_is_the_value_of_its_expression_for_f0_cc_aa():
    assert (lop3_lut(lambda a, b, c: a ^ b ^ c), lop3_lut(lambda a, b, c: (a & b) | c)) == (0x96, 0xEA)
    assert lop3(0xF0F0_F0F0, 0xCCCC_CCCC, 0xAAAA_AAAA, 0x96) == 0x9696_9696


def test_prmt_selects_bytes_and_may_replicate_a_sign():
    assert prmt(0x3322_1100, 0x7766_55F4, 0x0123) == 0x0011_2233
    assert prmt(0x3322_1100, 0x7766_55F4, 0x765C) == 0x7766_55FF


def test_a_reinterpreted_value_keeps_its_bits():
    assert float_as_uint(np.float32(1.0)) == ONE
