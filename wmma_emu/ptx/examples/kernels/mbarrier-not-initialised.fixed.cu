// SPDX-License-Identifier: MIT
#include <cuda_awbarrier_primitives.h>
__global__ void count(int* out)
{
    __shared__ __mbarrier_t ready;
    if (threadIdx.x == 0)
        __mbarrier_init(&ready, blockDim.x);
    __syncthreads();
    auto before = __mbarrier_arrive(&ready);
    out[threadIdx.x] = __mbarrier_token_pending_count(before);
}
