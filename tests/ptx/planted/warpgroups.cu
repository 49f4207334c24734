// SPDX-License-Identifier: MIT
// wgmma whose results are used too early, and descriptors that the manual forbids (sm_90a).

#include <cuda_fp16.h>

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__device__ __forceinline__ unsigned long long fill(half* tile, const half* in, int elements)
{
    for (int e = threadIdx.x; e < elements; e += 128)
        tile[e] = in[e];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned long long address = __cvta_generic_to_shared(tile);
    return (address & 0x3FFFF) >> 4 | 8ull << 16 | 16ull << 32;
}

// The sums are in their registers before the fence: a write after it would not be visible to wgmma.
#define FENCE(d)                                                                                                       \
    asm volatile("wgmma.fence.sync.aligned;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
#define MMA(d, a, b)                                                                                                   \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"             \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                      \
                 : "l"(a), "l"(b))
#define STORE(p, x) asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(x) : "memory")

extern "C" __global__ void result_without_a_wait(const half* A, const half* B, float* D)
{
    __shared__ __align__(128) half a_tile[64 * 16], b_tile[8 * 16];
    unsigned long long a = fill(a_tile, A, 1024), b = fill(b_tile, B, 128);
    float d[4] = {};
    FENCE(d);
    MMA(d, a, b);
    COMMIT;
    BUG(, WAIT(0));
    STORE(D + threadIdx.x, d[0]); // <- missing wait
    WAIT(0);
}

extern "C" __global__ void result_of_the_last_group(const half* A, const half* B, float* D)
{
    __shared__ __align__(128) half a_tile[64 * 16], b_tile[8 * 16];
    unsigned long long a = fill(a_tile, A, 1024), b = fill(b_tile, B, 128);
    float d[4] = {}, e[4] = {};
    FENCE(d);
    MMA(d, a, b);
    COMMIT;
    FENCE(e);
    MMA(e, a, b);
    COMMIT;
    WAIT(1);
    STORE(D + threadIdx.x, d[0]);
    BUG(, WAIT(0));
    STORE(D + threadIdx.x + 128, e[0]); // <- missing wait
    WAIT(0);
}

// A warp writes to the tile while the product of the others may still read it.
extern "C" __global__ void tile_overwritten(const half* A, const half* B, float* D)
{
    __shared__ __align__(128) half a_tile[64 * 16], b_tile[8 * 16];
    unsigned long long a = fill(a_tile, A, 1024), b = fill(b_tile, B, 128);
    float d[4] = {};
    FENCE(d);
    MMA(d, a, b);
    COMMIT;
    BUG(, WAIT(0); __syncthreads());
    a_tile[threadIdx.x] = half(0); // <- missing wait
    WAIT(0);
    STORE(D + threadIdx.x, d[0]);
}

// Bits 0 to 13 are the address in units of sixteen bytes.
extern "C" __global__ void descriptor_past_the_end(const half* A, const half* B, float* D)
{
    __shared__ __align__(128) half a_tile[64 * 16], b_tile[8 * 16];
    unsigned long long a = fill(a_tile, A, 1024), b = fill(b_tile, B, 128);
    float d[4] = {};
    FENCE(d);
    MMA(d, a + BUG(0x3000, 0), b); // <- out of bounds
    COMMIT;
    WAIT(0);
    STORE(D + threadIdx.x, d[0]);
}

extern "C" __global__ void mma_of_three_warps(const half* A, const half* B, float* D)
{
    __shared__ __align__(128) half a_tile[64 * 16], b_tile[8 * 16];
    unsigned long long a = fill(a_tile, A, 1024), b = fill(b_tile, B, 128);
    float d[4] = {};
    if (BUG(threadIdx.x < 96, true)) {
        FENCE(d); // <- partial warp
        MMA(d, a, b); // <- partial warp
        COMMIT; // <- partial warp
        WAIT(0); // <- partial warp
    }
    STORE(D + threadIdx.x, d[0]);
}
