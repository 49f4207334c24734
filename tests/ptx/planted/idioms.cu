// SPDX-License-Identifier: MIT
// Planted bugs: idioms of public code that order memory, each without one of its steps.

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

__device__ __forceinline__ int load_acquire(const int* p)
{
    int x;
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}

__device__ __forceinline__ int load_relaxed(const int* p)
{
    int x;
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}

__device__ __forceinline__ void store_release(int* p, int x)
{
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

__device__ __forceinline__ void store_relaxed(int* p, int x)
{
    asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

__device__ __forceinline__ void add_release(int* p, int x)
{
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

__device__ __forceinline__ void add_relaxed(int* p, int x)
{
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}

__device__ __forceinline__ void arrive(unsigned long long* barrier)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(at(barrier)) : "memory");
}

__device__ __forceinline__ void wait(unsigned long long* barrier, int parity)
{
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }"
                 ::"r"(at(barrier)), "r"(parity) : "memory");
}

// Two stages between a producing and a consuming warp, with barriers "full" and "empty" of each stage.
extern "C" __global__ void stages_of_named_barriers(const int* in, int* out, int tiles)
{
    __shared__ int stage[2][32];
    int lane = threadIdx.x % 32, sum = 0;
    if (threadIdx.x < 32) {
        for (int t = 0; t < tiles; ++t) {
            if (t >= 2)
                asm volatile("bar.sync %0, 64;" ::"r"(3 + t % 2) : "memory");
            stage[t % 2][lane] = in[32 * t + lane]; // <- race
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + t % 2) : "memory");
        }
    } else {
        for (int t = 0; t < tiles; ++t) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + t % 2) : "memory");
            if (BUG(t + 2 < tiles, false))
                asm volatile("bar.arrive %0, 64;" ::"r"(3 + t % 2) : "memory");
            sum += stage[t % 2][31 - lane]; // <- race
            if (BUG(false, t + 2 < tiles))
                asm volatile("bar.arrive %0, 64;" ::"r"(3 + t % 2) : "memory");
        }
        out[lane] = sum;
    }
}

// The same with mbarriers of phases.
extern "C" __global__ void stages_of_mbarriers(const int* in, int* out, int tiles)
{
    __shared__ int stage[2][32];
    __shared__ unsigned long long full[2], empty[2];
    int lane = threadIdx.x % 32, sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; ++i) {
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(full + i)) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(empty + i)) : "memory");
        }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int t = 0; t < tiles; ++t) {
            wait(empty + t % 2, (t / 2 + 1) % 2);
            stage[t % 2][lane] = in[32 * t + lane]; // <- race
            arrive(full + t % 2);
        }
    } else {
        for (int t = 0; t < tiles; ++t) {
            wait(full + t % 2, t / 2 % 2);
            BUG(arrive(empty + t % 2), );
            sum += stage[t % 2][31 - lane]; // <- race
            BUG(, arrive(empty + t % 2));
        }
        out[lane] = sum;
    }
}

// Three buffers of cp.async and one barrier per iteration, as in CUTLASS's multistage loops.
extern "C" __global__ void three_stages_of_copies(const int* in, int* out, int tiles)
{
    __shared__ __align__(16) int tile[3][64];
    for (int t = 0; t < 2; ++t) {
        copy(tile[t] + threadIdx.x, in + 64 * t + threadIdx.x);
        COMMIT;
    }
    int sum = 0;
    for (int t = 0; t < tiles; ++t) {
        WAIT(1);
        BUG(, __syncthreads());
        if (t + 2 < tiles)
            copy(tile[(t + 2) % 3] + threadIdx.x, in + 64 * (t + 2) + threadIdx.x); // <- race
        COMMIT;
        sum += tile[t % 3][63 - threadIdx.x]; // <- race
    }
    out[threadIdx.x] = sum;
}

// CUTLASS's semaphore of stream-K and split-K: blocks add to a tile one after the other.
extern "C" __global__ void semaphore(const int* in, int* tile, int* turn, int* out)
{
    int state = -1;
    while (__syncthreads_and(state != (int)blockIdx.x))
        if (threadIdx.x == 0)
            state = load_acquire(turn);
    tile[threadIdx.x] += in[threadIdx.x]; // <- race
    BUG(, __syncthreads());
    if (threadIdx.x == 0)
        store_release(turn, blockIdx.x + 1);
    out[threadIdx.x] = 1;
}

// Marlin's barrier: the fence and a relaxed addition release; the last one puts the lock back.
extern "C" __global__ void turns_by_additions(const int* in, int* tile, int* turn, int* out)
{
    if (threadIdx.x == 0)
        while (load_acquire(turn) != blockIdx.x) {
        }
    __syncthreads();
    tile[threadIdx.x] += in[threadIdx.x]; // <- race
    __syncthreads();
    if (threadIdx.x == 0) {
        if (blockIdx.x == gridDim.x - 1)
            store_relaxed(turn, 0);
        else {
            BUG(, asm volatile("fence.acq_rel.gpu;" ::: "memory"));
            add_relaxed(turn, 1);
        }
    }
    out[threadIdx.x] = 1;
}

// Decoupled look-back with flag and value in two words.
extern "C" __global__ void look_back(const int* in, int* sums, int* flags, int* out)
{
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        int before = 0;
        if (b > 0) {
            while (BUG(load_relaxed, load_acquire)(flags + b - 1) == 0) {
            }
            before = sums[b - 1]; // <- race
        }
        sums[b] = before + in[b]; // <- race
        store_release(flags + b, 1);
        out[b] = before;
    }
}

// Flag and value in one 64-bit word: nothing else to order; the bug: two stores of 32 bits, plain.
extern "C" __global__ void look_back_in_one_word(const int* in, unsigned long long* state, int* out)
{
    int b = blockIdx.x;
    unsigned long long x = 1ull << 32;
    if (b > 0)
        do {
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(state + b - 1) : "memory"); // <- race
        } while (!(x >> 32));
    unsigned long long mine = (1ull << 32) + (unsigned)x + in[b];
    BUG(state[b] = mine, // <- race
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state + b), "l"(mine) : "memory"));
    out[b] = (unsigned)x;
}

// A lock of tickets.
extern "C" __global__ void lock_of_tickets(int* ticket, int* serving, int* count, int* out)
{
    int mine = atomicAdd(ticket, 1);
    while (*(volatile int*)serving != mine) // <- race
        __nanosleep(20);
    BUG(, __threadfence());
    int x = *count; // <- race
    *count = x + 1; // <- race
    __threadfence();
    *(volatile int*)serving = mine + 1; // <- race
    out[blockIdx.x] = 1;
}

extern "C" __global__ void sleeping_poll(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = in[threadIdx.x]; // <- race
        BUG(, __threadfence());
        __syncthreads();
        if (threadIdx.x == 0)
            atomicExch(flag, 1);
    } else {
        if (threadIdx.x == 0)
            while (*(volatile int*)flag == 0)
                __nanosleep(100);
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x]; // <- race
    }
}

// A counter of arrivals that are themselves release operations.
extern "C" __global__ void arrivals_that_release(const int* in, int* data, int* count, int* out)
{
    if (blockIdx.x != 0) {
        data[blockIdx.x] = in[blockIdx.x]; // <- race
        BUG(add_relaxed, add_release)(count, 1);
    } else {
        while (load_acquire(count) != gridDim.x - 1) {
        }
        for (int i = 1; i < gridDim.x; ++i)
            out[i] = data[i]; // <- race
    }
}

// Dekker: both set a flag and look at the other's, with fence.sc between; a thread that sees none enters.
extern "C" __global__ void entered_by_one(int* flags, int* count, int* out)
{
    int me = blockIdx.x;
    store_relaxed(flags + me, 1);
    asm volatile("fence.sc.gpu;" ::: "memory");
    if (load_relaxed(flags + 1 - me) == BUG(1, 0))
        *count = me + 1; // <- race
    out[me] = 1;
}

// Warp-aggregated: the leader takes places for all, each lane writes to its own.
extern "C" __global__ void places_of_a_warp(const int* in, int* count, int* out)
{
    if (in[threadIdx.x] % 3 == 0) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1, rank = __popc(active & ((1u << threadIdx.x % 32) - 1)), place = 0;
        if (threadIdx.x % 32 == leader)
            place = atomicAdd(count, __popc(active));
        place = __shfl_sync(active, place, leader);
        out[place + BUG(0, rank)] = in[threadIdx.x]; // <- lanes store to one place
    }
}

// Tiles of eight lanes.
extern "C" __global__ void tiles_of_lanes(const int* in, int* out)
{
    __shared__ int tile[64];
    int lane = threadIdx.x % 32;
    unsigned mask = 0xffu << (lane & ~7);
    tile[threadIdx.x] = in[threadIdx.x]; // <- race within a warp
    __syncwarp(mask);
    int x = tile[threadIdx.x ^ BUG(8, 7)]; // <- race within a warp
    __syncwarp(mask);
    tile[threadIdx.x] = x + 1;  // <- race within a warp
    __syncwarp(mask);
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Groups of equal keys; the leader's result by shared memory.
extern "C" __global__ void groups_of_keys(const int* in, int* out)
{
    __shared__ int sums[64];
    int lane = threadIdx.x % 32, key = in[threadIdx.x] % 5;
    unsigned group = __match_any_sync(0xffffffff, key);
    int leader = __ffs(group) - 1;
    if (lane == leader)
        sums[threadIdx.x] = __popc(group); // <- race within a warp
    BUG(, __syncwarp(group));
    out[threadIdx.x] = sums[threadIdx.x - lane + leader]; // <- race within a warp
}

// A queue of work, the next item in a shared word.
extern "C" __global__ void queue_of_work(const int* in, int* next, int* out, int n)
{
    __shared__ int item;
    for (;;) {
        BUG(, __syncthreads());
        if (threadIdx.x == 0)
            item = atomicAdd(next, 1); // <- race
        __syncthreads();
        if (item >= n) // <- race
            break;
        out[item * blockDim.x + threadIdx.x] = in[item];
    }
}

// A wavefront: block i follows block i - 1, one row at a time.
extern "C" __global__ void wavefront(int* rows, int* done, int* out, int n)
{
    int b = blockIdx.x;
    for (int r = 0; r < n; ++r) {
        if (b > 0) {
            if (threadIdx.x == 0) {
                while (((volatile int*)done)[b - 1] < r + BUG(0, 1)) {
                }
                __threadfence();
            }
            __syncthreads();
        }
        int left = b > 0 ? rows[((b - 1) * n + r) * 32 + threadIdx.x] : r; // <- race
        rows[(b * n + r) * 32 + threadIdx.x] = left + 1; // <- race
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            ((volatile int*)done)[b] = r + 1;
    }
    out[b * 32 + threadIdx.x] = 1;
}

// Votes of the block are barriers of it.
extern "C" __global__ void vote_of_the_block(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x]; // <- race
    int any = BUG(__any_sync(0xffffffff, in[threadIdx.x] > 3), __syncthreads_or(in[threadIdx.x] > 3));
    out[threadIdx.x] = any + tile[63 - threadIdx.x]; // <- race
}

// Atom.acq_rel hands over along a chain.
extern "C" __global__ void chain_of_atomics(const int* in, int* data, int* turn, int* out)
{
    int old, b = blockIdx.x;
    do {
        asm volatile("atom.acquire.gpu.global.add.s32 %0, [%1], 0;" : "=r"(old) : "l"(turn) : "memory");
    } while (old != b);
    data[0] = data[0] + in[b]; // <- race
    BUG(asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(turn) : "memory"),
        asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(turn) : "memory"));
    out[b] = 1;
}

// The last block, and the counter put back.
extern "C" __global__ void counter_put_back(const int* in, int* sums, int* count, int* out)
{
    __shared__ int last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = in[blockIdx.x];
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1; // <- race
    }
    __syncthreads();
    if (BUG(threadIdx.x == 0, last && threadIdx.x == 0))
        *count = 0; // <- race
    out[threadIdx.x] = 1;
}

// A barrier of the grid as in cooperative groups: the sign of a counter flips.
extern "C" __global__ void grid_barrier_of_signs(const int* in, int* x, int* count, int* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int round = 0; round < 3; ++round) {
        x[round % 2 * n + i] = in[i] + round; // <- race
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned add = blockIdx.x == 0 ? 0x80000000 - (gridDim.x - 1) : 1;
            BUG(, __threadfence());
            unsigned old = atomicAdd((unsigned*)count, add);
            while (((old ^ *(volatile unsigned*)count) & 0x80000000) == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        out[i] = x[round % 2 * n + n - 1 - i]; // <- race
    }
}

// __ldcg and __stcg are plain accesses to PTX's model: the flag has to be volatile or atomic.
extern "C" __global__ void flag_by_ldcg(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        data[0] = in[0]; // <- race
        __threadfence();
        atomicExch(flag, 1); // <- race
    } else {
        while (BUG(__ldcg(flag), *(volatile int*)flag) == 0) { // <- race
        }
        __threadfence();
        out[0] = __ldcg(data); // <- race
    }
}

// Sums in a warp by __reduce_add_sync, then over the warps by shared memory.
extern "C" __global__ void sums_of_warps(const int* in, int* out)
{
    __shared__ int sums[2];
    int sum = __reduce_add_sync(0xffffffff, in[threadIdx.x]);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum; // <- race
    BUG(__syncwarp(), __syncthreads());
    out[threadIdx.x] = sums[0] + sums[1]; // <- race
}

// An addition by atom.cas, as in the CUDA guide: its first read is plain, and only a guess.
extern "C" __global__ void addition_by_cas(const int* in, int* sum, int* out)
{
    int old = *sum, assumed;
    do {
        assumed = old;
        old = atomicCAS(sum, assumed, 2 * assumed + in[blockIdx.x]);
    } while (assumed != old);
    out[blockIdx.x] = BUG(*sum, 1); // <- race
}

// A lock in shared memory, one thread of each warp.
extern "C" __global__ void lock_of_a_block(int* out)
{
    __shared__ int lock, count;
    if (threadIdx.x == 0)
        lock = count = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1)) {
        }
        BUG(, __threadfence_block());
        count += 1; // <- race
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    out[threadIdx.x] = count;
}

// A counter without other data, and without fences: the last thread sees all increments, the first sees none.
extern "C" __global__ void counter_put_back_by_the_first(int* count, int* out)
{
    if (atomicAdd(count, 1) == BUG(0, gridDim.x - 1)) // <- race
        *count = 0; // <- race
    out[blockIdx.x] = 1;
}

// The same by another thread of the block, after a barrier.
extern "C" __global__ void counter_put_back_too_early(int* count, int* out)
{
    __shared__ int last;
    if (threadIdx.x == 0)
        last = atomicAdd(count, 1) == gridDim.x - 1; // <- race
    __syncthreads();
    if (threadIdx.x == 40 && BUG(true, last))
        *count = 0; // <- race
    out[threadIdx.x] = 1;
}

// Read, wait, write in place by a warp, cooperative-groups style.
extern "C" __global__ void shifted_in_place(int* data)
{
    int lane = threadIdx.x;
    int x = data[(lane + 1) % 32]; // <- race within a warp
    BUG(, __syncwarp());
    data[lane] = x; // <- race within a warp
}

// Maximum with a plain look before
extern "C" __global__ void look_before_the_maximum(const int* in, int* most, int* out)
{
    int x = in[blockIdx.x];
    if (x > BUG(*most, *(volatile int*)most)) // <- race
        atomicMax(most, x); // <- race
    out[blockIdx.x] = x;
}

// A barrier of a cluster (of one block)
extern "C" __global__ void barrier_of_a_cluster(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x]; // <- race
    asm volatile("barrier.cluster.arrive" BUG(".relaxed", ".release") ".aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// Split arrive/wait of a block: work between.
extern "C" __global__ void work_between_arrive_and_wait(const int* in, int* out)
{
    __shared__ int tile[64];
    __shared__ unsigned long long all;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at(&all)) : "memory");
    __syncthreads();
    unsigned long long token;
    BUG(, tile[threadIdx.x] = in[threadIdx.x]);
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(at(&all)) : "memory");
    BUG(tile[threadIdx.x] = in[threadIdx.x], ); // <- race
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.shared.b64 p, [%0], %1; @!p bra L; }"
                 ::"r"(at(&all)), "l"(token) : "memory");
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

// A queue of one slot between blocks, in both directions
extern "C" __global__ void place_that_is_used_again(const int* in, int* place, int* flag, int* out, int n)
{
    for (int i = 0; i < n; ++i)
        if (blockIdx.x == 0) {
            while (load_acquire(flag) != 0) {
            }
            *place = in[i]; // <- race
            store_release(flag, 1);
        } else {
            while (load_acquire(flag) != 1) {
            }
            out[i] = *place; // <- race
            BUG(store_relaxed, store_release)(flag, 0);
        }
}

// Peer's list: pointer published by CAS
extern "C" __global__ void list_of_nodes(const int* in, int* nodes, int* head, int* out)
{
    int me = blockIdx.x + 1, old = load_relaxed(head), seen;
    nodes[2 * me] = in[blockIdx.x]; // <- race
    for (;;) {
        nodes[2 * me + 1] = old;
        BUG(, __threadfence());
        seen = atomicCAS(head, old, me);
        if (seen == old) break;
        old = seen;
    }
    if (me == gridDim.x) {
        int sum = 0;
        BUG(, __threadfence());
        for (int p = me; p; p = nodes[2 * p + 1]) // <- race
            sum += nodes[2 * p]; // <- race
        out[0] = sum;
    }
}

// The same in shared memory.
extern "C" __global__ void addition_by_cas_in_a_block(int* out)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    int old = sum, assumed;
    do {
        assumed = old;
        old = atomicCAS(&sum, assumed, 2 * assumed + threadIdx.x); // <- race
    } while (assumed != old);
    BUG(, __syncthreads());
    out[threadIdx.x] = sum; // <- race
}

// A loop that sleeps, and waits by an atomic operation: compilers put its first look before it.
extern "C" __global__ void sleeping_look(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        data[0] = in[0]; // <- race
        BUG(, __threadfence());
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0)
            __nanosleep(100);
        out[0] = data[0]; // <- race
    }
}
