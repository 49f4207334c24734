// SPDX-License-Identifier: MIT
// mbarriers: of the wrong phase, not there yet, or not told of a copy.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

typedef unsigned long long u64;

__device__ __forceinline__ unsigned at(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void copy(int* to, const int* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(to)), "l"(from) : "memory");
}

__device__ __forceinline__ void init(u64* b, int count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(u64* b)
{
    u64 state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at(b)) : "memory");
}

__device__ __forceinline__ void wait(u64* b, int parity)
{
    int done;
    do
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
                     "selp.s32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(at(b)), "r"(parity)
                     : "memory");
    while (!done);
}

// The phase before the first one counts as complete: a wait for it returns immediately.
extern "C" __global__ void wrong_parity(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ int tile[32];
    if (threadIdx.x < 32)
        tile[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        init(&full, 32);
    __syncthreads();
    if (threadIdx.x < 32) {
        wait(&full, BUG(1, 0)); // <- wrong parity
        out[threadIdx.x] = tile[31 - threadIdx.x];
    } else {
        tile[threadIdx.x - 32] = in[threadIdx.x];
        arrive(&full);
    }
}

// The parity changes with every round.
extern "C" __global__ void parity_that_does_not_change(const int* in, int* out, int rounds)
{
    __shared__ u64 full;
    __shared__ int tile[32];
    if (threadIdx.x < 32)
        tile[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        init(&full, 32);
    __syncthreads();
    int sum = 0;
    for (int t = 0; t < rounds; ++t) {
        if (threadIdx.x < 32) {
            wait(&full, BUG(0, t % 2)); // <- wrong parity
            sum += tile[31 - threadIdx.x];
        } else {
            tile[threadIdx.x - 32] = in[32 * t + threadIdx.x - 32];
            arrive(&full);
        }
        __syncthreads();
    }
    if (threadIdx.x < 32)
        out[threadIdx.x] = sum;
}

// No thread has waited until the barrier itself is initialised.
extern "C" __global__ void arrival_before_the_barrier(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0)
        init(&full, 64); // <- race
    BUG(, __syncthreads());
    arrive(&full); // <- race
    wait(&full, 0); // <- race
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// Threads arrive before they have written.
extern "C" __global__ void mbarrier_before_the_write(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ int tile[64];
    if (threadIdx.x == 0)
        init(&full, 64);
    __syncthreads();
    BUG(arrive(&full), );
    tile[threadIdx.x] = in[threadIdx.x];
    BUG(, arrive(&full));
    wait(&full, 0);
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// A copy does not arrive automatically.
extern "C" __global__ void copy_that_does_not_arrive(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[64];
    if (threadIdx.x == 0)
        init(&full, 64);
    __syncthreads();
    copy(tile + threadIdx.x, in + threadIdx.x);
    BUG(, asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(at(&full)) : "memory"));
    arrive(&full);
    wait(&full, 0);
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- missing wait
}
