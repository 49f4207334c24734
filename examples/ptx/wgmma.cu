// SPDX-License-Identifier: MIT
// D = A B with wgmma (sm_90a): a warpgroup, four warps, multiplies 64x16 by 16x32 straight out of shared memory.
// A: 64 x K row-major, B: K x 32 as 32 rows of K (column-major), D: 64 x 32 row-major; K is a multiple of 16.
// In shared memory both lie as "core matrices" of eight rows by sixteen bytes, each 128 bytes one after another.

#include <cuda_fp16.h>

__device__ __forceinline__ unsigned long long descriptor(const void* p, unsigned leading_bytes, unsigned stride_bytes)
{
    unsigned long long address = __cvta_generic_to_shared(p);
    return (address & 0x3FFFF) >> 4 | (unsigned long long)(leading_bytes >> 4) << 16 |
           (unsigned long long)(stride_bytes >> 4) << 32;
}

extern "C" __global__ void __launch_bounds__(128) wgmma_f16(const half* A, const half* B, float* D, int K)
{
    __shared__ __align__(128) half a_tile[64 * 16], b_tile[32 * 16];
    int thread = threadIdx.x;
    float d[16];
    for (int i = 0; i < 16; ++i)
        d[i] = 0;
    for (int k = 0; k < K; k += 16) {
        // Core matrix (r, c) holds rows 8r to 8r+7 and columns 8c to 8c+7, at 128 * (2r + c) bytes.
        for (int e = thread; e < 64 * 16; e += 128) {
            int i = e / 16, j = e % 16;
            a_tile[(i / 8 * 2 + j / 8) * 64 + i % 8 * 8 + j % 8] = A[i * K + k + j];
        }
        for (int e = thread; e < 32 * 16; e += 128) {
            int i = e / 16, j = e % 16;
            b_tile[(i / 8 * 2 + j / 8) * 64 + i % 8 * 8 + j % 8] = B[i * K + k + j];
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        unsigned long long a = descriptor(a_tile, 128, 256), b = descriptor(b_tile, 128, 256);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
                     "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, 1, 1, 1, 0, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
                       "+f"(d[15])
                     : "l"(a), "l"(b));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    int row = thread / 32 * 16 + thread % 32 / 4, col = thread % 4 * 2;
    for (int i = 0; i < 16; ++i)
        D[(row + i / 2 % 2 * 8) * 32 + i / 4 * 8 + col + i % 2] = d[i];
}
