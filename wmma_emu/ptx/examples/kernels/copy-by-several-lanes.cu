// SPDX-License-Identifier: MIT
__global__ void add(const int* in, int* sums)
{
    __shared__ alignas(16) int tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group"
                 ".add.u32 [%0], [%1], 128; cp.async.bulk.commit_group;"
                 " cp.async.bulk.wait_group 0;"
                 :: "l"(sums), "l"(__cvta_generic_to_shared(tile))
                 : "memory");
}
