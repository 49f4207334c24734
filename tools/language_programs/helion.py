# SPDX-License-Identifier: MIT
"""Cases of Helion's examples, whose kernels Helion turns into Triton kernels ``_helion_NAME``.

They need Helion 1.5.1. A kernel without a fixed configuration takes the default one.
"""

from types import ModuleType
from typing import Any

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import beginning_of
from tools.language_programs.tensors import drawn, far, with_gradients

HELION = Project("helion", "pytorch/helion", "ef091f416a50c443b38e4c8bff2980777f5ff225", "BSD-3-Clause")

case = cases_of(HELION)


def example(name: str) -> ModuleType:
    """Import an example, whose launches are in a function ``main``."""
    return beginning_of(HELION.folder / "examples" / f"{name}.py", ["if __name__"], f"helion_example_{name}")


def half(*shape: int) -> Any:
    return drawn(*shape).half()


def bfloat(*shape: int) -> Any:
    return drawn(*shape).bfloat16()


def jagged(rows: int, most: int) -> tuple[int, Any]:
    """Draw how many elements each row has: their number, and where each row begins."""
    import torch

    ends = torch.randint(1, most + 1, (rows,), device="cuda").cumsum(0)
    return int(ends[-1]), torch.cat([torch.zeros(1, dtype=torch.long, device="cuda"), ends])


@case("examples/add.py: _helion_add")
def helion_add() -> float:
    x, y = bfloat(70, 50), bfloat(70, 50)
    return far((example("add").add(x, y), x + y))


@case("examples/matmul.py: _helion_matmul")
def helion_matmul() -> float:
    a, b, bias = half(96, 80), half(80, 112), half(112)
    matmul = example("matmul").matmul
    with_bias = matmul(a, b, lambda acc, tile: acc + bias[tile[1]])
    exact = a.double() @ b.double()
    return far((matmul(a, b), exact), (with_bias, exact + bias))


@case("examples/matmul_split_k.py: _helion_matmul_split_k")
def helion_matmul_split_k() -> float:
    a, b = drawn(32, 256) / 4, drawn(256, 48) / 4
    return far((example("matmul_split_k").matmul_split_k(a, b), a.double() @ b.double()))


@case("examples/split_k_barrier.py: _helion_split_k_matmul")
def helion_split_k_barrier() -> float:
    a, b = drawn(16, 512), drawn(16, 512).T
    return far((example("split_k_barrier").split_k_matmul(a, b), a.double() @ b.double()))


@case("examples/bmm.py: _helion_bmm")
def helion_bmm() -> float:
    a, b = half(3, 40, 64), half(3, 64, 24)
    return far((example("bmm").bmm(a, b), a.double() @ b.double()))


@case("examples/fp8_gemm.py: _helion_fp8_gemm")
def helion_fp8_gemm() -> float:
    import torch

    a, b = (drawn(*x).to(torch.float8_e4m3fn) for x in ((64, 96), (48, 96)))
    return far((example("fp8_gemm").fp8_gemm(a, b.T), a.double() @ b.T.double()))


@case("examples/int4_gemm.py: _helion_matmul_bf16_int4")
def helion_int4_gemm() -> float:
    import torch

    module, a = example("int4_gemm"), bfloat(32, 64)
    b = torch.randint(-8, 8, (64, 48), dtype=torch.int8, device="cuda")
    packed = module._pack_int4_matrix(b)
    return far((module.matmul_bf16_int4(a, packed), a.double() @ b.double()))


@case("examples/softmax.py: _helion_softmax _helion_softmax_decomposed _helion_softmax_two_pass _helion_softmax_bwd")
def helion_softmax() -> float:
    module, x = example("softmax"), drawn(23, 200)
    names = ("softmax", "softmax_decomposed", "softmax_two_pass")
    forward = far(*((getattr(module, name)(x), x.double().softmax(1)) for name in names))
    return max(forward, with_gradients(module.softmax_fwd_bwd, lambda x: x.softmax(1), x))


@case("examples/layer_norm.py: _helion_layer_norm_fwd _helion_layer_norm_bwd")
def helion_layer_norm() -> float:
    import torch

    ours, theirs = example("layer_norm").layer_norm, torch.nn.functional.layer_norm
    return with_gradients(
        lambda x, w, b: ours(x, [96], w, b), lambda x, w, b: theirs(x, [96], w, b), drawn(40, 96), drawn(96), drawn(96)
    )


@case("examples/rms_norm.py: _helion_rms_norm_fwd _helion_rms_norm_bwd")
def helion_rms_norm() -> float:
    import torch

    ours, theirs = example("rms_norm").rms_norm, torch.nn.functional.rms_norm
    return with_gradients(ours, lambda x, w: theirs(x, [96], w, 1e-5), drawn(40, 96), drawn(96))


@case("examples/welford.py: _helion_welford")
def helion_welford() -> float:
    module, weight, bias, x = example("welford"), drawn(300), drawn(300), drawn(9, 300)
    return far((module.welford(weight, bias, x), module.eager_layer_norm(weight, bias, x)))


@case("examples/attention.py: _helion_attention _helion_causal_attention")
def helion_attention() -> float:
    import torch

    module, (q, k, v) = example("attention"), (half(1, 2, 128, 64) for _ in range(3))
    scores = q.double() @ k.double().transpose(2, 3) / 8
    future = torch.ones(128, 128, device="cuda").triu(1).bool()
    found = [x(q, k, v)[0] for x in (module.attention, module.causal_attention)]
    return far(
        (found[0], scores.softmax(-1) @ v.double()),
        (found[1], scores.masked_fill(future, float("-inf")).softmax(-1) @ v.double()),
    )


@case("examples/cross_entropy.py: _helion_cross_entropy")
def helion_cross_entropy() -> float:
    import torch

    logits, labels = drawn(24, 300), torch.randint(0, 300, (24,), device="cuda")
    expected = torch.nn.functional.cross_entropy(logits, labels)
    return far((example("cross_entropy").cross_entropy(logits, labels), expected))


@case("examples/jagged_dense_add.py: _helion_jagged_dense_add_2d")
def helion_jagged_dense_add() -> float:
    module, (count, begins) = example("jagged_dense_add"), jagged(20, 70)
    x, y = drawn(count), drawn(20, 70)
    return far((module.jagged_dense_add_2d(x, begins, y), module.jagged_dense_add_2d_reference(x, begins, y)))


@case("examples/jagged_mean.py: _helion_jagged_mean_kernel")
def helion_jagged_mean() -> float:
    import torch

    module, (count, begins) = example("jagged_mean"), jagged(16, 30)
    x, features = drawn(count, 8), torch.randint(1, 9, (16,), dtype=torch.int32, device="cuda")
    expected = module.reference_jagged_mean_kernel_pytorch(x, begins, features, 8)
    return far((module.jagged_mean_kernel(x, begins, features, 8), expected))


@case("examples/long_sum.py: _helion_longsum _helion_longsum_w_red_loop _helion_longsum_manual")
def helion_long_sum() -> float:
    module, x = example("long_sum"), drawn(3, 40000)
    names = ("longsum", "longsum_w_red_loop", "longsum_manual")
    return far(*((getattr(module, name)(x), x.double().sum(-1)) for name in names))


@case("examples/embedding.py: _helion_embedding")
def helion_embedding() -> float:
    import torch

    x, weight = torch.randint(0, 90, (5, 30), device="cuda"), drawn(90, 48)
    return far((example("embedding").embedding(x, weight), weight[x]))


@case("examples/low_mem_dropout.py: _helion_low_mem_dropout _helion_low_mem_dropout_bwd")
def helion_low_mem_dropout() -> float:
    import torch

    module, x = example("low_mem_dropout"), drawn(1000)
    out, gradient = module.low_mem_dropout(0.25, x, 123), module.low_mem_dropout_bwd(0.25, torch.ones_like(x), 123)
    kept = gradient != 0
    if not 0.7 < kept.double().mean() < 0.8:
        return float("inf")
    return far((out, torch.where(kept, x / 0.75, 0)))


@case("examples/segment_reduction.py: _helion_segmented_reduction_helion _segmented_reduction_triton")
def helion_segment_reduction() -> float:
    import torch

    module, x = example("segment_reduction"), drawn(200, 32)
    places = torch.randint(0, 10, (200,), device="cuda").sort()[0]
    expected = module.segmented_reduction_pytorch(places, x, 10)
    functions = module.segmented_reduction_helion, module.segmented_reduction_triton
    return far(*((function(places, x, 10), expected) for function in functions))


@case("examples/moe_matmul_ogs.py: _helion_moe_matmul_ogs")
def helion_moe_matmul_ogs() -> float:
    import torch

    module, a, w = example("moe_matmul_ogs"), half(50, 64), half(4, 64, 48)
    experts = torch.randint(4, (50,), device="cuda")
    given = module.moe_matmul_ogs_helion_kernel_args_gen(a, w, experts)
    return far((module.moe_matmul_ogs(*given), module.moe_matmul_ogs_reference(a.double(), w.double(), experts)))


@case("examples/grouped_gemm.py: _helion_grouped_gemm_jagged _helion_grouped_gemm_jagged_persistent")
def helion_grouped_gemm() -> float:
    module, group = example("grouped_gemm"), [bfloat(16 * (i + 1), 64) for i in range(3)]
    b = bfloat(64, 48)
    given = module._pack_group_inputs(group, [b] * 3)
    expected = given[0].double() @ b.double()
    functions = module.grouped_gemm_jagged, module.grouped_gemm_jagged_persistent
    return far(*((function(*given), expected) for function in functions))


@case("examples/swiglu.py: _helion__swiglu_fwd _helion_swiglu_bwd")
def helion_swiglu() -> float:
    import torch

    return with_gradients(
        example("swiglu").swiglu, lambda a, b: torch.nn.functional.silu(a) * b, drawn(6, 100), drawn(6, 100)
    )


@case("examples/geglu.py: _helion__geglu _helion_geglu_bwd")
def helion_geglu() -> float:
    import torch

    gelu = torch.nn.functional.gelu
    ours = example("geglu").geglu_autograd
    return with_gradients(ours, lambda a, b: gelu(a, approximate="tanh") * b, drawn(6, 100), drawn(6, 100))


@case("examples/kl_div.py: _helion_kl_div_forward")
def helion_kl_div() -> float:
    import torch

    x, y = drawn(16, 200).log_softmax(-1), drawn(16, 200).softmax(-1)
    expected = torch.nn.functional.kl_div(x, y, reduction="batchmean")
    return far((example("kl_div").HelionKLDivLoss()(x, y), expected))


@case("examples/jsd.py: _helion_jsd_forward")
def helion_jsd() -> float:
    module, x, y = example("jsd"), drawn(16, 200).log_softmax(-1), drawn(16, 200).log_softmax(-1)
    return far((module.HelionJSD()(x, y), module.TorchJSDBaseline()(x, y)))


@case("examples/rope.py: _helion_rope_fwd _helion_rope_bwd")
def helion_rope() -> float:
    import torch

    module, angles = example("rope"), drawn(1, 40, 64)
    cos, sin = torch.cos(angles), torch.sin(angles)
    q, k = drawn(1, 4, 40, 64), drawn(1, 2, 40, 64)
    ours, theirs = module.rope, module.rope_pytorch
    return with_gradients(lambda q, k: ours(q, k, cos, sin), lambda q, k: theirs(q, k, cos, sin), q, k)


@case("examples/mamba2_chunk_scan.py: _helion_helion_mamba2_chunk_scan_kernel")
def helion_mamba2_chunk_scan() -> float:
    module = example("mamba2_chunk_scan")
    scan = half(1, 2, 1, 64, 64), half(1, 128, 2, 64), half(1, 2, 2, 64), -half(1, 2, 2, 64).abs() / 4
    given = (*scan, half(1, 128, 1, 32), half(1, 2, 2, 64, 32), half(2))
    return far((module.helion_mamba2_chunk_scan_kernel(*given), module.ref_chunk_scan(*(x.float() for x in given))))


@case("examples/gdn_fwd_h.py: _helion_helion_gdn_fwd_h")
def helion_gdn_fwd_h() -> float:
    module = example("gdn_fwd_h")
    k, w, u = bfloat(1, 128, 2, 32) / 8, bfloat(1, 128, 2, 32) / 8, bfloat(1, 128, 2, 32)
    g = -drawn(1, 128, 2).abs().cumsum(1) / 32
    return far((module.helion_gdn_fwd_h(k, w, u, g, 64), module.ref_gdn_fwd_h(k, w, u, g, 64)))


@case("examples/concatenate.py: _helion_concat2d_dim1_simple _helion_concat2d_dim1")
def helion_concatenate() -> float:
    import torch

    module, x, y = example("concatenate"), drawn(50, 30), drawn(50, 70)
    functions = module.concat2d_dim1_simple, module.concat2d_dim1
    return far(*((function(x, y), torch.cat([x, y], 1)) for function in functions))


@case("examples/xsa.py: _helion_xsa_kernel")
def helion_xsa() -> float:
    module, (q, k, v) = example("xsa"), (half(1, 2, 128, 64) for _ in range(3))
    return far((module.xsa_kernel(q, k, v), module.ref_xsa(q.float(), k.float(), v.float())))
