# SPDX-License-Identifier: MIT
"""div, rcp and sqrt: arrays against exact integers, in every rounding."""

from itertools import product

import numpy as np
import pytest

from tools.ptx_scalar_inputs import inputs_of
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import format_of
from wmma_emu.scalar import reference_division as reference
from wmma_emu.scalar import rounded_single
from wmma_emu.scalar.digits import quotient, root
from wmma_emu.scalar.division import div, rcp, sqrt

ROUNDINGS = ("RNE", "RZ", "RD", "RU")
EVERY = slice(None, None, 17)


def _nan(name):
    return "propagate" if name == "f64" else "canonical"


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_quotients_are_exact_quotients_rounded_once(name, rounding):
    fmt = format_of(name)
    a, b = inputs_of(name, 0)[EVERY], inputs_of(name, 1)[EVERY]
    want = [reference.div(int(x), int(y), fmt, rounding, _nan(name)) for x, y in zip(a, b, strict=True)]
    assert np.array_equal(div(a, b, name, rounding), np.array(want, fmt.storage))
    one = fmt.bias << fmt.fraction_bits
    want = [reference.div(one, int(x), fmt, rounding, _nan(name)) for x in a]
    assert np.array_equal(rcp(a, name, rounding), np.array(want, fmt.storage))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_square_roots_are_exact_roots_rounded_once(name, rounding):
    fmt = format_of(name)
    a = inputs_of(name, 0)[EVERY] & np.array(fmt.sign_mask - 1, fmt.storage)
    a[::50] |= fmt.storage.type(fmt.sign_mask)
    want = [reference.sqrt(int(x), fmt, rounding, _nan(name)) for x in a]
    assert np.array_equal(sqrt(a, name, rounding), np.array(want, fmt.storage))


@pytest.mark.parametrize("rounding", [*ROUNDINGS, "RNA", "odd"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_digit_by_digit_results_of_halves_match_exact_integers(name, rounding):
    fmt = format_of(name)
    a, b = inputs_of(name, 0)[EVERY], inputs_of(name, 1)[EVERY]
    want = [reference.div(int(x), int(y), fmt, rounding) for x, y in zip(a, b, strict=True)]
    assert np.array_equal(quotient(a, b, fmt, rounding), np.array(want, np.uint16))
    assert np.array_equal(div(a, b, name, rounding), np.array(want, np.uint16))
    want = [reference.sqrt(int(x), fmt, rounding) for x in a]
    assert np.array_equal(root(a, fmt, rounding), np.array(want, np.uint16))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_flushing_replaces_subnormal_operands_and_results_by_zeros(rounding):
    smallest, largest = 0x00800000, 0x7F000000
    a, b = (
        np.array([smallest - 1, smallest, largest], np.uint32),
        np.array([0x3F800000, 0x40000000, 0x7F7FFFFF], np.uint32),
    )
    assert div(a, b, "f32", rounding, ftz=True)[:2].tolist() == [0, 0]
    assert rcp(b, "f32", rounding, ftz=True)[2] == 0
    assert sqrt(a[:1], "f32", rounding, ftz=True)[0] == 0
    assert sqrt(a[:1], "f32", rounding)[0] > smallest


def test_a_quotient_near_the_smallest_normal_number_is_flushed_only_if_it_remains_below():
    # 2**-126 * (1 - 2**-24) has 24 bits; only rounding to the spacing of subnormal numbers gives 2**-126.
    below = rounded_single.div(np.array([0x00FFFFFF], np.uint32), np.array([0x40000000], np.uint32))
    assert below[0] == 0x00800000
    assert div(np.array([0x00FFFFFF], np.uint32), np.array([0x40000000], np.uint32), "f32", ftz=True)[0] == 0


def test_shapes_broadcast_and_scalars_give_scalars():
    a, b = np.full((3, 1), 0x3F800000, np.uint32), np.full(4, 0x40000000, np.uint32)
    assert div(a, b, "f32").shape == (3, 4)
    assert sqrt(np.array(0x40800000, np.uint32), "f32").shape == ()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: div(np.zeros(2, np.uint16), np.zeros(2, np.uint32), "f32"), FragmentMismatchError, "a holds f32"),
        (lambda: div(np.zeros(2, np.uint32), np.zeros(3, np.uint32), "f32"), FragmentMismatchError, "do not broadcast"),
        (lambda: sqrt([1.0], "f32"), FragmentMismatchError, "not list"),
        (lambda: rcp(np.zeros(2, np.uint64), "f64", ftz=True), UnsupportedInstructionError, "ftz applies to f32"),
        (lambda: rcp(np.zeros(2, np.uint8), "e4m3"), UnsupportedInstructionError, "has no division"),
    ],
    ids=["width", "shapes", "list", "ftz", "e4m3"],
)
def test_invalid_arguments_are_rejected(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_special_operands_follow_ieee():
    values = [0, 1 << 31, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000]
    a, b = (np.array(x, np.uint32) for x in zip(*product(values, values), strict=True))
    fmt = format_of("f32")
    want = [reference.div(int(x), int(y), fmt) for x, y in zip(a, b, strict=True)]
    assert div(a, b, "f32").tolist() == want
