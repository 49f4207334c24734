// D = A * B for matrices of 64 x 64, as 16 x 16 tiles in shared memory.
extern "C" __global__ void gemm(const float* A, const float* B, float* D)
{
    __shared__ float a[16][16], b[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = 16 * blockIdx.y + y, col = 16 * blockIdx.x + x;
    float sum = 0;
    for (int k = 0; k < 64; k += 16) {
        a[y][x] = A[64 * row + k + x];
        b[y][x] = B[64 * (k + y) + col];
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            sum += a[y][i] * b[i][x];
    }
    D[64 * row + col] = sum;
}
