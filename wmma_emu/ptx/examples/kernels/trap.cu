// SPDX-License-Identifier: MIT
#include <cassert>
__global__ void reciprocals(const float* in, float* out)
{
    float x = in[threadIdx.x];
    assert(x > 0);
    out[threadIdx.x] = 1 / x;
}
