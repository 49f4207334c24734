// SPDX-License-Identifier: MIT
// Patterns of one format rounded to another, element by element.

extern "C" __global__ void convert_all(const Given *given, Result *result, long long count) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        result[i] = (Result)convert<Source, Target>(given[i]);
}
