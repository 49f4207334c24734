# SPDX-License-Identifier: MIT
"""The generated CUDA program as C++ on the host: the same phases, executed thread by thread."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from wmma_emu.arithmetic import DotProduct
from wmma_emu.arithmetic.cuda_source import kernel_source, shape_of

COMPILER = shutil.which("g++") or shutil.which("clang++")

_SHIM = """
#include <cfenv>
#include <cmath>
#include <cstring>
#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __syncthreads()
struct int4 { int x, y, z, w; };
static struct { unsigned x; } threadIdx, blockIdx, blockDim = {1}, gridDim = {1};
static inline int max(int x, int y) { return x > y ? x : y; }
static inline int min(int x, int y) { return x < y ? x : y; }
static inline long long max(long long x, long long y) { return x > y ? x : y; }
static inline long long min(long long x, long long y) { return x < y ? x : y; }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : (unsigned)((((unsigned long long)high << 32) | low) >> shift);
}
template <class To, class From> static inline To same_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "widths differ");
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}
static inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
static inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
static inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
static inline double rounded(double a, double b, double c, int mode) {
    volatile double x = a, y = b, z = c;
    std::fesetround(mode);
    volatile double d = std::fma(x, y, z);
    std::fesetround(FE_TONEAREST);
    return d;
}
static inline unsigned __viaddmax_s16x2(unsigned x, unsigned y, unsigned z) {
    short low = (short)(x + y), high = (short)((x >> 16) + (y >> 16));
    low = low > (short)z ? low : (short)z, high = high > (short)(z >> 16) ? high : (short)(z >> 16);
    return (unsigned)(unsigned short)low | (unsigned)(unsigned short)high << 16;
}
static inline int __float2int_rz(float x) {
    return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : (int)x;
}
static inline float converted(long long x, int mode) {
    volatile long long given = x;
    std::fesetround(mode);
    volatile float result = (float)given;
    std::fesetround(FE_TONEAREST);
    return result;
}
static inline float __ll2float_rz(long long x) { return converted(x, FE_TOWARDZERO); }
static inline float __ll2float_rd(long long x) { return converted(x, FE_DOWNWARD); }
static inline float __ll2float_ru(long long x) { return converted(x, FE_UPWARD); }
static inline float __int2float_rz(int x) { return converted(x, FE_TOWARDZERO); }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
static inline double __fma_rz(double a, double b, double c) { return rounded(a, b, c, FE_TOWARDZERO); }
static inline double __fma_rd(double a, double b, double c) { return rounded(a, b, c, FE_DOWNWARD); }
static inline double __fma_ru(double a, double b, double c) { return rounded(a, b, c, FE_UPWARD); }
static inline float rounded(float a, float b, float c, int mode) {
    volatile float x = a, y = b, z = c;
    std::fesetround(mode);
    volatile float d = std::fmaf(x, y, z);
    std::fesetround(FE_TONEAREST);
    return d;
}
static inline float __fmaf_ieee_rd(float a, float b, float c) { return rounded(a, b, c, FE_DOWNWARD); }
static inline float __fmaf_ieee_ru(float a, float b, float c) { return rounded(a, b, c, FE_UPWARD); }
static inline float __fmaf_ieee_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
"""

_DRIVER = """
int4 shared[1];  // the kernel itself, which names it, is not run
extern "C" void run_blocks(
    const StoredOfA *a, const StoredOfB *b, const StoredOfC *c, StoredOfD *d, const long long *offsets,
    long long batch, long long m, long long n, long long positions, long long a_row, long long a_k, long long b_k,
    long long b_column, long long c_row, long long c_column, long long first, long long tiles) {
    Problem p = {a, b, c, d, offsets, batch, m, n, positions, a_row, a_k, b_k, b_column, c_row, c_column};
    Panel *panel = new Panel;
    Elements *elements = new Elements[THREADS];
    for (long long index = first; index < first + tiles; ++index) {
        Tile tile = tile_of(p, index);
        for (int t = 0; t < THREADS; ++t) begin(p, tile, t, elements[t]);
        for (long long position = 0; position < positions; position += DEPTH) {
            for (int t = 0; t < THREADS; ++t) load_panel(p, tile, position, t, *panel);
            for (int t = 0; t < THREADS; ++t) take_panel(p, position, t, *panel, elements[t]);
        }
        for (int t = 0; t < THREADS; ++t) finish(p, tile, t, elements[t]);
    }
    delete[] elements;
    delete panel;
}
"""


def compile_source(text: str, folder: Path) -> ctypes.CDLL:
    """Compile a program that is C++ except for CUDA's keywords."""
    source, library = folder / "kernel.cpp", folder / "kernel.so"
    source.write_text(_SHIM + text + (_DRIVER if "load_panel" in text else ""))
    options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-frounding-math", "-ffp-contract=off", "-Wno-unknown-pragmas"]
    subprocess.run([COMPILER, *options, str(source), "-o", str(library)], check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


def call(function: Callable[..., None], arguments: Iterable[np.ndarray | int]) -> None:
    """Call a compiled function with pointers to arrays and 64-bit integers."""
    words = (
        ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_longlong(int(x)) for x in arguments
    )
    function(*words)


def compile_on_host(product: DotProduct, folder: Path) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Compile a product's program; return a function that multiplies matrices of patterns, (M, K) by (K, N), plus c."""
    run, shape = compile_source(kernel_source(product), folder).run_blocks, shape_of(product)

    def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        d = np.zeros(c.shape, product.d.storage)
        (m, n), k = c.shape, a.shape[1]
        tiles = -(-m // shape.tile_rows) * -(-n // shape.tile_columns)
        strides = [step // x.itemsize for x in (a, b, c) for step in x.strides]
        offsets = np.zeros(3, np.int64)
        call(run, (a, b, c, d, offsets, 1, m, n, k // product.k * shape.positions, *strides, 0, tiles))
        return d

    return multiply
