# SPDX-License-Identifier: MIT
"""Classes keep their layout and their traits when their host functions are removed."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError, CompilationError
from wmma_emu.ptx.cuda.nvcc import find_nvcc
from wmma_emu.ptx.cuda.nvrtc import nvrtc_version

HOST = "#include <vector>\n#include <string>\nint main() { std::vector<int> v; }\n"
CLASSES = (
    "struct T { T() {} int x; char c; };",
    "struct T { T() = default; int x; char c; };",
    "struct T { int x; char c; };",
    "struct T { int x; T(int v) : x(v) { } };",
    "struct T { int x; explicit T(int v = 3) : x(v) { } char c; };",
    "struct T { int x; char c; ~T() { } };",
    "struct T { int x; char c; T(const T& o) : x(o.x) { } };",
    "struct T { int x; char c; T(T&& o) : x(o.x) { } };",
    "struct T { int x; char c; T& operator=(const T& o) { x = o.x; return *this; } };",
    "struct T { int x; char c; T& operator=(T&& o) { x = o.x; return *this; } };",
    "struct T { int x; char c; T(const T&) = delete; T& operator=(const T&) = delete; };",
    "struct T { int x; char c; T(const std::vector<int>& v) : x(v[0]) { } };",
    "struct T { int x; char c; T(std::vector<int> v = {}) { } T(std::string s) { } };",
    "struct T { int x; char c; T(const std::vector<int>& v, int n = 2) { } T(int a, int b) { } };",
    "struct T { template <class U> T(U u) { } int x; char c; };",
    "struct T { template <class... U> T(U&&... u) { } int x; char c; };",
    "struct T { virtual ~T() { } int x; char c; };",
    "struct T { virtual int f() { return 1; } int x; char c; };",
    "struct T { virtual std::string f(std::vector<int>) { return {}; } int x; char c; };",
    "struct T { virtual int f(int) const = 0; int x; char c; };",
    "struct U { virtual int f() const = 0; int x; char c; };\n"
    "struct T : U { int f() const override { return 1; } char d; };",
    "class T { int x; char c; public: T() { } void run() { std::string s; } };",
    "class T { T() { } int x; char c; };",
    "class T { T(const T&) { } public: int x; char c; };",
    "class T { ~T() { } public: int x; char c; };",
    "struct T { struct I { I() { } int x; char c; }; struct J : I { char d; } j; T(int n) { } char e; };",
    "struct T { enum E { A, B }; E e; char c; T(E e) : e(e) { } T(double) { } };",
    "template <class U> struct V { U x; char c; V() { } V(U u) : x(u) { } };\nusing T = V<int>;",
    "template <class U> struct V { U x; char c; V(const V<U>& o) { } };\nusing T = V<double>;",
    "template <int N, class U = int> struct V { U x[N]; char c; V(const U (&a)[N]) { } };\nusing T = V<3>;",
    "struct U { U(int n) : x(n) { } int x; char c; };\nstruct T : U { using U::U; char d; };",
    "struct U { U() { } int x; char c; };\nstruct T : virtual U { char d; };",
    "struct T { int x; char c; T(); T(int); ~T(); };\nT::T() { }\nT::T(int) { }\nT::~T() { }",
    "struct T { int x; char c; T() noexcept { } T(const T&) noexcept(false) { } T(T&&) noexcept { } };",
    "struct T { int x = 3; char c; T& operator=(int n) { x = n; return *this; } };",
    "struct alignas(16) T { T() : x{1}, c{2} { } int x; char c; };",
    "struct T { float4 a; char c; T(float4 b, dim3 d) : a(b) { } };",
    "union T { int x; double d; T() { } };",
    "#define REAL double\nstruct T { REAL x; char c; T(REAL y) : x(y) { } };",
    "struct T { int x; char c; T(std::initializer_list<int> l) { }\n"
    "friend bool g(const std::string& s) { return true; } };",
)  # fmt: skip
TRAITS = (
    "sizeof(T)", "sizeof(D)", "alignof(T)", "sizeof(E)", "__is_aggregate(T)", "__is_trivially_copyable(T)",
    "__is_trivial(T)", "__is_pod(T)", "__is_standard_layout(T)", "__is_polymorphic(T)", "__is_abstract(T)",
    "__is_constructible(T)", "__is_constructible(T, int)", "__is_constructible(T, const T&)",
    "__is_constructible(T, T)",
    "__is_trivially_constructible(T)", "__is_trivially_constructible(T, const T&)", "__is_nothrow_constructible(T, T)",
    "__is_nothrow_constructible(T, const T&)", "__is_assignable(T&, const T&)", "__is_trivially_assignable(T&, T)",
    "__is_convertible_to(int, T)", "__has_virtual_destructor(T)", "__has_trivial_destructor(T)",
    "__is_constructible(T, int, int)", "__is_constructible(T, double)",
)  # fmt: skip


NVRTC_ALONE = {("struct T { int x; char c; T(const T&) = delete; T& operator=(const T&) = delete; };", "sizeof(D)")}
"""Differences between NVRTC and nvcc, also in files without host code."""


@pytest.fixture(scope="module")
def both():
    try:
        find_nvcc()
        nvrtc_version()
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    return _constants("nvcc"), _constants("device part")


@pytest.mark.thorough
@pytest.mark.parametrize("text", CLASSES)
def test_sizes_and_traits_match_nvcc(both, text):
    theirs, ours = (x[text] for x in both)
    assert {x for x in TRAITS if theirs[x] != ours[x]} == {x for y, x in NVRTC_ALONE if y == text}


def _nvrtc():
    try:
        nvrtc_version()
    except BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.thorough
def test_a_tail_of_a_base_with_a_constructor_of_the_host_is_used_again():
    _nvrtc()
    source = HOST + "struct A { A() {} int x; char c; }; struct B : A { char d; };\n"
    source += "__global__ void k(B b, int* o) { o[0] = sizeof(B); o[1] = b.d; o[2] = __is_aggregate(A); }\n"
    module = we.ptx.Module.from_cuda(source, compiler="device part")
    out = np.zeros(3, np.int32)
    module.k[1, 1](we.ptx.Struct(np.int32(1), np.int8(2), np.int8(3)), out)
    assert out.tolist() == [8, 3, 0]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "use", ["A a(1); o[0] = a.x;", "__shared__ char s[8]; A a(*(A*)s); o[0] = a.x;", "*(A*)o = *(A*)(o + 2);"]
)
def test_a_kernel_that_calls_a_constructor_of_the_host_is_refused(use):
    _nvrtc()
    source = HOST + "struct A { int x; A(int n) : x(n) { } A(const A& a) : x(a.x) { } A& operator=(const A& a) "
    source += "{ x = a.x; return *this; } };\n__global__ void k(int* o) { " + use + " }\n"
    with pytest.raises(CompilationError, match="a kernel calls a constructor, a destructor or an assignment that is"):
        we.ptx.Module.from_cuda(source, compiler="device part")


def _constants(compiler):
    found = []
    for i, text in enumerate(CLASSES):
        base = "T" if "union" not in text else "char"
        found.append(
            f"namespace c{i} {{\n{text}\nstruct D{'' if base == 'char' else ' : T'} {{ char last; }};\n"
            f"struct E {{ char first; alignas(T) unsigned char t[sizeof(T)]; }};\n"
            f"__global__ void k{i}(int* o) {{ int i = 0;\n"
            + "".join(f"o[i++] = {x};\n" for x in TRAITS) + "}\n}\n"
        )  # fmt: skip
    module = we.ptx.Module.from_cuda(HOST + "".join(found), compiler=compiler)
    rows = {}
    for i, text in enumerate(CLASSES):
        out = np.zeros(len(TRAITS), np.int32)
        module[f"k{i}"][1, 1](out)
        rows[text] = dict(zip(TRAITS, out.tolist(), strict=True))
    return rows
