// SPDX-License-Identifier: MIT
// D = A B for row-major n x n matrices, n a multiple of 16. A block of 16 x 16 threads makes a tile of D.
#define T 16

extern "C" __global__ void gemm(const float* A, const float* B, float* D, int n)
{
    __shared__ float As[T][T], Bs[T][T];
    int row = blockIdx.y * T + threadIdx.y;
    int col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        As[threadIdx.y][threadIdx.x] = A[row * n + k + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < T; ++i)
            sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
    }
    D[row * n + col] = sum;
}
