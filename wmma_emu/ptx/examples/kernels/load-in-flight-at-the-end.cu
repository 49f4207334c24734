// SPDX-License-Identifier: MIT
#include <cuda_awbarrier_primitives.h>
__global__ void load(const int* in, int* out)
{
    __shared__ __align__(16) struct { int x[256]; __mbarrier_t full; } s;
    __mbarrier_init(&s.full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    auto at = (unsigned)__cvta_generic_to_shared(&s);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _,[%0+1024], 1024;"
                 "cp.async.bulk.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes [%0], [%1], 1024, [%0+1024];"
                 ::"r"(at), "l"(in) : "memory");
    *out = in[255];
}
