# SPDX-License-Identifier: MIT
"""Approximate functions: arrays against the specification, invalid arguments, and the status table."""

import numpy as np
import pytest

from tools.approx_inputs import DIVISION_GENERATORS, SPECIAL, pairs, words
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.scalar import APPROX_NAMES, APPROX_STATUS, approx, approx_div
from wmma_emu.scalar import approx_reference as reference
from wmma_emu.scalar.approx_tables import TABLES, TANH_BINADES
from wmma_emu.scalar.cvt_table import CHIPS

COUNT = 600


def sample():
    """Return special words, words of all sizes, words of moderate size, and their neighbours across a power of two."""
    random = words(np, COUNT, 7).astype(np.uint32)
    moderate = (
        random[::2] & 0x807F_FFFF | (words(np, COUNT // 2, 8) % np.uint64(24) + np.uint64(113)).astype(np.uint32) << 23
    )
    ends = (np.arange(1, 255, dtype=np.uint32) << 23)[:, None] + np.array([-1, 0, 1], np.int32).astype(np.uint32)
    return np.concatenate([SPECIAL, random, moderate, ends.ravel()[::4], ends.ravel()[::16] | 0x8000_0000])


@pytest.mark.parametrize("ftz", [True, False], ids=["ftz", "no-ftz"])
@pytest.mark.parametrize("name", APPROX_NAMES)
def test_arrays_of_f32_match_the_specification(name, ftz):
    x = sample()
    assert approx(name, x, ftz).tolist() == [reference.approx(name, int(a), ftz) for a in x]


@pytest.mark.parametrize("name, format", [(n, f) for n in ("ex2", "tanh") for f in ("f16", "bf16")])
def test_arrays_of_16_bits_match_the_specification(name, format):
    x = np.concatenate([np.arange(0, 1 << 16, 61), [0x7FFF, 0x8000, 0xFFFF]]).astype(np.uint16)
    result = approx(name, x, format=format)
    assert result.dtype == np.uint16
    assert result.tolist() == [reference.approx(name, int(a), format=format) for a in x]


@pytest.mark.parametrize("name, format", [(n, f) for n in ("ex2", "tanh") for f in ("f16", "bf16")])
def test_two_numbers_in_a_word_are_independent(name, format):
    halves = np.arange(1 << 16, dtype=np.uint16).reshape(2, -1)[:, ::37].T.copy()
    assert np.array_equal(
        approx(name, halves.view(np.uint32), format=format).view(np.uint16), approx(name, halves, format=format)
    )


@pytest.mark.parametrize("name, ftz", [("rcp", True), ("rsqrt", True), ("rsqrt", False)])
def test_arrays_of_f64_match_the_specification(name, ftz):
    ends = np.array([1, 1 << 52, (1 << 52) - 1, 0x7FE0 << 48, 0x7FD0 << 48, 0x7FD0 << 48 | 1 << 32, 0x7FF0 << 48,
                     0x7FF0 << 48 | 1, 0x7FF8 << 48 | 5, 0], np.uint64)  # fmt: skip
    random = words(np, COUNT, 9)
    moderate = random >> np.uint64(2) | np.uint64(0x3F00 << 48)
    x = np.concatenate([ends, ends | np.uint64(1 << 63), random, moderate, random >> np.uint64(12)])
    assert approx(name, x, ftz, format="f64").tolist() == [reference.approx(name, int(a), ftz, "f64") for a in x]


@pytest.mark.parametrize("ftz", [True, False], ids=["ftz", "no-ftz"])
@pytest.mark.parametrize("kind", ["full", "approx"])
@pytest.mark.parametrize("generator", DIVISION_GENERATORS)
def test_divisions_match_the_specification(generator, kind, ftz):
    a, b = pairs(np, generator, 200, 3)
    wanted = [reference.approx_div(int(x), int(y), kind, ftz) for x, y in zip(a, b, strict=True)]
    assert approx_div(a, b, kind=kind, ftz=ftz).tolist() == wanted


def test_special_quotients_match_the_specification():
    for ftz in (True, False):
        wanted = [[reference.approx_div(int(x), int(y), "full", ftz) for y in SPECIAL[::5]] for x in SPECIAL]
        assert approx_div(SPECIAL[:, None], SPECIAL[::5], ftz=ftz).tolist() == wanted


NAN, INF, ONE = 0x7FFFFFFF, 0x7F800000, 0x3F800000
NEGATIVE = 0x80000000


@pytest.mark.parametrize(
    "name, of_zero, of_minus_zero, of_infinity, of_minus_infinity",
    [
        ("ex2", ONE, ONE, INF, 0),
        ("lg2", INF | NEGATIVE, INF | NEGATIVE, INF, NAN),
        ("rcp", INF, INF | NEGATIVE, 0, NEGATIVE),
        ("rsqrt", INF, INF | NEGATIVE, 0, NAN),
        ("sqrt", 0, NEGATIVE, INF, NAN),
        ("sin", 0, NEGATIVE, NAN, NAN),
        ("cos", ONE, ONE, NAN, NAN),
        ("tanh", 0, NEGATIVE, ONE, ONE | NEGATIVE),
    ],
)
def test_zeros_and_infinities_follow_the_manual(name, of_zero, of_minus_zero, of_infinity, of_minus_infinity):
    x = np.array([0, NEGATIVE, INF, INF | NEGATIVE, 0x7FC00000, 0x7F800001, 0xFFC12345], np.uint32)
    wanted = [of_zero, of_minus_zero, of_infinity, of_minus_infinity, NAN, NAN, NAN]
    for ftz in (True, False):
        assert approx(name, x, ftz).tolist() == wanted


def test_ftz_flushes_subnormal_numbers():
    least = np.array([1, 0x80000001], np.uint32)
    assert approx("rcp", least, True).tolist() == [INF, INF | NEGATIVE]
    assert approx("rsqrt", least, False).tolist() == [0x64B504F2, NAN]
    assert approx("lg2", least, False).tolist() == [0xC3150000, NAN]
    assert approx("ex2", np.array([0xC3150000], np.uint32), False).tolist() == [1]
    assert approx("ex2", np.array([0xC3150000], np.uint32), True).tolist() == [0]


def test_a_product_with_ftz_is_zero_if_it_is_subnormal_after_rounding_to_24_bits():
    # Times 1 / b, the first is 2**-126 (1 - 2**-46), the second 2**-126 (1 - 2**-24).
    a, b = np.array([0x00800001, 0x3F7FFFFF], np.uint32), np.array([0xBF800001, 0x7E800000], np.uint32)
    assert approx_div(a, b, kind="approx", ftz=True).tolist() == [0x80800000, 0]


def test_shapes_are_kept_and_arrays_need_not_be_contiguous():
    x = np.arange(0x3F800000, 0x3F800000 + 24, dtype=np.uint32).reshape(2, 3, 4)
    assert np.array_equal(approx("rcp", x.transpose(2, 0, 1)), approx("rcp", x).transpose(2, 0, 1))
    assert approx("rcp", x[:, ::2]).shape == (2, 2, 4)
    assert approx("rcp", np.empty((0, 3), np.uint32)).shape == (0, 3)
    assert approx("rcp", x[0, 0, 0]) == np.uint32(ONE) and approx("rcp", np.array(ONE, np.uint32)).shape == ()
    assert approx_div(np.uint32(ONE), np.uint32(ONE)) == np.uint32(ONE)
    assert approx_div(x, x[:1, :, :1]).shape == x.shape


def test_arrays_longer_than_a_block_match_their_parts():
    x = words(np, 20000, 5).astype(np.uint32)
    assert np.array_equal(approx("sin", x), np.concatenate([approx("sin", x[:8000]), approx("sin", x[8000:])]))


@pytest.mark.parametrize(
    "name, keywords, message",
    [
        ("exp", {}, "f32 has ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh, not 'exp'"),
        ("sin", {"format": "f16"}, "f16 has ex2, tanh, not 'sin', which exists in f32"),
        ("ex2", {"format": "f64"}, "f64 has rcp, rsqrt, not 'ex2', which exists in f32, f16, bf16"),
        ("ex2", {"format": "f8"}, "format is one of f32, f16, bf16, f64, not 'f8'"),
        ("ex2", {"ftz": 2}, "ftz is True or False, not 2"),
        (3, {}, "not 3"),
    ],
)
def test_the_error_for_an_unknown_option_lists_the_legal_ones(name, keywords, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        approx(name, np.zeros(1, np.uint32), **keywords)


@pytest.mark.parametrize(
    "bits, message",
    [
        (np.zeros(1, np.float32), "uint32, not float32; for numbers pass x.view"),
        (np.zeros(1, np.int32), "not int32"),
        (np.zeros(1, ">u4"), "not >u4"),
        ([1, 2], r"not \[1, 2\]"),
        (np.ma.zeros(1, np.uint32), "masked"),
    ],
)
def test_arguments_that_are_not_patterns_are_rejected(bits, message):
    with pytest.raises(FragmentMismatchError, match=message):
        approx("ex2", bits)


def test_divisions_reject_invalid_arguments():
    one = np.ones(2, np.uint32)
    with pytest.raises(UnsupportedInstructionError, match="kind is one of approx, full, not 'rn'"):
        approx_div(one, one, kind="rn")
    with pytest.raises(FragmentMismatchError, match="broadcast"):
        approx_div(one, np.ones(3, np.uint32))
    with pytest.raises(FragmentMismatchError, match="not float64"):
        approx_div(one, 1.0 * one)


def test_every_function_is_measured_on_hopper_and_inferred_elsewhere():
    assert {row.status for key, row in APPROX_STATUS.items() if key[2] == "sm_90"} == {"measured"}
    assert {row.status for key, row in APPROX_STATUS.items() if key[2] != "sm_90"} == {"inferred"}
    assert {key[0] for key in APPROX_STATUS} == {*APPROX_NAMES, "div"}
    assert [chip for name, format, chip in APPROX_STATUS if (name, format) == ("rcp", "f32")] == list(CHIPS)
    assert ("ex2", "bf16", "sm_89") not in APPROX_STATUS
    assert all(row.source for row in (*APPROX_STATUS.values(), *TABLES.values()))


def test_tanh_has_the_sum_of_the_segments_of_its_binades():
    assert sum(1 << bits for bits in TANH_BINADES.values()) == TABLES["tanh"].segments
