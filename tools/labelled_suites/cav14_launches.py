# SPDX-License-Identifier: MIT
"""How programs of cav14 are launched where their first lines do not say enough, and what NVRTC needs to take them."""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LAUNCHES"]


def _numbers(count: int, high: int = 64) -> Callable[[], Any]:
    return lambda: np.random.default_rng(3).integers(0, high, count).astype(np.uint32)


def _runs() -> Any:
    """Return sorted runs to be merged, two by two."""
    even, odd = np.arange(0, 256, 2), np.arange(1, 256, 2)
    return np.concatenate([np.concatenate((even, odd)) + i for i in range(0, 1024, 256)]).astype(np.uint32)


def _limits() -> Any:
    return np.tile(np.array([0, 64], np.uint32), 8)


def _shuffles() -> str:
    """Return the shuffles of CUDA before 9.0, which are no more."""
    mask = "0xffffffffu"
    lines = []
    for way in ("", "_up", "_xor", "_down"):
        head = f"__device__ inline int __shfl{way}(int v, int d"
        lines.append(f"{head}, int w) {{ return __shfl{way}_sync({mask}, v, d, w); }}")
        if way in ("_up", "_xor"):
            lines.append(f"{head}) {{ return __shfl{way}(v, d, 32); }}")
    return " ".join(lines) + "\n#line 1\n"


def _vectors(n: int) -> str:
    """Return operators of float3 or float4, which its authors have in a header."""
    kind, axes, lines = f"float{n}", "xyzw"[:n], []
    for sign in "+-*":
        for other, dot in ((kind, True), ("float", False)):
            parts = ", ".join(f"a.{x}{sign}b{'.' + x if dot else ''}" for x in axes)
            head = f"__device__ inline {kind} operator{sign}({kind} a, {other} b)"
            lines.append(f"{head} {{ return make_{kind}({parts}); }}")
    for sign, other in (("+", kind), ("*", "float")):
        lines.append(f"__device__ inline void operator{sign}=({kind}& a, {other} b) {{ a = a {sign} b; }}")
    return " ".join(lines) + "\n#line 1\n"


_SHFL, _F3, _F4 = _shuffles(), _vectors(3), _vectors(4)
_NO_SHFL_DECL = [(r"__device__ int __shfl\w*\([^;{]*\);", "")]
_SMALL = [(r"(#define\s+NUM_STEPS\s+)\(?2048\)?", r"\1(256)")]

LAUNCHES: dict[str, dict[str, Any]] = {
    "CUDA20/scan/best": dict(
        repair=[(r"temp\[\s*N\s*\*\s*2\s*\]", "temp[N*2+8]")]
    ),  # its padding does not fit: a bound that GPUVerify does not look at
    "BinomialOptions": dict(grid=[1], repair=_SMALL),
    "binomialOptions.cu": dict(grid=[1], repair=[*_SMALL, (r"(#define\s+NUM_STEPS\s+)\w+", r"\1 256")]),
    "OceanCS": dict(bytes=1 << 23),
    "histo_merge_kernel": dict(
        grid=[2],
        repair=[
            (r"#define thread_count 8", "#define thread_count 1"),
            (r"#define log2_thread_size 5U", "#define log2_thread_size 1U"),
        ],
    ),
    "template.cu": dict(shared=128),
    "dwtHaar1D": dict(shared=4608, arguments=dict(dlevels=np.uint32(4))),
    "fwtBatch1Kernel": dict(block=[512], shared=8192, grid=[2]),
    "laplace3d": dict(grid=[2, 2], arguments=dict(NX=np.int32(64), NY=np.int32(8), NZ=np.int32(4), pitch=np.int32(64))),
    "copySharedMem": dict(arguments=dict(height=np.int32(1024), nreps=np.int32(2))),
    "6_Advanced/transpose/": dict(arguments=dict(nreps=np.int32(2))),
    "convolutionColumnsKernel": dict(
        grid=[2, 2], bytes=1 << 22, arguments=dict(imageW=np.int32(3072), imageH=np.int32(128))
    ),
    "convolutionRowsKernel": dict(grid=[3, 2], arguments=dict(imageW=np.int32(3072), imageH=np.int32(8))),
    "bitonicMergeElementaryIntervals": dict(
        grid=[4],
        arguments=dict(
            d_SrcKey=_runs,
            d_SrcVal=_runs,
            d_DstKey=lambda: np.zeros(1024, np.uint32),
            d_DstVal=lambda: np.zeros(1024, np.uint32),
            d_LimitsA=_limits,
            d_LimitsB=_limits,
            stride=np.uint32(128),
            N=np.uint32(1024),
        ),
    ),
    "mergeElementaryIntervals": dict(
        grid=[4],
        arguments=dict(
            d_SrcKey=_runs,
            d_SrcVal=_runs,
            d_DstKey=lambda: np.zeros(1024, np.uint32),
            d_DstVal=lambda: np.zeros(1024, np.uint32),
            d_LimitsA=_limits,
            d_LimitsB=_limits,
            stride=np.uint32(128),
            N=np.uint32(1024),
        ),
    ),
    "scalarProd": dict(arguments=dict(vectorN=np.int32(4), elementN=np.int32(2048))),
    "scanExclusiveShared2": dict(grid=[2], arguments=dict(N=np.uint32(512), arrayLength=np.uint32(4)), bytes=1 << 22),
    "scanExclusiveShared": dict(grid=[2], arguments=dict(size=np.uint32(1024))),
    "matrixMul.cu": dict(
        repair=[(r"template\s+void", "template __global__ void")], arguments=dict(wA=np.int32(64), wB=np.int32(64))
    ),
    "tiling_implementation": dict(
        before=_F4, grid=[2], arguments=dict(offset=np.int32(0), num_bodies=np.int32(512), size=np.int32(512))
    ),
    "simple_implementation": dict(before=_F4, grid=[1], arguments=dict(num_bodies=np.uint32(256))),
    "nbody.cu": dict(
        repair=[(r"(template\s*<>\s*__device__) static", r"\1")],
        grid=[2],
        block=[64],
        shared=64 * 16,
        arguments=dict(deviceOffset=np.uint32(0), deviceNumBodies=np.uint32(128), totalNumBodies=np.int32(128)),
    ),
    "sum.cu": dict(
        repair=[(r"typedef unsigned int clock_t;", "")],
        arguments=dict(N=np.int32(64), d_clocks=lambda: np.zeros(64, np.int64)),
    ),
    "shfl_scan_test": dict(before=_SHFL, repair=_NO_SHFL_DECL, shared=256, arguments=dict(width=np.int32(32))),
    "shfl_intimage_rows": dict(before=_SHFL, repair=_NO_SHFL_DECL),
    "shfl_vertical": dict(
        grid=[2, 1], bytes=9 << 20, before=_SHFL, repair=_NO_SHFL_DECL, arguments=dict(height=np.int32(64))
    ),
    "bisect_kernel": dict(
        before="__device__ inline int sign_f(float a) { return a < 0 ? -1 : 1; }\n#line 1\n",
        arguments=dict(
            n=np.uint32(32),
            num_intervals=np.uint32(256),
            precision=np.float32(0.01),
            g_left=lambda: np.full(512, -4, np.float32),
            g_right=lambda: np.full(512, 4, np.float32),
            g_pos=_numbers(512, 128),
        ),
    ),
    "sobol.cu": dict(grid=[1, 2], arguments=dict(n_vectors=np.uint32(500), n_dimensions=np.uint32(2))),
    "histogram256.cu": dict(grid=[2], arguments=dict(dataCount=np.uint32(1500))),
    "histogram64.cu": dict(grid=[2], arguments=dict(dataCount=np.uint32(500), d_Data=_numbers(4 * 500, 1 << 32))),
    "histogram64Kernel": dict(grid=[2], arguments=dict(dataN=np.int32(1000))),
    "mergeHistogram": dict(arguments=dict(histogramCount=np.uint32(300), blockN=np.uint32(150))),
    "solverKernel": dict(grid=[3, 2]),
    "nqueen": dict(grid=[2], arguments=dict(n=np.int32(6), mark=np.int32(4), total_conditions=np.int32(150))),
    "uniformAdd": dict(arguments=dict(n=np.int32(1024))),
    "FDTD3d": dict(grid=[2, 2], bytes=1 << 22, arguments=dict(dimz=np.int32(6))),
    "STO/sha1": dict(repair=[("__builtin_memset", "memset")]),
    "RAY/": dict(options=["-Duint=unsigned int"], before=_F3),
    "bitonicSortShared.cu": dict(grid=[2]),
    "bitonicSortShared1": dict(grid=[1]),
    "bitonic_sort_kernel": dict(grid=[2], arguments=dict(ulevel=np.uint32(512), ulevelmask=np.uint32(1024))),
    "mxm_amp": dict(grid=[1, 1]),
    "convolution_tiling": dict(grid=[2, 6]),
    "BitonicSort/transpose": dict(grid=[2, 2], arguments=dict(height=np.uint32(512))),
    "bitonicSortSharedKernel": dict(grid=[2], arguments=dict(arrayLength=np.uint32(1024))),
    "oddEvenMergeSortShared": dict(grid=[1], arguments=dict(arrayLength=np.uint32(1024))),
    "TransitiveClosure": dict(arguments=dict(graph=_numbers(4096, 2))),
    "naive": {},
    "dct8x8": dict(grid=[2, 2]),
}
