// SPDX-License-Identifier: MIT
// Kernels that give up.

#ifndef __CUDACC_RTC__ // NVRTC has a built-in assert
#include <cassert>
#endif

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

extern "C" __global__ void assertion(const int* in, int* out)
{
    int x = in[threadIdx.x];
    assert(x > BUG(3, -1)); // <- trap
    out[threadIdx.x] = x;
}

extern "C" __global__ void trap(const int* in, int* out)
{
    int x = in[threadIdx.x];
    if (x == BUG(7, -7))
        __trap(); // <- trap
    out[threadIdx.x] = x;
}
