// SPDX-License-Identifier: MIT
__device__ __noinline__ int fibonacci(int n, int* sum) {
    int own[4];
    for (int k = 0; k < 4; k++) own[k] = n + k;
    sum[0] += own[n & 3];
    if (n < 2) return n;
    int first = fibonacci(n - 1, sum);
    int second = fibonacci(n - 2, own + 1);
    return first + second + own[1];
}
extern "C" __global__ void sums(int* out) {
    int sum[1] = {0};
    int n = fibonacci(threadIdx.x % 7, sum);
    out[threadIdx.x] = 1000 * n + sum[0];
}
__device__ __noinline__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(int n) { return n == 0 ? false : is_even(n - 1); }
extern "C" __global__ void parities(int* out) { out[threadIdx.x] = is_even(threadIdx.x); }
__device__ void quicksort(int* a, int low, int high) {
    if (low >= high) return;
    int pivot = a[high], i = low;
#pragma unroll 1
    for (int j = low; j < high; j++)
        if (a[j] < pivot) { int t = a[i]; a[i] = a[j]; a[j] = t; i++; }
    int t = a[i]; a[i] = a[high]; a[high] = t;
    quicksort(a, low, i - 1);
    quicksort(a, i + 1, high);
}
extern "C" __global__ void sorts(int* a, int n) { quicksort(a + threadIdx.x * n, 0, n - 1); }
