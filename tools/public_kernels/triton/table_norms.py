# SPDX-License-Identifier: MIT
"""Layer norms and RMS norms: sums are divided by a length, and epsilon is added to the quotient."""

import contextlib
import types
from typing import Any

import torch

from tools.public_kernels.triton_cases import Draws, Repository, Row, triton_cases

LIGER = Repository(
    "linkedin/Liger-Kernel", "ead96b618e5c67bddc6a6e9bcb99bfe6b5ab661c", "BSD-2-Clause", "src", ("transformers",)
)  # fmt: skip


def _settings(columns: int) -> tuple[int, int]:
    """Give what ``calculate_settings`` of unsloth gives for up to 2,048 columns."""
    return 1 << (columns - 1).bit_length(), 8 if columns > 1024 else 4


UNSLOTH = Repository(
    "unslothai/unsloth", "015bdef0d94a241bcd94eec7a405b1700632180d", "Apache-2.0",
    given={
        "unsloth.kernels.utils": {
            "calculate_settings": _settings, "torch_gpu_device": lambda _: contextlib.nullcontext()
        }
    },
)  # fmt: skip

FLAGGEMS = Repository(
    "FlagOpen/FlagGems", "532ff438c70343d7aec9becdabb76a71225a0553", "Apache-2.0", "src",
    environment={"GEMS_VENDOR": "nvidia"},
)  # fmt: skip

TUTORIAL = Repository(
    "triton-lang/triton", "545699290b851e70231ee3017481851170f1583d", "MIT", until="\n\ntest_layer_norm("
)  # fmt: skip


def _tutorial(rows: int, columns: int, dtype: torch.dtype) -> Any:
    def host(module: types.ModuleType, d: Draws) -> None:
        x = d.f32(rows, columns, scale=0.5, shift=-2.3).to(dtype)
        module.layer_norm(x, (columns,), d.uniform(columns).to(dtype), d.uniform(columns).to(dtype), 1e-5)

    return host


def _liger_rms(rows: int, columns: int, dtype: torch.dtype, mode: str) -> Any:
    offset = 0.0 if mode == "llama" else 1.0
    return lambda m, d: m.rms_norm_forward(
        d.f32(rows, columns).to(dtype), d.f32(columns).to(dtype), 1e-6, offset, mode, None
    )  # fmt: skip


def _layer_norm(rows: int, columns: int, dtype: torch.dtype, function: str, *shape: tuple[int]) -> Any:
    return lambda m, d: getattr(m, function)(
        d.f32(rows, columns).to(dtype), *shape, d.f32(columns).to(dtype), d.f32(columns).to(dtype), 1e-5
    )  # fmt: skip


def _unsloth(rows: int, columns: int, dtype: torch.dtype, gemma: bool) -> Any:
    return lambda m, d: m.Fast_RMS_Layernorm.apply(
        d.f32(rows, columns).to(dtype), d.f32(columns).to(dtype), 1e-6, gemma
    )  # fmt: skip


_TUTORIAL, _LIGER, _UNSLOTH = "_layer_norm_fwd_fused", "_rms_norm_forward_kernel", "_rms_layernorm_forward"
_GEMS = "layer_norm_persistent_kernel"

CASES = (
    *triton_cases(
        TUTORIAL, "python/tutorials",
        Row("layer_norm_f16", "05-layer-norm", _tutorial(7, 384, torch.float16), _TUTORIAL),
        Row("layer_norm_f32_odd", "05-layer-norm", _tutorial(5, 1000, torch.float32), _TUTORIAL),
        Row("layer_norm_bf16_1153", "05-layer-norm", _tutorial(6, 1153, torch.bfloat16), _TUTORIAL),
        Row("layer_norm_f16_2048", "05-layer-norm", _tutorial(3, 2048, torch.float16), _TUTORIAL),
    ),
    *triton_cases(
        LIGER, "src/liger_kernel/ops",
        Row("rms_norm_f16_llama", "rms_norm", _liger_rms(7, 512, torch.float16, "llama"), _LIGER),
        Row("rms_norm_bf16_gemma", "rms_norm", _liger_rms(5, 768, torch.bfloat16, "gemma"), _LIGER),
        Row("rms_norm_f32_odd", "rms_norm", _liger_rms(6, 777, torch.float32, "none"), _LIGER),
        Row("layer_norm_f16", "layer_norm", _layer_norm(7, 512, torch.float16, "layer_norm_forward"),
            "_layer_norm_forward_kernel"),
        Row("layer_norm_f32_odd", "layer_norm", _layer_norm(5, 999, torch.float32, "layer_norm_forward"),
            "_layer_norm_forward_kernel"),
    ),
    *triton_cases(
        UNSLOTH, "unsloth/kernels",
        Row("rms_norm_f16", "rms_layernorm", _unsloth(7, 512, torch.float16, False), _UNSLOTH),
        Row("rms_norm_bf16_odd", "rms_layernorm", _unsloth(5, 1000, torch.bfloat16, False), _UNSLOTH),
        Row("rms_norm_gemma_f32", "rms_layernorm", _unsloth(4, 640, torch.float32, True), "_gemma" + _UNSLOTH),
    ),
    *triton_cases(
        FLAGGEMS, "src/flag_gems/ops",
        Row("layer_norm_multiline_f16", "layernorm", _layer_norm(9, 100, torch.float16, "layer_norm", (100,)),
            f"{_GEMS}_multiline"),
        Row("layer_norm_persistent_f32", "layernorm", _layer_norm(5, 777, torch.float32, "layer_norm", (777,)), _GEMS),
        Row("layer_norm_loop_bf16", "layernorm", _layer_norm(2, 5000, torch.bfloat16, "layer_norm", (5000,)),
            "layer_norm_loop_kernel"),
    ),
)  # fmt: skip
