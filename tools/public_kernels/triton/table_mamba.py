# SPDX-License-Identifier: MIT
"""Kernels of state-space models."""

import torch

from tools.public_kernels.triton_cases import Repository, Row, triton_cases

MAMBA = Repository("state-spaces/mamba", "e9594ce1c732d97440f0332fdc43170a2294dbfa", "Apache-2.0")

CASES = (
    *triton_cases(
        MAMBA,
        "mamba_ssm/ops/triton",
        Row(
            "selective_state_update",
            "selective_state_update",
            lambda m, d: m.selective_state_update(
                d.f32(2, 4, 24, 16),
                d.bf16(2, 4, 24),
                d.bf16(2, 4, 24),
                -d.uniform(4, 24, 16),
                d.bf16(2, 2, 16),
                d.bf16(2, 2, 16),
                D=d.f32(4, 24),
                z=d.bf16(2, 4, 24),
                dt_bias=d.f32(4, 24),
                dt_softplus=True,
            ),
            "_selective_scan_update_kernel",
        ),
        Row(
            "layernorm_gated_rms",
            "layernorm_gated",
            lambda m, d: m._layer_norm_fwd(
                d.f16(6, 300),
                d.f32(300),
                None,
                1e-6,
                z=d.f16(6, 300),
                group_size=100,
                norm_before_gate=False,
                is_rms_norm=True,
            ),
            "_layer_norm_fwd_1pass_kernel",
        ),
        Row(
            "layernorm_gated_ln",
            "layernorm_gated",
            lambda m, d: m._layer_norm_fwd(d.bf16(5, 512), d.f32(512), d.f32(512), 1e-5, z=d.bf16(5, 512)),
            "_layer_norm_fwd_1pass_kernel",
        ),
        Row("swiglu", "k_activations", lambda m, d: m._swiglu_fwd(d.bf16(5, 666)), "_swiglu_fwd_kernel"),
        Row(
            "swiglu_bwd",
            "k_activations",
            lambda m, d: m._swiglu_bwd(d.f32(3, 600), d.f32(3, 300)),
            "_swiglu_bwd_kernel",
        ),
        Row(
            "ssd_chunk_cumsum",
            "ssd_chunk_state",
            lambda m, d: m._chunk_cumsum_fwd(d.bf16(1, 150, 6), -d.uniform(6), 64, dt_bias=d.f32(6), dt_softplus=True),
            "_chunk_cumsum_fwd_kernel",
        ),
        Row(
            "ssd_chunk_state",
            "ssd_chunk_state",
            lambda m, d: m._chunk_state_fwd(
                d.bf16(1, 128, 1, 32),
                d.bf16(1, 128, 2, 32),
                d.uniform(1, 2, 2, 64),
                torch.cumsum(-d.uniform(1, 2, 2, 64), -1),
            ),
            "_chunk_state_fwd_kernel",
        ),
        Row(
            "ssd_bmm",
            "ssd_bmm",
            lambda m, d: m._bmm_chunk_fwd(
                d.f16(1, 128, 1, 32), d.f16(1, 128, 1, 32), 64, causal=True, output_dtype=torch.float32
            ),
            "_bmm_chunk_fwd_kernel",
        ),
        Row(
            "ssd_state_passing",
            "ssd_state_passing",
            lambda m, d: m._state_passing_fwd(d.f32(2, 3, 2, 200), -d.uniform(2, 2, 3)),
            "_state_passing_fwd_kernel",
        ),
        Row(
            "ssd_chunk_scan",
            "ssd_chunk_scan",
            lambda m, d: m._chunk_scan_fwd(
                d.f32(1, 2, 1, 64, 64),
                d.bf16(1, 128, 2, 32),
                d.uniform(1, 2, 2, 64),
                torch.cumsum(-d.uniform(1, 2, 2, 64), -1),
                d.bf16(1, 128, 1, 32),
                d.f32(1, 2, 2, 32, 32),
                D=d.f32(2),
                z=d.bf16(1, 128, 2, 32),
            ),
            "_chunk_scan_fwd_kernel",
        ),
        Row(
            "layernorm_gated_bwd",
            "layernorm_gated",
            lambda m, d: m._layer_norm_bwd(
                d.bf16(6, 300),
                d.bf16(6, 300),
                d.f32(300),
                d.f32(300),
                1e-5,
                d.f32(6),
                d.uniform(6),
                z=d.bf16(6, 300),
                recompute_output=True,
            ),
            "_layer_norm_bwd_kernel",
        ),
        Row(
            "ssd_chunk_cumsum_bwd",
            "ssd_chunk_state",
            lambda m, d: m._chunk_cumsum_bwd(
                d.f32(1, 6, 2, 64),
                d.f32(1, 6, 2, 64),
                d.bf16(1, 128, 6),
                -d.uniform(6),
                dt_bias=d.f32(6),
                dt_softplus=True,
            ),
            "_chunk_cumsum_bwd_kernel",
        ),
    ),
)
