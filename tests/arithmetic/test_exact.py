# SPDX-License-Identifier: MIT
"""Only products that provably lose no bits use BLAS, with the bits of the slow path."""

import numpy as np
import pytest

from tests.representatives import REPRESENTATIVES
from wmma_emu.arithmetic import DotProduct, dot_product_of, exact, matmul
from wmma_emu.formats import encode, format_of
from wmma_emu.instructions import lookup

NAMES = (
    "m16n8k16.f32.f16.f16.f32", "m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.tf32.tf32.f32", "m16n8k32.f32.e4m3.e4m3.f32",
    "m16n8k32.f32.e5m2.e4m3.f32", "wgmma.mma_async.sync.aligned.m64n24k32.f32.e4m3.e4m3",
)  # fmt: skip
MINUS_ZERO = np.uint32(1 << 31)


def product_of(name: str, arch: str = "sm_90", **keywords: str) -> DotProduct:
    return dot_product_of(lookup(name), arch, **keywords)


def patterns(values: np.ndarray, fmt_name: str) -> np.ndarray:
    return encode(values.astype(np.float64), format_of(fmt_name))


def both_ways(product, a, b, c, monkeypatch, engine="numpy"):
    """Return the product, the product without BLAS, and the number of tiles or instructions in BLAS."""
    count = 0
    real = exact.exact_matmul

    def counted(x, y):
        nonlocal count
        count += 1
        return real(x, y)

    with monkeypatch.context() as patch:
        patch.setattr(exact, "exact_matmul", counted)
        found = matmul(product, a, b, c, engine=engine)
    with monkeypatch.context() as patch:
        patch.setattr(exact, "_can_be_exact", lambda product: False)
        slow_path = matmul(product, a, b, c, engine="numpy")
    return found, slow_path, count


@pytest.mark.parametrize("engine", ["numpy", "native"])
@pytest.mark.parametrize("name", NAMES)
def test_small_integers_are_exact_over_all_of_k(name, engine, monkeypatch):
    product = product_of(name)
    rng = np.random.default_rng(5)
    k = 4 * product.k
    a = patterns(rng.integers(-2, 3, (70, k)), product.a.name)
    b = patterns(rng.integers(-2, 3, (k, 40)), product.b.name)
    c = patterns(rng.integers(-40, 40, (70, 40)), "f32")
    c[::3] = MINUS_ZERO
    a[3] = 0
    found, slow_path, count = both_ways(product, a, b, c, monkeypatch, engine)
    np.testing.assert_array_equal(found, slow_path)
    assert count == 1 or engine == "native"  # which proves and adds without BLAS if c is added last
    np.testing.assert_array_equal(found[:4, :4], matmul(product, a[:4], b[:, :4], c[:4, :4], engine="reference"))


@pytest.mark.parametrize("engine", ["numpy", "native"])
@pytest.mark.parametrize("lowering", ["ptxas-12.8", "ptxas-12.4"])
def test_ordinary_fp8_is_exact_instruction_by_instruction(lowering, engine, monkeypatch):
    product = product_of("m16n8k32.f32.e4m3.e4m3.f32", lowering=lowering)
    rng = np.random.default_rng(6)
    a, b = (patterns(rng.standard_normal(shape), "e4m3") for shape in ((300, 96), (96, 280)))
    c = patterns(rng.standard_normal((300, 280)) * 2.0 ** rng.integers(-30, 30, (300, 280)), "f32")
    c[::7, ::5] = [[0x7F800000]]
    c[1::7, ::5] = 0x7FC12345
    c[2::7, ::5] = MINUS_ZERO
    a[4], b[:, 9] = 0x80, 0x80
    found, slow_path, count = both_ways(product, a, b, c, monkeypatch, engine)
    np.testing.assert_array_equal(found, slow_path)
    assert count >= 12 or engine == "native"


@pytest.mark.parametrize("engine", ["numpy", "native"])
@pytest.mark.parametrize("scale", [1 << 11, 1 << 12, 1 << 13, 1 << 14])
@pytest.mark.parametrize("name", NAMES[:3])
def test_sums_just_within_and_beyond_the_width_of_a_result_have_the_right_bits(name, scale, engine, monkeypatch):
    product = product_of(name)
    rng = np.random.default_rng(scale)
    few = 1 << min(product.a.fraction_bits, 8)
    a = rng.integers(-few + 1, few, (40, 4 * product.k))
    b = rng.integers(-few + 1, few, (4 * product.k, 36)) * (scale // few)
    c = rng.integers(-scale * 64, scale * 64, (40, 36))
    operands = patterns(a, product.a.name), patterns(b, product.b.name), patterns(c, "f32")
    found, slow_path, _ = both_ways(product, *operands, monkeypatch, engine)
    np.testing.assert_array_equal(found, slow_path)


def test_fp8_of_many_magnitudes_is_exact_for_some_elements_and_rounded_for_others():
    product = product_of(NAMES[3])
    rng = np.random.default_rng(9)
    magnitudes = 2.0 ** rng.integers(-4, 9, 64)[:, None]
    a, b = (patterns(rng.standard_normal((64, 96)) * magnitudes, "e4m3") for _ in range(2))
    c = patterns(rng.standard_normal((64, 64)), "f32")
    expected = matmul(product, a, b.T, c, engine="reference")
    np.testing.assert_array_equal(matmul(product, a, b.T, c, engine="native"), expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_line_with_nan_or_distant_bits_prevents_blas_for_its_tile_unless_all_is_exact(name, monkeypatch):
    product = product_of(name)
    rng = np.random.default_rng(8)
    a = patterns(rng.integers(-2, 3, (64, product.k)), product.a.name)
    b = patterns(rng.integers(-2, 3, (product.k, 40)), product.b.name)
    c = np.zeros((64, 40), np.uint32)
    for what in (product.a.canonical_nan, product.a.max_finite, 1 << product.a.ignored_low_bits):
        a[17, 3] = what
        found, slow_path, count = both_ways(product, a, b, c, monkeypatch)
        assert count == 0 or what != product.a.canonical_nan
        np.testing.assert_array_equal(found, slow_path)
        np.testing.assert_array_equal(found[17:18], matmul(product, a[17:18], b, c[:1], engine="reference"))


def test_c_with_bits_below_the_products_is_not_added_by_blas(monkeypatch):
    product = product_of("m16n8k16.f32.f16.f16.f32")
    a, b = np.full((32, 16), 0x3C00, np.uint16), np.full((16, 32), 0x3C00, np.uint16)
    c = np.full((32, 32), 0x33800001, np.uint32)  # slightly more than 2**-24
    found, slow_path, count = both_ways(product, a, b, c, monkeypatch)
    np.testing.assert_array_equal(found, slow_path)
    assert count == 0


@pytest.mark.parametrize(("largest", "through_blas"), [(0x38, True), (0x70, False)], ids=["sums of 13 bits", "of 17"])
def test_a_unit_with_13_fraction_bits_allows_proofs_for_sums_of_at_most_14_bits(largest, through_blas, monkeypatch):
    product = product_of("wgmma.mma_async.sync.aligned.m64n24k32.f32.e4m3.e4m3")
    a, b = np.zeros((64, 32), np.uint8), np.full((32, 48), 0x38, np.uint8)
    a[:, 0], a[:, 1] = largest, 0x01  # 1 or 2**7, and 2**-9
    found, slow_path, count = both_ways(product, a, b, np.zeros((64, 48), np.uint32), monkeypatch)
    np.testing.assert_array_equal(found, slow_path)
    assert (count > 0) == through_blas


def test_a_proof_is_never_made_from_lengths_that_overflow(monkeypatch):
    product = product_of("m16n8k16.f32.bf16.bf16.f32")
    a = np.full((40, 16), 0x7F00, np.uint16)  # 2**127
    found, slow_path, count = both_ways(product, a, a.T[:, :33].copy(), np.zeros((40, 33), np.uint32), monkeypatch)
    np.testing.assert_array_equal(found, slow_path)
    assert count == 0
    assert (found == 0x7F800000).all()


def test_every_distinct_product_is_correct_on_small_integers(monkeypatch):
    rng = np.random.default_rng(9)
    for name, row in REPRESENTATIVES.items():
        product = dot_product_of(row, row.archs[-1])
        if product.model.arithmetic != "aligned_sum" or not product.chains or row.is_block_scaled:
            continue
        a = patterns(rng.integers(-1, 2, (33, product.k)), product.a.name)
        b = patterns(rng.integers(-1, 2, (product.k, 34)), product.b.name)
        c = patterns(rng.integers(-4, 5, (33, 34)), product.c.name)
        found, slow_path, _ = both_ways(product, a, b, c, monkeypatch)
        np.testing.assert_array_equal(found, slow_path, err_msg=name)


TINY_C = {
    "f16, below float32's normal numbers": ("m16n8k16.f32.f16.f16.f32", "sm_90", 0x4000, 0x3C00, 1),
    "f16, far below the products": ("m16n8k16.f32.f16.f16.f32", "sm_90", 0x7000, 0x6C00, 0x0100_0000),
    "bf16": ("m16n8k16.f32.bf16.bf16.f32", "sm_90", 0x5880, 0x5880, 0x2400_0000),
    "e8m13, zeros alone": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_89", 0, 0, 0x2400_0001),
    "e8m13, a subnormal": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_89", 0, 0, 0x8000_0001),
}


@pytest.mark.parametrize("engine", ["numpy", "native"])
@pytest.mark.parametrize("case", TINY_C.values(), ids=TINY_C)
def test_a_c_that_float32_would_scale_to_zero_prevents_a_proof(case, engine):
    name, arch, x, y, c = case
    product = product_of(name, arch)
    a = np.zeros((32, product.k), product.a.storage)
    a[:, 0], a[:, 1] = x, x | (product.a.sign_mask if x else 0)
    b = np.full((product.k, 32), y, product.b.storage)
    sums = np.full((32, 32), c, np.uint32)
    expected = matmul(product, a[:1], b[:, :1], sums[:1, :1], engine="reference")
    assert (matmul(product, a, b, sums, engine=engine) == expected).all()


@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_subnormals_count_in_a_proof_with_their_alignment_exponent(engine):
    product = product_of("m16n8k16.f32.f16.f16.f32")
    a, b = np.zeros((32, 16), np.uint16), np.zeros((16, 32), np.uint16)
    a[:, :2] = 1  # 2**-24, aligned at 2**-14
    b[0], b[1] = 0x6C00, 0x1000  # 2**12 and 2**-11: the second product is truncated, although the sum fits in 24 bits
    d = matmul(product, a, b, np.zeros((32, 32), np.uint32), engine=engine)
    assert (d == matmul(product, a[:1], b[:, :1], np.zeros((1, 1), np.uint32), engine="reference")).all()
    assert d[0, 0] == 0x3980_0000


def test_a_zero_from_blas_may_have_either_sign(monkeypatch):
    product = product_of("m16n8k16.f32.f16.f16.f32")
    a, b = np.full((64, 16), 0x8000, np.uint16), np.full((16, 64), 0x3C00, np.uint16)
    given = []

    def minus_zeros(x, y):
        given.append(-np.abs(np.matmul(x, y)))
        return given[-1]

    monkeypatch.setattr(exact, "exact_matmul", minus_zeros)
    found = matmul(product, a, b, np.full((64, 64), MINUS_ZERO), engine="numpy")
    assert len(given) == 1 and (given[0].view(np.uint32) == MINUS_ZERO).all()
    assert (found == 0).all()
