# SPDX-License-Identifier: MIT
"""Linear layers in low precision: the products, their operands, states, places and errors."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tests.torch.shared import numbers, same  # noqa: E402
from wmma_emu.models.recipes import ROLES, hadamard_matrix  # noqa: E402
from wmma_emu.quantise import quantise, scale_to_fp8  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

X, W, DY = numbers(32, 64), numbers(96, 64, seed=1), numbers(32, 96, seed=2)
RECIPES = we.torch.RECIPES


def chip_of(recipe):
    return "b200" if recipe.forward.a.scale_format else "h100"


def step(recipe, x=X, weight=W, bias=None, dy=DY, chip=None, **options):
    """Return y, dx, dW and the emulation of one step of a layer."""
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None).to(weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    x = x.clone().requires_grad_()
    with we.torch.emulate(chip or chip_of(RECIPES[recipe]), recipe=recipe, **options) as emulation:
        y = layer(x)
        y.backward(dy.to(y.dtype))
    return y.detach(), x.grad, layer.weight.grad, emulation


@pytest.mark.parametrize("name", RECIPES)
def test_a_step_has_three_products_in_the_formats_of_the_recipe(name):
    recipe = RECIPES[name]
    y, dx, dw, emulation = step(name, errors=True)
    assert [x.direction for x in emulation.errors] == list(ROLES)
    for errors, result in zip(emulation.errors, (y, dx, dw), strict=True):
        product = recipe.product(errors.direction)
        assert errors.shape[:2] == tuple(result.shape) and 0 < errors.total < 0.3
        if product is None:
            assert errors.a is None and errors.quantisation == 0
        else:
            assert (errors.a.format, errors.b.format) == (product.a.format, product.b.format)
            assert (errors.a.role, errors.b.role) == ROLES[errors.direction]
            assert errors.accumulation < 1e-3 < errors.quantisation
    operations = [x.operation for x in emulation.log if x.operation != "linear:rotation"]
    assert operations == [f"linear:{x}" for x in ROLES]
    assert not emulation.log[0].is_backward and all(x.module == "Linear" for x in emulation.log)


def test_current_scaling_is_gemm_of_scaled_operands():
    results = step("te_current")[:3]
    x, w, dy = (scale_to_fp8(t.float().numpy(), f) for t, f in ((X, "e4m3"), (W, "e4m3"), (DY, "e5m2")))
    precise = we.KOrder(tile=128, promote_every=4)
    for ours, (a, b), elements, kinds, order in zip(
        results, ((x, w), (dy, w), (dy, x)),
        ((x.elements, w.elements.T), (dy.elements, w.elements), (dy.elements.T, x.elements)),
        ("e4m3.e4m3", "e5m2.e4m3", "e5m2.e4m3"), (None, precise, precise), strict=True,
    ):  # fmt: skip
        d = we.gemm(
            *elements, scale_a=a.scales, scale_b=b.scales, instr=f"wgmma.m64n8k32.f32.{kinds}", arch="h100",
            k_order=order, out_dtype="bf16",
        )  # fmt: skip
        same(ours, torch.from_numpy(d.view(np.int16)).view(torch.bfloat16))


def test_mxfp8_quantises_each_operand_along_its_own_k():
    y, dx, dw, _ = step("te_mxfp8")
    x, w, dy = (t.float().numpy() for t in (X, W, DY))
    for ours, a, b in ((y, x, w.T), (dx, dy, w), (dw, dy.T, x)):
        parts = (quantise(z, "mxfp8_e4m3", axis=axis, rule="rceil") for z, axis in ((a, 1), (b, 0)))
        same(ours, torch.from_numpy(we.gemm(*parts, arch="b200", out_dtype="bf16").view(np.int16)).view(torch.bfloat16))


def test_nvfp4_rotates_the_operands_of_the_gradient_of_weights_and_rounds_gradients_stochastically():
    dw, again, other = (step("te_nvfp4", seed=seed)[2] for seed in (3, 3, 4))
    same(dw, again)
    assert not torch.equal(dw, other)
    y, *_, emulation = step("te_nvfp4", errors=True)
    errors = emulation.errors[2]
    rotated = (X.T.float().numpy().reshape(-1, 16) @ hadamard_matrix(np.float32)).astype(np.float32)
    assert errors.b.amax == torch.from_numpy(rotated).bfloat16().abs().max().item()
    assert errors.b.amax != X.abs().max().item() and emulation.errors[0].a.amax == X.abs().max().item()
    same(y, step("te_nvfp4", seed=9)[0])  # the forward pass rounds to nearest


def scale_of(x):
    """The scale of a tensor in e4m3, as Transformer Engine computes it: the inverse of 448 / amax, in float32."""
    return float(np.float32(1) / (np.float32(448) / np.float32(x.float().abs().max().item())))


def test_delayed_scales_come_from_earlier_steps_also_of_a_wrapped_module():
    layer = torch.nn.Linear(64, 96, bias=False, dtype=torch.bfloat16)
    emulation = we.torch.emulate("h100", recipe="te_delayed", errors=True)
    model, scales = emulation(layer), []
    for factor in (1.0, 8.0, 0.5):
        model(X * factor).backward(DY)
        scales.append(emulation.errors[-2].a.largest_scale)
    assert scales == [1.0, scale_of(X), scale_of(X * 8)]
    assert [x.direction for x in emulation.errors[-2:]] == ["forward", "weight gradient"]
    assert emulation.errors[-1].module == "Linear" and emulation.errors[-2].a.saturated == 0


def test_numbers_that_a_delayed_scale_does_not_expect_saturate():
    layer = torch.nn.Linear(64, 96, bias=False, dtype=torch.bfloat16)
    with torch.no_grad(), we.torch.emulate("h100", recipe="te_delayed", errors=True) as emulation:
        layer(X)
        layer(X * 64)
    assert emulation.errors[0].a.saturated == 0 < emulation.errors[1].a.saturated < 1


def test_a_checkpoint_computes_again_with_the_scales_of_its_step():
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(64, 96, bias=False, dtype=torch.bfloat16)
    with we.torch.emulate("h100", recipe="te_delayed", errors=True) as emulation:
        for _ in range(2):
            checkpoint(layer, X.clone().requires_grad_(), use_reentrant=False).backward(DY)
    forward = [x.a.largest_scale for x in emulation.errors if x.direction == "forward"]
    assert forward[0] == forward[1] == 1.0 != forward[2] == forward[3]


def test_layers_in_high_precision_and_other_products_equal_an_emulation_without_a_recipe():
    model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.Sequential(torch.nn.Linear(96, 16))).bfloat16()
    with torch.no_grad(), we.torch.emulate("h100", recipe="te_current", high_precision="*.1.0") as emulation:
        hidden = model[0](X)
        model(X)
        product = hidden @ hidden.T
    assert [x.operation for x in emulation.log] == ["linear:forward", "linear:forward", "addmm", "mm"]
    with we.torch.emulate("h100"):
        same(product, hidden @ hidden.T)
    with torch.no_grad(), we.torch.emulate("h100", recipe="te_current", high_precision=lambda name: True) as emulation:
        model(X)
    assert {x.operation for x in emulation.log} == {"addmm"}


def test_the_layers_of_pytorchs_attention_are_in_the_recipe_and_nothing_stays_replaced():
    linear, layer = torch.nn.functional.linear, torch.nn.MultiheadAttention(64, 4, batch_first=True).bfloat16()
    with torch.no_grad(), we.torch.emulate("h100", recipe="te_current") as emulation:
        layer(*[X[None]] * 3)
        with we.torch.emulate("h100") as inner:
            torch.nn.functional.linear(X, W)
    assert [x.operation for x in emulation.log if x.operation.startswith("linear")] == ["linear:forward"] * 2
    assert [x.operation for x in inner.log] == ["mm"] and torch.nn.functional.linear is linear


def test_the_bias_is_added_in_the_epilogue_or_to_the_rounded_result():
    bias = numbers(96, seed=5)
    te, ao = (step(name, bias=bias)[0] for name in ("te_current", "torchao_tensorwise"))
    without = step("torchao_tensorwise")[0]
    same(ao, without + bias)
    assert not torch.equal(te, ao)


def test_autocast_casts_the_weight_or_leaves_it_to_the_recipe():
    weight = W.float() * (1 + 2**-12)
    layer = torch.nn.Linear(64, 96, bias=False)
    layer.weight.data = weight
    results = []
    for recipe in ("te_current", "torchao_tensorwise"):
        with torch.autocast("cpu", torch.bfloat16), we.torch.emulate("h100", recipe=recipe, errors=True) as emulation:
            y = layer(X.float())
        y.backward(DY)
        assert y.dtype == torch.bfloat16 and layer.weight.grad.dtype == torch.float32
        results.append(emulation.errors[0].b.amax)
    assert results == [weight.bfloat16().abs().max().item(), weight.abs().max().item()]


def test_a_recipe_with_other_fields_is_a_recipe():
    slow = RECIPES["te_delayed"].but(history=1, history_choice="most_recent", margin=2, name="mine")
    with torch.no_grad(), we.torch.emulate("h100", recipe=slow, errors=True) as emulation:
        layer = torch.nn.Linear(64, 96, bias=False, dtype=torch.bfloat16)
        layer(X), layer(X)
    assert emulation.recipe.name == "mine"
    assert emulation.errors[1].a.largest_scale == 4 * scale_of(X)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float16])
@pytest.mark.parametrize("name", ["tensorwise", "rowwise", "rowwise_with_gw_hp"])
def test_torchaos_own_layer_in_an_emulation_has_the_same_bits(name, dtype):
    pytest.importorskip("torchao", reason="torchao is not installed")
    from torchao.float8.config import Float8LinearConfig
    from torchao.float8.float8_linear import Float8Linear

    layer, x = torch.nn.Linear(256, 96).to(dtype), numbers(48, 256).to(dtype) * torch.logspace(-2, 1, 256).to(dtype)
    config = Float8LinearConfig.from_recipe_name(name)
    found = []
    for module, recipe in ((layer, f"torchao_{name}"), (Float8Linear.from_float(copy.deepcopy(layer), config), None)):
        given = x.clone().requires_grad_()
        with we.torch.emulate("h100", recipe=recipe):
            y = module(given)
            y.backward(numbers(48, 96, seed=3).to(dtype))
        found.append((y.detach(), given.grad, module.weight.grad, module.bias.grad))
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs)
