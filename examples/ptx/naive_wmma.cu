// SPDX-License-Identifier: MIT
// D = A B, one 16x16 tile a block, one warp a block. A is row-major M x K, B column-major K x N, D row-major M x N;
// all sizes are multiples of 16, and blocks past the end return at once.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void naive_wmma(const half* A, const half* B, float* D, int M, int N, int K)
{
    int row = blockIdx.y * 16;
    int col = blockIdx.x * 16;
    if (row >= M || col >= N)
        return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + col * K + k, K);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(D + row * N + col, c, N, wmma::mem_row_major);
}
