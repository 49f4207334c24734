# SPDX-License-Identifier: MIT
"""Kernels of cuda-samples, LeetCUDA, How_to_optimize_in_GPU and NVIDIA_SGEMM_PRACTICE, and how they are launched.

The checkouts are described in `tools.profile_kernels.third_party`. The sources are compiled unedited; templates that
they do not instantiate are instantiated after them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SAMPLES = "NVIDIA+cuda-samples/Samples"
_CONCEPTS = f"{_SAMPLES}/2_Concepts_and_Techniques"
_LEET = "xlite-dev+LeetCUDA/kernels"
_HOW = "Liu-xiandong+How_to_optimize_in_GPU"
_PRACTICE = "wangzyon+NVIDIA_SGEMM_PRACTICE/src"


class Started(NamedTuple):
    """A launch of a kernel: its name, its grid and block, and its arguments."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    shared: int = 0


class Source(NamedTuple):
    """A file of a checkout, and the launches of its kernels; ``instances`` are explicit instantiations."""

    module: str
    path: str
    launches: tuple[Started, ...]
    instances: str = ""

    def text(self, checkouts: Path) -> str:
        """Return the text that is compiled."""
        return f'#include "{checkouts / self.path}"\n{self.instances}'


def _floats(count: int, kind: type[np.floating[Any]] = np.float32) -> NDArray[Any]:
    return np.random.Generator(np.random.PCG64([29, count])).standard_normal(count).astype(kind)


def _words(count: int, below: int = 1 << 32) -> NDArray[np.uint32]:
    return np.random.Generator(np.random.PCG64([30, count])).integers(0, below, count).astype(np.uint32)


def _zeros(count: int, kind: type[np.generic] = np.float32) -> NDArray[Any]:
    return np.zeros(count, kind)


def sources() -> Iterator[Source]:
    """Yield the files of all projects."""
    yield from _reductions()
    yield from _scans_and_sorts()
    yield from _transpositions()
    yield from _images()
    yield from _rows()
    yield from _products()


def _reductions() -> Iterator[Source]:
    x, n = _floats(8192), 8192
    given, out = x, _zeros(64)
    names = (("v0_baseline", 256), ("v1_no_divergence_branch", 256), ("v2_no_bank_conflict", 256),
             ("v3_add_during_load", 512), ("v4_unroll_last_warp", 512), ("v5_completely_unroll", 512))  # fmt: skip
    for i, (name, elements) in enumerate(names):
        started = Started(f"reduce{i}", (n // elements,), (256,), (given, out))
        yield Source(f"reduce_{name}", f"{_HOW}/reduce/reduce_{name}.cu", (started,))
    for i, name in ((6, "v6_multi_add"), (7, "v7_shuffle")):
        started = Started(f"reduce{i}", (8,), (256,), (_floats(8 * 256 * 128), out, 8 * 256 * 128))
        yield Source(f"reduce_{name}", f"{_HOW}/reduce/reduce_{name}.cu", (started,))
    yield Source("reduction", f"{_CONCEPTS}/reduction/reduction_kernel.cu", tuple(
        Started(f"reduce{i}<int>" if i < 4 else f"reduce{i}<int, 128{', true' * (i > 5)}>", (16 if i < 3 else 8,),
                (128,), (_words(2048, 100), _zeros(16, np.int32), 2048), 512)
        for i in range(8)
    ))  # fmt: skip
    both = _floats(8 * 4096), _floats(8 * 4096)
    yield Source("scalarProd", f"{_CONCEPTS}/scalarProd/scalarProd.cu",
                 (Started("scalarProdGPU", (4,), (256,), (_zeros(8), *both, 8, 4096)),))  # fmt: skip
    names_of_sums = "f32_f32", "f16_f32", "f16x2_f32"
    yield Source("block_all_reduce", f"{_LEET}/reduce/block_all_reduce.cu", (
        Started("block_all_reduce_sum_f32_f32_kernel", (8,), (256,), (_floats(2048), _zeros(1), 2048)),
        Started("block_all_reduce_sum_f16_f32_kernel", (8,), (256,), (_floats(2048, np.float16), _zeros(1), 2048)),
        Started("block_all_reduce_sum_f16x2_f32_kernel", (8,), (128,), (_floats(2048, np.float16), _zeros(1), 2048)),
    ), "".join(
        f"template __global__ void block_all_reduce_sum_{x}_kernel<{128 if 'x2' in x else 256}>"
        f"({'float' if x.startswith('f32') else 'half'}*, float*, int);\n" for x in names_of_sums
    ))  # fmt: skip


def _scans_and_sorts() -> Iterator[Source]:
    yield Source("scan", f"{_CONCEPTS}/scan/scan.cu", (
        Started("scanExclusiveShared", (4,), (256,), (_zeros(4096, np.uint32), _words(4096, 99), 1024)),
        Started("scanExclusiveShared2", (1,), (256,),
                (_zeros(256, np.uint32), _words(4096, 99), _words(4096, 99), 4, 4)),
        Started("uniformUpdate", (4,), (256,), (_words(4096, 99), _words(4, 99))),
    ))  # fmt: skip
    yield Source("shfl_scan", f"{_CONCEPTS}/shfl_scan/shfl_scan.cu", (
        Started("shfl_scan_test", (8,), (256,), (_words(2048, 9), 32, _zeros(8, np.int32)), 32),
        Started("shfl_intimage_rows", (4,), (120,), (_words(4 * 480), _zeros(4 * 1920, np.uint32))),
        Started("shfl_vertical_shfl", (2,), (32, 8), (_words(1080 * 64, 99), 64, 1080)),
        Started("uniform_add", (7,), (256,), (_words(2048, 9), _words(8, 9), 1792)),
    ))  # fmt: skip
    keys, values, out = _words(1024), _words(1024), _zeros(1024, np.uint32)
    yield Source("bitonicSort", f"{_CONCEPTS}/sortingNetworks/bitonicSort.cu", (
        Started("bitonicSortShared", (1,), (512,), (out, out, keys, values, 1024, 1)),
        Started("bitonicSortShared1", (1,), (512,), (out, out, keys, values)),
        Started("bitonicMergeGlobal", (2,), (256,), (out, out, keys, values, 1024, 1024, 512, 1)),
        Started("bitonicMergeShared", (1,), (512,), (out, out, keys, values, 1024, 1024, 1)),
    ))  # fmt: skip
    yield Source("oddEvenMergeSort", f"{_CONCEPTS}/sortingNetworks/oddEvenMergeSort.cu", (
        Started("oddEvenMergeSortShared", (1,), (512,), (out, out, keys, values, 1024, 1)),
        Started("oddEvenMergeGlobal", (2,), (256,), (out, out, keys, values, 1024, 1024, 256, 1)),
    ))  # fmt: skip
    for bins in (64, 256):
        started = (
            Started(f"histogram{bins}Kernel", (4,), (64 if bins == 64 else 192,),
                    (_zeros(4 * bins, np.uint32), _words(4096), 4096 // (4 if bins == 64 else 1))),
            Started(f"mergeHistogram{bins}Kernel", (bins,), (256,),
                    (_zeros(bins, np.uint32), _words(bins * 24, 99), 24)),
        )  # fmt: skip
        yield Source(f"histogram{bins}", f"{_CONCEPTS}/histogram/histogram{bins}.cu", started)
    yield Source("histogram", f"{_LEET}/histogram/histogram.cu", (
        Started("histogram_i32_kernel", (8,), (256,), (_words(2048, 64), _zeros(64, np.int32), 2048)),
        Started("histogram_i32x4_kernel", (2,), (256,), (_words(2048, 64), _zeros(64, np.int32), 2048)),
    ))  # fmt: skip


def _transpositions() -> Iterator[Source]:
    n = 64
    x, y = _floats(n * n), _zeros(n * n)
    names = ("copy", "copySharedMem", "transposeNaive", "transposeCoalesced", "transposeNoBankConflicts",
             "transposeDiagonal", "transposeFineGrained", "transposeCoarseGrained")  # fmt: skip
    yield Source("transpose", f"{_SAMPLES}/6_Performance/transpose/transpose.cu",
                 tuple(Started(name, (2, 2), (32, 16), (y, x, n, n)) for name in names))  # fmt: skip
    flat = "f32_col2row", "f32_row2col", "f32x4_col2row", "f32x4_row2col"
    across = (("f32_diagonal2d", 4, 4), ("f32_col2row2d", 4, 4), ("f32x4_col2row2d", 1, 4), ("f32x4_row2col2d", 4, 1),
              ("f32x4_shared_col2row2d", 1, 4), ("f32x4_shared_row2col2d", 4, 1), ("f32x4_shared_bcf_col2row2d", 1, 4),
              ("f32x4_shared_bcf_row2col2d", 4, 1), ("f32x4_shared_bcf_merge_write_row2col2d", 4, 1))  # fmt: skip
    yield Source("mat_transpose", f"{_LEET}/mat-transpose/mat_transpose.cu", (
        *(Started(f"mat_transpose_{name}_kernel", (16 if "x4" not in name else 4,), (256,), (x, y, n, n))
          for name in flat),
        *(Started(f"mat_transpose_{name}_kernel", grid, (16, 16), (x, y, n, n)) for name, *grid_of in across
          for grid in (tuple(grid_of),)),
    ))  # fmt: skip
    ints, turned = _words(32 * 32), _zeros(32 * 32, np.int32)
    yield Source("mat_trans_swizzle", f"{_LEET}/swizzle/mat_trans_swizzle.cu", tuple(
        Started(f"mat_trans_smem_{name}_kernel", (1, 1), (32, 32), (ints, 32, 32, turned))
        for name in ("naive", "padding", "swizzle")
    ))  # fmt: skip


def _images() -> Iterator[Source]:
    n = 128
    x, y = _floats(n * n), _zeros(n * n)
    yield Source("convolutionSeparable", f"{_CONCEPTS}/convolutionSeparable/convolutionSeparable.cu", (
        Started("convolutionRowsKernel", (n // 128, n // 4), (16, 4), (y, x, n, n, n)),
        Started("convolutionColumnsKernel", (n // 16, n // 64), (16, 8), (y, x, n, n, n)),
    ))  # fmt: skip
    yield Source("dct8x8", f"{_CONCEPTS}/dct8x8/dct8x8.cu", (
        Started("CUDAkernel2DCT", (4, 4), (8, 4, 2), (y, x, n)),
        Started("CUDAkernel2IDCT", (4, 4), (8, 4, 2), (y, x, n)),
        Started("CUDAkernelQuantizationFloat", (16, 16), (8, 8), (_floats(n * n), n)),
        Started("CUDAkernelShortDCT", (4, 4), (8, 4, 4), (_words(n * n, 99).astype(np.int16), n)),
    ))  # fmt: skip


def _rows() -> Iterator[Source]:
    x, y, n = _floats(16 * 256), _zeros(16 * 256), 256
    softmax = "softmax_f32_per_token", "safe_softmax_f32_per_token"
    softmax4 = "softmax_f32x4_per_token", "safe_softmax_f32x4_per_token"
    yield Source("softmax", f"{_LEET}/softmax/softmax.cu", (
        *(Started(f"{name}_kernel", (16,), (256,), (x, y, n)) for name in softmax),
        *(Started(f"{name}_kernel", (16,), (64,), (x, y, n)) for name in softmax4),
    ), "".join(
        f"template __global__ void {name}_kernel<{64 if 'x4' in name else 256}>"
        "(float*, float*, int);\n" for name in (*softmax, *softmax4)
    ))  # fmt: skip
    for kernel, scales in (("layer_norm", (1.5, 0.5)), ("rms_norm", (1.5,))):
        types = f"float*, float*, {'float, ' * len(scales)}int, int"
        yield Source(kernel, f"{_LEET}/{kernel.replace('_', '-')}/{kernel}.cu", (
            Started(f"{kernel}_f32_kernel", (16,), (256,), (x, y, *scales, 16, n)),
            Started(f"{kernel}_f32x4_kernel", (16,), (64,), (x, y, *scales, 16, n)),
        ), "".join(
            f"template __global__ void {kernel}_{form}_kernel<{block}>({types});\n"
            for form, block in (("f32", 256), ("f32x4", 64))
        ))  # fmt: skip
    for i, columns in ((0, 32), (1, 128), (2, 16)):
        rows = 64
        yield Source(f"Sgemv_v{i}", f"{_HOW}/sgemv/Sgemv_v{i}.cu", (
            Started(f"Sgemv_v{i}", (rows // (4 if i < 2 else 8),), (32, 4),
                    (_floats(rows * columns), _floats(columns), _zeros(rows), rows, columns)),
        ))  # fmt: skip


def _products() -> Iterator[Source]:
    n = 128
    a, b, c = _floats(n * n), _floats(n * n), _zeros(n * n)
    half = tuple(x.astype(np.float16) for x in (a, b, c))
    tiles, sizes = (16, 16), (n, n, n)
    practice = (((4, 4), (32, 32), ""), ((4, 4), (1024,), "<32>"), ((2, 2), (512,), "<64, 64, 8, 8>"),
                *(((1, 1), (256,), "<128, 128, 8, 8, 8>") for _ in range(4)))  # fmt: skip
    yield Source("practice", f"{_PRACTICE}/kernel.cuh", tuple(
        Started(f"mysgemm_v{i}", grid, block, (*sizes, 0.5, a, b, 3.0, c))
        for i, (grid, block, _) in enumerate(practice, 1)
    ), "".join(
        f"template __global__ void mysgemm_v{i}{x}(int, int, int, float, float*, float*, float, float*);\n"
        for i, (*_, x) in enumerate(practice, 1) if x
    ))  # fmt: skip
    for i in (1, 3):
        yield Source(f"sgemm_v{i}", f"{_HOW}/sgemm/sgemm_v{i}.cu",
                     (Started("Sgemm", (1, 1), tiles if i == 1 else (256,), (a, b, c, *sizes)),))  # fmt: skip
    yield Source("leet_sgemm", f"{_LEET}/sgemm/sgemm.cu", (
        Started("sgemm_naive_f32_kernel", (4, 4), (32, 32), (a, b, c, *sizes)),
        Started("sgemm_sliced_k_f32_kernel", (4, 4), (32, 32), (a, b, c, *sizes)),
        Started("sgemm_t_8x8_sliced_k_f32x4_kernel", (1, 1), tiles, (a, b, c, *sizes)),
        Started("sgemm_t_8x8_sliced_k_f32x4_bcf_kernel<128, 128, 8, 8, 8, 4>", (1, 1), tiles, (a, b, c, *sizes)),
        Started("sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf_kernel<128, 128, 8, 8, 8, 0>", (1, 1), tiles, (a, b, c, *sizes)),
    ))  # fmt: skip
    yield Source("leet_sgemm_async", f"{_LEET}/sgemm/sgemm_async.cu", (
        Started("sgemm_t_8x4_sliced_k16_f32x4_bcf_dbuf_kernel", (2, 2), (16, 8), (a, b, c, *sizes)),
        Started("sgemm_t_8x4_sliced_k16_f32x4_bcf_dbuf_async_kernel", (2, 2), (16, 8), (a, b, c, *sizes)),
        Started("sgemm_t_8x8_sliced_k16_f32x4_bcf_dbuf_async_kernel", (1, 1), tiles, (a, b, c, *sizes)),
    ))  # fmt: skip
    yield Source("leet_hgemm", f"{_LEET}/hgemm/naive/hgemm.cu", tuple(
        Started(f"hgemm_{name}_kernel", grid, block, (*half, *sizes)) for name, grid, block in (
            ("naive_f16", (4, 4), (32, 32)), ("sliced_k_f16", (4, 4), (32, 32)),
            ("t_8x8_sliced_k_f16x4", (1, 1), tiles), ("t_8x8_sliced_k_f16x4_pack", (1, 1), tiles),
            ("t_8x8_sliced_k_f16x4_bcf", (1, 1), tiles), ("t_8x8_sliced_k_f16x8_pack_bcf_dbuf", (1, 1), tiles),
        )
    ))  # fmt: skip
    yield Source("leet_hgemm_mma", f"{_LEET}/hgemm/mma/basic/hgemm_mma.cu", (
        Started("hgemm_mma_m16n8k16_naive_kernel", (16, 8), (32,), (*half, *sizes)),
        Started("hgemm_mma_m16n8k16_mma2x4_warp4x4_kernel", (1, 1), (256,), (*half, *sizes)),
    ))  # fmt: skip
    yield Source("leet_swizzle", f"{_LEET}/swizzle/hgemm_mma_swizzle.cu", (
        Started("hgemm_mma_m16n8k16_naive_smem_swizzle_kernel", (16, 8), (32,), (*half, *sizes)),
    ))  # fmt: skip
