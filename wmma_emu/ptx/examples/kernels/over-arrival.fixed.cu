// SPDX-License-Identifier: MIT
#include <cuda_awbarrier_primitives.h>
__global__ void are_complete(int* out)
{
    __shared__ __mbarrier_t ready;
    if (threadIdx.x == 0)
        __mbarrier_init(&ready, blockDim.x);
    __syncthreads();
    auto phase = __mbarrier_arrive(&ready);
    out[threadIdx.x] = __mbarrier_test_wait(&ready, phase);
}
