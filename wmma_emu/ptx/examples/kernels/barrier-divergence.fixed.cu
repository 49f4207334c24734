// SPDX-License-Identifier: MIT
__global__ void differences(const int* in, int* out)
{
    __shared__ int tile[32];
    int i = threadIdx.x, left = 0;
    tile[i] = in[i];
    __syncthreads();
    if (i > 0) {
        left = tile[i - 1];
    }
    out[i] = tile[i] - left;
}
