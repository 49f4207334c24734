// SPDX-License-Identifier: MIT
// D = A B + C, one m16n8k8 of tf32 a warp, by hand: A is 16 x 8, B 8 x 8, C and D 16 x 8, all row-major, a warp's own.

__device__ __forceinline__ unsigned to_tf32(float x)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

extern "C" __global__ void mma_tf32(const float* A, const float* B, const float* C, float* D, int count)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (warp >= count)
        return;
    int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
    const float* a = A + warp * 128;
    const float* b = B + warp * 64;
    const float* c = C + warp * 128;
    unsigned a0 = to_tf32(a[group * 8 + member]), a1 = to_tf32(a[(group + 8) * 8 + member]);
    unsigned a2 = to_tf32(a[group * 8 + member + 4]), a3 = to_tf32(a[(group + 8) * 8 + member + 4]);
    unsigned b0 = to_tf32(b[member * 8 + group]), b1 = to_tf32(b[(member + 4) * 8 + group]);
    int top = group * 8 + 2 * member, bottom = top + 64;
    float d0, d1, d2, d3;
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%10,%11,%12,%13};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c[top]), "f"(c[top + 1]),
                   "f"(c[bottom]), "f"(c[bottom + 1]));
    float* d = D + warp * 128;
    d[top] = d0;
    d[top + 1] = d1;
    d[bottom] = d2;
    d[bottom + 1] = d3;
}
