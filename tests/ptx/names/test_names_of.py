# SPDX-License-Identifier: MIT
"""Names of variables in kernels compiled by the tests; the source is compiled again when a name is needed."""

import numpy as np
import pytest

from wmma_emu.errors import CompilationError
from wmma_emu.ptx import Module
from wmma_emu.ptx.cuda import compile as compilation
from wmma_emu.ptx.launch.variable_names import names_of

pytest.importorskip("nvidia", reason="NVRTC is not installed")

pytestmark = pytest.mark.thorough

HEAD = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"


def named(source, symbols=(), arch="sm_90", kernel=None, **keywords):
    """Return the names of a kernel, and its variables by the last component of their symbols."""
    module = Module.from_cuda(HEAD + source, arch, **keywords)
    found = module.kernel if kernel is None else module[kernel]
    names = names_of(module, found)
    return names, [
        names.variable(x.space, x.name)
        for wanted in symbols
        for x in (*found.program.symbols, *module.program.global_symbols, *module.program.const_symbols)
        if x.name.rstrip("E").endswith(wanted)
    ]


def body(declaration, use):
    return f'extern "C" __global__ void k(float* x, int n) {{ {declaration} {use} __syncthreads(); x[1] += n; }}'


@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
@pytest.mark.parametrize(
    ("declaration", "use", "kind", "offset", "size", "element"),
    [
        ("__shared__ float v[64];", "v[n] = x[n]; x[0] = v[n + 1];", "float [64]", 252, 4, "v[63]"),
        ("__shared__ half v[2][32][72];", "v[n][n][n] = x[n]; x[0] = v[n][1][1];", "half [2][32][72]", 128, 2,
         "v[0][0][64]"),
        ("__shared__ __nv_bfloat16 v[8][40];", "v[n][n] = x[n]; x[0] = v[n][1];", "__nv_bfloat16 [8][40]", 84, 2,
         "v[1][2]"),
        ("__shared__ int4 v[9];", "v[n].y = n; x[0] = v[n + 1].y;", "int4 [9]", 20, 4, "v[1].y"),
        ("__shared__ int4 v[9];", "v[n].y = n; x[0] = v[n + 1].y;", "int4 [9]", 16, 16, "v[1]"),
        ("__shared__ union { float f; short s[2]; } v;", "v.f = x[n]; x[0] = v.s[n];", None, 2, 2, "v.s[1]"),
        ("struct T { float a; int b[3]; }; __shared__ T v[4];", "v[n].b[n] = n; x[0] = v[n].a;", "T [4]", 28, 4,
         "v[1].b[2]"),
        ("static __shared__ double v[3], w;", "v[n] = w = n; x[0] = v[1] + w;", "double [3]", 8, 8, "v[1]"),
        ("extern __shared__ float v[];", "v[n] = n; x[0] = v[n + 1];", "float []", 252, 4, "v[63]"),
    ],
)  # fmt: skip
def test_shared_variables_have_the_shapes_of_their_source(arch, declaration, use, kind, offset, size, element):
    names, (variable, *_) = named(body(declaration, use), ["v"], arch)
    assert kind is None or variable.type == kind
    assert variable.element(offset, size) == element
    assert names.parameter_names == ("x", "n")
    assert names.parameter(0).element(240, 4) == "x[60]"


TEMPLATES = """
namespace {
template <typename T, int M, int N> __global__ void tiles(T* out, const T (*rows)[N], int n)
{
    __shared__ T tile[M][N + 8];
    { __shared__ int one[3]; one[threadIdx.x] = n; __syncthreads(); out[0] = one[1]; }
    { __shared__ double one[5]; one[threadIdx.x] = n; __syncthreads(); out[1] = one[1]; }
    tile[n][threadIdx.x] = rows[n][0];
    __syncthreads();
    out[n] = tile[n][1];
}
}
__device__ float helped(float x) { __shared__ float scratch[4][3]; scratch[threadIdx.x][1] = x; __syncthreads();
    return scratch[1][threadIdx.x]; }
struct Pair { float x, y; };
__device__ Pair pairs[2][5];
__constant__ Pair factors[16];
__shared__ int outer[12];
__global__ void other(Pair* p) { __shared__ half tile[6][6]; tile[1][threadIdx.x] = outer[0] = p->x; __syncthreads();
    p[1].y = helped(tile[threadIdx.x][1]); pairs[1][threadIdx.x].y = factors[threadIdx.x].x + outer[threadIdx.x]; }
"""


def test_templates_have_the_shapes_of_their_arguments():
    wanted = ["tiles<float, 4, 8>", "tiles<double, 2, 16>"]
    shapes = []
    for x in wanted:
        names, (tile, *ones) = named(TEMPLATES, ["tile", "one", "one_0"], kernel=x, instantiate=wanted)
        shapes.append((tile.type, tile.shape))
        assert sorted((y.name, y.type) for y in ones) == [("one", "double [5]"), ("one", "int [3]")]
        assert names.parameter_names == ("out", "rows", "n")
    assert shapes == [("float [4][16]", (4, 16)), ("double [2][24]", (2, 24))]
    assert names.parameter(1).element(8 * 17, 8) == "rows[1][1]"


def test_variables_of_kernels_functions_and_the_module_are_distinguished():
    names, found = named(TEMPLATES, ["tile", "scratch", "pairs", "factors", "outer"], kernel="other")
    assert [(x.name, x.type) for x in found] == [
        ("tile", "half [6][6]"), ("scratch", "float [4][3]"), ("pairs", "Pair [2][5]"), ("factors", "Pair [16]"),
        ("outer", "int [12]"),
    ]  # fmt: skip
    assert [found[2].element(52, 4), found[3].element(8, 8)] == ["pairs[1][1].y", "factors[1]"]
    assert names.parameter(0).element(28, 4) == "p[3].y"


@pytest.fixture
def compiled(monkeypatch):
    """Return the list of sources compiled with debug information, in order."""
    found, compile_cuda = [], compilation.compile_cuda

    def noted(source, *args, **kwargs):
        found.append(source)
        return compile_cuda(source, *args, **kwargs)

    monkeypatch.setattr(compilation, "compile_cuda", noted)
    return found


PLAIN = 'extern "C" __global__ void k(float* x) { __shared__ float s[4]; s[threadIdx.x] = *x; *x = s[threadIdx.x]; }'


def test_a_source_is_compiled_again_once_and_only_when_a_name_is_needed(compiled):
    module = Module.from_cuda(PLAIN, "sm_90")
    assert module.kernel[1, 1](np.zeros(4, np.float32), findings="report").findings == ()
    assert compiled == []
    for _ in range(2):
        assert names_of(module, module.kernel).variable("shared", "_ZZ1kE1s").shape == (4,)
    assert len(compiled) == 1
    assert names_of(module, module.kernel) is names_of(module, module["k"])


def test_a_source_that_fails_with_references_is_compiled_unchanged(compiled):
    source = PLAIN.replace("float s[4];", "float s[4]; auto wmma_emu_0_s = 1; *x = wmma_emu_0_s;")
    module = Module.from_cuda(source, "sm_90")
    names = names_of(module, module.kernel)
    assert names.parameter_names == ("x",)
    assert names.variable("shared", "_ZZ1kE1s").element(8, 4) == "s + 8 bytes"
    assert compiled[1:] == [source]


def test_names_have_no_shapes_if_the_compiler_fails_or_is_slow(monkeypatch):
    def refuse(*args, **kwargs):
        raise CompilationError("no")

    slow = Module.from_cuda(PLAIN, "sm_90")
    slow._debug_compilation = slow._debug_compilation._replace(seconds=60.0)
    assert names_of(slow, slow.kernel).parameter_names == ("",)
    monkeypatch.setattr(compilation, "compile_cuda", refuse)
    module = Module.from_cuda(PLAIN, "sm_90")
    assert names_of(module, module.kernel).variable("shared", "_ZZ1kE1s").element(8, 4) == "s + 8 bytes"


def test_a_source_compiled_with_debug_information_has_its_names():
    _, (found,) = named(PLAIN, ["1s"], options=["--device-debug"])
    assert found.type == "float [4]"


def test_parameters_without_debug_information_have_the_types_of_the_mangled_name():
    text = Module.from_cuda(
        f"{HEAD}__global__ void k(const float4* a, float* b, void* c, int n, half2* d, float (*e)[3], float** f)"
        "{ b[n] = a[n].x + e[n][1] + f[0][1]; d[0].x = *(half*)c; }", "sm_90"
    ).text  # fmt: skip
    module = Module(text, "sm_90")
    names = names_of(module, module.kernel)
    assert names.parameter_names == ("",) * 7
    assert [names.parameter(i).element(36, 4) for i in (0, 1, 2, 4, 5, 6)] == [
        "argument 0[2].y", "argument 1[9]", "argument 2 + 36 bytes", "argument 4[9]", "argument 5 + 36 bytes",
        "argument 6[4] + 4 bytes",
    ]  # fmt: skip


def test_parameters_of_handwritten_ptx_have_their_ptx_names():
    module = Module(".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 x) { ret; }", "sm_80")
    assert names_of(module, module.kernel).parameter_names == ("x",)
    assert names_of(module, module.kernel).parameter(0).element(8, 4) == "x + 8 bytes"


def test_parameters_of_numba_kernels_are_named_by_argument_number():
    cuda = pytest.importorskip("numba.cuda")
    types = pytest.importorskip("numba").types

    def f(x, y, n):
        x[n] = y[n, 1]

    text, _ = cuda.compile_ptx(f, (types.float32[::1], types.float64[:, ::1], types.int32), cc=(9, 0))
    module = Module(text, "sm_90")
    names = names_of(module, module.kernel)
    found = {x: i for i, x in enumerate(names.parameter_names)}
    places = [names.parameter(found[f"argument {i}"]).element(8, 4) for i in (0, 1)]
    assert places == ["argument 0[2]", "argument 1 + 8 bytes"]
    assert len(names.parameter_names) == found["argument 2"] + 1


def test_parameters_of_triton_have_the_names_and_types_of_its_signature():
    pytest.importorskip("triton")
    from tests.ptx import triton_kernels

    signature = {"x": "*fp16", "y": "*fp32", "out": "*fp32", "n": "i32"}
    module = Module.from_triton(triton_kernels.add_twice, signature, {"BLOCK": 64})
    names = names_of(module, module.kernel)
    assert names.parameter_names == ("x", "y", "out", "n")
    assert [names.parameter(i).element(8, 2 if i == 0 else 4) for i in range(3)] == ["x[4]", "y[2]", "out[2]"]
