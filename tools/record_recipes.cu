// SPDX-License-Identifier: MIT
// Run device functions of Transformer Engine, which record_recipes.py extracts from its sources, on given inputs.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>
typedef uint8_t e8m0_t;
constexpr uint32_t FP32_MANTISSA_BITS = 23;
#define ARCH_BLACKWELL_FAMILY false
#include "transformer_engine.cuh"

#define CHECK(call)                                          \
  do {                                                       \
    cudaError_t error = (call);                              \
    if (error != cudaSuccess) {                              \
      fprintf(stderr, "%s\n", cudaGetErrorString(error));    \
      exit(1);                                               \
    }                                                        \
  } while (0)

template <typename T>
struct Array {  // an array in memory that both sides reach
  T* at;
  size_t size;
  explicit Array(size_t n) : size(n) { CHECK(cudaMallocManaged(&at, n * sizeof(T))); }
  explicit Array(const char* path) {
    FILE* file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    size = ftell(file) / sizeof(T);
    rewind(file);
    CHECK(cudaMallocManaged(&at, size * sizeof(T)));
    if (fread(at, sizeof(T), size, file) != size) exit(1);
    fclose(file);
  }
  void save(const std::string& name) {
    CHECK(cudaDeviceSynchronize());
    FILE* file = fopen(("device " + name + ".bin").c_str(), "wb");
    fwrite(at, sizeof(T), size, file);
    fclose(file);
  }
};

#define EACH(n) int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)
#define GRID(n) <<<(int(n) + 255) / 256, 256>>>

__global__ void factors(const float* amax, float* out, int n, float largest, bool powers, float limit) {
  EACH(n) out[i] = compute_scale_from_amax(amax[i], largest, powers, 0.f, limit);
}
__global__ void reciprocals(const float* x, float* out, int n) { EACH(n) out[i] = 1.0 / x[i]; }
__global__ void powers(const float* amax, uint8_t* out, int n, float reciprocal) {
  EACH(n) out[i] = float_to_e8m0(amax[i] * reciprocal);
}
__global__ void stochastic(const float* x, const uint32_t* random, float* out, int n) {
  EACH(n) out[i] = stochastic_round_fp4_e2m1(x[i], random[i]);
}

void delayed(const Array<float>& steps, int length, AmaxComputeAlgo choice, int margin, const std::string& name) {
  Array<float> history(length), scale(1), trace(3 * steps.size);
  memset(history.at, 0, length * sizeof(float));
  scale.at[0] = 1;
  for (size_t i = 0; i < steps.size; i++) {
    history.at[0] = steps.at[i];
    AmaxParams p;
    p.param[0].num_scale = 1;
    p.param[0].amax_history = history.at;
    p.param[0].scale = scale.at;
    amax_and_scale_update_impl::kernel_bulk<<<1, 256>>>(nullptr, p, length, choice, 448.f * std::pow(2.f, -margin));
    CHECK(cudaDeviceSynchronize());
    trace.at[3 * i] = scale.at[0], trace.at[3 * i + 1] = history.at[0], trace.at[3 * i + 2] = history.at[length - 1];
  }
  trace.save(name);
}

int main() {
  Array<float> amax("amax.bin"), x("x.bin"), steps("steps.bin");
  Array<uint32_t> random("random.bin");
  Array<float> out(amax.size), inverse(amax.size), rounded(x.size), alpha(amax.size / 2);
  uint32_t largest_bf16 = 0x7f7f0000;
  float limits[2] = {std::numeric_limits<float>::max(), 0};
  memcpy(&limits[1], &largest_bf16, 4);
  for (int format = 0; format < 2; format++) {
    std::string name = format ? "e5m2" : "e4m3";
    for (int power = 0; power < 2; power++)
      for (int narrow = 0; narrow < 2; narrow++) {
        std::string key = name + (power ? " True" : " False") + (narrow ? " bf16" : " f32");
        factors GRID(amax.size)(amax.at, out.at, amax.size, format ? 57344.f : 448.f, power, limits[narrow]);
        out.save("factors " + key);
        reciprocals GRID(amax.size)(out.at, inverse.at, amax.size);
        inverse.save("decode " + key);
      }
    constexpr float reciprocals_of_largest[2] = {1.0 / 448.f, 1.0 / 57344.f};
    Array<uint8_t> scales(amax.size);
    powers GRID(amax.size)(amax.at, scales.at, amax.size, reciprocals_of_largest[format]);
    scales.save("powers " + name);
  }
  stochastic GRID(x.size)(x.at, random.at, rounded.at, x.size);
  rounded.save("stochastic");
  for (int length : {1, 3, 300})
    for (int recent = 0; recent < 2; recent++)
      for (int margin : {0, 3})
        delayed(steps, length, recent ? AmaxComputeAlgo::MOST_RECENT : AmaxComputeAlgo::MAX, margin,
                "delayed " + std::to_string(length) + (recent ? " most_recent " : " max ") + std::to_string(margin));
  for (size_t i = 0; i + 1 < amax.size; i += 2)
    compute_nvfp4_per_tensor_scale_kernel<<<1, 1>>>(1.f, amax.at + i, amax.at + i + 1, 448.f, 448.f, alpha.at + i / 2);
  alpha.save("alpha");
}
