// SPDX-License-Identifier: MIT
// Text from threads: arguments of every kind, and what printf returns, which is the number of its arguments.

#ifndef __CUDACC_RTC__ // NVRTC declares printf itself
#include <cstdio>
#endif

extern "C" __global__ void printing(const float* x, int* counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    counts[i] = printf("block %d, thread %2u: %s %.3f\n", blockIdx.x, threadIdx.x, x[i] < 0 ? "below" : "above", x[i]);
    if (i == n - 1) {
        counts[i] += printf("%lld|%5d|%-5d|%+d|%05x|%#X|%c|%%\n", 1ll << 40, i, i, i, i, i, 'c');
        counts[i] += printf("%e|%g|%a|%8.2f|%hd|%hu|%*d\n", 0.1, 1e20, 1.5, -0.125, 70000, 65537, 6, i);
        counts[i] += printf("");
    }
}
