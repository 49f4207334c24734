// SPDX-License-Identifier: MIT
// Membermasks: the lane itself left out, lanes that disagree, lanes that do not exist.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

#define LANES 0xFFFFFFFFu

// All lanes wait, and half of them are not named.
extern "C" __global__ void wait_of_the_unnamed(const int* in, int* out)
{
    __syncwarp(BUG(0x0000FFFFu, LANES)); // <- illegal operand
    out[threadIdx.x] = in[threadIdx.x];
}

// Lane 16 is in the branch, and not in the mask.
extern "C" __global__ void one_lane_too_many(const int* in, int* out)
{
    if (threadIdx.x <= 16)
        __syncwarp(BUG(0x0000FFFFu, 0x0001FFFFu)); // <- illegal operand
    out[threadIdx.x] = in[threadIdx.x];
}

// Lanes that name each other have to give one mask.
extern "C" __global__ void different_masks(const int* in, int* out)
{
    if (threadIdx.x < 16)
        __syncwarp(BUG(0x0000FFFFu, LANES)); // <- illegal operand
    else
        __syncwarp(BUG(0xFF0000FFu, LANES)); // <- illegal operand
    out[threadIdx.x] = in[threadIdx.x];
}

extern "C" __global__ void match_of_the_unnamed(const int* in, int* out)
{
    out[threadIdx.x] = __match_any_sync(BUG(0xFFFFFFFEu, LANES), in[threadIdx.x] & 1); // <- illegal operand
}

// The mask belongs to the previous branch, and one more lane arrives.
extern "C" __global__ void mask_of_another_branch(const int* in, int* out)
{
    int x = in[threadIdx.x];
    unsigned mask = __ballot_sync(LANES, x > 9);
    if (x > BUG(8, 9))
        x = __reduce_add_sync(mask, x); // <- illegal operand
    out[threadIdx.x] = x;
}

// Lanes named in the mask leave before.
extern "C" __global__ void gone_before_the_shuffle(const int* in, int* out)
{
    if (BUG(threadIdx.x >= 24, false))
        return;
    out[threadIdx.x] = __shfl_down_sync(LANES, in[threadIdx.x], 8, 32) BUG(, * (threadIdx.x < 24)); // <- uninitialised
}

// The last lanes of a sum have no neighbour in the mask, and take what comes.
extern "C" __global__ void lanes_beyond_the_mask(const int* in, int* out)
{
    if (threadIdx.x < 24) {
        int x = in[threadIdx.x], y = __shfl_down_sync(0x00FFFFFFu, x, 4);
        out[threadIdx.x] = BUG(true, threadIdx.x < 20) ? x + y : x; // <- uninitialised
    }
}

// The value of a lane that is in the other branch.
extern "C" __global__ void value_from_the_other_branch(const int* in, int* out)
{
    int x = in[threadIdx.x], y;
    if (threadIdx.x < 16)
        y = __shfl_sync(0x0000FFFFu, x, BUG(20, 4));
    else
        y = __shfl_sync(0xFFFF0000u, x, 20);
    out[threadIdx.x] = y; // <- uninitialised
}

// A wait that names lanes which wait at a barrier of the block.
extern "C" __global__ void wait_for_those_at_a_barrier(const int* in, int* out)
{
    int x = in[threadIdx.x];
    if (BUG(threadIdx.x < 16, true))
        __syncwarp(); // <- partial warp
    __syncthreads();
    out[threadIdx.x] = x;
}

extern "C" __global__ void movmatrix_of_some_lanes(const unsigned* in, unsigned* out)
{
    unsigned x = in[threadIdx.x];
    if (BUG(threadIdx.x != 5, true))
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x)); // <- partial warp
    out[threadIdx.x] = x;
}
