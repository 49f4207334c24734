// SPDX-License-Identifier: MIT
__device__ int table[4] = {10, 20, 30, 40};
__constant__ int offsets[2] = {100, 200};
static __device__ __noinline__ int helper(int x) { return 3 * x; }
__device__ int scale(int x) { return helper(x); }
typedef int (*Function)(int);
__device__ int square(int x) { return x * x; }
__device__ Function chosen = square;
