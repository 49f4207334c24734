// SPDX-License-Identifier: MIT
// D = A B nearly as exact as float32, from three products in tf32: x = big + small, and big*big + big*small +
// small*big. One warp a 16x8 tile. A and B are row-major; M is a multiple of 16, N and K of 8.

__device__ __forceinline__ void split(float x, unsigned& big, unsigned& small)
{
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(big) : "f"(x));
    float rest = __fsub_rn(x, __uint_as_float(big));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(small) : "f"(rest));
}

__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void three_pass_tf32(const float* A, const float* B, float* D, int N, int K)
{
    int group = threadIdx.x / 4, member = threadIdx.x % 4;
    int row = blockIdx.y * 16, col = blockIdx.x * 8;
    float sums[4] = {};
    for (int k = 0; k < K; k += 8) {
        unsigned a_big[4], a_small[4], b_big[2], b_small[2];
#pragma unroll
        for (int r = 0; r < 4; ++r)
            split(A[(row + group + r % 2 * 8) * K + k + member + r / 2 * 4], a_big[r], a_small[r]);
#pragma unroll
        for (int r = 0; r < 2; ++r)
            split(B[(k + member + 4 * r) * N + col + group], b_big[r], b_small[r]);
        mma(sums, a_small, b_big); // the small ones first: they are added while the sum is small
        mma(sums, a_big, b_small);
        mma(sums, a_big, b_big);
    }
    float* d = D + (row + group) * N + col + 2 * member;
    d[0] = sums[0];
    d[1] = sums[1];
    d[8 * N] = sums[2];
    d[8 * N + 1] = sums[3];
}
