// SPDX-License-Identifier: MIT
// Layer norm and GELU of rows of bfloat16, a warp a row: gelu((x - mean) * rsqrt(variance + epsilon) * gain + bias).
// Sums travel by shuffles; rows have a multiple of 64 elements, up to 256.

#include <cuda_bf16.h>

__device__ __forceinline__ float warp_sum(float x)
{
    for (int step = 16; step; step /= 2)
        x = __fadd_rn(x, __shfl_xor_sync(0xFFFFFFFFu, x, step));
    return x;
}

__device__ __forceinline__ float gelu(float x)
{
    float inner = __fmul_rn(__fmaf_rn(__fmul_rn(x, x), 0.044715f * 0.7978845608f, 0.7978845608f), x), tanh;
    asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(inner));
    float half = __fmul_rn(0.5f, x);
    return __fmaf_rn(half, tanh, half);
}

extern "C" __global__ void layer_norm(const __nv_bfloat162* in, const float2* gain, const float2* bias,
                                      __nv_bfloat162* out, int columns, float epsilon)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, pairs = columns / 2;
    float2 x[4];
    float sum = 0, squares = 0;
    for (int i = 0; i < 4; ++i) {
        x[i] = make_float2(0, 0);
        if (32 * i < pairs)
            x[i] = __bfloat1622float2(in[row * pairs + 32 * i + lane]);
        sum = __fadd_rn(sum, __fadd_rn(x[i].x, x[i].y));
    }
    float mean = __fdiv_rn(warp_sum(sum), float(columns));
    for (int i = 0; i < 4; ++i)
        if (32 * i < pairs) {
            float left = __fsub_rn(x[i].x, mean), right = __fsub_rn(x[i].y, mean);
            squares = __fmaf_rn(left, left, __fmaf_rn(right, right, squares));
            x[i] = make_float2(left, right);
        }
    float factor = rsqrtf(__fmaf_rn(warp_sum(squares), __frcp_rn(float(columns)), epsilon));
    for (int i = 0; i < 4; ++i)
        if (32 * i < pairs) {
            float2 g = gain[32 * i + lane], b = bias[32 * i + lane];
            float left = __fmaf_rn(__fmul_rn(x[i].x, factor), g.x, b.x);
            float right = __fmaf_rn(__fmul_rn(x[i].y, factor), g.y, b.y);
            out[row * pairs + 32 * i + lane] = __floats2bfloat162_rn(gelu(left), gelu(right));
        }
}
