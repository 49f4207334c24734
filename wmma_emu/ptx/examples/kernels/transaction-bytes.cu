// SPDX-License-Identifier: MIT
#include <cuda_awbarrier_primitives.h>
__global__ void load(const int* in, int* out)
{
    __shared__ __align__(16) struct { int tile[32]; __mbarrier_t full; } s;
    __mbarrier_init(&s.full, 1);
    auto at = (unsigned)__cvta_generic_to_shared(&s);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0 + 128], 64;"
                 ::"r"(at) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes [%0], [%1], 128, [%0 + 128];"
                 ::"r"(at), "l"(in) : "memory");
    while (!__mbarrier_test_wait_parity(&s.full, 0)) { }
    *out = s.tile[31];
}
