// SPDX-License-Identifier: MIT
// Metadata that the manual forbids.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__device__ __forceinline__ void sparse_mma(float* D, unsigned a, unsigned b, unsigned metadata)
{
    float d0, d1, d2, d3;
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5,%5,%5}, {%7,%7,%7,%7}, %6, 0x0;"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(a), "r"(b), "r"(metadata), "f"(0.0f)); // <- illegal metadata
    D[threadIdx.x] = d0 + d1 + d2 + d3;
}

// Both of a pair come from the same place.
extern "C" __global__ void the_same_twice(const unsigned* A, float* D)
{
    sparse_mma(D, A[threadIdx.x], A[31 - threadIdx.x], BUG(0x44444484u & 0x44444404u, 0x44444484u));
}

// The later place first.
extern "C" __global__ void descending(const unsigned* A, float* D)
{
    sparse_mma(D, A[threadIdx.x], A[31 - threadIdx.x], BUG(0xE4E4E4E1u, 0xE4E4E4E4u));
}
