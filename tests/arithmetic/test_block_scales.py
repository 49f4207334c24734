# SPDX-License-Identifier: MIT
"""Products with block scales: all engines return the same bits, and every rule about scales is visible in some bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arithmetic.helpers import Scaled, engines_of, f32, multiply, scaled_operands, scaled_products
from wmma_emu.arithmetic import (
    ENGINES,
    DotProduct,
    applied,
    dot_product_of,
    matmul,
    model_for,
    reference,
)
from wmma_emu.arithmetic.explanation import explain_dot
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import encode
from wmma_emu.instructions import lookup

PRODUCTS = scaled_products()
DEFAULTS = {name: product for name, product in PRODUCTS.items() if not product.model.name}
DISTINCT = list({(p.model.parameters, p.scale, p.scale_vec): name for name, p in PRODUCTS.items()}.values())
"""One product of each model and kind of scales, for some operands."""

MX8 = "m16n8k32.kind::mxf8f6f4.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0"
MX8_WIDE = "m16n8k32.kind::mxf8f6f4.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0"
MX4 = "m16n8k64.kind::mxf4.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
NV4 = "m16n8k64.kind::mxf4nvf4.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
NAN = 0x7FFF_FFFF

ELEMENT = {"e4m3": 0x38, "e5m2": 0x3C, "e2m1": 0x2}
ONE = {"ue8m0": 0x7F, "ue4m3": 0x38}
"""The patterns of 1."""


def assert_engines_agree(product: DotProduct, operands: Scaled) -> None:
    expected = multiply(product, operands, "reference")
    assert engines_of(product) == ["reference", "numpy", "native"]
    for name in engines_of(product)[1:]:
        found = multiply(product, operands, name)
        different = np.argwhere(found != expected)
        assert not len(different), (
            name,
            [(hex(found[tuple(i)]), hex(expected[tuple(i)])) for i in different[:4]],
        )


def ones(product: DotProduct, rows: int = 1, columns: int = 1) -> Scaled:
    """Return elements and scales of 1, and c of 0."""
    assert product.scale is not None
    a = np.full((rows, product.k), ELEMENT[product.a.name], np.uint8)
    b = np.full((product.k, columns), ELEMENT[product.b.name], np.uint8)
    one = ONE[product.scale.name]
    scales = np.full((rows, product.scale_vec), one, np.uint8), np.full((product.scale_vec, columns), one, np.uint8)
    return a, b, np.zeros((rows, columns), np.uint32), *scales


def every_engine(product: DotProduct, operands: Scaled) -> int:
    """Return the first element of D, on which all engines must agree."""
    assert_engines_agree(product, operands)
    return int(multiply(product, operands)[0, 0])


@pytest.mark.sweep(keep=1 / 8)
@pytest.mark.parametrize("name", PRODUCTS)
def test_engines_agree_on_a_fixed_tile(name):
    assert_engines_agree(PRODUCTS[name], scaled_operands(PRODUCTS[name], np.random.default_rng(20261122)))


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.property
@pytest.mark.parametrize("name", DISTINCT)
@settings(max_examples=6, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_engines_agree_on_operands_from_hypothesis(name, data):
    product = PRODUCTS[name]
    a, b, c, scale_a, scale_b = scaled_operands(
        product, np.random.default_rng(data.draw(st.integers(0, 1 << 32))), 2, 2
    )
    for scales in (scale_a, scale_b):
        scales[0, 0] = data.draw(st.integers(0, 255))
    for elements in (a, b):
        elements[data.draw(st.integers(0, elements.shape[0] - 1)), :] = data.draw(st.integers(0, product.a.mask))
    c[0, 0] = data.draw(st.integers(0, 0xFFFF_FFFF))
    b &= product.b.mask
    assert_engines_agree(product, (a, b, c, scale_a, scale_b))


@pytest.mark.parametrize("name", list(PRODUCTS)[::3])
def test_engines_agree_over_several_instructions(name):
    product = PRODUCTS[name]
    operands = scaled_operands(product, np.random.default_rng(3), 3, 3, instructions=3)
    assert operands[3].shape == (3, 3 * product.scale_vec)
    assert_engines_agree(product, operands)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("name", [MX8, MX4, NV4])
@pytest.mark.parametrize("engine", ["numpy", "native"])
def test_batches_broadcast_and_tiles_do_not_affect_bits(name, engine, monkeypatch):
    from wmma_emu.arithmetic import group_sums, numpy_engine

    product = PRODUCTS[name]
    drawn = [scaled_operands(product, np.random.default_rng(seed), 4, 5, instructions=2) for seed in range(40)]
    a, b, c, scale_a, scale_b = (np.stack(x) for x in zip(*drawn, strict=True))
    expected = np.stack([multiply(product, x, engine) for x in drawn])
    np.testing.assert_array_equal(multiply(product, (a, b, c, scale_a, scale_b), engine), expected)
    # One B with its scales for all matrices.
    shared = np.stack([multiply(product, (*x[:1], b[0], x[2], x[3], scale_b[0]), engine) for x in drawn])
    np.testing.assert_array_equal(multiply(product, (a, b[0], c, scale_a, scale_b[0]), engine), shared)
    # One A with different scales.
    several = np.stack([multiply(product, (a[0], x[1], x[2], x[3], x[4]), engine) for x in drawn])
    np.testing.assert_array_equal(multiply(product, (a[:1], b, c, scale_a, scale_b), engine), several)
    monkeypatch.setattr(group_sums, "_TILE_ELEMENTS", 8)
    monkeypatch.setattr(numpy_engine, "_TILE_ELEMENTS", 8)
    np.testing.assert_array_equal(multiply(product, (a, b, c, scale_a, scale_b), engine), expected)


def test_large_products_are_split_into_blocks_with_their_scales():
    for name in (MX8, NV4):
        product = PRODUCTS[name]
        a, b, c, scale_a, scale_b = scaled_operands(product, np.random.default_rng(8), 300, 260, instructions=2)
        threads = [matmul(product, a, b, c, "numpy", threads=n, scale_a=scale_a, scale_b=scale_b) for n in (1, 3)]
        np.testing.assert_array_equal(*threads)
        some = multiply(product, (a[::37], b[:, ::41], c[::37, ::41], scale_a[::37], scale_b[:, ::41]), "reference")
        np.testing.assert_array_equal(threads[0][::37, ::41], some)


def test_a_product_of_ones_is_the_number_of_products():
    for product in (PRODUCTS[MX8], PRODUCTS[MX4], PRODUCTS[NV4]):
        assert every_engine(product, ones(product)) == f32(product.k)


@pytest.mark.parametrize(
    ("name", "pattern"), [(MX8, 0xFF), (MX4, 0xFF), (NV4, 0x7F), (NV4, 0xFF)], ids=lambda x: str(x)[:24]
)
@pytest.mark.parametrize("side", [3, 4])
def test_a_nan_scale_gives_nan_even_for_zero_operands(name, pattern, side):
    product = PRODUCTS[name]
    operands = ones(product)
    operands[side][0, 0] = pattern
    assert every_engine(product, operands) == NAN
    operands[0][...] = operands[1][...] = 0
    assert every_engine(product, operands) == NAN


def test_a_nan_scale_times_a_zero_scale_is_nan():
    product = PRODUCTS[NV4]
    for first, second in ((3, 4), (4, 3)):
        operands = ones(product)
        operands[first][0, 0], operands[second][0, 0] = 0x7F, 0x00
        assert every_engine(product, operands) == NAN


@pytest.mark.parametrize("model", ["", "|F=34", "|zero groups aligned"])
def test_a_negative_sum_that_rounds_to_zero_is_plus_zero(model):
    """-2**-155 is a multiple of the last place, but not a float32; sums of only -0, and -0 as c, are also +0."""
    product = PRODUCTS[MX4 + model]
    operands = ones(product)
    operands[0][...] = 0
    operands[0][0, 5] = 0xA
    operands[3][...], operands[4][...] = 0x7F - 100, 0x7F - 55
    for element, c in ((0xA, 0), (0xA, 0x8000_0000), (0x8, 0x8000_0000), (0x8, 0)):
        operands[0][0, 5], operands[2][...] = element, c
        assert every_engine(product, operands) == 0
    operands[2][...] = 0x8000_0001
    operands[0][0, 5] = 0xA
    assert every_engine(product, operands) == 0x8000_0001


@pytest.mark.parametrize("name", [MX8, MX4, NV4])
@pytest.mark.parametrize(
    ("c", "expected"), [(0x7F80_0000, 0x7F80_0000), (0xFF80_0000, 0xFF80_0000), (0x7F80_0001, NAN)]
)
def test_an_infinite_c_is_kept_and_a_nan_becomes_canonical(name, c, expected):
    product = PRODUCTS[name]
    operands = ones(product)
    operands[2][...] = c
    assert every_engine(product, operands) == expected


def test_infinite_elements_with_scales_zeros_and_c():
    product = PRODUCTS[MX8_WIDE]
    operands = ones(product)
    operands[0][0, 3] = 0x7C
    operands[3][...] = 0  # 2**-127
    assert every_engine(product, operands) == 0x7F80_0000
    operands[2][...] = 0xFF80_0000
    assert every_engine(product, operands) == NAN
    operands[2][...] = 0
    operands[1][3] = 0
    assert every_engine(product, operands) == NAN


def test_the_smallest_and_the_largest_exponents_of_ue8m0_count():
    for product in (PRODUCTS[MX8], PRODUCTS[MX4]):
        operands = ones(product)
        operands[3][...] = 0
        assert every_engine(product, operands) == f32(product.k * 2.0**-127)
        operands[4][...] = 0xFE
        assert every_engine(product, operands) == f32(product.k)
        operands[3][...] = 0xFE
        assert every_engine(product, operands) == 0x7F80_0000
        operands[0][:, ::2] |= 1 << (product.a.bits - 1)  # all products cancel
        assert every_engine(product, operands) == 0


def test_the_top_bit_of_a_ue4m3_scale_is_not_read():
    product = PRODUCTS[NV4]
    operands = scaled_operands(product, np.random.default_rng(5), 8, 8)
    expected = multiply(product, operands)
    for scales in operands[3:]:
        scales ^= 0x80
    assert (expected != 0).any()
    assert_engines_agree(product, operands)
    np.testing.assert_array_equal(multiply(product, operands), expected)


def test_subnormal_scales_of_ue4m3_are_not_normalised():
    product = PRODUCTS[NV4]
    operands = ones(product)
    operands[3][...] = 0x01  # 2**-9, aligned as 2**-6
    assert every_engine(product, operands) == f32(64 * 2.0**-9)
    # 2**-42 is the last bit kept below 2**(-6 + 0), and is truncated below 2**-6 times 1.125.
    operands[2][...] = f32(2.0**-41)
    operands[0][...] = 0
    operands[0][0, 0] = 2
    assert every_engine(product, operands) == f32(2.0**-9)
    assert every_engine(product, (*operands[:2], np.array([[f32(-(2.0**-41))]], np.uint32), *operands[3:])) == (
        f32(2.0**-9) - 1
    )
    assert every_engine(product, (*operands[:2], np.array([[f32(-(2.0**-42))]], np.uint32), *operands[3:])) == (
        f32(2.0**-9)
    )


def test_a_zero_scale_removes_its_group():
    product = PRODUCTS[NV4]
    operands = ones(product)
    operands[3][0, 1:] = 0
    operands[2][...] = f32(-16.0)
    assert every_engine(product, operands) == 0


def test_groups_are_aligned_by_their_scales_and_not_by_their_sums():
    """A group with larger scales truncates a group with smaller ones, even if its sum is small, unless it is zero."""
    product = PRODUCTS[MX4]
    for first, cut in ((0.5, True), (0.0, False)):
        operands = ones(product)
        operands[0][...] = 0
        operands[0][0, 0], operands[0][0, 32] = (int(encode(np.array(x), product.a)) for x in (first, 0.5))
        operands[3][0, 0] = 0x7F + 36  # 2**36: its last place is 2
        found = every_engine(product, operands)
        assert found == f32(first * 2.0**36 + (0 if cut else 0.5))
        operands[2][...] = f32(-first * 2.0**36)
        assert every_engine(product, operands) == f32(0 if cut else 0.5)


def test_zero_groups_count_in_models_that_align_them():
    product, other = PRODUCTS[MX4], PRODUCTS[MX4 + "|zero groups aligned"]
    operands = ones(product)
    operands[0][0, :32] = 0
    operands[3][0, 0] = 0x7F + 60  # 2**60 times zero: the last place is 2**25
    assert every_engine(product, operands) == f32(32.0)
    assert every_engine(other, operands) == 0
    # A zero scale has no exponent.
    product = PRODUCTS[NV4 + "|zero groups aligned"]
    operands = ones(product)
    operands[3][0, 0] = 0
    assert every_engine(product, operands) == f32(48.0)


@pytest.mark.parametrize(("model", "bits"), [("F=34", 34), ("", 35), ("F=36", 36), ("F=37", 37)])
def test_each_number_of_fraction_bits_is_visible(model, bits):
    product = PRODUCTS[MX4 + (f"|{model}" if model else "")]
    assert product.model.fraction_bits == bits
    for below, kept in ((bits, True), (bits + 1, False)):
        operands = ones(product)
        operands[0][...] = 0
        operands[0][0, 0], operands[0][0, 32] = 2, 2
        operands[3][0, 1] = 0x7F - below
        operands[2][...] = f32(-1.0)
        assert every_engine(product, operands) == (f32(2.0**-below) if kept else 0)


def test_a_group_of_32_is_truncated_once_and_two_groups_of_16_twice():
    """Two halves of a last place, with one scale, are kept together."""
    for model, expected in (("", 0.0), ("|groups of 32", 2.0**-35)):
        product = PRODUCTS[MX4 + model]
        operands = ones(product)
        operands[0][...] = 0
        operands[0][0, 0] = operands[0][0, 16] = 2
        operands[0][0, 32] = 2
        operands[3][0, 0] = 0x7F - 36
        operands[2][...] = f32(-1.0)
        assert every_engine(product, operands) == f32(expected)


def test_a_group_of_16_is_truncated_once():
    """Its two halves add up to a unit in the last place; each of them is less."""
    for first, second, expected in ((0, 8, 2.0**-35), (0, 16, 0.0)):
        product = PRODUCTS[MX4]
        operands = ones(product)
        operands[0][...] = 0
        operands[0][0, first] = operands[0][0, second] = 2
        operands[3][0, 0] = 0x7F - 36
        operands[0][0, 32] = 2
        operands[2][...] = f32(-1.0)
        assert every_engine(product, operands) == f32(expected)


def test_a_zero_scale_has_no_exponent_even_if_zero_groups_count():
    for model in ("", "|zero groups aligned"):
        product = PRODUCTS[NV4 + model]
        operands = ones(product)
        operands[3][...] = 0
        operands[4][...] = 0x77
        operands[2][...] = f32(2.0**-40)
        assert every_engine(product, operands) == f32(2.0**-40)


def test_subnormal_results_are_truncated():
    product = PRODUCTS[MX4]
    operands = ones(product)
    operands[0][...] = 0
    operands[0][0, 0], operands[0][0, 32] = 2, 3  # 2**-130 and 1.5 * 2**-149
    operands[3][0], operands[4][:, 0] = (127 - 100, 127 - 100), (127 - 30, 127 - 49)
    assert every_engine(product, operands) == (1 << 19) + 1
    operands[0][0, :64] ^= 8
    assert every_engine(product, operands) == (1 << 31) + (1 << 19) + 1


def test_the_lowest_alignment_is_visible_if_zeros_have_an_exponent():
    product, other = PRODUCTS[MX8], PRODUCTS[MX8 + "|min_exponent=-126"]
    operands = ones(product)
    operands[3][...] = 0  # 2**-127
    operands[4][...] = 0x7F - 30  # each product is 2**-157; the sum of 32 is 2**-152, which is truncated
    operands[0][...] += 0x38  # times 2**7
    assert every_engine(product, operands) == f32(2.0**-145)
    operands[0][...] = ELEMENT["e4m3"] + 0x28  # times 2**5: 2**-152 each, below 2**(-126 - 25)
    assert every_engine(product, operands) == f32(2.0**-147)
    assert every_engine(other, operands) == 0


@pytest.mark.parametrize("arch", ["sm_120", "sm_121"])
@pytest.mark.parametrize("pair", ["e4m3.e4m3", "e5m2.e2m1", "e3m2.e4m3", "e2m3.e3m2"])
def test_scales_of_one_equal_the_product_without_scales(arch, pair):
    scaled = dot_product_of(lookup(f"m16n8k32.kind::mxf8f6f4.block_scale.f32.{pair}.f32.ue8m0"), arch)
    plain = dot_product_of(lookup(f"m16n8k32.kind::f8f6f4.f32.{pair}.f32"), arch)
    a, b, c, scale_a, scale_b = scaled_operands(scaled, np.random.default_rng(17), 8, 8)
    scale_a[...] = scale_b[...] = 0x7F
    expected = matmul(plain, a, b, c)
    for engine in engines_of(scaled):
        np.testing.assert_array_equal(multiply(scaled, (a, b, c, scale_a, scale_b), engine), expected)


@pytest.mark.parametrize("name", [name for name in DEFAULTS if "e5m2" not in name])
def test_doubling_the_scale_of_a_block_equals_doubling_its_elements(name):
    """Groups are compared only without truncation, because they are aligned by their scales."""
    product = DEFAULTS[name]
    assert product.scale is not None
    rng = np.random.default_rng(23)
    # Elements are normal before and after: doubling adds one to the exponent.
    low, high = 1 << product.a.fraction_bits, product.a.max_finite - (1 << product.a.fraction_bits)
    a = rng.integers(low, high, (8, product.k), np.uint8, endpoint=True)
    a |= (rng.random(a.shape) < 0.5).astype(np.uint8) << np.uint8(product.a.bits - 1)
    b = scaled_operands(product, rng, 8, 8)[1]
    c = encode(rng.integers(-99, 100, (8, 8)).astype(np.float64), product.c)
    near = range(ONE[product.scale.name] - 3, ONE[product.scale.name] + 4)
    scale_a = rng.choice(np.array(near, np.uint8), (8, product.scale_vec))
    scale_b = rng.choice(np.array(near, np.uint8), (product.scale_vec, 8))
    doubled, more = a.copy(), scale_a.copy()
    doubled[:, : product.scale_block] += 1 << product.a.fraction_bits
    more[:, 0] += 1 << product.scale.fraction_bits
    expected = multiply(product, (doubled, b, c, scale_a, scale_b), "reference")
    for engine in engines_of(product):
        np.testing.assert_array_equal(multiply(product, (a, b, c, more, scale_b), engine), expected)


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_order_of_k_within_a_group_does_not_affect_bits(name):
    product = PRODUCTS[name]
    rng = np.random.default_rng(31)
    a, b, c, scale_a, scale_b = scaled_operands(product, rng, 6, 6)
    expected = multiply(product, (a, b, c, scale_a, scale_b))
    size = product.model.group_terms or product.scale_block
    order = np.concatenate([start + rng.permutation(size) for start in range(0, product.k, size)])
    np.testing.assert_array_equal(multiply(product, (a[:, order], b[order], c, scale_a, scale_b)), expected)
    # The order of groups, which are terms of one sum, does not either.
    blocks = rng.permutation(product.scale_vec)
    order = (blocks[:, None] * product.scale_block + np.arange(product.scale_block)).ravel()
    moved = a[:, order], b[order], c, scale_a[:, blocks], scale_b[blocks]
    np.testing.assert_array_equal(multiply(product, moved), expected)


def test_missing_and_misshapen_scales_are_rejected_by_name():
    product = PRODUCTS[NV4]
    a, b, c, scale_a, scale_b = ones(product, 3, 2)
    for scales, words in (
        ({}, r"block scales, but scale_a is missing; pass ue4m3 patterns of shape \(\.\.\., 3, 4\)"),
        ({"scale_a": scale_a}, "but scale_b is missing"),
        ({"scale_a": scale_a[:, :3], "scale_b": scale_b}, r"scale_a has shape \(3, 3\); expected \(\.\.\., 3, 4\)"),
        ({"scale_a": scale_a, "scale_b": scale_b.T}, r"scale_b has shape \(2, 4\)"),
        ({"scale_a": scale_a.astype(float), "scale_b": scale_b}, "scale_a is an array of float64; pass ue4m3 patterns"),
        ({"scale_a": 3, "scale_b": scale_b}, "scale_a is int"),
        ({"scale_a": scale_a[:1], "scale_b": scale_b}, r"scale_a has shape \(1, 4\); expected \(\.\.\., 3, 4\)"),
        ({"scale_a": scale_a, "scale_b": scale_b.view(np.int8)}, "scale_b is an array of int8; pass ue4m3 patterns"),
    ):
        with pytest.raises(FragmentMismatchError, match=words):
            matmul(product, a, b, c, **scales)
    plain = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_120")
    z = np.zeros((1, 16), np.uint16)
    with pytest.raises(FragmentMismatchError, match="scale_b was given, but the instruction has no block scales"):
        matmul(plain, z, z.T, np.zeros((1, 1), np.uint32), scale_b=np.zeros((1, 1), np.uint8))


def test_one_element_requires_all_scales_of_its_instruction():
    product = PRODUCTS[NV4]
    with pytest.raises(FragmentMismatchError, match="0 scales of the row and 0 of the column; expected 4 of each"):
        reference.dot(product, [0] * 64, [0] * 64, 0)
    with pytest.raises(FragmentMismatchError, match="3 block scales for 64 products; expected 4"):
        explain_dot(product, [0] * 64, [0] * 64, 0, instruction="", arch="", scale_a=[0] * 3, scale_b=[0] * 4)
    plain = dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_120")
    with pytest.raises(FragmentMismatchError, match="1 block scales for 16 products; expected 0"):
        explain_dot(plain, [0] * 16, [0] * 16, 0, instruction="", arch="", scale_a=[0])


def test_the_error_of_the_gpu_engine_names_engines_with_block_scales():
    assert not any(ENGINES["cupy"].has(product) for product in PRODUCTS.values())


def test_a_lower_floor_of_groups_is_visible_in_a_difference_of_tiny_groups():
    for model, expected in (("", 1), ("|min_exponent=-143", 0)):
        product = PRODUCTS[MX4 + model]
        operands = ones(product)
        operands[0][...] = 0
        operands[0][0, 0], operands[0][0, 32] = 2, 0xA  # 2**-149 - 2**-170
        operands[3][0], operands[4][:, 0] = (0, 0), (127 - 22, 127 - 43)
        assert every_engine(product, operands) == expected


def test_models_with_and_without_scales_are_not_interchangeable():
    scaled, plain = (
        lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
        lookup("m16n8k16.f32.f16.f16.f32"),
    )
    with pytest.raises(UnsupportedInstructionError, match="scaling='groups', but the instruction has no block scales"):
        applied(model_for(scaled, "sm_120"), plain)
    with pytest.raises(UnsupportedInstructionError, match="scaling='', but the instruction has block scales"):
        applied(model_for(lookup("m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32"), "sm_120"), scaled)
