// SPDX-License-Identifier: MIT
__global__ void reverse(const int* in, int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}
