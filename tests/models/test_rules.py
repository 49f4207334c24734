# SPDX-License-Identifier: MIT
"""Rules of products of whole models: the instruction of each dtype on each chip, and its record."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.instructions import arch_of
from wmma_emu.models import ArrayProduct, EmulationOptions, ModelMultiplier, kind_of, options_of

TF32 = frozenset({"tf32"})
KINDS = {
    ("float16", "v100"): "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    ("float16", "t4"): "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    ("float16", "a100"): "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    ("bfloat16", "h100"): "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    ("bfloat16", "v100"): "fma.f32",
    ("float32", "h100"): "fma.f32",
    ("float64", "a100"): "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    ("int8", "t4"): "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
    ("float8_e4m3fn", "h100"): "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3",
    ("float8_e5m2", "l40s"): "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32",
}


@pytest.mark.parametrize(("dtype", "chip"), KINDS)
def test_the_first_rule_that_the_chip_supports_gives_the_instruction(dtype, chip):
    assert kind_of(dtype, dtype, arch_of(chip), frozenset()).mnemonic == KINDS[dtype, chip]


def test_settings_select_tf32_and_sums_in_float16():
    assert "tf32" in kind_of("float32", "float32", arch_of("a100"), TF32).mnemonic
    assert kind_of("float32", "float32", arch_of("t4"), TF32).mnemonic == "fma.f32"
    assert kind_of("float16", "float16", arch_of("h100"), frozenset({"f16 sums"})).instruction.product.d.name == "f16"


def test_dtypes_without_rules_and_chips_without_them_have_no_kind():
    assert kind_of("complex64", "complex64", arch_of("h100"), frozenset()) is None
    assert kind_of("float64", "float64", arch_of("v100"), frozenset()) is None
    with pytest.raises(we.errors.OptionError, match=r"sm_80 \(Ampere\) has no instruction that multiplies e4m3"):
        kind_of("float8_e4m3fn", "float8_e4m3fn", arch_of("a100"), frozenset())


def test_a_product_equals_gemm_and_is_recorded():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((5, 40)).astype(np.float16), rng.standard_normal((40, 3)).astype(np.float16)
    multiply = ModelMultiplier(options_of("a100", {}))
    d = multiply(ArrayProduct(operation="dot", a=a, b=b, out_dtype="f32"))
    assert np.array_equal(d.view(np.uint32), we.gemm(a, b, arch="a100").view(np.uint32))
    (record,) = multiply.log
    assert (record.shape, record.size, record.out, record.order) == ((5, 3, 40), "5x3x40", "f32", "assumed")


def test_options_have_the_defaults_that_the_documentation_states():
    options = options_of("h100", {})
    assert (options.arch.name, options.like, options.k_order) == ("sm_90", None, None)
    assert (options.tf32_conversion, options.convolution_order, options.attention_tile) == ("truncate", "crsc", 128)
    assert EmulationOptions(arch=None).arch is None
