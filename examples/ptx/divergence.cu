// SPDX-License-Identifier: MIT
// Threads that diverge and still cooperate: atomics, sorting, early returns, loops of
// different lengths, a switch, votes and matches. Every result is the same in whatever order threads run.

#define LANES 0xFFFFFFFFu

extern "C" __global__ void histogram(const unsigned char* data, int n, unsigned* bins)
{
    __shared__ unsigned own[64]; // the block's
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(own + data[i] / 4, 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        if (own[i])
            atomicAdd(bins + i, own[i]);
}

// Odd-even transposition sort of one block's numbers, two a thread.
extern "C" __global__ void odd_even_sort(int* data, int n)
{
    __shared__ int own[128];
    int i = 2 * threadIdx.x;
    for (int e = threadIdx.x; e < n; e += blockDim.x)
        own[e] = data[blockIdx.x * n + e];
    __syncthreads();
    for (int round = 0; round < n; ++round) {
        int left = i + round % 2;
        if (left + 1 < n && own[left] > own[left + 1]) {
            int larger = own[left];
            own[left] = own[left + 1];
            own[left + 1] = larger;
        }
        __syncthreads();
    }
    for (int e = threadIdx.x; e < n; e += blockDim.x)
        data[blockIdx.x * n + e] = own[e];
}

// Steps of the Collatz sequence: threads past the end return, the others loop as long as each has to.
extern "C" __global__ void collatz(const unsigned* start, unsigned* steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = start[i], count = 0;
    while (x > 1) {
        if (x & 1)
            x = 3 * x + 1;
        else
            x /= 2;
        if (++count == 300)
            break;
    }
    steps[i] = count;
}

extern "C" __global__ void eight_ways(const int* choice, const int* value, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int x = value[i];
    switch (choice[i]) {
    case 0: x = x * 3; break;
    case 1: x = x ^ 0x55; break;
    case 2: x = -x; // and on
    case 3: x = x + 17; break;
    case 4: x = x / 7; break;
    case 5: x = x % 11; break;
    case 6: x = __popc(x); break;
    case 7:
        for (int j = 0; j < (value[i] & 7); ++j)
            x = x * 5 + j;
        break;
    default: x = 0;
    }
    out[i] = x;
}

// totals: sum, smallest, largest, and, or, xor, count by inc. The float sum is exact: its terms are small integers.
extern "C" __global__ void reductions(const int* data, int n, int* totals, float* sum, unsigned long long* wide)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return; // the last warp continues with some of its lanes
    int x = data[i];
    unsigned lanes = __activemask();
    int leader = __ffs(lanes) - 1, lane = threadIdx.x % 32;
    atomicAdd(totals, x);
    atomicMin(totals + 1, x);
    atomicMax(totals + 2, x);
    atomicAnd(totals + 3, x);
    atomicOr(totals + 4, x);
    atomicXor(totals + 5, x);
    atomicInc((unsigned*)totals + 6, 0xFFFFu);
    atomicAdd(sum, float(x % 64));
    atomicMax(wide, (unsigned long long)(unsigned)x << 20);
    int total = __reduce_add_sync(lanes, x); // one for each warp
    unsigned all = __reduce_and_sync(lanes, unsigned(x)), any = __reduce_or_sync(lanes, unsigned(x));
    int smallest = __reduce_min_sync(lanes, x);
    unsigned largest = __reduce_max_sync(lanes, unsigned(x));
    if (lane == leader) {
        atomicAdd(totals + 7, total);
        atomicAdd(totals + 8, int(all % 1000));
        atomicAdd(totals + 9, int(any % 1000));
        atomicAdd(totals + 10, smallest % 1000);
        atomicAdd(totals + 11, int(largest % 1000));
    }
}

extern "C" __global__ void votes(const int* data, unsigned* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x; // n is a multiple of 32
    int x = data[i];
    unsigned odd = __ballot_sync(LANES, x & 1);
    unsigned same = __match_any_sync(LANES, x & 7);
    int agree;
    unsigned everybody = __match_all_sync(LANES, x >> 31, &agree);
    unsigned answers = __any_sync(LANES, x > 100) | __all_sync(LANES, x < 200) << 1 | agree << 2;
    unsigned part = 0;
    if (x & 1) // a vote among the odd ones
        part = __ballot_sync(odd, x > 0);
    int up = __shfl_up_sync(LANES, x, 3), down = __shfl_down_sync(LANES, x, 5, 16);
    int from = __shfl_sync(LANES, x, x & 31, 8);
    out[i] = odd;
    out[n + i] = same;
    out[2 * n + i] = everybody;
    out[3 * n + i] = answers;
    out[4 * n + i] = part;
    out[5 * n + i] = up ^ down * 3 ^ from * 5;
}
