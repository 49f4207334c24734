// SPDX-License-Identifier: MIT
#include <cuda_pipeline.h>
__global__ void send(const int4* in, int4* out)
{
    __shared__ int4 tile[64];
    __pipeline_memcpy_async(tile + threadIdx.x, in + threadIdx.x, 16);
    __pipeline_commit(), __pipeline_wait_prior(0);
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],"
                     " [%1], 1024; cp.async.bulk.commit_group;"
                     " cp.async.bulk.wait_group 0;"
                     :: "l"(out), "l"(__cvta_generic_to_shared(tile)));
}
