# SPDX-License-Identifier: MIT
"""Cases of Triton's tutorials. A tutorial is cut before its test or benchmark; its functions get small sizes."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

from tools.language_programs.case import Project, cases_of
from tools.language_programs.checkouts import beginning_of
from tools.language_programs.tensors import drawn, far, with_gradients

TUTORIALS = Project("tutorials", "triton-lang/Triton-to-tile-IR", "50ec1da08373023d0aa8469725c6b59dbd2da16e", "MIT")
"""A fork of Triton, because a checkout of Triton itself is large; the kernels of the tutorials are the same."""

FORK = Project("fork", "facebookexperimental/triton", "db4666f22c1f8b206584c3f06e3b4a0ff035989e", "MIT")
"""Another fork, with more tutorials, and with tutorials of Gluon that fit Triton 3.9."""

case = cases_of(TUTORIALS)
fork_case = cases_of(FORK)
_FOLDER = "python/tutorials"
_ENDS = ("torch.manual_seed(0)", "@triton.testing.perf_report", 'if __name__ == "__main__"')


@contextmanager
def gpu_of_the_fork() -> Iterator[None]:
    """Add a method of the fork, which asks for the kind of GPU, to Triton's target."""
    from triton.backends.compiler import GPUTarget

    with mock.patch.object(GPUTarget, "is_cuda_backend", lambda target: target.backend == "cuda", create=True):
        yield


def tutorial(name: str, *ends: str) -> ModuleType:
    return beginning_of(TUTORIALS.folder / _FOLDER / f"{name}.py", ends or _ENDS)


@case(f"{_FOLDER}/01-vector-add.py: add_kernel")
def tutorial_01_vector_add() -> float:
    x, y = drawn(1000), drawn(1000)
    return far((tutorial("01-vector-add").add(x, y), x + y))


@case(f"{_FOLDER}/02-fused-softmax.py: softmax_kernel")
def tutorial_02_fused_softmax() -> float:
    x = drawn(23, 781)
    return far((tutorial("02-fused-softmax").softmax(x), x.double().softmax(1)))


@case(f"{_FOLDER}/03-matrix-multiplication.py: matmul_kernel")
def tutorial_03_matrix_multiplication() -> float:
    import torch

    a, b = drawn(128, 96).half() / 4, drawn(96, 160).half() / 4
    exact, matmul = a.double() @ b.double(), tutorial("03-matrix-multiplication").matmul
    leaky = torch.nn.functional.leaky_relu(exact, 0.01)
    return far((matmul(a, b), exact), (matmul(a, b, activation="leaky_relu"), leaky))


@case(f"{_FOLDER}/03-matrix-multiplication.py: matmul_kernel")
def tutorial_03_matrix_multiplication_fp8() -> float:
    import torch

    a, b = (drawn(64, 96).to(torch.float8_e5m2) for _ in range(2))
    return far((tutorial("03-matrix-multiplication").matmul(a, b.T), a.double() @ b.T.double()))


@case(f"{_FOLDER}/04-low-memory-dropout.py: _dropout _seeded_dropout")
def tutorial_04_low_memory_dropout() -> float:
    import torch

    module, x, keep = tutorial("04-low-memory-dropout", "# %%\n# Exercises"), drawn(1500), torch.rand(1500) > 0.5
    seeded = module.seeded_dropout(x, p=0.5, seed=123)
    return far(
        (module.dropout(x, x_keep=keep.to(torch.int32), p=0.5), torch.where(keep, x / 0.5, 0.0)),
        (seeded, torch.where(seeded == 0, 0.0, x / 0.5)),
    )


@case(f"{_FOLDER}/05-layer-norm.py: _layer_norm_fwd_fused _layer_norm_bwd_dx_fused _layer_norm_bwd_dwdb")
def tutorial_05_layer_norm() -> float:
    import torch

    layer_norm = tutorial("05-layer-norm").layer_norm
    theirs = torch.nn.functional.layer_norm
    x, w, b = drawn(9, 300).double(), drawn(300).double(), drawn(300).double()
    return with_gradients(
        lambda x, w, b: layer_norm(x.float(), (300,), w.float(), b.float(), 1e-5),
        lambda x, w, b: theirs(x, (300,), w, b, 1e-5), x, w, b,
    )  # fmt: skip


@case(f"{_FOLDER}/06-fused-attention.py: _attn_fwd _attn_bwd_preprocess _attn_bwd", arch="a100")
def tutorial_06_fused_attention() -> float:
    import sys

    folder = str(TUTORIALS.folder / _FOLDER)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # it imports a neighbour
    attention = tutorial("06-fused-attention", "@triton.testing.perf_report").attention
    import torch

    q, k, v = (drawn(1, 1, 128, 64).half() / 2 for _ in range(3))

    def theirs(q: Any, k: Any, v: Any) -> Any:
        scores = q.float() @ k.float().transpose(2, 3) * 0.5
        future = torch.ones(128, 128).triu(1).bool()
        return scores.masked_fill(future, float("-inf")).softmax(-1) @ v.float()

    return with_gradients(lambda q, k, v: attention(q, k, v, True, 0.5, False, False), theirs, q, k, v)


@case(f"{_FOLDER}/06-fused-attention.py: _attn_fwd")
def tutorial_06_fused_attention_with_descriptors() -> float:
    import torch

    attention = tutorial("06-fused-attention", "@triton.testing.perf_report").attention
    q, k, v = (drawn(1, 2, 256, 64).half() / 2 for _ in range(3))

    def theirs(causal: bool) -> Any:
        scores = q.float() @ k.float().transpose(2, 3) * 0.5
        future = torch.ones(256, 256).triu(1).bool() & causal
        return scores.masked_fill(future, float("-inf")).softmax(-1) @ v.float()

    return far(*((attention(q, k, v, x, 0.5, False, False), theirs(x)) for x in (True, False)))


@case(f"{_FOLDER}/07-extern-functions.py: asin_kernel")
def tutorial_07_extern_functions() -> float:
    import torch

    x = torch.rand(700)
    out = torch.zeros_like(x)
    tutorial("07-extern-functions").asin_kernel[(1,)](x, out, 700, BLOCK_SIZE=1024)
    return far((out, x.double().asin()))


_GROUPS = (128, 160, 64), (200, 128, 128)


def groups() -> dict[str, Any]:
    """Make the matrices of two products, of which tutorial 08 passes the addresses."""
    import torch

    made, random = {}, torch.Generator().manual_seed(0)
    for i, (m, n, k) in enumerate(_GROUPS):
        for name, shape in (("a", (m, k)), ("b", (n, k)), ("c", (m, n))):
            made[f"{name}{i}"] = torch.randn(*shape, generator=random).half() / 4
    return made


@fork_case(f"{_FOLDER}/08-grouped-gemm.py: grouped_matmul_tma_kernel", pointed=groups)
@gpu_of_the_fork()
def tutorial_08_grouped_gemm_with_tensor_maps(**tensors: Any) -> float:
    import torch
    import triton

    module = beginning_of(FORK.folder / _FOLDER / "08-grouped-gemm.py", ("group_m = ",))
    tables = [torch.tensor([tensors[f"{x}{i}"].data_ptr() for i in range(len(_GROUPS))]) for x in "abc"]
    sizes = torch.tensor(_GROUPS, dtype=torch.int32)
    strides = torch.tensor([(k, k, n) for _, n, k in _GROUPS], dtype=torch.int32)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    module.grouped_matmul_tma_kernel[(4,)](*tables, sizes, strides, len(_GROUPS), FP8=False, NUM_SM=4)
    return far(
        *((tensors[f"c{i}"], tensors[f"a{i}"].double() @ tensors[f"b{i}"].T.double()) for i in range(len(_GROUPS)))
    )


def persistent_matmul() -> ModuleType:
    """Import tutorial 09, whose comparison with cuBLAS is a mock; in `TUTORIALS`, a name of it is not defined."""
    with mock.patch("triton._C.libtriton.nvidia.cublas.CublasLt"):
        return beginning_of(FORK.folder / _FOLDER / "09-persistent-matmul.py", _ENDS)


@fork_case(f"{_FOLDER}/09-persistent-matmul.py: matmul_kernel matmul_kernel_persistent")
def tutorial_09_persistent_matmul() -> float:
    a, b = drawn(128, 96).half() / 4, drawn(96, 144).half() / 4
    module = persistent_matmul()
    exact = a.double() @ b.double()
    return far((module.matmul(a, b), exact), (module.matmul_persistent(a, b), exact))


@fork_case(
    f"{_FOLDER}/09-persistent-matmul.py: matmul_kernel_tma_persistent matmul_kernel_descriptor_persistent", arch="a100"
)
def tutorial_09_persistent_matmul_with_descriptors() -> float:
    a, b = drawn(128, 64).half() / 4, drawn(128, 64).half() / 4
    module = persistent_matmul()
    exact = a.double() @ b.T.double()
    return far(
        (module.matmul_tma_persistent(a, b, False), exact), (module.matmul_descriptor_persistent(a, b, False), exact)
    )


@fork_case(
    f"{_FOLDER}/09-persistent-matmul.py: matmul_kernel_tma matmul_kernel_tma_persistent "
    "matmul_kernel_descriptor_persistent"
)
def tutorial_09_persistent_matmul_with_tensor_maps() -> float:
    a, b = drawn(192, 192).half() / 4, drawn(160, 192).half() / 4
    module = persistent_matmul()
    exact = a.double() @ b.T.double()
    return far(
        (module.matmul_tma(a, b, False), exact), (module.matmul_tma_persistent(a, b, False), exact),
        (module.matmul_descriptor_persistent(a, b, False), exact),
    )  # fmt: skip


@case(f"{_FOLDER}/11-programmatic-dependent-launch.py: add_kernel")
def tutorial_11_programmatic_dependent_launch() -> float:
    x, y = drawn(1500), drawn(1500)
    return far((tutorial("11-programmatic-dependent-launch").add(x, y, True), x + y))


@fork_case(
    f"{_FOLDER}/12-split-k-matmul.py: _stock_triton_kernel _skinny_atomic_kernel _twopass_compute_kernel "
    "_twopass_reduce_kernel"
)
def fork_12_split_k_matmul() -> float:
    module = beginning_of(FORK.folder / _FOLDER / "12-split-k-matmul.py", ('if __name__ == "__main__":',))
    a, b = drawn(16, 512).half() / 4, drawn(512, 32).half() / 4
    exact = a.double() @ b.double()
    functions = module.stock_triton_matmul, module.skinny_atomic_matmul, module.skinny_twopass_matmul
    return far(*((f(a, b), exact) for f in functions))
