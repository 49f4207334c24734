# SPDX-License-Identifier: MIT
"""Structs as parameters: of ctypes, of NumPy, of bytes, with pointers to arrays in them."""

import ctypes
import struct
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import entry
from wmma_emu.errors import ArgumentError, ArgumentValueError, FragmentMismatchError, KernelFindingsError
from wmma_emu.ptx import Module, Struct, empty, raw

TEXT = (Path(__file__).parent / "pointers" / "pointers.ptx").read_text()
PRODUCT = Module(TEXT, arch="sm_80", findings="raise")["product"]


class Size(ctypes.Structure):
    _fields_ = [("m", ctypes.c_int), ("n", ctypes.c_int), ("k", ctypes.c_int)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("stride", ctypes.c_int64)]


class Epilogue(ctypes.Structure):
    _fields_ = [("alpha", ctypes.c_float), ("beta", ctypes.c_float), ("alpha_address", ctypes.POINTER(ctypes.c_float))]


class Params(ctypes.Structure):
    _fields_ = [
        ("size", Size), ("a", Tensor), ("b", Tensor), ("c", Tensor * 2), ("epilogue", Epilogue),
        ("flags", ctypes.c_uint8 * 3),
    ]  # fmt: skip


RECORD = np.dtype([
    ("size", [("m", "i4"), ("n", "i4"), ("k", "i4")]), ("a", [("data", "u8"), ("stride", "i8")]),
    ("b", [("data", "u8"), ("stride", "i8")]), ("c", [("data", "u8"), ("stride", "i8")], 2),
    ("epilogue", [("alpha", "f4"), ("beta", "f4"), ("alpha_address", "u8")]), ("flags", "u1", 3),
], align=True)  # fmt: skip


def matrices():
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(-8, 9, x).astype(np.float32) for x in ((5, 7), (7, 6), (5, 6)))
    return a, b, c, empty((5, 6), np.float32), np.array([2], np.float32)


def params_of(a, b, c, d, alpha, *, addresses: bool) -> Params:
    data = [x.ctypes.data if addresses else None for x in (a, b, c, d)]
    tensors = [Tensor(x, y.shape[1]) for x, y in zip(data, (a, b, c, d), strict=True)]
    found = Params(Size(5, 6, 7), *tensors[:2], (Tensor * 2)(*tensors[2:]), Epilogue(1, -1, None))
    if addresses:
        found.epilogue.alpha_address = alpha.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    return found


def pointers_to(a, b, c, d, alpha) -> dict:
    return {"a.data": a, "b.data": b, "c[0].data": c, "c[1].data": d, "epilogue.alpha_address": alpha}


def expected(a, b, c, d, alpha) -> np.ndarray:
    return 2 * (a @ b) - c  # exact: small integers


def as_params(arrays):
    return Struct(params_of(*arrays, addresses=False), pointers=pointers_to(*arrays))


def as_record(arrays):
    record = np.frombuffer(bytes(params_of(*arrays, addresses=False)), RECORD)[0]
    return Struct(record, pointers=pointers_to(*arrays))


def as_bytes(arrays):
    places = (16, 32, 48, 64, 88)
    return Struct(bytes(params_of(*arrays, addresses=False)), pointers=dict(zip(places, arrays, strict=True)))


def as_fields(arrays):
    a, b, c, d, alpha = arrays
    tensors = [Struct(x, np.int64(x.shape[1])) for x in (a, b, c, d)]
    size, epilogue = Struct(*np.array([5, 6, 7], np.int32)), Struct(np.float32(1), np.float32(-1), alpha)
    return Struct(size, *tensors, epilogue, *np.zeros(3, np.uint8))


@pytest.mark.parametrize("make", [as_params, as_record, as_bytes, as_fields])
@pytest.mark.parametrize("addresses", ["emulator", "host"])
def test_a_struct_of_any_origin_points_to_arrays(make, addresses):
    arrays = matrices()
    assert not PRODUCT[5, 32](make(arrays), addresses=addresses).findings
    assert np.array_equal(arrays[3], expected(*arrays))


def test_a_ctypes_struct_with_addresses_of_the_host_is_an_argument_as_it_is():
    arrays = matrices()
    report = PRODUCT[5, 32](params_of(*arrays, addresses=True), addresses="host", reachable=arrays)
    assert not report.findings and np.array_equal(arrays[3], expected(*arrays))


def test_addresses_of_the_host_in_a_record_or_in_bytes_do_not_change():
    for make in (lambda x: np.frombuffer(bytes(x), RECORD)[0], bytes, lambda x: Struct(bytes(x))):
        arrays = matrices()
        PRODUCT[5, 32](make(params_of(*arrays, addresses=True)), addresses="host", reachable=arrays)
        assert np.array_equal(arrays[3], expected(*arrays))


def test_an_address_of_the_host_needs_a_name_or_the_option():
    arrays = matrices()
    given = params_of(*arrays, addresses=True)
    with pytest.raises(ArgumentValueError, match=r'pointer a\.data of argument 0 of product is 0x.*addresses="host"'):
        PRODUCT[5, 32](given)
    rest = {name: x for name, x in pointers_to(*arrays).items() if name != "c[1].data"}
    with pytest.raises(ArgumentValueError, match=r'pointer c\[1\]\.data .*, pointers=\{"c\[1\]\.data": x'):
        PRODUCT[5, 32](Struct(given, pointers=rest))
    PRODUCT[5, 32](Struct(given, pointers=pointers_to(*arrays)))
    assert np.array_equal(arrays[3], expected(*arrays))


@pytest.mark.parametrize("addresses", ["emulator", "host"])
def test_a_finding_names_the_field_and_the_element(addresses):
    a, b, c, d, alpha = matrices()
    given = Struct(params_of(a, b, c, d, alpha, addresses=False), pointers=pointers_to(a[:4], b, c, d, alpha))
    with pytest.raises(KernelFindingsError, match=r"reads a\.data\[28\] \(4 bytes\): just past the end of a\.data of"):
        PRODUCT[5, 32](given, addresses=addresses)
    wide = Struct(params_of(a, b, c, d, alpha, addresses=False), pointers=pointers_to(a, b, c, d, alpha[:0]))
    with pytest.raises(KernelFindingsError, match=r"epilogue\.alpha_address\[0\] \(4 bytes\): just past"):
        PRODUCT[5, 32](wide, addresses=addresses)


@pytest.mark.parametrize("make", [as_params, as_record, as_bytes, as_fields])
def test_a_finding_of_a_struct_is_explained(make):
    a, b, c, _, alpha = matrices()
    report = PRODUCT[5, 32](make((a, b, c, empty((5, 6), np.float32)[:4], alpha)), findings="report", addresses="host")
    assert report.findings and report.findings[0].explain().is_replayed


def test_raw_arrays_are_their_bytes_and_a_null_pointer_is_none():
    data = Struct(b"\xff" * 24, pointers={0: None, 16: raw(np.zeros((3, 4))[::-1])})
    assert data.pack(lambda array: 0x700) == bytes(8) + b"\xff" * 8 + struct.pack("<Q", 0x700)
    assert data.arrays[0].nbytes == 96 and data.readable == ()


def test_fields_of_each_kind_are_aligned_as_in_cpp():
    whole = Struct(np.int8(1), Epilogue(1, 2, None), b"\x07\x08", np.int16(9), Size(1, 2, 3))
    expected = b"\x01" + bytes(7) + struct.pack("<ffQ", 1, 2, 0) + b"\x07\x08\x09\x00" + struct.pack("<iii", 1, 2, 3)
    assert whole.pack(lambda array: 0) == expected and whole.alignment == 8


def test_fields_of_bases_unions_and_bit_fields_have_the_offsets_of_ctypes():
    class Either(ctypes.Union):
        _fields_ = [("number", ctypes.c_double), ("place", ctypes.c_void_p)]

    class Derived(Tensor):
        _fields_ = [("few", ctypes.c_uint32, 3), ("either", Either), ("more", ctypes.c_void_p * 2)]

    x = np.zeros(1)
    made = Struct(Derived(), pointers={"data": x, "either.place": x, "more[1]": x})
    assert [i for i in range(0, made.nbytes, 8) if made.pack(lambda array: 7)[i] == 7] == [0, 24, 40]


class Swapped(ctypes.BigEndianStructure):
    _fields_ = [("n", ctypes.c_int)]


class Owner(ctypes.Structure):
    _fields_ = [("o", ctypes.py_object)]


def test_a_pointer_of_a_struct_may_be_the_handle_of_a_texture():
    texture = we.ptx.texture(np.zeros(4, np.float32))
    made = Struct(bytes(16), pointers={8: texture})
    assert made.pack(lambda value: value.handle) == bytes(8) + texture.handle.to_bytes(8, "little")
    assert made.pointed == (("offset 8", texture),)


@pytest.mark.parametrize(("make", "error", "said"), [
    (lambda x: Struct(Params(), pointers={"a.date": x}), we.errors.UnknownNameError, r"no field 'a\.date'.*a\.data"),
    (lambda x: Struct(Params(), pointers={"size.m": x}), ArgumentValueError, "has 4 bytes; a pointer has 8"),
    (lambda x: Struct(bytes(16), pointers={"p": x}), we.errors.UnknownNameError, "have no names: pass offsets"),
    (lambda x: Struct(bytes(16), pointers={4: x}), ArgumentValueError, "of 16 bytes has to be a multiple of 8"),
    (lambda x: Struct(bytes(16), pointers={16: x}), ArgumentValueError, "a multiple of 8 from 0 to 8"),
    (lambda x: Struct(bytes(16), pointers={-8: x}), ArgumentValueError, "a multiple of 8 from 0 to 8"),
    (lambda x: Struct(bytes(4), pointers={0: x}), ArgumentValueError, "not possible in so few bytes"),
    (lambda x: Struct(bytes(16), pointers={8.5: x}), ArgumentValueError, "the offset 8.5"),
    (lambda x: Struct(bytes(16), pointers={0: 5}), ArgumentError, "is 5; it can be a NumPy array"),
    (lambda x: Struct(bytes(16), pointers=[x]), ArgumentError, "not a mapping from fields"),
    (lambda x: Struct(Params(), pointers={"a.data": x, 16: x}), ArgumentValueError, "overlap, at 16 and 16"),
    (lambda x: Struct("text"), ArgumentError, "field 0 of a struct is 'text'; fields are arrays"),
    (lambda x: Struct(np.longdouble(1)), ArgumentError, "field 0 of a struct contains .* long double.* np.float64"),
    (lambda x: Struct(x, np.datetime64("2020")), ArgumentError, "field 1 of a struct contains .* a date or a time"),
    (lambda x: Struct(np.zeros((), "O,i8")[()]), ArgumentError, "contains a Python object, which kernels cannot read"),
    (lambda x: Struct(np.zeros((), ">i8,i8")[()]), ArgumentError, "contains a value of >i8, with swapped bytes"),
    (lambda x: Struct(Swapped()), ArgumentError, "the field n of a struct has swapped bytes"),
    (lambda x: Struct(Owner()), ArgumentError, "the field o of a struct is a Python object"),
])  # fmt: skip
def test_a_wrong_pointer_is_refused_with_the_legal_ones(make, error, said):
    with pytest.raises(error, match=said):
        make(np.zeros(2))


def test_a_struct_of_another_size_is_refused_with_the_sizes_and_the_fields():
    class Short(ctypes.Structure):
        _fields_ = [("size", Size), ("a", Tensor)]

    message = r"is a struct of 104 bytes.*has 32 bytes: size\.m at 0 \(4 bytes\).*a\.data at 16 \(8 bytes\)"
    with pytest.raises(ArgumentValueError, match=message):
        PRODUCT[5, 32](Short())
    with pytest.raises(ArgumentValueError, match=r"of 104 bytes.*has 16 bytes: field 0 at 0 \(4 bytes\), field 1 at 8"):
        PRODUCT[5, 32](Struct(np.int32(1), np.zeros(4)))
    with pytest.raises(ArgumentError, match="a struct of 104 bytes"):
        PRODUCT[5, 32](np.zeros(104, np.uint8).tolist())


def test_arrays_of_a_struct_are_checked_as_arguments_are():
    a, b, c, d, alpha = matrices()
    given = {**pointers_to(a, b, c, d, alpha), "b.data": np.zeros((6, 7), np.float32).T}
    with pytest.raises(FragmentMismatchError, match="array in argument 0 of product is a view that is not contiguous"):
        PRODUCT[5, 32](Struct(Params(), pointers=given))


def test_a_struct_has_up_to_32764_bytes():
    body = """.reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [out]; ld.param.u32 %r, [p+{}];
    st.global.u32 [%a], %r; ret;"""
    out = np.zeros(1, np.uint32)
    for size in (4096, 32756):  # the pointer before it takes 8 bytes of 32764
        data = bytearray(size)
        data[-4:] = b"\x01\x02\x03\x04"
        text = entry(f".param .u64 out, .param .align 4 .b8 p[{size}]", body.replace("{}", str(size - 4)))
        Module(text.replace(".version 8.0", ".version 8.1"))["k"][1, 1](out, Struct(data))
        assert out[0] == 0x04030201
    with pytest.raises(we.errors.PtxSyntaxError, match="at most 32764 bytes of parameters"):
        Module(entry(".param .align 4 .b8 p[32768]"))
