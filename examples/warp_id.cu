// SPDX-License-Identifier: MIT
// D = A B with tensor cores, eight warps a block, one 16x16 tile a warp: nvcc -arch=sm_75 warp_id.cu
// A, B and D are row-major, size x size; the size is a multiple of 16.

#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void warp_id(const half* A, const half* B, float* D, int size)
{
    int warpID = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int tiles = size / 16;
    int row = warpID / tiles * 16;
    int col = warpID % tiles * 16;
    if (row >= size)
        return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < size; k += 16) {
        wmma::load_matrix_sync(a, A + row * size + k, size);
        wmma::load_matrix_sync(b, B + k * size + col, size);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(D + row * size + col, c, size, wmma::mem_row_major);
}

int main()
{
    const int size = 128, warps = size / 16 * (size / 16);
    half *A, *B;
    float* D;
    cudaMallocManaged(&A, size * size * sizeof(half));
    cudaMallocManaged(&B, size * size * sizeof(half));
    cudaMallocManaged(&D, size * size * sizeof(float));
    for (int i = 0; i < size * size; ++i) {
        A[i] = __float2half(float(i * 7 % 9 - 4));
        B[i] = __float2half(float(i * 5 % 11 - 5));
    }
    warp_id<<<warps * 32 / 256 + 1, 256>>>(A, B, D, size);
    int wrong = cudaDeviceSynchronize() == cudaSuccess ? 0 : size * size;
    for (int i = 0; i < size * size && wrong < size * size; ++i) {
        float sum = 0;
        for (int k = 0; k < size; ++k)
            sum += __half2float(A[i / size * size + k]) * __half2float(B[k * size + i % size]);
        wrong += D[i] != sum;
    }
    printf("warp_id: %d x %d, %d elements differ\n", size, size, wrong);
    return wrong != 0;
}
