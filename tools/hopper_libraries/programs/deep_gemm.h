// SPDX-License-Identifier: MIT
// Tensor maps of two dimensions as DeepGEMM's host code makes them.

#pragma once

#include "host.h"

inline CUtensorMap map_of(CUtensorMapDataType type, int element_bytes, void *data, int inner, int outer, int box_inner,
                          int box_outer, int swizzle_bytes) {
    CUtensorMap map;
    cuuint64_t dims[2] = {cuuint64_t(inner), cuuint64_t(outer)}, strides[1] = {cuuint64_t(inner) * element_bytes};
    cuuint32_t box[2] = {cuuint32_t(swizzle_bytes ? swizzle_bytes / element_bytes : box_inner), cuuint32_t(box_outer)};
    cuuint32_t steps[2] = {1, 1};
    auto swizzle = swizzle_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE;
    CUresult status = cuTensorMapEncodeTiled(&map, type, 2, data, dims, strides, box, steps,
                                             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) {
        std::fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", int(status));
        std::exit(1);
    }
    return map;
}
