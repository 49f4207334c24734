// SPDX-License-Identifier: MIT
__global__ void scale(float* in, float* out, float factor)
{
    int i = threadIdx.x;
    out[i] = factor * in[i];
}
