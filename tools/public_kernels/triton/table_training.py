# SPDX-License-Identifier: MIT
"""Kernels of toolkits for training and inference."""

import torch

from tools.public_kernels.triton_cases import Repository, Row, triton_cases

DEEPSPEED = Repository(
    "deepspeedai/DeepSpeed",
    "edaa7221267243c7be7fb49c5d5f5c4fb97b4641",
    "Apache-2.0",
    absent=("deepspeed.accelerator",),
)

COLOSSALAI = Repository("hpcaitech/ColossalAI", "4f9953be335ef371b3848719ddafe596c01ecd37", "Apache-2.0")

KERNL = Repository("ELS-RD/kernl", "91e2cd92db44d503874d39a9f6dec42c9f481a8e", "Apache-2.0", "src")

APPLIED_AI = Repository(
    "meta-pytorch/applied-ai", "2391954b19988bd76cf3c2ea84c1ce74b68d568b", "BSD-3-Clause", "kernels/triton"
)

GPTQ_TRITON = Repository("fpgaminer/GPTQ-triton", "2b79122e56eb622288711b327dcf184505b65096", "Apache-2.0", "src")

CASES = (
    *triton_cases(
        DEEPSPEED,
        "deepspeed/ops",
        Row("gelu", "transformer/inference/triton/gelu", lambda m, d: m.gelu(d.f16(5, 300, scale=2)), "gelu_kernel"),
        Row(
            "softmax_masked",
            "transformer/inference/triton/softmax",
            lambda m, d: m.softmax(d.f16(2, 3, 10, 70), d.f16(2, 3, 10, 70)),
            "masked_softmax_kernel",
        ),
        Row(
            "layer_norm",
            "transformer/inference/triton/layer_norm",
            lambda m, d: m.layer_norm(d.f16(6, 400), d.f16(400), d.f16(400), 1e-5),
            "layer_norm_kernel",
        ),
        Row(
            "layer_norm_residual",
            "transformer/inference/triton/layer_norm",
            lambda m, d: m.layer_norm_residual(d.f16(6, 400), None, d.f16(6, 400), d.f16(400), d.f16(400), 1e-5),
            "layer_norm_residual_kernel",
        ),
        Row(
            "swiglu",
            "triton_ops/swiglu_triton",
            lambda m, d: m.swiglu(d.bf16(5, 700), d.bf16(5, 700)),
            "_swiglu_fwd_kernel",
        ),
        Row(
            "fp8_gemm",
            "fp_quantizer/fp8_gemm_triton",
            lambda m, d: m.matmul_fp8_triton(
                d.bf16(20, 128), d.integers(0, 120, 128, 128, dtype="uint8"), d.uniform(128), 128
            ),
            "matmul_kernel_fp8_bf16",
        ),
    ),
    *triton_cases(
        COLOSSALAI,
        "colossalai/kernel/triton",
        Row("softmax", "softmax", lambda m, d: m.softmax(d.f16(6, 300)), "softmax_kernel"),
        Row(
            "rms_layernorm",
            "rms_layernorm",
            lambda m, d: m.rms_layernorm(d.f16(6, 512), d.f16(512), 1e-6),
            "_rmsnorm_kernel",
        ),
        Row(
            "rms_layernorm_residual",
            "rms_layernorm",
            lambda m, d: m.rms_layernorm(d.f16(6, 500), d.f16(500), 1e-6, residual=d.f16(6, 500)),
            "_rmsnorm_with_residual_kernel",
        ),
        Row(
            "llama_act_combine",
            "llama_act_combine_kernel",
            lambda m, d: m.LlamaActCombine.apply(d.f32(6, 400), d.f32(6, 200)),
            "_llama_act_combine_forward",
        ),
    ),
    *triton_cases(
        KERNL,
        "src/kernl/implementations",
        Row(
            "layer_norm_welford",
            "layer_norm",
            lambda m, d: m.layer_norm(d.f16(6, 700), d.f16(700), d.f16(700), 1e-5),
            "_layer_norm_fwd_fused_single_pass",
        ),
        Row(
            "layer_norm_multi_pass",
            "layer_norm",
            lambda m, d: m.layer_norm(d.f16(6, 700), d.f16(700), None, 1e-5, m._layer_norm_fwd_fused_multi_pass, True),
            "_layer_norm_fwd_fused_multi_pass",
        ),
        Row(
            "attention",
            "attention",
            lambda m, d: m.attention_forward(
                d.f16(1, 2, 80, 64),
                d.f16(1, 2, 80, 64),
                d.f16(1, 2, 80, 64),
                torch.zeros(1, 2, 80, 64, dtype=torch.float16),
                0.125,
                True,
            ),
            "_fwd_kernel",
        ),
    ),
    *triton_cases(
        APPLIED_AI,
        "kernels/triton",
        Row(
            "fused_rms_norm",
            "training/rms_norm/fused_rms_norm",
            lambda m, d: m.fused_rms_norm_fn(d.f32(6, 600), d.f32(600), 1e-6),
            "_rms_norm_fwd_kernel",
        ),
        Row(
            "fused_softmax",
            "training/fused_softmax/softmax",
            lambda m, d: m.fused_softmax(d.f32(6, 200)),
            "_softmax_kernel_fwd",
        ),
    ),
    *triton_cases(
        GPTQ_TRITON,
        "src/gptq_triton",
        Row(
            "matmul4",
            "quant_linear",
            lambda m, d: m.triton_matmul4(
                128,
                d.f16(1, 17, 256),
                d.integers(-(2**31), 2**31 - 1, 32, 256),
                d.f16(2, 256, scale=0.05),
                d.integers(-(2**31), 2**31 - 1, 2, 32),
            ),
            "matmul4_kernel",
        ),
    ),
)
