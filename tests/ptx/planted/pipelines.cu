// SPDX-License-Identifier: MIT
// Producers and consumers: barriers in the wrong place, of the wrong number, and stages that are too few.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__device__ __forceinline__ unsigned at(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void copy(int* to, const int* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(to)), "l"(from) : "memory");
}

#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

// There is a barrier, but before the write.
extern "C" __global__ void barrier_before_the_write(const int* in, int* out)
{
    __shared__ int tile[64];
    BUG(__syncthreads(), );
    tile[threadIdx.x] = in[threadIdx.x];
    BUG(, __syncthreads());
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// In the last iteration the barrier is left out, as if no access followed.
extern "C" __global__ void barrier_of_some_rounds(const int* in, int* out, int rounds)
{
    __shared__ int tile[64];
    int sum = 0;
    for (int t = 0; t < rounds; ++t) {
        tile[threadIdx.x] = in[64 * t + threadIdx.x]; // <- race
        __syncthreads();
        sum += tile[63 - threadIdx.x];
        if (BUG(t + 2 < rounds, true))
            __syncthreads();
    }
    tile[threadIdx.x] = sum; // <- race
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// A scan in one buffer: all threads read, all threads write.
extern "C" __global__ void scan_in_place(const int* in, int* out)
{
    __shared__ int sums[64];
    sums[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        int other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0; // <- race
        BUG(, __syncthreads());
        sums[threadIdx.x] += other; // <- race
        __syncthreads();
    }
    out[threadIdx.x] = sums[threadIdx.x];
}

// The second sum of a block begins while the result of the first one is read.
__device__ __forceinline__ int sum_of_the_block(int x, int* sums)
{
    BUG(, __syncthreads());
    sums[threadIdx.x] = x; // <- race
    __syncthreads();
    int all = 0;
    for (int i = 0; i < 64; ++i)
        all += sums[i];
    return all;
}

extern "C" __global__ void two_sums_of_a_block(const int* in, int* out)
{
    __shared__ int sums[64];
    int first = sum_of_the_block(in[threadIdx.x], sums);
    out[threadIdx.x] = sum_of_the_block(first - in[threadIdx.x], sums); // <- race
}

// The wait of a thread is for its own copies: the barrier must follow it.
extern "C" __global__ void barrier_before_the_wait(const int* in, int* out)
{
    __shared__ __align__(16) int tile[64];
    copy(tile + threadIdx.x, in + threadIdx.x);
    COMMIT;
    BUG(__syncthreads(), );
    WAIT(0);
    BUG(, __syncthreads());
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// A stage is filled again while others read it.
extern "C" __global__ void stage_filled_too_early(const int* in, int* out, int tiles)
{
    __shared__ __align__(16) int tile[2][64];
    copy(tile[0] + threadIdx.x, in + threadIdx.x);
    COMMIT;
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles)
            copy(tile[(t + 1) % 2] + threadIdx.x, in + 64 * (t + 1) + threadIdx.x); // <- race
        COMMIT;
        WAIT(1);
        __syncthreads();
        sum += tile[t % 2][63 - threadIdx.x];
        BUG(, __syncthreads());
    }
    out[threadIdx.x] = sum;
}

// Three stages, of which two are in flight when one is needed.
extern "C" __global__ void wait_of_a_stage_too_few(const int* in, int* out, int tiles)
{
    __shared__ __align__(16) int tile[4][64];
    for (int t = 0; t < 2; ++t) {
        copy(tile[t] + threadIdx.x, in + 64 * t + threadIdx.x);
        COMMIT;
    }
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
        if (t + 2 < tiles)
            copy(tile[(t + 2) % 4] + threadIdx.x, in + 64 * (t + 2) + threadIdx.x);
        COMMIT;
        WAIT(BUG(3, 2));
        __syncthreads();
        sum += tile[t % 4][63 - threadIdx.x]; // <- missing wait
    }
    out[threadIdx.x] = sum;
}

// Writes to a buffer that the thread's own copy still fills.
extern "C" __global__ void write_beside_a_copy(const int* in, int* out)
{
    __shared__ __align__(16) int tile[64];
    copy(tile + threadIdx.x, in + threadIdx.x);
    COMMIT;
    BUG(, WAIT(0));
    if (threadIdx.x % 2)
        tile[threadIdx.x] = 0; // <- missing wait
    WAIT(0);
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// The producer arrives, and then it writes.
extern "C" __global__ void arrival_before_the_write(const int* in, int* out)
{
    __shared__ int tile[32];
    if (threadIdx.x < 32) {
        BUG(asm volatile("bar.arrive 1, 64;" ::: "memory"), );
        tile[threadIdx.x] = in[threadIdx.x]; // <- race
        BUG(, asm volatile("bar.arrive 1, 64;" ::: "memory"));
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x - 32] = tile[63 - threadIdx.x]; // <- race
    }
}

// The consumer arrives too, and does not wait.
extern "C" __global__ void arrival_of_the_consumer(const int* in, int* out)
{
    __shared__ int tile[32];
    if (threadIdx.x < 32) {
        tile[threadIdx.x] = in[threadIdx.x]; // <- race
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        asm volatile(BUG("bar.arrive 1, 64;", "bar.sync 1, 64;")::: "memory");
        out[threadIdx.x - 32] = tile[63 - threadIdx.x]; // <- race
    }
}

// Two producers with a barrier each, and the consumer asks the wrong one.
extern "C" __global__ void barrier_of_another_producer(const int* in, int* out)
{
    __shared__ int tile[64];
    int warp = threadIdx.x / 32;
    if (warp < 2) {
        tile[threadIdx.x] = in[threadIdx.x]; // <- race
        asm volatile("bar.arrive %0, 64;" ::"r"(1 + warp) : "memory");
    } else {
        asm volatile("bar.sync %0, 64;" ::"r"(BUG(1, 2)) : "memory");
        out[threadIdx.x - 64] = tile[threadIdx.x - 32]; // <- race
        asm volatile("bar.sync %0, 64;" ::"r"(BUG(2, 1)) : "memory");
    }
}
