# SPDX-License-Identifier: MIT
"""The conversion of users' arrays to bits."""

import io
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import wmma_emu
from wmma_emu.errors import ArgumentError, FragmentMismatchError
from wmma_emu.formats import FORMATS, encode, format_of
from wmma_emu.formats.dtypes import dtype_of, format_meant, format_of_dtype, from_bits, reinterpret_void, to_bits

ALL_DTYPES = sorted({dtype_of(name) for name in FORMATS}, key=str) + [
    np.dtype(t) for t in (np.uint16, np.uint32, np.uint64, np.int16, np.int64, np.complex64, "U1", "O", "M8[s]", "V2")
]


def legal(name):
    """Return the names of the dtypes that the design allows for a format."""
    rows = {
        "f64": "float64 uint64",
        "f32": "float32 uint32",
        "tf32": "float32 uint32",
        "bf16": "bfloat16 uint16",
        "f16": "float16 uint16",
        "e4m3": "float8_e4m3fn uint8",
        "e5m2": "float8_e5m2 uint8",
        "e3m2": "float6_e3m2fn uint8",
        "e2m3": "float6_e2m3fn uint8",
        "e2m1": "float4_e2m1fn uint4",
        "ue8m0": "float8_e8m0fnu uint8",
        "ue4m3": "uint8 float8_e4m3fn",
        "s32": "int32 uint32",
        "s8": "int8 uint8",
        "u8": "uint8",
        "s4": "int4 uint4",
        "u4": "uint4",
        "b1": "bool",
    }
    return rows[name].split()


def all_patterns(name):
    fmt = format_of(name)
    if fmt.bits <= 16:
        return np.arange(1 << fmt.bits, dtype=fmt.storage)
    return np.random.default_rng(2).integers(0, fmt.mask, 4096, np.uint64, endpoint=True).astype(fmt.storage)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMATS)
def test_every_pattern_survives_conversion_to_an_array_and_back(name):
    bits = all_patterns(name)
    array = from_bits(bits, name)
    assert array.dtype == dtype_of(name) and not np.shares_memory(array, bits)
    back = to_bits(array, name)
    assert np.array_equal(back, bits) and back.dtype == format_of(name).storage
    assert not np.shares_memory(back, array)


def test_patterns_may_have_a_wider_dtype_and_any_strides():
    wide = np.array([[0x3C00, 0], [0xC000, 0]], np.uint64)
    assert from_bits(wide[:, 0], "f16").tolist() == [1.0, -2.0]
    assert from_bits(np.uint32(0xF9), "s4").shape == () and int(from_bits(np.uint32(0xF9), "s4")) == -7
    assert from_bits(np.array([2, 1, 0], np.uint8), "b1").tolist() == [False, True, False]


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_only_the_formats_own_dtype_and_its_raw_bits_are_accepted(name, dtype):
    array = np.zeros((2, 2), dtype)
    if str(dtype) in legal(name):
        assert not to_bits(array, name).any()
        return
    with pytest.raises(FragmentMismatchError) as caught:
        to_bits(array, name, "B")
    message = str(caught.value)
    own = "float8_e4m3fn" if name == "ue4m3" else dtype_of(name)
    assert message.startswith(f"B is an array of {dtype}; expected {name}: {own}")
    assert message.count("uint8 or uint8") == 0


@pytest.mark.parametrize(
    ("name", "dtype", "fix"),
    [
        ("bf16", np.float64, r"from_bits\(encode\(A, format_of\('bf16'\)\), 'bf16'\).*twice, through float32"),
        ("e4m3", np.float32, r"from_bits\(encode\(A, format_of\('e4m3'\)\), 'e4m3'\)$"),
        ("u8", np.int8, r"A.view\(numpy.uint8\) keeps the same bits, A.astype\(numpy.uint8\) the values"),
        ("s8", np.int64, r"A.astype\(numpy.int8\) wraps or rounds; wmma_emu.scalar.convert"),
        ("s4", np.int8, r"A.view\(ml_dtypes.int4\) keeps its low 4 bits, A.astype\(ml_dtypes.int4\) the values"),
        ("s4", np.uint8, "2 elements per byte along k, pass a_format='s4'; otherwise .* as ml_dtypes.int4"),
        ("b1", np.uint8, "8 elements per byte along k, pass a_format='b1'; otherwise .* as numpy.bool"),
        ("bf16", "V2", r"numpy.save loses ml_dtypes dtypes: reinterpret_void\(A, 'bf16'\)"),
        ("f16", ml_dtypes.bfloat16, "wmma_emu.scalar.convert rounds patterns once"),
        ("bf16", np.uint8, r"A.astype\(ml_dtypes.bfloat16\) is exact$"),
        ("f16", np.int8, r"A.astype\(numpy.float16\) is exact$"),
        ("e4m3", np.int8, r"A.astype\(ml_dtypes.float8_e4m3fn\) wraps or rounds; wmma_emu.scalar.convert"),
        ("ue4m3", np.float32, r"encode\(A, .*, 'ue4m3'\) \(negative numbers become their absolute value\)$"),
        ("ue8m0", np.float64, r"\('ue8m0'\)\), 'ue8m0'\) \(negative numbers become their absolute value\) \(astype"),
        ("ue4m3", ml_dtypes.bfloat16, r"A.astype\(ml_dtypes.float8_e4m3fn\) wraps or rounds; wmma_emu.scalar.convert"),
        ("ue8m0", ml_dtypes.float8_e4m3, r"A.astype\(ml_dtypes.float8_e8m0fnu\) wraps or rounds; wmma_emu.scalar"),
        ("f32", np.int32, r"A.astype\(numpy.float32\) wraps or rounds; wmma_emu.scalar.convert"),
    ],
)
def test_the_error_names_the_fix(name, dtype, fix):
    with pytest.raises(FragmentMismatchError, match=fix):
        to_bits(np.zeros(4, dtype), name)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("u8", np.int8), ("s32", np.uint8), ("s4", np.int8), ("u4", np.int8), ("s8", ml_dtypes.int4), ("b1", np.int8)],
)
def test_the_code_that_an_error_gives_for_integers_runs(name, dtype):
    A = np.array([1, 0], dtype)
    with pytest.raises(FragmentMismatchError) as caught:
        to_bits(A, name)
    advice = re.findall(r"A\.\w+\([\w.]+\)", str(caught.value))
    assert advice
    for code in advice:
        assert to_bits(eval(code, {"A": A, "numpy": np, "ml_dtypes": ml_dtypes}), name).tolist() == [1, 0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["f64", "f32", "tf32", "bf16", "f16"])
@pytest.mark.parametrize("source", ["u8", "s8", "u4", "s4", "b1"])
def test_astype_of_integers_is_exact_if_the_error_claims_so(name, source):
    A = from_bits(all_patterns(source), source)
    with pytest.raises(FragmentMismatchError, match=r"A.astype\([\w.]+\) is exact$"):
        to_bits(A, name)
    assert np.array_equal(A.astype(dtype_of(name)).astype(np.float64), A.astype(np.float64))


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0", "ue4m3"])
@pytest.mark.parametrize("dtype", [np.int8, ml_dtypes.int4, bool])
def test_no_error_claims_that_integers_fit_in_a_small_format(name, dtype):
    with pytest.raises(FragmentMismatchError, match=r"A.astype\([\w.]+\) wraps or rounds"):
        to_bits(np.zeros(4, dtype), name)


def test_the_fix_for_float64_is_correct():
    values, fmt = np.array([1 + 2**-8 + 2**-40]), format_of("bf16")
    assert to_bits(from_bits(encode(values, fmt), fmt), fmt)[0] == 0x3F81
    assert to_bits(values.astype(ml_dtypes.bfloat16), fmt)[0] == 0x3F80


@pytest.mark.parametrize(
    ("name", "array", "bits"),
    [
        ("tf32", np.array([0x3F801FFF], np.uint32).view(np.float32), [0x3F801FFF]),
        ("f32", np.array([0x7F800001], np.uint32).view(np.float32), [0x7F800001]),
        ("b1", np.array([True, False]), [1, 0]),
        ("s8", np.array([-1, -128], np.int8), [0xFF, 0x80]),
        ("u8", np.array([255], np.uint8), [255]),
        ("s4", np.array([-1, -8, 7], ml_dtypes.int4), [15, 8, 7]),
        ("s4", np.array([15, 8], ml_dtypes.uint4), [15, 8]),
        ("e2m1", np.array([15, 8], ml_dtypes.uint4), [15, 8]),
        ("s4", np.array([0xFF, 0x18], np.uint8).view(ml_dtypes.int4), [15, 8]),
        ("e4m3", np.array([0xFF], np.uint8), [0xFF]),
        ("ue4m3", np.array([448.0], ml_dtypes.float8_e4m3fn), [0x7E]),
        ("ue8m0", np.array([1.0], ml_dtypes.float8_e8m0fnu), [0x7F]),
    ],
)
def test_one_array_becomes_known_bits(name, array, bits):
    assert to_bits(array, name).tolist() == bits


@pytest.mark.parametrize(("name", "word"), [("e3m2", 0x40), ("e2m3", 0x80)])
def test_raw_bits_outside_the_format_are_rejected(name, word):
    with pytest.raises(FragmentMismatchError, match=f"raw bits outside the 6 of {name}, such as {word:#x}"):
        to_bits(np.array([0x3F, word], np.uint8), name)


def test_a_negative_scale_is_rejected():
    with pytest.raises(FragmentMismatchError, match="negative e4m3 numbers, such as 0xb8"):
        to_bits(np.array([-1.0], ml_dtypes.float8_e4m3fn), "ue4m3", "scale_a")


def test_packed_bytes_are_unpacked_if_the_format_is_named():
    packed = np.array([[0x21, 0x43], [0x65, 0x87]], np.uint8)
    assert to_bits(packed, "u4", packed_axis=-1).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert to_bits(packed, "e2m1", packed_axis=-2).tolist() == [[1, 3], [2, 4], [5, 7], [6, 8]]
    assert to_bits(np.array([[0x81]], np.uint8), "b1", packed_axis=-1).tolist() == [[1, 0, 0, 0, 0, 0, 0, 1]]
    assert to_bits(np.array([[1, -1]], ml_dtypes.int4), "s4", packed_axis=-1).tolist() == [[1, 15]]
    assert to_bits(np.array([[7]], np.uint8), "u8", packed_axis=-1).tolist() == [[7]]


def test_byte_order_strides_and_read_only_do_not_matter():
    bits = np.array([[0x7F800001, 0x12345678], [0x80000001, 0xFFC00001]], np.uint32)
    for array in (bits.view(np.float32), bits):
        foreign = array.astype(array.dtype.newbyteorder(">")) if array is bits else bits.byteswap().view(">f4")
        assert np.array_equal(to_bits(foreign, "f32"), bits)
        assert np.array_equal(to_bits(array.T[::-1], "f32"), bits.T[::-1])
    frozen = bits.copy()
    frozen.flags.writeable = False
    result = to_bits(frozen, "f32")
    result[:] = 0
    assert np.array_equal(frozen, bits)
    assert to_bits(np.float32(1), "f32").shape == () and to_bits(np.zeros((0, 2), np.float16), "f16").shape == (0, 2)


class Raising:
    """An array whose conversion to NumPy raises."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


class NoDtype:
    """An object whose dtype cannot be read."""

    @property
    def dtype(self):
        raise RuntimeError("no dtype today")


class Unprintable:
    """An object that cannot be printed."""

    def __repr__(self):
        raise RuntimeError("no repr today")


@pytest.mark.parametrize(
    ("array", "match"),
    [
        ([1.0, 2.0], "A is a Python list, which has no dtype; pass numpy.array"),
        (1.5, "A is a Python float"),
        ([[1], [2, 3]], "A is a Python list"),
        (None, r"A is None \(NoneType\); expected a NumPy array"),
        ("1.0", r"A is '1.0' \(str\); expected a NumPy array"),
        (np.ma.masked_array([1.0], [True]), r"masked array; pass A.filled\(value\)"),
        (np.array([None]), "A is an array of object"),
        (np.array(["x"]), "A is an array of <U1"),
        (
            np.zeros(1, [(f"field {i}", "f2") for i in range(99)]),
            r"A is an array of \[\('field 0', '<f2'\).{,70}\.\.\.; ",
        ),
        (np.zeros((1,) * 33, np.float16), "A has 33 axes; at most 32 are supported: reshape the leading axes into one"),
        (Raising(ValueError("boom\nline 2")), r"NumPy cannot read: boom\\nline 2\. Pass"),
        (Raising(ValueError("m" * 999)), r"NumPy cannot read: m{77}\.\.\.\. Pass"),
        (NoDtype(), r"A is <.*NoDtype object.* \(NoDtype\); expected a NumPy array"),
        (Unprintable(), r"A is <Unprintable> \(Unprintable\); expected a NumPy array"),
    ],
)
def test_objects_that_are_not_arrays_are_rejected(array, match):
    with pytest.raises(FragmentMismatchError, match=match) as caught:
        to_bits(array, "f16")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 400


def test_an_array_with_only_dlpack_is_read():
    class Exporter:
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **kwargs):
            return self.data.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    assert to_bits(Exporter(np.array([1.0], np.float32)), "f32").tolist() == [0x3F800000]


def test_the_error_for_a_cupy_array_names_get():
    class ArrayOnDevice:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("Implicit conversion to a NumPy array is not allowed")

        def get(self):
            return None

    with pytest.raises(FragmentMismatchError, match=r"Bring it to the host: C.get\(\)"):
        to_bits(ArrayOnDevice(), "f16", "C")


@pytest.mark.parametrize("name", FORMATS)
def test_a_dtype_stands_for_the_format_that_uses_it(name):
    meant = {"tf32": "f32", "ue4m3": "u8"}.get(name, name)
    assert format_of_dtype(dtype_of(name)).name == meant


def test_other_dtypes_do_not_stand_for_a_format():
    assert [format_of_dtype(t) for t in (np.int64, np.uint16, "V2", object)] == [None] * 4
    assert format_of_dtype(">f4") is format_of("f32")


def test_the_dtype_of_a_saved_array_can_be_restored():
    for name in ("bf16", "e4m3", "s4"):
        array = from_bits(np.arange(8, dtype=format_of(name).storage), name)
        file = io.BytesIO()
        np.save(file, array)
        file.seek(0)
        loaded = np.load(file)
        assert loaded.dtype.kind == "V"
        assert np.array_equal(to_bits(reinterpret_void(loaded, name), name), np.arange(8))
    with pytest.raises(FragmentMismatchError, match=r"\|V2 does not hold e4m3"):
        reinterpret_void(np.zeros(2, "V2"), "e4m3")
    with pytest.raises(FragmentMismatchError, match="expects a void array, not an array of bfloat16"):
        reinterpret_void(np.zeros(2, ml_dtypes.bfloat16), "bf16")
    # This dtype also has the kind "V", but the table has no format for it.
    with pytest.raises(FragmentMismatchError, match="expects a void array, not an array of float8_e4m3"):
        reinterpret_void(np.ones(2, ml_dtypes.float8_e4m3), "ue8m0")


def test_only_one_module_imports_ml_dtypes():
    package = Path(wmma_emu.__file__).parent
    uses = re.compile(r"^\s*(import|from) ml_dtypes", re.MULTILINE)
    assert [p.name for p in package.rglob("*.py") if uses.search(p.read_text("utf-8"))] == ["extension_dtypes.py"]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("fp16", "f16"), ("FP32", "f32"), ("fp64", "f64"), ("BF16", "bf16"), ("e4m3fn", "e4m3"), ("tfloat32", "tf32"),
        ("__nv_bfloat16", "bf16"), ("float", "f64"), ("half", "f16"), ("i8", None), ("fp8", None),
        ("fp4", "e2m1"), ("fp6", None), ("float8_e4m3", None), ("f17", None),
        ("numpy.float16", "f16"), ("np.float32", "f32"), ("np.float", "f64"), ("torch.float", "f32"),
        ("jax.numpy.bfloat16", "bf16"), ("jnp.float8_e5m2", "e5m2"), ("ml_dtypes.float8_e4m3fn", "e4m3"),
    ],
)  # fmt: skip
def test_a_format_is_found_by_the_names_of_the_table_and_of_numpy(name, format):
    found = format_meant(name)
    assert (None if found is None else found.name) == format


def test_a_name_of_several_formats_is_rejected_with_a_list_of_them():
    x = np.ones((16, 16), np.float16)
    assert wmma_emu.gemm(x, x, out_dtype="FP16").dtype == np.float16
    with pytest.raises(ArgumentError, match=r"'fp8' is several formats: e4m3, e5m2$"):
        wmma_emu.gemm(x, x, out_dtype="fp8")
