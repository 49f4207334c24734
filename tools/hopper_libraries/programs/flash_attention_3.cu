// SPDX-License-Identifier: MIT
// FlashAttention-3's forward kernel with clusters of one block; ELEMENT, HEAD_DIM and CAUSAL are given by -D.

#include "host.h"

#include "flash_fwd_launch_template.h"

// Only sequences of various lengths need it, which are not instantiated here.
void prepare_varlen_num_blocks(Flash_fwd_params &, cudaStream_t, bool, int, int, bool) { std::abort(); }

int main() {
    using Element = cutlass::ELEMENT;
    int const heads = 2, heads_k = 1, queries = 200, keys = 264, size = HEAD_DIM;
    Flash_fwd_params params{};
    params.q_ptr = filled<Element>(size_t(queries) * heads * size, 1, 2.0f);
    params.k_ptr = filled<Element>(size_t(keys) * heads_k * size, 2, 2.0f);
    params.v_ptr = filled<Element>(size_t(keys) * heads_k * size, 3, 1.0f);
    auto out = zeros<Element>(size_t(queries) * heads * size);
    params.o_ptr = out;
    params.softmax_lse_ptr = zeros<float>(size_t(heads) * queries);
    params.tile_count_semaphore = zeros<int>(1);
    params.q_row_stride = params.o_row_stride = heads * size;
    params.k_row_stride = params.v_row_stride = heads_k * size;
    params.q_head_stride = params.k_head_stride = params.v_head_stride = params.o_head_stride = size;
    params.q_batch_stride = params.o_batch_stride = queries * heads * size;
    params.k_batch_stride = params.v_batch_stride = keys * heads_k * size;
    params.v_dim_stride = 1;
    params.b = 1, params.h = heads, params.h_k = heads_k, params.d = params.dv = size;
    params.seqlen_q = queries, params.seqlen_k = keys;
    params.scale_softmax = 1.0f / (HEAD_DIM == 64 ? 8.0f : 11.3137085f);
    params.window_size_left = -1, params.window_size_right = CAUSAL ? 0 : -1;
    params.is_causal = CAUSAL;
    params.num_splits = 1;
    params.arch = 90, params.num_sm = 2;
    run_flash_fwd<90, HEAD_DIM, HEAD_DIM, 1, Element, Element, CAUSAL, false, false, false, false, false, false, false,
                  false, false>(params, nullptr);
    return finish("flash_attention_3", out, size_t(queries) * heads * size);
}
