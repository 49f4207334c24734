// SPDX-License-Identifier: MIT
// Lanes of one warp that share memory, and nothing orders them: they need not go together.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

extern "C" __global__ void reversed_in_a_warp(const int* in, int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    BUG(, __syncwarp());
    out[threadIdx.x] = tile[31 - threadIdx.x]; // <- race within a warp
}

// Each round of the loop writes what lanes of the round before still read.
extern "C" __global__ void overwritten_in_a_warp(const int* in, int* out, int rounds)
{
    __shared__ int tile[32];
    int sum = 0;
    for (int t = 0; t < rounds; ++t) {
        tile[threadIdx.x] = in[32 * t + threadIdx.x]; // <- race within a warp
        __syncwarp();
        sum += tile[31 - threadIdx.x];
        BUG(, __syncwarp());
    }
    out[threadIdx.x] = sum;
}

// The end of many a reduction from before Volta.
extern "C" __global__ void volatile_reduction(const int* in, int* out)
{
    __shared__ volatile int sums[64];
    sums[threadIdx.x] = in[threadIdx.x];
    sums[threadIdx.x + 32] = in[threadIdx.x + 32];
    __syncwarp();
    for (int half = 32; half; half /= 2) {
        int other = sums[threadIdx.x + (threadIdx.x < half ? half : 0)]; // <- race within a warp
        BUG(, __syncwarp());
        if (threadIdx.x < half)
            sums[threadIdx.x] = sums[threadIdx.x] + other; // <- race within a warp
        BUG(, __syncwarp());
    }
    if (threadIdx.x == 0)
        out[0] = sums[0];
}

// Volatile tells the compiler something, and no other lane.
extern "C" __global__ void volatile_exchange(const int* in, int* out)
{
    __shared__ volatile int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    BUG(, __syncthreads());
    out[threadIdx.x] = tile[63 - threadIdx.x]; // <- race
}

extern "C" __global__ void word_of_a_leader(const int* in, int* out)
{
    __shared__ int word;
    if (threadIdx.x == 0)
        word = 0;
    __syncwarp();
    if (threadIdx.x == 0)
        word = in[7]; // <- race within a warp
    BUG(, __syncwarp());
    out[threadIdx.x] = word; // <- race within a warp
}

// Each half of the warp waits only for its own lanes, and reads the other half's data.
extern "C" __global__ void halves_of_a_warp(const int* in, int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp(BUG(threadIdx.x < 16 ? 0x0000FFFFu : 0xFFFF0000u, 0xFFFFFFFFu));
    out[threadIdx.x] = tile[threadIdx.x ^ 16]; // <- race within a warp
}

// The wait is in a branch, and half of the lanes go around it.
extern "C" __global__ void wait_of_some_lanes(const int* in, int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    if (BUG(threadIdx.x < 16, true))
        __syncwarp(BUG(0x0000FFFFu, 0xFFFFFFFFu));
    out[threadIdx.x] = tile[31 - threadIdx.x]; // <- race within a warp
}

// A wait before the write does not replace a wait after it.
extern "C" __global__ void wait_before_the_write(const int* in, int* out)
{
    __shared__ int tile[32];
    BUG(__syncwarp(), );
    tile[threadIdx.x] = in[threadIdx.x];
    BUG(, __syncwarp());
    out[threadIdx.x] = tile[(threadIdx.x + 1) % 32]; // <- race within a warp
}

// One of the values remains, and it is undefined which. For equal values it does not matter.
extern "C" __global__ void slot_of_all_lanes(const int* in, int* out)
{
    __shared__ int slot;
    if (in[threadIdx.x] > 3)
        slot = BUG(in[threadIdx.x], 4); // <- lanes store to one place
    __syncwarp();
    out[threadIdx.x] = slot;
}

extern "C" __global__ void result_of_all_lanes(const int* in, int* out)
{
    if (BUG(true, threadIdx.x == 31))
        out[0] = in[threadIdx.x]; // <- lanes store to one place
}

// Two lanes of a scatter have the same index.
extern "C" __global__ void scatter(const int* places, int* out)
{
    out[places[threadIdx.x] BUG(/ 2, )] = threadIdx.x; // <- lanes store to one place
}

// A byte of a word, written by reading the word and writing all of it.
extern "C" __global__ void bytes_through_words(const int* in, int* out)
{
    __shared__ unsigned words[8];
    if (threadIdx.x < 8)
        words[threadIdx.x] = 0;
    __syncwarp();
#ifdef FIXED
    ((unsigned char*)words)[threadIdx.x] = in[threadIdx.x];
#else
    unsigned shift = threadIdx.x % 4 * 8, word = words[threadIdx.x / 4]; // <- race within a warp
    words[threadIdx.x / 4] = word & ~(255u << shift) | in[threadIdx.x] << shift; // <- race within a warp
#endif
    __syncwarp();
    if (threadIdx.x < 8)
        out[threadIdx.x] = words[threadIdx.x];
}

// Lanes that write halves of a word while a lane reads the other half: neighbours, until one reads too much.
extern "C" __global__ void halves_of_a_word(const unsigned short* in, int* out)
{
    __shared__ __align__(4) unsigned short halves[66];
    halves[threadIdx.x] = in[threadIdx.x];
    halves[threadIdx.x + 32] = 0;
    if (threadIdx.x < 2)
        halves[threadIdx.x + 64] = 0;
    __syncwarp();
    if (threadIdx.x & 1)
        halves[threadIdx.x] = 7; // <- race within a warp
    else
        out[threadIdx.x] = BUG(*(unsigned*)(halves + threadIdx.x), halves[threadIdx.x]); // <- race within a warp
}

// A vote does not order memory for lanes that its mask does not name.
extern "C" __global__ void vote_of_a_half(const int* in, int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    unsigned mask = BUG(threadIdx.x < 16 ? 0x0000FFFFu : 0xFFFF0000u, 0xFFFFFFFFu);
    __syncwarp(mask);
    int all = __all_sync(mask, in[threadIdx.x] >= 0);
    out[threadIdx.x] = all ? tile[31 - threadIdx.x] : 0; // <- race within a warp
}
