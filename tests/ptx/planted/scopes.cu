// SPDX-License-Identifier: MIT
// Flags, locks and tickets: what orders the data of one block before the reads of another.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__device__ __forceinline__ void set(int* flag)
{
    asm volatile("st.relaxed.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}

__device__ __forceinline__ int look(const int* flag)
{
    int x;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
    return x;
}

#define RELEASE(scope, p) asm volatile("st.release." scope ".global.s32 [%0], 1;" ::"l"(p) : "memory")
#define ACQUIRE(order, x, p)                                                                                           \
    asm volatile("ld." order ".global.s32 %0, [%1];" : "=r"(x) : "l"(p) : "memory")

// Block 0 passes a word to block 1 with only a flag.
extern "C" __global__ void flag_without_a_fence(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = in[0];
        BUG(, __threadfence());
        set(flag);
    } else {
        while (!look(flag)) {
        }
        __threadfence();
        out[0] = *data; // <- race
    }
}

// A fence of the block, and the reader is in another block.
extern "C" __global__ void fence_of_the_block(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = in[0];
        BUG(__threadfence_block, __threadfence)();
        set(flag);
    } else {
        while (!look(flag)) {
        }
        __threadfence();
        out[0] = *data; // <- race
    }
}

// The fence is after the flag.
extern "C" __global__ void fence_too_late(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = in[0];
        BUG(set(flag), __threadfence());
        BUG(__threadfence(), set(flag));
    } else {
        while (!look(flag)) {
        }
        __threadfence();
        out[0] = *data; // <- race
    }
}

// Volatile on both sides, as one would on a processor.
extern "C" __global__ void volatile_flag(const int* in, int* data, volatile int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = in[0];
        BUG(, __threadfence());
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        BUG(, __threadfence());
        out[0] = *data; // <- race
    }
}

// A flag that is an ordinary word.
extern "C" __global__ void plain_flag(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = in[0];
        __threadfence();
        asm volatile("st." BUG("", "volatile.") "global.s32 [%0], 1;" ::"l"(flag) : "memory"); // <- race
    } else {
        int seen;
        do
            asm volatile("ld." BUG("", "volatile.") "global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); // <- race
        while (!seen);
        __threadfence();
        out[0] = *data; // <- race
    }
}

extern "C" __global__ void release_of_the_block(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = in[0];
        RELEASE(BUG("cta", "gpu"), flag); // <- race
    } else {
        int seen;
        do
            ACQUIRE("acquire.gpu", seen, flag); // <- race
        while (!seen);
        out[0] = *data; // <- race
    }
}

extern "C" __global__ void acquire_of_the_block(const int* in, int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = in[0];
        RELEASE("gpu", flag); // <- race
    } else {
        int seen;
        do
            ACQUIRE(BUG("acquire.cta", "acquire.gpu"), seen, flag); // <- race
        while (!seen);
        out[0] = *data; // <- race
    }
}

// The second thread, by a ticket, reads the data that the first one stored.
extern "C" __global__ void flag_without_the_second_fence(const int* in, int* data, int* count, int* out)
{
    data[blockIdx.x] = in[0];
    __threadfence();
    if (atomicAdd(count, 1) == 1) {
        BUG(, __threadfence());
        out[0] = data[1 - blockIdx.x]; // <- race
    }
}

extern "C" __global__ void second_fence_of_the_block(const int* in, int* data, int* count, int* out)
{
    data[blockIdx.x] = in[0];
    __threadfence();
    if (atomicAdd(count, 1) == 1) {
        BUG(__threadfence_block, __threadfence)();
        out[0] = data[1 - blockIdx.x]; // <- race
    }
}

extern "C" __global__ void relaxed_for_acquire(const int* in, int* data, int* count, int* out)
{
    data[blockIdx.x] = in[0];
    int ticket;
    asm volatile("atom." BUG("release", "acq_rel") ".gpu.global.add.s32 %0, [%1], 1;"
                 : "=r"(ticket)
                 : "l"(count)
                 : "memory");
    if (ticket == 1)
        out[0] = data[1 - blockIdx.x]; // <- race
}

// Each word has a flag, and the reader waits for that of another word.
extern "C" __global__ void flag_of_another_word(const int* in, int* data, int* flags, int* out)
{
    int i = threadIdx.x;
    if (blockIdx.x == 0) {
        data[i] = in[i];
        RELEASE("gpu", flags + i);
    } else {
        int seen;
        do
            ACQUIRE("acquire.gpu", seen, flags + i BUG(/ 2 * 2, ));
        while (!seen);
        out[i] = data[i]; // <- race
    }
}

// Atomics of a block, and two blocks add.
extern "C" __global__ void atomics_of_the_block(const int* in, int* total)
{
    BUG(atomicAdd_block, atomicAdd)(total, in[threadIdx.x]); // <- race
}

// One block adds with the scope of the grid, the other with its own scope.
extern "C" __global__ void atomics_of_two_scopes(const int* in, int* total)
{
    if (blockIdx.x == 0)
        atomicAdd(total, in[threadIdx.x]); // <- race
    else
        BUG(atomicMax_block, atomicMax)(total, in[threadIdx.x]); // <- race
}
