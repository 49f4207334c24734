// SPDX-License-Identifier: MIT
// D = A B, a 64x64 tile a block of 256 threads: eight warps, four rows and two columns of them, each with a 16x32 part.
// The block stages A and B in shared memory, thirty-two columns of A at a time. A and B are row-major; M and N are
// multiples of 64, K of 32.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 64, STEP = 32;
constexpr int A_ROW = STEP + 8, B_ROW = TILE + 8; // eight halves more: rows begin in different banks

extern "C" __global__ void __launch_bounds__(256) block_wmma(const half* A, const half* B, float* D, int N, int K)
{
    __shared__ __align__(32) half a_tile[TILE * A_ROW];
    __shared__ __align__(32) half b_tile[STEP * B_ROW];
    int warp = threadIdx.x / 32;
    int warp_row = warp / 2 * 16, warp_col = warp % 2 * 32;
    int row = blockIdx.y * TILE, col = blockIdx.x * TILE;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2];
    wmma::fill_fragment(c[0], 0.0f);
    wmma::fill_fragment(c[1], 0.0f);
    for (int k = 0; k < K; k += STEP) {
        // Sixteen bytes a thread: four threads a row of A, eight a row of B.
        int i = threadIdx.x / 4, j = threadIdx.x % 4 * 8;
        *(int4*)(a_tile + i * A_ROW + j) = *(const int4*)(A + (row + i) * K + k + j);
        i = threadIdx.x / 8, j = threadIdx.x % 8 * 8;
        *(int4*)(b_tile + i * B_ROW + j) = *(const int4*)(B + (k + i) * N + col + j);
        __syncthreads();
        for (int s = 0; s < STEP; s += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
            wmma::load_matrix_sync(a, a_tile + warp_row * A_ROW + s, A_ROW);
            for (int part = 0; part < 2; ++part) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
                wmma::load_matrix_sync(b, b_tile + s * B_ROW + warp_col + 16 * part, B_ROW);
                wmma::mma_sync(c[part], a, b, c[part]);
            }
        }
        __syncthreads();
    }
    for (int part = 0; part < 2; ++part)
        wmma::store_matrix_sync(D + (row + warp_row) * N + col + warp_col + 16 * part, c[part], N,
                                wmma::mem_row_major);
}
