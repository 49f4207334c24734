# SPDX-License-Identifier: MIT
"""Rules of the recipes for training in low precision, one at a time, with bits written by hand."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import OptionError, ShapeError, UnknownNameError
from wmma_emu.models import EmulationOptions, ModelMultiplier
from wmma_emu.models.recipes import RECIPES, ROLES, LayerProduct, RecipeMultiplier, hadamard_matrix, recipe_of
from wmma_emu.quantise import DelayedScale, quantise, scale_to_fp8

F32, BF16 = np.float32, np.dtype(ml_dtypes.bfloat16)

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def layers(recipe, chip="h100", measures=False):
    multiply = ModelMultiplier(EmulationOptions(arch=chip))
    return RecipeMultiplier(recipe_of(recipe), multiply, lambda shape: np.zeros(shape, np.uint8), measures)


def forward(made, x, w, **factors):
    given = LayerProduct(direction="forward", a=x, b=w.T, out_dtype=F32, factors=factors)
    return made(given)


def test_the_scale_of_fp8_maps_the_largest_magnitude_to_the_largest_element():
    q = scale_to_fp8(np.array([[7.0, -3.5]], F32), "e4m3")  # 448 / 7 = 64
    assert q.elements.view(np.uint8).tolist() == [[0x7E, 0xF6]] and q.scales == 1 / 64


def test_a_power_of_two_for_a_scale_never_makes_a_number_too_large():
    q = scale_to_fp8(np.array([[6.0]], F32), "e4m3", powers_of_two=True)  # 448 / 6 = 74.7
    assert q.encode_scales == 64 and q.elements.view(np.uint8).tolist() == [[0x7C]]


def test_a_matrix_of_zeros_has_the_scale_1():
    assert scale_to_fp8(np.zeros((2, 2), F32), "e5m2").scales == 1


def test_scales_of_128_k_and_of_128_by_128_elements_have_the_shapes_that_gemm_takes():
    x = np.ones((130, 256), F32)
    shapes = {}
    for granularity in ("tensor", "row", "vector", "block"):
        shapes[granularity] = [scale_to_fp8(x, "e4m3", granularity=granularity, axis=k).scales.shape for k in (1, 0)]
    assert shapes == {
        "tensor": [(), ()], "row": [(130, 1), (1, 256)], "vector": [(130, 2), (2, 256)], "block": [(2, 2), (2, 2)],
    }  # fmt: skip


def test_delayed_scaling_begins_with_the_scale_1_and_follows_a_step_later():
    state = DelayedScale("e5m2", length=4)
    assert state.scale == 1
    state.record(F32(7))
    assert state.scale == 1
    state.update()
    assert state.scale == 57344 / 7


def test_a_square_has_one_scale_so_that_both_axes_have_the_same_elements():
    x = np.random.RandomState(0).standard_normal((32, 16)).astype(F32)
    a, b = (quantise(x, "nvfp4", axis=axis, rule="transformer_engine", square=True) for axis in (0, 1))
    assert (a.element_bits == b.element_bits).all() and len(set(b.scale_bits[:16, 0].tolist())) == 1


def test_random_bits_decide_in_which_direction_a_number_is_rounded():
    x = np.array(
        [[6.0] + [1.125] * 15], F32
    )  # a quarter of the way from 1 to 1.5; the block's scale is 448 with 6 / 2688
    bits = np.zeros((1, 16), np.uint8)
    bits[0, 2:4] = 191, 192
    q = quantise(x, "nvfp4", rule="transformer_engine", random_bits=bits)
    assert q.element_bits[0, :4].tolist() == [7, 2, 2, 3]


def test_a_rotation_keeps_products():
    h = hadamard_matrix(np.float64)
    assert (h @ h.T == np.eye(16)).all() and set(np.abs(h).ravel()) == {0.25}


def test_a_product_is_multiplied_by_both_scales():
    x, w = np.full((2, 32), 7.0, F32), np.full((3, 32), 3.5, F32)
    assert (forward(layers("te_current"), x, w) == 32 * 24.5).all()


def test_a_layer_uses_the_magnitudes_of_the_step_before():
    made, x = layers("te_delayed", measures=True), np.full((2, 32), 1792.0, F32)
    results = []
    for _ in range(2):
        factors = made.factors_of("layer", {"input": x, "weight": x})
        results.append(forward(made, x, x, **factors)[0, 0])
    assert results == [448.0 * 448 * 32, 1792.0 * 1792 * 32]  # the first numbers saturate
    assert [e.a.saturated for e in made.errors] == [1, 0]


def test_a_recomputation_uses_the_scales_of_its_step():
    made, x = layers("te_delayed"), np.full((2, 32), 7.0, F32)
    first, again = (made.factors_of("layer", {"input": x}, renews=renews)["input"] for renews in (True, False))
    assert first.encode == again.encode
    assert made.factors_of("layer", {"input": x})["input"].encode != first.encode


def test_the_errors_of_exact_numbers_are_0():
    made = layers("te_mxfp8", "b200", measures=True)
    forward(made, np.full((32, 32), 3.0, F32), np.ones((32, 32), F32))
    (errors,) = made.errors
    assert (errors.quantisation, errors.accumulation, errors.rounding, errors.a.underflowed) == (0, 0, 0, 0)
    assert errors.a.amax == 3 and "input mxfp8_e4m3" in str(made.errors) and made.errors.to_dicts()[0]["b_amax"] == 1


@pytest.mark.parametrize("name", ["te_delayed", "torchao_block", "te_mxfp8"])
def test_a_layer_of_no_rows_has_no_errors(name):
    made = layers(name, "b200" if "mx" in name else "h100", measures=True)
    x, w = np.ones((0, 32), F32), np.ones((64, 32), F32)
    assert forward(made, x, w, **made.factors_of("layer", {"input": x, "weight": w})).shape == (0, 64)
    assert made.errors[0].total == made.errors[0].a.saturated == 0


def test_a_recipe_needs_a_chip_with_its_instructions_and_blocks_that_are_complete():
    with pytest.raises(OptionError, match="FP8 begins with sm_89"):
        layers("te_current", "a100")
    with pytest.raises(OptionError, match="MXFP8 and NVFP4 begin with sm_100"):
        layers("te_nvfp4", "h100")
    with pytest.raises(ShapeError, match="the output of a linear layer has K = 40"):
        forward(layers("te_mxfp8", "b200"), np.ones((32, 40), F32), np.ones((32, 40), F32))
    with pytest.raises(UnknownNameError, match="did you mean 'te_delayed'"):
        recipe_of("te_delay")
    with pytest.raises(OptionError, match="random_bits was given with rule='rne'"):
        quantise(np.ones(16, F32), "nvfp4", random_bits=np.zeros(16, np.uint8))


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_names_its_source_and_casts_the_operands_of_three_products(name):
    recipe = RECIPES[name]
    assert recipe.source and str(recipe) == name
    for direction in ROLES:
        product = recipe.product(direction)
        assert product is None or product.a.scale_format == product.b.scale_format
    assert recipe.forward is not None


def test_scales_of_up_to_128_k_are_scales_of_128_k_in_a_recipe_by_blocks():
    x, w = (np.random.RandomState(i).standard_normal((n, 96)).astype(F32) for i, n in enumerate((5, 7)))
    a, b = (scale_to_fp8(z, "e4m3", granularity="vector", powers_of_two=True) for z in (x, w))
    d = we.gemm(
        a.elements, b.elements.T, scale_a=a.scales, scale_b=b.scales.T, instr="wgmma.m64n8k32.f32.e4m3.e4m3",
        arch="h100", scale_order="cublas_blocks",
    )  # fmt: skip
    assert d.shape == (5, 7) and d.dtype == F32
