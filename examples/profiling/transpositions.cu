// SPDX-License-Identifier: MIT
// A transposition of 32 x 32 tiles in four ways; blocks of 32 x 8 threads.

// Every store to y is scattered over 32 rows.
extern "C" __global__ void scattered(const float* x, float* y, int n)
{
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        y[col * n + row + i] = x[(row + i) * n + col];
}

// Coalesced, but a warp reads a column of the tile: all 32 lanes are in one bank.
extern "C" __global__ void conflicting(const float* x, float* y, int n)
{
    __shared__ float tile[32][32];
    for (int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x] = x[(blockIdx.y * 32 + i) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        y[(blockIdx.x * 32 + i) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][i];
}

// A row of 33 words: the words of a column are in 32 banks.
extern "C" __global__ void padded(const float* x, float* y, int n)
{
    __shared__ float tile[32][33];
    for (int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x] = x[(blockIdx.y * 32 + i) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        y[(blockIdx.x * 32 + i) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][i];
}

// Column c of row r is at c ^ r: no memory is lost.
extern "C" __global__ void swizzled(const float* x, float* y, int n)
{
    __shared__ float tile[32][32];
    for (int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x ^ i] = x[(blockIdx.y * 32 + i) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        y[(blockIdx.x * 32 + i) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][i ^ threadIdx.x];
}
