// SPDX-License-Identifier: MIT
// Addresses that violate the alignment of the instruction.

#include <cuda_fp16.h>

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

extern "C" __global__ void vector_of_four(const float* in, float* out)
{
    float4 x = *(const float4*)(in + 4 * threadIdx.x + BUG(1, 0)); // <- misaligned
    out[threadIdx.x] = x.x + x.y + x.z + x.w;
}

extern "C" __global__ void word_among_bytes(const unsigned char* in, unsigned* out)
{
    out[threadIdx.x] = *(const unsigned*)(in + BUG(5, 4) * threadIdx.x); // <- misaligned
}

extern "C" __global__ void double_in_shared(const int* in, double* out)
{
    __shared__ __align__(8) int words[65];
    words[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0)
        words[64] = 0;
    __syncthreads();
    if (threadIdx.x < 32)
        out[threadIdx.x] = *(double*)(words + 2 * threadIdx.x + BUG(1, 0)); // <- misaligned
}

extern "C" __global__ void copy_of_sixteen(const float* in, float* out)
{
    __shared__ __align__(16) float tile[32 * 6];
    for (int e = threadIdx.x; e < 32 * 6; e += 32)
        tile[e] = 0;
    __syncwarp();
    unsigned to = __cvta_generic_to_shared(tile + BUG(5, 4) * threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 ::"r"(to), "l"(in + 4 * threadIdx.x) // <- misaligned
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = tile[BUG(5, 4) * threadIdx.x];
}

extern "C" __global__ void copy_of_eight(const float* in, float* out)
{
    __shared__ __align__(16) float tile[64];
    unsigned to = __cvta_generic_to_shared(tile + 2 * threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
                 ::"r"(to), "l"(in + 2 * threadIdx.x + BUG(1, 0)) // <- misaligned
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = tile[2 * threadIdx.x];
}

extern "C" __global__ void tile_pointer(const half* A, half* out)
{
    unsigned r[8];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 32;"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "l"(A + BUG(8, 16)) // <- misaligned
                 : "memory");
    ((unsigned*)out)[threadIdx.x] = r[0] ^ r[7];
}

extern "C" __global__ void tile_pitch(const half* A, half* out)
{
    unsigned r[8];
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "l"(A), "r"(BUG(20, 24)) // <- illegal operand
                 : "memory");
    ((unsigned*)out)[threadIdx.x] = r[0] ^ r[7];
}

extern "C" __global__ void matrix_row(const half* in, unsigned* out)
{
    __shared__ __align__(16) half tile[8 * 16];
    for (int e = threadIdx.x; e < 128; e += 32)
        tile[e] = in[e];
    __syncwarp();
    unsigned m, from = __cvta_generic_to_shared(tile + threadIdx.x % 8 * BUG(12, 16));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(m)
                 : "r"(from) // <- misaligned
                 : "memory");
    out[threadIdx.x] = m;
}
