// SPDX-License-Identifier: MIT
__global__ void halve(volatile int* x)
{
    int lane = threadIdx.x % 32;
    int value = x[lane];
    if (threadIdx.x < 32)
        x[lane] = value / 2;
}
