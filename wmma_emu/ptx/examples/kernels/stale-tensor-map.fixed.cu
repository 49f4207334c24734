// SPDX-License-Identifier: MIT
struct alignas(64) Map { int words[32]; };
__global__ void fetch(const __grid_constant__ Map map, Map* edited)
{
    edited->words[threadIdx.x] = map.words[threadIdx.x];
    asm volatile("fence.proxy.tensormap::generic.release.gpu;");
    __syncthreads();
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu"
                 " [%0], 128;" :: "l"(edited) : "memory");
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile"
                     " [%0, {%1}];" :: "l"(edited), "r"(0));
}
