// SPDX-License-Identifier: MIT
// D = A B in tf32 over shared memory: nvcc -arch=sm_80 tf32_shared.cu
// A block of four warps computes 64 x 32 elements, a warp 32 x 16 of them in 2 x 2 microtiles of 16 x 8, which it keeps
// in registers. A, B and D are row-major; M is a multiple of 64, N of 32, K of 16.

#include <cstdio>

__device__ unsigned tf32(float x)
{
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
}

extern "C" __global__ void tf32_shared(const float* A, const float* B, float* D, int M, int N, int K)
{
    __shared__ unsigned As[64][16];
    __shared__ unsigned Bs[16][32];
    int block_row = blockIdx.y * 64;
    int block_col = blockIdx.x * 32;
    if (block_row >= M || block_col >= N)
        return;
    int thread = threadIdx.x;
    int warp_row = thread / 32 / 2 * 32;
    int warp_col = thread / 32 % 2 * 16;
    int row = thread % 32 / 4;
    int col = thread % 4;
    float acc[2][2][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i0 = 0; i0 < 64 * 16; i0 += 128) {
            int i = i0 + thread;
            As[i / 16][i % 16] = tf32(A[(block_row + i / 16) * K + k0 + i % 16]);
        }
        for (int i0 = 0; i0 < 16 * 32; i0 += 128) {
            int i = i0 + thread;
            Bs[i / 32][i % 32] = tf32(B[(k0 + i / 32) * N + block_col + i % 32]);
        }
        __syncthreads();
        for (int k = 0; k < 16; k += 8) {
            unsigned a[2][4], b[2][2];
            for (int m = 0; m < 2; ++m) {
                int r = warp_row + 16 * m + row;
                a[m][0] = As[r][k + col];
                a[m][1] = As[r + 8][k + col];
                a[m][2] = As[r][k + col + 4];
                a[m][3] = As[r + 8][k + col + 4];
            }
            for (int n = 0; n < 2; ++n) {
                b[n][0] = Bs[k + col][warp_col + 8 * n + row];
                b[n][1] = Bs[k + col + 4][warp_col + 8 * n + row];
            }
            for (int m = 0; m < 2; ++m)
                for (int n = 0; n < 2; ++n)
                    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                        : "+f"(acc[m][n][0]), "+f"(acc[m][n][1]), "+f"(acc[m][n][2]), "+f"(acc[m][n][3])
                        : "r"(a[m][0]), "r"(a[m][1]), "r"(a[m][2]), "r"(a[m][3]), "r"(b[n][0]), "r"(b[n][1]));
        }
        __syncthreads();
    }
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 2; ++n)
            for (int i = 0; i < 4; ++i) {
                int r = block_row + warp_row + 16 * m + row + i / 2 * 8;
                int c = block_col + warp_col + 8 * n + 2 * col + i % 2;
                D[r * N + c] = acc[m][n][i];
            }
}

int main()
{
    const int M = 128, N = 64, K = 64;
    float *A, *B, *D;
    cudaMallocManaged(&A, M * K * sizeof(float));
    cudaMallocManaged(&B, K * N * sizeof(float));
    cudaMallocManaged(&D, M * N * sizeof(float));
    for (int i = 0; i < M * K; ++i)
        A[i] = float(i * 7 % 9 - 4);
    for (int i = 0; i < K * N; ++i)
        B[i] = float(i * 5 % 11 - 5);
    tf32_shared<<<dim3(N / 32 + 1, M / 64 + 1), 128>>>(A, B, D, M, N, K);
    int wrong = cudaDeviceSynchronize() == cudaSuccess ? 0 : M * N;
    for (int i = 0; i < M * N && wrong < M * N; ++i) {
        float sum = 0;
        for (int k = 0; k < K; ++k)
            sum += A[i / N * K + k] * B[k * N + i % N];
        wrong += D[i] != sum;
    }
    printf("tf32_shared: %d x %d x %d, %d elements differ\n", M, N, K, wrong);
    return wrong != 0;
}
