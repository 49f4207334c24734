# SPDX-License-Identifier: MIT
"""References to shared variables are inserted into functions only."""

import pytest

from wmma_emu.ptx.names.references import name_of_reference, with_references


def added(source):
    """Return the inserted references of a source, as (number, name)."""
    text = with_references(source)
    assert text.count("\n") == source.count("\n")
    return [name_of_reference(x.split(" ")[0]) for x in text.split("auto& ")[1:] if x.startswith("wmma_emu_")]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__global__ void k() { __shared__ float a[4]; }", ["a"]),
        ("__global__ void k() { __shared__ float a[4], b, *c; }", ["a", "b", "c"]),
        ("__global__ void k() { __shared__ Tile<4, (2 > 1)> t, u[N < 4 ? 1 : 2]; }", ["t", "u"]),
        ("__global__ void k() { alignas(16) static __shared__ __align__(8) half s[2][M + 8]; }", ["s"]),
        ("__global__ void k() { volatile __shared__ ns::T<float>::Storage s; }", ["s"]),
        ("__global__ void k() { __shared__ struct { int a; float b[2]; } s; }", ["s"]),
        ("__global__ void k() { for (;;) { if (x) { __shared__ int one; } } }", ["one"]),
        ("namespace n { template <int N> __global__ void\nk(int x)\n{\n __shared__ int one;\n} }", ["one"]),
        ("__global__ void k() { extern __shared__ float s[]; __shared__ int a; }", ["a"]),
        ("__global__ void k() { __shared__ extern float s[]; }", []),
        ("__shared__ int outer[12]; namespace n { __shared__ int other; }", []),
        ("#include <x>\n#define F(x) x\nnamespace n {\n__shared__ int other; }", []),
        ('__global__ void k() { // __shared__ int a;\n /* __shared__ int b; */ f("__shared__ int c;"); }', []),
        ("__global__ void k() { __shared__ float a[4", []),
        ("__global__ void k() { __shared__", []),
        ("}}}} { __shared__ ; ) ( }", []),
        ("", []),
    ],
)
def test_shared_variables_of_functions_get_references(source, names):
    assert [x for _, x in added(source)] == names


def test_references_are_numbered_in_source_order():
    source = "void k() { { __shared__ int one; } { __shared__ int one; __shared__ int two; } }"
    assert added(source) == [(0, "one"), (1, "one"), (2, "two")]


@pytest.mark.thorough
def test_a_long_source_is_processed_in_linear_time():
    source = "void k() { " + "__shared__ float a[4]; " * 20000 + "}" + "/* " * 20000 + '"' * 20001 + " " * 50000
    assert with_references(source).count("auto&") == 20000
