// SPDX-License-Identifier: MIT
// D = A B + C, one 16x8x8 product a warp, from registers loaded by hand: nvcc -arch=sm_80 mma_tf32.cu
// A (16 x 8), B (8 x 8), C and D (16 x 8) are row-major, one after another for each product.

#include <cstdio>

extern "C" __global__ void mma_tf32(const float* A, const float* B, const float* C, float* D, int products)
{
    int product = blockIdx.x;
    if (product >= products)
        return;
    A += product * 16 * 8;
    B += product * 8 * 8;
    C += product * 16 * 8;
    D += product * 16 * 8;
    int row = threadIdx.x / 4;
    int col = threadIdx.x % 4;
    unsigned a[4], b[2];
    float c[4], d[4];
    a[0] = __float_as_uint(A[row * 8 + col]);
    a[1] = __float_as_uint(A[(row + 8) * 8 + col]);
    a[2] = __float_as_uint(A[row * 8 + col + 4]);
    a[3] = __float_as_uint(A[(row + 8) * 8 + col + 4]);
    b[0] = __float_as_uint(B[col * 8 + row]);
    b[1] = __float_as_uint(B[(col + 4) * 8 + row]);
    c[0] = C[row * 8 + 2 * col];
    c[1] = C[row * 8 + 2 * col + 1];
    c[2] = C[(row + 8) * 8 + 2 * col];
    c[3] = C[(row + 8) * 8 + 2 * col + 1];
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
          "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    D[row * 8 + 2 * col] = d[0];
    D[row * 8 + 2 * col + 1] = d[1];
    D[(row + 8) * 8 + 2 * col] = d[2];
    D[(row + 8) * 8 + 2 * col + 1] = d[3];
}

int main()
{
    const int products = 8;
    float *A, *B, *C, *D;
    cudaMallocManaged(&A, products * 128 * sizeof(float));
    cudaMallocManaged(&B, products * 64 * sizeof(float));
    cudaMallocManaged(&C, products * 128 * sizeof(float));
    cudaMallocManaged(&D, products * 128 * sizeof(float));
    for (int i = 0; i < products * 128; ++i) {
        A[i] = float(i * 7 % 9 - 4);
        C[i] = float(i * 3 % 13 - 6);
    }
    for (int i = 0; i < products * 64; ++i)
        B[i] = float(i * 5 % 11 - 5);
    mma_tf32<<<products + 1, 32>>>(A, B, C, D, products);
    int wrong = cudaDeviceSynchronize() == cudaSuccess ? 0 : products * 128;
    for (int i = 0; i < products * 128 && wrong < products * 128; ++i) {
        float sum = C[i];
        for (int k = 0; k < 8; ++k)
            sum += A[i / 8 * 8 + k] * B[i / 128 * 64 + k * 8 + i % 8];
        wrong += D[i] != sum;
    }
    printf("mma_tf32: %d products of 16 x 8 x 8, %d elements differ\n", products, wrong);
    return wrong != 0;
}
