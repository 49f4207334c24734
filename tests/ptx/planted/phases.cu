// SPDX-License-Identifier: MIT
// mbarriers of Hopper: parities, bytes, arrivals, their begin and their end.

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

__device__ __forceinline__ void init(u64* b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}

__device__ __forceinline__ void begin(u64* b, int count)
{
    if (threadIdx.x == 0) {
        init(b, count);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

__device__ __forceinline__ void end(u64* b)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at(b)) : "memory");
}

__device__ __forceinline__ void arrive(u64* b, int count = 1)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}

__device__ __forceinline__ void expect(u64* b, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void copy(int* to, const int* from, int bytes, u64* b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(b))
                 : "memory");
}

__device__ __forceinline__ void wait(u64* b, int parity)
{
    int done;
    do
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.s32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(at(b)), "r"(parity)
                     : "memory");
    while (!done);
}

// The first phase has parity 0.
extern "C" __global__ void parity_of_the_own_arrival(int* out)
{
    __shared__ u64 both;
    begin(&both, 64);
    if (threadIdx.x < 32) {
        arrive(&both);
        wait(&both, BUG(1, 0)); // <- wrong parity
    } else {
        arrive(&both);
    }
    out[threadIdx.x] = 1;
}

// In the second round, the parity is 1.
extern "C" __global__ void parity_of_the_second_round(int* out)
{
    __shared__ u64 both;
    begin(&both, 64);
    arrive(&both);
    wait(&both, 0);
    __syncthreads();
    if (threadIdx.x < 32) {
        arrive(&both);
        wait(&both, BUG(0, 1)); // <- wrong parity
    } else {
        arrive(&both);
    }
    out[threadIdx.x] = 1;
}

// In a ring of two buffers, the parity changes with every second tile.
extern "C" __global__ void parity_of_a_ring(const int* in, int* out)
{
    __shared__ u64 full[2], empty[2];
    __shared__ int tile[2][32];
    if (threadIdx.x < 64)
        tile[threadIdx.x / 32][threadIdx.x % 32] = 0;
    if (threadIdx.x < 2) {
        init(&full[threadIdx.x], 32);
        init(&empty[threadIdx.x], 32);
    }
    __syncthreads();
    int lane = threadIdx.x % 32, sum = 0;
    for (int t = 0; t < 4; ++t) {
        if (threadIdx.x < 32) {
            wait(&full[t % 2], BUG(t % 2, t / 2 % 2)); // <- wrong parity
            sum += tile[t % 2][31 - lane];
            arrive(&empty[t % 2]);
        } else {
            wait(&empty[t % 2], 1 - t / 2 % 2);
            tile[t % 2][lane] = in[32 * t + lane];
            arrive(&full[t % 2]);
        }
    }
    if (threadIdx.x < 32)
        out[lane] = sum;
}

// A producer waits for the phase before the first one only in the first round.
extern "C" __global__ void parity_of_a_producer(const int* in, int* out)
{
    __shared__ u64 full, empty;
    __shared__ int tile[32];
    if (threadIdx.x == 0) {
        init(&full, 32);
        init(&empty, 32);
    }
    __syncthreads();
    int lane = threadIdx.x % 32, sum = 0;
    for (int t = 0; t < 2; ++t) {
        if (threadIdx.x < 32) {
            wait(&empty, BUG(1, 1 - t)); // <- wrong parity
            tile[lane] = in[32 * t + lane];
            arrive(&full);
        } else {
            wait(&full, t);
            sum += tile[31 - lane];
            arrive(&empty);
        }
    }
    if (threadIdx.x >= 32)
        out[lane] = sum;
}

// 32 integers are 128 bytes.
extern "C" __global__ void elements_for_bytes_expected(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[32];
    begin(&full, 1);
    if (threadIdx.x == 0) {
        expect(&full, BUG(32, 128));
        copy(tile, in, 128, &full); // <- transaction bytes
    }
    wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

// Two copies deliver twice as many bytes as one.
extern "C" __global__ void bytes_of_one_of_two_copies(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[64];
    begin(&full, 1);
    if (threadIdx.x == 0) {
        expect(&full, BUG(128, 256));
        copy(tile, in, 128, &full);
        copy(tile + 32, in + 32, 128, &full); // <- transaction bytes
    }
    wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

// A copy that is left out must not be expected.
extern "C" __global__ void bytes_that_are_not_copied(const int* in, int* out, int count)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[32];
    begin(&full, 1);
    if (threadIdx.x == 0) {
        if (BUG(1, count > 0))
            expect(&full, 128); // <- transaction bytes
        if (count > 0)
            copy(tile, in, 128, &full);
    }
    if (count > 0)
        wait(&full, 0);
    out[threadIdx.x] = 1;
}

// Bytes that are not expected make the next phase incomplete.
extern "C" __global__ void copy_without_expectation(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[32];
    begin(&full, 1);
    if (threadIdx.x == 0) {
        BUG(arrive(&full), expect(&full, 128));
        copy(tile, in, 128, &full); // <- transaction bytes
    }
    wait(&full, 0);
    out[threadIdx.x] = 1;
}

// The thread that initialises the mbarrier does not exist.
extern "C" __global__ void never_initialised(int* out)
{
    __shared__ u64 ready;
    if (threadIdx.x == BUG(64, 0))
        init(&ready, 64);
    __syncthreads();
    arrive(&ready); // <- mbarrier not initialised
    out[threadIdx.x] = 1;
}

// One of two mbarriers is forgotten.
extern "C" __global__ void second_of_two(const int* in, int* out)
{
    __shared__ u64 full[2];
    __shared__ __align__(16) int tile[2][32];
    if (threadIdx.x < BUG(1, 2))
        init(&full[threadIdx.x], 1);
    __syncthreads();
    if (threadIdx.x < 2) {
        expect(&full[threadIdx.x], 128); // <- mbarrier not initialised
        copy(tile[threadIdx.x], in, 128, &full[threadIdx.x]); // <- mbarrier not initialised
    }
    wait(&full[0], 0);
    BUG(, wait(&full[1], 0));
    out[threadIdx.x] = 1;
}

// After its end, an mbarrier cannot be used.
extern "C" __global__ void arrival_after_the_end(int* out)
{
    __shared__ u64 ready;
    begin(&ready, 64);
    BUG(, arrive(&ready));
    __syncthreads();
    if (threadIdx.x == 0)
        end(&ready);
    __syncthreads();
    BUG(arrive(&ready), ); // <- mbarrier not initialised
    out[threadIdx.x] = 1;
}

// A live mbarrier is initialised again.
extern "C" __global__ void initialised_in_each_round(int* out)
{
    __shared__ u64 ready;
    for (int t = 0; t < 2; ++t) {
        if (threadIdx.x == 0)
            init(&ready, 64); // <- mbarrier not initialised
        __syncthreads();
        arrive(&ready);
        wait(&ready, 0);
        __syncthreads();
        if (BUG(false, true) && threadIdx.x == 0)
            end(&ready);
    }
    out[threadIdx.x] = 1;
}

// The memory of a live mbarrier is used for something else.
extern "C" __global__ void overwritten_mbarrier(int* out)
{
    __shared__ __align__(8) int words[66];
    u64* ready = (u64*)(words + BUG(0, 64));
    begin(ready, 64);
    words[threadIdx.x] = threadIdx.x; // <- mbarrier not initialised
    __syncthreads();
    arrive(ready);
    out[threadIdx.x] = words[63 - threadIdx.x];
}

// One lane arrives for its warp, not all of them.
extern "C" __global__ void arrival_of_all_lanes(int* out)
{
    __shared__ u64 ready;
    begin(&ready, 2);
    if (BUG(true, threadIdx.x % 32 == 0))
        arrive(&ready); // <- over-arrival
    out[threadIdx.x] = 1;
}

// Two warps arrive, one is expected.
extern "C" __global__ void arrivals_of_two_warps(int* out)
{
    __shared__ u64 ready;
    begin(&ready, BUG(32, 64));
    arrive(&ready); // <- over-arrival
    out[threadIdx.x] = 1;
}

// One thread arrives for 64.
extern "C" __global__ void arrivals_of_one_thread(int* out)
{
    __shared__ u64 ready;
    begin(&ready, 32);
    if (threadIdx.x == 0)
        arrive(&ready, BUG(64, 32)); // <- over-arrival
    BUG(, wait(&ready, 0));
    out[threadIdx.x] = 1;
}

// The expectation of bytes is an arrival already.
extern "C" __global__ void arrival_and_expectation(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[32];
    begin(&full, 1);
    if (threadIdx.x == 0) {
        expect(&full, 128);
        BUG(arrive(&full), ); // <- over-arrival
        copy(tile, in, 128, &full);
    }
    wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

// Half of the threads do not arrive.
extern "C" __global__ void arrivals_of_one_warp(int* out)
{
    __shared__ u64 ready;
    begin(&ready, 64);
    if (threadIdx.x < BUG(32, 64))
        arrive(&ready);
    wait(&ready, 0); // <- deadlock
    out[threadIdx.x] = 1;
}

// The bytes of a copy that is too short.
extern "C" __global__ void missing_bytes(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[64];
    begin(&full, 1);
    if (threadIdx.x == 0) {
        expect(&full, 256);
        copy(tile, in, BUG(160, 256), &full);
    }
    wait(&full, 0); // <- deadlock
    out[threadIdx.x] = tile[threadIdx.x];
}

// The first phase is complete, and no thread arrives in the second one.
extern "C" __global__ void phase_left_out(int* out)
{
    __shared__ u64 ready;
    begin(&ready, 1);
    if (threadIdx.x == 0)
        arrive(&ready);
    __syncthreads();
    if (threadIdx.x >= 32)
        wait(&ready, BUG(1, 0)); // <- wrong parity
    out[threadIdx.x] = 1;
}

// Warps arrive, and threads are expected.
extern "C" __global__ void threads_for_warps(int* out)
{
    __shared__ u64 ready;
    begin(&ready, BUG(64, 2));
    if (threadIdx.x % 32 == 0)
        arrive(&ready);
    wait(&ready, 0); // <- deadlock
    out[threadIdx.x] = 1;
}

// Without a full buffer no thread empties one.
extern "C" __global__ void producer_that_waits_first(const int* in, int* out)
{
    __shared__ u64 full, empty;
    __shared__ int tile[32];
    if (threadIdx.x == 0) {
        init(&full, 32);
        init(&empty, 32);
    }
    __syncthreads();
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        wait(&empty, BUG(0, 1)); // <- deadlock
        tile[lane] = in[lane];
        arrive(&full);
    } else {
        wait(&full, 0); // <- deadlock
        out[lane] = tile[31 - lane];
        arrive(&empty);
    }
}

// Another warp copies before the mbarrier is visible to it.
extern "C" __global__ void copy_before_the_barrier(const int* in, int* out)
{
    __shared__ u64 full;
    __shared__ __align__(16) int tile[32];
    if (threadIdx.x == 0)
        init(&full, 1); // <- race
    BUG(, __syncthreads());
    if (threadIdx.x == 32) {
        expect(&full, 128); // <- race
        copy(tile, in, 128, &full); // <- race
    }
    wait(&full, 0); // <- race
    out[threadIdx.x] = tile[threadIdx.x % 32];
}

// The fence orders the initialisation, but the other warp does not wait for it.
extern "C" __global__ void fence_without_a_barrier(int* out)
{
    __shared__ u64 ready;
    if (threadIdx.x == 0) {
        init(&ready, 64); // <- race
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    BUG(, __syncthreads());
    arrive(&ready); // <- race
    out[threadIdx.x] = 1;
}

// The warp that waits has not seen that there is an mbarrier.
extern "C" __global__ void wait_before_the_barrier(int* out)
{
    __shared__ u64 ready;
    if (threadIdx.x == 0)
        init(&ready, 1); // <- race
    BUG(, __syncthreads());
    if (threadIdx.x == 0)
        arrive(&ready);
    if (threadIdx.x >= 32)
        wait(&ready, 0); // <- race
    out[threadIdx.x] = 1;
}
