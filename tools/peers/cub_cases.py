# SPDX-License-Identifier: MIT
"""Kernels of a few lines that call the algorithms of CUB and Thrust, and their results by NumPy.

A block has 64 threads and 256 numbers, ``in`` and ``out`` point at its own; ``t`` is the thread, ``x`` its numbers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CASES", "ITEMS", "THREADS", "Case", "source_of"]

Array = NDArray[Any]

THREADS, ITEMS = 64, 4

HEADERS = (
    "cub/block/block_adjacent_difference.cuh", "cub/block/block_discontinuity.cuh", "cub/block/block_exchange.cuh",
    "cub/block/block_histogram.cuh", "cub/block/block_load.cuh", "cub/block/block_merge_sort.cuh",
    "cub/block/block_radix_sort.cuh", "cub/block/block_reduce.cuh", "cub/block/block_scan.cuh",
    "cub/block/block_shuffle.cuh", "cub/block/block_store.cuh", "cub/warp/warp_exchange.cuh",
    "cub/warp/warp_merge_sort.cuh", "cub/warp/warp_reduce.cuh", "cub/warp/warp_scan.cuh", "thrust/binary_search.h",
    "thrust/copy.h", "thrust/count.h", "thrust/execution_policy.h", "thrust/extrema.h", "thrust/merge.h",
    "thrust/partition.h", "thrust/reduce.h", "thrust/remove.h", "thrust/reverse.h", "thrust/scan.h", "thrust/sort.h",
    "thrust/transform_reduce.h", "thrust/unique.h", "cuda/std/functional",
)  # fmt: skip

_PROLOGUE = """
template <class T> __device__ void fill(const T* in, int t, T (&x)[4]) {
  for (int i = 0; i < 4; ++i) x[i] = in[4*t + i];
}
template <class T> __device__ void put(T* out, int t, T (&x)[4]) { for (int i = 0; i < 4; ++i) out[4*t + i] = x[i]; }
struct Less { template <class T> __device__ bool operator()(T a, T b) const { return a < b; } };
struct Even { __device__ bool operator()(int a) const { return a % 2 == 0; } };
struct Square { __device__ int operator()(int a) const { return a * a; } };
struct Minus { __device__ int operator()(int a, int b) const { return a - b; } };
"""


class Case(NamedTuple):
    """An algorithm: the statements, and the expected ``out`` of one block as a function of its ``in``."""

    name: str
    body: str
    expected: Callable[[Array], Array]
    type: str = "int"


def source_of(cases: tuple[Case, ...]) -> str:
    """Return one source with a kernel for each case."""
    kernels = [
        f'extern "C" __global__ void {x.name}(const {x.type}* in, {x.type}* out) {{\n'
        f"  in += 256 * blockIdx.x; out += 256 * blockIdx.x; int t = threadIdx.x; {x.type} x[4]; fill(in, t, x);\n"
        f"  {x.body}\n}}\n"
        for x in cases
    ]
    return "".join([*(f"#include <{x}>\n" for x in HEADERS), _PROLOGUE, *kernels])


def _first(values: Array, of: Array) -> Array:
    """Return a block's output whose first numbers are written, and whose others stay 0."""
    found = np.zeros_like(of)
    found[: len(values)] = values
    return found


def _collective(cls: str, call: str) -> str:
    return f"using B = cub::{cls}; __shared__ typename B::TempStorage s; {call}"


def _reduce(algorithm: str) -> str:
    call = "int r = B(s).Sum(x); if (t == 0) out[0] = r;"
    return _collective(f"BlockReduce<int, 64, cub::BLOCK_REDUCE_{algorithm}>", call)


def _scan(algorithm: str) -> str:
    return _collective(f"BlockScan<int, 64, cub::BLOCK_SCAN_{algorithm}>", "B(s).ExclusiveSum(x, x); put(out, t, x);")


def _load(algorithm: str, store: str) -> str:
    return (
        f"using L = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_{algorithm}>; "
        f"using S = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_{store}>; "
        "__shared__ typename L::TempStorage l; __shared__ typename S::TempStorage s; "
        "L(l).Load(in, x); for (int i = 0; i < 4; ++i) x[i] = 256 * x[i] + 4 * t + i; S(s).Store(out, x);"
    )


def _positions(a: Array) -> Array:
    numbers: Array = 256 * a + np.arange(256, dtype=a.dtype)
    return numbers


def _thrust(call: str) -> str:
    return f"if (t == 0) {{ thrust::copy(thrust::seq, in, in + 256, out); {call} }}"


def _histogram(a: Array) -> Array:
    return _first(np.bincount(a % 64, minlength=64).astype(a.dtype), a)


def _exclusive(a: Array) -> Array:
    return np.concatenate([[0], np.cumsum(a)[:-1]]).astype(a.dtype)


def _within_warps(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Apply a function to the four numbers of each of a warp's 32 threads."""
    return lambda a: np.concatenate([function(x) for x in a.reshape(2, 128)])


CASES = (
    *(Case(f"block_reduce_{x.lower()}", _reduce(x), lambda a: _first(a.sum(keepdims=True), a))
      for x in ("RAKING", "RAKING_COMMUTATIVE_ONLY", "WARP_REDUCTIONS")),
    *(Case(f"block_scan_{x.lower()}", _scan(x), _exclusive) for x in ("RAKING", "RAKING_MEMOIZE", "WARP_SCANS")),
    Case("block_radix_sort", _collective("BlockRadixSort<int, 64, 4>", "B(s).Sort(x); put(out, t, x);"), np.sort),
    Case("block_radix_sort_descending",
         _collective("BlockRadixSort<int, 64, 4>", "B(s).SortDescending(x); put(out, t, x);"),
         lambda a: np.sort(a)[::-1]),
    Case("block_radix_sort_pairs", _collective(
        "BlockRadixSort<int, 64, 4, int>",
        "int y[4]; for (int i = 0; i < 4; ++i) y[i] = 4 * t + i; B(s).Sort(x, y); put(out, t, y);"),
        lambda a: np.argsort(a, kind="stable").astype(a.dtype)),
    Case("block_radix_sort_float", _collective("BlockRadixSort<float, 64, 4>", "B(s).Sort(x); put(out, t, x);"),
         np.sort, "float"),
    Case("block_merge_sort", _collective("BlockMergeSort<int, 64, 4>", "B(s).Sort(x, Less()); put(out, t, x);"),
         np.sort),
    *(Case(f"block_load_{x.lower()}", _load(x, x), _positions)
      for x in ("DIRECT", "VECTORIZE", "TRANSPOSE", "WARP_TRANSPOSE", "WARP_TRANSPOSE_TIMESLICED")),
    Case("block_exchange", _collective("BlockExchange<int, 64, 4>", "B(s).BlockedToStriped(x, x); put(out, t, x);"),
         lambda a: a.reshape(4, 64).T.ravel()),
    *(Case(f"block_histogram_{x.lower()}", _collective(
        f"BlockHistogram<int, 64, 4, 64, cub::BLOCK_HISTO_{x}>",
        "__shared__ int h[64]; for (int& y : x) y %= 64; B(s).Histogram(x, h); __syncthreads(); out[t] = h[t];"),
        _histogram)
      for x in ("SORT", "ATOMIC")),
    Case("block_discontinuity", _collective(
        "BlockDiscontinuity<int, 64>",
        "int f[4]; B(s).FlagHeads(f, x, ::cuda::std::not_equal_to<>()); put(out, t, f);"),
        lambda a: np.concatenate([[1], (a[1:] != a[:-1])]).astype(a.dtype)),
    Case("block_adjacent_difference", _collective(
        "BlockAdjacentDifference<int, 64>", "int d[4]; B(s).SubtractLeft(x, d, Minus()); put(out, t, d);"),
        lambda a: np.concatenate([a[:1], np.diff(a)])),
    Case("block_shuffle", _collective("BlockShuffle<int, 64>", "int r; B(s).Rotate(in[t], r, 5); out[t] = r;"),
         lambda a: _first(np.roll(a[:64], -5), a)),
    Case("warp_reduce",
         "using W = cub::WarpReduce<int>; __shared__ typename W::TempStorage s[2]; int r = W(s[t / 32]).Sum(in[t]); "
         "if (t % 32 == 0) out[t / 32] = r;", lambda a: _first(a[:64].reshape(2, 32).sum(1, dtype=a.dtype), a)),
    Case("warp_scan",
         "using W = cub::WarpScan<int>; __shared__ typename W::TempStorage s[2]; int r; "
         "W(s[t / 32]).InclusiveSum(in[t], r); out[t] = r;",
         lambda a: _first(np.cumsum(a[:64].reshape(2, 32), 1).ravel().astype(a.dtype), a)),
    Case("warp_merge_sort",
         "using W = cub::WarpMergeSort<int, 4, 32>; __shared__ typename W::TempStorage s[2]; "
         "W(s[t / 32]).Sort(x, Less()); put(out, t, x);", _within_warps(np.sort)),
    Case("warp_exchange",
         "using W = cub::WarpExchange<int, 4, 32>; __shared__ typename W::TempStorage s[2]; "
         "W(s[t / 32]).BlockedToStriped(x, x); put(out, t, x);", _within_warps(lambda a: a.reshape(4, 32).T.ravel())),
    Case("thrust_sort", _thrust("thrust::sort(thrust::seq, out, out + 256);"), np.sort),
    Case("thrust_stable_sort", _thrust("thrust::stable_sort(thrust::seq, out, out + 256, Less());"), np.sort),
    Case("thrust_reduce", "if (t == 0) out[0] = thrust::reduce(thrust::seq, in, in + 256);",
         lambda a: _first(a.sum(keepdims=True, dtype=a.dtype), a)),
    Case("thrust_transform_reduce",
         "if (t == 0) "
         "out[0] = thrust::transform_reduce(thrust::seq, in, in + 256, Square(), 0, ::cuda::std::plus<>());",
         lambda a: _first((a * a).sum(keepdims=True, dtype=a.dtype), a)),
    Case("thrust_inclusive_scan", _thrust("thrust::inclusive_scan(thrust::seq, out, out + 256, out);"),
         lambda a: np.cumsum(a).astype(a.dtype)),
    Case("thrust_copy_if", "if (t == 0) thrust::copy_if(thrust::seq, in, in + 256, out, Even());",
         lambda a: _first(a[a % 2 == 0], a)),
    Case("thrust_count_if", "if (t == 0) out[0] = thrust::count_if(thrust::seq, in, in + 256, Even());",
         lambda a: _first(np.array([(a % 2 == 0).sum()], a.dtype), a)),
    Case("thrust_max_element", "if (t == 0) out[0] = thrust::max_element(thrust::seq, in, in + 256) - in;",
         lambda a: _first(np.array([a.argmax()], a.dtype), a)),
    Case("thrust_unique", _thrust(
        "thrust::sort(thrust::seq, out, out + 256); "
        "int* e = thrust::unique(thrust::seq, out, out + 256); for (; e < out + 256; ++e) *e = 0;"),
        lambda a: _first(np.unique(a), a)),
    Case("thrust_remove_if", _thrust(
        "int* e = thrust::remove_if(thrust::seq, out, out + 256, Even()); for (; e < out + 256; ++e) *e = 0;"),
        lambda a: _first(a[a % 2 == 1], a)),
    Case("thrust_partition", _thrust("thrust::stable_partition(thrust::seq, out, out + 256, Even());"),
         lambda a: np.concatenate([a[a % 2 == 0], a[a % 2 == 1]])),
    Case("thrust_reverse", _thrust("thrust::reverse(thrust::seq, out, out + 256);"), lambda a: a[::-1]),
    Case("thrust_lower_bound", _thrust(
        "thrust::sort(thrust::seq, out, out + 256); "
        "int p = thrust::lower_bound(thrust::seq, out, out + 256, in[7]) - out; out[0] = p;"),
        lambda a: np.concatenate([[np.searchsorted(np.sort(a), a[7])], np.sort(a)[1:]]).astype(a.dtype)),
)  # fmt: skip
