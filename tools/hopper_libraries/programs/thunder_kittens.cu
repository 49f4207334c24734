// SPDX-License-Identifier: MIT
// ThunderKittens' bf16 product for the H100, of tiles of 128 by 256, on two blocks that take several tiles each.

#define main benchmark_of_the_library
#include "bf16_h100_gemm.cu"
#undef main

#include "host.h"

int main() {
    using Product = matmul_template<2, 4, 8>;
    constexpr size_t m = 384, n = 256, k = 384;
    auto a = filled<bf16>(m * k, 1, 1.0f), b = filled<bf16>(k * n, 2, 1.0f), c = zeros<bf16>(m * n);
    CHECK(cudaFuncSetAttribute(prototype::lcf::kernel<Product>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               MAX_SHARED_MEMORY - 1024));
    inner_run<Product>(a, b, c, m, n, k, dim3(2), dim3(prototype::detail::NUM_THREADS_v<Product>));
    return finish("thunder_kittens", c, m * n);
}
