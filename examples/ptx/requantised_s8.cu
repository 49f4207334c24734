// SPDX-License-Identifier: MIT
// D = clamp(round((A B + bias) * scale) + zero_point): a product of s8 with 32-bit sums, made s8 again, as inference
// does it. A is row-major M x K, B column-major K x N, D row-major; bias and scale are a column's own. Two warps a
// block, each a 16x8 tile; M is a multiple of 32, N of 8, K of 32.

__device__ __forceinline__ int requantise(int sum, int bias, float scale, int zero_point)
{
    float scaled = __fmul_rn(__int2float_rn(sum + bias), scale);
    return min(max(__float2int_rn(scaled) + zero_point, -128), 127);
}

extern "C" __global__ void requantised_s8(const signed char* A, const signed char* B, const int* bias,
                                          const float* scale, signed char* D, int N, int K, int zero_point)
{
    int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
    int row = blockIdx.y * 32 + threadIdx.x / 32 * 16, col = blockIdx.x * 8;
    const int* a_words = (const int*)(A + (row + group) * K) + member; // four elements a word
    const int* b_words = (const int*)(B + (col + group) * K) + member;
    int sums[4] = {};
    for (int k = 0; k < K / 4; k += 8) {
        int a0 = a_words[k], a1 = a_words[k + 2 * K], a2 = a_words[k + 4], a3 = a_words[k + 2 * K + 4];
        int b0 = b_words[k], b1 = b_words[k + 4];
        asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                     "{%8,%9}, {%0,%1,%2,%3};"
                     : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    for (int e = 0; e < 4; ++e) {
        int j = col + 2 * member + e % 2;
        D[(row + group + e / 2 * 8) * N + j] = requantise(sums[e], bias[j], scale[j], zero_point);
    }
}
