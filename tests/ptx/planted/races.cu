// SPDX-License-Identifier: MIT
// Two warps, the same shared memory, one of them writes, and no barrier is between.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

// The textbook's: the block reversed, without a barrier.
extern "C" __global__ void reversed(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    BUG(, __syncthreads());
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// __syncwarp does not synchronise the block.
extern "C" __global__ void reversed_by_warps(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    BUG(__syncwarp, __syncthreads)();
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// A loop over tiles overwrites the tile that others still read.
extern "C" __global__ void overwritten(const int* in, int* out, int tiles)
{
    __shared__ int tile[64];
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
        tile[threadIdx.x] = in[64 * t + threadIdx.x]; // <- race
        __syncthreads();
        sum += tile[63 - threadIdx.x];
        BUG(, __syncthreads());
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void two_writers(const int* in, int* out)
{
    __shared__ int last;
    if (threadIdx.x % 32 == 0 && BUG(true, threadIdx.x == 0))
        last = in[threadIdx.x]; // <- race
    __syncthreads();
    out[threadIdx.x] = last;
}

// Each round of the reduction needs a barrier.
extern "C" __global__ void tree(const int* in, int* out)
{
    __shared__ int sums[128];
    sums[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) {
            int other = sums[threadIdx.x + half]; // <- race
            sums[threadIdx.x] = sums[threadIdx.x] + other;
        }
        BUG(if (half == 1), ) __syncthreads();
    }
    if (threadIdx.x == 0)
        out[0] = sums[0];
}

extern "C" __global__ void counter(int* out)
{
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        BUG(count = count + 1, atomicAdd(&count, 1)); // <- race
    __syncthreads();
    if (threadIdx.x == 0)
        out[0] = count;
}

// A plain store among atomics.
extern "C" __global__ void reset(const int* in, int* out)
{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    BUG(, __syncthreads());
    atomicAdd(&total, in[threadIdx.x]); // <- race
    __syncthreads();
    if (threadIdx.x == 0)
        out[0] = total;
}

// A thread waits for its own copies; those of others need a barrier too.
extern "C" __global__ void copies_of_others(const int* in, int* out)
{
    __shared__ __align__(16) int tile[64];
    unsigned to = __cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    BUG(, __syncthreads());
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// Producer and consumer meet at different barriers.
extern "C" __global__ void named_barrier(const int* in, int* out)
{
    __shared__ int tile[32];
    int warp = threadIdx.x / 32;
    if (warp == 0)
        tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("bar.sync %0, %1;" ::"r"(BUG(1 + warp, 1)), "r"(BUG(32, 64)) : "memory");
    if (warp == 1)
        out[threadIdx.x - 32] = tile[63 - threadIdx.x]; // <- race
}

// One of two buffers is filled while it is read.
extern "C" __global__ void double_buffer(const int* in, int* out, int tiles)
{
    __shared__ int tile[2][64];
    tile[0][threadIdx.x] = in[threadIdx.x];
    tile[1][threadIdx.x] = 0;
    __syncthreads();
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles)
            tile[BUG(t, (t + 1)) % 2][threadIdx.x] = in[64 * (t + 1) + threadIdx.x];
        sum += tile[t % 2][threadIdx.x ^ 32]; // <- race
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
