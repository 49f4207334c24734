# SPDX-License-Identifier: MIT
"""Python values become the bytes of a kernel's parameters, or an error that says what is legal."""

import struct

import ml_dtypes
import numpy as np
import pytest

from tests.ptx.texts_of_launches import entry
from wmma_emu.errors import FragmentMismatchError
from wmma_emu.ptx import Struct
from wmma_emu.ptx.launch.arguments import ArgumentReader, pack_parameters
from wmma_emu.ptx.program.build import program_of


def kernel_with(*declarations):
    return program_of(entry(", ".join(f".param {x}" for x in declarations))).kernels["k"]


def packed(declaration, value):
    program = kernel_with(declaration.replace("TYPE", "p"))
    return pack_parameters(program, ArgumentReader(program).read([value]), lambda array, label: 0x1234)


@pytest.mark.parametrize(("declaration", "value", "expected"), [
    (".u32 p", 7, struct.pack("<I", 7)),
    (".u32 p", -1, b"\xff" * 4),
    (".u32 p", 2**32 - 1, b"\xff" * 4),
    (".s32 p", -(2**31), struct.pack("<i", -(2**31))),
    (".u8 p", True, b"\x01"),
    (".u16 p", np.int16(-2), struct.pack("<h", -2)),
    (".u64 p", 2**63, struct.pack("<Q", 2**63)),
    (".u64 p", None, bytes(8)),
    (".u64 .ptr .global .align 4 p", 0, bytes(8)),
    (".u64 .ptr .global .align 4 p", None, bytes(8)),
    (".u64 p", np.zeros(3, np.float32), struct.pack("<Q", 0x1234)),
    (".u64 p", np.array(3.0), struct.pack("<Q", 0x1234)),
    (".u32 p", np.array(3), struct.pack("<I", 3)),
    (".b32 p", np.float32(-1.5), struct.pack("<f", -1.5)),
    (".b32 p", 5, struct.pack("<I", 5)),
    (".b16 p", ml_dtypes.bfloat16(1.0), b"\x80\x3f"),
    (".b16 p", np.float16(1.0), b"\x00\x3c"),
    (".f32 p", 0.1, np.float32(0.1).tobytes()),
    (".f32 p", np.float64(1 + 2**-24 + 2**-40), np.uint32(0x3F800001).tobytes()),
    (".f32 p", np.float16(1e-7), np.float32(np.float16(1e-7)).tobytes()),
    (".f32 p", 3, np.float32(3).tobytes()),
    (".f32 p", 1e300, np.float32(np.inf).tobytes()),
    (".f32 p", float("nan"), b"\x00\x00\xc0\x7f"),
    (".f32 p", np.uint32(0x7F812345).view(np.float32), b"\x45\x23\x81\x7f"),
    (".f64 p", np.float32(0.1), struct.pack("<d", float(np.float32(0.1)))),
    (".f64 p", 10**400 // 10**399, struct.pack("<d", 10.0)),
    (".align 8 .b8 p[16]", bytes(range(16)), bytes(range(16))),
    (".align 2 .b8 p[2]", np.float16(2.0), b"\x00\x40"),
    (".align 8 .b8 p[16]", Struct(np.zeros(2), np.float32(0.5)), struct.pack("<Qfi", 0x1234, 0.5, 0)),
    (".align 4 .b8 p[8]", np.array([(1, 2.0)], [("n", "<i4"), ("x", "<f4")])[0], struct.pack("<if", 1, 2)),
])  # fmt: skip
def test_a_value_becomes_the_bytes_that_its_parameter_has(declaration, value, expected):
    assert packed(declaration, value) == expected


@pytest.mark.parametrize(("declaration", "value", "message"), [
    (".u32 p", 2**32, r"argument 0 \(p\) of k is a \.u32: an integer from -2147483648 to 4294967295, not 4294967296"),
    (".s32 p", 2**31, "from -2147483648 to 2147483647, not 2147483648"),
    (".u8 p", 256, "from -128 to 255, not 256"),
    (".u32 p", 3.0, r"an integer, not 3\.0; int\(3\.0\) is one"),
    (".u32 p", np.float32(1), r"an integer, not np\.float32\(1\.0\)"),
    (".u32 p", np.zeros(3), r"an integer, not an array \(float64, shape \(3,\)\)"),
    (".u32 p", None, "an integer, not None"),
    (".f32 p", "1", "a number, not '1'"),
    (".f32 p", 2**24 + 1, None),
    (".f64 p", 2**53 + 1, "9007199254740993 is not representable: pass a float"),
    (".f64 p", 10**400, "is not representable"),
    (".f32 p", 1j, "a number, not 1j"),
    (".u64 .ptr .global .align 4 p", 1, "a pointer: a NumPy array, or 0 if it is unused, not 1"),
    (".u64 .ptr .global .align 4 p", [1.0], r"is a list; a kernel updates NumPy arrays in place.*np\.array"),
    (".u64 p", np.ma.zeros(3), "masked array"),
    (".u64 p", np.array([None]), "Python objects"),
    (".u64 p", np.zeros(3, ">f4"), "with swapped bytes"),
    (".u64 p", np.zeros((4, 4))[:, ::2], "a view that is not contiguous"),
    (".align 8 .b8 p[16]", bytes(15), "a struct of 16 bytes.* has 15 bytes"),
    (".align 8 .b8 p[16]", 3, "a struct of 16 bytes: bytes, a NumPy record, a ctypes.Structure or a wmma_emu"),
    (".align 8 .b8 p[16]", Struct(np.int32(1)), "has 4 bytes"),
    (".u32 p", b"abc", "has 3 bytes"),
])  # fmt: skip
def test_an_error_names_a_value_that_does_not_fit_and_the_legal_values(declaration, value, message):
    if message is None:  # f32 accepts values that are rounded, as in C
        assert packed(declaration, value) == np.float32(2**24).tobytes()
        return
    with pytest.raises(FragmentMismatchError, match=message):
        packed(declaration, value)


def test_parameters_are_laid_out_by_their_alignment():
    program = kernel_with(".u8 a", ".align 8 .b8 s[12]", ".u16 c", ".u64 p")
    arguments = ArgumentReader(program).read([1, bytes(range(12)), 2, 0xABCD])
    data = pack_parameters(program, arguments, lambda array, label: 0)
    expected = b"\x01" + bytes(7) + bytes(range(12)) + b"\x02\x00" + bytes(2) + struct.pack("<Q", 0xABCD)
    assert data == expected


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_count_has_to_be_right_and_the_parameters_are_listed(count):
    program = kernel_with(".u64 .ptr .global x", ".f32 a")
    with pytest.raises(
        FragmentMismatchError, match=r"k takes 2 arguments, \d w\w+ given; its .*x \.u64 pointer, a \.f32"
    ):
        ArgumentReader(program).read([0] * count)


def test_names_of_the_source_replace_those_of_the_text_and_hidden_parameters_are_zero():
    program = kernel_with(".u64 k_param_0", ".u64 k_param_1")
    arguments = ArgumentReader(program, labels=("n",), hidden=1).read([5])
    assert [x.label for x in arguments] == ["argument 0 (n) of k", "k_param_1"]
    assert pack_parameters(program, arguments, lambda array, label: 0) == struct.pack("<QQ", 5, 0)


def test_a_tensor_of_another_library_is_refused_with_the_way_to_pass_it():
    class Tensor:
        __module__ = "torch"

        def __array__(self):
            return np.zeros(3)

    with pytest.raises(FragmentMismatchError, match=r"is a torch\..*Tensor.*x\.numpy\(\) shares the memory"):
        packed(".u64 p", Tensor())


def test_structs_nest_and_reject_values_without_a_type():
    inner = Struct(np.int8(1), np.int16(2))
    assert Struct(np.int8(9), inner, None).pack(lambda array: 0) == b"\x09\x00\x01\x00\x02\x00\x00\x00" + bytes(8)
    with pytest.raises(FragmentMismatchError, match="field 1 of a struct is 3; fields are arrays, None, and scalars"):
        Struct(None, 3)
