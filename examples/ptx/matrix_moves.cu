// SPDX-License-Identifier: MIT
// 8x8 matrices between shared memory and the registers of a warp: ldmatrix, movmatrix, stmatrix (sm_90).

// Transposes each 8x8 part of a warp's 16x16 matrix of 16-bit elements, three times over and so once in the end:
// with ldmatrix.trans, with movmatrix, with stmatrix.trans. in, out: 256 elements a block.
extern "C" __global__ void matrix_moves(const unsigned short* in, unsigned short* out)
{
    __shared__ __align__(16) unsigned short tile[16][24], result[16][24];
    int lane = threadIdx.x;
    in += 256 * blockIdx.x;
    out += 256 * blockIdx.x;
    for (int e = lane; e < 256; e += 32)
        tile[e / 16][e % 16] = in[e];
    __syncwarp();
    unsigned m[4];
    unsigned from = __cvta_generic_to_shared(&tile[lane % 16][lane / 16 * 8]);
    unsigned to = __cvta_generic_to_shared(&result[lane % 16][lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(from)
                 : "memory");
    for (int i = 0; i < 4; ++i)
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(m[i]));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(m[0]), "r"(m[1]),
                 "r"(m[2]), "r"(m[3])
                 : "memory");
    __syncwarp();
    for (int e = lane; e < 256; e += 32)
        out[e] = result[e / 16][e % 16];
}

// The same registers, one matrix at a time and without a transposition, in reverse order of the matrices.
extern "C" __global__ void matrices_reversed(const unsigned short* in, unsigned short* out)
{
    __shared__ __align__(16) unsigned short tile[256], result[256];
    int lane = threadIdx.x;
    for (int e = lane; e < 256; e += 32)
        tile[e] = in[e];
    __syncwarp();
    for (int i = 0; i < 4; ++i) {
        unsigned m;
        unsigned from = __cvta_generic_to_shared(tile + 64 * i + lane % 8 * 8);
        unsigned to = __cvta_generic_to_shared(result + 64 * (3 - i) + lane % 8 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(m) : "r"(from) : "memory");
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(m) : "memory");
    }
    __syncwarp();
    for (int e = lane; e < 256; e += 32)
        out[e] = result[e];
}
