# SPDX-License-Identifier: MIT
"""A thread that flushes subnormals, or has another rounding mode: detected where it matters, harmless elsewhere."""

import timeit

import numpy as np
import pytest

from tests.control_word import (
    DENORMALS_ARE_ZERO,
    FLUSH_TO_ZERO,
    ROUND_DOWN,
    ROUND_TO_ZERO,
    ROUND_UP,
    flags,
    word_of,
)
from tests.formats.second_path import ROWS
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.formats import decode, encode, format_of
from wmma_emu.scalar import (
    add,
    convert,
    double,
    environment,
    fma,
    ieee_arithmetic,
    mul,
    require_ieee_subnormals,
    require_round_to_nearest,
)

_MODES = FLUSH_TO_ZERO | DENORMALS_ARE_ZERO | ROUND_TO_ZERO


@pytest.mark.parametrize("bits", [FLUSH_TO_ZERO, DENORMALS_ARE_ZERO, FLUSH_TO_ZERO | DENORMALS_ARE_ZERO], ids=hex)
def test_a_thread_that_flushes_is_rejected(control, bits):
    require_ieee_subnormals()
    with flags(control, bits):
        require_round_to_nearest()
        with pytest.raises(BackendUnavailableError, match="flushes subnormal numbers to zero"):
            require_ieee_subnormals()
        flushed = np.array([2.0**-1022]) * 0.5, np.array([2.0**-1074]) * 2.0**52
        assert 0 in [v[0].view(np.uint64) for v in flushed]  # the switch is really on
    require_ieee_subnormals()


@pytest.mark.parametrize(
    ("bits", "ulps"),
    [
        (0, [2, -2, 2, -2]),
        (ROUND_DOWN, [1, -2, 2, -3]),
        (ROUND_UP, [2, -1, 3, -2]),
        (ROUND_TO_ZERO, [1, -1, 2, -2]),
    ],
    ids=["nearest", "down", "up", "to zero"],
)
def test_a_thread_with_another_rounding_mode_is_rejected(control, bits, ulps):
    x = np.array([1 + 2.0**-52] * 4)
    y = np.array([1.5, -1.5, 1 + 2.0**-52, -1 - 2.0**-52])
    with flags(control, bits):
        product = x * y
        raised = []
        for check in (require_round_to_nearest, require_ieee_subnormals):
            try:
                check()
            except BackendUnavailableError as error:
                raised.append(str(error))
    beyond = np.abs(product) - [1.5, 1.5, 1.0, 1.0]
    assert (np.sign(product) * beyond * 2.0**52).tolist() == ulps  # the mode is really on
    assert len(raised) == (2 if bits else 0)
    assert all("does not round to nearest even" in text and "fesetround(FE_TONEAREST)" in text for text in raised)
    require_ieee_subnormals()


@pytest.mark.parametrize("bits", [ROUND_DOWN, ROUND_UP, ROUND_TO_ZERO], ids=hex)
@pytest.mark.parametrize("name", ROWS)
def test_results_are_the_same_in_a_thread_with_another_rounding_mode(control, bits, name):
    fmt = format_of(name)
    rng = np.random.default_rng(23)
    a, b, c = rng.integers(0, fmt.mask, (3, 1000), np.uint64, endpoint=True).astype(fmt.storage)
    works = {
        "fma": lambda: fma(a, b, c, fmt),
        "add": lambda: add(a, c, fmt),
        "mul": lambda: mul(a, b, fmt),
        "fma down": lambda: fma(a, b, c, fmt, "RD"),
        "convert": lambda: convert(a, fmt, "f16"),
        "encode": lambda: encode(decode(a, fmt), fmt),
    }
    want = {work: function() for work, function in works.items()}
    with flags(control, bits):
        for work, function in works.items():
            assert np.array_equal(function(), want[work]), work
        assert word_of(control) & ROUND_TO_ZERO == bits


@pytest.mark.parametrize("bits", [FLUSH_TO_ZERO | DENORMALS_ARE_ZERO, ROUND_DOWN, ROUND_TO_ZERO | FLUSH_TO_ZERO])
def test_the_arithmetic_of_a_thread_is_restored_after_work_and_after_errors(control, bits):
    before = word_of(control) & _MODES
    with flags(control, bits):
        with ieee_arithmetic():
            require_ieee_subnormals()
            with ieee_arithmetic():  # like a kernel that multiplies
                assert word_of(control) & _MODES == before
            assert word_of(control) & _MODES == before
        assert word_of(control) & _MODES == before | bits
        with pytest.raises(ZeroDivisionError), ieee_arithmetic():
            1 // 0
        assert word_of(control) & _MODES == before | bits
    assert word_of(control) & _MODES == before


def test_a_thread_that_flushes_is_rejected_if_no_switch_is_known(control, monkeypatch):
    monkeypatch.setattr(environment, "_switch", lambda: None)
    with flags(control, FLUSH_TO_ZERO), pytest.raises(BackendUnavailableError, match="flushes subnormal numbers"):
        add(*np.full((2, 1), 0x3FF0 << 48, np.uint64), "f64")


@pytest.mark.parametrize("check", [require_ieee_subnormals, require_round_to_nearest])
def test_the_check_is_cheap(check):
    assert min(timeit.repeat(check, number=1000, repeat=5)) < 5e-6 * 1000


def everything():
    rng = np.random.default_rng(21)
    results = []
    for name in ROWS:
        fmt = format_of(name)
        a, b, c = rng.integers(0, fmt.mask, (3, 4000), np.uint64, endpoint=True).astype(fmt.storage)
        if name in ("f32", "f64", "tf32", "bf16"):  # many subnormals
            a[::2] &= fmt.storage.type(fmt.mask >> fmt.exponent_bits | fmt.sign_mask)
            c[::3] &= fmt.storage.type(fmt.mask >> fmt.exponent_bits | fmt.sign_mask)
        results += [fma(a, b, c, fmt), fma(a, b, c, fmt, "RD"), add(a, c, fmt), mul(a, b, fmt)]
        results += [convert(a, fmt, target) for target in ROWS]
        results += [decode(a, fmt).view(np.uint64), encode(decode(a, fmt), format_of("f32"))]
        if name == "f32":
            results.append(encode(a.view(np.float32), format_of("f64")))
    return results


@pytest.mark.parametrize("edge", [-1, 1])
def test_the_range_of_the_float_path_excludes_subnormal_numbers(control, edge):
    rng = np.random.default_rng(22)
    size = 40_000
    factors = rng.integers(440, 460, (2, size)) * edge
    addend = rng.integers(880, 1022, size) * edge
    exponent = np.stack([*factors, addend]) + 1023
    bits = rng.integers(0, 1 << 52, (3, size), np.uint64) | exponent.astype(np.uint64) << np.uint64(52)
    a, b, c = bits | rng.integers(0, 2, (3, size), np.uint64) << np.uint64(63)
    want = double._exact(format_of("f64"), "RNE", "canonical", "ieee", a, b, c)
    assert np.array_equal(fma(a, b, c, "f64"), want)
    with flags(control, FLUSH_TO_ZERO | DENORMALS_ARE_ZERO):
        assert np.array_equal(fma(a, b, c, "f64"), want)


def test_results_are_the_same_in_a_thread_that_flushes(control):
    want = everything()
    with flags(control, FLUSH_TO_ZERO | DENORMALS_ARE_ZERO):
        got = everything()
    assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True))
