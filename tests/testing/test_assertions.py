# SPDX-License-Identifier: MIT
"""assert_bits_equal, ulp_distance, bits and from_bits: every dtype, every difference of bits, and what messages say."""

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError, WmmaEmuError
from wmma_emu.formats import FORMATS, NOT_COMPARABLE
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.testing import assert_bits_equal, bits, from_bits, ulp_distance

DTYPES = [
    np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64,
    np.uint8, np.uint16, np.uint32, np.uint64, np.bool_,
    *(getattr(ml_dtypes, name) for name in (
        "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
        "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz",
        "int4", "uint4", "int2", "uint2")),
]  # fmt: skip


class WrappedArray:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def message(actual, expected, format=None):
    with pytest.raises(AssertionError) as caught:
        assert_bits_equal(actual, expected, format)
    return str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_arrays_of_every_dtype_are_compared(dtype):
    one, other = np.zeros((2, 3), dtype), np.zeros((2, 3), dtype)
    assert_bits_equal(one, other)
    other[1, 2] = dtype(1)
    found = message(one, other)
    assert found.startswith("1 of 6 elements differ (16.7 %): ") and "[1, 2]" in found
    assert_bits_equal(other, from_bits(bits(other), dtype))
    assert from_bits(bits(other), dtype).dtype == np.dtype(dtype)
    assert ulp_distance(one, other)[0, 0] == 0 < ulp_distance(one, other)[1, 2]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.bits <= 16])
def test_two_patterns_of_a_format_are_equal_only_if_all_bits_are(name):
    fmt = FORMATS[name]
    codes = np.arange(1 << fmt.bits if name != "ue4m3" else 128, dtype=fmt.storage)
    assert_bits_equal(from_bits(codes, name), codes, name)
    assert np.array_equal(bits(from_bits(codes, name), name), codes)
    found = message(codes, np.roll(codes, 1), name)
    assert found.startswith(f"all {len(codes)} elements differ: {name}, shape ({len(codes)},)")


def test_payloads_of_nan_and_signs_of_zeros_count():
    nan = np.array([0x7FC00000, 0x7FC01234, 0xFFC00000], np.uint32).view(np.float32)
    assert_bits_equal(nan, nan.copy())
    assert "NaN, other bits: 2" in message(nan, np.full(3, np.nan, np.float32))
    found = message(np.float32([-0.0, 1]), np.float32([0, np.nan]))
    assert "0x80000000  -0.0" in found and "sign of zero" in found
    assert found.endswith("ulps: 0 (sign of zero): 1 | NaN: 1")
    assert "0xffc00000  -NaN" in message(nan[2:], nan[:1])


def test_scalars_and_arrays_without_axes_or_elements_are_compared():
    assert_bits_equal(np.float32(1), np.array(1, np.float32))
    assert_bits_equal(np.zeros((0, 3), np.float16), np.zeros((0, 3), np.float16))
    assert message(np.float16(1), np.float16(2)).splitlines() == [
        "the only element differs: f16",
        "",
        "  index  actual       expected     ulps",
        "  ()     0x3c00  1.0  0x4000  2.0  1024",
        "",
        "ulps: 1024-2047: 1",
    ]


def test_nothing_is_broadcast():
    found = message(np.zeros((4, 1), np.float32), np.zeros((4, 4), np.float32))
    assert "(4, 1)" in found and "(4, 4)" in found and "broadcast" in found
    assert "()" in message(np.float32(0), np.zeros(1, np.float32))


def test_arrays_of_two_dtypes_differ_and_a_format_compares_patterns_with_values():
    assert "float32" in message(np.zeros(2, np.float32), np.zeros(2, np.float64))
    patterns, values = np.array([0x3F80], np.uint16), np.array([1], ml_dtypes.bfloat16)
    assert "format='bf16'" in message(patterns, values)
    for actual, expected in ((patterns, values), (values, patterns), (values, values), (patterns, patterns)):
        assert_bits_equal(actual, expected, "bf16")
        assert_bits_equal(actual, expected, format=ml_dtypes.bfloat16)
    assert message(patterns, np.array([2], ml_dtypes.bfloat16), "bf16").startswith("the only element differs: bf16")


def test_arrays_of_other_libraries_other_byte_orders_and_strides_are_read():
    big = np.arange(12, dtype=">f4").reshape(3, 4)
    small = big.astype("<f4")
    assert_bits_equal(big, small)
    assert_bits_equal(WrappedArray(small), big)
    assert_bits_equal(small[::-1, ::2], small[::-1, ::2].copy())
    assert "[2, 0]" in message(small[:, ::-1], np.where(small == 11, np.float32(12), small)[:, ::-1])


def test_torch_tensors_are_read():
    torch = pytest.importorskip("torch")
    assert_bits_equal(torch.ones(3, dtype=torch.bfloat16), np.ones(3, ml_dtypes.bfloat16))


def test_bits_that_a_format_does_not_read_are_said_to_be_those():
    found = message(np.array([0x3F800001], np.uint32), np.array([0x3F800000], np.uint32), "tf32")
    assert "bits that tf32 does not read" in found
    assert ulp_distance(np.array([0x3F800001], np.uint32), np.array([0x3F800000], np.uint32), "tf32")[0] == 0


def test_the_message_shows_eight_counts_all_and_says_which_is_the_largest():
    x = np.ones((4, 32), np.float32)
    y = x.copy().view(np.uint32)
    y[:2] += np.arange(64, dtype=np.uint32).reshape(2, 32) + 1
    found = message(y.view(np.float32), x).splitlines()
    assert found[0] == "64 of 128 elements differ (50 %): f32, shape (4, 32)"
    assert len(found) == 14 and found[10].startswith("  [0, 7]")
    assert found[11] == "  ... and 56 more; 64 at [1, 31] is the largest"
    assert found[13] == "ulps: 1: 1 | 2-3: 2 | 4-7: 4 | 8-15: 8 | 16-31: 16 | 32-63: 32 | 64-127: 1"


def test_a_few_of_very_many_are_shown_in_time():
    x = np.zeros(3_000_000, np.float16)
    y = x.copy()
    y[2_999_999] = 1
    assert message(x, y).startswith("1 of 3000000 elements differ (less than 0.001 %)")


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.int8])
def test_distances_of_integers_are_their_differences_to_the_ends_of_the_range(dtype):
    info = np.iinfo(dtype)
    x, y = np.array([info.min, info.max, 5], dtype), np.array([info.max, info.min, 7], dtype)
    span = int(info.max) - int(info.min)
    assert ulp_distance(x, y).tolist() == [span, span, 2]
    assert str(span) in message(x, y) and "NaN" not in message(x, y)


def test_nan_is_beyond_every_distance_and_infinity_one_step_from_the_largest_number():
    x = np.array([np.nan, np.inf, np.nan, -0.0], np.float16)
    y = np.array([1, 65504, np.nan, 0], np.float16)
    assert ulp_distance(x, y).tolist() == [NOT_COMPARABLE, 1, 0, 0]
    foreign = np.array([0x80, 0x80, 0x00], np.uint8).view(ml_dtypes.float8_e4m3fnuz)
    assert ulp_distance(foreign, foreign[::-1]).tolist() == [NOT_COMPARABLE, 0, NOT_COMPARABLE]


@pytest.mark.parametrize(
    "given",
    [
        [1.0, 2.0], 1.0, 1, "text", None, b"bytes", {1: 2}, object(),
        np.array([1, None]), np.array(["a"]), np.zeros(2, complex), np.zeros(2, np.longdouble), np.zeros(2, "M8[s]"),
        np.zeros(2, "V2"), np.zeros(2, [("x", "f4")]), np.ma.masked_array([1.0, 2.0], [True, False]),
    ],
    ids=lambda x: type(x).__name__ + str(getattr(x, "dtype", "")).replace(" ", ""),
)  # fmt: skip
def test_what_has_no_bits_is_refused_by_the_package_s_errors_on_one_line(given):
    good = np.zeros(2, np.float32)
    for actual, expected in ((given, good), (good, given), (given, given)):
        with pytest.raises(FragmentMismatchError) as caught:
            assert_bits_equal(actual, expected)
        assert not isinstance(caught.value, AssertionError)
        assert "\n" not in str(caught.value)
    for function in (lambda: bits(given), lambda: ulp_distance(given, good), lambda: ulp_distance(good, given)):
        with pytest.raises(FragmentMismatchError):
            function()


@pytest.mark.parametrize("format", ["f17", 3, [], complex, np.dtype("U3"), object, "float99", ("f16",)], ids=str)
def test_a_format_that_does_not_exist_is_refused_with_a_list_of_those_that_do(format):
    for call in (
        lambda: assert_bits_equal(np.zeros(2, np.float16), np.zeros(2, np.float16), format),
        lambda: bits(np.zeros(2, np.float16), format),
        lambda: from_bits([0], format),
        lambda: ulp_distance(np.zeros(2, np.float16), np.zeros(2, np.float16), format),
    ):
        with pytest.raises(UnsupportedInstructionError, match="f16"):
            call()


@pytest.mark.parametrize(
    "given", [[-1], [0x10000], [1.5], [[1], [2, 3]], "12", None, ["a"], np.zeros(2, np.float16), [1 << 70]], ids=str
)
def test_values_that_are_not_patterns_of_the_format_are_refused(given):
    with pytest.raises(WmmaEmuError):
        from_bits(given, "f16")


def test_from_bits_takes_python_s_integers_and_keeps_shapes():
    assert from_bits(0x3C00, "f16").shape == ()
    made = from_bits([[0x7FA1, 0x8000]], "bf16")
    assert made.shape == (1, 2) and made.dtype == ml_dtypes.bfloat16
    assert bits(made).tolist() == [[0x7FA1, 0x8000]]
    assert from_bits([], "e4m3").dtype == dtype_of("e4m3")


def test_a_wrong_dtype_for_a_format_names_the_fix():
    with pytest.raises(FragmentMismatchError, match=r"expected\.astype\(numpy\.float16\) rounds once"):
        assert_bits_equal(np.zeros(1, np.float16), np.zeros(1, np.float32), "f16")


def test_a_million_elements_that_all_differ_by_other_distances_are_counted_in_buckets():
    x = np.arange(1, 1 << 20, dtype=np.uint32)
    found = message(x.view(np.float32), np.zeros(len(x), np.float32))
    assert found.splitlines()[-1].endswith("| 2^18 to 2^19 - 1: 262144 | 2^19 to 2^20 - 1: 524288")


def test_a_share_short_of_all_is_never_all_of_them():
    x = np.ones(200_000, np.float32)
    y = -x
    y[7] = 1
    assert "199999 of 200000 elements differ (more than 99.9 %)" in message(x, y)


def test_integers_have_differences_and_not_ulps():
    found = message(np.array([127], np.int8), np.array([-128], np.int8))
    assert "difference" in found and "ulps" not in found
