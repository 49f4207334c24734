# SPDX-License-Identifier: MIT
"""Explanations as data and as text, one fact at a time; the replay checks all of their numbers."""

import dataclasses
import json

import pytest

from tests.arithmetic.helpers import bits_of
from wmma_emu.arithmetic import FMA_F32, dot_product_of
from wmma_emu.arithmetic.explanation import AlignedSum, BitCount, Conversion, IntegerSum, MultiplyAdd, explain_dot
from wmma_emu.arithmetic.explanation.notation import WIDTH
from wmma_emu.instructions import lookup

F16 = "m16n8k16.f32.f16.f16.f32"
E4M3 = "m16n8k32.f32.e4m3.e4m3.f32"


def explain(mnemonic, arch, a, b, c=0.0, lowering=None):
    row = lookup(mnemonic, arch)
    product = dot_product_of(row, arch, lowering)
    x, y, z = bits_of(a, product.a).tolist(), bits_of(b, product.b).tolist(), bits_of([c], product.c).tolist()
    return explain_dot(product, x, y, z[0], instruction=row.mnemonic, arch=arch, row=1, column=2)


def test_every_term_has_its_exponent_shift_kept_and_truncated_bits():
    [step] = explain(F16, "sm_90", [1.5, -(2.0**-13), 0.0], [1.5, 2.0**-12 * 1.75, 5.0], 0.25).steps
    assert isinstance(step, AlignedSum)
    assert (step.exponent, step.floor, step.aligned_to, step.fraction_bits) == (0, False, "k=0", 25)
    one, tail, zero, *_, c = step.terms
    assert (one.kind, one.exponent, one.significand, one.fraction_bits) == ("finite", 0, 0b1001 << 18, 20)
    assert (one.shift, one.kept, one.cut, one.cut_bits) == (0, 0b1001 << 23, 0, 0)
    assert (tail.sign, tail.exponent, tail.shift) == (1, -25, 25)
    assert (tail.kept, tail.cut, tail.cut_bits) == (-1, 0b11 << 18, 20)
    assert (zero.kind, zero.k, zero.kept, zero.cut_bits) == ("zero", 2, 0, 0)
    assert (c.name, c.k, c.bits, c.exponent, c.shift, c.kept) == ("c", None, 0x3E80_0000, -2, 2, 1 << 23)
    assert step.total == (0b1001 << 23) + (1 << 23) - 1
    assert (step.rounding.mode, step.rounding.dropped, step.rounding.dropped_bits) == ("RZ", 0b111, 3)


def test_the_floor_of_the_alignment_is_named():
    e = explain("m16n8k16.f32.bf16.bf16.f32", "sm_90", [2.0**-70], [2.0**-70])
    assert e.steps[0].floor and e.steps[0].exponent == -133 and e.steps[0].aligned_to == ""
    assert "aligned to 2^-133, the lowest that the unit aligns to" in str(e)


def test_a_chain_of_steps_names_the_origin_of_each_addend():
    e = explain(F16, "sm_80", [1.0] * 16, [1.0] * 16)
    assert [step.terms[-1].name for step in e.steps] == ["c", "step 1"]
    assert [[t.k for t in step.terms[:-1]] for step in e.steps] == [list(range(8)), list(range(8, 16))]


def test_several_instructions_are_consecutive_and_the_last_is_padded():
    e = explain(F16, "sm_90", [1.0] * 33, [1.0] * 33)
    assert [(x.first_k, x.last_k, x.c_name) for x in e.executions] == [
        (0, 15, "c"),
        (16, 31, "step 1"),
        (32, 47, "step 2"),
    ]
    assert e.k == 33 and len(e.a) == 48 and e.value == "33.0"
    assert "K = 33, filled with +0 to 48; 3 instructions" in str(e)


@pytest.mark.parametrize(
    ("lowering", "names"),
    [
        ("ptxas-12.8", ["+0", "step 1", ("c", "step 2")]),
        ("ptxas-12.4", ["+0", "+0", ("step 1", "step 2"), ("c", "step 3")]),
    ],
)
def test_fp8_run_as_f16_shows_conversions_steps_and_additions(lowering, names):
    e = explain(E4M3, "sm_90", [2.0**-9] * 32, [1.0] * 32, 1.0, lowering)
    conversions = [step for step in e.steps if isinstance(step, Conversion)]
    assert [(x.operand, x.source, x.target, len(x.numbers)) for x in conversions] == [
        ("A", "e4m3", "f16", 32),
        ("B", "e4m3", "f16", 32),
    ]
    # The subnormal 2**-9 of e4m3 is a normal number of f16.
    assert (conversions[0].numbers[0].bits, conversions[0].numbers[0].result) == (0x01, 0x1800)
    rest = [step for step in e.steps if not isinstance(step, Conversion)]
    found = [x.terms[-1].name if isinstance(x, AlignedSum) else tuple(n.name for n in x.operands) for x in rest]
    assert found == names and e.lowering == lowering and f"lowering     {lowering}" in str(e)
    assert [t.k for t in rest[0].terms[:4]] == [0, 1, 4, 5]


def test_m8n8k4_after_turing_is_shown_as_its_float32_sequence():
    e = explain("m8n8k4.f16.f16.f16.f16", "sm_90", [1.0] * 4, [1.0] * 4, 0.5)
    operations = [step.operation for step in e.steps if isinstance(step, MultiplyAdd)]
    assert operations == ["mul", "fma", "add", "mul", "fma", "add"]
    last = e.steps[-1]
    assert isinstance(last, Conversion) and (last.number, last.source, last.target) == (7, "f32", "f16")


def test_special_terms_name_their_causes():
    e = explain(F16, "sm_90", ["0x7C00", 1.0, "0x7C00"], [1.0, 1.0, 0.0])
    special = e.steps[0].special
    assert (special.result, special.causes) == ("nan", ("k=2",))
    assert e.steps[0].rounding is None and e.value == "nan"
    e = explain(F16, "sm_90", ["0x7C00", 1.0], [-1.0, 1.0], "0x7F800000")
    assert e.steps[0].special.causes == ("k=0", "c") and "infinities of both signs" in str(e)
    e = explain(F16, "sm_90", ["0x7C00", 1.0], [-1.0, 1.0])
    assert e.steps[0].special.result == "infinity" and e.value == "-inf"


def test_an_f64_nan_is_traced_to_its_operand():
    e = explain("m8n8k4.f64.f64.f64.f64", "sm_90", ["0x7FF0000000000005", 1.0], ["0xFFF8000000000007", 1.0], 1.0)
    assert e.steps[0].special.causes == ("b[0]",) and e.steps[1].special.causes == ("step 1",)
    assert e.result == 0xFFF8_0000_0000_0007


def test_integers_show_products_total_and_clamp():
    e = explain("m16n8k32.s32.s8.s8.s32.satfinite", "sm_90", [-128, 3], [-128, 0], 2**31 - 1)
    [step] = e.steps
    assert isinstance(step, IntegerSum)
    assert (step.terms[0].product, step.total, step.limit, step.result) == (
        16384,
        2**31 - 1 + 16384,
        "highest",
        0x7FFF_FFFF,
    )
    e = explain("m16n8k32.s32.s8.s8.s32", "sm_90", [-128], [-128], 2**31 - 1)
    assert (e.steps[0].limit, e.value) == ("wrapped", str(2**31 - 1 + 16384 - 2**32))


def test_bits_are_shown_as_words():
    e = explain("m16n8k256.s32.b1.b1.s32.xor.popc", "sm_90", [1, 0, 1] + [0] * 252 + [1], [1, 1] + [0] * 254, 5)
    [step] = e.steps
    assert isinstance(step, BitCount)
    assert (step.words[0].a, step.words[0].b, step.words[0].combined, step.words[0].count) == (5, 3, 6, 2)
    assert (step.words[7].a, step.count, step.value) == (1 << 31, 3, 8)


def test_an_explanation_is_frozen_and_can_be_written_as_json():
    e = explain(E4M3, "sm_89", [1.0, 0.5], [1.0, 0.25], 2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        e.result = 0
    again = json.loads(json.dumps(e.to_dict()))
    assert again["result"] == e.result and again["executions"][0]["steps"][0]["step"] == "aligned_sum"
    assert again["executions"][0]["steps"][0]["terms"][1]["exponent"] == -3
    assert hash(e) == hash(explain(E4M3, "sm_89", [1.0, 0.5], [1.0, 0.25], 2.0))


def test_the_model_its_source_and_its_notes_are_in_the_text():
    text = " ".join(str(explain(F16, "sm_80", [1.0], [1.0])).split())
    for part in (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_80",
        "status recorded",
        "MATLAB",
        "literature",
    ):
        assert part in text


def test_zero_terms_are_one_line_with_their_bits():
    text = str(explain(F16, "sm_90", [1.0, 0.0, -0.0, 2.0], [1.0, 3.0, 4.0, 0.0]))
    assert (
        "    zero:   k=1 0x0000 x 0x4200,  k=2 0x8000 x 0x4400,  k=3 0x4000 x 0x0000,  k=4..15 0x0000 x 0x0000," in text
    )


def test_truncated_bits_follow_a_bar_on_one_ruler():
    text = str(explain(F16, "sm_90", [1.0, 2.0**-13, 2.0**-20], [1.0, 2.0**-12 * 1.75, 2.0**-20 * 1.5]))
    rows = [line for line in text.split("\n") if line.startswith("    k=")]
    assert rows[0].endswith("+ 1.0000000000000000000000000|")
    assert rows[1].endswith("+ 0.0000000000000000000000001|110(18)")
    assert rows[2].endswith("+ 0.0000000000000000000000000|0(14)110000000")
    assert len({line.index("|") for line in text.split("\n") if "|" in line and "k %" not in line}) == 1


def test_lines_are_no_wider_than_a_page():
    a = [1.0 + 2.0**-i for i in range(1, 9)] * 4
    for mnemonic, arch in ((F16, "sm_90"), ("m16n8k8.f32.tf32.tf32.f32", "sm_80"), ("m8n8k4.f16.f16.f16.f16", "sm_90")):
        lines = str(explain(mnemonic, arch, a, a[::-1], -1.25)).split("\n")
        assert max(map(len, lines)) <= WIDTH + 4


def test_the_baseline_of_the_cuda_cores_is_one_chain():
    one = 0x3F80_0000
    e = explain_dot(FMA_F32, [one] * 5, [one] * 5, one, instruction="fma.f32", arch="every chip")
    assert [step.operation for step in e.steps] == ["fma"] * 5 and len(e.executions) == 1 and e.value == "6.0"


def test_a_product_without_k_is_c():
    e = explain_dot(FMA_F32, [], [], 0x3F80_0000, instruction="fma.f32", arch="every chip")
    assert (e.executions, e.value) == ((), "1.0") and "no products: D is C" in str(e)


MX8 = "m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0"
NV4 = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"


def explain_scaled(mnemonic, a, b, c, scale_a, scale_b, model=None):
    row = lookup(mnemonic)
    product = dot_product_of(row, "sm_120", model=model)
    x, y, z = bits_of(a, product.a).tolist(), bits_of(b, product.b).tolist(), bits_of([c], product.c).tolist()
    return explain_dot(product, x, y, z[0], instruction=row.mnemonic, arch="sm_120", scale_a=scale_a, scale_b=scale_b)


def test_exponents_of_scales_are_shown_and_added_to_the_terms():
    [step] = explain_scaled(MX8, [1.5] + [0.0] * 31, [2.0] * 32, 1.0, [0x82], [0x7E]).steps
    [block] = step.blocks
    assert (block.name, block.scale_a, block.scale_b, block.exponent, block.ks) == ("k=0..31", 0x82, 0x7E, 2, ())
    assert (step.terms[0].exponent, step.terms[0].shift, step.exponent, step.scale_format) == (3, 0, 3, "ue8m0")
    e = explain_scaled(MX8, [1.5] + [0.0] * 31, [2.0] * 32, 1.0, [0x82], [0x7E])
    assert "    scales of k=0..31: 0x82 x 0x7e (ue8m0) = 2^2\n" in str(e) and e.value == "13.0"


def test_groups_are_terms_with_their_scales_as_operands_and_their_exact_sums():
    a = [0.0] * 16 + [1.5, 6.0, -0.5] + [0.0] * 45
    e = explain_scaled(NV4, a, [3.0, 4.0] * 32, 0.25, [0x38, 0x3C, 0x38, 0x38], [0x38, 0x44, 0x38, 0x38])
    [step] = e.steps
    block = step.blocks[1]
    # 1.5 * 3 + 6 * 4 - 0.5 * 3 = 27, in quarters; 1.5 * (1.5 * 2), aligned by the exponents of the scales.
    assert (block.name, block.total, block.total_bits, block.ks[:2], block.a[:3]) == (
        "k=16..31",
        108,
        2,
        (16, 17),
        (3, 7, 9),
    )
    assert (block.kind, block.exponent, block.significand, block.fraction_bits) == ("finite", 1, 12 * 12, 6)
    assert [t.kind for t in step.terms] == ["zero", "finite", "zero", "zero", "finite"]
    term = step.terms[1]
    assert (term.name, term.k, term.a, term.b) == ("k=16..31", None, 0x3C, 0x44)
    assert (term.exponent, term.significand, term.fraction_bits) == (1, 108 * 144, 8)
    assert (step.exponent, step.aligned_to, step.fraction_bits, e.value) == (1, "k=16..31", 35, str(27 * 4.5 + 0.25))
    assert (e.scale_block, e.scale_a) == (16, (0x38, 0x3C, 0x38, 0x38))
    assert "block scales (ue4m3) of 16 products" in " ".join(str(e).split())


def test_an_alternative_model_is_named_with_its_status():
    e = explain_scaled(NV4, [1.0] * 64, [1.0] * 64, 0.0, [0x38] * 4, [0x38] * 4, model="F=36")
    assert e.model_name == "F=36" and "status       inferred; the alternative 'F=36'" in str(e)


def test_truncated_bits_of_a_group_follow_the_bar():
    e = explain_scaled(NV4, [1.0] + [0.0] * 31 + [0.5], [1.0] * 32 + [0.5], 2.0**30, [0x38] * 4, [0x38] * 3 + [0x38])
    [step] = e.steps
    group = step.terms[2]
    assert (group.shift, group.kept, group.cut_bits, group.cut) == (30, 1 << 3, 3, 0)
    e = explain_scaled(NV4, [1.0] + [0.0] * 31 + [0.5], [1.0] * 32 + [0.5], 2.0**34, [0x38] * 4, [0x38] * 3 + [0x38])
    group = e.steps[0].terms[2]
    assert (group.shift, group.kept, group.cut_bits, group.cut) == (34, 0, 7, 1 << 6)


def test_a_nan_scale_is_named_and_its_products_are_one_list():
    e = explain_scaled(MX8, [1.0] * 32, [1.0] * 32, 0.0, [0xFF], [0x7F])
    assert e.steps[0].special.causes == ("scales of k=0..31",)
    text = str(e)
    assert "= 2^" not in text and "(ue8m0) = NaN" in text and "    NaN:    k=0..31 0x38 x 0x2" in text
    e = explain_scaled(NV4, [1.0] * 64, [1.0] * 64, 0.0, [0x38, 0x7F, 0x38, 0x38], [0x38] * 4)
    assert e.steps[0].special.causes == ("scales of k=16..31",) and "NaN  (nan x finite)" in str(e)


def test_the_padding_of_the_last_instruction_has_scales_of_zero():
    e = explain_scaled(NV4, [1.0] * 80, [1.0] * 80, 0.0, [0x38] * 5, [0x38] * 5)
    assert (e.value, e.scale_a[5:], len(e.executions)) == ("80.0", (0, 0, 0), 2)


def test_an_explanation_with_block_scales_can_be_written_as_json_and_drawn():
    from wmma_emu.viz import draw_explanation

    for e in (explain_scaled(MX8, [1.0] * 32, [1.0] * 32, 0.0, [0x80], [0x7F]),
              explain_scaled(NV4, [1.0] * 64, [1.0] * 64, 0.5, [0x38] * 4, [0x40] * 4)):  # fmt: skip
        again = json.loads(json.dumps(e.to_dict()))
        assert again["executions"][0]["steps"][0]["blocks"][0]["kind"] == "finite"
        assert max(map(len, str(e).split("\n"))) <= WIDTH + 4
        assert draw_explanation(e).title == e.headline


def test_products_of_integers_are_in_columns_and_the_last_may_be_shorter():
    lines = str(explain("m16n8k32.s32.s8.s8.s32", "sm_90", [-128, 3, 100], [-128, 2, 7], 0)).splitlines()
    at = lines.index("step 1: products of s8 and s8, and c, added exactly")
    assert lines[at + 1 : at + 3] == [
        "    k=0   0x80 x 0x80 = -128 x -128 = 16384    k=2   0x64 x 0x07 = 100 x 7 = 700",
        "    k=1   0x03 x 0x02 = 3 x 2 = 6",
    ]
