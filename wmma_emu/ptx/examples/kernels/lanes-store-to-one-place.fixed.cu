// SPDX-License-Identifier: MIT
__global__ void last_negative(const int* in, int* last)
{
    if (in[threadIdx.x] < 0)
        atomicMax(last, threadIdx.x);
}
