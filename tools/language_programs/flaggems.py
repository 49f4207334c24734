# SPDX-License-Identifier: MIT
"""Cases of FlagGems' operators, of the release's files.

The package is imported whole, with its variable ``GEMS_VENDOR``: without it, it starts ``nvidia-smi``.
"""

import importlib
import os
import sys
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.tensors import drawn, far, with_gradients

FLAGGEMS = Project("flaggems", "FlagOpen/FlagGems", "v5.0.2", "Apache-2.0")

case = cases_of(FLAGGEMS)
_OPS = "src/flag_gems/ops"
_FUSED = "src/flag_gems/fused"


def gems() -> Any:
    """Import the package."""
    os.environ.setdefault("GEMS_VENDOR", "nvidia")
    folder = str(FLAGGEMS.folder / "src")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("flag_gems")


@case(
    f"{_OPS}/softmax.py: softmax_kernel_inner softmax_kernel_non_inner softmax_backward_kernel_inner "
    "softmax_backward_kernel_non_inner"
)
def flaggems_softmax() -> float:
    import torch

    x, gradient, pairs = drawn(6, 300, 20), drawn(6, 300, 20), []
    for dim in (1, 2):
        expected = x.double().softmax(dim)
        found = gems().softmax(x, dim)
        theirs = torch.ops.aten._softmax_backward_data(gradient.double(), expected, dim, torch.float64)
        pairs += [(found, expected), (gems().softmax_backward(gradient, found, dim, torch.float32), theirs)]
    return far(*pairs)


@case(f"{_OPS}/layernorm.py: layer_norm_persistent_kernel layer_norm_backward_kernel weight_bias_backward_kernel")
def flaggems_layer_norm() -> float:
    import torch

    x, w, b, gradient = drawn(9, 200), drawn(200), drawn(200), drawn(9, 200)
    found, mean, rstd = gems().layer_norm(x, [200], w, b)
    leaves = [y.double().requires_grad_() for y in (x, w, b)]
    expected = torch.nn.functional.layer_norm(leaves[0], [200], *leaves[1:])
    expected.backward(gradient.double())
    made = gems().layer_norm_backward(gradient, x, [200], mean, rstd, w, b, [True, True, True])
    return far((found, expected.detach()), *((y, z.grad) for y, z in zip(made, leaves, strict=True)))


@case(f"{_OPS}/rms_norm.py: rms_norm_kernel rms_norm_grad_dx_kernel rms_norm_grad_dw_kernel")
def flaggems_rms_norm() -> float:
    import torch

    theirs = torch.nn.functional.rms_norm
    return with_gradients(
        lambda x, w: gems().rms_norm(x, [200], w, 1e-5), lambda x, w: theirs(x, [200], w, 1e-5),
        drawn(9, 200), drawn(200),
    )  # fmt: skip


@case(f"{_OPS}/groupnorm.py: group_norm_kernel group_norm_backward_kernel weight_bias_backward_kernel")
def flaggems_group_norm() -> float:
    import torch

    x, w, b, gradient = drawn(2, 8, 30), drawn(8), drawn(8), drawn(2, 8, 30)
    found, mean, rstd = gems().group_norm(x, w, b, 2, 8, 30, 4)
    leaves = [y.double().requires_grad_() for y in (x, w, b)]
    expected = torch.nn.functional.group_norm(leaves[0], 4, *leaves[1:])
    expected.backward(gradient.double())
    made = gems().group_norm_backward(gradient, x, mean, rstd, w, 2, 8, 30, 4, [True, True, True])
    return far((found, expected.detach()), *((y, z.grad) for y, z in zip(made, leaves, strict=True)))


@case(f"{_OPS}/bmm.py: bmm_kernel", f"{_OPS}/addmm.py: addmm_kernel")
def flaggems_matrix_products() -> float:
    a, b, c = drawn(2, 40, 72).half(), drawn(2, 72, 56).half(), drawn(56).half()
    exact = a.double() @ b.double()
    return far((gems().bmm(a, b), exact), (gems().addmm(c, a[0], b[0], alpha=0.5), c.double() + 0.5 * exact[0]))


@case("src/flag_gems/runtime/backend/_nvidia/hopper/ops/mm.py: mm_kernel_general_host_tma", arch="h100")
def flaggems_mm() -> float:
    a, b = drawn(64, 96).half(), drawn(96, 128).half()
    return far((gems().mm(a, b), a.double() @ b.double()))


@case(f"{_OPS}/mm.py: mm_kernel_general", arch="a100")
def flaggems_mm_without_tensor_maps() -> float:
    from_file = importlib.import_module(f"{gems().__name__}.ops.mm")
    a, b = drawn(64, 96).half(), drawn(96, 128).half()
    return far((from_file.mm(a, b), a.double() @ b.double()))


@case(f"{_OPS}/attention.py: _attn_fwd _attn_bwd_preprocess _attn_bwd")
def flaggems_attention() -> float:
    import torch

    theirs = torch.nn.functional.scaled_dot_product_attention
    return with_gradients(
        lambda *x: gems().scaled_dot_product_attention(*(y.half() for y in x), is_causal=True).float(),
        lambda *x: theirs(*x, is_causal=True), *(drawn(1, 2, 128, 64) / 2 for _ in range(3)),
    )  # fmt: skip


@case(f"{_OPS}/conv2d.py: conv2d_forward_kernel conv2d_backward_kernel_weight")
def flaggems_conv2d() -> float:
    import torch

    return with_gradients(
        lambda x, w, b: gems().conv2d(x, w, b, 1, 1), lambda x, w, b: torch.nn.functional.conv2d(x, w, b, 1, 1),
        drawn(2, 16, 9, 9), drawn(16, 16, 3, 3) / 8, drawn(16),
    )  # fmt: skip


@case(f"{_OPS}/cumsum.py: reduce_then_scan_block_sum_kernel_row reduce_then_scan_root_scan_kernel_row "
      "reduce_then_scan_block_scan_kernel_row scan_part_sum_abc_kernel")  # fmt: skip
def flaggems_cumsum() -> float:
    x = drawn(3, 20000)
    narrow = drawn(4, 50, 8)
    return far((gems().cumsum(x, 1), x.double().cumsum(1)), (gems().cumsum(narrow, 1), narrow.double().cumsum(1)))


@case(f"{_OPS}/topk.py: topk_stage1_kernel topk_stage2_kernel")
def flaggems_topk() -> float:
    x = drawn(4, 2000)
    return far(*zip(gems().topk(x, 10), x.topk(10), strict=True))


@case(f"{_OPS}/sort.py: compute_global_hist_kernel sweep")
def flaggems_sort() -> float:
    x = drawn(3, 3000)
    return far(*zip(gems().sort(x), x.sort(), strict=True))


@case(f"{_OPS}/argmax.py: argmax_kernel_1 argmax_kernel_2 argmax_kernel_inner argmax_kernel_non_inner")
def flaggems_argmax() -> float:
    x = drawn(40, 300)
    return far(*((gems().argmax(x, **y), x.argmax(**y)) for y in ({}, {"dim": 0}, {"dim": 1})))


@case(
    f"{_OPS}/sum.py: sum_kernel_1 sum_kernel_2 sum_dim_kernel_inner sum_dim_kernel_non_inner",
    f"{_OPS}/var_mean.py: var_mean_welford_kernel var_mean_kernel_1 var_mean_kernel_2",
)
def flaggems_reductions() -> float:
    import torch

    x, pairs = drawn(40, 300), []
    for dims in ([0], [1]):
        pairs += [(gems().sum_dim(x, dims), x.double().sum(dims))]
    for dims in (None, [1]):
        pairs += zip(gems().var_mean(x, dims), torch.var_mean(x.double(), dims), strict=True)
    return far((gems().sum(x), x.double().sum()), *pairs)


@case(f"{_OPS}/embedding.py: embedding_kernel embedding_backward_kernel indice_freq_kernel embedding_grad_scale_kernel")
def flaggems_embedding() -> float:
    import torch

    w, places, gradient = drawn(50, 64), torch.randint(0, 50, (6, 9), device="cuda"), drawn(6, 9, 64)
    found = gems().embedding_backward(gradient, places, 50, -1, True, False)
    expected = torch.ops.aten.embedding_dense_backward(gradient, places, 50, -1, True)
    return far((gems().embedding(w, places), w[places]), (found, expected))


@case(f"{_OPS}/dropout.py: dropout_forward_kernel dropout_backward_kernel")
def flaggems_dropout() -> float:
    x = drawn(3000)
    out, mask = gems().dropout(x, 0.25, True)
    gradient = gems().dropout_backward(x, mask, 1 / 0.75)
    if not 0.7 < mask.double().mean() < 0.8:
        return float("inf")
    return far((out, x * mask / 0.75), (gradient, x * mask / 0.75))


@case(f"{_FUSED}/cross_entropy_loss.py: celoss_indices_kernel celoss_indices_bwd sum_and_scale "
      "celoss_probability_kernel celoss_probability_bwd")  # fmt: skip
def flaggems_cross_entropy() -> float:
    import torch

    theirs, labels, shares = torch.nn.functional.cross_entropy, torch.randint(0, 90, (12,)), drawn(12, 90).softmax(1)
    ours = gems().cross_entropy_loss
    distances = [
        with_gradients(lambda x, y=y: ours(x, y), lambda x, y=y: theirs(x, y), drawn(12, 90)) for y in (labels, shares)
    ]
    return max(distances)


@case(
    f"{_FUSED}/silu_and_mul.py: silu_and_mul_kernel_kernel_rank_1 silu_and_mul_grad_kernel_kernel_rank_1",
    f"{_FUSED}/gelu_and_mul.py: gelu_tanh_and_mul_kernel_kernel_rank_1 gelu_tanh_and_mul_grad_kernel_kernel_rank_1",
)
def flaggems_generated_activations() -> float:
    import torch

    gelu, silu = torch.nn.functional.gelu, torch.nn.functional.silu
    return max(
        with_gradients(gems().silu_and_mul, lambda a, b: silu(a) * b, drawn(6, 90), drawn(6, 90)),
        with_gradients(
            lambda a, b: gems().gelu_and_mul(a, b, "tanh"), lambda a, b: gelu(a, approximate="tanh") * b,
            drawn(6, 90), drawn(6, 90),
        ),
    )  # fmt: skip


@case(f"{_FUSED}/rotary_embedding.py: apply_rotary_pos_emb_kernel")
def flaggems_rotary_embedding() -> float:
    import torch

    q, k, angles = drawn(2, 16, 4, 32), drawn(2, 16, 2, 32), drawn(16, 16)
    cos, sin = angles.cos(), angles.sin()

    def turned(x: Any) -> Any:
        c, s = (y.repeat(1, 2)[None, :, None] for y in (cos, sin))
        return x * c + torch.cat((-x[..., 16:], x[..., :16]), -1) * s

    return far(*zip(gems().apply_rotary_pos_emb(q, k, cos, sin), (turned(q), turned(k)), strict=True))


@case(f"{_FUSED}/skip_layernorm.py: skip_layer_norm_kernel", f"{_FUSED}/topk_softmax.py: topk_gating_softmax_kernel")
def flaggems_fused() -> float:
    import torch

    x, residual, w, b = drawn(9, 200), drawn(9, 200), drawn(200), drawn(200)
    weights, experts = torch.empty(12, 2), torch.empty(12, 2, dtype=torch.int32)
    sources, gates = torch.empty(12, 2, dtype=torch.int32), drawn(12, 8)
    gems().topk_softmax(weights, experts, sources, gates, False)
    return far(
        (gems().skip_layer_norm(x, residual, [200], w, b), torch.nn.functional.layer_norm(x + residual, [200], w, b)),
        *zip((weights, experts), gates.softmax(1).topk(2), strict=True),
    )


@case(f"{_OPS}/softmax.py: softmax_kernel_inner", f"{_OPS}/bmm.py: bmm_kernel")
def flaggems_instead_of_pytorch() -> float:
    import torch

    x, a, b = drawn(6, 90), drawn(2, 40, 72).half(), drawn(2, 72, 56).half()
    expected = x.softmax(1), a.double() @ b.double()
    with gems().use_gems(include=["softmax", "bmm"]):
        found = x.softmax(1), torch.bmm(a, b)
    return far(*zip(found, expected, strict=True))
