// SPDX-License-Identifier: MIT
// D = alpha A B + beta C with every element type of wmma but f16 with f32 sums: one warp a tile, as in naive_wmma.cu.
// A is row-major M x K, B column-major K x N, C and D row-major M x N; sizes are multiples of the tile's.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <int TM, int TN, int TK, typename Type, typename Element, typename Sum>
__device__ void product(const Element* A, const Element* B, const Sum* C, Sum* D, int N, int K, Sum alpha, Sum beta)
{
    int row = blockIdx.y * TM;
    int col = blockIdx.x * TN;
    wmma::fragment<wmma::matrix_a, TM, TN, TK, Type, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, TM, TN, TK, Type, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, TM, TN, TK, Sum> sum, c;
    wmma::fill_fragment(sum, Sum(0));
    for (int k = 0; k < K; k += TK) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + col * K + k, K);
        if constexpr (sizeof(Element) == 4) { // tf32: float32 in memory
            for (int i = 0; i < a.num_elements; ++i)
                a.x[i] = wmma::__float_to_tf32(a.x[i]);
            for (int i = 0; i < b.num_elements; ++i)
                b.x[i] = wmma::__float_to_tf32(b.x[i]);
        }
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::load_matrix_sync(c, C + row * N + col, N, wmma::mem_row_major);
    for (int i = 0; i < c.num_elements; ++i)
        c.x[i] = alpha * sum.x[i] + beta * c.x[i];
    wmma::store_matrix_sync(D + row * N + col, c, N, wmma::mem_row_major);
}

extern "C" __global__ void wmma_f16_sums(const half* A, const half* B, const half* C, half* D, int N, int K)
{
    product<32, 8, 16, half>(A, B, C, D, N, K, half(0.7f), half(-1.3f));
}

extern "C" __global__ void wmma_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, const float* C, float* D, int N,
                                     int K, float alpha, float beta)
{
    product<8, 32, 16, __nv_bfloat16>(A, B, C, D, N, K, alpha, beta);
}

extern "C" __global__ void wmma_tf32(const float* A, const float* B, const float* C, float* D, int N, int K,
                                     float alpha, float beta)
{
    product<16, 16, 8, wmma::precision::tf32>(A, B, C, D, N, K, alpha, beta);
}

extern "C" __global__ void wmma_f64(const double* A, const double* B, const double* C, double* D, int N, int K,
                                    double alpha, double beta)
{
    int row = blockIdx.y * 8;
    int col = blockIdx.x * 8;
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::load_matrix_sync(c, C + row * N + col, N, wmma::mem_row_major);
    for (int i = 0; i < c.num_elements; ++i)
        c.x[i] *= beta / alpha;
    for (int k = 0; k < K; k += 4) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + col * K + k, K);
        wmma::mma_sync(c, a, b, c);
    }
    for (int i = 0; i < c.num_elements; ++i)
        c.x[i] *= alpha;
    wmma::store_matrix_sync(D + row * N + col, c, N, wmma::mem_row_major);
}

extern "C" __global__ void wmma_s8(const signed char* A, const signed char* B, const int* C, int* D, int N, int K,
                                   int alpha, int beta)
{
    product<16, 16, 16, signed char>(A, B, C, D, N, K, alpha, beta);
}
