# SPDX-License-Identifier: MIT
"""Kernels of a server of language models, lmdeploy."""

import logging

import torch

from tools.public_kernels.triton_cases import Repository, Row, int32, int64, triton_cases

LMDEPLOY = Repository(
    "InternLM/lmdeploy",
    "1263d5cd889b7ad500e85b8eb20401327a4516ab",
    "Apache-2.0",
    given={"lmdeploy.utils": {"get_logger": logging.getLogger}},
)

CASES = (
    *triton_cases(
        LMDEPLOY,
        "lmdeploy/pytorch/kernels/cuda",
        Row(
            "multinomial_sampling",
            "multinomial_sampling",
            lambda m, d: m.multinomial_sampling(
                torch.softmax(d.f32(5, 300), -1).sort(-1, descending=True)[0].contiguous(),
                d.integers(0, 1 << 40, 5, dtype="int64"),
                d.integers(0, 99, 5, dtype="int64"),
            ),
            "_multinomial_sampling_kernel",
        ),
        Row(
            "fused_noaux_tc",
            "fused_noaux_tc",
            lambda m, d: m.fused_noaux_tc_routing(d.f32(6, 256), d.f32(256, scale=0.1)),
            "_fused_noaux_tc_kernel",
        ),
        Row(
            "add_rms_norm",
            "rms_norm",
            lambda m, d: m.rms_norm(d.bf16(1, 6, 320), d.bf16(320), residual=d.bf16(1, 6, 320)),
            "add_rms_norm_kernel",
        ),
        Row("silu_and_mul", "activation", lambda m, d: m.silu_and_mul(d.f16(9, 600)), "_silu_and_mul_kernel"),
        Row(
            "rotary",
            "apply_rotary_pos_emb",
            lambda m, d: m.apply_rotary_pos_emb(d.bf16(21, 4, 64), d.bf16(21, 2, 64), d.bf16(21, 64), d.bf16(21, 64)),
            "apply_rotary_pos_emb_qk_kernel",
        ),
        Row(
            "awq_linear",
            "awq_kernels",
            lambda m, d: m.awq_linear(
                d.f16(20, 128),
                d.integers(-(2**31), 2**31 - 1, 128, 8),
                d.f16(2, 64, scale=0.05),
                d.integers(-(2**31), 2**31 - 1, 2, 8),
            ),
            "awq_linear_kernel",
        ),
        Row(
            "per_token_quant_int8",
            "w8a8_triton_kernels",
            lambda m, d: m.per_token_quant_int8(d.f16(6, 384), 1e-7),
            "_per_token_quant_int8",
        ),
        Row(
            "per_token_quant_fp8",
            "w8a8_triton_kernels",
            lambda m, d: m.per_token_quant_int8(d.bf16(6, 384), 1e-7, torch.float8_e4m3fn),
            "_per_token_quant_int8",
        ),
        Row(
            "rms_norm_quant",
            "w8a8_triton_kernels",
            lambda m, d: m.rms_norm_dynamic_quant(d.f16(1, 6, 384), d.f16(384), 1e-6),
            "rms_norm_quant_kernel",
        ),
        Row(
            "linear_int8",
            "w8a8_triton_kernels",
            lambda m, d: m.matmul_kernel_dynamic_quant(
                d.integers(-128, 128, 20, 128, dtype="int8"),
                d.integers(-128, 128, 96, 128, dtype="int8"),
                d.uniform(20, 1),
                d.uniform(96, 1),
            ),
            "_linear",
        ),
        Row("quant_fp8", "blocked_gemm_fp8", lambda m, d: m.quant_fp8(d.bf16(7, 256), 128), "_quant_fp8_kernel"),
        Row(
            "quant_fp8_ue8m0",
            "blocked_gemm_fp8",
            lambda m, d: m.quant_fp8(d.bf16(7, 256), 128, scale_fmt="ue8m0"),
            "_quant_fp8_kernel",
        ),
        Row(
            "single_group_router",
            "fused_single_group_router",
            lambda m, d: m.fused_single_group_topk_router(
                d.uniform(5, 192), d.f32(192, scale=0.1), num_experts=192, top_k=8, routed_scaling_factor=2.5
            ),
            "_single_group_topk_router_kernel",
        ),
        Row(
            "gated_delta_preprocess",
            "gated_delta_preprocess",
            lambda m, d: m.gated_delta_preprocess(
                d.bf16(1, 9, 2, 64), d.bf16(1, 9, 2, 64), d.bf16(1, 9, 4), d.bf16(1, 9, 4), d.f32(4), d.uniform(4), 2
            ),
            "_gated_delta_preprocess_kernel",
        ),
        Row(
            "v4_swiglu_quant",
            "v4_swiglu_quant",
            lambda m, d: m.v4_swiglu_and_quant_fp8(d.bf16(7, 512)),
            "_v4_swiglu_quant_fp8_kernel",
        ),
        Row(
            "fused_lora",
            "fused_lora",
            lambda m, d: m.fused_lora(
                d.f16(40, 64),
                d.f16(24, 64),
                d.f16(24, 48),
                int64(1, 2),
                int64(0, 8),
                int64(8, 16),
                int64(0, 25),
                int64(25, 15),
                int64(0, 1),
                16,
                25,
            ),
            "_fused_lora_kernel",
        ),
        Row(
            "bitonic_topk",
            "bitonic_topk",
            lambda m, d: m.bitonic_topk(d.f32(3, 150), int32(1, 2), int32(150, 90), 64),
            "_bitonic_topk_kernel0",
        ),
    ),
)
