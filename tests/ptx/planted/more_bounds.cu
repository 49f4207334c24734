// SPDX-License-Identifier: MIT
// More accesses out of bounds, or at misaligned addresses: slices, variables, constants, atomics.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__constant__ int weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int table[16];

// The argument is a part of an array, and the rest is not the kernel's.
extern "C" __global__ void beyond_a_slice(const int* in, int* out)
{
    out[threadIdx.x] = in[threadIdx.x BUG(+ 1, )]; // <- out of bounds
}

extern "C" __global__ void before_a_slice(const int* in, int* out)
{
    out[threadIdx.x] = in[(int)threadIdx.x BUG(- 1, )]; // <- out of bounds
}

extern "C" __global__ void constant_past_the_end(const int* in, int* out)
{
    out[threadIdx.x] = weights[in[threadIdx.x] % BUG(9, 8)]; // <- out of bounds
}

extern "C" __global__ void variable_past_the_end(const int* in, int* out)
{
    table[in[threadIdx.x] % BUG(17, 16)] = 1; // <- out of bounds
    out[threadIdx.x] = 1;
}

extern "C" __global__ void local_before_the_begin(const int* in, int* out)
{
    volatile int own[8];
    for (int i = 0; i < 8; ++i)
        own[i] = i;
    out[threadIdx.x] = own[in[threadIdx.x] % 8 - BUG(1, 0)]; // <- out of bounds
}

// A product of 32 bits overflows.
extern "C" __global__ void index_that_overflows(const int* in, int* out, int pitch)
{
    int row = threadIdx.x;
    out[row] = in[BUG(row * pitch * pitch, (row * pitch) % 32)]; // <- out of bounds
}

// Elements are counted where bytes are meant.
extern "C" __global__ void elements_for_bytes(const int* in, int* out, int n)
{
    const char* end = (const char*)in + n BUG(, * 4) - 4;
    out[threadIdx.x] = *(const int*)(end - 4 * threadIdx.x); // <- out of bounds
}

extern "C" __global__ void atomic_before_the_begin(const int* in, int* bins)
{
    atomicAdd(bins + in[threadIdx.x] - BUG(1, 0), 1); // <- out of bounds
}

// Two tiles in the dynamic memory of one.
extern "C" __global__ void second_tile(const int* in, int* out)
{
    extern __shared__ int tile[];
    int* second = tile + BUG(64, 32);
    second[threadIdx.x] = in[threadIdx.x]; // <- out of bounds
    __syncwarp();
    out[threadIdx.x] = second[threadIdx.x]; // <- out of bounds
}

// A bound that is checked against the rows alone.
extern "C" __global__ void columns_unchecked(const int* in, int* out, int rows, int columns)
{
    int row = threadIdx.x / 8, column = threadIdx.x % 8;
    if (row < rows && BUG(true, column < columns))
        out[row * columns + column] = in[row * columns + column]; // <- out of bounds
}

extern "C" __global__ void atomic_of_eight_bytes(int* out)
{
    atomicAdd((unsigned long long*)(out + BUG(1, 2) * threadIdx.x), 1ull); // <- misaligned
}

extern "C" __global__ void store_of_two_words(const int* in, int* out)
{
    *(int2*)(out + 2 * threadIdx.x + BUG(1, 0)) = make_int2(in[threadIdx.x], 0); // <- misaligned
}

extern "C" __global__ void vector_of_local_memory(const int* in, int* out)
{
    __align__(16) volatile int own[12];
    for (int i = 0; i < 12; ++i)
        own[i] = in[i];
    int place = in[threadIdx.x] % 2 * BUG(2, 4), x, y, z, w;
    asm volatile("ld.v4.s32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(own + place)); // <- misaligned
    out[threadIdx.x] = x + w;
}

// Rows of dynamic shared memory whose pitch does not divide into vectors.
extern "C" __global__ void pitch_of_a_tile(const int4* in, int4* out)
{
    extern __shared__ __align__(16) int tile[];
    int4* row = (int4*)(tile + threadIdx.x * BUG(5, 4));
    *row = in[threadIdx.x]; // <- misaligned
    __syncwarp();
    out[threadIdx.x] = *row; // <- misaligned
}

extern "C" __global__ void output_for_input(int* in, int* out)
{
    asm volatile("st.global.s32 [%0], 1;" ::"l"(BUG(in, out) + threadIdx.x) : "memory"); // <- read-only
}

// A part of the block waits for a number that counts all of it, the other part has left.
extern "C" __global__ void half_of_the_block_left(int* out)
{
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, %0;" ::"r"(BUG(128, 64)) : "memory"); // <- deadlock
    out[threadIdx.x] = 1;
}

// The producer waits until the stage is free, but no thread signals it.
extern "C" __global__ void stage_that_nobody_frees(const int* in, int* out)
{
    __shared__ int tile[32];
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 2, 64;" ::: "memory"); // <- deadlock
        tile[threadIdx.x] = in[threadIdx.x];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        BUG(, asm volatile("bar.arrive 2, 64;" ::: "memory"));
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x - 32] = tile[63 - threadIdx.x];
    }
}
