// SPDX-License-Identifier: MIT
// DeepGEMM's bf16 product for sm_90a: D = A B^T, both operands K-major, clusters of one block.

#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

#include "deep_gemm.h"

int main() {
    constexpr int m = 200, n = 256, k = 384, block_m = 128, block_n = 128, block_k = 64, stages = 4, blocks = 2;
    using Element = __nv_bfloat16;
    auto a = filled<Element>(m * k, 1, 1.0f), b = filled<Element>(n * k, 2, 1.0f), d = zeros<Element>(m * n);
    auto type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    auto map_a = map_of(type, 2, a, k, m, block_k, block_m, 128), map_b = map_of(type, 2, b, k, n, block_k, block_n, 128);
    auto map_d = map_of(type, 2, d, n, m, block_n, block_m, 128);
    auto kernel = &deep_gemm::sm90_bf16_gemm_impl<cute::UMMA::Major::K, cute::UMMA::Major::K, 0, n, k, 1, block_m,
        block_n, block_k, 128, 128, 128, stages, 128, 256, 1, false, blocks, deep_gemm::GemmType::Normal, false,
        cutlass::bfloat16_t>;
    int shared = block_m * block_n * 2 + stages * (block_m + block_n) * block_k * 2 + stages * 16;
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    kernel<<<blocks, 384, shared>>>(nullptr, m, n, k, map_a, map_b, map_d);
    return finish("deep_gemm_bf16", d, m * n);
}
