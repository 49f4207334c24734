// SPDX-License-Identifier: MIT
#include <cuda_awbarrier_primitives.h>
__global__ void copy(const int* in, int* out)
{
    __shared__ __mbarrier_t ready;
    if (threadIdx.x == 0)
        __mbarrier_init(&ready, blockDim.x);
    __syncthreads();
    __mbarrier_arrive(&ready);
    while (!__mbarrier_test_wait_parity(&ready, 1)) { }
    out[threadIdx.x] = in[threadIdx.x];
}
