# SPDX-License-Identifier: MIT
"""The types of a kernel's parameters, from its mangled name, from Triton's signature, from numba's ABI."""

import json

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import entry
from wmma_emu.errors import AlignmentError, FragmentMismatchError
from wmma_emu.ptx.launch.source_types import types_of_name, types_of_triton
from wmma_emu.ptx.program.build import program_of

PTX = {
    "f": ".f32", "d": ".f64", "i": ".u32", "j": ".u32", "b": ".u8", "c": ".u8", "a": ".u8", "h": ".u8", "s": ".u16",
    "t": ".u16", "l": ".u64", "m": ".u64", "x": ".u64", "y": ".u64", "6__half": ".align 2 .b8 p0[2]",
}  # fmt: skip


def kernel(mangled, *types):
    """Build a module of a kernel of that name, which does nothing."""
    declared = [x if x.endswith(("]", "p0")) else f"{x} {mangled}_param_{i}" for i, x in enumerate(types)]
    text = entry(", ".join(f".param {x}" for x in declared), "ret;").replace("entry k(", f"entry {mangled}(")
    return we.ptx.Module(text, arch="sm_90", findings="raise").kernel


def pointer_to(code):
    return kernel(f"_Z1kP{code}", ".u64")


LEGAL = [
    ("f", np.float32), ("Kf", np.float32), ("f", np.uint32), ("f", np.int32), ("f", [("x", "<f4"), ("y", "<f4")]),
    ("6float4", np.float32), ("6float4", np.uint32), ("6float2", np.complex64), ("7double2", np.complex128),
    ("11double4_16a", np.float64),
    ("6__half", np.float16), ("7__half2", np.float16), ("6__half", np.uint16),
    ("13__nv_bfloat16", ml_dtypes.bfloat16), ("14__nv_bfloat162", ml_dtypes.bfloat16),
    ("13__nv_fp8_e4m3", ml_dtypes.float8_e4m3fn), ("15__nv_fp8x4_e5m2", ml_dtypes.float8_e5m2),
    ("15__nv_fp4x2_e2m1", np.uint8), ("N7cutlass6half_tE", np.float16), ("N3c108BFloat16E", ml_dtypes.bfloat16),
    ("i", np.int32), ("i", np.uint32), ("j", np.int32), ("5uint4", np.uint32), ("l", np.int64), ("y", np.int64),
    ("b", np.bool_), ("b", np.uint8), ("a", np.int8), ("6uchar4", np.uint8),
    ("v", np.float64), ("Kv", np.int8), ("c", np.float16), ("h", ml_dtypes.bfloat16), ("St4byte", np.complex64),
    ("4What", np.float64), ("N2ns4WhatIfEE", [("a", "<u2"), ("b", "<f8")]), ("Pf", np.uint64),
    ("N4cuda3std3__47complexIfEE", np.complex64), ("A4_f", np.float32),
]  # fmt: skip


@pytest.mark.parametrize(("code", "dtype"), LEGAL, ids=lambda x: str(x)[:40])
def test_a_pointer_accepts_arrays_of_its_pointee(code, dtype):
    assert pointer_to(code)[1, 1](np.zeros(4, dtype)).findings == ()


ILLEGAL = [
    ("f", np.float64, "np.float32"), ("f", np.float16, "np.float32"), ("f", np.complex64, "np.float32"),
    ("f", np.uint64, "np.float32"), ("f", [("x", "<f4"), ("y", "<f8")], "np.float32"),
    ("6float4", np.float64, "np.float32"), ("6__half", np.float32, "np.float16"),
    ("6__half", ml_dtypes.bfloat16, "np.float16"), ("13__nv_bfloat16", np.float16, "ml_dtypes.bfloat16"),
    ("13__nv_fp8_e4m3", ml_dtypes.float8_e5m2, "ml_dtypes.float8_e4m3fn"), ("i", np.float32, "np.int32"),
    ("i", np.int64, "np.int32"), ("5uint4", np.float16, "np.uint32"), ("b", np.int32, "np.bool_"),
    ("15__nv_fp4x2_e2m1", ml_dtypes.float4_e2m1fn, "np.uint8"), ("Pf", np.float64, "np.uint64"),
    ("N4cuda3std3__47complexIfEE", np.complex128, "np.complex64"), ("A4_f", np.float64, "np.float32"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "dtype", "fix"), ILLEGAL, ids=lambda x: str(x)[:40])
def test_an_array_of_another_type_is_refused_with_what_to_write(code, dtype, fix):
    x = np.zeros(4, dtype)
    message = rf"argument 0 of k is .*\*?.*, but the array is of .*: pass an array of {fix}, such as y = x\.astype"
    with pytest.raises(FragmentMismatchError, match=message):
        pointer_to(code)[1, 1](x)
    assert pointer_to(code)[1, 1](we.ptx.raw(x)).findings == ()


def test_the_message_names_the_type_as_the_source_does():
    with pytest.raises(FragmentMismatchError, match=r"argument 0 of k is const half\*, but the array is of float32"):
        kernel("_Z1kPK6__half", ".u64")[1, 1](np.zeros(4, np.float32))


def test_a_wrong_number_of_arguments_is_answered_with_the_types_of_the_source():
    with pytest.raises(FragmentMismatchError, match=r"2 arguments, 1 was given; its parameters are float\*, int$"):
        kernel("_Z1kPfi", ".u64", ".u32")[1, 1](np.zeros(4, np.float32))


def test_an_argument_passed_by_name_is_rejected_as_positional():
    said = "k takes 2 arguments, 1 was given; its parameters are float*, int. Kernel arguments are positional: pass"
    with pytest.raises(FragmentMismatchError) as caught:
        kernel("_Z1kPfi", ".u64", ".u32")[1, 1](np.zeros(4, np.float32), n=4, findings="report")
    assert str(caught.value) == f"{said} the value of n= at its position, without the name"


def test_messages_state_that_arguments_are_counted_from_0():
    with pytest.raises(FragmentMismatchError, match=r"^argument 1 of k \(counted from 0\) is int: an integer, not 'x'"):
        kernel("_Z1kPfi", ".u64", ".u32")[1, 1](np.zeros(4, np.float32), "x")


def test_a_finding_names_an_argument_with_its_type():
    text = entry(".param .u64 _Z1kPi_param_0", """.reg .b64 %rd<2>; .reg .b32 %r<2>;
        ld.param.u64 %rd1, [_Z1kPi_param_0]; st.global.u32 [%rd1+64], 5; ret;""")  # fmt: skip
    module = we.ptx.Module(text.replace("entry k(", "entry _Z1kPi("), findings="report")
    (found,) = module.kernel[1, 1](np.zeros(4, np.int32)).findings
    assert found.message.endswith(": 48 bytes past the end of argument 0 (int*), which has 4 elements")


@pytest.mark.parametrize(("code", "value"), [
    ("i", -1), ("i", 2**31 - 1), ("j", 2**32 - 1), ("j", True), ("b", True), ("b", 1), ("a", -128), ("h", 255),
    ("y", 2**64 - 1), ("l", -(2**63)), ("f", 0.5), ("f", 3), ("f", np.float64(0.1)), ("i", np.int64(7)),
    ("6__half", np.float16(1)), ("6__half", np.uint16(1)), ("6__half", b"ab"),
])  # fmt: skip
def test_a_number_is_within_the_range_of_its_type(code, value):
    assert kernel(f"_Z1k{code}", PTX[code])[1, 1](value).findings == ()


@pytest.mark.parametrize(("code", "value", "message"), [
    ("i", 2**31, "is int: an integer from -2147483648 to 2147483647, not 2147483648"),
    ("j", -1, "is unsigned int: an integer from 0 to 4294967295, not -1"),
    ("j", np.int32(-1), "from 0 to 4294967295"),
    ("b", 2, "is bool: an integer from 0 to 1, not 2"),
    ("h", -1, "is unsigned char: an integer from 0 to 255"),
    ("a", 128, "is signed char: an integer from -128 to 127"),
    ("y", -1, "is unsigned long long: an integer from 0 to 18446744073709551615"),
    ("i", np.float64(1), "is int: an integer, not np.float64"),
    ("l", np.zeros(3), r"is long: an integer, not an array \(float64, shape \(3,\)\)"),
    ("f", np.zeros(3, np.float32), "is float: a number, not an array"),
    ("6__half", ml_dtypes.bfloat16(1), "is half, a struct of 2 bytes.* of type bfloat16"),
    ("6__half", 1.0, "is half, a struct of 2 bytes"),
])  # fmt: skip
def test_a_number_outside_the_range_of_its_type_is_rejected(code, value, message):
    with pytest.raises(FragmentMismatchError, match=message):
        kernel(f"_Z1k{code}", PTX[code])[1, 1](value)


def test_a_pointer_accepts_only_the_number_zero():
    assert pointer_to("f")[1, 1](0).findings == pointer_to("f")[1, 1](None).findings == ()
    with pytest.raises(FragmentMismatchError, match=r"float\*: a NumPy array, or 0 if it is unused, not 4096"):
        pointer_to("f")[1, 1](4096)


@pytest.mark.parametrize(("name", "types", "reason"), [
    ("scale", (".u64",), 'the name is not mangled (extern "C"), so it has no types'),
    ("_ZQQ", (".u64",), "the mangled name is not understood"),
    ("_Z1kPf", (".u64", ".u64"), "the name has 1 parameters, the kernel 2"),
    ("_Z1kPfi", (".u64", ".u64"), "the name has int where the kernel has 8 bytes"),
    ("_Z1k", (".u64",), "the name contains no parameter types"),
])  # fmt: skip
def test_a_name_without_types_does_not_prevent_a_launch(name, types, reason):
    launched = kernel(name, *types)
    assert launched.types == ((), reason)
    assert launched[1, 1](*(np.zeros(2) for _ in types)).findings == ()
    (explained,) = launched.module.explain().kernels
    assert f"unknown: {reason}" in str(explained) and explained.to_dict()["types_not_known"] == reason


def test_a_template_has_the_type_of_its_result_before_its_parameters():
    assert [x.text for x in kernel("_Z1kIfEvPT_i", ".u64", ".u32").types.types] == ["float*", "int"]


def test_a_struct_by_value_is_one_parameter():
    launched = kernel("_Z1k1PPf", ".align 8 .b8 p0[16]", ".u64")
    assert [x.text for x in launched.types.types] == ["P", "float*"]
    launched[1, 1](we.ptx.Struct(np.zeros(2), np.int32(2)), np.zeros(2, np.float32))


def test_an_explanation_shows_the_types_of_the_source():
    launched = kernel("_Z4gemmPK6__halfPfi", ".u64", ".u64", ".u32")
    shown = str(launched.module.explain())
    assert "0: const half*; .u64, 8 bytes at 0" in shown and "2: int; .u32, 4 bytes at 16" in shown
    found = json.loads(json.dumps(launched.module.explain().to_dict()))["kernels"][0]
    assert [x["source_type"] for x in found["parameters"]] == ["const half*", "float*", "int"]
    assert [x["pointer"] for x in found["parameters"]] == [True, True, False] and found["types_not_known"] is None


def test_names_in_the_ptx_are_written_as_in_the_source():
    text = entry(".param .u64 A, .param .u64 rows, .param .u32 n", "ret;").replace("k(", "_Z1kPK6__halfPA4_fi(")
    shown = str(we.ptx.Module(text).explain())
    assert "0: const half* A; .u64, 8" in shown and "1: float (* rows)[4]; .u64" in shown and "2: int n; .u32" in shown


# Triton


def triton_types(signature):
    return types_of_triton(tuple(signature), signature).types


def test_triton_types_come_from_its_signature():
    a, b, c, n = triton_types({"a": "*fp16", "b": "*fp8e4nv", "c": "*i1", "n": "i32"})
    assert [x.element.holds(np.dtype(np.float16)) for x in (a, b, c)] == [True, False, False]
    assert b.element.holds(np.dtype(ml_dtypes.float8_e4m3fn)) and c.element.holds(np.dtype(np.bool_))
    assert (a.with_name, a.is_pointer, n.is_pointer, n.element.range) == ("*fp16 a", True, False, (-(2**31), 2**31 - 1))
    assert types_of_triton(("a", "b"), {"a": "*fp16"}).types == ()


# numba

ARRAYS = "_ZN6cudapy8__main__5saxpyB2v1B4cw51E5ArrayIfLi1E1C7mutable7alignedE5ArrayIDhLi2E1A8readonly7alignedEx"
PARTS = [".u64"] * (7 + 9 + 1)


def test_the_parameters_of_a_kernel_of_numba_are_named_by_their_arrays():
    launched = kernel(ARRAYS, *PARTS)
    shown = str(launched.module.explain())
    assert launched.called == "cudapy::__main__::saxpy"
    assert "4: float* data of argument 0, array(float, 1d, C); .u64, 8 bytes" in shown
    assert "14: long strides[0] of argument 1, array(_Float16, 2d, A); .u64, 8 bytes" in shown
    assert "16: long long, argument 2; .u64, 8 bytes" in shown


def test_the_data_of_an_array_of_numba_has_its_type():
    x, y = np.zeros(8, np.float32), np.zeros((2, 4), np.float16)
    launch = kernel(ARRAYS, *PARTS)[1, 1]
    of_y = (0, 0, 8, 2, y, 2, 4, 8, 2)
    launch(0, 0, 8, 4, x, 8, 4, *of_y, 3)
    with pytest.raises(FragmentMismatchError, match=r"17 arguments, 3 were .* as 0, 0, x\.size, x\.itemsize, x, \*x\."):
        launch(x, y, 3)
    with pytest.raises(FragmentMismatchError, match=r"argument 4 .* is float\*, but the array is of float64"):
        launch(0, 0, 8, 4, x.astype(np.float64), 8, 4, *of_y, 3)
    with pytest.raises(FragmentMismatchError, match=r"argument 2 .* is long: an integer, not an array"):
        launch(0, 0, x, 4, x, 8, 4, *of_y, 3)


def test_names_of_numba_itself_are_read():
    mangler = pytest.importorskip("numba.core.itanium_mangler")
    from numba import types as t

    given = [t.float32[::1], t.Array(t.float16, 3, "A", readonly=True), t.boolean, t.UniTuple(t.int64, 2), t.uint8,
             t.Tuple((t.int32, t.float64))]  # fmt: skip
    name = "_ZN6cudapy1m1kE" + mangler.mangle("k", given)[len("_Z1k") :]
    parts = [".u64"] * 7 + [".u64"] * 11 + [".u8", ".u64", ".u64", ".u8", ".u32", ".f64"]
    found = [x.text for x in kernel(name, *parts).types.types]
    assert found[4] == "float*" and found[7 + 4] == "_Float16*" and found[18:] == [
        "bool", "long long", "long long", "unsigned char", "int", "double",
    ]  # fmt: skip


# .ptr


def test_the_alignment_that_ptr_promises_is_kept():
    launch = kernel("k", ".u64 .ptr .global .align 16 p0")[1, 1]
    x = np.zeros(64, np.uint8)
    launch(x[16:])
    with pytest.raises(AlignmentError, match=r"starts 4 bytes after a multiple of 16, but \.ptr \.align 16 promises"):
        launch(x[4:])
    with pytest.raises(AlignmentError, match="starts 1 bytes after"):
        launch(we.ptx.raw(x[1:]))


@pytest.mark.parametrize("space", ["shared", "local", "const"])
def test_a_pointer_into_another_state_space_takes_no_array(space):
    launch = kernel("k", f".u64 .ptr .{space} .align 4 p0")[1, 1]
    launch(64)
    with pytest.raises(FragmentMismatchError, match=f"is an address in {space} memory: an integer, not an array"):
        launch(np.zeros(4))


def test_ptr_attributes_are_part_of_the_program():
    text = entry(".param .u64 .ptr .global .align 8 a, .param .u64 .ptr b, .param .u64 c", "ret;")
    found = program_of(text).kernels["k"].parameters
    assert [(x.is_pointer, x.pointee_space, x.pointee_alignment) for x in found] == [
        (True, "global", 8), (True, "", 0), (False, "", 0),
    ]  # fmt: skip
    assert types_of_name(program_of(text).kernels["k"]).types == ()
