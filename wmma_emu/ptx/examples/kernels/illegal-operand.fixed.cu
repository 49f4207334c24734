// SPDX-License-Identifier: MIT
__global__ void broadcast(const int* in, int* out)
{
    int x = in[threadIdx.x];
    out[threadIdx.x] = __shfl_sync(0xffffffff, x, 0);
}
