// SPDX-License-Identifier: MIT
// D = A B for sizes that the host pads to multiples of 16, blocks of 2 x 2 warps: nvcc -arch=sm_75 bounds_checked.cu
// A, B and D are column-major, as BLAS has them: M x K, K x N, M x N. The loop takes k by 32, so the last step may have
// one tile only.

#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void bounds_checked(const half* A, const half* B, float* D, int M, int N, int K)
{
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int warpN = blockIdx.y * blockDim.y + threadIdx.y;
    int row = warpM * 16;
    int col = warpN * 16;
    if (row >= M || col >= N)
        return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int k = k0; k < k0 + 32; k += 16) {
            if (k < K) {
                wmma::load_matrix_sync(a, A + k * M + row, M);
                wmma::load_matrix_sync(b, B + col * K + k, K);
                wmma::mma_sync(c, a, b, c);
            }
        }
    }
    wmma::store_matrix_sync(D + col * M + row, c, M, wmma::mem_col_major);
}

int padded(int size)
{
    return (size + 15) / 16 * 16;
}

int main()
{
    const int m = 40, n = 50, k = 70, M = padded(m), N = padded(n), K = padded(k);
    half *A, *B;
    float* D;
    cudaMallocManaged(&A, M * K * sizeof(half));
    cudaMallocManaged(&B, K * N * sizeof(half));
    cudaMallocManaged(&D, M * N * sizeof(float));
    for (int i = 0; i < M * K; ++i)
        A[i] = __float2half(i % M < m && i / M < k ? float(i * 7 % 9 - 4) : 0.0f);
    for (int i = 0; i < K * N; ++i)
        B[i] = __float2half(i % K < k && i / K < n ? float(i * 5 % 11 - 5) : 0.0f);
    bounds_checked<<<dim3(M / 32 + 1, N / 32 + 1), dim3(64, 2)>>>(A, B, D, M, N, K);
    int wrong = cudaDeviceSynchronize() == cudaSuccess ? 0 : M * N;
    for (int i = 0; i < M * N && wrong < M * N; ++i) {
        float sum = 0;
        for (int j = 0; j < k; ++j)
            sum += __half2float(A[j * M + i % M]) * __half2float(B[i / M * K + j]);
        wrong += D[i] != sum;
    }
    printf("bounds_checked: %d x %d x %d as %d x %d x %d, %d elements differ\n", m, n, k, M, N, K, wrong);
    return wrong != 0;
}
