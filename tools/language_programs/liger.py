# SPDX-License-Identifier: MIT
"""Cases of Liger-Kernel's operations, without the packages around them, which need transformers."""

import importlib
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import bare_package
from tools.language_programs.tensors import drawn, far, largest, with_gradients

LIGER = Project("liger", "linkedin/Liger-Kernel", "ead96b618e5c67bddc6a6e9bcb99bfe6b5ab661c", "BSD-2-Clause")

case = cases_of(LIGER)
_OPS = "src/liger_kernel/ops"


def liger(name: str) -> ModuleType:
    """Import a file of Liger's operations."""
    importlib.import_module("torch.distributed.tensor")  # which some of the files use, and others import
    bare_package("liger_kernel.ops", LIGER.folder / "src")
    return importlib.import_module(f"liger_kernel.ops.{name}")


@case(f"{_OPS}/rms_norm.py: _rms_norm_forward_kernel _rms_norm_backward_kernel")
def liger_rms_norm() -> float:
    import torch

    ours = liger("rms_norm").LigerRMSNormFunction.apply
    theirs = torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, w: ours(x, w, 1e-6), lambda x, w: theirs(x, (64,), w, 1e-6), drawn(6, 64), drawn(64)
    )


@case(f"{_OPS}/layer_norm.py: _layer_norm_forward_kernel _layer_norm_backward_kernel")
def liger_layer_norm() -> float:
    import torch

    ours = liger("layer_norm").LigerLayerNormFunction.apply
    theirs = torch.nn.functional.layer_norm
    return with_gradients(
        lambda x, w, b: ours(x, w, b, 1e-6), lambda x, w, b: theirs(x, (64,), w, b, 1e-6),
        drawn(6, 64), drawn(64), drawn(64),
    )  # fmt: skip


@case(f"{_OPS}/group_norm.py: _group_norm_forward_kernel _group_norm_backward_kernel")
def liger_group_norm() -> float:
    import torch

    ours = liger("group_norm").LigerGroupNormFunction.apply
    theirs = torch.nn.functional.group_norm
    return with_gradients(
        lambda x, w, b: ours(x, w, b, 8, 2, 1e-6), lambda x, w, b: theirs(x, 2, w, b, 1e-6),
        drawn(2, 8, 12), drawn(8), drawn(8),
    )  # fmt: skip


@case(f"{_OPS}/swiglu.py: _swiglu_forward_kernel _swiglu_backward_kernel")
def liger_swiglu() -> float:
    import torch

    ours = liger("swiglu").LigerSiLUMulFunction.apply
    return with_gradients(ours, lambda a, b: torch.nn.functional.silu(a) * b, drawn(6, 64), drawn(6, 64))


@case(f"{_OPS}/geglu.py: _geglu_tanh_forward_kernel _geglu_tanh_backward_kernel")
def liger_geglu() -> float:
    import torch

    ours, gelu = liger("geglu").LigerGELUMulFunction.apply, torch.nn.functional.gelu
    return with_gradients(ours, lambda a, b: gelu(a, approximate="tanh") * b, drawn(6, 64), drawn(6, 64))


@case(f"{_OPS}/softmax.py: _softmax_single_block_forward_kernel _softmax_single_block_backward_kernel")
def liger_softmax() -> float:
    return with_gradients(liger("softmax").LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), drawn(6, 60))


@case(f"{_OPS}/cross_entropy.py: liger_cross_entropy_kernel")
def liger_cross_entropy() -> float:
    import torch

    ours, theirs = liger("cross_entropy").LigerCrossEntropyFunction.apply, torch.nn.functional.cross_entropy
    wanted = torch.randint(0, 97, (6,), device="cuda")
    return with_gradients(lambda x: ours(x, wanted, None, -100)[0], lambda x: theirs(x, wanted), drawn(6, 97))


@case(f"{_OPS}/cross_entropy.py: liger_cross_entropy_kernel", f"{_OPS}/utils.py: element_mul_kernel")
def liger_fused_linear_cross_entropy() -> float:
    import torch

    ours = liger("fused_linear_cross_entropy").LigerFusedLinearCrossEntropyFunction.apply
    theirs, weight = torch.nn.functional.cross_entropy, drawn(97, 32)
    wanted = torch.randint(0, 97, (6,), device="cuda")
    return with_gradients(lambda x: ours(x, weight, wanted)[0], lambda x: theirs(x @ weight.T, wanted), drawn(6, 32))


@case(f"{_OPS}/kl_div.py: _kldiv_kernel_forward _kldiv_kernel_backward")
def liger_kl_div() -> float:
    import torch

    ours, wanted = liger("kl_div").LigerKLDivLossFunction.apply, drawn(6, 50).softmax(-1)
    theirs = torch.nn.functional.kl_div
    return with_gradients(
        lambda x: ours(x, wanted, "batchmean", False, 1e-10), lambda x: theirs(x, wanted, reduction="batchmean"),
        drawn(6, 50).log_softmax(-1),
    )  # fmt: skip


@case(f"{_OPS}/tvd.py: _tv_distance_kernel")
def liger_tvd() -> float:
    ours, other = liger("tvd").LigerTVDLossFunction.apply, drawn(6, 50).softmax(-1)
    return with_gradients(
        lambda p: ours(p, other), lambda p: (p - other).abs().sum() / 12, drawn(6, 50).softmax(-1)
    )  # fmt: skip


@case(f"{_OPS}/rope.py: _triton_rope")
def liger_rope() -> float:
    import torch

    ours = liger("rope").LigerRopeFunction.apply
    angles = torch.outer(torch.arange(8.0), 10000 ** (-torch.arange(0, 16, 2) / 16)).repeat(1, 2)
    cos, sin = angles.cos()[None], angles.sin()[None]

    def turned(x: Any) -> Any:
        return x * cos + torch.cat((-x[..., 8:], x[..., :8]), -1) * sin

    q, k = drawn(1, 2, 8, 16), drawn(1, 1, 8, 16)
    expected = turned(q), turned(k)
    return far(*zip(ours(q.clone(), k.clone(), cos, sin), expected, strict=True))


@case(f"{_OPS}/rms_norm.py: _block_rms_norm_forward_kernel _block_rms_norm_backward_kernel")
def liger_rms_norm_in_blocks() -> float:
    import torch

    ours, theirs = liger("rms_norm").LigerRMSNormFunction.apply, torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, w: ours(x, w, 1e-6, 0.0, "llama", True, False), lambda x, w: theirs(x, (8,), w, 1e-6),
        drawn(4096 * 8, 8), drawn(8),
    )  # fmt: skip


@case(f"{_OPS}/fused_add_rms_norm.py: _fused_add_rms_norm_forward_kernel _fused_add_rms_norm_backward_kernel")
def liger_fused_add_rms_norm() -> float:
    import torch

    ours, theirs = liger("fused_add_rms_norm").LigerFusedAddRMSNormFunction.apply, torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, r, w: ours(x, r, w, 1e-6), lambda x, r, w: (theirs(x + r, (64,), w, 1e-6), x + r),
        drawn(6, 64), drawn(6, 64), drawn(64),
    )  # fmt: skip


@case(f"{_OPS}/modulated_rms_norm.py: _modulated_rms_norm_forward_kernel _modulated_rms_norm_backward_kernel")
def liger_modulated_rms_norm() -> float:
    import torch

    ours, theirs = liger("modulated_rms_norm").LigerModulatedRMSNormFunction.apply, torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, w, a, b: ours(x, w, a, b, 1e-6),
        lambda x, w, a, b: theirs(x, (64,), w, 1e-6) * (1 + a[:, None]) + b[:, None],
        drawn(2, 3, 64), drawn(64), drawn(2, 64), drawn(2, 64),
    )  # fmt: skip


@case(f"{_OPS}/poly_norm.py: _poly_norm_forward_kernel _poly_norm_backward_kernel")
def liger_poly_norm() -> float:
    ours = liger("poly_norm").LigerPolyNormFunction.apply

    def norm(u: Any) -> Any:
        return u * (u.square().mean(-1, keepdim=True) + 1e-6).rsqrt()

    return with_gradients(
        lambda x, w, b: ours(x, w, b, 1e-6, False),
        lambda x, w, b: w[0] * norm(x**3) + w[1] * norm(x**2) + w[2] * norm(x) + b,
        drawn(6, 60), drawn(3), drawn(1)[0],
    )  # fmt: skip


@case(f"{_OPS}/dyt.py: _dyt_fwd_kernel _dyt_bwd_kernel")
def liger_dyt() -> float:
    ours = liger("dyt").LigerDyTFunction.apply
    return with_gradients(
        ours, lambda x, a, g, b: g * (a * x).tanh() + b, drawn(6, 64), drawn(1), drawn(64), drawn(64)
    )  # fmt: skip


@case(f"{_OPS}/attn_res.py: _attn_res_fwd_kernel _attn_res_bwd_kernel")
def liger_attn_res() -> float:
    import torch

    ours = liger("attn_res").LigerAttnResFunction.apply

    def theirs(v: Any, query: Any, norm: Any) -> Any:
        scores = torch.nn.functional.rms_norm(v, (32,), norm, 1e-6) @ query
        return (scores.softmax(0)[..., None] * v).sum(0)

    return with_gradients(lambda v, q, n: ours(v, q, n, 1e-6), theirs, drawn(3, 2, 3, 32), drawn(32), drawn(32))


@case(f"{_OPS}/jsd.py: _jsd_kernel")
def liger_jsd() -> float:
    ours, wanted = liger("jsd").LigerJSDFunction.apply, drawn(6, 50).log_softmax(-1)

    def theirs(x: Any) -> Any:
        p, q = wanted.exp(), x.exp()
        m = (p + q) / 2
        return (0.5 * p * (wanted - m.log()) + 0.5 * q * (x - m.log())).sum() / 6

    return with_gradients(lambda x: ours(x, wanted), theirs, drawn(6, 50).log_softmax(-1))


@case(f"{_OPS}/jsd.py: _jsd_kernel", f"{_OPS}/utils.py: element_mul_kernel")
def liger_fused_linear_jsd() -> float:
    ours = liger("fused_linear_jsd").LigerFusedLinearJSDFunction.apply
    teacher, theirs_weight = drawn(6, 16), drawn(50, 16)

    def theirs(x: Any, weight: Any) -> Any:
        q, p = (x @ weight.T).log_softmax(-1), (teacher @ theirs_weight.T).log_softmax(-1)
        m = ((p.exp() + q.exp()) / 2).log()
        return (0.5 * p.exp() * (p - m) + 0.5 * q.exp() * (q - m)).sum() / 6

    return with_gradients(lambda x, w: ours(x, w, teacher, theirs_weight), theirs, drawn(6, 16), drawn(50, 16))


@case(f"{_OPS}/llama4_rope.py: _llama4_rope_kernel")
def liger_llama4_rope() -> float:
    import torch

    ours, turns = liger("llama4_rope").LigerLlama4RopeFunction.apply, torch.polar(torch.ones(8, 8), drawn(8, 8))

    def turned(x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], 8, 2))
        return torch.view_as_real(pairs * turns[None, :, None]).flatten(3)

    return with_gradients(
        lambda q, k: ours(q, k, turns), lambda q, k: (turned(q), turned(k)), drawn(1, 8, 2, 16), drawn(1, 8, 1, 16)
    )


@case(f"{_OPS}/qwen2vl_mrope.py: _triton_qwen2vl_mrope")
def liger_qwen2vl_mrope() -> float:
    import torch

    ours, angles = liger("qwen2vl_mrope").LigerQwen2VLMRopeFunction.apply, drawn(3, 1, 8, 8).repeat(1, 1, 1, 2)
    cos, sin, sections = angles.cos(), angles.sin(), [2, 3, 3]

    def chosen(x: Any) -> Any:
        parts = x.split(sections * 2, -1)
        return torch.cat([part[i % 3] for i, part in enumerate(parts)], -1)[:, None]

    def turned(x: Any) -> Any:
        return x * chosen(cos) + torch.cat((-x[..., 8:], x[..., :8]), -1) * chosen(sin)

    q, k = drawn(1, 2, 8, 16), drawn(1, 1, 8, 16)
    expected = turned(q), turned(k)
    return far(*zip(ours(q.clone(), k.clone(), cos, sin, sections), expected, strict=True))


@case(f"{_OPS}/relu_squared.py: _relu_squared_forward_kernel _relu_squared_backward_kernel")
def liger_relu_squared() -> float:
    ours = liger("relu_squared").LigerReLUSquaredFunction.apply
    return with_gradients(ours, lambda x: x.relu() ** 2, drawn(6, 60))


@case(f"{_OPS}/sparsemax.py: _sparsemax_forward_kernel _sparsemax_backward_kernel")
def liger_sparsemax() -> float:
    import torch

    ours = liger("sparsemax").LigerSparsemaxFunction.apply

    def theirs(x: Any) -> Any:
        ordered = x.sort(-1, descending=True).values
        sums, count = ordered.cumsum(-1), torch.arange(1, 41)
        support = (1 + count * ordered > sums).sum(-1, keepdim=True)
        return (x - (sums.gather(-1, support - 1) - 1) / support).relu()

    return with_gradients(lambda x: ours(x, -1), theirs, drawn(6, 40))


@case(f"{_OPS}/softmax.py: _softmax_multi_block_forward_kernel _softmax_multi_block_backward_kernel")
def liger_softmax_in_blocks() -> float:
    x = drawn(1, 65537)
    return with_gradients(liger("softmax").LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), x)


@case(f"{_OPS}/swiglu.py: _swiglu_fused_gate_up_forward_kernel _swiglu_fused_gate_up_backward_kernel")
def liger_fused_gate_up_swiglu() -> float:
    import torch

    ours = liger("swiglu").LigerFusedGateUpSiLUMulFunction.apply
    return with_gradients(ours, lambda y: torch.nn.functional.silu(y[:, :64]) * y[:, 64:], drawn(6, 128))


@case(f"{_OPS}/multi_token_attention.py: _mask_fwd_kernel _mask_bwd_kernel")
def liger_multi_token_attention() -> float:
    import torch

    ours, future = liger("multi_token_attention").LigerMultiTokenAttentionFunction.apply, torch.ones(16, 16).triu(1)

    def theirs(scores: Any, weight: Any) -> Any:
        alpha = scores.masked_fill(future.bool(), float("-inf")).softmax(-1)
        return torch.nn.functional.conv2d(alpha, weight, padding=1).masked_fill(future.bool(), 0.0)

    return with_gradients(lambda x, w: ours(x, w, None, 1, 1), theirs, drawn(1, 2, 16, 16), drawn(2, 2, 3, 3))


@case(
    f"{_OPS}/fused_neighborhood_attention.py: _neighborhood_mask_kernel _fused_neighborhood_attention_qk_kernel "
    "_fused_neighborhood_attention_av_kernel _fused_neighborhood_attention_grad_qk_kernel "
    "_fused_neighborhood_attention_grad_k_kernel _fused_neighborhood_attention_grad_v_kernel "
    "_fused_neighborhood_attention_grad_attn_kernel"
)
def liger_fused_neighborhood_attention() -> float:
    import torch

    ours = liger("fused_neighborhood_attention").LigerFusedNeighborhoodAttentionFunction.apply
    place = torch.arange(32)
    outside = (place[:, None] - place).abs() > 3

    def theirs(q: Any, k: Any, v: Any) -> Any:
        return (q @ k.mT / 4).masked_fill(outside, float("-inf")).softmax(-1) @ v

    return with_gradients(lambda q, k, v: ours(q, k, v, 7, 1), theirs, *(drawn(1, 1, 32, 16) for _ in range(3)))


@case(f"{_OPS}/grpo_loss.py: _selective_log_softmax_kernel _grpo_loss_fwd_kernel _grpo_loss_bwd_kernel")
def liger_grpo_loss() -> float:
    import torch

    module, chosen, advantages = liger("grpo_loss"), torch.randint(0, 40, (2, 5)), drawn(2)
    old, reference = (drawn(2, 5).sigmoid().log() - 3 for _ in range(2))

    def log_p(x: Any) -> Any:
        return (x[:, :-1] / 0.9).log_softmax(-1).gather(-1, chosen[..., None])[..., 0]

    def theirs(x: Any) -> Any:
        found = log_p(x)
        ratio, apart = (found - old).exp(), reference - found
        clipped = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.2) * advantages[:, None])
        return (0.04 * (apart.exp() - apart - 1) - clipped).mean()

    def ours(x: Any) -> Any:
        more = 0.9, 0.04, 0.2, 0.2, False
        return module.GrpoLossFunction.apply(x, old, reference, chosen, advantages, None, *more)[0]

    x = drawn(2, 6, 40)
    log = module.fused_selective_log_softmax(x, chosen, 0.9)
    return largest(far((log, log_p(x))), with_gradients(ours, theirs, x))


@case(f"{_OPS}/grpo_loss.py: _grpo_loss_fwd_kernel_seq _grpo_loss_bwd_kernel_seq")
def liger_grpo_loss_of_sequences() -> float:
    import torch

    module, chosen, advantages = liger("grpo_loss"), torch.randint(0, 40, (2, 5)), drawn(2)
    reference = drawn(2, 5).sigmoid().log() - 3
    old = drawn(2, 5).sigmoid().log() - 3

    def theirs(x: Any) -> Any:
        found = (x[:, :-1] / 0.9).log_softmax(-1).gather(-1, chosen[..., None])[..., 0]
        ratio, apart = (found - old).mean(-1, keepdim=True).exp(), reference - found
        clipped = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.2) * advantages[:, None])
        return (0.04 * (apart.exp() - apart - 1) - clipped).mean()

    def ours(x: Any) -> Any:
        more = 0.9, 0.04, 0.2, 0.2, False, "grpo", None, True, "sequence"
        return module.GrpoLossFunction.apply(x, old, reference, chosen, advantages, None, *more)[0]

    return with_gradients(ours, theirs, drawn(2, 6, 40))


@case(
    f"{_OPS}/mhc.py: _mhc_mm_norm_fwd_kernel _mhc_mm_norm_bwd_fused_kernel _mhc_split_sinkhorn_fwd_kernel "
    "_mhc_sinkhorn_bwd_hist_kernel"
)
def liger_mhc_coefficients() -> float:
    import torch

    ours, streams, rounds = liger("mhc").LigerMHCCoeffsFunction.apply, 4, 3

    def theirs(x: Any, phi: Any, b: Any, pre: Any, post: Any, res: Any) -> Any:
        flat = x.flatten(1)
        mix = flat @ phi * (flat.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        parts = [mix[:, :4] * pre + b[:4], mix[:, 4:8] * post + b[4:8], mix[:, 8:] * res + b[8:]]
        matrix = parts[2].view(-1, streams, streams).softmax(-1) + 1e-6
        matrix = matrix / (matrix.sum(1, keepdim=True) + 1e-6)
        for _ in range(rounds - 1):
            matrix = matrix / (matrix.sum(2, keepdim=True) + 1e-6)
            matrix = matrix / (matrix.sum(1, keepdim=True) + 1e-6)
        return parts[0].sigmoid() + 1e-6, parts[1].sigmoid() * 2, matrix

    more = True, rounds, 1e-6, 1e-6, 1e-6, 2.0
    inputs = drawn(6, 4, 16), drawn(64, 24) / 8, drawn(24), *(torch.tensor(x) for x in (0.5, 0.7, 0.9))
    return with_gradients(lambda *x: ours(*x, *more), theirs, *inputs)


@case(
    f"{_OPS}/mhc.py: _mhc_pre_fwd_kernel _mhc_pre_bwd_kernel _mhc_post_res_fwd_kernel _mhc_post_res_bwd_kernel"
)  # fmt: skip
def liger_mhc_streams() -> float:
    module = liger("mhc")
    x, f, pre, post, res = drawn(6, 4, 32), drawn(6, 32), drawn(6, 4), drawn(6, 4), drawn(6, 4, 4)
    return largest(
        with_gradients(module.LigerMHCPreFunction.apply, lambda x, h: (x * h[..., None]).sum(1), x, pre),
        with_gradients(
            module.LigerMHCPostResFunction.apply,
            lambda x, f, post, res: res @ x + post[..., None] * f[:, None], x, f, post, res,
        ),
    )  # fmt: skip


@case(
    f"{_OPS}/fused_moe_kernels.py: _moe_router_histogram_kernel _moe_router_prefix_sum_kernel "
    "_moe_router_scatter_kernel _fused_up_proj_swiglu_kernel _fused_down_proj_kernel "
    "_token_gather_weighted_sum_kernel _moe_bwd_down_proj_kernel _moe_bwd_dW2_kernel _moe_bwd_dX_expanded_kernel "
    "_moe_bwd_dW1_kernel"
)
def liger_fused_moe() -> float:
    import torch

    ours = liger("fused_moe").LigerFusedMoEFunction.apply
    chosen = torch.stack([torch.randperm(4)[:2] for _ in range(10)]).to(torch.int32)

    def theirs(x: Any, up: Any, down: Any, weights: Any) -> Any:
        halves = torch.einsum("th,enh->ten", x, up)
        inner = torch.nn.functional.silu(halves[..., :32]) * halves[..., 32:]
        outs = torch.einsum("tni,nhi->tnh", inner, down)
        return (outs.gather(1, chosen.long()[..., None].expand(-1, -1, 32)) * weights[..., None]).sum(1)

    inputs = drawn(10, 32) / 2, drawn(4, 64, 32) / 4, drawn(4, 32, 32) / 4, drawn(10, 2).softmax(-1)
    return with_gradients(lambda x, u, d, w: ours(x, u, d, chosen, w), theirs, *inputs)


@case(
    f"{_OPS}/vocab_parallel_cross_entropy.py: liger_vocab_parallel_ce_forward_kernel "
    "liger_vocab_parallel_ce_backward_kernel"
)
def liger_vocab_parallel_cross_entropy() -> float:
    import torch

    ours = liger("vocab_parallel_cross_entropy").LigerVocabParallelCEFunction.apply
    wanted = torch.randint(0, 97, (6, 1))
    return with_gradients(
        lambda x: ours(x, wanted, None, -100, 0.0, "standard", "per_shard").sum(),
        lambda x: torch.nn.functional.cross_entropy(x[:, 0], wanted[:, 0], reduction="sum"), drawn(6, 1, 97),
    )  # fmt: skip


@case(f"{_OPS}/experimental/embedding.py: embedding_forward_kernel embedding_backward_kernel")
def liger_embedding() -> float:
    import torch

    ours, chosen = liger("experimental.embedding").LigerEmbeddingFunction.apply, torch.tensor([3, 1, 3, 9, 0, 3])
    return with_gradients(lambda table: ours(table, chosen), lambda table: table[chosen], drawn(10, 16))


@case(f"{_OPS}/experimental/mm_int8int2.py: matmul_kernel")
def liger_mm_int8_int2() -> float:
    import torch

    module = liger("experimental.mm_int8int2")
    a, b = (torch.randint(-9, 9, (64, 128)).to(torch.int8), torch.randint(0, 3, (128, 64)).to(torch.uint8))
    found = module.matmul(a, module.pack_weights(b.to(torch.int8) - 1, bits=2))
    return far((found, a.double() @ (b.double() - 1)))
