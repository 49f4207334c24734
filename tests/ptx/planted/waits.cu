// SPDX-License-Identifier: MIT
// Data of asynchronous copies that is used before it is waited for.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__device__ __forceinline__ void copy(int* to, const int* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
}

#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void no_wait(const int* in, int* out)
{
    __shared__ int tile[64];
    copy(tile + threadIdx.x, in + threadIdx.x);
    COMMIT;
    BUG(, WAIT(0));
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- missing wait
}

// One group may still be pending, and there is only one.
extern "C" __global__ void waits_for_too_few(const int* in, int* out)
{
    __shared__ int tile[64];
    copy(tile + threadIdx.x, in + threadIdx.x);
    COMMIT;
    WAIT(BUG(1, 0));
    out[threadIdx.x] = tile[threadIdx.x]; // <- missing wait
}

// A copy that no group holds is not waited for.
extern "C" __global__ void not_committed(const int* in, int* out)
{
    __shared__ int tile[64];
    copy(tile + threadIdx.x, in + threadIdx.x);
    BUG(, COMMIT);
    WAIT(0);
    out[threadIdx.x] = tile[threadIdx.x]; // <- missing wait
}

// The last tiles of a pipeline: one group fewer is pending, and the wait stays the same.
extern "C" __global__ void end_of_a_pipeline(const int* in, int* out, int tiles)
{
    __shared__ int tile[3][64];
    for (int t = 0; t < 2; ++t) {
        copy(&tile[t][threadIdx.x], in + 64 * t + threadIdx.x);
        COMMIT;
    }
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
        WAIT(1);
        __syncthreads();
        sum += tile[t % 3][63 - threadIdx.x]; // <- missing wait
        if (t + 2 < tiles)
            copy(&tile[(t + 2) % 3][threadIdx.x], in + 64 * (t + 2) + threadIdx.x);
        if (BUG(t + 2 < tiles, true))
            COMMIT;
    }
    out[threadIdx.x] = sum;
}

// A tile that is shifted by one row in place: what is copied is overwritten before the copy has been waited for.
extern "C" __global__ void source_overwritten(int* rows, int* out)
{
    __shared__ int tile[64];
    copy(tile + threadIdx.x, rows + threadIdx.x);
    COMMIT;
    BUG(, WAIT(0));
    rows[threadIdx.x] = threadIdx.x; // <- missing wait
    WAIT(0);
    out[threadIdx.x] = tile[threadIdx.x];
}
