// SPDX-License-Identifier: MIT
// D = A B for any M, N, K with the Ampere pipeline: cp.async brings tiles into shared memory, three stages deep, while
// ldmatrix and mma.m16n8k16 work on the oldest. A 64x64 tile a block of four warps, 32x32 a warp, k in steps of 32.
// A, B, D are row-major with rows of lda, ldb, ldd elements; lda and ldb are multiples of eight, as cp.async copies
// sixteen bytes. Where a matrix ends, cp.async reads fewer bytes and fills the rest with zeros.

#include <cuda_fp16.h>

constexpr int TILE = 64, STEP = 32, STAGES = 3;
constexpr int A_ROW = STEP + 8, B_ROW = TILE + 8; // rows of shared memory, so that ldmatrix meets all banks
constexpr int A_HALVES = TILE * A_ROW, STAGE_HALVES = A_HALVES + STEP * B_ROW;

__device__ __forceinline__ void copy16(half* to, const half* from, int elements)
{
    int bytes = 2 * min(max(elements, 0), 8);
    unsigned address = __cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void load_stage(half* stage, const half* A, const half* B, int M, int N, int K, int lda,
                                           int ldb, int row, int col, int k)
{
    for (int e = threadIdx.x; e < TILE * STEP / 8; e += 128) { // A: 64 rows of four times sixteen bytes
        int i = e / 4, j = e % 4 * 8;
        bool inside = row + i < M && k + j < K;
        copy16(stage + i * A_ROW + j, inside ? A + (row + i) * lda + k + j : A, inside ? K - k - j : 0);
    }
    for (int e = threadIdx.x; e < TILE * STEP / 8; e += 128) { // B: 32 rows of eight times sixteen bytes
        int i = e / 8, j = e % 8 * 8;
        bool inside = k + i < K && col + j < N;
        copy16(stage + A_HALVES + i * B_ROW + j, inside ? B + (k + i) * ldb + col + j : B, inside ? N - col - j : 0);
    }
}

__device__ __forceinline__ void load_a(unsigned (&a)[4], const half* tile)
{
    int lane = threadIdx.x % 32;
    unsigned address = __cvta_generic_to_shared(tile + lane % 16 * A_ROW + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void load_b(unsigned (&b)[2], const half* tile)
{
    int lane = threadIdx.x % 16; // lanes 16 to 31 name rows that x2 does not read
    unsigned address = __cvta_generic_to_shared(tile + lane * B_ROW);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(address)
                 : "memory");
}

extern "C" __global__ void __launch_bounds__(128)
    pipelined_gemm(const half* A, const half* B, float* D, int M, int N, int K, int lda, int ldb, int ldd)
{
    extern __shared__ __align__(16) half stages[];
    int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    int warp = threadIdx.x / 32, warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
    int steps = (K + STEP - 1) / STEP;
    float sums[2][4][4] = {};

    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < steps)
            load_stage(stages + s * STAGE_HALVES, A, B, M, N, K, lda, ldb, row, col, s * STEP);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int s = 0; s < steps; ++s) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads(); // all threads' copies have arrived, and no thread reads the stage that is written next
        int next = s + STAGES - 1;
        if (next < steps)
            load_stage(stages + next % STAGES * STAGE_HALVES, A, B, M, N, K, lda, ldb, row, col, next * STEP);
        asm volatile("cp.async.commit_group;" ::: "memory");

        const half* a_tile = stages + s % STAGES * STAGE_HALVES + warp_row * A_ROW;
        const half* b_tile = stages + s % STAGES * STAGE_HALVES + A_HALVES + warp_col;
        for (int k = 0; k < STEP; k += 16) {
            unsigned a[2][4];
            load_a(a[0], a_tile + k);
            load_a(a[1], a_tile + 16 * A_ROW + k);
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                unsigned b[2];
                load_b(b, b_tile + k * B_ROW + 8 * n);
#pragma unroll
                for (int m = 0; m < 2; ++m) {
                    float(&d)[4] = sums[m][n];
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                                 "{%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                                 : "r"(a[m][0]), "r"(a[m][1]), "r"(a[m][2]), "r"(a[m][3]), "r"(b[0]), "r"(b[1]));
                }
            }
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 4; ++n)
            for (int e = 0; e < 4; ++e) {
                int i = row + warp_row + 16 * m + threadIdx.x % 32 / 4 + e / 2 * 8;
                int j = col + warp_col + 8 * n + threadIdx.x % 4 * 2 + e % 2;
                if (i < M && j < N)
                    D[i * ldd + j] = sums[m][n][e];
            }
}
