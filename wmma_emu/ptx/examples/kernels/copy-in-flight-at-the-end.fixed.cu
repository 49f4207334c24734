// SPDX-License-Identifier: MIT
__global__ void send(const int* in, int* out)
{
    __shared__ alignas(16) int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],"
                     " [%1], 256; cp.async.bulk.commit_group;"
                     " cp.async.bulk.wait_group.read 0;"
                     :: "l"(out), "l"(__cvta_generic_to_shared(tile))
                     : "memory");
}
