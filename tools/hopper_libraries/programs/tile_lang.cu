// SPDX-License-Identifier: MIT
// TileLang's product of f16 for sm_90a; its host code makes the same two tensor maps.

#include "tile_lang_kernel.cu"

#include "host.h"

CUtensorMap map_of(half_t *data, int inner, int outer, int box_outer) {
    CUtensorMap map;
    cuuint64_t dims[2] = {cuuint64_t(inner), cuuint64_t(outer)}, strides[1] = {cuuint64_t(inner) * 2};
    cuuint32_t box[2] = {64, cuuint32_t(box_outer)}, steps[2] = {1, 1};
    CUresult status = cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, dims, strides, box, steps,
                                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) {
        std::fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(status));
        std::exit(1);
    }
    return map;
}

int main() {
    constexpr int m = 256, n = 256, k = 320, shared = 98304;
    auto a = filled<half_t>(m * k, 1, 1.0f), b = filled<half_t>(k * n, 2, 1.0f), c = zeros<half_t>(m * n);
    CHECK(cudaFuncSetAttribute(main_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    main_kernel<<<dim3(2, 2), 256, shared>>>(map_of(a, k, m, 128), map_of(b, n, k, 64), c);
    return finish("tile_lang", c, m * n);
}
