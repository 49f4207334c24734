// SPDX-License-Identifier: MIT
// A matrix product in ten steps, from the first attempt to double-buffered tensor cores: D = A B.
// A is M x K, B is K x N, D is M x N, all row after row; M and N are multiples of 64, K of 32.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

// 1. One thread an element. Neighbouring threads are in neighbouring rows: every access to A and D is scattered.
extern "C" __global__ void step01_naive(const float* A, const float* B, float* D, int M, int N, int K)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < K; ++k)
        sum += A[row * K + k] * B[k * N + col];
    D[row * N + col] = sum;
}

// 2. Neighbouring threads are in neighbouring columns: accesses to B and D are coalesced.
extern "C" __global__ void step02_coalesced(const float* A, const float* B, float* D, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; ++k)
        sum += A[row * K + k] * B[k * N + col];
    D[row * N + col] = sum;
}

// 3. Tiles of 32 x 32 in shared memory: each element is read from global memory once a block.
extern "C" __global__ void step03_shared(const float* A, const float* B, float* D, int M, int N, int K)
{
    __shared__ float a[32][32], b[32][32];
    int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        a[threadIdx.y][threadIdx.x] = A[row * K + k0 + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    D[row * N + col] = sum;
}

// 4. Eight elements of a column in each thread: an element of B is used in eight products.
extern "C" __global__ void step04_column(const float* A, const float* B, float* D, int M, int N, int K)
{
    __shared__ float a[64][8], b[8][64];
    int t = threadIdx.x, col = t % 64, row = t / 64 * 8;
    const float* A0 = A + blockIdx.y * 64 * K;
    const float* B0 = B + blockIdx.x * 64;
    float sum[8] = {};
    for (int k0 = 0; k0 < K; k0 += 8) {
        a[t / 8][t % 8] = A0[t / 8 * K + k0 + t % 8];
        b[t / 64][t % 64] = B0[(k0 + t / 64) * N + t % 64];
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            float y = b[k][col];
            for (int i = 0; i < 8; ++i)
                sum[i] += a[row + i][k] * y;
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i)
        D[(blockIdx.y * 64 + row + i) * N + blockIdx.x * 64 + col] = sum[i];
}

// 5. A square of 4 x 4 elements in each thread: four elements of A and four of B give sixteen products.
extern "C" __global__ void step05_square(const float* A, const float* B, float* D, int M, int N, int K)
{
    __shared__ float a[64][16], b[16][64];
    int t = threadIdx.x, col = t % 16 * 4, row = t / 16 * 4;
    const float* A0 = A + blockIdx.y * 64 * K;
    const float* B0 = B + blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = t; i < 1024; i += 256) {
            a[i / 16][i % 16] = A0[i / 16 * K + k0 + i % 16];
            b[i / 64][i % 64] = B0[(k0 + i / 64) * N + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += a[row + i][k] * b[k][col + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            D[(blockIdx.y * 64 + row + i) * N + blockIdx.x * 64 + col + j] = sum[i][j];
}

// 6. Vectors of 16 bytes, and A transposed in shared memory: fewer instructions, but the transposition conflicts.
extern "C" __global__ void step06_vectors(const float* A, const float* B, float* D, int M, int N, int K)
{
    __shared__ __align__(16) float a[16][64], b[16][64];
    int t = threadIdx.x, col = t % 16 * 4, row = t / 16 * 4;
    const float* A0 = A + blockIdx.y * 64 * K;
    const float* B0 = B + blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        float4 x = *(const float4*)&A0[t / 4 * K + k0 + t % 4 * 4];
        a[t % 4 * 4 + 0][t / 4] = x.x;
        a[t % 4 * 4 + 1][t / 4] = x.y;
        a[t % 4 * 4 + 2][t / 4] = x.z;
        a[t % 4 * 4 + 3][t / 4] = x.w;
        *(float4*)&b[t / 16][t % 16 * 4] = *(const float4*)&B0[(k0 + t / 16) * N + t % 16 * 4];
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            float4 p = *(const float4*)&a[k][row], q = *(const float4*)&b[k][col];
            float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        *(float4*)&D[(blockIdx.y * 64 + row + i) * N + blockIdx.x * 64 + col] =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}

// 7. The same with a swizzle: row r of column k of A is at r ^ (k / 4 * 8), and the conflicts are gone.
extern "C" __global__ void step07_swizzled(const float* A, const float* B, float* D, int M, int N, int K)
{
    __shared__ __align__(16) float a[16][64], b[16][64];
    int t = threadIdx.x, col = t % 16 * 4, row = t / 16 * 4;
    const float* A0 = A + blockIdx.y * 64 * K;
    const float* B0 = B + blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        float4 x = *(const float4*)&A0[t / 4 * K + k0 + t % 4 * 4];
        a[t % 4 * 4 + 0][t / 4 ^ t % 4 * 8] = x.x;
        a[t % 4 * 4 + 1][t / 4 ^ t % 4 * 8] = x.y;
        a[t % 4 * 4 + 2][t / 4 ^ t % 4 * 8] = x.z;
        a[t % 4 * 4 + 3][t / 4 ^ t % 4 * 8] = x.w;
        *(float4*)&b[t / 16][t % 16 * 4] = *(const float4*)&B0[(k0 + t / 16) * N + t % 16 * 4];
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            float4 p = *(const float4*)&a[k][row ^ k / 4 * 8], q = *(const float4*)&b[k][col];
            float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        *(float4*)&D[(blockIdx.y * 64 + row + i) * N + blockIdx.x * 64 + col] =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
}

// 8. Tensor cores, straight from global memory: a warp computes 16 x 16 elements.
extern "C" __global__ void step08_wmma(const half* A, const half* B, float* D, int M, int N, int K)
{
    int warp = threadIdx.x / 32, row = blockIdx.y * 32 + warp / 2 * 16, col = blockIdx.x * 32 + warp % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> d;
    wmma::fill_fragment(d, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        wmma::mma_sync(d, a, b, d);
    }
    wmma::store_matrix_sync(D + row * N + col, d, N, wmma::mem_row_major);
}

// 9. Tensor cores from tiles in shared memory, with rows padded by 16 bytes: the loads of fragments do not conflict.
// The stores of the rows of A still do: eight lanes store two rows, and 80 bytes further is not half of the banks.
extern "C" __global__ void step09_wmma_shared(const half* A, const half* B, float* D, int M, int N, int K)
{
    __shared__ __align__(128) half a[64][32 + 8], b[32][64 + 8];
    int t = threadIdx.x, warp = t / 32, row = warp / 2 * 32, col = warp % 2 * 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> d[2][2];
    for (int i = 0; i < 4; ++i)
        wmma::fill_fragment(d[i / 2][i % 2], 0.0f);
    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int i = t; i < 256; i += 128) {
            *(int4*)&a[i / 4][i % 4 * 8] = *(const int4*)&A[(blockIdx.y * 64 + i / 4) * K + k0 + i % 4 * 8];
            *(int4*)&b[i / 8][i % 8 * 8] = *(const int4*)&B[(k0 + i / 8) * N + blockIdx.x * 64 + i % 8 * 8];
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) {
                    wmma::load_matrix_sync(x, &a[row + i * 16][k], 40);
                    wmma::load_matrix_sync(y, &b[k][col + j * 16], 72);
                    wmma::mma_sync(d[i][j], x, y, d[i][j]);
                }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(&D[(blockIdx.y * 64 + row + i * 16) * N + blockIdx.x * 64 + col + j * 16], d[i][j],
                                    N, wmma::mem_row_major);
}

// 10. Two buffers: the next tiles are copied asynchronously while the tensor cores multiply the current ones.
extern "C" __global__ void step10_buffered(const half* A, const half* B, float* D, int M, int N, int K)
{
    __shared__ __align__(128) half a[2][64][32 + 8], b[2][32][64 + 8];
    int t = threadIdx.x, warp = t / 32, row = warp / 2 * 32, col = warp % 2 * 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y[2];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> d[2][2];
    for (int i = 0; i < 4; ++i)
        wmma::fill_fragment(d[i / 2][i % 2], 0.0f);
    auto copy = [&](int buffer, int k0) {
        for (int i = t; i < 256; i += 128) {
            __pipeline_memcpy_async(&a[buffer][i / 4][i % 4 * 8],
                                    &A[(blockIdx.y * 64 + i / 4) * K + k0 + i % 4 * 8], 16);
            __pipeline_memcpy_async(&b[buffer][i / 8][i % 8 * 8],
                                    &B[(k0 + i / 8) * N + blockIdx.x * 64 + i % 8 * 8], 16);
        }
        __pipeline_commit();
    };
    copy(0, 0);
    for (int k0 = 0, now = 0; k0 < K; k0 += 32, now ^= 1) {
        if (k0 + 32 < K) {
            copy(now ^ 1, k0 + 32);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(x[i], &a[now][row + i * 16][k], 40);
                wmma::load_matrix_sync(y[i], &b[now][k][col + i * 16], 72);
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j)
                    wmma::mma_sync(d[i][j], x[i], y[j], d[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(&D[(blockIdx.y * 64 + row + i * 16) * N + blockIdx.x * 64 + col + j * 16], d[i][j],
                                    N, wmma::mem_row_major);
}
