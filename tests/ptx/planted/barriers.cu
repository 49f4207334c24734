// SPDX-License-Identifier: MIT
// Threads that wait at barriers to which others never come.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

extern "C" __global__ void one_warp_alone(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    if (BUG(threadIdx.x < 32, false))
        __syncthreads();
    __syncthreads(); // <- barriers at several instructions
    if (threadIdx.x == 0)
        out[0] = tile[0];
}

extern "C" __global__ void odd_threads(const int* in, int* out)
{
    int x = in[threadIdx.x];
    if (BUG(x & 1, false)) {
        asm volatile("barrier.sync 0;" ::: "memory"); // <- barriers at several instructions
        ++x;
    } else {
        asm volatile("barrier.sync 0;" ::: "memory"); // <- barriers at several instructions
    }
    out[threadIdx.x] = x;
}

// A bounds check before a barrier that counts its threads: those that have exited never come.
extern "C" __global__ void left_early(const int* in, int* out, int n)
{
    if (BUG(threadIdx.x >= n, false))
        return;
    int x = threadIdx.x < n ? in[threadIdx.x] : 0;
    asm volatile("barrier.sync 0, 64;" ::: "memory"); // <- deadlock
    if (threadIdx.x < n)
        out[threadIdx.x] = x;
}

// As many rounds as a warp's number says.
extern "C" __global__ void rounds_of_a_warp(int* out, int rounds)
{
    int count = 0;
    for (int i = 0; i < rounds + BUG(threadIdx.x / 32, 1); ++i) {
        ++count;
        asm volatile("bar.sync 0, 64;" ::: "memory"); // <- deadlock
    }
    out[threadIdx.x] = count;
}

extern "C" __global__ void too_many_expected(int* out)
{
    asm volatile("bar.sync 1, %0;" ::"r"(BUG(96, 64)) : "memory"); // <- deadlock
    out[threadIdx.x] = 1;
}

extern "C" __global__ void different_barriers(int* out)
{
    asm volatile("bar.sync %0, 64;" ::"r"(threadIdx.x < 32 ? 1 : BUG(2, 1)) : "memory"); // <- deadlock
    out[threadIdx.x] = 1;
}

// Each waits for the other first.
extern "C" __global__ void crossed_barriers(int* out)
{
    int first = threadIdx.x < 32 ? 1 : BUG(2, 1), second = 3 - first;
    asm volatile("bar.sync %0, 64;" ::"r"(first) : "memory"); // <- deadlock
    asm volatile("bar.sync %0, 64;" ::"r"(second) : "memory");
    out[threadIdx.x] = 1;
}

// The flag is never set.
extern "C" __global__ void flag_that_nobody_sets(volatile int* flag, int* out)
{
    while (*flag == BUG(0, 1)) {
    }
    out[threadIdx.x] = 1;
}

// The producers expect one warp of consumers, but there are two.
extern "C" __global__ void two_counts(const int* in, int* out)
{
    __shared__ int tile[64];
    if (threadIdx.x < 64) {
        tile[threadIdx.x] = in[threadIdx.x];
        asm volatile("bar.arrive 1, %0;" ::"r"(BUG(96, 128)) : "memory"); // <- illegal operand
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory"); // <- illegal operand
        out[threadIdx.x - 64] = tile[127 - threadIdx.x];
    }
}
