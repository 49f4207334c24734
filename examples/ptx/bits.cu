// SPDX-License-Identifier: MIT
// Bits of three words: lop3 with several tables, and the instructions that count, turn, cut out and shuffle bits.

__device__ __forceinline__ void put(unsigned* out, int i, int n, int slot, unsigned value)
{
    out[slot * n + i] = value;
}

// The table is the result for a = 0xF0, b = 0xCC, c = 0xAA.
template <int TABLE> __device__ __forceinline__ unsigned lop3(unsigned a, unsigned b, unsigned c)
{
    unsigned d;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
    return d;
}

extern "C" __global__ void lop3_exercise(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = a[i], y = b[i], z = c[i];
    put(out, i, n, 0, lop3<(0xF0 & 0xCC) | 0xAA>(x, y, z));
    put(out, i, n, 1, lop3<0xF0 ^ 0xCC ^ 0xAA>(x, y, z));
    put(out, i, n, 2, lop3<(0xF0 & 0xCC) | (0xF0 & 0xAA) | (0xCC & 0xAA)>(x, y, z)); // majority
    put(out, i, n, 3, lop3<(0xF0 & 0xCC) | (~0xF0 & 0xAA & 0xFF)>(x, y, z));         // a ? b : c
    put(out, i, n, 4, (x & ~y) | (~x & z & y));                                      // the compiler's own table
}

extern "C" __global__ void bit_exercise(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = a[i], y = b[i], z = c[i];
    put(out, i, n, 0, __popc(x) | __clz(y >> (z & 31)) << 8 | __ffs(z << (x & 31)) << 16);
    put(out, i, n, 1, __brev(x));
    put(out, i, n, 2, __byte_perm(x, y, z));
    put(out, i, n, 3, __funnelshift_l(x, y, z));
    put(out, i, n, 4, __funnelshift_rc(x, y, z & 63));
    put(out, i, n, 5, __umulhi(x, y) + __mulhi(int(x), int(z)));
    put(out, i, n, 6, __umul24(x, y) ^ __mul24(int(x), int(z)));
    put(out, i, n, 7, __usad(x, y, z) + __sad(int(x), int(y), z));
    put(out, i, n, 8, __dp4a(int(x), int(y), int(z)));
    put(out, i, n, 9, __vaddus4(x, y) ^ __vabsdiffs2(x, z));
    unsigned field, merged, highest;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(field) : "r"(x), "r"(y & 63), "r"(z & 63));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(merged) : "r"(x), "r"(y), "r"(z & 63), "r"(x >> 26));
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(highest) : "r"(int(y)));
    put(out, i, n, 10, field);
    put(out, i, n, 11, merged);
    put(out, i, n, 12, highest);
    unsigned long long wide = (unsigned long long)x * y + z;
    put(out, i, n, 13, unsigned(wide / (y | 1)) ^ unsigned(wide % (z | 1)));
    put(out, i, n, 14, int(x) / (int(y >> 16) | 1) + int(x) % (int(z) | 1));
}
