// SPDX-License-Identifier: MIT
// Writes to memory that may only be read.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__constant__ int table[32] = {1, 2, 3};
__device__ int memory[32];

extern "C" __global__ void write_to_a_constant(const int* in, int* out)
{
    int* p = BUG(const_cast<int*>(table), memory);
    asm volatile("st.u32 [%0], %1;" ::"l"(p + threadIdx.x), "r"(in[threadIdx.x]) : "memory"); // <- read-only
    out[threadIdx.x] = in[threadIdx.x];
}

// The host passes a read-only array for `weights`.
extern "C" __global__ void write_to_an_input(float* weights, float* out)
{
    float x = weights[threadIdx.x] * 2.0f;
    BUG(weights, out)[threadIdx.x] = x; // <- read-only
}

extern "C" __global__ void add_to_an_input(int* counts, int* out)
{
    atomicAdd(BUG(counts, out) + threadIdx.x % 4, 1); // <- read-only
}
