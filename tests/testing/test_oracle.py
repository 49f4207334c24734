# SPDX-License-Identifier: MIT
"""The oracle of kernels: two versions of PTX, planted miscompilations, a kernel and its specification."""

import sys

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.variants.kernels import PRODUCT
from wmma_emu.errors import ArgumentError, ArgumentValueError, BackendUnavailableError, OptionError
from wmma_emu.testing import compare_kernels

AXPY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .f32 %f<5>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p exit;
    mad.wide.u32 %d1, %r2, 4, %d1;
    mad.wide.u32 %d2, %r2, 4, %d2;
    ld.global.f32 %f2, [%d1];
    ld.global.f32 %f3, [%d2];
    SUM
    st.global.f32 [%d2], %f4;
    ret;
}
"""
FUSED, SEPARATE = "fma.rn.f32 %f4, %f1, %f2, %f3;", "mul.rn.f32 %f4, %f1, %f2;\n    add.rn.f32 %f4, %f4, %f3;"
"""The sum as compilers write it with ``-fmad=true`` and with ``-fmad=false``."""


def axpy(how):
    kernel = we.ptx.Module(AXPY.replace("SUM", how), findings="raise")["axpy"]

    def run(x, y):
        kernel[1, 64](x, y, np.float32(3), len(x))
        return y

    return run


def vectors(rng, n):
    return rng.standard_normal((2, n)).astype(np.float32)[0], rng.standard_normal(n).astype(np.float32)


def product(text=PRODUCT):
    kernel = we.ptx.Module(text, "sm_80", engine="numpy", findings="raise")["product"]

    def run(a, b):
        d = np.zeros((len(a), 8), np.float32)
        kernel[(len(a) // 16, 1), 32](a, np.ascontiguousarray(b.T), d, a.shape[1])
        return d

    return run


def specification(a, b):
    return we.gemm(a, b, instr="m16n8k16.f32.f16.f16.f32", arch="sm_80", engine="numpy")


def matrices(rng, m, k):
    return tuple(rng.standard_normal(x).astype(np.float16) for x in ((m, k), (k, 8)))


SIZES = {"m": range(16, 49, 16), "k": range(16, 129, 16)}


def test_a_kernel_that_equals_its_specification_is_counted():
    found = compare_kernels(product(), specification, shapes=SIZES, inputs=matrices, count=12)
    assert found.cases == 12
    assert 1 < found.shapes <= 12
    assert found.elements % 128 == 0
    assert "have equal bits" in str(found)


def test_two_compilations_differ_in_the_bits_of_one_element():
    with pytest.raises(AssertionError) as caught:
        compare_kernels(axpy(FUSED), axpy(SEPARATE), shapes={"n": range(1, 65)}, inputs=vectors, names=("fma", "mul"))
    head, counted, *rest = str(caught.value).splitlines()
    assert head.startswith("fma (actual) and mul (expected) differ with n=1; drawn by seed=0; again: case={'n': 1, ")
    assert counted == "the only element differs: f32, shape (1,)"
    assert any(x.split()[:1] == ["[0]"] and x.count("0x") == 2 for x in rest)


def test_the_case_of_a_failure_fails_again_without_hypothesis():
    def compared(**options):
        with pytest.raises(AssertionError) as caught:
            compare_kernels(axpy(FUSED), axpy(SEPARATE), shapes={"n": range(1, 65)}, inputs=vectors, **options)
        return str(caught.value)

    drawn = compared(seed=3)
    case = eval(drawn.splitlines()[0].partition("case=")[2])
    assert compared(case=case).splitlines()[1:] == drawn.splitlines()[1:]
    assert compared(seed=3) == drawn


def test_a_planted_miscompilation_is_found_with_the_smallest_shape():
    # The step of B is half the right one, and only the first instruction reads the right elements.
    wrong = PRODUCT.replace("add.u64 %d2, %d2, 32;", "add.u64 %d2, %d2, 16;")
    assert wrong != PRODUCT
    with pytest.raises(AssertionError, match=r"differ with m=16, k=32; drawn by seed=0"):
        compare_kernels(product(wrong), specification, shapes=SIZES, inputs=matrices)


def test_a_miscompilation_of_the_last_tile_alone_is_found():
    # The lowest row of the second half of a tile is stored four bytes too far, and so another element is lost.
    wrong = PRODUCT.replace("red.global.add.f32 [%d3+260], %f4;", "red.global.add.f32 [%d3+256], %f4;")
    with pytest.raises(AssertionError, match=r"differ with m=16, k=16"):
        compare_kernels(product(wrong), specification, shapes=SIZES, inputs=matrices, count=5)


def test_each_implementation_has_separate_arrays():
    seen = []

    def writes(x):
        seen.append(x)
        x[...] = 0
        return x

    compare_kernels(writes, writes, shapes={"n": [1, 2]}, inputs=lambda rng, n: np.ones(n), count=3)
    assert len({id(x) for x in seen}) == len(seen)


def test_an_error_of_an_implementation_passes_with_the_case():
    def fails(x):
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError) as caught:
        compare_kernels(fails, fails, shapes={"n": [4, 2]}, inputs=lambda rng, n: np.ones(n))
    assert any("compare_kernels: with n=4; drawn by seed=0; again: case={'n': 4" in x for x in caught.value.__notes__)


def test_other_numbers_of_outputs_and_other_dtypes_differ():
    def run(*outputs):
        return lambda x: outputs

    one = np.ones(2, np.float32)
    with pytest.raises(AssertionError, match="1 arrays, and 2"):
        compare_kernels(run(one), run(one, one), shapes={"n": [1]}, inputs=lambda rng, n: one)
    with pytest.raises(AssertionError, match="output 1: actual is float32 and expected is float64"):
        compare_kernels(run(one, one), run(one, np.ones(2)), shapes={"n": [1]}, inputs=lambda rng, n: one)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"shapes": {}}, ArgumentError, "not a mapping of sizes"),
        ({"shapes": {"n": 4}}, ArgumentError, "the sizes of n are 4"),
        ({"shapes": {"n": []}}, ArgumentValueError, "expected at least one integer"),
        ({"shapes": {"n": [1.5]}}, ArgumentValueError, "expected at least one integer"),
        ({"seed": -1}, OptionError, "seed=-1"),
        ({"count": 0}, OptionError, "count=0"),
        ({"case": {"n": 1}}, ArgumentError, "needs exactly n and seed"),
        ({"inputs": None}, ArgumentError, "inputs=None cannot be called"),
    ],
)
def test_illegal_arguments_name_the_legal_ones(options, error, message):
    given = {"shapes": {"n": [1]}, "inputs": lambda rng, n: np.ones(n), **options}
    with pytest.raises(error, match=message):
        compare_kernels(np.copy, np.copy, **given)


def test_without_hypothesis_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(BackendUnavailableError, match="pip install hypothesis"):
        compare_kernels(np.copy, np.copy, shapes={"n": [1]}, inputs=lambda rng, n: np.ones(n))
