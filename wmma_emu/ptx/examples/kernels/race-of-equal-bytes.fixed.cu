// SPDX-License-Identifier: MIT
__global__ void any_negative(const int* in, int* found)
{
    if (in[threadIdx.x] < 0)
        atomicExch(found, 1);
}
