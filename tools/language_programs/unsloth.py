# SPDX-License-Identifier: MIT
"""Cases of unsloth's kernels. Its package refuses to be imported without a GPU and unsloth_zoo.

The files of the kernels are imported from the checkout. What they import from around them is replaced: unsloth's
``device_type`` and ``bnb_availability``, a class ``Version`` of unsloth_zoo, and mocks for the rest of unsloth_zoo and
for transformers.
"""

import importlib
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import absent, bare_package, given
from tools.language_programs.tensors import drawn, far, largest, with_gradients

UNSLOTH = Project("unsloth", "unslothai/unsloth", "015bdef0d94a241bcd94eec7a405b1700632180d", "Apache-2.0")

case = cases_of(UNSLOTH)
_KERNELS = "unsloth/kernels"


def unsloth(name: str) -> ModuleType:
    """Import a file of kernels."""
    from packaging.version import Version

    bare_package("unsloth.kernels", UNSLOTH.folder)
    absent("unsloth_zoo", "transformers", "fbgemm_gpu")
    given("unsloth_zoo.utils", Version=Version)
    given(
        "unsloth.device_type", is_hip=lambda: False, get_device_type=lambda: "cuda", DEVICE_TYPE="cuda",
        DEVICE_TYPE_TORCH="cuda", DEVICE_COUNT=1, ALLOW_PREQUANTIZED_MODELS=False,
    )  # fmt: skip
    given("unsloth.bnb_availability", native_kernels_ready=lambda *_: False)
    return importlib.import_module(f"unsloth.kernels.{name}")


@case(f"{_KERNELS}/swiglu.py: _fg_kernel _DWf_DW_dfg_kernel")
def unsloth_swiglu() -> float:
    import torch

    module, e, g, d = unsloth("swiglu"), drawn(2, 3, 40), drawn(2, 3, 40), drawn(6, 40)
    silu = torch.nn.functional.silu
    forward = (module.swiglu_fg_kernel(e, g), silu(e) * g)
    gate = e.view(6, 40).clone().requires_grad_()
    silu(gate).backward(d * g.view(6, 40))
    h, df, de = module.swiglu_DWf_DW_dfg_kernel(d.clone(), e.view(6, 40).clone(), g.view(6, 40).clone())
    return far(forward, (h, forward[1].view(6, 40)), (df, d * silu(e.view(6, 40))), (de, gate.grad))


def _geglu(kind: str, approximate: str) -> float:
    import torch

    module, e, g, d = unsloth("geglu"), drawn(2, 3, 40), drawn(2, 3, 40), drawn(6, 40)

    def gelu(x: Any) -> Any:
        return torch.nn.functional.gelu(x, approximate=approximate)

    forward = getattr(module, f"geglu_{kind}_forward_kernel")(e, g), gelu(e) * g
    gate = e.view(6, 40).clone().requires_grad_()
    gelu(gate).backward(d * g.view(6, 40))
    backward = getattr(module, f"geglu_{kind}_backward_kernel")
    h, df, de = backward(d.clone(), e.view(6, 40).clone(), g.view(6, 40).clone())
    return far(forward, (h, forward[1].view(6, 40)), (df, d * gelu(e.view(6, 40))), (de, gate.grad))


@case(f"{_KERNELS}/geglu.py: _exact_forward_kernel _exact_backward_kernel")
def unsloth_geglu_exact() -> float:
    return _geglu("exact", "none")


@case(f"{_KERNELS}/geglu.py: _approx_forward_kernel _approx_backward_kernel")
def unsloth_geglu_approx() -> float:
    return _geglu("approx", "tanh")


@case(f"{_KERNELS}/layernorm.py: layernorm_forward layernorm_backward")
def unsloth_layernorm() -> float:
    import torch

    ours, w, b = unsloth("layernorm").Fast_Layernorm.apply, drawn(40), drawn(40)
    theirs = torch.nn.functional.layer_norm
    return with_gradients(lambda x: ours(x, w, b, 1e-5), lambda x: theirs(x, (40,), w, b, 1e-5), drawn(6, 40))


@case(f"{_KERNELS}/rms_layernorm.py: _rms_layernorm_forward _rms_layernorm_backward _gemma_rms_layernorm_forward")
def unsloth_rms_layernorm() -> float:
    import torch

    ours, w = unsloth("rms_layernorm").Fast_RMS_Layernorm.apply, drawn(40)
    theirs = torch.nn.functional.rms_norm
    return largest(
        with_gradients(lambda x: ours(x, w, 1e-5, False), lambda x: theirs(x, (40,), w, 1e-5), drawn(6, 40)),
        with_gradients(lambda x: ours(x, w, 1e-5, True), lambda x: theirs(x, (40,), w + 1, 1e-5), drawn(6, 40)),
    )


@case(f"{_KERNELS}/cross_entropy_loss.py: _cross_entropy_forward _cross_entropy_backward")
def unsloth_cross_entropy_loss() -> float:
    import torch

    ours, wanted = unsloth("cross_entropy_loss").fast_cross_entropy_loss, torch.randint(0, 97, (2, 3))
    theirs = torch.nn.functional.cross_entropy
    return with_gradients(
        lambda x: ours(x * 1, wanted), lambda x: theirs(x.view(6, 97), wanted.view(6)), drawn(2, 3, 97)
    )  # fmt: skip


@case(f"{_KERNELS}/cross_entropy_loss.py: _chunked_cross_entropy_forward _cross_entropy_backward")
def unsloth_chunked_cross_entropy_loss() -> float:
    import torch

    ours, wanted = unsloth("cross_entropy_loss").fast_cross_entropy_loss, torch.randint(0, 66000, (1, 1))
    theirs = torch.nn.functional.cross_entropy
    return with_gradients(
        lambda x: ours(x * 1, wanted), lambda x: theirs(x.view(1, -1), wanted.view(1)), drawn(1, 1, 66000)
    )  # fmt: skip


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    import torch

    return x * cos + torch.cat((-x[..., 8:], x[..., :8]), -1) * sin


@case(f"{_KERNELS}/rope_embedding.py: _rope_embedding")
def unsloth_rope_embedding() -> float:
    ours, angles = unsloth("rope_embedding").Fast_RoPE_Embedding.apply, drawn(5, 8).repeat(1, 2)
    cos, sin = angles.cos(), angles.sin()
    return with_gradients(
        lambda x: ours(x * 1, cos, sin), lambda x: _turned(x, cos[:, None], sin[:, None]), drawn(2, 5, 3, 16)
    )  # fmt: skip


@case(f"{_KERNELS}/rope_embedding.py: _rope_embedding_QK")
def unsloth_rope_embedding_of_two() -> float:
    ours, angles = unsloth("rope_embedding").Fast_RoPE_Embedding_QK.apply, drawn(5, 8).repeat(1, 2)
    cos, sin = angles.cos(), angles.sin()
    return with_gradients(
        lambda q, k: ours(q * 1, k * 1, cos, sin, None), lambda q, k: (_turned(q, cos, sin), _turned(k, cos, sin)),
        drawn(2, 3, 5, 16), drawn(2, 1, 5, 16),
    )  # fmt: skip


@case(f"{_KERNELS}/fp8.py: weight_dequant_kernel act_quant_kernel _w8a8_block_fp8_matmul")
def unsloth_fp8() -> float:
    import torch

    module, x = unsloth("fp8"), drawn(16, 128)
    weight, scales = drawn(128, 128).to(torch.float8_e4m3fn), torch.tensor([[0.7]])
    scale = x.abs().amax(-1, keepdim=True) / 448
    values, found = module.act_quant(x)
    exact = (x / scale).to(torch.float8_e4m3fn)
    product = module.w8a8_block_fp8_matmul_triton(values, weight, found, scales, [128, 128])
    expected = (exact.double() @ weight.double().T) * scale.double() * 0.7
    plain = module.weight_dequant_block(weight, scales)
    return far((found, scale), (product, expected), (plain, (weight.float() * 0.7).bfloat16()))
