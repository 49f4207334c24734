# SPDX-License-Identifier: MIT
"""Cases of flash-linear-attention without a state: softmax attention, small operations, layers and losses."""

from itertools import pairwise
from typing import Any

from tools.language_programs.fla import case, fla, gates, heads
from tools.language_programs.tensors import drawn, far, largest, with_gradients

_OPS, _MODULES, _COMMON = "fla/ops", "fla/modules", "fla/ops/common"


def attended(q: Any, k: Any, v: Any, bias: Any = 0.0) -> Any:
    """Return causal attention of one head."""
    import torch

    n = q.shape[1]
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5 + bias
    future = torch.ones(n, n).triu(1).bool()
    return torch.einsum("bhij,bjhd->bihd", scores.masked_fill(future, float("-inf")).softmax(-1), v)


@case(
    f"{_OPS}/attn/parallel.py: parallel_attn_fwd_kernel parallel_attn_bwd_kernel_preprocess "
    "parallel_attn_bwd_kernel_dq parallel_attn_bwd_kernel_dkv"
)
def fla_parallel_attn() -> float:
    ours, n = fla("ops.attn.parallel").parallel_attn, 70
    return with_gradients(
        lambda *x: ours(*(y.half() for y in x)).float(), attended, heads(n), heads(n), heads(n)
    )  # fmt: skip


@case(
    f"{_OPS}/attn/parallel.py: parallel_attn_fwd_kernel",
    f"{_OPS}/utils/cumsum.py: chunk_global_cumsum_scalar_kernel",
)
def fla_parallel_forgetting_attn() -> float:
    ours, n = fla("ops.forgetting_attn.parallel").parallel_forgetting_attn, 70

    def theirs(q: Any, k: Any, v: Any, g: Any) -> Any:
        sums = g.cumsum(1).transpose(1, 2)
        return attended(q, k, v, sums[..., None] - sums[..., None, :])

    return with_gradients(
        lambda q, k, v, g: ours(*(x.half() for x in (q, k, v)), g).float(), theirs,
        heads(n), heads(n), heads(n), gates(n),
    )  # fmt: skip


@case(f"{_OPS}/attn/decoding.py: naive_attn_decoding_kernel")
def fla_attn_decoding() -> float:
    import torch

    ours = fla("ops.attn.decoding").attn_decoding_one_step
    q, k, v, ends = drawn(1, 2, 2, 32), drawn(1, 30, 2, 32), drawn(1, 30, 2, 32), (0, 11, 30)
    expected = []
    for i, (start, end) in enumerate(pairwise(ends)):
        weights = (torch.einsum("hd,jhd->hj", q[0, i], k[0, start:end]) * 32**-0.5).softmax(-1)
        expected.append(torch.einsum("hj,jhd->hd", weights, v[0, start:end]))
    return far((ours(q, k, v, cu_seqlens=torch.tensor(ends, dtype=torch.int32)), torch.stack(expected)[None]))


@case(f"{_OPS}/based/parallel.py: parallel_based_fwd_kernel parallel_based_bwd_kernel")
def fla_parallel_based() -> float:
    import torch

    ours, n = fla("ops.based.parallel").parallel_based, 70

    def theirs(q: Any, k: Any, v: Any) -> Any:
        scores = torch.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
        weights = (1 + scores + scores**2 / 2).tril()
        return torch.einsum("bhij,bjhd->bihd", weights / (weights.sum(-1, keepdim=True) + 1e-6), v)

    return with_gradients(ours, theirs, heads(n, 16), heads(n, 16), heads(n))


@case(f"{_OPS}/utils/softmax.py: softmax_fwd_kernel softmax_bwd_kernel")
def fla_softmax() -> float:
    module, x, dp = fla("ops.utils.softmax"), drawn(6, 40), drawn(6, 40)
    p = x.softmax(-1)
    return far((module.softmax_fwd(x), p), (module.softmax_bwd(p, dp), p * (dp - (p * dp).sum(-1, keepdim=True))))


@case(f"{_OPS}/utils/logsumexp.py: logsumexp_fwd_kernel")
def fla_logsumexp() -> float:
    x = drawn(6, 700)
    return far((fla("ops.utils.logsumexp").logsumexp_fwd(x), x.logsumexp(-1)))


@case(f"{_OPS}/utils/pooling.py: mean_pooling_fwd_kernel mean_pooling_bwd_kernel")
def fla_mean_pooling() -> float:
    ours = fla("ops.utils.pooling").mean_pooling
    return with_gradients(
        lambda x: ours(x, 16), lambda x: x.unflatten(1, (2, 16)).mean(2), drawn(1, 32, 2, 20)
    )  # fmt: skip


@case(f"{_OPS}/utils/cumsum.py: chunk_global_cumsum_scalar_kernel chunk_global_cumsum_vector_kernel")
def fla_cumsum() -> float:
    ours, x, y = fla("ops.utils.cumsum").chunk_global_cumsum, drawn(1, 150, 2), drawn(1, 150, 2, 20)
    return far((ours(x), x.cumsum(1)), (ours(y, reverse=True), y.flip(1).cumsum(1).flip(1)))


@case(f"{_OPS}/utils/solve_tril.py: solve_tril_16x16_kernel merge_16x16_to_32x32_inverse_kernel")
def fla_solve_tril() -> float:
    import torch

    ours, pairs = fla("ops.utils.solve_tril").solve_tril, []
    for size in (16, 32):
        lower = drawn(1, size, 1, size) / 4 * torch.ones(size, size).tril(-1)[:, None]
        exact = torch.linalg.inv(torch.eye(size) + lower[0, :, 0].double())
        pairs.append((ours(lower.contiguous())[0, :, 0], exact))
    return far(*pairs)


@case(f"{_OPS}/utils/matmul.py: matmul_kernel")
def fla_matmul() -> float:
    a, b = drawn(40, 70).half() / 4, drawn(70, 50).half() / 4
    return far((fla("ops.utils.matmul").matmul(a, b), a.double() @ b.double()))


@case(f"{_COMMON}/gate.py: fused_beta_sigmoid_fwd_kernel fused_beta_sigmoid_bwd_kernel")
def fla_beta_sigmoid() -> float:
    return with_gradients(fla("ops.common.gate").fused_beta_sigmoid, lambda x: x.sigmoid(), drawn(1, 9, 40))


@case(
    f"{_MODULES}/activations.py: sigmoid_fwd_kernel sigmoid_bwd_kernel logsigmoid_fwd_kernel logsigmoid_bwd_kernel "
    "swish_fwd_kernel swish_bwd_kernel"
)
def fla_activations() -> float:
    import torch

    module, x = fla("modules.activations"), drawn(6, 40)
    functions = torch.nn.functional
    return largest(
        with_gradients(module.sigmoid, torch.sigmoid, x), with_gradients(module.logsigmoid, functions.logsigmoid, x),
        with_gradients(module.swish, functions.silu, x),
    )  # fmt: skip


@case(
    f"{_MODULES}/activations.py: swiglu_fwd_kernel swiglu_fwdbwd_kernel sigmoidglu_fwd_kernel sigmoidglu_fwdbwd_kernel "
    "powglu_fwd_kernel powglu_fwdbwd_kernel"
)
def fla_gated_activations() -> float:
    import torch

    module, x, y = fla("modules.activations"), drawn(6, 40), drawn(6, 40)

    def powglu(x: Any, y: Any) -> Any:
        positive = torch.where(x > 0, x, 1.0)
        return torch.where(x > 0, positive ** (3 / (positive.sqrt() + 1)), x) * x.sigmoid() * y

    return largest(
        with_gradients(module.swiglu, lambda x, y: torch.nn.functional.silu(x) * y, x, y),
        with_gradients(module.sigmoidglu, lambda x, y: x.sigmoid() * y, x, y),
        with_gradients(module.powglu, powglu, x, y),
    )


@case(f"{_MODULES}/l2norm.py: l2norm_fwd_kernel l2norm_bwd_kernel")
def fla_l2norm() -> float:
    ours = fla("modules.l2norm").l2norm
    return with_gradients(ours, lambda x: x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt(), drawn(6, 40))


@case(f"{_MODULES}/layernorm.py: layer_norm_fwd_kernel layer_norm_bwd_kernel")
def fla_layer_norm() -> float:
    module = fla("modules.layernorm")
    return largest(
        with_gradients(module.layer_norm, module.layer_norm_ref, drawn(6, 40), drawn(40), drawn(40)),
        with_gradients(
            lambda x, w: module.rms_norm(x, w, None), lambda x, w: module.rms_norm_ref(x, w, None),
            drawn(6, 40), drawn(40),
        ),
    )  # fmt: skip


@case(f"{_MODULES}/layernorm.py: layer_norm_fwd_kernel1 layer_norm_bwd_kernel1")
def fla_layer_norm_of_long_rows() -> float:
    module = fla("modules.layernorm")
    return with_gradients(module.layer_norm, module.layer_norm_ref, drawn(3, 1200), drawn(1200), drawn(1200))


@case(f"{_MODULES}/fused_norm_gate.py: layer_norm_gated_fwd_kernel layer_norm_gated_bwd_kernel")
def fla_rms_norm_gated() -> float:
    import torch

    ours, theirs = fla("modules.fused_norm_gate").rms_norm_gated, torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, g, w: ours(x, g, w, None, eps=1e-5),
        lambda x, g, w: theirs(x, (40,), w, 1e-5) * torch.nn.functional.silu(g), drawn(6, 40), drawn(6, 40), drawn(40),
    )  # fmt: skip


@case(f"{_MODULES}/fused_cross_entropy.py: cross_entropy_fwd_kernel cross_entropy_bwd_kernel")
def fla_cross_entropy() -> float:
    import torch

    ours, wanted = fla("modules.fused_cross_entropy").cross_entropy_loss, torch.randint(0, 97, (6,))
    theirs = torch.nn.functional.cross_entropy
    return with_gradients(lambda x: ours(x, wanted)[0], lambda x: theirs(x, wanted, reduction="none"), drawn(6, 97))


@case(
    f"{_MODULES}/fused_linear_cross_entropy.py: logsumexp_fwd_kernel cross_entropy_kernel elementwise_mul_kernel"
)  # fmt: skip
def fla_fused_linear_cross_entropy() -> float:
    import torch

    ours = fla("modules.fused_linear_cross_entropy").fused_linear_cross_entropy_loss
    wanted, theirs = torch.randint(0, 97, (16,)), torch.nn.functional.cross_entropy
    return with_gradients(
        lambda x, w: ours(x, wanted, w) * 1.5, lambda x, w: theirs(x @ w.T, wanted) * 1.5, drawn(16, 32), drawn(97, 32)
    )


@case(f"{_MODULES}/fused_kl_div.py: kl_div_kernel elementwise_mul_kernel")
def fla_fused_kl_div() -> float:
    import torch

    ours, target, weight = fla("modules.fused_kl_div").fused_kl_div_loss, drawn(16, 32) / 4, drawn(97, 32) / 4

    def theirs(x: Any, w: Any) -> Any:
        expected = (target @ weight.T).softmax(-1)
        return torch.nn.functional.kl_div((x @ w.T).log_softmax(-1), expected, reduction="batchmean") * 1.5

    return with_gradients(
        lambda x, w: ours(x, target, w, weight) * 1.5, theirs, drawn(16, 32) / 4, drawn(97, 32) / 4
    )  # fmt: skip


@case(f"{_MODULES}/rotary.py: rotary_embedding_kernel")
def fla_rotary_embedding() -> float:
    module, angles = fla("modules.rotary"), drawn(9, 8)
    cos, sin = angles.cos(), angles.sin()
    return with_gradients(
        lambda x: module.rotary_embedding(x, cos, sin), lambda x: module.rotary_embedding_ref(x, cos, sin),
        drawn(2, 9, 2, 32),
    )  # fmt: skip


@case(f"{_MODULES}/token_shift.py: token_shift_fwd_kernel_short token_shift_bwd_kernel_short")
def fla_token_shift() -> float:
    module = fla("modules.token_shift")
    return with_gradients(module.token_shift, module.token_shift_ref, drawn(2, 9, 40))


@case(f"{_MODULES}/conv/triton/kernels.py: causal_conv1d_fwd_kernel causal_conv1d_bwd_kernel")
def fla_causal_conv1d() -> float:
    import torch

    ours = fla("modules.conv.causal_conv1d").causal_conv1d

    def theirs(x: Any, w: Any) -> Any:
        padded = torch.nn.functional.pad(x.transpose(1, 2), (3, 0))
        return torch.nn.functional.silu(torch.nn.functional.conv1d(padded, w[:, None], groups=40)).transpose(1, 2)

    return with_gradients(
        lambda x, w: ours(x, w, activation="swish")[0], theirs, drawn(1, 20, 40), drawn(40, 4)
    )  # fmt: skip


@case(f"{_MODULES}/grpo.py: grpo_fwd_kernel grpo_bwd_kernel")
def fla_grpo() -> float:
    import torch

    module, chosen, advantages = fla("modules.grpo"), torch.randint(0, 40, (2, 5)), drawn(2)
    reference = drawn(2, 5).sigmoid().log() - 3
    return with_gradients(
        lambda x: module.fused_grpo_loss(x, reference, chosen, advantages),
        lambda x: module.grpo_loss_torch(x, reference, chosen, advantages), drawn(2, 6, 40),
    )  # fmt: skip
