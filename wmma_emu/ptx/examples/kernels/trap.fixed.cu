// SPDX-License-Identifier: MIT
#include <cassert>
__global__ void reciprocals(const float* in, float* out)
{
    float x = in[threadIdx.x];
    out[threadIdx.x] = x > 0 ? 1 / x : 0;
}
