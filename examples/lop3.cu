// SPDX-License-Identifier: MIT
// out = (a & b) | c in one instruction: nvcc -arch=sm_75 lop3.cu
// The immediate of lop3 is what the expression gives for a = 0xF0, b = 0xCC, c = 0xAA: its truth table.

#include <cstdio>

extern "C" __global__ void lop3(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const int table = (0xF0 & 0xCC) | 0xAA;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(out[i]) : "r"(a[i]), "r"(b[i]), "r"(c[i]), "n"(table));
}

int main()
{
    const int count = 992;
    unsigned *a, *b, *c, *out;
    cudaMallocManaged(&a, count * sizeof(unsigned));
    cudaMallocManaged(&b, count * sizeof(unsigned));
    cudaMallocManaged(&c, count * sizeof(unsigned));
    cudaMallocManaged(&out, count * sizeof(unsigned));
    for (int i = 0; i < count; ++i) {
        a[i] = i * 2654435761u;
        b[i] = i * 2246822519u;
        c[i] = i * 3266489917u;
    }
    lop3<<<4, 256>>>(a, b, c, out, count);
    int wrong = cudaDeviceSynchronize() == cudaSuccess ? 0 : count;
    for (int i = 0; i < count && wrong < count; ++i)
        wrong += out[i] != ((a[i] & b[i]) | c[i]);
    printf("lop3: %d words, immLut 0x%02X, %d differ\n", count, (0xF0 & 0xCC) | 0xAA, wrong);
    return wrong != 0;
}
