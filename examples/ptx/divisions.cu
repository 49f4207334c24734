// SPDX-License-Identifier: MIT
// Quotients that go into sums: an approximate division ends in a multiplication, and ptxas may fuse it with the sum.

#define SLOT(n, text)                                                                                                  \
    {                                                                                                                  \
        float d;                                                                                                       \
        asm volatile("{.reg .f32 t, u, v;\n\t" text "}" : "=f"(d) : "f"(x), "f"(y), "f"(z));                           \
        out[(n) * count + i] = d;                                                                                      \
    }

extern "C" __global__ void quotient_sums(const float* a, const float* b, const float* c, float* out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = a[i], y = b[i], z = c[i];
    SLOT(0, "div.full.f32 t, %1, %2; add.f32 %0, t, %3;")
    SLOT(1, "div.full.f32 t, %1, %2; add.f32 %0, %3, t;")
    SLOT(2, "div.full.f32 t, %1, %2; sub.f32 %0, t, %3;")
    SLOT(3, "div.full.f32 t, %1, %2; sub.f32 %0, %3, t;")
    SLOT(4, "div.full.f32 t, %1, %2; add.rn.f32 %0, t, %3;")
    SLOT(5, "div.full.ftz.f32 t, %1, %2; add.ftz.f32 %0, t, %3;")
    SLOT(6, "div.full.f32 t, %1, %2; add.ftz.f32 %0, t, %3;")
    SLOT(7, "div.full.ftz.f32 t, %1, %2; add.f32 %0, t, %3;")
    SLOT(8, "div.full.f32 t, %1, %2; neg.f32 u, t; add.f32 %0, u, %3;")
    SLOT(9, "div.approx.f32 t, %1, %2; add.f32 %0, t, %3;")
    SLOT(10, "div.approx.f32 t, %1, %2; add.f32 %0, %3, t;")
    SLOT(11, "div.approx.f32 t, %1, %2; sub.f32 %0, t, %3;")
    SLOT(12, "div.approx.f32 t, %1, %2; sub.f32 %0, %3, t;")
    SLOT(13, "div.approx.ftz.f32 t, %1, %2; add.ftz.f32 %0, t, %3;")
    SLOT(14, "div.approx.ftz.f32 t, %1, %2; sub.ftz.f32 %0, %3, t;")
    SLOT(15, "div.rn.f32 t, %1, %2; add.f32 %0, t, %3;")
    SLOT(16, "rcp.approx.f32 t, %2; mul.f32 u, %1, t; add.f32 %0, u, %3;")
    SLOT(17, "rcp.approx.ftz.f32 t, %2; mul.f32 u, %1, t; sub.f32 %0, %3, u;")
    // The quotient has further uses.
    SLOT(18, "div.full.f32 t, %1, %2; add.f32 u, t, %3; mul.f32 %0, u, t;")
    SLOT(19, "div.full.f32 t, %1, %2; add.f32 u, t, %3; sub.f32 v, %1, t; mul.f32 %0, u, v;")
    SLOT(20, "div.full.f32 t, %1, %2; add.f32 %0, t, t;")
    SLOT(21, "div.full.f32 t, %1, %2; div.full.f32 u, %3, %2; add.f32 %0, t, u;")
    SLOT(22, "div.approx.f32 t, %1, %2; mul.f32 u, %3, %2; add.f32 %0, t, u;")
    SLOT(23, "div.full.f32 t, %1, %2; mul.f32 u, t, %3; add.f32 %0, u, %1;")
    SLOT(24, "div.approx.f32 t, %1, %2; add.f32 u, t, %3; add.f32 %0, u, t;")
    // One side of the division is known.
    SLOT(25, "mov.f32 t, 0f40400000; div.full.f32 u, %1, t; add.f32 %0, u, %3;")
    SLOT(26, "mov.f32 t, 0f44400000; div.full.f32 u, %1, t; sub.f32 %0, %3, u;")
    SLOT(27, "mov.f32 t, 0f40400000; div.approx.f32 u, %1, t; add.f32 %0, u, %3;")
    SLOT(28, "mov.f32 t, 0f3F800000; div.full.f32 u, t, %2; add.f32 %0, u, %3;")
    SLOT(29, "mov.f32 t, 0f40400000; div.approx.f32 u, t, %2; add.f32 %0, u, %3;")
    SLOT(30, "mov.f32 t, 0f40800000; div.full.f32 u, %1, t; add.f32 %0, u, %3;")
    // Other expansions whose last step may be a multiplication.
    SLOT(31, "abs.f32 t, %1; sqrt.approx.f32 u, t; add.f32 %0, u, %3;")
    SLOT(32, "abs.f32 t, %1; sqrt.approx.ftz.f32 u, t; add.f32 %0, u, %3;")
    SLOT(33, "abs.f32 t, %1; rsqrt.approx.f32 u, t; add.f32 %0, u, %3;")
    SLOT(34, "ex2.approx.f32 t, %1; add.f32 %0, t, %3;")
    SLOT(35, "abs.f32 t, %1; lg2.approx.f32 u, t; mul.f32 v, u, %2; add.f32 %0, v, %3;")
    SLOT(36, "mul.f32 t, %1, %2; ex2.approx.f32 u, t; sub.f32 %0, u, %3;")
}

// The variance of a row, and what it is divided by: sums by warps, as layer norms of one pass have it.
extern "C" __global__ void row_moments(const float* in, float* out, int columns, float epsilon)
{
    const float* row = in + blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += 32) {
        sum += row[i];
        squares += row[i] * row[i];
    }
    for (int step = 16; step; step /= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
        squares += __shfl_xor_sync(0xFFFFFFFFu, squares, step);
    }
    float mean = __fdividef(sum, columns), scale = rsqrtf(__fdividef(squares, columns) - mean * mean + epsilon);
    for (int i = threadIdx.x; i < columns; i += 32)
        out[blockIdx.x * columns + i] = __fdividef(row[i] - mean, epsilon + __fdividef(1.0f, scale)) + mean;
}
