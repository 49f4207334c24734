# SPDX-License-Identifier: MIT
"""Cases of flash-linear-attention, without the packages around its files, which import every layer and model.

Its files import einops. ``fla.ops.cp``, for several GPUs, is a mock: Triton 3.9 refuses the keys of its autotuning. The
expected results are recurrences of this file: a state that decays, is corrected by what it predicts, and takes up a
product of key and value in each step.
"""

import importlib
from itertools import pairwise
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import absent, bare_package
from tools.language_programs.tensors import drawn, far, largest, with_gradients

FLA = Project("fla", "fla-org/flash-linear-attention", "bc3b101dcb713ddc5bd8924b66754eb68b5ccf89", "MIT")

case = cases_of(FLA)
_OPS, _MODULES, _COMMON = "fla/ops", "fla/modules", "fla/ops/common"
_STATES = f"{_COMMON}/chunk_h.py: chunk_fwd_kernel_h chunk_bwd_kernel_dh"
_DELTA_STATES = (
    f"{_COMMON}/chunk_delta_h.py: chunk_gated_delta_rule_fwd_kernel_h_blockdim64 "
    "chunk_gated_delta_rule_bwd_kernel_dhu_blockdim64"
)
_STEPS = f"{_COMMON}/fused_recurrent.py: fused_recurrent_fwd_kernel fused_recurrent_bwd_kernel"


def fla(name: str) -> ModuleType:
    """Import a file of the library."""
    bare_package("fla", FLA.folder, __version__="0.5.2")
    for package in ("fla.ops", "fla.modules"):
        bare_package(package, FLA.folder)
    absent("fla.ops.cp")
    return importlib.import_module(f"fla.{name}")


def heads(tokens: int, size: int = 32) -> Any:
    """Draw a tensor of tokens of one head."""
    return drawn(1, tokens, 1, size) / 2


def gates(tokens: int, *size: int) -> Any:
    """Draw logarithms of factors between 0.5 and 1."""
    import torch

    return -torch.rand(1, tokens, 1, *size) / 2


def stepped(q: Any, k: Any, v: Any, decay: Any = None, beta: Any = None, a: Any = None, b: Any = None) -> Any:
    """Return the outputs of a recurrence: the state decays, and learns a key and a value in each step.

    With ``beta``, the state learns only what it does not predict; with ``a`` and ``b``, its product with ``a`` is added
    along ``b``.
    """
    import torch

    state, outs = torch.zeros(*q.shape[:1], *q.shape[2:], v.shape[-1]), []
    for t in range(q.shape[1]):
        key, value, before = k[:, t], v[:, t], state
        if decay is not None:
            factor = decay[:, t].exp()
            state = state * (factor[..., None] if factor.ndim == 3 else factor[..., None, None])
        if a is not None:
            state = state + b[:, t][..., None] * (a[:, t][..., None] * before).sum(-2, keepdim=True)
        if beta is not None:
            value = beta[:, t][..., None] * (value - (key[..., None] * state).sum(-2))
        state = state + key[..., None] * value[..., None, :]
        outs.append((q[:, t][..., None] * state).sum(-2) * q.shape[-1] ** -0.5)
    return torch.stack(outs, 1)


def unit(x: Any) -> Any:
    import torch

    return torch.nn.functional.normalize(x, dim=-1)


@case(
    f"{_OPS}/gla/chunk.py: chunk_gla_fwd_A_kernel_intra_sub_inter chunk_gla_fwd_A_kernel_intra_sub_intra "
    "chunk_gla_fwd_kernel_o chunk_gla_bwd_kernel_intra chunk_gla_bwd_kernel_dA chunk_gla_bwd_kernel_dv "
    "chunk_gla_bwd_kernel_inter",
    _STATES, f"{_OPS}/utils/cumsum.py: chunk_local_cumsum_vector_kernel",
)  # fmt: skip
def fla_chunk_gla() -> float:
    ours, n = fla("ops.gla.chunk").chunk_gla, 70
    return with_gradients(lambda q, k, v, g: ours(q, k, v, g)[0], stepped, heads(n), heads(n), heads(n), gates(n, 32))


@case(_STEPS)
def fla_fused_recurrent_gla() -> float:
    ours, n = fla("ops.gla.fused_recurrent").fused_recurrent_gla, 9
    return with_gradients(lambda q, k, v, g: ours(q, k, v, g)[0], stepped, heads(n), heads(n), heads(n), gates(n, 32))


@case(
    f"{_COMMON}/chunk_o.py: chunk_fwd_kernel_o chunk_bwd_kernel_dqkwg chunk_bwd_kernel_dv", _STATES,
    f"{_OPS}/utils/cumsum.py: chunk_local_cumsum_scalar_kernel",
)  # fmt: skip
def fla_chunk_simple_gla() -> float:
    ours, n = fla("ops.simple_gla.chunk").chunk_simple_gla, 70
    return with_gradients(lambda q, k, v, g: ours(q, k, v, g)[0], stepped, heads(n), heads(n), heads(n), gates(n))


@case(f"{_COMMON}/fused_chunk.py: fused_chunk_fwd_kernel fused_chunk_bwd_kernel")
def fla_fused_chunk_simple_gla() -> float:
    ours, n = fla("ops.simple_gla.fused_chunk").fused_chunk_simple_gla, 70
    return with_gradients(lambda q, k, v, g: ours(q, k, v, g)[0], stepped, heads(n), heads(n), heads(n), gates(n))


@case(f"{_OPS}/simple_gla/parallel.py: parallel_simple_gla_fwd_kernel parallel_simple_gla_bwd_kernel")
def fla_parallel_simple_gla() -> float:
    ours, n = fla("ops.simple_gla.parallel").parallel_simple_gla, 70
    return with_gradients(lambda q, k, v, g: ours(q, k, v, g)[0], stepped, heads(n), heads(n), heads(n), gates(n))


@case(_STATES, f"{_COMMON}/chunk_o.py: chunk_fwd_kernel_o chunk_bwd_kernel_dqkwg chunk_bwd_kernel_dv")
def fla_chunk_retention_bf16() -> float:
    import math

    import torch

    ours, n = fla("ops.retention.chunk").chunk_retention, 70
    decay = torch.full((1, n, 1), math.log(1 - 2.0**-5))
    return with_gradients(
        lambda *x: ours(*(y.bfloat16() for y in x))[0].float(), lambda *x: stepped(*x, decay),
        heads(n), heads(n), heads(n),
    )  # fmt: skip


@case(
    f"{_OPS}/delta_rule/wy_fast.py: recompute_w_u_fwd_kernel prepare_wy_repr_bwd_kernel", _DELTA_STATES,
    f"{_COMMON}/chunk_scaled_dot_kkt.py: chunk_scaled_dot_kkt_fwd_kernel",
    f"{_OPS}/utils/solve_tril.py: merge_16x16_to_64x64_inverse_kernel",
    f"{_COMMON}/chunk_o.py: chunk_fwd_kernel_o chunk_bwd_kernel_dqkwg chunk_bwd_kernel_dv_local",
)  # fmt: skip
def fla_chunk_delta_rule() -> float:
    import torch

    ours, n = fla("ops.delta_rule.chunk").chunk_delta_rule, 70
    inputs = heads(n), unit(heads(n)), heads(n), torch.rand(1, n, 1)
    return with_gradients(
        lambda q, k, v, beta: ours(*(x.bfloat16() for x in (q, k, v, beta)))[0].float(),
        lambda q, k, v, beta: stepped(q, k, v, None, beta), *inputs,
    )  # fmt: skip


@case(
    f"{_OPS}/delta_rule/fused_recurrent.py: fused_recurrent_delta_rule_fwd_kernel fused_recurrent_delta_rule_bwd_kernel"
)
def fla_fused_recurrent_delta_rule() -> float:
    import torch

    ours, n = fla("ops.delta_rule.fused_recurrent").fused_recurrent_delta_rule, 9
    return with_gradients(
        lambda q, k, v, beta: ours(q, k, v, beta)[0], lambda q, k, v, beta: stepped(q, k, v, None, beta),
        heads(n), unit(heads(n)), heads(n), torch.rand(1, n, 1),
    )  # fmt: skip


@case(
    f"{_OPS}/gated_delta_rule/chunk_fwd.py: chunk_gated_delta_rule_fwd_kkt_solve_kernel", _DELTA_STATES,
    f"{_OPS}/gated_delta_rule/wy_fast.py: recompute_w_u_fwd_kernel prepare_wy_repr_bwd_kernel",
)  # fmt: skip
def fla_chunk_gated_delta_rule() -> float:
    import torch

    ours, n = fla("ops.gated_delta_rule.chunk").chunk_gated_delta_rule, 70
    return with_gradients(
        lambda q, k, v, g, beta: ours(*(x.bfloat16() for x in (q, k, v)), g, beta)[0].float(),
        lambda q, k, v, g, beta: stepped(q, k, v, g, beta),
        heads(n), unit(heads(n)), heads(n), gates(n), torch.rand(1, n, 1),
    )  # fmt: skip


@case(f"{_OPS}/gated_delta_rule/fused_recurrent.py: fused_recurrent_gated_delta_rule_fwd_kernel")
def fla_fused_recurrent_gated_delta_rule() -> float:
    import torch

    ours, n = fla("ops.gated_delta_rule.fused_recurrent").fused_recurrent_gated_delta_rule, 9
    q, k, v, g, beta = heads(n), unit(heads(n)), heads(n), gates(n), torch.rand(1, n, 1)
    return far((ours(q, k, v, g, beta=beta)[0], stepped(q, k, v, g, beta)))


@case(
    f"{_OPS}/kda/chunk_intra.py: chunk_kda_fwd_kernel_inter_solve_fused chunk_kda_bwd_kernel_intra",
    f"{_OPS}/kda/chunk_intra_token_parallel.py: chunk_kda_fwd_kernel_intra_token_parallel",
    f"{_OPS}/kda/chunk_bwd.py: chunk_kda_bwd_kernel_dAv chunk_kda_bwd_kernel_wy_dqkg_fused",
    f"{_OPS}/kda/wy_fast.py: recompute_w_u_fwd_kda_kernel",
)  # fmt: skip
def fla_chunk_kda() -> float:
    import torch

    ours, n = fla("ops.kda.chunk").chunk_kda, 70
    return with_gradients(
        lambda q, k, v, g, beta: ours(*(x.bfloat16() for x in (q, k, v)), g, beta)[0].float(),
        lambda q, k, v, g, beta: stepped(q, k, v, g, beta),
        heads(n), unit(heads(n)), heads(n), gates(n, 32), torch.rand(1, n, 1),
    )  # fmt: skip


@case(f"{_OPS}/kda/fused_recurrent.py: fused_recurrent_kda_fwd_kernel")
def fla_fused_recurrent_kda() -> float:
    import torch

    ours, n = fla("ops.kda.fused_recurrent").fused_recurrent_kda, 9
    q, k, v, g, beta = heads(n), unit(heads(n)), heads(n), gates(n, 32), torch.rand(1, n, 1)
    return far((ours(q, k, v, g, beta)[0], stepped(q, k, v, g, beta)))


@case(f"{_OPS}/generalized_delta_rule/dplr/fused_recurrent.py: fused_recurrent_dplr_delta_rule_fwd_kernel")
def fla_fused_recurrent_dplr_delta_rule() -> float:
    ours, n = fla("ops.generalized_delta_rule.dplr.fused_recurrent").fused_recurrent_dplr_delta_rule, 9
    q, k, v, a, b, g = heads(n), heads(n), heads(n), -unit(heads(n)), unit(heads(n)) / 2, gates(n, 32)
    return far((ours(q, k, v, a, b, g)[0], stepped(q, k, v, g, None, a, b)))


@case(
    f"{_OPS}/generalized_delta_rule/dplr/chunk_h_fwd.py: chunk_dplr_fwd_kernel_h",
    f"{_OPS}/generalized_delta_rule/dplr/chunk_o_fwd.py: chunk_dplr_fwd_kernel_o",
    f"{_OPS}/generalized_delta_rule/dplr/wy_fast_fwd.py: wu_fwd_kernel",
    f"{_OPS}/generalized_delta_rule/dplr/wy_fast_bwd.py: prepare_wy_repr_bwd_kernel",
    f"{_OPS}/generalized_delta_rule/dplr/chunk_h_bwd.py: chunk_dplr_bwd_kernel_dhu",
    f"{_OPS}/generalized_delta_rule/dplr/chunk_o_bwd.py: chunk_dplr_bwd_kernel_dAu chunk_dplr_bwd_o_kernel "
    "chunk_dplr_bwd_kernel_dv",
    f"{_OPS}/generalized_delta_rule/dplr/chunk_A_bwd.py: chunk_dplr_bwd_dgk_kernel",
)  # fmt: skip
def fla_chunk_dplr_delta_rule() -> float:
    ours, n = fla("ops.generalized_delta_rule.dplr.chunk").chunk_dplr_delta_rule, 40
    inputs = heads(n), heads(n), heads(n), -unit(heads(n)), unit(heads(n)) / 2, gates(n, 32)
    return with_gradients(
        lambda q, k, v, a, b, g: ours(*(x.bfloat16() for x in (q, k, v, a, b)), g)[0].float(),
        lambda q, k, v, a, b, g: stepped(q, k, v, g, None, a, b), *inputs,
    )  # fmt: skip


@case(
    f"{_OPS}/generalized_delta_rule/iplr/fused_recurrent.py: fused_recurrent_fwd_kernel fused_recurrent_bwd_kernel"
)  # fmt: skip
def fla_fused_recurrent_iplr_delta_rule() -> float:
    ours, n = fla("ops.generalized_delta_rule.iplr.fused_recurrent").fused_recurrent_iplr_delta_rule, 9
    return with_gradients(
        lambda q, k, v, a, b: ours(q, k, v, a, b)[0], lambda q, k, v, a, b: stepped(q, k, v, None, None, a, b),
        heads(n), heads(n), heads(n), -unit(heads(n)), unit(heads(n)) / 2,
    )  # fmt: skip


@case(
    f"{_OPS}/generalized_delta_rule/iplr/chunk.py: chunk_generalized_iplr_delta_rule_fwd_kernel_h "
    "chunk_generalized_iplr_delta_rule_fwd_kernel_o",
    f"{_OPS}/generalized_delta_rule/iplr/wy_fast.py: prepare_wy_repr_fwd_kernel_chunk64 wu_fwd_kernel",
)  # fmt: skip
def fla_chunk_iplr_delta_rule() -> float:
    ours, n = fla("ops.generalized_delta_rule.iplr.chunk").chunk_iplr_delta_rule, 70
    q, k, v, a, b = heads(n), heads(n), heads(n), -unit(heads(n)), unit(heads(n)) / 2
    found = ours(*(x.bfloat16() for x in (q, k, v, a, b)))[0]
    return far((found, stepped(q, k, v, None, None, a, b)))


def hgrn(x: Any, g: Any) -> Any:
    import torch

    state, outs = torch.zeros_like(x[:, 0]), []
    for t in range(x.shape[1]):
        state = state * g[:, t].exp() + x[:, t]
        outs.append(state)
    return torch.stack(outs, 1)


@case(f"{_OPS}/hgrn/fused_recurrent.py: fused_recurrent_hgrn_fwd_kernel fused_recurrent_hgrn_bwd_kernel")
def fla_fused_recurrent_hgrn() -> float:
    ours = fla("ops.hgrn.fused_recurrent").fused_recurrent_hgrn
    return with_gradients(lambda x, g: ours(x, g)[0], hgrn, drawn(1, 9, 40), gates(9, 40)[:, :, 0])


@case(
    f"{_OPS}/hgrn/chunk.py: chunk_hgrn_fwd_kernel_h chunk_hgrn_fwd_kernel_o chunk_hgrn_bwd_kernel_h "
    "chunk_hgrn_bwd_kernel_o"
)
def fla_chunk_hgrn() -> float:
    ours = fla("ops.hgrn.chunk").chunk_hgrn
    return with_gradients(lambda x, g: ours(x, g)[0], hgrn, drawn(1, 140, 40), gates(140, 40)[:, :, 0])


def rwkv6(r: Any, k: Any, v: Any, w: Any, u: Any) -> Any:
    import torch

    state, outs = torch.zeros(1, 1, 32, 32), []
    for t in range(r.shape[1]):
        pair = k[:, t][..., None] * v[:, t][..., None, :]
        outs.append((r[:, t][..., None] * (state + u[None, ..., None] * pair)).sum(-2) * 32**-0.5)
        state = state * w[:, t].exp()[..., None] + pair
    return torch.stack(outs, 1)


@case(
    f"{_OPS}/rwkv6/fused_recurrent.py: fused_recurrent_rwkv6_fwd_kernel fused_recurrent_rwkv6_bwd_kernel_dq "
    "fused_recurrent_rwkv6_bwd_kernel_dkv fused_recurrent_rwkv6_bwd_kernel_dw"
)
def fla_fused_recurrent_rwkv6() -> float:
    ours, n = fla("ops.rwkv6.fused_recurrent").fused_recurrent_rwkv6, 9
    inputs = heads(n), heads(n), heads(n), gates(n, 32), drawn(1, 32)
    return with_gradients(lambda *x: ours(*x, scale=32**-0.5)[0], rwkv6, *inputs)


@case(
    f"{_OPS}/rwkv6/chunk.py: chunk_rwkv6_fwd_cumsum_kernel chunk_rwkv6_fwd_A_kernel_intra_sub_inter "
    "chunk_rwkv6_fwd_A_kernel_intra_sub_intra chunk_rwkv6_bwd_kernel_dh chunk_rwkv6_bwd_kernel_intra "
    "chunk_rwkv6_bwd_kernel_inter"
)
def fla_chunk_rwkv6() -> float:
    ours, n = fla("ops.rwkv6.chunk").chunk_rwkv6, 70
    inputs = heads(n), heads(n), heads(n), gates(n, 32), drawn(1, 32)
    return with_gradients(lambda *x: ours(*x, scale=32**-0.5)[0], rwkv6, *inputs)


@case(
    f"{_OPS}/rwkv4/fused_recurrent.py: fused_recurrent_rwkv4_forward_kernel fused_recurrent_rwkv4_backward_kernel"
)  # fmt: skip
def fla_fused_recurrent_rwkv4() -> float:
    import torch

    ours = fla("ops.rwkv4.fused_recurrent").fused_recurrent_rwkv4
    state = torch.zeros(2, 3, 1, 24)
    state[:, 2] = -1e38

    def theirs(w: Any, u: Any, k: Any, v: Any) -> Any:
        outs, over, under = [], torch.zeros(2, 24), torch.zeros(2, 24)
        for t in range(k.shape[1]):
            now = (u + k[:, t]).exp()
            outs.append((over + now * v[:, t]) / (under + now))
            factor, weight = (-w.exp()).exp(), k[:, t].exp()
            over, under = factor * over + weight * v[:, t], factor * under + weight
        return torch.stack(outs, 1)

    return with_gradients(
        lambda w, u, k, v: ours(w, u, k, v, state)[0], theirs, drawn(24), drawn(24), drawn(2, 7, 24), drawn(2, 7, 24)
    )


@case(f"{_OPS}/rwkv7/fused_recurrent.py: fused_recurrent_rwkv7_fwd_kernel")
def fla_fused_recurrent_rwkv7() -> float:
    ours, n = fla("ops.rwkv7.fused_recurrent").fused_mul_recurrent_rwkv7, 9
    import torch

    r, k, v, kk, a, w = heads(n), heads(n), heads(n), unit(heads(n)), torch.rand(1, n, 1, 32), gates(n, 32)
    expected = stepped(r, k, v, w, None, -kk, kk * a) * 32**0.5
    return far((ours(r, w, k, v, kk, a, scale=1.0)[0], expected))


@case(f"{_OPS}/rwkv7/fused_addcmul.py: fused_addcmul_fwd_kernel addcmul_bwd_kernel1")
def fla_fused_addcmul_rwkv7() -> float:
    module = fla("ops.rwkv7.fused_addcmul")
    inputs = drawn(1, 5, 40), drawn(1, 5, 40), *(drawn(1, 1, 40) for _ in range(6))
    return with_gradients(module.fused_addcmul_rwkv7, module.torch_addcmul_rwkv7, *inputs)


@case(f"{_OPS}/rwkv7/fused_k_update.py: k_update_fwd_kernel_short k_update_bwd_kernel_short")
def fla_fused_k_rwkv7() -> float:
    module = fla("ops.rwkv7.fused_k_update")
    return with_gradients(module.fused_k_rwkv7, module.k_update_ref, drawn(1, 5, 40), drawn(1, 5, 40), drawn(40))


@case(
    f"{_OPS}/rwkv7/channel_mixing.py: rwkv_seq_mix_kernel rwkv_channel_mixing_pow_and_relu relu_square_bwd_kernel "
    "rwkv_mix_bwd_kenel"
)
def fla_channel_mixing_rwkv7() -> float:
    module = fla("ops.rwkv7.channel_mixing")
    inputs = drawn(1, 5, 32), drawn(1, 32), drawn(1, 1, 32), drawn(32, 64) / 4, drawn(64, 32) / 4
    return with_gradients(
        lambda *x: module.channel_mixing_rwkv7(*x)[0], lambda *x: module.channel_mixing_rwkv7_torch(*x)[0], *inputs
    )


@case(
    f"{_OPS}/rwkv7/gate_output_correction.py: gate_output_correction_fwd_kernel gate_output_correction_bwd_kernel"
)  # fmt: skip
def fla_gate_output_correction_rwkv7() -> float:
    module = fla("ops.rwkv7.gate_output_correction")
    inputs = drawn(1, 5, 64), drawn(1, 5, 2, 32), drawn(1, 5, 2, 32), drawn(2, 32), drawn(1, 5, 2, 32), drawn(1, 5, 64)
    return with_gradients(module.gate_output_correction, module.gate_output_correction_ref, *inputs)


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
