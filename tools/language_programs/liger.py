# SPDX-License-Identifier: MIT
"""Cases of Liger-Kernel's operations, without the packages around them, which need transformers."""

import importlib
from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import bare_package
from tools.language_programs.tensors import drawn, far, with_gradients

LIGER = Project("liger", "linkedin/Liger-Kernel", "ead96b618e5c67bddc6a6e9bcb99bfe6b5ab661c", "BSD-2-Clause")

case = cases_of(LIGER)
_OPS = "src/liger_kernel/ops"


def liger(name: str) -> ModuleType:
    """Import a file of Liger's operations."""
    importlib.import_module("torch.distributed.tensor")  # which some of the files use, and others import
    bare_package("liger_kernel.ops", LIGER.folder / "src")
    return importlib.import_module(f"liger_kernel.ops.{name}")


@case(f"{_OPS}/rms_norm.py: _rms_norm_forward_kernel _rms_norm_backward_kernel")
def liger_rms_norm() -> float:
    import torch

    ours = liger("rms_norm").LigerRMSNormFunction.apply
    theirs = torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, w: ours(x, w, 1e-6), lambda x, w: theirs(x, (64,), w, 1e-6), drawn(6, 64), drawn(64)
    )


@case(f"{_OPS}/layer_norm.py: _layer_norm_forward_kernel _layer_norm_backward_kernel")
def liger_layer_norm() -> float:
    import torch

    ours = liger("layer_norm").LigerLayerNormFunction.apply
    theirs = torch.nn.functional.layer_norm
    return with_gradients(
        lambda x, w, b: ours(x, w, b, 1e-6), lambda x, w, b: theirs(x, (64,), w, b, 1e-6),
        drawn(6, 64), drawn(64), drawn(64),
    )  # fmt: skip


@case(f"{_OPS}/group_norm.py: _group_norm_forward_kernel _group_norm_backward_kernel")
def liger_group_norm() -> float:
    import torch

    ours = liger("group_norm").LigerGroupNormFunction.apply
    theirs = torch.nn.functional.group_norm
    return with_gradients(
        lambda x, w, b: ours(x, w, b, 8, 2, 1e-6), lambda x, w, b: theirs(x, 2, w, b, 1e-6),
        drawn(2, 8, 12), drawn(8), drawn(8),
    )  # fmt: skip


@case(f"{_OPS}/swiglu.py: _swiglu_forward_kernel _swiglu_backward_kernel")
def liger_swiglu() -> float:
    import torch

    ours = liger("swiglu").LigerSiLUMulFunction.apply
    return with_gradients(ours, lambda a, b: torch.nn.functional.silu(a) * b, drawn(6, 64), drawn(6, 64))


@case(f"{_OPS}/geglu.py: _geglu_tanh_forward_kernel _geglu_tanh_backward_kernel")
def liger_geglu() -> float:
    import torch

    ours, gelu = liger("geglu").LigerGELUMulFunction.apply, torch.nn.functional.gelu
    return with_gradients(ours, lambda a, b: gelu(a, approximate="tanh") * b, drawn(6, 64), drawn(6, 64))


@case(f"{_OPS}/softmax.py: _softmax_single_block_forward_kernel _softmax_single_block_backward_kernel")
def liger_softmax() -> float:
    return with_gradients(liger("softmax").LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), drawn(6, 60))


@case(f"{_OPS}/cross_entropy.py: liger_cross_entropy_kernel")
def liger_cross_entropy() -> float:
    import torch

    ours, theirs = liger("cross_entropy").LigerCrossEntropyFunction.apply, torch.nn.functional.cross_entropy
    wanted = torch.randint(0, 97, (6,), device="cuda")
    return with_gradients(lambda x: ours(x, wanted, None, -100)[0], lambda x: theirs(x, wanted), drawn(6, 97))


@case(f"{_OPS}/cross_entropy.py: liger_cross_entropy_kernel", f"{_OPS}/utils.py: element_mul_kernel")
def liger_fused_linear_cross_entropy() -> float:
    import torch

    ours = liger("fused_linear_cross_entropy").LigerFusedLinearCrossEntropyFunction.apply
    theirs, weight = torch.nn.functional.cross_entropy, drawn(97, 32)
    wanted = torch.randint(0, 97, (6,), device="cuda")
    return with_gradients(lambda x: ours(x, weight, wanted)[0], lambda x: theirs(x @ weight.T, wanted), drawn(6, 32))


@case(f"{_OPS}/kl_div.py: _kldiv_kernel_forward _kldiv_kernel_backward")
def liger_kl_div() -> float:
    import torch

    ours, wanted = liger("kl_div").LigerKLDivLossFunction.apply, drawn(6, 50).softmax(-1)
    theirs = torch.nn.functional.kl_div
    return with_gradients(
        lambda x: ours(x, wanted, "batchmean", False, 1e-10), lambda x: theirs(x, wanted, reduction="batchmean"),
        drawn(6, 50).log_softmax(-1),
    )  # fmt: skip


@case(f"{_OPS}/tvd.py: _tv_distance_kernel")
def liger_tvd() -> float:
    ours, other = liger("tvd").LigerTVDLossFunction.apply, drawn(6, 50).softmax(-1)
    return with_gradients(
        lambda p: ours(p, other), lambda p: (p - other).abs().sum() / 12, drawn(6, 50).softmax(-1)
    )  # fmt: skip


@case(f"{_OPS}/rope.py: _triton_rope")
def liger_rope() -> float:
    import torch

    ours = liger("rope").LigerRopeFunction.apply
    angles = torch.outer(torch.arange(8.0), 10000 ** (-torch.arange(0, 16, 2) / 16)).repeat(1, 2)
    cos, sin = angles.cos()[None], angles.sin()[None]

    def turned(x: Any) -> Any:
        return x * cos + torch.cat((-x[..., 8:], x[..., :8]), -1) * sin

    q, k = drawn(1, 2, 8, 16), drawn(1, 1, 8, 16)
    expected = turned(q), turned(k)
    return far(*zip(ours(q.clone(), k.clone(), cos, sin), expected, strict=True))
