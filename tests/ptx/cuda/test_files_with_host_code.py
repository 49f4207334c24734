# SPDX-License-Identifier: MIT
"""CUDA files with host code: by nvcc, and by NVRTC without the host code."""

import sys

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError, CompilationError, OptionError, UnknownNameError
from wmma_emu.ptx.cuda import compile as cuda_compile
from wmma_emu.ptx.cuda import nvrtc
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


@pytest.mark.thorough
def test_both_compilers_find_the_same_kernels_and_are_named(module):
    assert sorted(module) == ["_Z4fillIfLi64EEvPT_S0_i", "_Z4fillIlLi32EEvPT_S0_i", "_Z4linePf4Linej"]
    assert module.compiler.startswith(("nvcc ", "NVRTC "))
    assert ("without the host code" in module.compiler) == module.compiler.startswith("NVRTC")
    assert "fill" not in dir(module) and "line" in dir(module)


@pytest.mark.thorough
def test_both_compilers_give_the_same_bits(module):
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


@pytest.mark.thorough
def test_templates_that_the_host_launches_are_found_as_cpp_writes_them(module):
    x = np.zeros(70, np.float32)
    module["fill<float, 64>"][2, 64](x, 2.5, 66)
    assert x.tolist() == [2.5] * 66 + [0] * 4
    assert module["fill<long,32>"].name == "_Z4fillIlLi32EEvPT_S0_i"
    with pytest.raises(UnknownNameError, match=r"2 kernels .* called fill; use a full name: fill<.*>, fill<.*>"):
        module["fill"]
    with pytest.raises(AttributeError, match=r"2 kernels of k\.cu are called fill"):
        module.fill


@pytest.mark.thorough
def test_parameters_have_the_names_of_the_source(module):
    shown = str(module.explain())
    assert "0: float* y; .u64, 8 bytes at 0" in shown and f"made by {module.compiler}" in shown


@pytest.mark.thorough
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


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", WAYS)
def test_errors_name_the_users_line_and_quote_it(compiler):
    require(compiler)
    source = "#include <vector>\nint unused() { return 1; }\n"
    source += "__global__ void k(int* x)\n{\n    int n = 2;\n    *x = nothing + 1;\n}\n"
    with pytest.raises(CompilationError) as caught:
        we.ptx.Module.from_cuda(source, compiler=compiler, name="own.cu")
    assert str(caught.value) == (
        'own.cu does not compile:\nown.cu(6): error: identifier "nothing" is undefined\n'
        "      *x = nothing + 1;\n           ^"
    )
    assert 'variable "n" was declared' in caught.value.log


@pytest.mark.thorough
def test_a_host_function_that_a_kernel_calls_is_named():
    require("device part")
    source = "#include <vector>\nfloat twice(float x) { return 2 * x; }\n__global__ void k(float* x) { twice(*x); }\n"
    with pytest.raises(CompilationError, match=r"twice \(line 2\) is a host function: __device__ makes it"):
        we.ptx.Module.from_cuda(source, compiler="device part")


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", WAYS)
def test_a_missing_user_header_is_an_error(compiler, tmp_path):
    require(compiler)
    source = f'{HOST}#include "mine.cuh"\n__global__ void k(float* x) {{ *x = 1; }}\n'
    with pytest.raises(CompilationError, match=r"mine\.cuh") as caught:
        we.ptx.Module.from_cuda(source, compiler=compiler, include=[tmp_path])
    if compiler == "device part":
        assert f"the header mine.cuh is not in {tmp_path}; include=[...] names folders" in str(caught.value)


@pytest.mark.thorough
def test_a_header_is_missing_only_if_the_preprocessor_reaches_its_include(monkeypatch, tmp_path):
    source = HOST + '#ifdef _WIN32\n#include "mine.cuh"\n#endif\n#include "stdlib.h"\n#include "cublas_v2.h"\n'
    module = _device_part(source + STORE % "1")
    assert module.compiler_notes[1] == "headers that were replaced: vector, stdlib.h, cublas_v2.h"
    monkeypatch.setenv("CPATH", str(tmp_path))
    (tmp_path / "by_variable.h").write_text("#define N 4\n")
    assert "k" in dir(_device_part(f'{HOST}#include "by_variable.h"\n{STORE % "N"}'))


@pytest.mark.thorough
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
    assert asked == ["kernel.cu"]  # only device code: no other compiler is tried


def test_a_compiler_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="compiler='gcc' is not one of 'auto', 'nvrtc', 'nvcc', 'device part'"):
        we.ptx.Module.from_cuda("", compiler="gcc")


@pytest.mark.thorough
def test_a_crash_of_the_compiler_is_an_error_like_others(monkeypatch):
    require("device part")
    monkeypatch.setenv("WMMA_EMU_CACHE", "off")
    monkeypatch.setattr(nvrtc, "_PROGRAM", "import os; os.abort()")
    with pytest.raises(CompilationError, match=r"own\.cu does not compile: NVRTC .* did not return a result"):
        we.ptx.Module.from_cuda("int main() { }", name="own.cu", compiler="device part")


@pytest.mark.thorough
@pytest.mark.parametrize("header", ["cuda.h", "cudaTypedefs.h"])  # the second includes the first
def test_a_cuda_header_may_include_host_headers(header):
    require("device part")
    source = f"#include <{header}>\n__global__ void k(int* x) {{ *x = 7; }}\nint main() {{ return CUDA_SUCCESS; }}\n"
    x = np.zeros(1, np.int32)
    we.ptx.Module.from_cuda(source, compiler="device part").k[1, 1](x)
    assert x.tolist() == [7]


@pytest.mark.thorough
@pytest.mark.parametrize("opened", ["cub::", "using namespace cub; "])
def test_cub_is_taken_without_what_it_has_for_whole_devices(opened):
    require("device part")
    is_open = opened.startswith("using")
    source = f"""\
#include <cub/cub.cuh>
#include <cub/device/device_scan.cuh>
{opened if is_open else ""}
__global__ void total(const int* x, int* y) {{
    using Reduce = {"" if is_open else "cub::"}BlockReduce<int, 64>;
    __shared__ typename Reduce::TempStorage shared;
    int sum = Reduce(shared).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0) *y = sum;
}}
int main() {{ cub::DeviceScan::InclusiveSum(nullptr, *new size_t, (int*)0, (int*)0, 3); total<<<1, 64>>>(0, 0); }}
"""
    y = np.zeros(1, np.int32)
    we.ptx.Module.from_cuda(source, compiler="device part").total[1, 64](np.arange(64, dtype=np.int32), y)
    assert y.tolist() == [2016]


@pytest.mark.thorough
def test_constants_of_the_hosts_library_have_their_bits():
    require("device part")
    source = "#include <cmath>\n#include <cstdlib>\n#include <vector>\n__global__ void k(float* x)\n"
    source += "{ x[0] = -INFINITY; x[1] = M_PI; x[2] = (float)HUGE_VAL; }\nint main() { return EXIT_SUCCESS; }\n"
    x = np.zeros(3, np.float32)
    we.ptx.Module.from_cuda(source, compiler="device part").k[1, 1](x)
    assert x.view(np.uint32).tolist() == [0xFF800000, 0x40490FDB, 0x7F800000]


HOST = "#include <vector>\nint main() { std::vector<int> v; }\n"
STORE = "__global__ void k(int* o) { o[0] = %s; }\n"


def _device_part(source, *folders):
    pytest.importorskip("nvidia.cu13", reason="NVRTC is not installed")
    return we.ptx.Module.from_cuda(source, "sm_90", compiler="device part", include=folders)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('__device__ const int t[2] = {\n#include "piece.inc"\n};\n' + STORE % "t[1]", 12),
        ('const int BASE = 20;\n__device__ int t[] = {BASE,\n#include "piece.inc"\n};\n' + STORE % "t[2]", 12),
        ('int host() { int t[] = {\n#include "piece.inc"\n}; return t[0]; }\n' + STORE % "5", 5),
        ("#if 0\n it isn't { code\n#endif\n" + STORE % "7", 7),
        ("#if 0\n__global__ void k(int* o) { if (o) {\n#else\n" + STORE % "8" + "#endif\n", 8),
        ("template <bool B = 3 < 4> __device__ int f() { return B; }\n" + STORE % "f()", 1),
        ("template <int A, bool B = A < 4> __device__ int f() { return B + 1; }\n" + STORE % "f<2>()", 2),
        ("#define BEGIN namespace q {\n#define END }\nBEGIN\nint host() { return 1; }\n"
         "__device__ int f() { return 9; }\nEND\n" + STORE % "q::f()", 9),
        ("[[nodiscard]] constexpr int f() { return 6; }\n" + STORE % "f()", 6),
    ],
)  # fmt: skip
def test_what_the_device_has_keeps_its_meaning_without_the_host(tmp_path, source, value):
    (tmp_path / "piece.inc").write_text("11, 12\n")
    out = np.zeros(1, np.int32)
    _device_part(HOST + source, tmp_path).kernel[1, 1](out)
    assert out[0] == value


@pytest.mark.thorough
@pytest.mark.parametrize(
    "launch",
    [
        "template <int N> void run() { k<N><<<1, 1>>>(nullptr); }\nconst int N = 32;\nint main() { run<64>(); }\n",
        "int main() { { const int N = 32; } { const int N = 64; k<N><<<1, 1>>>(nullptr); } }\n",
    ],
)
def test_only_the_launched_template_is_instantiated(launch):
    module = _device_part("#include <vector>\ntemplate <int N> " + STORE % "N" + launch)
    assert "k<32>" not in module._expressions and not any("Li32" in x for x in module)


@pytest.mark.thorough
def test_a_kernel_that_would_be_left_out_is_an_error():
    with pytest.raises(CompilationError, match=r"kernel at line 4 whose declaration is not understood"):
        _device_part(HOST + "template <int A, int B, bool C = A < B> struct S { };\n" + STORE % "1")


@pytest.mark.thorough
def test_files_of_the_folder_do_not_stand_in_for_pythons_own(tmp_path, monkeypatch):
    monkeypatch.setenv("WMMA_EMU_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit(1)\n")
    assert list(_device_part(HOST + STORE % "1"))


TEMPLATES = "template <class T> __global__ void k(T* p) { *p = 1; }\n"
TEMPLATES += "template <int N> __global__ void q(int* p) { *p = N; }\n"


@pytest.mark.thorough
def test_launched_templates_that_were_not_instantiated_are_named():
    module = _device_part(f"{HOST}{TEMPLATES}void f(int* p, int n) {{ k<<<1, 1>>>(p); q<n><<<1, 1>>>(p); }}\n")
    told = "not instantiated, although the host launches it: {}; use instantiate=['{}<...>']"
    assert {told.format("k", "k"), told.format("q<n>", "q")} <= set(module.compiler_notes)
    for ask in (lambda: module.kernel, lambda: module["k"]):
        with pytest.raises(UnknownNameError, match=r"has no kernel; not instantiated, although the host launches it: "):
            ask()
    made = we.ptx.Module.from_cuda(
        f"{HOST}{TEMPLATES}void f(int* p) {{ k<<<1, 1>>>(p); }}\n", compiler="device part", instantiate=["k<int>"]
    )
    assert not any("not instantiated" in x for x in made.compiler_notes)


@pytest.mark.thorough
def test_macros_that_define_kernels_need_no_semicolon():
    module = _device_part(f"#define DEF(n) __global__ void n(int* o) {{ o[0] = 1; }}\nDEF(k1)\nDEF(k2)\n{HOST}")
    assert list(module) == ["_Z2k1Pi", "_Z2k2Pi"] and "main" in module.compiler_notes[0]


@pytest.mark.thorough
def test_the_numbers_of_the_mathematical_header_are_macros():
    out = np.zeros(1, np.int32)
    _device_part(HOST + "#ifdef M_PI\n" + STORE % "7" + "#endif\n").k[1, 1](out)
    assert out[0] == 7


def test_a_compiler_must_be_a_string():
    with pytest.raises(OptionError, match="is not one of 'auto'"):
        we.ptx.Module.from_cuda("", compiler=np.array(["nvcc"]))


@pytest.mark.thorough
@pytest.mark.parametrize("compiler", [*WAYS, "nvrtc"])
def test_a_file_with_invalid_utf8_compiles_and_findings_quote_it(compiler, tmp_path):
    require(compiler)
    host = "" if compiler == "nvrtc" else HOST
    text = host + '#include "h.h"\n// é\n__global__ void k(int* o)\n{\n'
    text += "    o[0] = 6 + H; // café\n}\n"
    (tmp_path / "k.cu").write_bytes(text.encode("latin-1"))
    (tmp_path / "h.h").write_bytes("#define H 1 // é\n".encode("latin-1"))
    module = we.ptx.Module.from_file(tmp_path / "k.cu", compiler=compiler)
    out = np.zeros(1, np.int32)
    module.k[1, 1](out)
    assert out[0] == 7
    report = module.k[1, 1](np.zeros(0, np.int32), findings="report")
    assert report.findings and "// café" in str(report)


@pytest.mark.thorough
def test_an_error_quotes_a_line_with_invalid_utf8(tmp_path):
    require("device part")
    (tmp_path / "k.cu").write_bytes(b"__global__ void k() { nothing; } // caf\xe9\n")
    with pytest.raises(CompilationError, match='"nothing" is undefined') as caught:
        we.ptx.Module.from_file(tmp_path / "k.cu")
    str(caught.value).encode()


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="what GCC predefines on Linux")
@pytest.mark.parametrize("name", ["__NVCC__", "__linux__", "__LP64__", "__SIZEOF_LONG__ == 8", "__CHAR_BIT__ == 8"])
def test_macros_that_nvcc_predefines_are_also_defined_for_nvrtc(name):
    condition = name if "=" in name else f"defined({name})"
    source = "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#include <cuda/std/limits>\n"
    module = _device_part(f"{HOST}{source}#if {condition}\n{STORE % '1'}#endif\n")
    assert list(module) == ["_Z1kPi"] and not any("macro" in x for x in module.compiler_notes)


@pytest.mark.thorough
def test_macros_that_differ_are_named_where_the_source_asks_for_them():
    module = _device_part(f"{HOST}#ifndef __CUDACC_RTC__\n#elif defined(__GNUC__)\n#endif\n{STORE % '1'}")
    assert module.compiler_notes[2:] == (
        "the macro __CUDACC_RTC__ is defined, which nvcc does not do",
        "the macro __GNUC__ is not defined, which nvcc does where its host compiler is GCC or Clang",
    )
