# SPDX-License-Identifier: MIT
"""CUDA files as they are, with code of the host: by nvcc, and by NVRTC without that code."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError, CompilationError, OptionError, UnknownNameError
from wmma_emu.ptx.cuda import compile as cuda_compile
from wmma_emu.ptx.cuda.nvcc import find_nvcc
from wmma_emu.ptx.cuda.nvrtc import nvrtc_version

FILE = """\
#include <cfloat>
#include <cstdio>
#include <cstdint>
#include <iostream>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "shapes.h"
#define CHECK(x) if ((x) != cudaSuccess) std::cerr << "failed\\n"
using namespace std;

const float SCALE = 0.1f;
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
static vector<float> results;
struct Timer { std::string name; Timer(const char* x) : name{x} { } ~Timer() { cout << name; } };
struct Line { float slope, start; Line(float a, float b) : slope(a), start(b) { }
              __host__ __device__ float at(int x) const { return slope * x + start; } };

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) fill(T* out, T value, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        out[i] = value;
}

__global__ void line(float* y, Line l, uint n)
{
    __shared__ float s[BLOCK_OF_LINE];
    s[threadIdx.x] = l.at(threadIdx.x) * SCALE + FLT_MIN;
    y[threadIdx.x] = s[(threadIdx.x + ceil_div(n, BLOCK_OF_LINE)) % n];
}

float expected(const vector<float>& x) { return x[0] * SCALE; }

int main(int argc, char** argv)
{
    Timer timer("main");
    const int block = 4 * 16;
    float* d;
    CHECK(cudaMalloc(&d, 4096));
    fill<float, block><<<2, block>>>(d, 1.f, 100);
    fill<int64_t, 32><<<2, 32>>>(nullptr, 1, 100);
    line<<<1, BLOCK_OF_LINE>>>(d, Line(1, 2), BLOCK_OF_LINE);
    printf("%f\\n", expected(results));
    return cudaDeviceSynchronize();
}
"""

HEADER = """\
#pragma once
#include <string>
#define BLOCK_OF_LINE 64
inline std::string shape() { return "line"; }
"""

WAYS = ("nvcc", "device part")


def require(compiler):
    try:
        find_nvcc() if compiler == "nvcc" else nvrtc_version()
    except BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=WAYS)
def module(request, tmp_path_factory):
    require(request.param)
    folder = tmp_path_factory.mktemp("own folder")
    (folder / "k.cu").write_text(FILE)
    (folder / "shapes.h").write_text(HEADER)
    made = we.ptx.Module.from_file(folder / "k.cu", compiler=request.param)
    made._debug_compilation = made._debug_compilation._replace(seconds=0.1)  # on a busy machine, too
    return made


def test_both_ways_find_the_same_kernels_and_say_who_compiled(module):
    assert sorted(module) == ["_Z4fillIfLi64EEvPT_S0_i", "_Z4fillIlLi32EEvPT_S0_i", "_Z4linePf4Linej"]
    assert module.compiler.startswith(("nvcc ", "NVRTC "))
    assert ("without the code of the host" in module.compiler) == module.compiler.startswith("NVRTC")
    assert "fill" not in dir(module) and "line" in dir(module)


def test_both_ways_give_the_same_bits(module):
    y = np.zeros(64, np.float32)
    line = we.ptx.Struct(np.float32(3), np.float32(0.7))
    report = module.line[1, 64](y, line, 64, findings="report")
    slope = np.float32(3) * np.arange(64, dtype=np.float32) + np.float32(0.7)
    wide = slope.astype(np.float64) * np.float64(np.float32(0.1)) + np.float64(np.finfo(np.float32).tiny)
    assert np.array_equal(y[:31], wide.astype(np.float32)[1:32])
    (race,) = report.findings
    assert race.kind == "race" and race.title == "race on s at k.cu:30/31"
    assert report.compiler == module.compiler and f"compiled by: {module.compiler}" in str(report)
    assert report.to_dict()["compiler"] == module.compiler


def test_templates_that_the_host_launches_are_found_as_cpp_writes_them(module):
    x = np.zeros(70, np.float32)
    module["fill<float, 64>"][2, 64](x, 2.5, 66)
    assert x.tolist() == [2.5] * 66 + [0] * 4
    assert module["fill<long,32>"].name == "_Z4fillIlLi32EEvPT_S0_i"
    with pytest.raises(UnknownNameError, match=r"2 kernels .* called fill; name one in full: fill<.*>, fill<.*>"):
        module["fill"]
    with pytest.raises(AttributeError, match=r"2 kernels of k\.cu are called fill"):
        module.fill


def test_parameters_have_the_names_of_the_source(module):
    shown = str(module.explain())
    assert "0: float* y; .u64, 8 bytes at 0" in shown and f"made by {module.compiler}" in shown


@pytest.mark.parametrize("compiler", WAYS)
def test_templates_are_made_on_demand_and_options_mean_the_same(compiler, tmp_path):
    require(compiler)
    (tmp_path / "n.h").write_text("#define N 3\n")
    source = "#include <vector>\n#include <n.h>\nint main() { }\n"
    source += "template <class T> __global__ void k(T* x) { *x = N * M; }"
    options = ["-O3", "-DM=5", "-Xcompiler", "-Wall", "--use_fast_math", "-std=c++17", "-lcublas"]
    made = we.ptx.Module.from_cuda(
        source, options=options, include=[tmp_path], instantiate=["k<double>", "k<unsigned char>"], compiler=compiler
    )
    x, y = np.zeros(1), np.zeros(1, np.uint8)
    made["k<double>"][1, 1](x)
    made["k<unsigned char>"][1, 1](y)
    assert (x[0], y[0], len(made)) == (15.0, 15, 2)


@pytest.mark.parametrize("compiler", WAYS)
def test_errors_are_of_the_users_line_and_quote_it(compiler):
    require(compiler)
    source = '#include <vector>\nint unused() { return 1; }\n'
    source += '__global__ void k(int* x)\n{\n    int n = 2;\n    *x = nothing + 1;\n}\n'
    with pytest.raises(CompilationError) as caught:
        we.ptx.Module.from_cuda(source, compiler=compiler, name="own.cu")
    assert str(caught.value) == (
        'own.cu does not compile:\nown.cu(6): error: identifier "nothing" is undefined\n'
        "      *x = nothing + 1;\n           ^"
    )
    assert "variable \"n\" was declared" in caught.value.log


def test_a_function_of_the_host_that_a_kernel_calls_is_named():
    require("device part")
    source = "#include <vector>\nfloat twice(float x) { return 2 * x; }\n__global__ void k(float* x) { twice(*x); }\n"
    with pytest.raises(CompilationError, match=r"twice \(line 2\) is a function of the host: __device__ makes it"):
        we.ptx.Module.from_cuda(source, compiler="device part")


def test_a_header_that_is_not_there_is_named():
    require("device part")
    source = '#include "mine.cuh"\n__global__ void k(float* x) { *x = MINE; }\n'
    with pytest.raises(CompilationError, match=r"not found, and taken as empty: mine\.cuh; include=\[\.\.\.\] names"):
        we.ptx.Module.from_cuda(source, compiler="device part")


def test_automatically_nvrtc_comes_first_then_nvcc_then_the_device_part(monkeypatch):
    require("device part")
    monkeypatch.setenv("WMMA_EMU_CACHE", "off")
    plain = "__global__ void k(int* x) { *x = 1; }\n"
    assert we.ptx.Module.from_cuda(plain).compiler == f"NVRTC {nvrtc_version()}"
    asked = []

    def refuse(request):
        asked.append(request.name)
        raise BackendUnavailableError("nvcc is not installed")

    monkeypatch.setattr(cuda_compile, "_by_nvcc", refuse)
    assert "without" in we.ptx.Module.from_cuda(f"#include <vector>\n{plain}int main() {{ }}\n").compiler
    assert asked == ["kernel.cu"]
    with pytest.raises(CompilationError, match="nothing"):
        we.ptx.Module.from_cuda("__global__ void k(int* x) { nothing; }\n")
    assert asked == ["kernel.cu"]  # code of the device alone: no other compiler is asked


def test_a_compiler_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="compiler='gcc' is none of 'auto', 'nvrtc', 'nvcc', 'device part'"):
        we.ptx.Module.from_cuda("", compiler="gcc")
