// SPDX-License-Identifier: MIT
#include <cuda_pipeline.h>
__global__ void copy(const int* in, int* out)
{
    __shared__ int tile[32];
    __pipeline_memcpy_async(tile + threadIdx.x, in + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = tile[threadIdx.x];
}
