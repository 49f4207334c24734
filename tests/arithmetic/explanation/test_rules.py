# SPDX-License-Identifier: MIT
"""The rules of explanations, one fact each: terms, shifts, truncated bits, roundings, special values, text, data."""

import dataclasses
import json

import pytest

from tests.arithmetic.helpers import bits_of
from wmma_emu.arithmetic import FMA_F32, dot_product_of
from wmma_emu.arithmetic.explanation import AlignedSum, BitCount, Conversion, IntegerSum, MultiplyAdd, explain_dot
from wmma_emu.instructions import lookup

F16 = "m16n8k16.f32.f16.f16.f32"
E4M3 = "m16n8k32.f32.e4m3.e4m3.f32"
MX8 = "m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0"


def explain(mnemonic, arch, a, b, c=0.0, lowering=None, **scales):
    row = lookup(mnemonic, arch)
    product = dot_product_of(row, arch, lowering)
    x, y, z = bits_of(a, product.a).tolist(), bits_of(b, product.b).tolist(), bits_of([c], product.c).tolist()
    return explain_dot(product, x, y, z[0], instruction=row.mnemonic, arch=arch, row=1, column=2, **scales)


def test_a_headline_names_the_element_its_bits_and_its_value():
    assert explain(F16, "sm_90", [1.5], [2.0]).headline == "D[1, 2] = 0x40400000 (f32) = 3.0 = +0x1.8p+1"


def test_a_term_has_its_exponent_its_shift_and_the_bits_that_are_kept_and_truncated():
    [step] = explain(F16, "sm_90", [1.0, 2.0**-13], [1.0, 1.75 * 2.0**-12]).steps
    one, tail = step.terms[:2]
    assert (step.exponent, step.fraction_bits) == (0, 25)
    assert (one.exponent, one.shift, one.kept, one.cut) == (0, 0, 1 << 25, 0)
    # 1.75 is 1.11 in binary: of 2**-25 and two bits below it, one remains.
    assert (tail.exponent, tail.shift, tail.kept, bin(tail.cut >> (tail.cut_bits - 3))) == (-25, 25, 1, "0b110")


def test_the_sum_is_exact_and_its_rounding_counts_the_dropped_bits():
    [step] = explain(F16, "sm_90", [1.0, 2.0**-12], [1.0, 1.5 * 2.0**-12]).steps
    assert step.total == (1 << 25) + 3
    assert (step.rounding.mode, step.rounding.dropped, step.rounding.dropped_bits) == ("RZ", 0b11, 2)


def test_c_is_the_last_term_of_the_first_step_and_the_sum_of_a_step_that_of_the_next():
    e = explain(F16, "sm_80", [1.0] * 16, [1.0] * 16)
    assert [x.terms[-1].name for x in e.steps] == ["c", "step 1"]


def test_zeros_take_no_part_in_the_alignment():
    [step] = explain(F16, "sm_90", [0.0, 1.0], [2.0**10, 1.0]).steps
    assert (step.terms[0].kind, step.exponent, step.aligned_to) == ("zero", 0, "k=1")


def test_the_floor_of_the_alignment_is_named():
    e = explain("m16n8k16.f32.bf16.bf16.f32", "sm_90", [2.0**-70], [2.0**-70])
    assert (e.steps[0].floor, e.steps[0].exponent) == (True, -133)
    assert "aligned to 2^-133, the lowest that the unit aligns to" in str(e)


def test_k_beyond_an_instruction_is_a_chain_and_the_last_is_padded_with_zeros():
    e = explain(F16, "sm_90", [1.0] * 17, [1.0] * 17)
    assert [(x.first_k, x.last_k, x.c_name) for x in e.executions] == [(0, 15, "c"), (16, 31, "step 1")]
    assert (e.value, len(e.a), e.a[17:]) == ("17.0", 32, (0,) * 15)


def test_a_conversion_of_the_compiler_is_a_step():
    e = explain(E4M3, "sm_90", [2.0**-9], [1.0], lowering="ptxas-12.8")
    first = e.steps[0]
    assert isinstance(first, Conversion) and (first.operand, first.source, first.target) == ("A", "e4m3", "f16")
    assert (first.numbers[0].bits, first.numbers[0].result) == (0x01, 0x1800)


def test_a_chain_of_fmas_has_one_step_for_each_product():
    e = explain_dot(FMA_F32, [0x3F800000] * 3, [0x3F800000] * 3, 0x3F800000, instruction="fma.f32", arch="every chip")
    assert [type(x) for x in e.steps] == [MultiplyAdd] * 3 and e.value == "4.0"


def test_nan_and_infinity_name_the_terms_that_cause_them():
    e = explain(F16, "sm_90", ["0x7C00", 1.0], [0.0, 1.0])
    assert (e.steps[0].special.result, e.steps[0].special.causes, e.value) == ("nan", ("k=0",), "nan")
    e = explain(F16, "sm_90", ["0x7C00", 1.0], [-1.0, 1.0])
    assert (e.steps[0].special.result, e.value) == ("infinity", "-inf")


def test_integers_show_their_products_their_total_and_how_an_overflow_is_handled():
    [step] = explain("m16n8k32.s32.s8.s8.s32.satfinite", "sm_90", [-128], [-128], 2**31 - 1).steps
    assert isinstance(step, IntegerSum)
    assert (step.terms[0].product, step.total, step.limit) == (16384, 2**31 - 1 + 16384, "highest")
    [step] = explain("m16n8k32.s32.s8.s8.s32", "sm_90", [-128], [-128], 2**31 - 1).steps
    assert (step.limit, step.result) == ("wrapped", 0x80003FFF)


def test_single_bits_are_shown_as_words_of_32():
    a, b = [1, 0, 1, *[0] * 253], [1, 1, 0, *[0] * 253]
    [step] = explain("m16n8k256.s32.b1.b1.s32.xor.popc", "sm_90", a, b, 5).steps
    assert isinstance(step, BitCount)
    assert (step.words[0].a, step.words[0].b, step.words[0].combined, step.value) == (0b101, 0b011, 0b110, 7)


def test_block_scales_add_their_exponents_to_those_of_the_terms():
    e = explain(MX8, "sm_120", [1.5] + [0.0] * 31, [2.0] * 32, 1.0, scale_a=[0x82], scale_b=[0x7E])
    [block] = e.steps[0].blocks
    assert (block.exponent, e.steps[0].terms[0].exponent, e.value) == (2, 3, "13.0")


def test_truncated_bits_follow_a_bar_in_one_column_of_all_rows():
    lines = str(explain(F16, "sm_90", [1.0, 2.0**-13], [1.0, 1.75 * 2.0**-12])).splitlines()
    rows = [x for x in lines if x.startswith(("    k=0", "    k=1 "))]
    assert rows[0].endswith("+ 1.0000000000000000000000000|")
    assert rows[1].endswith("+ 0.0000000000000000000000001|110(18)")


def test_the_text_names_instruction_chip_and_evidence_and_repeats_the_headline_at_its_end():
    e = explain(F16, "sm_90", [1.0], [1.0])
    text = str(e)
    assert "instruction  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90\n" in text
    assert "status       measured\n" in text
    assert text.startswith(e.headline) and text.endswith(f"\n\n{e.headline}")


def test_a_product_without_k_is_c():
    e = explain_dot(FMA_F32, [], [], 0x3F800000, instruction="fma.f32", arch="every chip")
    assert (e.executions, e.value) == ((), "1.0") and "no products: D is C" in str(e)


def test_an_explanation_does_not_change_and_becomes_json():
    e = explain(F16, "sm_90", [1.0], [1.0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        e.result = 0
    data = json.loads(json.dumps(e.to_dict()))
    assert (data["result"], data["executions"][0]["steps"][0]["step"]) == (0x3F800000, "aligned_sum")
    assert isinstance(e.steps[0], AlignedSum)
