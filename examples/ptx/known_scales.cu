// SPDX-License-Identifier: MIT
// Approximate functions of constants: the assembler may evaluate them itself, with different bits.

#define SLOT(n, text)                                                                                                  \
    {                                                                                                                  \
        float d;                                                                                                       \
        asm volatile("{.reg .f32 t, u;\n\t.reg .b32 r;\n\t" text "}" : "=f"(d) : "f"(x));                              \
        out[(n) * count + i] = d;                                                                                      \
    }

extern "C" __global__ void known_functions(const float* a, float* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = a[i];
    SLOT(0, "mov.f32 t, 0f43000000; rsqrt.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(1, "mov.f32 t, 0f42C00000; rsqrt.approx.ftz.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(2, "mov.f32 t, 0f40400000; rcp.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(3, "mov.f32 t, 0f40E00000; rcp.approx.ftz.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(4, "mov.f32 t, 0f40A00000; sqrt.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(5, "mov.f32 t, 0f42A00000; sqrt.approx.ftz.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(6, "mov.f32 t, 0f3E9A209B; ex2.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(7, "mov.f32 t, 0fC0A3D70A; ex2.approx.ftz.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(8, "mov.f32 t, 0f41200000; lg2.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(9, "mov.f32 t, 0f40400000; sin.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(10, "mov.f32 t, 0f40400000; cos.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(11, "mov.f32 t, 0f3F000000; tanh.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(12, "mov.f32 t, 0f40E00000; mov.f32 u, 0f40400000; div.approx.f32 u, u, t; mul.f32 %0, %1, u;")
    SLOT(13, "mov.f32 t, 0f40E00000; mov.f32 u, 0f40400000; div.full.f32 u, u, t; mul.f32 %0, %1, u;")
    SLOT(14, "mov.b32 r, 80; cvt.rn.f32.u32 t, r; rsqrt.approx.f32 u, t; mul.f32 %0, %1, u;")
    SLOT(15, "mov.f32 t, 0f42800000; mul.f32 t, t, 0f3FC00000; rsqrt.approx.f32 u, t; fma.rn.f32 %0, %1, u, %1;")
    SLOT(16, "mov.f32 t, 0f3DCCCCCD; rcp.approx.f32 u, t; add.f32 %0, %1, u;")
    SLOT(17, "mov.f32 t, 0f43400000; sqrt.approx.f32 t, t; rcp.approx.f32 u, t; mul.f32 %0, %1, u;")
}

// A row of scores, softmax(q . k / sqrt(D)), and the rows of v weighted with it, by one warp for 32 keys.
template <int D>
__device__ __forceinline__ void attend(const float* q, const float* k, const float* v, float* out)
{
    int lane = threadIdx.x;
    q += blockIdx.x * D;
    out += blockIdx.x * D;
    float score = 0;
#pragma unroll 4
    for (int i = 0; i < D; ++i)
        score += q[i] * k[lane * D + i];
    score *= rsqrtf(float(D));
    float largest = score;
    for (int step = 16; step; step /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, step));
    float p = __expf(score - largest), total = p;
    for (int step = 16; step; step /= 2)
        total += __shfl_xor_sync(0xFFFFFFFFu, total, step);
    float sums[(D + 31) / 32] = {};
#pragma unroll 2
    for (int j = 0; j < 32; ++j) {
        float weight = __shfl_sync(0xFFFFFFFFu, p, j);
        for (int i = 0; i < (D + 31) / 32; ++i)
            if (32 * i + lane < D)
                sums[i] += weight * v[j * D + 32 * i + lane];
    }
    for (int i = 0; i < (D + 31) / 32; ++i)
        if (32 * i + lane < D)
            out[32 * i + lane] = __fdividef(sums[i], total) + q[32 * i + lane];
}

#define ATTEND(D)                                                                                                      \
    extern "C" __global__ void attend_##D(const float* q, const float* k, const float* v, float* out)                 \
    {                                                                                                                  \
        attend<D>(q, k, v, out);                                                                                       \
    }

ATTEND(80)
ATTEND(128)
