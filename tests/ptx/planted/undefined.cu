// SPDX-License-Identifier: MIT
// Uninitialised values and their uses: stored, an address, a branch, a mask, a product.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

// A register that has no value yet, and the compiler does not see it.
__device__ __forceinline__ int nothing(int given)
{
    int x;
    asm volatile("{\n\t.reg .b32 y;\n\t" BUG("", "mov.b32 y, %1;\n\t") "mov.b32 %0, y;\n\t}" : "=r"(x) : "r"(given));
    return x;
}

#define STORE(p, x) asm volatile("st.global.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory")

extern "C" __global__ void accumulator(const int* in, int* out)
{
    int sum = nothing(0);
    for (int i = 0; i < 4; ++i)
        sum += in[32 * i + threadIdx.x];
    STORE(out + threadIdx.x, sum); // <- uninitialised
}

// Uninitialised memory of the launch: an argument made by empty().
extern "C" __global__ void memory_as_it_comes(const int* in, int* sums, int* out)
{
    BUG(, sums[threadIdx.x] = 0);
    int sum = sums[threadIdx.x] + in[threadIdx.x];
    out[threadIdx.x] = sum; // <- uninitialised
}

// Columns beyond the last one are not filled in, and the next one reads them.
extern "C" __global__ void tail_of_an_array(const int* in, int* x, int* out, int n)
{
    for (int i = threadIdx.x; i < BUG(n - 5, n); i += 32)
        x[i] = in[i];
    __syncwarp();
    for (int i = threadIdx.x; i < n; i += 32)
        out[i] = x[n - 1 - i]; // <- uninitialised
}

extern "C" __global__ void address(const int* in, int* out)
{
    __shared__ int place[32];
    if (BUG(threadIdx.x % 2, true))
        place[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = in[place[threadIdx.x ^ 1]]; // <- uninitialised
}

extern "C" __global__ void address_in_shared_memory(const int* in, int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[nothing(threadIdx.x) & 31]; // <- uninitialised
}

extern "C" __global__ void branch(const int* in, int* out)
{
    __shared__ int found;
    if (BUG(in[threadIdx.x] > 100, threadIdx.x == 0))
        found = in[threadIdx.x] - 100;
    __syncwarp();
    if (found) // <- uninitialised
        asm volatile("st.global.s32 [%0], 1;" ::"l"(out + threadIdx.x) : "memory"); // <- uninitialised
}

// How often a loop runs.
extern "C" __global__ void bound_of_a_loop(const int* in, int* out)
{
    int sum = 0, rounds = nothing(4);
    for (int i = 0; i < rounds && i < 8; ++i) { // <- uninitialised
        sum += in[i];
        asm volatile("" : "+r"(sum));
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void membermask(const int* in, int* out)
{
    out[threadIdx.x] = __shfl_sync(~nothing(0), in[threadIdx.x], 3); // <- uninitialised
}

extern "C" __global__ void operand_of_an_atomic(int* out)
{
    asm volatile("red.global.add.s32 [%0], %1;" ::"l"(out), "r"(nothing(1)) : "memory"); // <- uninitialised
}

extern "C" __global__ void value_of_a_shuffle(const int* in, int* out)
{
    int x = in[threadIdx.x];
    if (threadIdx.x == 7)
        x = nothing(x);
    x = __shfl_sync(0xFFFFFFFFu, x, 7);
    STORE(out + threadIdx.x, x); // <- uninitialised
}

// Whose lanes vote on it.
extern "C" __global__ void vote(const int* in, int* out)
{
    unsigned votes = __ballot_sync(0xFFFFFFFFu, nothing(in[threadIdx.x]) > 3);
    STORE(out + threadIdx.x, votes); // <- uninitialised
}

// One of four components.
extern "C" __global__ void component_of_a_vector(const int4* in, int4* out)
{
    __shared__ int4 tile[32];
    int4 x = in[threadIdx.x];
    tile[threadIdx.x].x = x.x;
    tile[threadIdx.x].y = x.y;
    BUG(, tile[threadIdx.x].z = x.z);
    tile[threadIdx.x].w = x.w;
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x]; // <- uninitialised
}

// A row of a product whose operand is uninitialised.
extern "C" __global__ void row_of_a_product(const float* in, float* out)
{
    __shared__ float tile[16 * 4];
    int lane = threadIdx.x;
    for (int e = lane; e < BUG(60, 64); e += 32)
        tile[e] = in[e];
    __syncwarp();
    float a0 = tile[lane / 4 * 4 + lane % 4], a1 = tile[lane / 4 * 4 + 32 + lane % 4], b = in[lane];
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(__float_as_uint(a0)), "r"(__float_as_uint(a1)), "r"(__float_as_uint(b)));
    out[lane] = d0;
    out[lane + 32] = d2; // <- uninitialised
}

// A pointer whose upper half has no value.
extern "C" __global__ void half_of_a_pointer(const int* in, int* out)
{
    unsigned long long p = (unsigned long long)(in + threadIdx.x), q;
    asm volatile("{\n\t.reg .b32 lo, hi;\n\tmov.b64 {lo, hi}, %1;\n\tmov.b64 %0, {lo, %2};\n\t}"
                 : "=l"(q)
                 : "l"(p), "r"(nothing(0) ^ (unsigned)(p >> 32)));
    int x;
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(x) : "l"(q)); // <- uninitialised
    out[threadIdx.x] = x;
}

// The tail of dynamic shared memory.
extern "C" __global__ void tail_of_dynamic_memory(const int* in, int* out, int n)
{
    extern __shared__ int tile[];
    if (threadIdx.x < BUG(n - 1, n))
        tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x]; // <- uninitialised
}

// A value that one branch gives, and the other one does not.
extern "C" __global__ void case_without_a_value(const int* in, int* out)
{
    int x = in[threadIdx.x], y;
    asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 y;\n\tsetp.lt.s32 p, %1, 10;\n\t@p bra SMALL%=;\n\t" BUG(
                     "", "mov.b32 y, 9;\n\t") "bra.uni DONE%=;\n\tSMALL%=:\n\tmov.b32 y, 5;\n\tDONE%=:\n\t"
                                              "mov.b32 %0, y;\n\t}"
                 : "=r"(y)
                 : "r"(x));
    STORE(out + threadIdx.x, y); // <- uninitialised
}
