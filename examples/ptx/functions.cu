// SPDX-License-Identifier: MIT
// Parts of a module other than kernels: functions that are called, arrays that a thread indexes,
// structures as parameters, constant and global variables with initial values, assertions.

#ifndef __CUDACC_RTC__ // NVRTC declares assert itself
#include <cassert>
#endif

struct Polynomial {
    double first;
    float rest[3];
    short degree;
    char sign;
};

struct Result {
    float value;
    int steps;
    long long sum;
};

__constant__ float taps[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
__device__ int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
__device__ int* middle = squares + 4;
__device__ unsigned calls;

__noinline__ __device__ Result walk(float x, int steps, Polynomial p)
{
    Result r = {x, 0, 0};
    for (int i = 0; i < steps; ++i) {
        r.value = __fmaf_rn(r.value, p.rest[i % 3], float(p.first));
        r.sum += (long long)(r.value * 16.0f) * p.sign;
        r.steps += p.degree;
    }
    return r;
}

extern "C" __global__ void structures(const float* x, float* value, int* steps, long long* sum, Polynomial p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(gridDim.x * blockDim.x >= n);
    if (i >= n)
        return;
    Result r = walk(x[i], i % 5, p);
    value[i] = r.value;
    steps[i] = r.steps;
    sum[i] = r.sum;
}

__noinline__ __device__ unsigned divisor(unsigned a, unsigned b)
{
    while (b) {
        unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

__noinline__ __device__ unsigned multiple(unsigned a, unsigned b)
{
    return a / divisor(a, b) * b;
}

// Threads that call different functions, one of which calls the other.
extern "C" __global__ void divergent_calls(unsigned* out)
{
    unsigned i = threadIdx.x + 1;
    out[threadIdx.x] = i % 3 ? divisor(i * 6, 84) : multiple(i, 20);
}

// Sorts sixteen numbers a thread in an array that lives in local memory, since it is indexed by what is in it.
extern "C" __global__ void local_sort(const unsigned char* in, unsigned char* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char counts[256 / 8] = {};
    for (int e = 0; e < 16; ++e)
        ++counts[in[16 * i + e] % 32];
    int place = 0;
    for (int value = 0; value < 32; ++value)
        for (int c = 0; c < counts[value]; ++c)
            out[16 * i + place++] = value;
}

extern "C" __global__ void variables(const float* in, float* out, int n)
{
    __shared__ float row[64 + 4];
    extern __shared__ int seen[];
    int i = threadIdx.x;
    for (int e = i; e < n + 4; e += blockDim.x)
        row[e] = e >= 2 && e - 2 < n ? in[blockIdx.x * n + e - 2] : 0.0f;
    seen[i] = middle[i % 4] + squares[i % 8];
    __syncthreads();
    float sum = 0;
    for (int tap = 0; tap < 5; ++tap)
        sum = __fmaf_rn(taps[tap], row[i + tap], sum);
    out[blockIdx.x * n + i] = __fadd_rn(sum, float(seen[(i + 1) % n]));
    if (i == 0)
        atomicAdd(&calls, 1u);
}
