// SPDX-License-Identifier: MIT
// All blocks together: the last one, barriers of the grid, queues.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__device__ __forceinline__ void meet(int* count, int blocks)
{
    __threadfence();
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < blocks) {
    }
    __threadfence();
}

// The CUDA guide's sum, whose last block adds what the others have left.
extern "C" __global__ void last_block_without_a_fence(const int* in, int* sums, int* count, int* out)
{
    __shared__ int last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = in[blockIdx.x];
        BUG(, __threadfence());
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x)
        out[threadIdx.x] = sums[threadIdx.x]; // <- race
}

extern "C" __global__ void last_block_with_a_narrow_fence(const int* in, int* sums, int* count, int* out)
{
    __shared__ int last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = in[blockIdx.x];
        BUG(__threadfence_block, __threadfence)();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x)
        out[threadIdx.x] = sums[threadIdx.x]; // <- race
}

// All threads store, and one of them sets the flag before the others have stored.
extern "C" __global__ void last_block_without_a_barrier(const int* in, int* sums, int* count, int* out)
{
    __shared__ int last;
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    sums[i] = in[i];
    __threadfence();
    BUG(, __syncthreads());
    if (threadIdx.x == 0)
        last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (last)
        for (int k = threadIdx.x; k < n; k += blockDim.x)
            out[k] = sums[k]; // <- race
}

// The thread that took the last ticket reads at once.
extern "C" __global__ void ticket_without_a_fence(const int* in, int* sums, int* count, int* out)
{
    sums[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    if (atomicAdd(count, 1) == gridDim.x - 1) {
        BUG(, __threadfence());
        for (int k = 0; k < gridDim.x; ++k)
            out[k] = sums[k]; // <- race
    }
}

// The first block treats itself as the last.
extern "C" __global__ void first_block_for_the_last(const int* in, int* sums, int* count, int* out)
{
    sums[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    if (atomicAdd(count, 1) == BUG(0, gridDim.x - 1)) {
        __threadfence();
        for (int k = 0; k < gridDim.x; ++k)
            out[k] = sums[k]; // <- race
    }
}

// Two phases, and blocks read in the second one what others write in the first.
extern "C" __global__ void no_barrier_of_the_grid(const int* in, int* x, int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0)
        BUG(, meet(count, gridDim.x));
    __syncthreads();
    out[i] = x[n - 1 - i]; // <- race
}

// One thread meets those of other blocks for a block that has not met before, or is not told.
extern "C" __global__ void grid_barrier_without_the_first_half(const int* in, int* x, int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = in[i];
    BUG(, __syncthreads());
    if (threadIdx.x == 0)
        meet(count, gridDim.x);
    __syncthreads();
    out[i] = x[n - 1 - i]; // <- race
}

extern "C" __global__ void grid_barrier_without_the_second_half(const int* in, int* x, int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0)
        meet(count, gridDim.x);
    BUG(, __syncthreads());
    out[i] = x[n - 1 - i]; // <- race
}

// Each block counts in a separate word.
extern "C" __global__ void grid_barrier_of_each_block(const int* in, int* x, int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    x[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0)
        meet(count + BUG(blockIdx.x, 0), BUG(1, gridDim.x));
    __syncthreads();
    out[i] = x[n - 1 - i]; // <- race
}

// The second iteration has no barrier.
extern "C" __global__ void grid_barrier_of_the_first_round(const int* in, int* x, int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int round = 0; round < 2; ++round) {
        x[round * n + i] = in[i];
        __syncthreads();
        if (threadIdx.x == 0 && BUG(round == 0, true))
            meet(count, gridDim.x * (round + 1));
        __syncthreads();
        out[i] = x[round * n + n - 1 - i]; // <- race
    }
}

// A slot of a queue is taken before the slot is filled.
extern "C" __global__ void place_of_a_queue(const int* in, int* queue, int* count, int* out)
{
    if (blockIdx.x == 0) {
#ifdef FIXED
        queue[threadIdx.x] = in[threadIdx.x];
        __threadfence();
        atomicAdd(count, 1);
#else
        int place = atomicAdd(count, 1);
        queue[place] = in[threadIdx.x]; // <- race
#endif
    } else {
        while (atomicAdd(count, 0) < blockDim.x) {
        }
        __threadfence();
        out[threadIdx.x] = queue[threadIdx.x]; // <- race
    }
}
