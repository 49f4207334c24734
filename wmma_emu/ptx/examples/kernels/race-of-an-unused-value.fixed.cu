// SPDX-License-Identifier: MIT
__global__ void halve(volatile int* x)
{
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32)
        x[lane] = x[lane] / 2;
}
