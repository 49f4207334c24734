# SPDX-License-Identifier: MIT
"""User-visible behaviour: special values, short blocks, axes, dtypes, and rejected arguments."""

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from tests.quantise.arrays import MX, spread
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.quantise import BLOCK_FORMATS, SCALE_RULES, BlockScaled, block_format_of, dequantise, quantise, quantiser

F = np.float32
NAN_ELEMENT = dict(zip(MX, (0x7F, 0x7F, 0x1F, 0x1F, 0x7, 0), strict=True))
DTYPES = {
    "mxfp8_e4m3": ml_dtypes.float8_e4m3fn,
    "mxfp8_e5m2": ml_dtypes.float8_e5m2,
    "mxfp6_e3m2": ml_dtypes.float6_e3m2fn,
    "mxfp6_e2m3": ml_dtypes.float6_e2m3fn,
    "mxfp4_e2m1": ml_dtypes.float4_e2m1fn,
    "mxint8": np.int8,
    "nvfp4": ml_dtypes.float4_e2m1fn,
}


def bits(x):
    return x.element_bits.tolist(), x.scale_bits.tolist()


def test_every_format_and_rule_names_its_source():
    assert set(BLOCK_FORMATS) == set(DTYPES)
    for row in (*BLOCK_FORMATS.values(), *SCALE_RULES):
        assert row.source and row.status in ("measured", "recorded", "literature", "documented", "inferred")
    assert len({(x.name, x.scale) for x in SCALE_RULES}) == len(SCALE_RULES)


@pytest.mark.parametrize("name", DTYPES)
def test_elements_and_scales_have_the_dtypes_of_ml_dtypes(name):
    x = quantise(spread(0, (3, 64)), name)
    row = BLOCK_FORMATS[name]
    assert x.elements.dtype == DTYPES[name] and x.elements.shape == (3, 64)
    assert x.scales.dtype == (ml_dtypes.float8_e4m3fn if name == "nvfp4" else ml_dtypes.float8_e8m0fnu)
    assert x.scales.shape == (3, 64 // row.block)
    assert x.block_format is row and x.axis == 1
    assert (x.tensor_scale is None) == (name != "nvfp4")
    assert x.tensor_scale is None or type(x.tensor_scale) is np.float32


@pytest.mark.parametrize("special", [np.nan, -np.nan, np.inf, -np.inf], ids=["nan", "-nan", "inf", "-inf"])
@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "even", "rne"])
@pytest.mark.parametrize("name", MX)
def test_a_block_with_nan_or_infinity_has_the_scale_nan(name, rule, special):
    x = np.ones((2, 64), F)
    x[1, 40] = special
    ours, clean = quantise(x, name, rule=rule), quantise(np.ones((2, 64), F), name, rule=rule)
    assert (ours.scale_bits == 0xFF).tolist() == [[False, False], [False, True]]
    assert set(ours.element_bits[1, 32:].tolist()) == {NAN_ELEMENT[name]}
    assert np.isnan(ours.dequantise()).sum() == 32
    assert (ours.element_bits[:, :32] == clean.element_bits[:, :32]).all()


@pytest.mark.parametrize("name", MX)
def test_a_block_of_zeros_has_the_smallest_scale_and_keeps_its_signs(name):
    x = np.array([0.0, -0.0] * 16, F)
    ours = quantise(x, name)
    minus = BLOCK_FORMATS[name].element.sign_mask if name != "mxint8" else 0
    assert bits(ours) == ([0, minus] * 16, [0])
    assert np.signbit(ours.dequantise()).tolist() == [False, name != "mxint8"] * 16


def test_subnormal_numbers_are_not_flushed():
    x = np.arange(32, dtype=np.uint32).view(F)  # up to 31 * 2**-149
    ours = quantise(x, "mxfp8_e4m3")
    assert ours.scale_bits.tolist() == [0]  # 2**-127, and 2**-9 below is 2**-136
    assert set(ours.element_bits.tolist()) == {0}
    large = quantise(np.full(32, 2.0**-127, F), "mxfp8_e5m2", rule="rceil")
    assert bits(large) == ([0x3C] * 32, [0])
    assert quantise(np.full(32, 5e-324), "mxint8").scale_bits.tolist() == [0]


def test_numbers_beyond_a_clamped_scale_saturate():
    assert bits(quantise(np.full(32, -1e300), "mxfp8_e4m3")) == ([0xFE] * 32, [254])
    assert bits(quantise(np.full(32, -1e300), "mxint8")) == ([0x81] * 32, [254])
    assert bits(quantise(np.full(32, -1e300), "mxint8", symmetric=False)) == ([0x80] * 32, [254])


def test_floor_saturates_numbers_beyond_the_largest_element():
    x = np.array([511.0, -511.0, 449.0, 448.0] * 8, F)
    assert bits(quantise(x, "mxfp8_e4m3")) == ([0x7E, 0xFE, 0x7E, 0x7E] * 8, [127])
    assert bits(quantise(x, "mxfp8_e4m3", rule="rceil")) == ([0x78, 0xF8, 0x76, 0x76] * 8, [128])


def test_the_smallest_element_of_mxint8_follows_the_option():
    x = np.array([-1.999, 1.999, -1.984375, 1.0] * 8, F)
    assert quantise(x, "mxint8").elements[:4].tolist() == [-127, 127, -127, 64]
    assert quantise(x, "mxint8", symmetric=False).elements[:4].tolist() == [-128, 127, -127, 64]


@pytest.mark.parametrize(
    ("rounding", "elements"),
    [("RNE", [2, 10]), ("RZ", [2, 10]), ("RD", [2, 11]), ("RU", [3, 10]), ("RNA", [3, 11]), ("odd", [3, 11])],
)
def test_elements_are_rounded_as_requested(rounding, elements):
    x = np.array([4.0, 1.25, -1.25, 0] * 8, F)
    assert quantise(x, "mxfp4_e2m1", rounding=rounding).element_bits[1:3].tolist() == elements
    two_levels = quantise(np.array([6.0, 1.25, -1.25, 0] * 4, F), "nvfp4", rounding=rounding, tensor_scale=1.0)
    assert two_levels.element_bits[1:3].tolist() == elements


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_quantising_along_an_axis_equals_quantising_the_transpose_along_the_last(name, axis):
    x = spread(1, (32, 64, 32), low=-3, high=3)
    ours = quantise(x, name, axis=axis)
    last = quantise(np.ascontiguousarray(np.moveaxis(x, axis, -1)), name)
    assert ours.axis == axis % 3
    assert (np.moveaxis(ours.element_bits, axis, -1) == last.element_bits).all()
    assert (np.moveaxis(ours.scale_bits, axis, -1) == last.scale_bits).all()
    assert (np.moveaxis(ours.dequantise(), axis, -1) == last.dequantise()).all()


@pytest.mark.parametrize("name", DTYPES)
def test_a_short_last_block_is_filled_with_zeros_on_request(name):
    x = spread(2, (70, 3), low=-3, high=3)
    block = BLOCK_FORMATS[name].block
    with pytest.raises(
        FragmentMismatchError, match=rf"has 70 elements, and {name} has blocks of {block}; pass pad=True"
    ):
        quantise(x, name, axis=0)
    filled = np.concatenate([x, np.zeros((-70 % block, 3), F)])
    assert bits(quantise(x, name, axis=0, pad=True)) == bits(quantise(filled, name, axis=0))
    assert bits(quantise(filled, name, axis=0, pad=True)) == bits(quantise(filled, name, axis=0))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, F, np.float64], ids=str)
def test_a_number_is_the_same_in_every_dtype_that_holds_it(name, dtype):
    x = spread(3, (4, 64), low=-3, high=3, dtype=ml_dtypes.float8_e5m2)
    assert bits(quantise(x.astype(dtype), name)) == bits(quantise(x, name))


def test_byte_order_strides_and_readonly_arrays_do_not_matter():
    x = spread(4, (8, 64))
    wanted = bits(quantise(x, "mxfp8_e4m3"))
    other = x.astype(">f4")
    other.flags.writeable = False
    assert bits(quantise(other, "mxfp8_e4m3")) == wanted
    assert bits(quantise(np.repeat(x, 2, axis=1)[:, ::2], "mxfp8_e4m3")) == wanted
    before = x.copy()
    quantise(x, "nvfp4")
    assert (x == before).all()


@pytest.mark.parametrize("name", ["mxfp6_e3m2", "nvfp4"])
def test_a_large_array_quantised_in_pieces_gives_the_same_result(name, monkeypatch):
    x = spread(5, (37, 96), low=-5, high=5)
    x[3, 7] = np.nan
    wanted = bits(quantise(x, name))
    monkeypatch.setattr(quantiser, "_BLOCKS_AT_ONCE", 10)
    assert bits(quantise(x, name)) == wanted


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(0, 64), (3, 0), (0, 0)], ids=str)
def test_an_empty_array_is_quantised_to_an_empty_array(name, shape):
    ours = quantise(np.zeros(shape, F), name)
    assert ours.elements.shape == shape and ours.dequantise().shape == shape
    assert ours.scales.shape == (shape[0], shape[1] // BLOCK_FORMATS[name].block)


def test_dequantised_numbers_are_exact_or_rounded_once():
    x = quantise(np.full(32, 1.75 * 2.0**127, F), "mxfp8_e5m2")
    assert x.dequantise()[0] == 1.75 * 2.0**127
    assert x.dequantise(ml_dtypes.bfloat16).dtype == ml_dtypes.bfloat16
    assert np.isinf(x.dequantise(np.float16)).all()
    fine = quantise(np.full(16, 1 / 3, F), "nvfp4")
    exact = fine.dequantise()
    assert (fine.dequantise(F) == exact.astype(F)).all() and exact[0] != exact.astype(F)[0]


def test_dequantise_accepts_bits_or_dtypes():
    x = quantise(spread(6, (4, 64)), "mxfp4_e2m1")
    for elements in (x.elements, x.element_bits, x.element_bits.view(ml_dtypes.uint4)):
        for scales in (x.scales, x.scale_bits):
            assert (dequantise(elements, scales, "mxfp4_e2m1") == x.dequantise()).all()
    again = BlockScaled(x.elements, x.scales, block_format_of("mxfp4_e2m1"), 1)
    assert (again.dequantise() == x.dequantise()).all()
    assert repr(again) == "BlockScaled(mxfp4_e2m1, elements (4, 64), scales (4, 2), axis 1)"


def test_without_a_tensor_scale_nvfp4_has_one_level():
    assert dequantise(np.full(16, 2, np.uint8), np.array([0x38], np.uint8), "nvfp4").tolist() == [1.0] * 16


def test_the_sign_bit_of_a_ue4m3_scale_is_not_read():
    elements, scales = np.arange(16, dtype=np.uint8), np.array([0x41], np.uint8)
    signed = dequantise(elements, scales | 0x80, "nvfp4")
    assert (signed.view(np.uint64) == dequantise(elements, scales, "nvfp4").view(np.uint64)).all()
    for pattern in (0x80, 0xC1):  # -0 is also negative
        with pytest.raises(FragmentMismatchError, match="negative e4m3"):
            dequantise(elements, np.array([pattern], np.uint8).view(ml_dtypes.float8_e4m3fn), "nvfp4")


def test_rules_may_be_written_in_capitals():
    x = spread(7, (4, 64))
    assert bits(quantise(x, "mxfp6_e2m3", rule="RCEIL")) == bits(quantise(x, "mxfp6_e2m3", rule="rceil"))
    assert bits(quantise(x, "nvfp4", rule="RNE")) == bits(quantise(x, "nvfp4"))


def test_the_package_is_imported_on_first_use():
    assert we.quantise.quantise is quantise


ONES = np.ones((2, 64), F)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: quantise(ONES, "mxfp7"), UnsupportedInstructionError, "the formats are mxfp8_e4m3, mxfp8_e5m2"),
        (lambda: quantise(ONES, "fp8"), UnsupportedInstructionError, r"you mean 'mxfp8_e4m3' or 'mxfp8_e5m2'\? The"),
        (lambda: quantise(ONES, "MXFP4"), UnsupportedInstructionError, r"; did you mean 'mxfp4_e2m1'\? .* nvfp4$"),
        (lambda: quantise(ONES, "mxfp8-e5m2"), UnsupportedInstructionError, r"did you mean 'mxfp8_e5m2'\?"),
        (lambda: quantise(ONES, "int4"), UnsupportedInstructionError, "mxint8, nvfp4$"),
        (lambda: quantise(ONES, None), UnsupportedInstructionError, "no block-scaled format None"),
        (lambda: quantise(ONES, "mxint8", rule="round"), UnsupportedInstructionError, "floor, ceil, rceil, even, rne"),
        (lambda: quantise(ONES, "mxint8", rule=["floor"]), UnsupportedInstructionError, "no scale rule"),
        (lambda: quantise(ONES, "mxint8", rounding="up"), UnsupportedInstructionError, "no rounding 'up'"),
        (lambda: quantise(ONES, "mxint8", axis=2), FragmentMismatchError, "the 2 axes are -2 to 1"),
        (lambda: quantise(ONES, "mxint8", axis=0.5), FragmentMismatchError, "axis=0.5 is not an axis"),
        (lambda: quantise(F(1), "mxint8"), FragmentMismatchError, "without axes has no blocks"),
        (lambda: quantise(ONES.astype(np.int32), "mxint8"), FragmentMismatchError, "not an array of int32"),
        (lambda: quantise([[1.0]], "mxint8"), FragmentMismatchError, "Python list"),
        (lambda: quantise(np.ones(32, ml_dtypes.float8_e8m0fnu), "mxint8"), FragmentMismatchError, "float8_e8m0fnu"),
        (lambda: quantise(ONES, "mxint8", tensor_scale=1.0), UnsupportedInstructionError, "tensor_scale applies only"),
        (lambda: quantise(ONES, "mxint8", tensor_amax=1.0), UnsupportedInstructionError, "tensor_amax applies only"),
        (lambda: quantise(ONES, "mxfp8_e4m3", symmetric=False), UnsupportedInstructionError, "applies only to mxint8"),
        (lambda: dequantise(np.zeros(32, np.uint8), np.zeros(2, np.uint8), "mxint8"), FragmentMismatchError, r"\(1,\)"),
        (lambda: dequantise(np.zeros(31, np.uint8), np.zeros(1, np.uint8), "mxint8"), FragmentMismatchError, "blocks"),
        (lambda: dequantise(np.full(32, 16, np.uint8), np.zeros(1, np.uint8), "mxfp4_e2m1"), FragmentMismatchError,
         "split packed bytes into byte & 15"),
        (lambda: dequantise(np.zeros(32, F), np.zeros(1, np.uint8), "mxint8"), FragmentMismatchError, "int8"),
        (lambda: dequantise(np.zeros(16, np.uint8), np.full(1, 0x80, np.uint8).view(ml_dtypes.float8_e4m3fn), "nvfp4"),
         FragmentMismatchError, "negative e4m3"),
        (lambda: dequantise(np.zeros(32, np.uint8), np.zeros(1, np.uint8), "mxint8", tensor_scale=1.0),
         UnsupportedInstructionError, "no second level"),
        (lambda: dequantise(np.zeros(32, np.uint8), np.zeros(1, np.uint8), "mxint8", dtype=int),
         FragmentMismatchError, "is not a float format"),
        (lambda: dequantise(np.zeros(32, np.uint8), np.zeros(1, np.uint8), "mxint8", dtype="float23"),
         FragmentMismatchError, "dtype='float23' is not a float format"),
        (lambda: quantise(ONES[:, :40], "mxint8", pad="no"), UnsupportedInstructionError, "pad='no' is neither True"),
        (lambda: quantise(ONES, "mxint8", symmetric=None), UnsupportedInstructionError, "symmetric=None is neither"),
    ],
    ids=range(28),
)  # fmt: skip
def test_invalid_arguments_are_rejected(call, error, words):
    with pytest.raises(error, match=words):
        call()
