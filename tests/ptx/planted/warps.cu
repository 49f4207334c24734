// SPDX-License-Identifier: MIT
// Instructions of a whole warp that some of its lanes do not reach, and operands that the manual forbids.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

#define LANES 0xFFFFFFFFu

__device__ __forceinline__ float one_mma(float x)
{
    float d0 = 0, d1, d2, d3;
    unsigned a = __float_as_uint(x);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%5,%5,%5,%5};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(a), "f"(0.0f)); // <- partial warp
    return d0 + d3;
}

extern "C" __global__ void mma_of_some_lanes(const float* in, float* out)
{
    float x = in[threadIdx.x];
    if (BUG(x > 0, true))
        x = one_mma(x);
    out[threadIdx.x] = x;
}

// A block of 48 threads has half a warp.
extern "C" __global__ void mma_of_half_a_warp(const float* in, float* out)
{
    float x = in[threadIdx.x];
    if (BUG(true, threadIdx.x < 32))
        x = one_mma(x);
    out[threadIdx.x] = x;
}

extern "C" __global__ void ldmatrix_of_some_lanes(const unsigned* in, unsigned* out)
{
    __shared__ __align__(16) unsigned tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    unsigned m = 0, from = __cvta_generic_to_shared(tile + threadIdx.x % 8 * 4);
    if (BUG(threadIdx.x % 32 < 16, true))
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(m)
                     : "r"(from) // <- partial warp
                     : "memory");
    out[threadIdx.x] = m;
}

extern "C" __global__ void barrier_of_some_lanes(const int* in, int* out)
{
    int x = in[threadIdx.x];
    if (BUG(x & 1, true))
        __syncthreads(); // <- barrier divergence
    out[threadIdx.x] = x;
}

// Both halves of a warp meet a barrier, but not the same instruction.
extern "C" __global__ void barriers_of_both_branches(const int* in, int* out)
{
    int x = in[threadIdx.x];
    if (BUG(threadIdx.x % 32 < 16, true)) {
        asm volatile("bar.sync 0;" ::: "memory"); // <- barrier divergence
        out[threadIdx.x] = x;
    } else {
        asm volatile("bar.sync 0;" ::: "memory"); // <- barrier divergence
        out[threadIdx.x] = 2 * x;
    }
}

// Half of the lanes have left, and the others ask them for a value.
extern "C" __global__ void shuffle_from_the_gone(const int* in, int* out)
{
    int lane = threadIdx.x;
    if (lane >= 16)
        return;
    out[lane] = __shfl_xor_sync(LANES, in[lane], BUG(16, 8)); // <- uninitialised
}

// The shuffle waits for lanes that wait at the barrier.
extern "C" __global__ void shuffle_before_a_barrier(const int* in, int* out)
{
    int x = in[threadIdx.x];
    if (BUG(threadIdx.x % 32 < 16, true))
        x = __shfl_xor_sync(LANES, x, 1); // <- partial warp
    __syncthreads();
    out[threadIdx.x] = x;
}

// The mask leaves out lanes that execute it.
extern "C" __global__ void shuffle_of_the_unnamed(const int* in, int* out)
{
    out[threadIdx.x] = __shfl_sync(BUG(0xFFFFu, LANES), in[threadIdx.x], 3); // <- illegal operand
}

extern "C" __global__ void vote_of_the_unnamed(const int* in, int* out)
{
    int x = in[threadIdx.x];
    out[threadIdx.x] = __ballot_sync(BUG(0x7FFFFFFFu, LANES), x > 5); // <- illegal operand
}

extern "C" __global__ void sum_of_the_unnamed(const int* in, int* out)
{
    out[threadIdx.x] = __reduce_add_sync(BUG(LANES << 1, LANES), in[threadIdx.x]); // <- illegal operand
}

extern "C" __global__ void barrier_16(int* out, int number)
{
    asm volatile("bar.sync %0, 32;" ::"r"(number BUG(+ 1, )) : "memory"); // <- illegal operand
    out[threadIdx.x] = number;
}

extern "C" __global__ void barrier_of_33(int* out, int threads)
{
    asm volatile("bar.sync 1, %0;" ::"r"(threads BUG(+ 1, )) : "memory"); // <- illegal operand
    out[threadIdx.x] = threads;
}
