# SPDX-License-Identifier: MIT
"""Cases of flash-linear-attention with a state: gated attention, delta rules, HGRN, RWKV.

The expected results are recurrences of this file: a state that decays, is corrected by what it predicts, and takes up a
product of key and value in each step.
"""

from typing import Any

from tools.language_programs.fla import case, fla, gates, heads
from tools.language_programs.tensors import drawn, far, with_gradients

_OPS, _COMMON = "fla/ops", "fla/ops/common"
_STATES = f"{_COMMON}/chunk_h.py: chunk_fwd_kernel_h chunk_bwd_kernel_dh"
_DELTA_STATES = (
    f"{_COMMON}/chunk_delta_h.py: chunk_gated_delta_rule_fwd_kernel_h_blockdim64 "
    "chunk_gated_delta_rule_bwd_kernel_dhu_blockdim64"
)
_STEPS = f"{_COMMON}/fused_recurrent.py: fused_recurrent_fwd_kernel fused_recurrent_bwd_kernel"


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
