// SPDX-License-Identifier: MIT
__global__ void two_warps(int* out)
{
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = threadIdx.x;
}
