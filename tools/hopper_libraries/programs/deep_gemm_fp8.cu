// SPDX-License-Identifier: MIT
// DeepGEMM's product of FP8 for sm_90a: A with a scale for each row and 128 columns, B with one for each 128 by 128.

#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

#include "deep_gemm.h"

int main() {
    constexpr int m = 200, n = 256, k = 640, block_m = 128, block_n = 128, block_k = 128, stages = 4, blocks = 2;
    using Element = __nv_fp8_e4m3;
    auto a = filled<Element>(m * k, 1, 4.0f), b = filled<Element>(n * k, 2, 4.0f);
    auto scales_a = filled<float>(m * (k / 128), 3, 0.5f), scales_b = filled<float>((n / 128) * (k / 128), 4, 0.5f);
    auto d = zeros<__nv_bfloat16>(m * n);
    auto bytes = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    auto map_a = map_of(bytes, 1, a, k, m, block_k, block_m, 128), map_b = map_of(bytes, 1, b, k, n, block_k, block_n, 128);
    auto map_d = map_of(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, d, n, m, block_n, block_m, 128);
    auto map_scales = map_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, scales_a, m, k / 128, block_m, 1, 0);
    auto kernel = &deep_gemm::sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::K, 0, n, k, 1, block_m, block_n, block_k, 128,
        128, 128, stages, 128, 256, 1, false, blocks, deep_gemm::GemmType::Normal, cutlass::bfloat16_t,
        deep_gemm::epilogue::transform::EpilogueIdentity>;
    int scales = block_m * 4 + (k / 128) * 4 + 16;
    int shared = block_m * block_n * 2 + stages * ((block_m + block_n) * block_k + scales + 16);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    kernel<<<blocks, 384, shared>>>(scales_b, nullptr, m, n, k, map_a, map_b, map_d, map_scales);
    return finish("deep_gemm_fp8", d, m * n);
}
