# SPDX-License-Identifier: MIT
"""Kernels around attention."""

from typing import Any

import torch

from tools.public_kernels.triton_cases import Draws, Repository, Row, int32, int64, triton_cases

FLASH_ATTENTION = Repository("Dao-AILab/flash-attention", "0251105a2fb19d2957484b7f023cd8c115286ced", "BSD-3-Clause")

XFORMERS = Repository("facebookresearch/xformers", "ca6d2aa0d43241fc8a8dcd872debc2406160160d", "BSD-3-Clause")

LIGHTNING_ATTENTION = Repository("OpenNLPLab/lightning-attention", "d15c38529bbd5c2c82b44ddda3cac885825aa873", "MIT")

RING_FLASH_ATTENTION = Repository("zhuzilin/ring-flash-attention", "899628238f2f5bb8c028579c89b7cd56ea451d2a", "MIT")


def _cross_entropy_backward(m: Any, d: Draws) -> None:
    logits = d.bf16(5, 1000, scale=3).requires_grad_()
    m.CrossEntropyLoss.apply(logits, d.integers(0, 1000, 5, dtype="int64"), None, 0.1, 0.7, 1e-4)[0].sum().backward()


def _srms_norm_backward(m: Any, d: Draws) -> None:
    m._SrmsNorm.apply(d.f32(6, 600).requires_grad_(), 1e-6).backward(d.f32(6, 600))


CASES = (
    *triton_cases(
        FLASH_ATTENTION,
        "flash_attn/ops/triton",
        Row(
            "rotary",
            "rotary",
            lambda m, d: m.apply_rotary(d.f16(2, 17, 3, 64), d.f16(40, 16), d.f16(40, 16), seqlen_offsets=5),
            "rotary_kernel",
        ),
        Row(
            "rotary_interleaved",
            "rotary",
            lambda m, d: m.apply_rotary(
                d.bf16(2, 11, 2, 48), d.bf16(20, 24), d.bf16(20, 24), interleaved=True, conjugate=True
            ),
            "rotary_kernel",
        ),
        Row(
            "cross_entropy",
            "cross_entropy",
            lambda m, d: m.CrossEntropyLoss.apply(
                d.bf16(5, 1000, scale=3), d.integers(0, 1000, 5, dtype="int64"), None, 0.1, 0.7, 1e-4
            ),
            "cross_entropy_fwd_kernel",
        ),
        Row(
            "layer_norm_residual",
            "layer_norm",
            lambda m, d: m._layer_norm_fwd(d.f16(5, 320), d.f16(320), d.f16(320), 1e-5, residual=d.f16(5, 320)),
            "_layer_norm_fwd_1pass_kernel",
        ),
        Row(
            "rms_norm_zero_centred",
            "layer_norm",
            lambda m, d: m._layer_norm_fwd(
                d.bf16(4, 777), d.f32(777), None, 1e-6, zero_centered_weight=True, is_rms_norm=True
            ),
            "_layer_norm_fwd_1pass_kernel",
        ),
        Row(
            "layer_norm_bwd",
            "layer_norm",
            lambda m, d: m._layer_norm_bwd(
                d.f16(5, 320), d.f16(5, 320), d.f16(320), d.f16(320), 1e-5, d.f32(5), d.uniform(5)
            ),
            "_layer_norm_bwd_kernel",
        ),
        Row("cross_entropy_bwd", "cross_entropy", _cross_entropy_backward, "cross_entropy_bwd_kernel"),
    ),
    *triton_cases(
        XFORMERS,
        "xformers/ops/_triton",
        Row(
            "rms_norm",
            "rmsnorm_kernels",
            lambda m, d: m._rms_norm_forward(d.bf16(5, 700), d.bf16(700), 1e-6),
            "_rms_norm_kernel",
        ),
        Row(
            "rms_norm_add",
            "rmsnorm_kernels",
            lambda m, d: m._rms_norm_add_forward(d.f16(5, 512), d.f16(5, 512), d.f16(512), 1e-6),
            "_rms_norm_add_kernel",
        ),
        Row(
            "scaled_index_add",
            "k_scaled_index_add",
            lambda m, d: m.scaled_index_add_fwd(d.f16(7, 5, 96), int64(1, 4, 6), d.f16(3, 5, 96), d.f16(96), 0.7),
            "scaled_index_add_fwd_kernel",
        ),
        Row(
            "index_select_cat",
            "k_index_select_cat",
            lambda m, d: m.index_select_cat_fwd(torch.zeros(4, 150), d.f32(9, 150), int64(8, 1, 3, 5)),
            "index_select_cat_fwd_kernel",
        ),
    ),
    *triton_cases(
        LIGHTNING_ATTENTION,
        "lightning_attn/ops/triton",
        Row("srms_norm", "srmsnorm", lambda m, d: m._SrmsNorm.apply(d.bf16(6, 600), 1e-6), "srms_norm_fw"),
        Row(
            "attn2",
            "lightning_attn2",
            lambda m, d: m.LightningAttention2.apply(
                d.bf16(1, 2, 100, 32), d.bf16(1, 2, 100, 32), d.bf16(1, 2, 100, 32), d.uniform(2) * 0.1
            ),
            "_fwd_kernel",
        ),
        Row("srms_norm_bwd", "srmsnorm", _srms_norm_backward, "srms_norm_bwd_dx_fused"),
    ),
    *triton_cases(
        RING_FLASH_ATTENTION,
        "ring_flash_attn",
        Row(
            "flatten_lse",
            "triton_utils",
            lambda m, d: m.flatten_varlen_lse(d.f32(3, 2, 70), int32(0, 20, 90, 133)),
            "flatten_kernel",
        ),
        Row(
            "unflatten_lse",
            "triton_utils",
            lambda m, d: m.unflatten_varlen_lse(d.f32(133, 2), int32(0, 20, 90, 133), 70),
            "unflatten_kernel",
        ),
    ),
)
