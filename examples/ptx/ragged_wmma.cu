// SPDX-License-Identifier: MIT
// D = A B for any M, N, K: a warp stages its 16x16 tiles in shared memory and puts zeros where the matrices end.
// Four warps a block, one below the other. A, B and D are row-major.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void ragged_wmma(const half* A, const half* B, float* D, int M, int N, int K)
{
    __shared__ __align__(32) half tiles[4][2][256];
    __shared__ __align__(32) float sums[4][256];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = (blockIdx.y * 4 + warp) * 16, col = blockIdx.x * 16;
    if (row >= M)
        return; // no thread of this warp is needed, and no barrier of the block follows
    half* a_tile = tiles[warp][0];
    half* b_tile = tiles[warp][1];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 16) {
        for (int e = lane; e < 256; e += 32) {
            int i = e / 16, j = e % 16;
            a_tile[e] = row + i < M && k + j < K ? A[(row + i) * K + k + j] : half(0);
            b_tile[e] = k + i < K && col + j < N ? B[(k + i) * N + col + j] : half(0);
        }
        __syncwarp();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
        wmma::load_matrix_sync(a, a_tile, 16);
        wmma::load_matrix_sync(b, b_tile, 16);
        wmma::mma_sync(c, a, b, c);
        __syncwarp();
    }
    wmma::store_matrix_sync(sums[warp], c, 16, wmma::mem_row_major);
    __syncwarp();
    for (int e = lane; e < 256; e += 32)
        if (row + e / 16 < M && col + e % 16 < N)
            D[(row + e / 16) * N + col + e % 16] = sums[warp][e];
}
