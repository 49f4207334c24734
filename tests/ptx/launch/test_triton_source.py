# SPDX-License-Identifier: MIT
"""Triton kernels through Triton's own compiler, without a GPU or a driver."""

import sys

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import (
    AlignmentError,
    BackendUnavailableError,
    CompilationError,
    FragmentMismatchError,
    KernelFindingsError,
)

pytest.importorskip("triton")
from tests.ptx import triton_kernels as kernels

pytestmark = pytest.mark.thorough

SIGNATURE = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def module(**keywords):
    return we.ptx.Module.from_triton(kernels.add_twice, SIGNATURE, {"BLOCK": 128}, findings="raise", **keywords)


def arrays(n):
    x, y = (np.random.default_rng(seed).standard_normal(n).astype(np.float32) for seed in (0, 1))
    return x, y, np.zeros(n, np.float32)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_kernel_is_launched_with_a_grid_alone(arch):
    x, y, out = arrays(1000)
    report = module(arch=arch, num_warps=2).kernel[8](x, y, out, 1000)
    assert np.array_equal(out, x + 2 * y) and report.kernel == "add_twice"


def test_a_grid_that_is_too_large_for_a_promise_is_caught_with_its_line():
    x, y, out = arrays(1000)
    with pytest.raises(KernelFindingsError, match=r"out of bounds of x at triton_kernels\.py:14\n") as error:
        module()["add_twice"][(8,)](x, y, out, 1001)
    found = error.value.report.findings
    assert {(x.kind, x.count) for x in found} == {("out of bounds", 1)} and not out.any()
    assert [[(side.role, side.where) for side in x.sides] for x in found] == [
        [(role, "triton_kernels.py:14")] for role in ("reads", "reads", "writes")
    ]
    for i, (name, finding) in enumerate(zip(("x", "y", "out"), found, strict=True)):
        assert finding.element == f"{name}[1000]"
        said = f"{name}[1000] (4 bytes): just past the end of {name} (argument {i}), which has 1000 elements"
        assert finding.message == f"{finding.sides[0].role} {said}"


def test_promises_of_divisibility_are_kept():
    x, y, out = arrays(1001)
    with pytest.raises(AlignmentError, match=r"argument 2 \(out\) of add_twice was promised to be a multiple of 16"):
        module().kernel[8](x, y, out[1:], 1000)
    promised = module(divisible_by_16=["n"])
    with pytest.raises(AlignmentError, match=r"argument 3 \(n\) .* is 1001; remove n from divisible_by_16"):
        promised.kernel[8](x, y, out, 1001)
    promised.kernel[8](x, y, out[1:], 992)
    assert np.array_equal(out[1:993], (x + 2 * y)[:992])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_product_has_the_bits_of_the_instruction_that_triton_takes(arch):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float16)
    d = np.zeros((64, 64), np.float32)
    signature = {"a": "*fp16", "b": "*fp16", "d": "*fp32", "n": "i32"}
    made = we.ptx.Module.from_triton(kernels.product, signature, {"N": 64}, arch)
    report = made.kernel[1](a, b, d, 64)
    name = "m16n8k16.f32.f16.f16.f32" if arch == "sm_80" else "wgmma.m64n64k16.f32.f16.f16"
    assert d.tobytes() == we.gemm(a, b, instr=name, arch=arch).tobytes() and report.findings == ()


@pytest.mark.parametrize(("function", "signature", "constexprs", "error", "message"), [
    ("broken", {"x": "*fp32"}, {"BLOCK": 1}, CompilationError, "broken .* does not compile: .*nothing is not defined"),
    ("add_twice", {}, {}, FragmentMismatchError, r"needs a type or a value for x, y, out, n, BLOCK: signature="),
    ("add_twice", {"z": "i32"}, {}, FragmentMismatchError, r"names z, not a parameter of add_twice\(x, y, out,"),
    ("add_twice", SIGNATURE | {"n": "int"}, {"BLOCK": 8}, FragmentMismatchError,
     r"the type of n of add_twice is 'int'; Triton has i1, i8, .*, fp16, .*pointers.*\*fp32; did you mean 'i32'\?"),
    ("add_twice", SIGNATURE | {"x": "*half"}, {"BLOCK": 8}, FragmentMismatchError, r"did you mean '\*fp16'\?"),
    ("add_twice", SIGNATURE | {"x": "*fp33"}, {"BLOCK": 8}, FragmentMismatchError, r"did you mean '\*fp32'\?"),
    (None, {}, {}, FragmentMismatchError, "is not a Triton kernel; decorate it with triton.jit"),
])  # fmt: skip
def test_a_compilation_error_explains_the_reason(function, signature, constexprs, error, message):
    given = getattr(kernels, function) if function else len
    with pytest.raises(error, match=f"(?s){message}"):
        we.ptx.Module.from_triton(given, signature, constexprs)


def test_without_triton_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", None)
    with pytest.raises(BackendUnavailableError, match=r"from a clone of wmma_emu: pip install '\.\[triton\]'"):
        we.ptx.Module.from_triton(kernels.add_twice, {}, {})


def test_arrays_have_the_types_of_the_signature():
    x, y, out = arrays(1000)
    launch = module().kernel[8]
    with pytest.raises(
        FragmentMismatchError,
        match=r"argument 1 \(y\) of add_twice is \*fp32, but the array is of float16 .*: pass an array of np\.float32",
    ):
        launch(x, y.astype(np.float16), out, 1000)
    with pytest.raises(FragmentMismatchError, match=r"argument 3 \(n\) .* is i32: an integer from -2147483648 to"):
        launch(x, y, out, 2**31)
    with pytest.raises(FragmentMismatchError, match="not contiguous"):
        launch(x[::2], y, out, 500)
    launch(x.view(np.int32), y, out.view(np.uint32), 1000)
    assert np.array_equal(out, x + 2 * y)
    shown = str(module().explain())
    assert "0: *fp32 x; .u64 pointer to global memory" in shown and "3: i32 n; .u32" in shown and "types" not in shown
