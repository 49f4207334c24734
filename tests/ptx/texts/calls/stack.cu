// SPDX-License-Identifier: MIT
#include <cstdarg>
extern "C" __global__ void squares(int* out, int n) {
    int count = n + threadIdx.x % 3;
    int* p = (int*)alloca(4 * count);
#pragma unroll 1
    for (int i = 0; i < count; i++) p[i] = i * i;
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < count; i++) sum += p[i];
    out[threadIdx.x] = sum;
}
__device__ __noinline__ int total(int n, ...) {
    va_list given;
    va_start(given, n);
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) sum += va_arg(given, int);
    double last = va_arg(given, double);
    va_end(given);
    return sum + (int)last;
}
extern "C" __global__ void totals(int* out) {
    int i = threadIdx.x;
    out[i] = total(3, i, 2 * i, 7, 2.5) + total(0, 1.0 * i);
}
