// SPDX-License-Identifier: MIT
// Uninitialised parts of a register: halves, bytes, bits. Parts that are masked or shifted away do not matter.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

__device__ __forceinline__ unsigned nothing()
{
    unsigned x;
    asm volatile("{\n\t.reg .b32 y;\n\tmov.b32 %0, y;\n\t}" : "=r"(x));
    return x;
}

#define STORE(p, x) asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory")
#define STORE16(p, x) asm volatile("st.global.u16 [%0], %1;" ::"l"(p), "h"(x) : "memory")
#define STORE8(p, x) asm volatile("st.global.u8 [%0], %1;" ::"l"(p), "r"(x) : "memory")

// A pair of halves: one was never written, and the wrong one is used.
extern "C" __global__ void half_of_a_pair(const unsigned short* in, unsigned short* out)
{
    unsigned pair;
    unsigned short lo, hi;
    asm volatile("{\n\t.reg .b16 y;\n\tmov.b32 %0, {%1, y};\n\t}" : "=r"(pair) : "h"(in[threadIdx.x]));
    asm volatile("mov.b32 {%0, %1}, %2;" : "=h"(lo), "=h"(hi) : "r"(pair));
    STORE16(out + threadIdx.x, BUG(hi, lo)); // <- uninitialised
}

// All of the pair is stored: half of it is anything.
extern "C" __global__ void pair_of_one_half(const unsigned short* in, unsigned* out)
{
    unsigned pair;
    asm volatile("{\n\t.reg .b16 y;\n\tmov.b32 %0, {%1, " BUG("y", "%1") "};\n\t}" : "=r"(pair) : "h"(in[threadIdx.x]));
    STORE(out + threadIdx.x, pair); // <- partly uninitialised
}

extern "C" __global__ void byte_of_a_permutation(const unsigned* in, unsigned* out)
{
    unsigned x = __byte_perm(in[threadIdx.x], nothing(), BUG(0x3214, 0x3210));
    STORE(out + threadIdx.x, x); // <- partly uninitialised
}

// The byte that is stored comes from the other operand.
extern "C" __global__ void byte_of_the_other_operand(const unsigned* in, unsigned char* out)
{
    unsigned x = __byte_perm(in[threadIdx.x], nothing(), BUG(0x0007, 0x7773));
    STORE8(out + threadIdx.x, x); // <- uninitialised
}

extern "C" __global__ void bits_behind_a_mask(const unsigned* in, unsigned* out)
{
    unsigned x = in[threadIdx.x] & 0xFFFFu | nothing() & BUG(0xFFFF0000u, 0);
    STORE(out + threadIdx.x, x); // <- partly uninitialised
}

// Shifted out at one end, or at the other.
extern "C" __global__ void bits_behind_a_shift(const unsigned* in, unsigned* out)
{
    unsigned x = nothing() << 16 | in[threadIdx.x] & 0xFFFFu;
    STORE(out + threadIdx.x, BUG(x >> 16, x << 16)); // <- partly uninitialised
}

extern "C" __global__ void bits_of_a_field(const unsigned* in, unsigned* out)
{
    unsigned x;
    asm volatile("bfi.b32 %0, %1, %2, 0, %3;" : "=r"(x) : "r"(in[threadIdx.x]), "r"(nothing()), "r"(BUG(24, 32)));
    STORE(out + threadIdx.x, x); // <- partly uninitialised
}

// A carry goes up, and what is above is anything.
extern "C" __global__ void sum_of_low_bytes(const unsigned* in, unsigned char* out)
{
    unsigned x = (in[threadIdx.x] & 255) | nothing() << 8;
    x += 3;
    STORE8(out + threadIdx.x, x BUG(>> 8, )); // <- uninitialised
}

// Bytes of a word in shared memory: three were written.
extern "C" __global__ void last_byte_of_a_word(const unsigned char* in, unsigned* out)
{
    __shared__ __align__(4) unsigned char bytes[128];
    for (int i = 0; i < BUG(3, 4); ++i)
        bytes[4 * threadIdx.x + i] = in[4 * threadIdx.x + i];
    __syncwarp();
    out[threadIdx.x] = *(unsigned*)(bytes + 4 * (31 - threadIdx.x)); // <- partly uninitialised
}

// The last row of a tile whose rows are copied in whole words: its last halves are uninitialised.
extern "C" __global__ void last_half_of_a_row(const unsigned short* in, unsigned short* out)
{
    __shared__ unsigned short row[64];
    for (int i = threadIdx.x; i < BUG(63, 64); i += 32)
        row[i] = in[i];
    __syncwarp();
    unsigned both = *(unsigned*)(row + 2 * threadIdx.x);
    STORE16(out + 2 * threadIdx.x, (unsigned short)both);
    STORE16(out + 2 * threadIdx.x + 1, (unsigned short)(both >> 16)); // <- uninitialised
}

// Two halves are added at a time, and one of them has no value.
extern "C" __global__ void sum_of_pairs(const unsigned* in, unsigned short* out)
{
    unsigned x = in[threadIdx.x], y = x & 0xFFFFu | nothing() << 16, sum;
    asm volatile("add.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(x), "r"(y));
    STORE16(out + threadIdx.x, (unsigned short)(BUG(sum >> 16, sum))); // <- uninitialised
}

// A struct of a word and a byte: copying it also copies the padding after the byte.
extern "C" __global__ void padding_of_a_struct(const int* in, int2* out)
{
    struct Entry {
        int number;
        unsigned char kind;
    };
    __shared__ __align__(8) Entry entries[32];
    entries[threadIdx.x].number = in[threadIdx.x];
    entries[threadIdx.x].kind = 3;
    BUG(, (*(int*)&entries[threadIdx.x].kind = 3));
    __syncwarp();
    out[threadIdx.x] = *(int2*)&entries[31 - threadIdx.x]; // <- partly uninitialised
}
