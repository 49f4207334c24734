// SPDX-License-Identifier: MIT
// Threads that wait for each other without a barrier: a lock, a turn that goes from warp to warp, and the last block.

// Every warp adds to a non-atomic counter, under a lock.
extern "C" __global__ void spin_lock(int* lock, volatile int* counter, int times)
{
    if (threadIdx.x % 32)
        return;
    for (int i = 0; i < times; ++i) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *counter = *counter + threadIdx.x / 32 + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// Thirty-two lanes of one warp take the same lock: it works since lanes make progress independently (Volta and later).
extern "C" __global__ void lock_in_a_warp(int* lock, volatile int* counter)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *counter = *counter + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// Warps take turns, backwards: each waits for its number, works on what the one before it left, and calls the next.
extern "C" __global__ void turns(unsigned* out)
{
    __shared__ int turn;
    __shared__ unsigned value;
    int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x == 0) {
        turn = warps - 1;
        value = 1 + blockIdx.x;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicAdd(&turn, 0) != warp) {
        }
        __threadfence_block();
        atomicExch(&value, atomicAdd(&value, 0u) * 31 + warp);
        __threadfence_block();
        atomicSub(&turn, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = value;
}

// Each block sums its part; the one that finishes last adds up the parts of all.
extern "C" __global__ void last_block(const int* data, int n, volatile int* parts, unsigned* finished, int* total)
{
    __shared__ int sums[32];
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += data[i];
    sum = __reduce_add_sync(0xFFFFFFFFu, sum);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        int block = 0;
        for (int warp = 0; warp < blockDim.x / 32; ++warp)
            block += sums[warp];
        parts[blockIdx.x] = block;
        __threadfence();
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int block = 0; block < gridDim.x; ++block)
            all += parts[block];
        *total = all;
    }
}
