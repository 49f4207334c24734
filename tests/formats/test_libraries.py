# SPDX-License-Identifier: MIT
"""Operands of another library give results of that library: the rule, for a library defined in this file.

tests/test_torch.py and tests/test_jax.py test the two supported libraries if they are installed.
"""

import sys
import types

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.formats import libraries
from wmma_emu.formats.libraries import Library, in_library, library_of, takes_tensors
from wmma_emu.testing import assert_bits_equal, error_report

A = (np.arange(-40, 24).reshape(4, 16) / 8).astype(ml_dtypes.bfloat16)
B = (np.arange(-40, 24).reshape(16, 4) / 4).astype(ml_dtypes.bfloat16)


class Boxed:
    """An array in a box, which NumPy cannot read."""

    def __init__(self, data):
        self.data = data
        self.shape = data.shape


class Foreign(Boxed):
    """A box of another library."""


def opened(array, name):
    if not isinstance(array.data, np.ndarray):
        raise FragmentMismatchError(f"{name} is an empty box")
    return array.data


@pytest.fixture(autouse=True)
def boxes(monkeypatch):
    """Register two libraries of boxes, one without a dtype for FP4."""
    first = Library("boxes", "Boxed", opened, lambda x: Boxed(x.view(np.uint8) if x.dtype.name[:6] == "float4" else x))
    other = Library("crates", "Foreign", opened, Foreign)
    monkeypatch.setitem(sys.modules, "crates", types.SimpleNamespace(Foreign=Foreign))
    monkeypatch.setitem(sys.modules, "boxes", types.SimpleNamespace(Boxed=Boxed))
    monkeypatch.setattr(libraries, "LIBRARIES", (other, first))
    return first


def same(box, expected):
    assert type(box) is Boxed
    assert_bits_equal(box.data, expected)


def test_a_function_of_numpy_arrays_accepts_boxes_and_returns_one():
    seen = []

    @takes_tensors
    def both(x, y, *, z=None):
        seen.extend((type(x), type(y), type(z)))
        return x, [y], "text"

    x, y, text = both(Boxed(A), B, z=Boxed(B))
    assert (seen, text) == ([np.ndarray] * 3, "text")
    same(x, A)
    assert_bits_equal(y[0], B)
    assert both(A, B)[0] is A and seen[3:] == [np.ndarray, np.ndarray, type(None)]


def test_operands_of_two_libraries_are_rejected():
    message = "A is an array of boxes and B one of crates, .* or B as a NumPy array"
    with pytest.raises(FragmentMismatchError, match=message):
        we.gemm(Boxed(A), Foreign(B))


def test_the_error_for_an_unreadable_operand_contains_its_name():
    for call in (lambda x: we.gemm(A, B, bias=x), lambda x: we.gemm(A, B, None, bias=x)):
        with pytest.raises(FragmentMismatchError, match="bias is an empty box"):
            call(Boxed(types.SimpleNamespace(shape=(4,))))
    with pytest.raises(FragmentMismatchError, match="B is an empty box"):
        we.gemm(A, Boxed(types.SimpleNamespace(shape=(16, 4))))


C = np.ones((4, 4), np.float32)
GEMMS = {
    "A": ((Boxed(A), B), {}),
    "B": ((A, Boxed(B)), {}),
    "C": ((A, B, Boxed(C)), {}),
    "bias": ((A, B), {"bias": Boxed(C[0])}),
    "C of an epilogue": ((A, B, Boxed(C)), {"alpha": 0.5, "beta": 2.0}),
    "scales": ((A, B), {"scale_a": Boxed(np.float32(0.5)[None, None]), "scale_b": np.float32(3)[None, None]}),
    "bf16": ((Boxed(A), Boxed(B)), {"out_dtype": ml_dtypes.bfloat16}),
    "preset": ((Boxed(A), Boxed(B)), {"like": "cublas-sm90-bf16"}),
}


def without_boxes(x):
    return x.data if isinstance(x, Boxed) else x


@pytest.mark.filterwarnings("ignore::wmma_emu.UnverifiedModelWarning")
@pytest.mark.parametrize("name", GEMMS)
def test_gemm_returns_the_bits_of_numpy_arrays_in_a_box_whichever_operand_is_in_one(name):
    args, keywords = GEMMS[name]
    plain = {key: without_boxes(x) for key, x in keywords.items()}
    same(we.gemm(*args, **keywords), we.gemm(*map(without_boxes, args), **plain))


def test_instructions_return_registers_and_matrices_in_boxes():
    ins = we.instruction("m16n8k16.f32.bf16.bf16.f32", arch="h100")
    a, b = np.tile(A, (4, 1)), np.tile(B, (1, 2))
    expected = ins(a, b)
    same(ins(Boxed(a), b), expected)
    same(we.mma(a, Boxed(b), arch="h100"), expected)
    registers = [x.pack(Boxed(y)) for x, y in ((ins.a, a), (ins.b, b), (ins.c, np.zeros_like(expected)))]
    same(registers[0], ins.a.pack(a))
    same(ins.d.unpack(ins.execute(*registers)), expected)
    sparse = we.instruction("mma.sp.m16n8k16.f32.f16.f16.f32")
    zeros = np.tile(np.array([0, 3, 0, 5], np.float16), (16, 4))
    for box, array in zip(sparse.compress(Boxed(zeros)), sparse.compress(zeros), strict=True):
        same(box, array)


def test_comparisons_and_reports_have_results_in_boxes_and_are_otherwise_the_same():
    compared, plain = (we.compare_archs(x, B, archs=["a100", "h100"]) for x in (Boxed(A), A))
    same(compared.results["sm_90"], plain.results["sm_90"])
    assert str(compared) == str(plain) and compared.worst("h100") == plain.worst("h100")
    assert (compared.to_dict(), compared.shape) == (plain.to_dict(), (4, 4))
    report, plain = (error_report(None, A, x) for x in (Boxed(B), B))
    same(report.result, plain.result)
    assert str(report) == str(plain) and str(report.explain(0, 0)) == str(plain.explain(0, 0))
    assert report.in_library(None).result.dtype == np.float32


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4_e2m1", "mxfp6_e2m3", "nvfp4"])
def test_quantise_returns_boxes_with_the_same_values(name):
    x = np.linspace(-3, 5, 128, dtype=np.float32).reshape(2, 64)
    boxed, plain = we.quantise.quantise(Boxed(x), name), we.quantise.quantise(x, name)
    patterns = plain.elements.dtype.name == "float4_e2m1fn"
    same(boxed.elements, plain.element_bits if patterns else plain.elements)
    same(boxed.scales, plain.scales)
    same(boxed.element_bits, plain.element_bits)
    same(boxed.scale_bits, plain.scale_bits)
    same(boxed.dequantise(np.float32), plain.dequantise(np.float32))
    same(boxed.blocked_scales(), plain.blocked_scales())
    assert repr(boxed) == repr(plain)
    assert_bits_equal(boxed.in_library(None).elements, plain.elements)


def test_quantised_boxes_are_operands():
    x = np.linspace(-3, 5, 128, dtype=np.float32).reshape(2, 64)
    a, b = we.quantise.quantise(x, "nvfp4"), we.quantise.quantise(x.T, "nvfp4", axis=0)
    boxed = we.quantise.quantise(Boxed(x), "nvfp4")
    with pytest.warns(we.UnverifiedModelWarning):
        same(we.gemm(boxed, b, arch="sm_120"), we.gemm(a, b, arch="sm_120"))


def test_arrays_belong_to_a_library_only_if_it_is_imported(monkeypatch, boxes):
    assert library_of(Boxed(A)) is boxes and library_of(A) is None and library_of(None) is None
    monkeypatch.delitem(sys.modules, "boxes")
    assert library_of(Boxed(A)) is None
    assert in_library({"D": A}, boxes) == {"D": A}
