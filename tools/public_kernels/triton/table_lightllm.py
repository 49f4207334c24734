# SPDX-License-Identifier: MIT
"""Kernels of a server of language models, lightllm."""

import types
from typing import Any

import torch

from tools.public_kernels.triton_cases import Draws, Repository, Row, int32, triton_cases

LIGHTLLM = Repository(
    "ModelTC/lightllm",
    "fc72ffab9a3455cfb571f22d45ab777cc29de0de",
    "Apache-2.0",
    absent=(
        "lightllm.common.basemodel.layer_infer.cache_tensor_manager",
        "lightllm.common.req_manager",
        "lightllm.utils.dist_utils",
    ),
    given={"lightllm.utils.device_utils": {"is_tesla": lambda: False}},
)


def _penalty(m: Any, d: Draws) -> None:
    sampling = types.SimpleNamespace(
        req_to_presence_penalty=d.uniform(4),
        req_to_frequency_penalty=d.uniform(4),
        req_to_repetition_penalty=1 + d.uniform(4),
        req_to_exponential_decay_length_penalty=1 + 0.1 * d.uniform(4),
        vocab_size=500,
    )
    tokens = torch.cat([d.order(500)[:30], d.order(500)[:45]]).to(torch.int32)
    of_end = torch.tensor([True, False])
    counts, ends = d.integers(1, 5, 75), int32(0, 30, 75)
    m.apply_penalty(d.f32(2, 500), int32(1, 3), int32(3, 5), of_end, tokens, counts, ends, int32(2, 9), sampling)


CASES = (
    *triton_cases(
        LIGHTLLM,
        "lightllm",
        Row(
            "rmsnorm",
            "models/llama/triton_kernel/rmsnorm",
            lambda m, d: m.rmsnorm_forward(d.bf16(5, 600), d.bf16(600), 1e-6),
            "_rms_norm_fwd_fused",
        ),
        Row(
            "silu_and_mul",
            "models/llama/triton_kernel/silu_and_mul",
            lambda m, d: m.silu_and_mul_fwd(d.f16(7, 500), torch.zeros(7, 250, dtype=torch.float16)),
            "_silu_and_mul_kernel",
        ),
        Row(
            "gelu_erf",
            "models/vit/triton_kernel/gelu_vit",
            lambda m, d: m.gelu_fwd(d.f32(3, 700, scale=2)),
            "gelu_kernel",
        ),
        Row(
            "gelu_tanh_and_mul",
            "models/gemma_2b/triton_kernel/gelu_and_mul",
            lambda m, d: m.gelu_and_mul_fwd(d.bf16(7, 500), torch.zeros(7, 250, dtype=torch.bfloat16)),
            "_gelu_and_mul_kernel",
        ),
        Row(
            "softmax_topk",
            "common/fused_moe/softmax_topk",
            lambda m, d: m.softmax_topk(d.f32(9, 60), 6, True),
            "softmax_topk_kernel",
        ),
        Row(
            "attention_no_prompt",
            "models/llama/triton_kernel/context_flashattention_nopad",
            lambda m, d: m.context_attention_fwd_no_prompt_cache(
                d.f16(90, 2, 64),
                d.f16(90, 1, 64),
                d.f16(90, 1, 64),
                torch.zeros(90, 2, 64, dtype=torch.float16),
                int32(0, 50),
                int32(50, 40),
                50,
            ),
            "_fwd_kernel_no_prompt_cache",
        ),
        Row(
            "softmax_reducev",
            "models/llama/triton_kernel/token_attention_softmax_and_reducev",
            lambda m, d: m.token_softmax_reducev_fwd(
                d.f32(4, 150),
                d.f16(200, 2, 64),
                torch.zeros(2, 4, 64, dtype=torch.float16),
                d.order(200).reshape(2, 100).to(torch.int32),
                int32(0, 1),
                int32(0, 80),
                int32(80, 70),
            ),
            "_fwd_kernel",
        ),
        Row(
            "weight_quant_fp8",
            "common/quantization/triton_quant/fp8/fp8w8a8_block_quant_kernel",
            lambda m, d: m.mm_weight_quant(d.f32(100, 140), 64),
            "weight_quant_kernel",
        ),
        Row(
            "weight_dequant",
            "models/deepseek2/triton_kernel/weight_dequant",
            lambda m, d: m.weight_dequant(d.f32(100, 140).to(torch.float8_e4m3fn), d.uniform(2, 2), 128),
            "weight_dequant_kernel",
        ),
        Row(
            "rotary",
            "models/llama/triton_kernel/rotary_emb",
            lambda m, d: m.rotary_emb_fwd(d.f16(37, 4, 64), d.f16(37, 2, 64), d.f16(37, 32), d.f16(37, 32)),
            "_rotary_kernel",
        ),
        Row("apply_penalty", "common/basemodel/triton_kernel/apply_penalty", _penalty, "_fwd_kernel_apply_penalty"),
    ),
)
