// SPDX-License-Identifier: MIT
// Locks: the visibility of accesses under a lock to the next thread that takes it.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

#define TAKE(lock)                                                                                                     \
    while (atomicCAS(lock, 0, 1)) {                                                                                    \
    }

extern "C" __global__ void lock_without_fences(int* lock, int* count, int* out)
{
    TAKE(lock);
    BUG(, __threadfence());
    int x = *count; // <- race
    *count = x + 1; // <- race
    BUG(, __threadfence());
    atomicExch(lock, 0);
    out[blockIdx.x] = x >= 0;
}

extern "C" __global__ void unlock_without_a_fence(int* lock, int* count, int* out)
{
    TAKE(lock);
    __threadfence();
    int x = *count; // <- race
    *count = x + 1; // <- race
    BUG(, __threadfence());
    atomicExch(lock, 0);
    out[blockIdx.x] = x >= 0;
}

extern "C" __global__ void lock_without_the_first_fence(int* lock, int* count, int* out)
{
    TAKE(lock);
    BUG(, __threadfence());
    int x = *count; // <- race
    *count = x + 1; // <- race
    __threadfence();
    atomicExch(lock, 0);
    out[blockIdx.x] = x >= 0;
}

// The lock is opened before the work is done.
extern "C" __global__ void unlocked_too_early(int* lock, int* count, int* out)
{
    TAKE(lock);
    __threadfence();
    int x = *count; // <- race
    BUG(__threadfence(); atomicExch(lock, 0), );
    *count = x + 1; // <- race
    __threadfence();
    BUG(, atomicExch(lock, 0));
    out[blockIdx.x] = x >= 0;
}

// Blocks that take different locks for the same word.
extern "C" __global__ void lock_of_each_block(int* locks, int* count, int* out)
{
    int* lock = locks + BUG(blockIdx.x, 0);
    TAKE(lock);
    __threadfence();
    int x = *count; // <- race
    *count = x + 1; // <- race
    __threadfence();
    atomicExch(lock, 0);
    out[blockIdx.x] = x >= 0;
}
