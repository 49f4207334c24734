# SPDX-License-Identifier: MIT
"""The order in which kernels multiply by float32 scales: one entry for each library and granularity."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from wmma_emu.evidence import Evidence, Run, Sourced

Granularity = Literal["tensor", "row", "block", "vector"]
"""The elements that share a scale: a whole matrix; a row of A, a column of B; 128 k of one row on one side and of 128
rows or columns on the other (or on both); 128 k of one row and of one column.
"""

_H200 = (
    "NVIDIA H200, driver 580.159.04, cuBLAS 13.1.0.3, by torch._scaled_mm of PyTorch 2.11 and by cublasLtMatmul, "
    "2026-11-22: no mismatch in 71 products (tests/data/sm90_scaled_mm.npz)"
)
_CUBLAS = Evidence("measured", _H200, Run("scaled products", "sm_90"))
_literature = partial(Evidence, "literature")
_COMPILED = "; nvcc 13.0 compiles such an expression to FMUL and FFMA for sm_90"


@dataclass(frozen=True, slots=True)
class ScaleOrder(Sourced):
    """The order in which a library's kernels multiply a sum x of products by the scales a and b of row and column.

    Each multiplication is rounded to nearest even in float32. For blocks, x is the sum of 128 k, started at +0, and its
    last multiplication is part of the fused multiply-add that adds it to the float32 sum.

    Parameters
    ----------
    name : str
        The library: ``scale_order=`` of `wmma_emu.gemm`. ``"cublas_blocks"`` has only scales of 128 k: it names them
        where a shape could mean scales of rows, too (K up to 128).
    granularities : tuple of {"tensor", "row", "block", "vector"}
        The granularities that it applies to: one scale for a matrix; one for each row of A and column of B; one for
        each 128 k, and 128 rows or columns of one operand; one for each 128 k of every row and every column.
    steps : {"factor", "a_first", "b_first"}
        ``(a * b) * x``; ``(x * a) * b``; ``(x * b) * a``.
    arch : str
        The chip whose kernels were examined.
    evidence : Evidence
    """

    name: str
    granularities: tuple[Granularity, ...]
    steps: Literal["factor", "a_first", "b_first"]
    arch: str
    evidence: Evidence

    @property
    def formula(self) -> str:
        """The formula, in brackets, for the sums of the tensor core; the ``+`` of blocks is a fused multiply-add."""
        product = {"factor": "(a * b) * x", "a_first": "(x * a) * b", "b_first": "(x * b) * a"}[self.steps]
        return f"sum + {product}" if "block" in self.granularities or "vector" in self.granularities else product


SCALE_ORDERS = (
    ScaleOrder("cublas", ("tensor",), "factor", "sm_90", _CUBLAS.of("tensor-tensor")),
    ScaleOrder("cublas", ("row",), "b_first", "sm_90", _CUBLAS.of("row-row")),
    ScaleOrder("cublas", ("block",), "factor", "sm_90", _CUBLAS.of("1x128-128x128")),
    ScaleOrder("cublas", ("vector",), "a_first", "sm_90", _CUBLAS.of("1x128-1x128")),
    ScaleOrder("cublas_blocks", ("block",), "factor", "sm_90", _CUBLAS.of("1x128-128x128")),
    ScaleOrder("cublas_blocks", ("vector",), "a_first", "sm_90", _CUBLAS.of("1x128-1x128")),
    ScaleOrder(
        "torch", ("row",), "a_first", "sm_90",
        _literature("PyTorch, aten/src/ATen/native/cuda/RowwiseScaledMM.cu: the epilogue of its CUTLASS kernels"),
    ),
    ScaleOrder(
        "vllm", ("tensor", "row"), "b_first", "sm_90",
        _literature("vLLM, csrc/cutlass_extensions/epilogue/scaled_mm_epilogues_c3x.hpp: ScaledEpilogue"),
    ),
    ScaleOrder(
        "deepgemm", ("block", "vector"), "factor", "sm_90",
        _literature("DeepGEMM, deep_gemm/include/deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh and sm90_fp8_gemm_1d1d.cuh"
                    + _COMPILED),
    ),
    ScaleOrder(
        "cutlass", ("block",), "factor", "sm_90",
        _literature("CUTLASS, include/cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized_fp8_blockwise_"
                    "scaling.hpp: one scale of A or of B in a tile" + _COMPILED),
    ),
    ScaleOrder(
        "cutlass", ("vector",), "a_first", "sm_90",
        _literature("CUTLASS, include/cutlass/gemm/collective/fp8_accumulation.hpp: several scales of both in a tile"
                    + _COMPILED),
    ),
)  # fmt: skip
"""The known orders; the first that applies to the operands is the default."""
