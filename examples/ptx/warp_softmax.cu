// SPDX-License-Identifier: MIT
// Softmax of rows, a warp a row: the maximum and the sum travel by shuffles. Rows have any length up to 128.

#define LANES 0xFFFFFFFFu
#define LOWEST __uint_as_float(0xFF800000u) // minus infinity

__device__ __forceinline__ float warp_max(float x)
{
    for (int step = 16; step; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(LANES, x, step));
    return x;
}

__device__ __forceinline__ float warp_sum(float x)
{
    for (int step = 16; step; step /= 2)
        x = __fadd_rn(x, __shfl_xor_sync(LANES, x, step));
    return x;
}

template <typename Exponential>
__device__ __forceinline__ void softmax(const float* in, float* out, int rows, int columns, Exponential exponential)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float x[4], largest = LOWEST, sum = 0;
    for (int i = 0; i < 4; ++i) {
        int column = lane + 32 * i;
        x[i] = column < columns ? in[row * columns + column] : LOWEST;
        largest = fmaxf(largest, x[i]);
    }
    largest = warp_max(largest);
    for (int i = 0; i < 4; ++i) {
        x[i] = exponential(__fsub_rn(x[i], largest));
        sum = __fadd_rn(sum, x[i]);
    }
    sum = warp_sum(sum);
    for (int i = 0; i < 4; ++i)
        if (lane + 32 * i < columns)
            out[row * columns + lane + 32 * i] = __fdiv_rn(x[i], sum);
}

extern "C" __global__ void warp_softmax(const float* in, float* out, int rows, int columns)
{
    softmax(in, out, rows, columns, [](float x) { return __expf(x); });
}

extern "C" __global__ void warp_softmax_full(const float* in, float* out, int rows, int columns)
{
    softmax(in, out, rows, columns, [](float x) { return expf(x); });
}
