// SPDX-License-Identifier: MIT
// Records the launches of an unmodified CUDA program: preload this library, and each launch of a kernel writes a folder
// with the program's device memory before and after it. The Python side of this package makes bundles of the folders.
//
//   LAUNCH_RECORDER_OUT=DIR LD_PRELOAD=liblaunch_recorder.so PROGRAM ...
//
// A launch is done twice, on the same memory, so that results which depend on the order of threads are known. The
// program goes on with the results of the second one. Environment variables:
//
//   LAUNCH_RECORDER_OUT     where the folders are written; without it, nothing is recorded
//   LAUNCH_RECORDER_ONLY    record kernels whose mangled name holds a match of this regular expression (default: all)
//   LAUNCH_RECORDER_EACH    launches of a kernel that are recorded (default: 1)
//   LAUNCH_RECORDER_LIMIT   launches of the program that are recorded (default: 400)
//   LAUNCH_RECORDER_MIB     a launch is not recorded while an allocation has more MiB than this (default: 8)
//   LAUNCH_RECORDER_TWICE   0: launch once
//
// The CUDA runtime must be shared (nvcc -cudart shared). Memory of the host that the GPU reads is not recorded.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

// Functions of the runtime that its headers declare for generated code alone, or with another name.
extern "C" {
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t cudaLaunchKernel_ptsz(const void *, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t cudaMallocAsync_ptsz(void **, size_t, cudaStream_t);
cudaError_t cudaFreeAsync_ptsz(void *, cudaStream_t);
}

namespace {

using Bytes = std::vector<unsigned char>;

struct Allocation {
  std::string name;
  size_t bytes;
};

struct Geometry {
  unsigned grid[3], block[3], cluster[3];
  size_t shared;
  std::vector<int> attributes;
};

struct Parameter {
  size_t offset;
  Bytes value;
};

// Memory that a kernel may read or write: an allocation, or a variable of its module.
struct Region {
  std::string name;
  CUdeviceptr address;
  size_t bytes;
  bool is_variable;
};

std::recursive_mutex guard;
bool recording = false;
int allocated = 0, recorded = 0;
std::map<CUdeviceptr, Allocation> allocations;
std::map<std::string, int> launches_of;
std::vector<std::string> variables;

const char *setting(const char *name, const char *otherwise) {
  const char *given = std::getenv(name);
  return given && *given ? given : otherwise;
}

// The function that the program would have called. A library of the program comes first, then the driver itself.
// The map is never destroyed, because destructors of the program's globals may free memory at the very end.
template <class Function>
Function *original(const char *name) {
  static auto &found = *new std::map<std::string, void *>;
  void *&place = found[name];
  if (!place) place = dlsym(RTLD_NEXT, name);
  if (!place) {
    static void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (driver) place = dlsym(driver, name);
  }
  return reinterpret_cast<Function *>(place);
}

#define ORIGINAL(function) original<decltype(function)>(#function)
#define DRIVER(function) original<decltype(function)>(NAME_OF(function))
#define NAME_OF(function) NAME_OF_EXPANDED(function)  // cuMemFree is a macro for cuMemFree_v2
#define NAME_OF_EXPANDED(function) #function

void say(const std::string &text) { std::fprintf(stderr, "launch recorder: %s\n", text.c_str()); }

void remember(CUdeviceptr address, size_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(guard);
  if (address && bytes) allocations[address] = {"allocation_" + std::to_string(allocated++), bytes};
}

void forget(CUdeviceptr address) {
  std::lock_guard<std::recursive_mutex> lock(guard);
  allocations.erase(address);
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return result + "\"";
}

std::string hexadecimal(const Bytes &bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string result;
  for (unsigned char x : bytes) (result += digits[x >> 4]) += digits[x & 15];
  return result;
}

template <class Numbers>
std::string listed(const Numbers &numbers) {
  std::ostringstream result;
  const char *between = "";
  result << "[";
  for (auto x : numbers) result << between << x, between = ", ";
  result << "]";
  return result.str();
}

void write_file(const std::string &path, const Bytes &content) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(content.data()), content.size());
}

// Parameters come one by one, or as one buffer in `extra`.
std::vector<Parameter> parameters_of(CUfunction function, void **values, void **extra) {
  const unsigned char *buffer = nullptr;
  for (void **x = extra; x && *x != CU_LAUNCH_PARAM_END; x += 2)
    if (*x == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<const unsigned char *>(x[1]);
  std::vector<Parameter> result;
  size_t offset = 0, bytes = 0;
  for (size_t i = 0; DRIVER(cuFuncGetParamInfo)(function, i, &offset, &bytes) == CUDA_SUCCESS; i++) {
    auto from = values ? static_cast<const unsigned char *>(values[i]) : buffer ? buffer + offset : nullptr;
    if (!from) break;
    result.push_back({offset, Bytes(from, from + bytes)});
  }
  return result;
}

// Places of addresses of allocations in a parameter: offset in it, name of the allocation, offset in that.
std::string pointers_in(const Bytes &value) {
  std::ostringstream result;
  const char *between = "";
  for (size_t offset = 0; offset + 8 <= value.size(); offset += 8) {
    CUdeviceptr address;
    std::memcpy(&address, value.data() + offset, 8);
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) continue;
    auto owner = std::prev(next);
    if (address - owner->first >= owner->second.bytes) continue;
    result << between << "[" << offset << ", " << quoted(owner->second.name) << ", " << address - owner->first << "]";
    between = ", ";
  }
  return "[" + result.str() + "]";
}

std::vector<Region> regions_of(CUfunction function) {
  std::vector<Region> result;
  for (auto &x : allocations) result.push_back({x.second.name, x.first, x.second.bytes, false});
  CUmodule module;
  if (DRIVER(cuFuncGetModule)(&module, function) != CUDA_SUCCESS) return result;
  for (auto &name : variables) {
    CUdeviceptr address;
    size_t bytes;
    if (DRIVER(cuModuleGetGlobal)(&address, &bytes, module, name.c_str()) == CUDA_SUCCESS)
      result.push_back({name, address, bytes, true});
  }
  return result;
}

bool read_all(const std::vector<Region> &regions, std::vector<Bytes> &contents) {
  contents.clear();
  for (auto &x : regions) {
    contents.emplace_back(x.bytes);
    if (DRIVER(cuMemcpyDtoH)(contents.back().data(), x.address, x.bytes) != CUDA_SUCCESS) return false;
  }
  return true;
}

void write_all(const std::vector<Region> &regions, const std::vector<Bytes> &contents) {
  for (size_t i = 0; i < regions.size(); i++)
    DRIVER(cuMemcpyHtoD)(regions[i].address, contents[i].data(), contents[i].size());
}

std::string text_of(CUresult status) {
  const char *text = nullptr;
  DRIVER(cuGetErrorName)(status, &text);
  return text ? text : std::to_string(static_cast<int>(status));
}

bool is_wanted(const std::string &name, const char *out) {
  static const std::regex only(setting("LAUNCH_RECORDER_ONLY", ""));
  if (!out || !std::regex_search(name, only)) return false;
  if (launches_of[name] >= std::atoi(setting("LAUNCH_RECORDER_EACH", "1"))) return false;
  if (recorded >= std::atoi(setting("LAUNCH_RECORDER_LIMIT", "400"))) return false;
  size_t limit = std::strtoull(setting("LAUNCH_RECORDER_MIB", "8"), nullptr, 10) << 20;
  for (auto &x : allocations)
    if (x.second.bytes > limit) {
      say("not recorded, an allocation has " + std::to_string(x.second.bytes) + " bytes: " + name.substr(0, 80));
      return false;
    }
  return true;
}

void write_launch(const std::string &folder, const std::string &name, const Geometry &size,
                  const std::vector<Parameter> &parameters, const std::vector<Region> &regions,
                  const std::vector<Bytes> &before, const std::vector<Bytes> &after,
                  const std::vector<std::string> &unsteady, const std::string &error) {
  std::ofstream text(folder + "/launch.json");
  text << "{\"kernel\": " << quoted(name) << ",\n \"grid\": " << listed(size.grid)
       << ", \"block\": " << listed(size.block) << ", \"cluster\": " << listed(size.cluster)
       << ", \"shared\": " << size.shared << ", \"attributes\": " << listed(size.attributes) << ",\n \"error\": "
       << quoted(error) << ", \"unsteady\": " << listed(unsteady) << ",\n \"arguments\": [";
  const char *between = "\n  ";
  for (auto &x : parameters) {
    text << between << "{\"bytes\": " << quoted(hexadecimal(x.value)) << ", \"pointers\": " << pointers_in(x.value)
         << "}";
    between = ",\n  ";
  }
  text << "],\n \"regions\": [";
  between = "\n  ";
  for (size_t i = 0; i < regions.size(); i++) {
    bool changed = i < after.size() && after[i] != before[i];
    std::string stem = folder + "/" + std::to_string(i);
    write_file(stem + ".before", before[i]);
    if (changed) write_file(stem + ".after", after[i]);
    text << between << "{\"name\": " << quoted(regions[i].name) << ", \"address\": " << regions[i].address
         << ", \"bytes\": " << regions[i].bytes << ", \"variable\": " << (regions[i].is_variable ? "true" : "false")
         << ", \"changed\": " << (changed ? "true" : "false") << "}";
    between = ",\n  ";
  }
  text << "]}\n";
}

// Does a launch, and records it if it is wanted.
template <class Status>
Status launched(CUfunction function, const Geometry &size, void **values, void **extra,
                const std::function<Status()> &launch) {
  std::lock_guard<std::recursive_mutex> lock(guard);
  const char *name = nullptr, *out = setting("LAUNCH_RECORDER_OUT", nullptr);
  if (recording || !function || DRIVER(cuFuncGetName)(&name, function) != CUDA_SUCCESS || !is_wanted(name, out))
    return launch();
  recording = true;
  auto regions = regions_of(function);
  auto parameters = parameters_of(function, values, extra);
  std::vector<Bytes> before, after, again;
  bool is_read = DRIVER(cuCtxSynchronize)() == CUDA_SUCCESS && read_all(regions, before);
  Status status = launch();
  if (!is_read) {
    say(std::string("not recorded, memory could not be read: ") + name);
    recording = false;
    return status;
  }
  CUresult finished = DRIVER(cuCtxSynchronize)();
  std::string error = static_cast<int>(status) ? "not launched, " + std::to_string(static_cast<int>(status)) : "";
  if (finished != CUDA_SUCCESS) error = text_of(finished);
  std::vector<std::string> unsteady;
  if (error.empty() && !read_all(regions, after)) error = "memory could not be read after the launch";
  if (error.empty() && std::atoi(setting("LAUNCH_RECORDER_TWICE", "1"))) {
    write_all(regions, before);
    status = launch();
    finished = DRIVER(cuCtxSynchronize)();
    if (finished != CUDA_SUCCESS || !read_all(regions, again)) error = "the second time: " + text_of(finished);
    for (size_t i = 0; i < again.size() && error.empty(); i++)
      if (again[i] != after[i]) unsteady.push_back(quoted(regions[i].name));
  }
  char number[16];
  std::snprintf(number, sizeof number, "%04d", recorded++);
  launches_of[name]++;
  std::string folder = std::string(out) + "/" + number;
  mkdir(out, 0777);
  mkdir(folder.c_str(), 0777);
  write_launch(folder, name, size, parameters, regions, before, after, unsteady, error);
  say(std::string(number) + (error.empty() ? " recorded: " : " " + error + ": ") + std::string(name).substr(0, 80));
  recording = false;
  return status;
}

Geometry geometry(dim3 grid, dim3 block, size_t shared) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, {1, 1, 1}, shared, {}};
}

const unsigned *cluster_of(const cudaLaunchAttribute &x) { return &x.val.clusterDim.x; }
const unsigned *cluster_of(const CUlaunchAttribute &x) { return &x.value.clusterDim.x; }

template <class Attribute>
Geometry with_attributes(Geometry size, const Attribute *attributes, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    int id = static_cast<int>(attributes[i].id);
    size.attributes.push_back(id);
    if (id == static_cast<int>(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION))
      std::memcpy(size.cluster, cluster_of(attributes[i]), sizeof size.cluster);
  }
  return size;
}

// The driver's function of what the runtime launches: of a handle of a kernel, or of the symbol of the host's stub.
CUfunction function_of(const void *kernel) {
  ORIGINAL(cudaFree)(nullptr);  // makes the context current
  cudaFunction_t function = nullptr;
  if (ORIGINAL(cudaGetFuncBySymbol)(&function, kernel) == cudaSuccess) return function;
  ORIGINAL(cudaGetLastError)();
  return nullptr;
}

CUfunction function_of(cudaKernel_t kernel) {
  ORIGINAL(cudaFree)(nullptr);
  CUfunction function = nullptr;
  DRIVER(cuKernelGetFunction)(&function, kernel);
  return function;
}

}  // namespace

extern "C" {

// What follows has the names and the parameters of the functions that a program calls. `_ptsz` are those of programs
// with a default stream for each thread.

void __cudaRegisterVar(void **binary, char *host, char *address, const char *name, int external, size_t bytes,
                       int constant, int global) {
  variables.push_back(name);
  ORIGINAL(__cudaRegisterVar)(binary, host, address, name, external, bytes, constant, global);
}

#define ALLOCATION(function, parameters, arguments, bytes)                                       \
  cudaError_t function parameters {                                                              \
    cudaError_t status = ORIGINAL(function) arguments;                                           \
    if (status == cudaSuccess) remember(reinterpret_cast<CUdeviceptr>(*place), bytes);           \
    return status;                                                                               \
  }

ALLOCATION(cudaMalloc, (void **place, size_t size), (place, size), size)
ALLOCATION(cudaMallocManaged, (void **place, size_t size, unsigned flags), (place, size, flags), size)
ALLOCATION(cudaMallocPitch, (void **place, size_t *pitch, size_t width, size_t height),
           (place, pitch, width, height), *pitch * height)
ALLOCATION(cudaMallocAsync, (void **place, size_t size, cudaStream_t stream), (place, size, stream), size)
ALLOCATION(cudaMallocAsync_ptsz, (void **place, size_t size, cudaStream_t stream), (place, size, stream), size)
ALLOCATION(cudaMallocFromPoolAsync, (void **place, size_t size, cudaMemPool_t pool, cudaStream_t stream),
           (place, size, pool, stream), size)

#define RELEASE(function, parameters, arguments)     \
  cudaError_t function parameters {                  \
    forget(reinterpret_cast<CUdeviceptr>(place));    \
    return ORIGINAL(function) arguments;             \
  }

RELEASE(cudaFree, (void *place), (place))
RELEASE(cudaFreeAsync, (void *place, cudaStream_t stream), (place, stream))
RELEASE(cudaFreeAsync_ptsz, (void *place, cudaStream_t stream), (place, stream))

CUresult cuMemAlloc(CUdeviceptr *place, size_t bytes) {
  CUresult status = DRIVER(cuMemAlloc)(place, bytes);
  if (status == CUDA_SUCCESS) remember(*place, bytes);
  return status;
}

CUresult cuMemFree(CUdeviceptr place) {
  forget(place);
  return DRIVER(cuMemFree)(place);
}

#define RUNTIME_LAUNCH(function, Kernel)                                                                     \
  cudaError_t function(Kernel kernel, dim3 grid, dim3 block, void **values, size_t shared,                   \
                       cudaStream_t stream) {                                                                \
    return launched<cudaError_t>(function_of(kernel), geometry(grid, block, shared), values, nullptr, [=] {  \
      return ORIGINAL(function)(kernel, grid, block, values, shared, stream);                                \
    });                                                                                                      \
  }

RUNTIME_LAUNCH(cudaLaunchKernel, const void *)
RUNTIME_LAUNCH(cudaLaunchKernel_ptsz, const void *)
RUNTIME_LAUNCH(cudaLaunchCooperativeKernel, const void *)
RUNTIME_LAUNCH(__cudaLaunchKernel, cudaKernel_t)
RUNTIME_LAUNCH(__cudaLaunchKernel_ptsz, cudaKernel_t)

#define RUNTIME_LAUNCH_EX(function)                                                                          \
  cudaError_t function(const cudaLaunchConfig_t *given, const void *kernel, void **values) {                 \
    Geometry size = geometry(given->gridDim, given->blockDim, given->dynamicSmemBytes);                      \
    size = with_attributes(size, given->attrs, given->numAttrs);                                             \
    return launched<cudaError_t>(function_of(kernel), size, values, nullptr,                                 \
                                 [=] { return ORIGINAL(function)(given, kernel, values); });                 \
  }

RUNTIME_LAUNCH_EX(cudaLaunchKernelExC)
RUNTIME_LAUNCH_EX(cudaLaunchKernelExC_ptsz)

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void **values, void **extra) {
  Geometry size = geometry(dim3(gx, gy, gz), dim3(bx, by, bz), shared);
  return launched<CUresult>(function, size, values, extra, [=] {
    return ORIGINAL(cuLaunchKernel)(function, gx, gy, gz, bx, by, bz, shared, stream, values, extra);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *given, CUfunction function, void **values, void **extra) {
  Geometry size = geometry(dim3(given->gridDimX, given->gridDimY, given->gridDimZ),
                           dim3(given->blockDimX, given->blockDimY, given->blockDimZ), given->sharedMemBytes);
  size = with_attributes(size, given->attrs, given->numAttrs);
  return launched<CUresult>(function, size, values, extra,
                            [=] { return ORIGINAL(cuLaunchKernelEx)(given, function, values, extra); });
}

// A program that asks the runtime for the driver's functions gets these, too.
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **place, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult *result) {
  cudaError_t status = ORIGINAL(cudaGetDriverEntryPointByVersion)(symbol, place, version, flags, result);
  if (status == cudaSuccess && *place && !std::strcmp(symbol, "cuLaunchKernel"))
    *place = reinterpret_cast<void *>(cuLaunchKernel);
  if (status == cudaSuccess && *place && !std::strcmp(symbol, "cuLaunchKernelEx"))
    *place = reinterpret_cast<void *>(cuLaunchKernelEx);
  return status;
}

}  // extern "C"
