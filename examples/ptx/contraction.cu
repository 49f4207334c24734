// SPDX-License-Identifier: MIT
// Products and sums that leave their rounding open: ptxas and the driver may make one fma of the two, and do.

#include <cuda_fp16.h>

#define SLOT(n, text)                                                                                                  \
    {                                                                                                                  \
        float d;                                                                                                       \
        asm volatile("{.reg .f32 t, u;\n\t" text "}" : "=f"(d) : "f"(x), "f"(y), "f"(z));                              \
        out[(n) * count + i] = d;                                                                                      \
    }

extern "C" __global__ void open_roundings(const float* a, const float* b, const float* c, float* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = a[i], y = b[i], z = c[i];
    SLOT(0, "mul.f32 t, %1, %2; add.f32 %0, t, %3;")
    SLOT(1, "mul.f32 t, %1, %2; add.f32 %0, %3, t;")
    SLOT(2, "mul.f32 t, %1, %2; sub.f32 %0, t, %3;")
    SLOT(3, "mul.f32 t, %1, %2; sub.f32 %0, %3, t;")
    SLOT(4, "mul.rn.f32 t, %1, %2; add.f32 %0, t, %3;")
    SLOT(5, "mul.f32 t, %1, %2; add.rn.f32 %0, t, %3;")
    SLOT(6, "mul.ftz.f32 t, %1, %2; add.ftz.f32 %0, t, %3;")
    SLOT(7, "mul.rz.f32 t, %1, %2; add.rz.f32 %0, t, %3;")
    SLOT(8, "mul.f32 t, %1, %2; neg.f32 u, t; add.f32 %0, u, %3;")
    SLOT(9, "fma.rn.f32 t, %1, %2, %3; add.f32 %0, t, %3;")
}

// An axpy in halves: out = x * y + z, two at a time, by operators that leave it open, by fma, and rounded in between.
extern "C" __global__ void half_pairs(const half2* x, const half2* y, const half2* z, half2* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    out[i] = x[i] * y[i] + z[i];
    out[count + i] = __hfma2(x[i], y[i], z[i]);
    out[2 * count + i] = __hadd2_rn(__hmul2_rn(x[i], y[i]), z[i]);
    out[3 * count + i] = __hmax2(__hneg2(x[i]), __hmin2(y[i], __habs2(z[i])));
    half2 below = __hlt2(x[i], y[i]);
    out[4 * count + i] = __hsub2(below, __hmul2_sat(y[i], z[i]));
}
