# SPDX-License-Identifier: MIT
"""Layers and losses, forward and backward."""

from typing import Any

import torch

from tools.public_kernels.triton_cases import Draws, Repository, Row, triton_cases

ATTORCH = Repository("BobMcDear/attorch", "67c2772baf33913ef51c2d1064f746ca17b63749", "MIT")

CUT_CROSS_ENTROPY = Repository(
    "apple/ml-cross-entropy", "d42911f9b1a1f98289bb601c35c8151562603d74", "Apple sample code licence"
)


_FORWARD = {"GELU": "float16", "Mish": "float32", "Softplus": "float16", "Tanh": "float32", "SELU": "float16"}
_BACKWARD = ("GELU", "Mish", "Softplus", "SiLU")


def _forward(name: str) -> Row:
    def host(m: Any, d: Draws) -> None:
        x = d.f32(5, 333, scale=3).to(getattr(torch, _FORWARD[name]))
        getattr(m, name)()(x.requires_grad_())

    return Row(f"act_{name.lower()}", "act_kernels", host, "act_func_forward_kernel", "act_layers")


def _backward(name: str) -> Row:
    def host(m: Any, d: Draws) -> None:
        getattr(m, name)()(d.f32(5, 333, scale=3).requires_grad_()).backward(d.f32(5, 333))

    return Row(f"act_bwd_{name.lower()}", "act_kernels", host, "act_func_backward_kernel", "act_layers")


def _huber(m: Any, d: Draws) -> None:
    m.HuberLoss(delta=0.7)(d.f32(50, 50).requires_grad_(), d.f32(50, 50))


CASES = (
    *triton_cases(
        ATTORCH,
        "attorch",
        *(_forward(x) for x in _FORWARD),
        *(_backward(x) for x in _BACKWARD),
        Row(
            "layer_norm",
            "layer_norm_kernels",
            lambda m, d: m.LayerNorm(200, device="cuda")(d.f32(9, 200).requires_grad_()),
            "layer_norm_forward_kernel",
            "layer_norm_layer",
        ),
        Row(
            "batch_norm",
            "batch_norm_kernels",
            lambda m, d: m.BatchNorm2d(6, act_func="silu", device="cuda")(d.f32(4, 6, 7, 7).requires_grad_()),
            "batch_norm_forward_kernel",
            "batch_norm_layer",
        ),
        Row(
            "cross_entropy",
            "cross_entropy_loss_kernels",
            lambda m, d: m.CrossEntropyLoss()(d.f32(19, 50).requires_grad_(), d.integers(0, 50, 19, dtype="int64")),
            "cross_entropy_loss_forward_kernel",
            "cross_entropy_loss_layer",
        ),
        Row(
            "softmax",
            "softmax_kernels",
            lambda m, d: m.Softmax(dim=-1)(d.f32(9, 130).requires_grad_()),
            "softmax_forward_kernel",
            "softmax_layers",
        ),
        Row(
            "conv2d",
            "conv_kernels",
            lambda m, d: m.Conv2d(5, 12, 3, padding=1, stride=2, device="cuda")(d.f32(2, 5, 11, 13).requires_grad_()),
            "conv2d_forward_kernel",
            "conv_layer",
        ),
        Row(
            "linear_gelu",
            "linear_kernels",
            lambda m, d: m.Linear(60, 33, act_func="gelu", device="cuda")(d.f32(40, 60).requires_grad_()),
            "linear_forward_kernel",
            "linear_layer",
        ),
        Row("huber_loss", "p_loss_kernels", _huber, "p_loss_forward_kernel", "p_loss_layers"),
        Row(
            "rms_norm",
            "rms_norm_kernels",
            lambda m, d: m.RMSNorm(150, device="cuda")(d.f32(9, 150).requires_grad_()),
            "rms_norm_forward_kernel",
            "rms_norm_layer",
        ),
        Row(
            "glu",
            "glu_kernels",
            lambda m, d: m.GLU(act_func="sigmoid")(d.f32(9, 150).requires_grad_()),
            "glu_forward_kernel",
            "glu_layer",
        ),
    ),
    *triton_cases(
        CUT_CROSS_ENTROPY,
        "cut_cross_entropy",
        Row(
            "lse_forward",
            "cce_lse_forward",
            lambda m, d: m.cce_lse_forward_kernel(d.bf16(70, 64), d.bf16(150, 64), softcap=20.0),
            "_cce_lse_forward_kernel",
        ),
        Row(
            "indexed_dot",
            "indexed_dot",
            lambda m, d: m.indexed_neg_dot_forward_kernel(
                d.f16(70, 64), d.f16(150, 64), d.integers(0, 150, 70, dtype="int64")
            ),
            "_indexed_neg_dot_forward_kernel",
        ),
        Row(
            "lse_forward_f16",
            "cce_lse_forward",
            lambda m, d: m.cce_lse_forward_kernel(
                d.f16(70, 64), d.f16(150, 64), return_logit_avg=True, valids=d.integers(0, 70, 50)
            ),
            "_cce_lse_forward_kernel",
        ),
    ),
)
