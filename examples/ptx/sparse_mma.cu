// SPDX-License-Identifier: MIT
// D = A B with a sparse A: of four neighbours in a row two are stored, and two bits of metadata for each say which.

#include <cuda_fp16.h>

// A: 16 x 16 stored (16 x 32 meant), B: 32 x 8, row-major; metadata: one word a lane, of which mma.sp reads those of
// two lanes in four. One warp a block, each with its own matrices.
extern "C" __global__ void sparse_f16(const half* A, const half* B, const unsigned* metadata, float* D)
{
    int group = threadIdx.x / 4, member = threadIdx.x % 4;
    const unsigned* a = (const unsigned*)(A + 256 * blockIdx.x); // pairs of halves, eight a row
    const unsigned short* b = (const unsigned short*)(B + 256 * blockIdx.x);
    unsigned a0 = a[group * 8 + member], a1 = a[(group + 8) * 8 + member];
    unsigned a2 = a[group * 8 + member + 4], a3 = a[(group + 8) * 8 + member + 4];
    unsigned words[4];
    for (int r = 0; r < 4; ++r) {
        int k = 8 * r + 2 * member;
        words[r] = b[k * 8 + group] | b[(k + 1) * 8 + group] << 16;
    }
    float d[4] = {};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]),
                   "r"(metadata[32 * blockIdx.x + threadIdx.x]));
    float2* out = (float2*)(D + 128 * blockIdx.x);
    out[group * 4 + member] = make_float2(d[0], d[1]);
    out[(group + 8) * 4 + member] = make_float2(d[2], d[3]);
}

// The same with s8: A 16 x 32 stored (16 x 64 meant), B 64 x 8 column-major.
extern "C" __global__ void sparse_s8(const int* A, const int* B, const unsigned* metadata, int* D)
{
    int group = threadIdx.x / 4, member = threadIdx.x % 4;
    const int* a = A + 128 * blockIdx.x; // four elements a word, eight words a row
    const int* b = B + 128 * blockIdx.x; // sixteen words a column
    int d[4] = {};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[group * 8 + member]), "r"(a[(group + 8) * 8 + member]), "r"(a[group * 8 + member + 4]),
                   "r"(a[(group + 8) * 8 + member + 4]), "r"(b[group * 16 + member]), "r"(b[group * 16 + member + 4]),
                   "r"(b[group * 16 + member + 8]), "r"(b[group * 16 + member + 12]),
                   "r"(metadata[32 * blockIdx.x + threadIdx.x]));
    int2* out = (int2*)(D + 128 * blockIdx.x);
    out[group * 4 + member] = make_int2(d[0], d[1]);
    out[(group + 8) * 4 + member] = make_int2(d[2], d[3]);
}
