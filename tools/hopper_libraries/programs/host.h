// SPDX-License-Identifier: MIT
// What the host programs share: arrays of fixed pseudo-random values on the device, and errors that end the program.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status_ = (call);                                                                                  \
        if (status_ != cudaSuccess) {                                                                                  \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_));           \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

// A linear congruential generator: the same values on every machine.
struct Values {
    uint32_t state;

    uint32_t bits() {
        state = state * 1664525u + 1013904223u;
        return state >> 8;
    }

    // A multiple of 1/64 in [-limit, limit), which every type of 8 bits or more that is used here rounds or has.
    float next(float limit) { return (float(bits() % 4096u) / 2048.0f - 1.0f) * limit; }
};

template <typename T>
T *filled(size_t count, uint32_t seed, float limit) {
    std::vector<T> host(count);
    Values values{seed};
    for (auto &x : host) x = T(values.next(limit));
    T *device;
    CHECK(cudaMalloc(&device, count * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <typename T>
T *zeros(size_t count) {
    T *device;
    CHECK(cudaMalloc(&device, count * sizeof(T)));
    CHECK(cudaMemset(device, 0, count * sizeof(T)));
    return device;
}

// Wait for the launches, and print a number that tells whether the results are the same as in another run.
template <typename T>
int finish(char const *name, T *device, size_t count) {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::vector<uint8_t> host(count * sizeof(T));
    CHECK(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost));
    uint64_t hash = 14695981039346656037ull;
    for (uint8_t x : host) hash = (hash ^ x) * 1099511628211ull;
    std::printf("%s: %zu elements, hash %016llx\n", name, count, (unsigned long long)hash);
    return 0;
}
