// SPDX-License-Identifier: MIT
#include <cuda_awbarrier_primitives.h>
__global__ void meet()
{
    __shared__ __mbarrier_t both;
    if (threadIdx.x == 0)
        __mbarrier_init(&both, 64);
    __syncthreads();
    if (threadIdx.x < 32) {
        __mbarrier_arrive(&both);
        while (!__mbarrier_test_wait_parity(&both, 1)) { }
    } else
        __mbarrier_arrive(&both);
}
