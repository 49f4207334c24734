# SPDX-License-Identifier: MIT
"""Launches of kernels of other projects, from checkouts: SGEMM_CUDA and llm.c, and those of `public_code`.

The checkouts are folders named as on GitHub, ``siboehm/SGEMM_CUDA`` with a plus instead of the slash; the sources are
compiled unedited. Without checkouts there are no such launches.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tools.profile_kernels.public_code import sources
from wmma_emu.ptx import Module

_SGEMM = "siboehm+SGEMM_CUDA"
_LLM = "karpathy+llm.c"
_FILES = ("softmax_forward", "layernorm_forward", "attention_forward", "matmul_forward", "encoder_backward",
          "matmul_backward_bias", "crossentropy_forward")  # fmt: skip

_INCLUDES = "".join(
    f'#include "kernels/{x}.cuh"\n'
    for x in ("1_naive", "2_kernel_global_mem_coalesce", "3_kernel_shared_mem_blocking", "4_kernel_1D_blocktiling",
              "5_kernel_2D_blocktiling", "6_kernel_vectorize", "7_kernel_resolve_bank_conflicts",
              "8_kernel_bank_extra_col")
)  # fmt: skip
_OF_BOTH = "(int, int, int, float, const float*, const float*, float, float*);\n"
_OF_TILES = "(int, int, int, float, float*, float*, float, float*);\n"
_INSTANCES = (
    f"template __global__ void sgemm_global_mem_coalesce<32>{_OF_BOTH}"
    f"template __global__ void sgemm_shared_mem_block<32>{_OF_BOTH}"
    f"template __global__ void sgemm1DBlocktiling<64, 64, 8, 8>{_OF_BOTH}"
    f"template __global__ void sgemm2DBlocktiling<128, 128, 8, 8, 8>{_OF_BOTH}"
    f"template __global__ void sgemmVectorize<128, 128, 8, 8, 8>{_OF_TILES}"
    f"template __global__ void sgemmResolveBankConflicts<128, 128, 8, 8, 8>{_OF_TILES}"
    f"template __global__ void sgemmResolveBankExtraCol<128, 128, 8, 8, 8>{_OF_TILES}"
)

_OF_SGEMM = {
    "sgemm_naive": ((4, 4), (32, 32)), "sgemm_global_mem_coalesce": ((4, 4), (1024,)),
    "sgemm_shared_mem_block": ((4, 4), (1024,)), "sgemm1DBlocktiling": ((2, 2), (512,)),
    "sgemm2DBlocktiling": ((1, 1), (256,)), "sgemmVectorize": ((1, 1), (256,)),
    "sgemmResolveBankConflicts": ((1, 1), (256,)), "sgemmResolveBankExtraCol": ((1, 1), (256,)),
}  # fmt: skip
"""The grid and the block of each kernel, for matrices of 128 x 128."""


@cache
def module_of(checkouts: Path, name: str) -> Module:
    """Compile a module: "sgemm", a file of llm.c, or one of `public_code`."""
    found = next((x for x in sources() if x.module == name), None)
    if found is not None:
        folders = (checkouts / found.path).parent, checkouts / "NVIDIA+cuda-samples" / "Common"
        options = tuple(f"-I{x}" for x in folders)
        return Module.from_cuda(found.text(checkouts), arch="h200", name=f"{name}.cu", options=options)
    if name == "sgemm":
        folder = checkouts / _SGEMM / "src"
        return Module.from_cuda(_INCLUDES + _INSTANCES, arch="h200", name="sgemm.cu", options=(f"-I{folder}",))
    return Module.from_file(checkouts / _LLM / "dev" / "cuda" / f"{name}.cu", arch="h200")


def third_party(checkouts: Path) -> Iterator[tuple[str, str, tuple[int, ...], tuple[int, ...], int, tuple[Any, ...]]]:
    """Yield module, kernel (mangled), grid, block, bytes of shared memory and arguments of each launch."""
    if (checkouts / _SGEMM).exists():
        for kernel, (grid, block) in _OF_SGEMM.items():
            a, b, c = _numbers(128 * 128), _numbers(128 * 128), _numbers(128 * 128)
            name = module_of(checkouts, "sgemm")[kernel].name
            yield "sgemm", name, grid, block, 0, (128, 128, 128, 0.5, a, b, 3.0, c)
    if (checkouts / _LLM).exists():
        for file in _FILES:
            for kernel, grid, block, shared, arguments in _of_llm(file):
                yield file, module_of(checkouts, file)[kernel].name, grid, block, shared, arguments
    for source in sources():
        if (checkouts / source.path).exists():
            for x in source.launches:
                name = module_of(checkouts, source.module)[x.kernel].name
                yield source.module, name, x.grid, x.block, x.shared, x.arguments


_Launch = tuple[str, tuple[int, ...], tuple[int, ...], int, tuple[Any, ...]]


def _of_llm(file: str) -> Iterator[_Launch]:
    """Yield the launches of a file, as its own launchers make them."""
    if file == "softmax_forward":
        x, out = _numbers(64 * 256), np.zeros(64 * 256, np.float32)
        for kernel, grid, block, shared in (
            ("softmax_forward_kernel1", 1, 64, 0), ("softmax_forward_kernel2", 64, 128, 512),
            ("softmax_forward_kernel3", 64, 32, 128), ("softmax_forward_kernel4", 64, 128, 16),
            ("softmax_forward_online_kernel2", 16, 128, 0), ("softmax_forward_online_kernel8", 16, 128, 0),
        ):  # fmt: skip
            yield kernel, (grid,), (block,), shared, (out, x, 64, 256)
    elif file == "layernorm_forward":
        x, gain, bias = _numbers(32 * 256), _numbers(256), _numbers(256)
        out, mean, rstd = np.zeros(32 * 256, np.float32), np.zeros(32, np.float32), np.zeros(32, np.float32)
        for kernel, grid, block in (
            ("layernorm_forward_kernel1", 1, 32), ("layernorm_forward_kernel3", 8, 128),
            ("layernorm_forward_kernel5", 32, 128),
        ):  # fmt: skip
            yield kernel, (grid,), (block,), 0, (out, mean, rstd, x, gain, bias, 32, 256)
    elif file == "attention_forward":
        yield from _attention()
    elif file == "matmul_forward":
        x, weight, bias, out = _numbers(128 * 64), _numbers(128 * 64), _numbers(128), np.zeros(128 * 128, np.float32)
        yield "matmul_forward_kernel1", (8, 8), (16, 16), 0, (out, x, weight, bias, 128, 64, 128)
        yield "matmul_forward_kernel4", (1, 1), (16, 16), 0, (out, x, weight, bias, 64, 128)
        yield "add_bias", (64,), (256,), 0, (out, bias, 2, 64, 128)
    elif file == "encoder_backward":
        tokens = (np.arange(32, dtype=np.int32) * 7) % 10
        given = np.zeros(10 * 64, np.float32), np.zeros(16 * 64, np.float32), _numbers(32 * 64), tokens, 2, 16, 64
        yield "encoder_backward_kernel1", (8,), (256,), 0, given
        yield "encoder_backward_kernel2", (1,), (64,), 0, given
    elif file == "matmul_backward_bias":
        sums = np.zeros(64, ml_dtypes.bfloat16)
        given_bias = sums, _numbers(128 * 64).astype(ml_dtypes.bfloat16), 4, 32, 64
        yield "matmul_backward_bias_kernel1", (64,), (128,), 512, given_bias
        yield "matmul_backward_bias_kernel2", (16,), (128,), 0, given_bias
        yield "matmul_backward_bias_kernel4", (2,), (256,), 1024, given_bias
    elif file == "crossentropy_forward":
        losses, targets = np.zeros(64, np.float32), np.arange(64, dtype=np.int32)
        yield "crossentropy_forward_kernel1", (1,), (64,), 0, (losses, _numbers(64 * 128), targets, 2, 32, 128)


def _attention() -> Iterator[_Launch]:
    """Yield the kernels of attention, for one batch of 64 tokens and two heads of 32 channels."""
    B, T, C, NH = 1, 64, 64, 2
    d = C // NH
    qkv, scores = _numbers(B * T * 3 * C), _numbers(B * NH * T * T)
    q, k, v, out = (_numbers(B * T * C) for _ in range(4))
    yield "attention_query_key_kernel1", (B * NH * T * T // 256,), (256,), 0, (scores, qkv, B, T, C, NH)
    yield "attention_softmax_kernel1", (1,), (128,), 0, (scores.copy(), scores, B, T, NH)
    yield "attention_value_kernel1", (1,), (128,), 0, (out, scores, qkv, B, T, C, NH)
    sums, most = np.zeros(B * NH * T, np.float32), np.full(B * NH * T, -10000, np.float32)
    blocks = -(-T // 32)
    yield (
        "attention_forward_kernel2", (B, NH), (32,), 4 * (3 * 32 * d + 32 * 32),
        (q, k, v, T, d, blocks, blocks, 32, 32, float(d) ** -0.5, sums, most, out),
    )  # fmt: skip
    yield "permute_kernel", (B * T * C // 256,), (256,), 0, (q, k, v, qkv, B, T, NH, d)
    yield "unpermute_kernel", (B * T * C // 256,), (256,), 0, (q, out, B, T, NH, d)
    yield "scale_kernel", (B * NH * T * T // 256,), (256,), 0, (scores, 0.2, B, NH, T)


def _numbers(count: int) -> NDArray[np.float32]:
    return np.random.Generator(np.random.PCG64([29, count])).standard_normal(count).astype(np.float32)
