// SPDX-License-Identifier: MIT
// Global memory that threads share, of one block or of several, without an order.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

// Blocks write what their neighbours read.
extern "C" __global__ void stencil_in_place(int* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int left = i ? x[i - 1] : 0, right = i + 1 < n ? x[i + 1] : 0; // <- race
    BUG(x, out)[i] = left + right; // <- race
}

// Between warps of one block, and a barrier orders them.
extern "C" __global__ void exchange_of_warps(const int* in, int* x, int* out)
{
    x[threadIdx.x] = in[threadIdx.x];
    BUG(, __syncthreads());
    out[threadIdx.x] = x[63 - threadIdx.x]; // <- race
}

extern "C" __global__ void exchange_of_lanes(const int* in, int* x, int* out)
{
    x[threadIdx.x] = in[threadIdx.x];
    BUG(, __syncwarp());
    out[threadIdx.x] = x[31 - threadIdx.x]; // <- race within a warp
}

// The barrier of a block orders no other block.
extern "C" __global__ void exchange_of_blocks(const int* in, int* x, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = in[i];
    __syncthreads();
    out[i] = x[BUG(n - 1 - i, i)]; // <- race
}

extern "C" __global__ void histogram_without_atomics(const int* in, int* bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    BUG(bins[in[i] % 8] += 1, atomicAdd(bins + in[i] % 8, 1)); // <- race
}

// One block sets the total to zero, and another block has already added.
extern "C" __global__ void reset_beside_atomics(const int* in, int* total)
{
    if (threadIdx.x == 0 && BUG(blockIdx.x == 1, false))
        *total = 0; // <- race
    atomicAdd(total, in[threadIdx.x]); // <- race
}

// An early look at a counter that others still count up.
extern "C" __global__ void look_beside_atomics(int* count, int* out)
{
    int before = threadIdx.x == 0 ? BUG(*count, atomicAdd(count, 0)) : 0; // <- race
    atomicAdd(count, 1); // <- race
    out[blockIdx.x * blockDim.x + threadIdx.x] = before >= 0;
}

// Every block writes its own number. If all write the same, it does not matter which comes last.
extern "C" __global__ void word_of_all_blocks(int* out)
{
    if (threadIdx.x == 0)
        out[0] = BUG(blockIdx.x, gridDim.x); // <- race
}

// The last element of a block is the first of the next.
extern "C" __global__ void overlapping_ends(const int* in, int* out)
{
    int i = blockIdx.x * (blockDim.x - BUG(1, 0)) + threadIdx.x;
    out[i] = in[blockIdx.x * blockDim.x + threadIdx.x]; // <- race
}

// Rows of five bytes: a word of four reaches into the next row.
extern "C" __global__ void words_over_rows(unsigned char* out)
{
    unsigned char* row = out + 6 * threadIdx.x;
    *(unsigned short*)row = threadIdx.x;
    *(unsigned short*)(row + 2) = 0;
    *(unsigned short*)(row + BUG(6, 4)) = 1; // <- race within a warp
}

// A transpose in place: each pair is exchanged twice unless half of the threads do it.
extern "C" __global__ void transpose_in_place(int* x)
{
    int i = threadIdx.x, j = blockIdx.x;
    if (BUG(i != j, i < j)) {
        int a = x[i * 8 + j], b = x[j * 8 + i]; // <- race
        x[i * 8 + j] = b; // <- race
        x[j * 8 + i] = a; // <- race
    }
}

// The maximum is looked up without an atomic, and then written.
extern "C" __global__ void maximum_by_comparison(const int* in, int* largest)
{
    int x = in[blockIdx.x * blockDim.x + threadIdx.x];
#ifdef FIXED
    atomicMax(largest, x);
#else
    if (x > *largest) // <- race
        *largest = x; // <- race
#endif
}

// A variable of the module is memory like any other.
__device__ int arrived;
extern "C" __global__ void counter_of_the_module(int* out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = BUG(arrived++, atomicAdd(&arrived, 1)) >= 0; // <- race
}

// One thread makes a list of two-word entries; the second word of each is the first of the next.
extern "C" __global__ void pairs_one_word_apart(const int2* in, int* out)
{
    int i = threadIdx.x;
    *(int2*)(out + 2 * i) = in[i];
    if (i < 31)
        out[2 * i + BUG(2, 1)] = 5; // <- race within a warp
}
