# SPDX-License-Identifier: MIT
"""Cases of SGLang's Triton kernels, of the release's files.

``sglang/__init__.py``, the wrapper of DeepGEMM and ``dp_attention`` are left out, because they need libraries of
servers and compiled code. The other files need orjson, pybase64, requests, pillow, starlette and msgspec.
"""

import importlib
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import bare_package
from tools.language_programs.tensors import drawn, far

SGLANG = Project("sglang", "sgl-project/sglang", "v0.5.23", "Apache-2.0")

case = cases_of(SGLANG)
_OPS = "python/sglang/kernels/ops"


def sglang(name: str) -> ModuleType:
    """Import a file of kernels, or another module."""
    folder = SGLANG.folder / "python"
    bare_package("sglang", folder)
    bare_package("sglang.srt.layers.deep_gemm_wrapper", folder)
    return importlib.import_module(f"sglang.{name}")


def ops(name: str) -> ModuleType:
    return sglang(f"kernels.ops.{name}")


def half(*shape: int) -> Any:
    return drawn(*shape).half()


def attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    """Return the attention of queries ``(m, heads, d)`` to keys and values ``(n, heads, d)``, in double precision."""
    import torch

    q, k, v = (x.double().transpose(0, 1) for x in (q, k, v))
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    if causal:
        m, n = scores.shape[1:]
        scores = scores.masked_fill(torch.ones(m, n).triu(n - m + 1).bool(), float("-inf"))
    return (scores.softmax(-1) @ v).transpose(0, 1)


def int32(*values: int) -> Any:
    import torch

    return torch.tensor(values, dtype=torch.int32, device="cuda")


@case(f"{_OPS}/attention/decode_attention.py: _fwd_kernel_stage1 _fwd_grouped_kernel_stage1 _fwd_kernel_stage2")
def sglang_decode_attention() -> float:
    import torch

    lengths, order, pairs = (37, 50), torch.randperm(87, device="cuda"), []
    for heads in (2, 4):
        q, k, v, out = half(2, 4, 64), half(87, heads, 64), half(87, heads, 64), half(2, 4, 64)
        logits, lse = drawn(2, 4, 8, 64), drawn(2, 4, 8)
        ops("attention.decode_attention").decode_attention_fwd(
            q, k, v, out, int32(0, 37, 87), order, logits, lse, int32(3, 8), 8, 1 / 8, 1.0, 1.0
        )
        rows = [order[:37], order[37:]]
        pairs += [(out[i : i + 1], attention(q[i : i + 1], k[rows[i]], v[rows[i]])) for i in range(len(lengths))]
    return far(*pairs)


@case(f"{_OPS}/attention/extend_attention.py: _fwd_kernel")
def sglang_extend_attention() -> float:
    import torch

    q, k, v, out = half(40, 4, 64), half(40, 2, 64), half(40, 2, 64), half(40, 4, 64)
    old_k, old_v, order = half(60, 2, 64), half(60, 2, 64), torch.randperm(60, device="cuda")
    ops("attention.extend_attention").extend_attention_fwd(
        q, k, v, out, old_k, old_v, int32(0, 15, 40), int32(0, 20, 60), order, None, True, None, 25, 1.0, 1.0
    )
    parts = (slice(0, 15), slice(0, 20)), (slice(15, 40), slice(20, 60))
    return far(*(
        (out[x], attention(q[x], torch.cat((old_k[order[y]], k[x])), torch.cat((old_v[order[y]], v[x])), True))
        for x, y in parts
    ))  # fmt: skip


@case(f"{_OPS}/attention/prefill_attention.py: _fwd_kernel")
def sglang_prefill_attention() -> float:
    q, k, v, out = half(70, 4, 64), half(70, 2, 64), half(70, 2, 64), half(70, 4, 64)
    ops("attention.prefill_attention").context_attention_fwd(q, k, v, out, int32(0, 30), int32(30, 40), 40)
    return far(*((out[x], attention(q[x], k[x], v[x], True)) for x in (slice(0, 30), slice(30, 70))))


@case(f"{_OPS}/attention/merge_state.py: merge_state_kernel")
def sglang_merge_state() -> float:
    import torch

    a, b, of_a, of_b = drawn(9, 4, 48), drawn(9, 4, 48), drawn(9, 4), drawn(9, 4)
    found = ops("attention.merge_state").merge_state_triton(a, of_a, b, of_b)
    both = torch.logaddexp(of_a.double(), of_b.double())
    expected = a * (of_a - both).exp()[..., None] + b * (of_b - both).exp()[..., None]
    return far((found[0], expected), (found[1], both))


@case(f"{_OPS}/attention/kv_indices.py: create_flashinfer_kv_indices_triton")
def sglang_kv_indices() -> float:
    import torch

    table, rows, lengths = torch.randint(0, 9999, (5, 700), dtype=torch.int32), int32(3, 1), int32(600, 90)
    found = torch.zeros(690, dtype=torch.int32, device="cuda")
    kernel = ops("attention.kv_indices").create_flashinfer_kv_indices_triton
    kernel[(2,)](table, rows, lengths, int32(0, 600, 690), None, found, 700)
    return far((found, torch.cat((table[3, :600], table[1, :90]))))


@case(
    f"{_OPS}/quantization/fp8_kernel.py: _per_token_group_quant_8bit _per_token_group_quant_8bit_colmajor "
    "_static_quant_fp8 _per_tensor_quant_mla_fp8_stage1 _per_tensor_quant_mla_fp8_stage2"
)
def sglang_fp8_quantisation() -> float:
    import torch

    module, x = ops("quantization.fp8_kernel"), drawn(12, 256).bfloat16()
    scales = x.float().reshape(12, 2, 128).abs().amax(-1) / 448
    raw = module._per_token_group_quant_8bit_raw
    rows, columns = raw(x, 128), raw(x, 128, column_major_scales=True)
    scale = torch.tensor([0.01], device="cuda")
    static, _ = module.static_quant_fp8(x, scale)
    once = (x.float() / 0.01).clamp(-448, 448).to(torch.float8_e4m3fn)
    three, largest = x.reshape(3, 4, 256), torch.zeros(1, device="cuda")
    whole, factor = module.per_tensor_quant_mla_fp8(three, largest)
    all_of_it = three.float().abs().max() / 448
    return far(
        *((data.double() * found.repeat_interleave(128, 1), x) for data, found in (rows, columns)),
        (rows[1], scales), (columns[1], scales), (static, once), (factor, all_of_it), (whole.double() * factor, three),
    )  # fmt: skip


@case(f"{_OPS}/quantization/int8_kernel.py: _per_token_quant_int8 _per_token_group_quant_int8")
def sglang_int8_quantisation() -> float:
    module, x = ops("quantization.int8_kernel"), drawn(12, 256)
    rows, groups = x.abs().amax(1, keepdim=True) / 127, x.reshape(12, 2, 128).abs().amax(-1) / 127
    found, made = module.per_token_quant_int8(x), module.per_token_group_quant_int8(x, 128)
    wide = groups.repeat_interleave(128, 1)
    return far((found[1], rows), (found[0] * rows, x), (made[1], groups), (made[0] * wide, x))


@case(f"{_OPS}/quantization/awq_triton.py: awq_dequantize_kernel")
def sglang_awq_dequantize() -> float:
    import torch

    module = ops("quantization.awq_triton")
    w = torch.randint(-(1 << 31), 1 << 31, (128, 16), dtype=torch.int64).int()
    zeros, scales = torch.randint(-(1 << 31), 1 << 31, (2, 16), dtype=torch.int64).int(), half(2, 128)
    found = module.awq_dequantize_triton(w, scales, zeros)
    return far((found, module.awq_dequantize_decomposition(w, scales, zeros)))


@case(
    f"{_OPS}/layernorm/fused_rmsnorm.py: fused_rmsnorm_kernel fused_dual_residual_rmsnorm_kernel",
    f"{_OPS}/layernorm/rmsnorm_fp32.py: _rmsnorm_fp32_kernel",
)
def sglang_rms_norm() -> float:
    import torch

    x, residual, w, other = drawn(9, 200), drawn(9, 200), drawn(200), drawn(200)
    norm, module = torch.nn.functional.rms_norm, ops("layernorm.fused_rmsnorm")
    out, middle = module.fused_dual_residual_rmsnorm(x, residual, w, other, 1e-6)
    expected = norm(x, [200], w, 1e-6) + residual
    return far(
        (module.fused_rmsnorm(x, w, 1e-6), norm(x, [200], w, 1e-6)), (middle, expected),
        (out, norm(expected, [200], other, 1e-6)),
        (ops("layernorm.rmsnorm_fp32").rmsnorm_fp32(x, w, 1e-6), norm(x, [200], w, 1e-6)),
    )  # fmt: skip


@case(f"{_OPS}/mamba/causal_conv1d_triton.py: _causal_conv1d_fwd_kernel _causal_conv1d_update_kernel")
def sglang_causal_conv1d() -> float:
    import torch

    module, w, b = ops("mamba.causal_conv1d_triton"), drawn(64, 4), drawn(64)
    x, states = drawn(50, 64).T, torch.zeros(3, 64, 3, device="cuda")
    out = module.causal_conv1d_fn(
        x, w, b, states, int32(0, 20, 50), [20, 30], int32(2, 0), torch.zeros(2, dtype=torch.bool), "silu"
    )

    def expected(x: Any) -> Any:
        made = torch.nn.functional.conv1d(x[None].double(), w[:, None].double(), b.double(), padding=3, groups=64)
        return torch.nn.functional.silu(made[0, :, : x.shape[1]])

    parts = x[:, :20], x[:, 20:]
    token, last = drawn(2, 64), states[[2, 0]].clone()
    found = module.causal_conv1d_update(token.clone(), states, w, b, "silu", conv_state_indices=int32(2, 0))
    longer = [torch.cat((y, z[:, None]), 1) for y, z in zip(parts, token, strict=True)]
    return far(
        (out, torch.cat([expected(y) for y in parts], 1)), (last, torch.stack([y[:, -3:] for y in parts])),
        (found.reshape(2, 64), torch.stack([expected(y)[:, -1] for y in longer])),
    )  # fmt: skip


@case(
    f"{_OPS}/attention/linear/lightning_attn.py: _fwd_diag_kernel _fwd_kv_parallel _fwd_kv_reduce _fwd_none_diag_kernel"
)
def sglang_lightning_attention() -> float:
    import torch

    q, k, v = (drawn(1, 2, 300, 64) / 4 for _ in range(3))
    slopes = torch.tensor([0.1, 0.3], device="cuda")
    found, state = ops("attention.linear.lightning_attn").lightning_attention(q, k, v, slopes)
    ages = torch.arange(300)[:, None] - torch.arange(300)
    decay = torch.where(ages >= 0, torch.exp(-slopes.double()[:, None, None] * ages.double()), 0)
    expected = (q.double() @ k.double().transpose(2, 3) * decay) @ v.double()
    last = (k.double() * decay[:, -1][None, ..., None]).transpose(2, 3) @ v.double()
    return far((found, expected), (state[:, :, -1] if state.dim() == 5 else state, last))


@case(
    f"{_OPS}/sampling/temperature_softmax.py: _partial_max_sumexp_kernel _combine_kernel _normalize_kernel",
    f"{_OPS}/sampling/renorm_triton.py: _mask_and_partial_sum_kernel _normalize_kernel",
)
def sglang_sampling() -> float:
    import torch

    module, logits, temperatures = ops("sampling.renorm_triton"), drawn(3, 40000), drawn(3, 1).abs() + 0.5
    found = ops("sampling.temperature_softmax").temperature_softmax(logits, temperatures)
    expected = (logits.double() / temperatures.double()).softmax(-1)
    places = expected.topk(50)
    kept = torch.zeros_like(expected).scatter(1, places.indices, places.values)
    return far(
        (found, expected),
        (module.top_k_renorm_probs_triton(expected.float(), 50), kept / kept.sum(1, keepdim=True)),
        (module.top_p_renorm_probs_triton(expected.float(), 1.0), expected),
    )


@case(f"{_OPS}/grammar/bitmask_ops.py: apply_token_bitmask_inplace_kernel")
def sglang_token_bitmask() -> float:
    import torch

    logits = drawn(3, 5000)
    masks = torch.randint(-(1 << 31), 1 << 31, (3, 157), dtype=torch.int64).int()
    kept = (masks[..., None] >> torch.arange(32) & 1).reshape(3, -1)[:, :5000].bool()
    found = logits.clone()
    ops("grammar.bitmask_ops").apply_token_bitmask_inplace_triton(found, masks)
    return far((found.exp(), torch.where(kept, logits, float("-inf")).exp()))


_INVARIANT = "python/sglang/srt/batch_invariant_ops/batch_invariant_ops.py"


@case(f"{_INVARIANT}: matmul_kernel_persistent bmm_kernel_persistent _log_softmax_kernel mean_kernel _rms_norm_kernel")
def sglang_batch_invariant_operators() -> float:
    import torch

    module = sglang("srt.batch_invariant_ops.batch_invariant_ops")
    a, b, x, w = half(70, 96), half(96, 50), drawn(9, 300), drawn(300)
    left, right = half(3, 40, 32), half(3, 32, 24)
    return far(
        (module.matmul_persistent(a, b), a.double() @ b.double()),
        (module.bmm_batch_invariant(left, right), left.double() @ right.double()),
        (module.log_softmax(x), x.double().log_softmax(-1)), (module.mean_dim(x, 1), x.double().mean(1)),
        (module.rms_norm(x, w), torch.nn.functional.rms_norm(x, [300], w, 1e-6)),
    )  # fmt: skip


@case(f"{_OPS}/moe/router.py: fused_moe_router_cudacore_kernel fused_moe_router_tensorcore_kernel")
def sglang_moe_router() -> float:
    bare_package("sglang.srt.layers.dp_attention", SGLANG.folder / "python", is_dp_attention_enabled=lambda: False)
    module, x, w, pairs = ops("moe.router"), drawn(20, 128).bfloat16(), drawn(8, 128).bfloat16(), []
    logits = 30 * ((x.double() @ w.double().T) / 30).tanh()
    largest, places = logits.topk(2)
    expected = (largest - logits.amax(1, keepdim=True)).exp() / (logits - logits.amax(1, keepdim=True)).exp().sum(
        1, keepdim=True
    )
    for found in (
        module.fused_moe_router_cudacore(x, w, 2, 30.0), module.fused_moe_router_tensorcore(x, w, 2, 30.0, 16, 16, 64),
    ):  # fmt: skip
        pairs += [(found[0], expected), (found[1], places)]
    return far(*pairs)


@case(f"{_OPS}/attention/rotary_triton.py: _triton_mrope_forward_fused")
def sglang_mrope() -> float:
    import torch

    q, k, angles = drawn(12, 4 * 32), drawn(12, 2 * 32), drawn(50, 16)
    cache, positions, parts = torch.cat((angles.cos(), angles.sin()), 1), torch.randint(0, 50, (3, 12)), [4, 6, 6]
    axes = torch.tensor([0] * 4 + [1] * 6 + [2] * 6)
    found = q.clone(), k.clone()
    ops("attention.rotary_triton").triton_mrope_fused(
        *found, cache, positions, parts, 32, 32, False, False, True, axes.int()
    )
    chosen = angles[positions][axes, :, torch.arange(16)].T[:, None]

    def turned(x: Any) -> Any:
        x = x.reshape(12, -1, 32)
        cos, sin = (y.repeat(1, 1, 2) for y in (chosen.cos(), chosen.sin()))
        return x * cos + torch.cat((-x[..., 16:], x[..., :16]), -1) * sin

    return far((found[0], turned(q).reshape(12, -1)), (found[1], turned(k).reshape(12, -1)))


@case(
    f"{_OPS}/activation/gelu_and_mul_triton.py: gelu_and_mul_kernel",
    f"{_OPS}/elementwise/elementwise.py: _fused_sigmoid_mul_kernel _sigmoid_gate_mul_broadcast_kernel "
    "_fused_gate_sigmoid_mul_add_kernel",
)
def sglang_gates() -> float:
    import torch

    module, x, y, gate = ops("elementwise.elementwise"), drawn(9, 128), drawn(9, 128), drawn(9, 1)
    both, w, total = drawn(9, 256), drawn(128), drawn(9, 128)
    found = total.clone()
    module.fused_gate_sigmoid_mul_add(x, w, y, found)
    gelu = torch.nn.functional.gelu(both[:, :128]) * both[:, 128:]
    return far(
        (ops("activation.gelu_and_mul_triton").gelu_and_mul_triton(both)[0], gelu),
        (module.fused_sigmoid_mul(x, y), x * y.sigmoid()),
        (module.sigmoid_gate_mul_broadcast(x, gate), x * gate.sigmoid()),
        (found, total + (x @ w).sigmoid()[:, None] * y),
    )  # fmt: skip
