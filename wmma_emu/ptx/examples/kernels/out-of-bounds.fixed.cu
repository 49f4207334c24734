// SPDX-License-Identifier: MIT
__global__ void fill(int* x, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = value;
}
