// SPDX-License-Identifier: MIT
// Uninitialised values.

#ifdef FIXED
#define BUG(wrong, right) right
#else
#define BUG(wrong, right) wrong
#endif

// The tile has a border that is not filled.
extern "C" __global__ void border(const int* in, int* out)
{
    __shared__ int tile[66];
    tile[threadIdx.x + 1] = in[threadIdx.x];
    if (BUG(false, threadIdx.x < 2))
        tile[65 * threadIdx.x] = 0;
    __syncthreads();
    int left = tile[threadIdx.x];
    int right = tile[threadIdx.x + 2 BUG(- (threadIdx.x == 63), )];
    out[threadIdx.x] = left + right; // <- uninitialised
}

// A total that does not begin at zero.
extern "C" __global__ void total_of_a_block(const int* in, int* out)
{
    __shared__ int total;
    if (BUG(false, threadIdx.x == 0))
        total = 0;
    __syncthreads();
    atomicAdd(&total, in[threadIdx.x]); // <- uninitialised
    __syncthreads();
    if (threadIdx.x == 0)
        out[0] = BUG(0, total);
}

extern "C" __global__ void local_array(const int* places, int* out)
{
    volatile int own[16];
    for (int i = 0; i < BUG(15, 16); ++i)
        own[i] = i;
    out[threadIdx.x] = own[places[threadIdx.x]]; // <- uninitialised
}

// ldmatrix reads sixteen bytes a row, and seven halves of it are filled.
extern "C" __global__ void last_column(const unsigned short* in, unsigned* out)
{
    __shared__ __align__(16) unsigned short tile[64];
    for (int e = threadIdx.x; e < 64; e += 32)
        if (BUG(e % 8 < 7, true))
            tile[e] = in[e];
    __syncwarp();
    unsigned m, from = __cvta_generic_to_shared(tile + threadIdx.x % 8 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(m)
                 : "r"(from)
                 : "memory");
    out[threadIdx.x] = m; // <- partly uninitialised
}

extern "C" __global__ void register_of_some_lanes(const int* in, int* out)
{
    int y;
    asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 x;\n\t"
                 "setp.gt.s32 p, %1, %2;\n\t"
                 "@p mov.b32 x, 5;\n\t"
                 "add.s32 %0, x, 1;\n\t}"
                 : "=r"(y)
                 : "r"(in[threadIdx.x]), "r"(BUG(0, -1)));
    out[threadIdx.x] = y; // <- uninitialised
}
