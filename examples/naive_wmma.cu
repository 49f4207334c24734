// SPDX-License-Identifier: MIT
// D = A B with tensor cores, one 16x16 tile a block, one warp a block: nvcc -arch=sm_75 naive_wmma.cu
// A is row-major M x K, B is column-major K x N, D is row-major M x N; all sizes are multiples of 16.

#include <cstdio>
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

int main()
{
    const int M = 64, N = 48, K = 64;
    half *A, *B;
    float* D;
    cudaMallocManaged(&A, M * K * sizeof(half));
    cudaMallocManaged(&B, K * N * sizeof(half));
    cudaMallocManaged(&D, M * N * sizeof(float));
    for (int i = 0; i < M * K; ++i)
        A[i] = __float2half(float(i * 7 % 9 - 4));
    for (int i = 0; i < K * N; ++i)
        B[i] = __float2half(float(i * 5 % 11 - 5));
    naive_wmma<<<dim3(N / 16 + 1, M / 16 + 1), 32>>>(A, B, D, M, N, K);
    int wrong = cudaDeviceSynchronize() == cudaSuccess ? 0 : M * N;
    for (int i = 0; i < M * N && wrong < M * N; ++i) {
        float sum = 0;
        for (int k = 0; k < K; ++k)
            sum += __half2float(A[i / N * K + k]) * __half2float(B[i % N * K + k]);
        wrong += D[i] != sum;
    }
    printf("naive_wmma: %d x %d x %d, %d elements differ\n", M, N, K, wrong);
    return wrong != 0;
}
