# SPDX-License-Identifier: MIT
"""Models that no chip has: the accepted ones, with the same bits in every engine as in the reference."""

import re
from dataclasses import replace

import numpy as np
import pytest

import wmma_emu as we
from tests.arithmetic.helpers import engines_of, multiply, scaled_operands
from wmma_emu.arithmetic import ENGINES, applied, dot_product_of, matmul, model_for
from wmma_emu.instructions import lookup
from wmma_emu.testing import generators

SUBJECTS = (
    ("m16n8k16.f32.f16.f16.f32", "sm_80"),
    ("m16n8k16.f16.f16.f16.f16", "sm_90"),
    ("m16n8k16.f32.bf16.bf16.f32", "sm_90"),
    ("m16n8k8.f32.tf32.tf32.f32", "sm_80"),
    ("m16n8k32.f32.e4m3.e5m2.f32", "sm_90"),
    ("m16n8k32.f16.e4m3.e4m3.f16", "sm_89"),
    ("wgmma.m64n8k32.f32.e5m2.e4m3", "sm_90"),
)
CHANGES = (
    {"fraction_bits": 3}, {"fraction_bits": 10}, {"fraction_bits": 24}, {"fraction_bits": 40}, {"fraction_bits": 60},
    {"min_exponent": -1000}, {"min_exponent": -40}, {"min_exponent": -12}, {"min_exponent": 9},
    {"terms_per_step": 1}, {"terms_per_step": 3}, {"terms_per_step": 32},
    {"rounding": "RZ"}, {"rounding": "RNE"}, {"output": "e8m13"}, {"output": ""},
    {"operand_format": "tf32"}, {"operand_format": "f64"},
    {"c_joins": "last_add"}, {"c_joins": "last_add", "partial_sums": "added", "terms_per_step": 4},
    {"partial_sums": "added", "terms_per_step": 4}, {"k_order": "byte_pairs"},
)  # fmt: skip
USED_GENERATORS = ("cancel_pairs", "single_bits", "floor_bits", "c_alone", "small_products_and_c", "wide", "specials")


def product_of(mnemonic, arch, changes):
    instruction = lookup(mnemonic, arch)
    model = replace(dot_product_of(instruction, arch).model, **changes)
    try:
        return instruction, applied(model, instruction)
    except we.UnsupportedInstructionError:
        return instruction, None


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("changes", CHANGES, ids=lambda x: "-".join(f"{k}={v}" for k, v in x.items()))
@pytest.mark.parametrize(("mnemonic", "arch"), SUBJECTS, ids=lambda x: str(x))
def test_every_engine_computes_an_altered_model_like_the_reference(mnemonic, arch, changes):
    instruction, product = product_of(mnemonic, arch, changes)
    if product is None:
        with pytest.raises(we.UnsupportedInstructionError, match="the model is not valid for"):
            applied(replace(dot_product_of(instruction, arch).model, **changes), instruction)
        return
    engines = [name for name in ("numpy", "native", "auto") if name == "auto" or ENGINES[name].has(product)]
    # Code is compiled for each product: a few are sufficient.
    if changes.keys() & {"terms_per_step", "partial_sums", "k_order"}:
        engines = [name for name in engines if name != "native"]
    for generator in set(USED_GENERATORS) & set(generators.generators_of(instruction)):
        a, b, c, _ = generators.draw(instruction, generator, 7, 1, 1, 1)
        a, b, c = a[:, :3], b[:, :, :3], c[:, :3, :3]
        wanted = matmul(product, a, b, c, engine="reference")
        for engine in engines:
            np.testing.assert_array_equal(matmul(product, a, b, c, engine=engine), wanted, f"{engine} {generator}")


@pytest.mark.parametrize(("mnemonic", "arch"), SUBJECTS[:2], ids=lambda x: str(x))
def test_long_k_and_batches_of_an_altered_model_match_the_reference(mnemonic, arch):
    instruction, product = product_of(mnemonic, arch, {"fraction_bits": 12, "terms_per_step": 4})
    a, b, c, _ = generators.draw(instruction, "wide", 1, 3, 3, 3)
    a, b = np.concatenate([a, a[::-1]], 2)[:, :5], np.concatenate([b, b], 1)[:, :, :5]
    wanted = matmul(product, a, b, c[:, :5, :5], engine="reference")
    np.testing.assert_array_equal(matmul(product, a, b, c[:, :5, :5]), wanted)


def test_the_error_for_an_unsupported_model_names_an_engine_that_supports_it():
    _, product = product_of("m16n8k16.f32.f16.f16.f32", "sm_80", {"fraction_bits": 60})
    zeros = np.zeros((16, 16), np.uint16), np.zeros((16, 8), np.uint16), np.zeros((16, 8), np.uint32)
    for engine in ("numpy", "native"):
        with pytest.raises(we.UnsupportedInstructionError, match=r"not support steps of 8 .*use engine='reference'"):
            matmul(product, *zeros, engine=engine)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arithmetic": "integer"}, "arithmetic='integer' does not multiply f16; legal: 'aligned_sum', 'fma_chain'"),
        ({"rounding": "RU"}, "rounding='RU'; legal: 'RZ', 'RNE'"),
        ({"c_joins": "each_add"}, "c_joins='each_add'; legal: 'first_step', 'last_add'"),
        ({"terms_per_step": 0}, "terms_per_step=0; legal: 1 to"),
        ({"fraction_bits": -1}, "fraction_bits=-1; legal: 0 to"),
        ({"min_exponent": 5000}, "min_exponent=5000; legal: -16384 to"),
        ({"accumulator": "s32"}, "accumulator='s32' is not a floating-point format"),
        ({"accumulator": "f16"}, "sums in f16 do not represent every c, which is f32"),
        ({"output": "bf16"}, "output='bf16' with accumulator='f32'; legal: '' or 'e8m13'"),
        ({"operand_format": "e4m3"}, "operand_format='e4m3' does not represent every f16"),
        ({"operand_format": "f99"}, "operand_format='f99' is not a floating-point format"),
        ({"k_order": "descending"}, "k_order='descending'; legal: 'ascending', 'byte_pairs'"),
        ({"partial_sums": "dropped"}, "partial_sums='dropped'; legal"),
    ],
    ids=lambda x: str(x),
)
def test_a_model_that_contradicts_itself_or_the_instruction_is_rejected(changes, words):
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_80")
    with pytest.raises(we.UnsupportedInstructionError) as error:
        ins.with_model(replace(ins.model, **changes))
    assert words in str(error.value)


def test_the_error_for_any_other_argument_explains_how_to_make_a_model():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_80")
    with pytest.raises(we.UnsupportedInstructionError, match=r"expected a DotModel, not 24; dataclasses\.replace"):
        ins.with_model(24)


def test_an_integer_instruction_accepts_only_its_own_model():
    ins = we.instruction("m16n8k32.s32.s8.s8.s32", arch="sm_80")
    assert ins.with_model(ins.model).product == ins.product
    with pytest.raises(we.UnsupportedInstructionError, match="legal: 'integer'"):
        ins.with_model(we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_80").model)


def test_registers_and_matrices_use_the_new_model_and_the_old_instruction_is_unchanged():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    other = ins.with_model(we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_80").model)
    A, B = np.ones((16, 16), np.float16), np.full((16, 8), 2.0**-12, np.float16)
    A[:, 1:], B[0] = 1.75 * 2.0**-12, 1
    zeros = ins.c.pack(np.zeros((16, 8), np.float32))
    matrices = [int(x(A, B).view(np.uint32)[0, 0]) for x in (ins, other)]
    registers = [int(x.execute(ins.a.pack(A), ins.b.pack(B), zeros)[0, 0]) for x in (ins, other)]
    assert matrices == registers == [0x3F80000B, 0x3F800007]


def test_compiled_code_rejects_operands_with_many_bits():
    ins = we.instruction("m16n8k16.f32.bf16.bf16.f32", arch="sm_90")
    for name in ("f32", "f64"):
        assert not ENGINES["native"].has(ins.with_model(replace(ins.model, operand_format=name)).product)
    assert ENGINES["native"].has(ins.product)


def test_the_gpu_engine_supports_only_models_of_the_table():
    from wmma_emu.arithmetic import cupy_engine

    ins = we.instruction("m16n8k32.f32.e4m3.e4m3.f32", arch="sm_90")
    assert cupy_engine.has(ins.product)
    for changes in ({"terms_per_step": 1}, {"fraction_bits": 24}, {"min_exponent": -1}):
        assert not cupy_engine.has(ins.with_model(replace(ins.model, **changes)).product)


@pytest.mark.parametrize(
    ("name", "value"),
    [("rounding", "RZ"), ("output", "f64"), ("k_order", "byte_pairs"), ("partial_sums", "added"),
     ("fraction_bits", 3), ("min_exponent", 5)],
)  # fmt: skip
def test_a_chain_rejects_parameters_of_aligned_sums(name, value):
    ins = we.instruction("m16n8k16.f64.f64.f64.f64", arch="sm_90")
    with pytest.raises(we.UnsupportedInstructionError, match=f"{name}={value!r} has no effect on a chain"):
        ins.with_model(replace(ins.model, **{name: value}))


def test_an_altered_model_has_the_status_altered_and_no_measurement():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    other = ins.with_model(replace(ins.model, fraction_bits=3))
    assert (other.model.status, other.model.source) == ("altered", "no chip is known to compute so")
    assert repr(other).endswith("on sm_90, altered>")
    assert ins.with_model(ins.model).model == ins.model


def test_an_altered_alternative_loses_its_name():
    row = lookup(MXF4)
    named = model_for(row, "sm_120", model="F=36")
    assert applied(named, row).model.name == "F=36"
    assert applied(replace(named, fraction_bits=33), row).model.name == ""


MXF4 = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"


@pytest.mark.parametrize(
    ("mnemonic", "changes", "words"),
    [
        (MXF4, {"scaling": ""}, "scaling='', but the instruction has block scales; legal: 'exponents', 'groups'"),
        (MXF4, {"group_terms": 0}, "group_terms=0; legal: the divisors of 32 products, which share scales"),
        (MXF4, {"group_terms": 64}, "group_terms=64; legal: the divisors of 32 products"),
        (MXF4, {"terms_per_step": 24}, "terms_per_step=24 with groups; legal: multiples of 16"),
        (MXF4, {"k_order": "byte_pairs"}, "k_order='byte_pairs' with groups; legal: 'ascending'"),
        (MXF4, {"operand_format": "f16"}, "operand_format='f16' with block scales; legal: ''"),
        (MXF4, {"scaling": "exponents"}, "group_terms=16 without groups; legal: 0"),
        (MXF4, {"zero_groups": "never"}, "zero_groups='never'; legal: 'left_out', 'aligned'"),
        (NVF4, {"scaling": "exponents", "group_terms": 0}, "scaling='exponents', but ue4m3 has significands; legal: "),
        ("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0",
         {"scaling": "groups", "group_terms": 16}, "sums exactly, and e4m3 has infinities or NaN; legal: 'exponents'"),
        ("m16n8k16.f32.f16.f16.f32", {"scaling": "exponents"}, "but the instruction has no block scales; legal: ''"),
        ("m16n8k16.f32.f16.f16.f32", {"group_terms": 4}, "group_terms=4 without groups; legal: 0"),
        ("m16n8k16.f32.f16.f16.f32", {"zero_groups": "aligned"}, "zero_groups='aligned' without groups; legal: "),
        (MXF4, {"scaling": "exponents", "group_terms": 0, "zero_groups": "aligned"},
         "zero_groups='aligned' without groups; legal: 'left_out'"),
    ],
    ids=lambda x: str(x)[:40],
)  # fmt: skip
def test_models_whose_block_scales_contradict_the_instruction_are_rejected(mnemonic, changes, words):
    row = lookup(mnemonic)
    with pytest.raises(we.UnsupportedInstructionError) as error:
        applied(replace(model_for(row, "sm_120"), **changes), row)
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["group_terms", "terms_per_step", "fraction_bits", "min_exponent"])
def test_counts_must_be_integers_and_not_just_equal_to_integers(name):
    row = lookup(MXF4)
    model = model_for(row, "sm_120")
    value = getattr(model, name)
    assert applied(replace(model, **{name: np.int64(value)}), row).model == model
    for bad in (float(value), str(value), None, True):
        with pytest.raises(we.UnsupportedInstructionError, match=f"{name}={re.escape(repr(bad))}; legal"):
            applied(replace(model, **{name: bad}), row)


@pytest.mark.parametrize(
    "changes",
    [{"fraction_bits": 20}, {"group_terms": 8}, {"terms_per_step": 32}, {"scaling": "exponents", "group_terms": 0},
     {"rounding": "RNE"}, {"c_joins": "last_add"}, {"partial_sums": "added", "terms_per_step": 16},
     {"fraction_bits": 60}],
    ids=str,
)  # fmt: skip
def test_altered_models_with_block_scales_give_the_same_bits_in_every_engine(changes):
    row = lookup(MXF4)
    product = applied(replace(model_for(row, "sm_120"), **changes), row)
    operands = scaled_operands(product, np.random.default_rng(6), 5, 5)
    expected = multiply(product, operands, "reference")
    assert product.model.status == "altered"
    for name in engines_of(product):
        np.testing.assert_array_equal(multiply(product, operands, name), expected, err_msg=name)
    np.testing.assert_array_equal(multiply(product, operands), expected)
