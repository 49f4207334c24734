// SPDX-License-Identifier: MIT
// Accesses outside of every allocation. The line of a bug names the kind after an arrow.

#include <cuda_fp16.h>
#include <mma.h>

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

using namespace nvcuda;

// A bound that is off by one; `out` has room for one more.
extern "C" __global__ void read_past_the_end(const int* in, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i BUG(<=, <) n)
        out[i] = in[i]; // <- out of bounds
}

extern "C" __global__ void write_past_the_end(int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (BUG(true, i < n))
        out[i] = i; // <- out of bounds
}

extern "C" __global__ void neighbour_of_the_first(const float* in, float* out, int n)
{
    int i = threadIdx.x;
    float left = i BUG(>=, >) 0 ? in[i - 1] : 0.0f; // <- out of bounds
    out[i] = left + in[i];
}

extern "C" __global__ void last_vector(const float* in, float* out, int n)
{
    int i = 4 * threadIdx.x;
    float4 x = {};
    if (BUG(i < n, i + 3 < n))
        x = *(const float4*)(in + i); // <- out of bounds
    out[threadIdx.x] = x.x + x.y + x.z + x.w;
}

extern "C" __global__ void rows_for_columns(const int* in, int* out, int rows, int columns)
{
    int row = threadIdx.x / columns, column = threadIdx.x % columns;
    out[row * columns + column] = in[BUG(row + column * columns, row * columns + column)]; // <- out of bounds
}

extern "C" __global__ void shared_past_the_end(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[BUG(threadIdx.x + 1, threadIdx.x)] = in[threadIdx.x]; // <- out of bounds
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x BUG(+ (threadIdx.x == 63), )];
}

extern "C" __global__ void shared_before_the_begin(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int left = int(threadIdx.x) - 1;
    out[threadIdx.x] = tile[BUG(left, max(left, 0))]; // <- out of bounds
}

// The launch gives four bytes a thread; the kernel needs eight.
extern "C" __global__ void dynamic_memory_too_small(const int* in, int* out)
{
    extern __shared__ int pairs[];
    pairs[BUG(2 *, 1 *) threadIdx.x] = in[threadIdx.x]; // <- out of bounds
    out[threadIdx.x] = in[threadIdx.x];
}

extern "C" __global__ void local_past_the_end(const int* places, int* out)
{
    int own[12];
    for (int i = 0; i < 12; ++i)
        own[i] = places[i] * 3;
    int place = places[threadIdx.x] + BUG(1, 0); // of 0 to 11
    own[place] = 7; // <- out of bounds
    out[threadIdx.x] = own[place / 2] + own[11];
}

// Forty rows do not divide into tiles of sixteen.
extern "C" __global__ void tile_past_the_end(const half* A, float* D)
{
    int row = 16 * blockIdx.x;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(b, A, 16);
    if (BUG(row < 40, row + 16 <= 40)) {
        unsigned r[8];
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.f16 "
                     "{%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 16;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "l"(A + row * 16) // <- out of bounds
                     : "memory");
        memcpy(a.x, r, sizeof r);
        wmma::mma_sync(c, a, b, c);
        wmma::store_matrix_sync(D + 256 * blockIdx.x, c, 16, wmma::mem_row_major);
    }
}

// Sixteen bins, and data up to sixteen.
extern "C" __global__ void bin_past_the_end(const unsigned char* data, int* bins)
{
    atomicAdd(bins + BUG(data[threadIdx.x], min(int(data[threadIdx.x]), 15)), 1); // <- out of bounds
}

extern "C" __global__ void copy_past_the_end(const float* in, float* out, int n)
{
    __shared__ __align__(16) float tile[128];
    int i = 4 * threadIdx.x;
    int bytes = i + 3 < n || BUG(i < n, false) ? 16 : 0;
    const float* from = bytes ? in + i : in;
    unsigned to = __cvta_generic_to_shared(tile + i);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                 ::"r"(to), "l"(from), "r"(bytes) // <- out of bounds
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (threadIdx.x < n)
        out[threadIdx.x] = tile[threadIdx.x];
}

// The host passes no bias.
extern "C" __global__ void no_pointer(const float* in, const float* bias, float* out)
{
    float x = in[threadIdx.x];
    if (BUG(true, bias))
        x += bias[threadIdx.x]; // <- out of bounds
    out[threadIdx.x] = x;
}
