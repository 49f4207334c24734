# SPDX-License-Identifier: MIT
"""The generated CUDA program, without a GPU: its source, and its bits if a C++ compiler is installed."""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from tests.arithmetic.cuda_on_host import COMPILER, compile_on_host
from tests.arithmetic.helpers import adversarial_operands, distinct_products, scaled_products
from tests.arithmetic.test_engines import mixture
from wmma_emu.arithmetic import FMA_F32, DotProduct, dot_product_of, matmul, models_for
from wmma_emu.arithmetic.cuda_source import conversion_source, kernel_source, shape_of
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.instructions import INSTRUCTIONS, lookup

PRODUCTS = {**distinct_products(), "fma.f32": FMA_F32}
NVCC = shutil.which("nvcc")

SOME = {
    "Volta": ("m8n8k4.f32.f16.f16.f32", "sm_70", None),
    "f16 results": ("m16n8k16.f16.f16.f16.f16", "sm_80", None),
    "bf16": ("m16n8k16.f32.bf16.bf16.f32", "sm_90", None),
    "tf32": ("m16n8k4.f32.tf32.tf32.f32", "sm_90", None),
    "e8m13": ("m16n8k32.f32.e4m3.e5m2.f32", "sm_89", None),
    "FP8 as f16": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", None),
    "FP8 as f16, partial sums added": ("m16n8k32.f16.e5m2.e4m3.f16", "sm_90", "ptxas-12.4"),
    "64-bit sums": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_120", None),
    "software, f32": ("m8n8k4.f32.f16.f16.f32", "sm_90", None),
    "software, f16": ("m8n8k4.f16.f16.f16.f16", "sm_90", None),
    "f64, rounded up": ("m16n8k8.f64.f64.f64.f64.rp", "sm_90", None),
    "f64, rounded toward zero": ("m8n8k4.f64.f64.f64.f64.rz", "sm_90", None),
    "clamped integers": ("m16n8k32.satfinite.s32.s8.u8.s32", "sm_80", None),
    "4-bit integers": ("m8n8k32.s32.s4.u4.s32", "sm_75", None),
    "bits": ("m16n8k256.s32.b1.b1.s32.xor.popc", "sm_80", None),
}
"""One product for every path through the program: mnemonic, chip, lowering."""


def product_of(mnemonic: str, arch: str, lowering: str | None) -> DotProduct:
    return dot_product_of(lookup(mnemonic, arch), arch, lowering)


def assert_same_bits(name: str | None, product: DotProduct, folder) -> None:
    multiply = compile_on_host(product, folder)

    def compare(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        found, expected = multiply(a, b, c), matmul(product, a, b, c, engine="numpy")
        different = np.argwhere(found != expected)
        assert not len(different), [(hex(found[tuple(i)]), hex(expected[tuple(i)])) for i in different[:4]]

    rng = np.random.default_rng(5)
    for k in (product.k, 3 * product.k) if product.chains else (product.k,):
        a, b = mixture(product.a, (67, k), rng), mixture(product.b, (71, k), rng).T
        compare(a, b, mixture(product.c, (67, 71), rng))
        compare(a[::-2, ::-1], b[::-1, 1::3], mixture(product.c, (24, 34), rng).T)
    if name is not None:
        for tiles in adversarial_operands(name, 7):
            for a, b, c in zip(*tiles, strict=True):
                compare(a, b, c)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.skipif(COMPILER is None, reason="needs g++ or clang++")
@pytest.mark.parametrize("which", SOME)
def test_the_program_returns_the_bits_of_the_engines_on_the_host(which, tmp_path):
    assert_same_bits(None, product_of(*SOME[which]), tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="needs g++ or clang++")
@pytest.mark.parametrize("name", PRODUCTS)
def test_every_program_returns_the_bits_of_the_engines_on_the_host(name, tmp_path):
    assert_same_bits(None if name == "fma.f32" else name, PRODUCTS[name], tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="needs nvcc")
@pytest.mark.parametrize("name", PRODUCTS)
def test_every_program_compiles_without_a_warning(name, tmp_path):
    source = tmp_path / "kernel.cu"
    source.write_text(kernel_source(PRODUCTS[name]))
    command = [NVCC, "-arch=sm_90", "-cubin", "-diag-suppress=177", str(source), "-o", str(tmp_path / "kernel.cubin")]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    assert made.stdout + made.stderr == ""


@pytest.mark.thorough
@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.skipif(NVCC is None, reason="needs nvcc")
@pytest.mark.parametrize("which", ["FP8 as f16", "FP8 as f16, partial sums added", "software, f32", "software, f16"])
def test_subnormal_numbers_are_kept_even_with_the_compiler_option_to_flush_them(which, tmp_path):
    source, made = tmp_path / "kernel.cu", tmp_path / "kernel.ptx"
    source.write_text(kernel_source(product_of(*SOME[which])))
    # CuPy passes this option for every program.
    subprocess.run(
        [NVCC, "-arch=sm_90", "-ptx", "-ftz=true", "-diag-suppress=177", str(source), "-o", str(made)], check=True
    )
    text = made.read_text()
    assert "fma.rn.f" in text or "FP8" in which
    # A number that is truncated to an integer is zero with or without the option.
    assert ".ftz" not in text.replace("cvt.rzi.ftz.s32.f32", "")


def test_a_product_with_block_scales_has_no_program():
    for product in list(scaled_products().values())[::9]:
        with pytest.raises(
            UnsupportedInstructionError, match="not support block scales; use engine='native' or 'numpy'"
        ):
            kernel_source(product)


def test_models_with_the_same_arithmetic_share_a_program():
    texts: dict[tuple, str] = {}
    products = [
        DotProduct.of(model, row)
        for row in INSTRUCTIONS.values()
        if row.n in (8, 16) and not row.is_block_scaled
        for arch in row.archs
        for model in models_for(row, arch)
    ]
    for product in products:
        key = (product.model.parameters, product.a, product.b, product.c, product.d, product.k, product.satfinite,
               product.bit_operation, product.rounding)  # fmt: skip
        text = kernel_source(product)
        assert texts.setdefault(key, text) == text
    assert len(set(texts.values())) == len(texts)


def test_a_program_does_not_name_a_chip():
    for product in PRODUCTS.values():
        assert not re.search(r"sm_\d|compute_|__CUDA_ARCH__", kernel_source(product))


@pytest.mark.parametrize(
    ("mnemonic", "arch", "sum_type", "total_type"),
    [
        ("m16n8k16.f32.f16.f16.f32", "sm_80", "int", "int"),
        ("m16n8k16.f32.f16.f16.f32", "sm_90", "int", "long long"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_120", "long long", "long long"),
    ],
)
def test_sums_are_wide_enough_for_the_largest_products(mnemonic, arch, sum_type, total_type):
    product = product_of(mnemonic, arch, None)
    text = kernel_source(product)
    largest = 4 ** (1 + product.a.fraction_bits) * (1 - 2.0 ** -(product.a.fraction_bits + 1)) ** 2
    largest *= len(product.steps[0]) * 2.0 ** (product.model.fraction_bits - 2 * product.a.fraction_bits)
    assert f"typedef {sum_type} Sum;" in text and f"typedef {total_type} Total;" in text
    assert (largest < 2**31) == (sum_type == "int")
    assert (largest + 2 ** (product.model.fraction_bits + 1) <= 2**31) == (total_type == "int")


def test_short_steps_are_padded_and_byte_pairs_are_in_order():
    product = product_of("m16n8k16.f32.e4m3.e4m3.f32", "sm_90", None)
    order = re.search(r"ORDER\[\] = \{(.*)\}", kernel_source(product))
    assert [int(k) for k in order[1].split(",")] == [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]
    assert shape_of(product).positions == 16


def test_every_kernel_fits_in_the_shared_memory_of_every_gpu():
    assert max(shape_of(product).shared_bytes for product in PRODUCTS.values()) <= 64 * 1024


def test_too_many_fraction_bits_are_rejected():
    product = product_of("m16n8k16.f32.f16.f16.f32", "sm_90", None)
    wide = replace(product, model=replace(product.model, fraction_bits=30))
    with pytest.raises(UnsupportedInstructionError, match="does not support 30 fraction bits of f16 products"):
        kernel_source(wide)


@pytest.mark.skipif(NVCC is None, reason="needs nvcc")
def test_a_conversion_compiles(tmp_path):
    source = tmp_path / "conversion.cu"
    source.write_text(conversion_source(format_of("f32"), format_of("f16")))
    subprocess.run([NVCC, "-arch=sm_90", "-cubin", str(source), "-o", str(tmp_path / "c.cubin")], check=True)
