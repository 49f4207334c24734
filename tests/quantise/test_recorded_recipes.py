# SPDX-License-Identifier: MIT
"""Scales, elements and roundings of libraries, recorded by tools/record_recipes.py, are reproduced bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from tools.record_recipes import EVERY, HISTORIES, STEPS, exact_matrix, magnitudes, matrix, stochastic_inputs
from wmma_emu.formats import decode, format_of
from wmma_emu.quantise import DelayedScale, block_format_of, scale_to_fp8
from wmma_emu.quantise.fp8_rules import FP8_FACTORS, Request
from wmma_emu.quantise.rules import scale_exponents
from wmma_emu.quantise.stochastic import round_stochastically

pytestmark = pytest.mark.vectors

with np.load(Path(__file__).with_name("recipes.npz")) as _file:
    RECORDED = dict(_file)
AMAX = magnitudes()
MAX_F32, MAX_BF16 = np.array([0x7F7FFFFF], np.uint32), np.array([0x7F7F0000], np.uint32)
CASTS = [
    (*key.removeprefix("cuda ").split(), key.startswith("cuda"))
    for key in RECORDED
    if "scales" in key and not key.startswith(("device", "nvfp4")) and " amax " not in key
]


def equal(ours, key):
    """Assert that words are equal; any NaN equals another."""
    theirs = RECORDED[key]
    words = np.ascontiguousarray(ours).view(theirs.dtype).reshape(theirs.shape)
    if theirs.dtype == np.uint32:
        words, theirs = (np.where((x & 0x7FFFFFFF) > 0x7F800000, 0x7FC00000, x) for x in (words, theirs))
    np.testing.assert_array_equal(words, theirs)


def test_every_rule_and_granularity_is_recorded():
    recorded = {"torchao": "tensor row vector block", "transformer_engine": "vector block", "deepgemm": "vector block"}
    expected = {(library, where) for library, granularities in recorded.items() for where in granularities.split()}
    assert {(x[0], x[1].removesuffix("_t")) for x in CASTS} == expected


@pytest.mark.parametrize("cast", CASTS, ids=lambda cast: " ".join(map(str, cast)))
def test_scales_and_elements_of_a_matrix_are_the_librarys(cast):
    library, where, _, element, powers, on_gpu = cast
    granularity, is_transposed = where.removesuffix("_t"), where.endswith("_t")
    x = matrix()[:128, :128] if library == "torchao" and granularity in ("vector", "block") else matrix()
    rule = "deepgemm_cuda" if on_gpu else library
    ours = scale_to_fp8(
        x, element, granularity=granularity, axis=0 if is_transposed and granularity != "block" else 1, rule=rule,
        powers_of_two=powers == "True",
    )  # fmt: skip
    elements, scales = (z.T if is_transposed else z for z in (ours.elements, ours.scales))
    prefix = "cuda " * on_gpu
    equal(scales, f"{prefix}{library} {where} scales {element} {powers}")
    key = f"{library} {where} elements {element} {powers}"
    equal(np.ascontiguousarray(elements).ravel()[::EVERY], prefix + key if prefix + key in RECORDED else key)


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize("element", ["e4m3", "e5m2"])
def test_factors_of_all_magnitudes_are_torchaos(element, powers):
    ours = FP8_FACTORS["torchao"](Request(AMAX.view(np.uint32), format_of(element), MAX_F32, powers))
    equal(ours.encode, f"torchao factors {element} {powers}")


@pytest.mark.parametrize(("rule", "prefix"), [("deepgemm", ""), ("deepgemm_cuda", "cuda ")])
@pytest.mark.parametrize("powers", [False, True])
def test_scales_of_all_magnitudes_are_deepgemms(powers, rule, prefix):
    finite = AMAX[np.isfinite(AMAX) & (AMAX < 1e38)][:, None]
    ours = scale_to_fp8(finite, "e4m3", granularity="vector", rule=rule, powers_of_two=powers)
    key = f"deepgemm amax scales e4m3 {powers}"
    equal(ours.scales, prefix + key if prefix + key in RECORDED else key)


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize("element", ["e4m3", "e5m2"])
@pytest.mark.parametrize(("source", "limit"), [("f32", MAX_F32), ("bf16", MAX_BF16)])
def test_factors_of_all_magnitudes_are_transformer_engines_on_a_gpu(element, powers, source, limit):
    amax = np.where(np.isnan(AMAX), np.inf, AMAX).astype(np.float32)  # a NaN never reaches the function
    ours = FP8_FACTORS["transformer_engine"](Request(amax.view(np.uint32), format_of(element), limit, powers))
    equal(ours.encode, f"device factors {element} {powers} {source}")
    equal(ours.decode, f"device decode {element} {powers} {source}")


@pytest.mark.parametrize("element", ["e4m3", "e5m2"])
def test_powers_of_two_of_blocks_are_transformer_engines_on_a_gpu(element):
    is_finite = np.isfinite(AMAX)
    fmt = block_format_of(f"mxfp8_{element}")
    ours = scale_exponents(AMAX.view(np.uint32)[is_finite], format_of("f32"), fmt, "rceil") + 127
    np.testing.assert_array_equal(ours, RECORDED[f"device powers {element}"][is_finite])


def test_stochastic_rounding_is_transformer_engines_on_a_gpu():
    x, random_bits = stochastic_inputs()
    fmt = format_of("e2m1")
    ours = decode(round_stochastically(x.view(np.uint32), random_bits, fmt), fmt).astype(np.float32)
    equal(ours, "device stochastic")


@pytest.mark.parametrize(("length", "choice", "margin"), HISTORIES)
def test_delayed_scales_and_histories_are_transformer_engines_on_a_gpu(length, choice, margin):
    state, found = DelayedScale("e4m3", length, choice, margin), []
    for amax in STEPS:
        state.history[0] = amax  # a NaN, too, as a kernel could leave it
        state.update()
        found.append((state.scale, state.history[0], state.history[-1]))
    equal(np.array(found, np.float32), f"device delayed {length} {choice} {margin}")


@pytest.mark.parametrize("kind", ["lines", "squares", "rotated"])
@pytest.mark.parametrize("axis", [1, 0])
def test_nvfp4_of_lines_and_of_squares_is_transformer_engines(kind, axis):
    from wmma_emu.models.recipes import Cast
    from wmma_emu.models.recipes.operands import hadamard_matrix, operand_of

    x = exact_matrix()
    is_rotated = kind == "rotated" and axis == 0
    cast = Cast("nvfp4", "transformer_engine", is_square=kind == "squares", is_rotated=is_rotated)

    def rotate(rows):  # sums of these numbers are exact
        return (rows.astype(np.float32) @ hadamard_matrix(np.float32)).astype(rows.dtype)

    ours = operand_of(x, cast, axis, None, np.zeros, rotate)
    bits, scales = ours.quantised.element_bits, ours.quantised.scale_bits
    bits, scales, t = (bits, scales, "") if axis else (bits.T, scales.T, "_t")
    equal(scales, f"nvfp4 {kind}{t} scales")
    equal((bits[:, ::2] | bits[:, 1::2] << 4).ravel()[::EVERY], f"nvfp4 {kind}{t} elements")
    assert ours.amax.view(np.uint32) == RECORDED[f"nvfp4 {kind} amax"].ravel()[0 if axis else 1]
