# SPDX-License-Identifier: MIT
"""NVFP4's rules, each computed independently: in fractions, and in NumPy's float32 with casts of ml_dtypes."""

from fractions import Fraction
from itertools import combinations

import ml_dtypes
import numpy as np
import pytest

from tests.formats.second_path import ROWS, round_fraction, value
from tests.quantise.arrays import NVFP4_RULES, spread
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.quantise import dequantise, quantise

F = np.float32
LARGEST = np.finfo(np.float32).max

INPUTS = {
    "like weights": np.random.RandomState(1).standard_normal((40, 64)).astype(F),
    "far apart": spread(2, (60, 32), low=-6, high=8),
    "wide": spread(3, (60, 32), low=-30, high=2),
    "bfloat16": np.random.RandomState(4).standard_normal((40, 64)).astype(ml_dtypes.bfloat16),
    "float16": spread(5, (20, 64), low=-6, high=9).astype(np.float16),
    "large": spread(6, (20, 32), low=100, high=126),
    "small": spread(7, (20, 32), low=-120, high=-100),
    "subnormal": spread(8, (20, 32), low=-138, high=-126),
    "tiny": np.ldexp(F(1), -149) * np.concatenate([np.arange(48), np.zeros(16)]).astype(F).reshape(2, 32),
    "integers": np.random.RandomState(0).randint(-896, 897, (256, 256)).astype(F),
    "grid": np.tile(np.array([6, -4, 3, 2, 1.5, 1, 0.5, 0, 5, 3.5, 2.5, 1.75, 1.25, 0.75, 0.25, -0.0], F), (3, 2)),
    "zeros": np.zeros((2, 32), F),
    "zero blocks": np.repeat(np.array([[0, 1e-30, 1, 300]], F), 16, axis=1),
}


def to_e4m3(x):
    return np.clip(x, None, F(448)).astype(ml_dtypes.float8_e4m3fn)


def to_e2m1(x):
    return np.clip(x, F(-6), F(6)).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)


def torchao(x, divide=False, over=np.divide):
    """The operations of torchao's nvfp4_quantize, one NumPy operation each; ``over`` divides by a Python number."""
    x = x.astype(F).reshape(len(x), -1, 16)
    amax = np.abs(x).max(axis=-1)
    tensor = over(amax.max(), F(448 * 6)) if amax.any() else F(1)
    sixth = over(amax, F(6))
    wanted = np.where(sixth == 0, F(0), sixth / tensor)
    scales = to_e4m3(np.clip(wanted, F(2**-6), F(448)))
    if divide:
        scaled = x / (tensor * scales.astype(F))[..., None]
    else:
        scaled = x * ((F(1) / tensor) / scales.astype(F))[..., None]
    return tensor, scales.view(np.uint8), to_e2m1(np.where(x == 0, x, scaled))


def division(x):
    return torchao(x, divide=True)


def torchao_cuda(x):
    return torchao(x, over=lambda a, b: a * (F(1) / b))


def transformer_engine(x):
    """The operations of Transformer Engine's reference quantiser, one NumPy operation each."""
    x = x.astype(F).reshape(len(x), -1, 16)
    amax = np.abs(x).max(axis=-1)
    encode = min(F(448 * 6) / amax.max(), LARGEST) if amax.any() else F(1)
    decode = F(1) / encode
    scales = to_e4m3(np.minimum(amax * (encode * (F(1) / F(6))), F(448)))
    reciprocal = np.minimum(F(1) / (scales.astype(F) * decode), LARGEST)
    return decode, scales.view(np.uint8), to_e2m1(x * reciprocal[..., None])


@pytest.mark.oracle
@pytest.mark.parametrize("recipe", [torchao, torchao_cuda, division, transformer_engine])
@pytest.mark.parametrize("kind", INPUTS)
def test_a_recipe_is_its_float32_operations_one_by_one(kind, recipe):
    x = INPUTS[kind]
    with np.errstate(all="ignore"):
        tensor, scales, elements = recipe(x)
    ours = quantise(x, "nvfp4", rule=recipe.__name__)
    assert ours.tensor_scale == tensor
    assert (ours.scale_bits == scales).all()
    assert (ours.element_bits == elements.reshape(x.shape)).all()


def in_fractions(x):
    """Return tensor scale, block scales and elements, with every quotient exact and rounded once."""
    values = [[Fraction(float(v)) for v in row] for row in x]
    amax = max(abs(v) for row in values for v in row)
    tensor = Fraction(1)
    if amax:
        tensor = value(max(round_fraction(0, amax / 2688, ROWS["f32"]), 1), ROWS["f32"])[1]
    scales, elements = [], []
    for row, signs in zip(values, np.signbit(x.astype(F)).tolist(), strict=True):
        for start in range(0, len(row), 16):
            block = row[start : start + 16]
            scales.append(round_fraction(0, max(map(abs, block)) / (6 * tensor), ROWS["e4m3"], overflow="saturate"))
            total = value(scales[-1], ROWS["e4m3"])[1] * tensor
            elements += [
                round_fraction(s, abs(v) / total if total else Fraction(0), ROWS["e2m1"], overflow="saturate")
                for v, s in zip(block, signs[start : start + 16], strict=True)
            ]
    return tensor, scales, elements


@pytest.mark.parametrize("kind", INPUTS)
def test_rne_is_the_formula_in_fractions(kind):
    x = INPUTS[kind][:10]
    tensor, scales, elements = in_fractions(x)
    ours = quantise(x, "nvfp4")
    assert Fraction(float(ours.tensor_scale)) == tensor
    assert ours.scale_bits.ravel().tolist() == scales
    assert ours.element_bits.ravel().tolist() == elements


def test_rne_accepts_float64_and_rounds_only_once():
    below, above = np.nextafter(0.25, 0), np.nextafter(0.25, 1)  # both round to 0.25 in float32
    ours = quantise(np.array([[6.0] + [0.25, below, above] * 5]), "nvfp4", tensor_scale=1.0)
    assert ours.scale_bits.tolist() == [[0x38]]
    assert ours.element_bits[0, 1:4].tolist() == [0, 0, 1]
    midpoint = 6 * (1 + 1 / 16)  # between the scales 1 and 9/8
    for amax, scale in ((midpoint, 0x38), (np.nextafter(midpoint, 9), 0x39)):
        assert quantise(np.full((1, 16), amax), "nvfp4", tensor_scale=1.0).scale_bits.tolist() == [[scale]]


@pytest.mark.parametrize("rule", NVFP4_RULES)
def test_representable_scales_and_elements_are_unchanged(rule):
    x = INPUTS["grid"]
    ours = quantise(x[:, :16][:, :8], "nvfp4", rule=rule, pad=True, tensor_scale=1.0)
    assert ours.scale_bits.ravel().tolist() == [0x38] * 3
    assert ours.element_bits[0].tolist() == [7, 14, 5, 4, 3, 2, 1, 0] + [0] * 8


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", NVFP4_RULES)
def test_every_block_scale_is_the_cast_of_a_sixth_of_the_largest_magnitude(rule):
    codes = np.arange(0x7F, dtype=np.uint8)
    values = codes.view(ml_dtypes.float8_e4m3fn).astype(F)
    blocks = np.zeros((len(values), 16), F)
    blocks[:, 3] = values * 6
    ours = quantise(blocks, "nvfp4", rule=rule, tensor_scale=1.0).scale_bits[:, 0]
    assert (ours == (np.maximum(codes, 0x08) if rule in NVFP4_RULES[1:4] else codes)).all()


@pytest.mark.exhaustive
def test_every_element_with_every_scale_is_their_product():
    scales = np.arange(0x80, dtype=np.uint8)[:, None]
    values = dequantise(np.tile(np.arange(16, dtype=np.uint8), (0x80, 1)), scales, "nvfp4", tensor_scale=F(0.1))
    e2m1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    wanted = e2m1 * scales.view(ml_dtypes.float8_e4m3fn).astype(np.float64) * np.float64(F(0.1))
    assert (values[:0x7F] == wanted[:0x7F]).all()
    assert np.isnan(values[0x7F]).all()


def test_no_two_recipes_are_equal():
    x = np.random.RandomState(0).randint(-896, 897, (256, 256)).astype(F)
    bits = [quantise(x, "nvfp4", rule=rule).element_bits for rule in NVFP4_RULES]
    assert all((one != other).any() for one, other in combinations(bits, 2))


@pytest.mark.parametrize("rule", NVFP4_RULES)
def test_a_given_amax_replaces_the_amax_of_the_tensor(rule):
    x = INPUTS["like weights"]
    alone = quantise(x[:4], "nvfp4", rule=rule, tensor_amax=np.abs(x).max())
    assert (alone.element_bits == quantise(x, "nvfp4", rule=rule).element_bits[:4]).all()
    assert quantise(x, "nvfp4", rule=rule, tensor_amax=2688).tensor_scale == 1


@pytest.mark.parametrize("rule", NVFP4_RULES)
def test_non_finite_numbers_affect_only_their_block(rule):
    x = np.ones((3, 32), F)
    x[0, 5], x[1, 20] = np.nan, -np.inf
    ours = quantise(x, "nvfp4", rule=rule)
    clean = quantise(np.ones((3, 32), F), "nvfp4", rule=rule)
    assert ours.tensor_scale == clean.tensor_scale
    assert (ours.scale_bits == 0x7F).tolist() == [[True, False], [False, True], [False, False]]
    assert ours.element_bits[0, :16].tolist() == [7] * 16
    assert np.isnan(ours.dequantise()[1]).tolist() == [False] * 16 + [True] * 16
    assert (ours.element_bits[2] == clean.element_bits[2]).all()


@pytest.mark.parametrize("rule", NVFP4_RULES)
def test_elements_above_the_range_of_a_given_scale_saturate(rule):
    ours = quantise(np.full((1, 16), -1e6, F), "nvfp4", rule=rule, tensor_scale=1.0)
    assert (ours.scale_bits.tolist(), set(ours.element_bits.ravel().tolist())) == ([[0x7E]], {0xF})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tensor_scale": 0.1}, FragmentMismatchError, "is not a float32 number"),
        ({"tensor_scale": 0}, FragmentMismatchError, "positive, finite"),
        ({"tensor_scale": np.inf}, FragmentMismatchError, "positive, finite"),
        ({"tensor_scale": "1,0"}, FragmentMismatchError, "not a number"),
        ({"tensor_scale": np.ones(2, F)}, FragmentMismatchError, "positive, finite|not a number"),
        ({"tensor_amax": -1.0}, FragmentMismatchError, "not a finite magnitude"),
        ({"tensor_amax": 0.1, "rule": "torchao"}, FragmentMismatchError, "is not a float32 number"),
        ({"tensor_amax": 1.0, "tensor_scale": 1.0}, UnsupportedInstructionError, "pass one of them"),
        ({"rule": "floor"}, UnsupportedInstructionError, "its rules are rne, torchao, torchao_cuda, division, trans"),
    ],
    ids=lambda x: str(x)[:40] if isinstance(x, dict) else "",
)
def test_invalid_options_are_rejected(options, error, words):
    with pytest.raises(error, match=words):
        quantise(np.ones((1, 16), F), "nvfp4", **options)


@pytest.mark.parametrize("rule", NVFP4_RULES[1:])
def test_float64_is_not_silently_rounded_to_float32(rule):
    with pytest.raises(UnsupportedInstructionError, match="computes in float32, and x is float64"):
        quantise(np.ones((1, 16)), "nvfp4", rule=rule)


NO_NUMBERS = {
    "True": True, "text": "1", "bytes": b"1", "a date": np.datetime64("2020"), "complex": 1j, "list": [1.0],
    "one axis": np.ones(1, F), "beyond float64": 10**400, "more than 53 bits": 2**60 + 1,
}  # fmt: skip


@pytest.mark.parametrize("name", NO_NUMBERS)
@pytest.mark.parametrize("option", ["tensor_scale", "tensor_amax"])
def test_a_second_level_scale_must_be_one_exactly_represented_number(option, name):
    with pytest.raises(FragmentMismatchError, match=f"{option}=.* is not a (number|float64 number); pass"):
        quantise(np.ones((1, 16), F), "nvfp4", **{option: NO_NUMBERS[name]})


@pytest.mark.parametrize("number", [2, np.int64(2), 2.0, F(2), np.array(2, ">f4"), ml_dtypes.bfloat16(2)], ids=repr)
def test_a_second_level_scale_may_be_any_kind_of_number(number):
    assert quantise(np.ones((1, 16), F), "nvfp4", tensor_scale=number).tensor_scale == 2
    assert quantise(np.ones((1, 16), F), "nvfp4", tensor_amax=number).tensor_scale == F(2) / F(2688)
