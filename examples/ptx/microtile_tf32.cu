// SPDX-License-Identifier: MIT
// D = A B in tf32, double-buffered: while a warp multiplies from one half of shared memory, the next sixteen columns of
// A and rows of B travel through registers into the other. A 64x64 tile a block of four warps; a warp holds a 32x32
// part as two by four microtiles of m16n8k8. A and B are row-major; M and N multiples of 64, K of 16.

constexpr int TILE = 64, STEP = 16;
constexpr int A_ROW = STEP + 4, B_ROW = TILE + 8; // in floats

__device__ __forceinline__ unsigned to_tf32(float x)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

__device__ __forceinline__ uint4 to_tf32(float4 x)
{
    return make_uint4(to_tf32(x.x), to_tf32(x.y), to_tf32(x.z), to_tf32(x.w));
}

extern "C" __global__ void __launch_bounds__(128)
    microtile_tf32(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ D, int N, int K)
{
    __shared__ __align__(16) unsigned a_tile[2][TILE * A_ROW];
    __shared__ __align__(16) unsigned b_tile[2][STEP * B_ROW];
    int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    int warp = threadIdx.x / 32, warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
    int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
    // Two times four floats of A and of B a thread.
    int a_i = threadIdx.x / 4, a_j = threadIdx.x % 4 * 4, b_i = threadIdx.x / 16, b_j = threadIdx.x % 16 * 4;
    float4 a_next[2], b_next[2];
    float sums[2][4][4] = {};

    auto fetch = [&](int k) {
        for (int part = 0; part < 2; ++part) {
            a_next[part] = *(const float4*)(A + (row + a_i + 32 * part) * K + k + a_j);
            b_next[part] = *(const float4*)(B + (k + b_i + 8 * part) * N + col + b_j);
        }
    };
    auto put = [&](int half) {
        for (int part = 0; part < 2; ++part) {
            *(uint4*)(a_tile[half] + (a_i + 32 * part) * A_ROW + a_j) = to_tf32(a_next[part]);
            *(uint4*)(b_tile[half] + (b_i + 8 * part) * B_ROW + b_j) = to_tf32(b_next[part]);
        }
    };

    fetch(0);
    put(0);
    __syncthreads();
    int half = 0;
    for (int k = 0; k < K; k += STEP) {
        bool more = k + STEP < K;
        if (more)
            fetch(k + STEP);
#pragma unroll
        for (int s = 0; s < STEP; s += 8) {
            unsigned a[2][4], b[4][2];
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int r = 0; r < 4; ++r)
                    a[m][r] = a_tile[half][(warp_row + 16 * m + group + r % 2 * 8) * A_ROW + s + member + r / 2 * 4];
#pragma unroll
            for (int n = 0; n < 4; ++n)
#pragma unroll
                for (int r = 0; r < 2; ++r)
                    b[n][r] = b_tile[half][(s + member + 4 * r) * B_ROW + warp_col + 8 * n + group];
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int n = 0; n < 4; ++n) {
                    float(&d)[4] = sums[m][n];
                    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                                 "{%8,%9}, {%0,%1,%2,%3};"
                                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                                 : "r"(a[m][0]), "r"(a[m][1]), "r"(a[m][2]), "r"(a[m][3]), "r"(b[n][0]),
                                   "r"(b[n][1]));
                }
        }
        if (more) {
            half ^= 1;
            put(half);
            __syncthreads();
        }
    }
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 4; ++n) {
            float* d = D + (row + warp_row + 16 * m + group) * N + col + warp_col + 8 * n + 2 * member;
            *(float2*)d = make_float2(sums[m][n][0], sums[m][n][1]);
            *(float2*)(d + 8 * N) = make_float2(sums[m][n][2], sums[m][n][3]);
        }
}
