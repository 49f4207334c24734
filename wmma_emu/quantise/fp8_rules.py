# SPDX-License-Identifier: MIT
"""The float32 scales of FP8 recipes: from the largest magnitude to two factors, as libraries compute them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.evidence import Evidence
from wmma_emu.formats import Format, decode, encode, format_of
from wmma_emu.formats.rounding import Bits
from wmma_emu.quantise.spec import ScaleRule
from wmma_emu.scalar import convert, div, mul
from wmma_emu.suggestions import did_you_mean

_F32 = format_of("f32")
_ONE, _MAX_F32, _INFINITY, _EXPONENT = (np.uint32(x) for x in (0x3F80_0000, 0x7F7F_FFFF, 0x7F80_0000, 0xFF80_0000))
_LEAST_OF_DEEPGEMM = np.uint32(0x38D1_B717)  # 1e-4
_LEAST_OF_TORCHAO = 1e-12


class Factors(NamedTuple):
    """Patterns of float32: numbers are multiplied by ``encode`` before they are rounded, sums by ``decode``."""

    encode: Bits
    decode: Bits


class Request(NamedTuple):
    """The largest magnitudes as patterns of float32, and what they are scaled to.

    ``largest`` is the factor that replaces an infinite one; ``by_powers`` asks for powers of two.
    """

    amax: Bits
    element: Format
    largest: Bits
    by_powers: bool


def transformer_engine(given: Request) -> Factors:
    """Compute the factors of `compute_scale_from_amax`, in ``common/recipe/recipe_common.cuh``."""
    encode = div(_largest_element(given.element), given.amax, _F32)
    encode = np.where(encode == _INFINITY, given.largest, encode)
    if given.by_powers:
        encode = encode & _EXPONENT
    encode = np.where((given.amax == 0) | (given.amax >= _INFINITY), _ONE, encode).astype(np.uint32)
    return Factors(encode, div(np.full_like(encode, _ONE), encode, _F32))


def torchao(given: Request) -> Factors:
    """Compute the factors of `amax_to_scale`, in ``float8/float8_utils.py``; the division is in float64."""
    amax = decode(given.amax, _F32)
    with np.errstate(invalid="ignore"):  # a NaN
        quotient = _largest(given.element) / np.where(amax < _LEAST_OF_TORCHAO, _LEAST_OF_TORCHAO, amax)
    factor = encode(quotient, _F32)
    if given.by_powers:
        factor = _floor_of_rounded_logarithm(factor)
    return Factors(factor, div(np.full_like(factor, _ONE), factor, _F32))


def deepgemm(given: Request, *, divides: bool = True) -> Factors:
    """Compute the factors of `per_token_cast_to_fp8`, in ``deep_gemm/utils/math.py``."""
    amax = np.maximum(given.amax, _LEAST_OF_DEEPGEMM).astype(np.uint32)
    largest = _largest_element(given.element)
    sf = div(amax, largest, _F32) if divides else mul(amax, div(_word(_ONE), largest, _F32), _F32)
    if given.by_powers:
        is_above = (sf & ~_EXPONENT) != 0
        exponent = ((sf & _EXPONENT) >> np.uint32(23)) + is_above
        sf = (np.clip(exponent, 1, 254) << 23).astype(np.uint32)
    return Factors(div(np.full_like(sf, _ONE), sf, _F32), sf)


def _deepgemm_cuda(given: Request) -> Factors:
    return deepgemm(given, divides=False)


def _floor_of_rounded_logarithm(factor: Bits) -> Bits:
    """Return 2**floor(log2(x)), with a logarithm that is rounded to float32 before the floor."""
    with np.errstate(divide="ignore"):  # the logarithm of 0
        logarithm = np.log2(decode(factor, _F32))
    rounded = np.floor(decode(encode(logarithm, _F32), _F32))
    return encode(np.exp2(rounded), _F32)


def _largest(fmt: Format) -> float:
    return float(decode(np.array([fmt.max_finite], fmt.storage), fmt)[0])


def _largest_element(fmt: Format) -> Bits:
    return convert(np.array([fmt.max_finite], fmt.storage), fmt, _F32)


def _word(pattern: np.uint32) -> Bits:
    return np.array([pattern])


def nan_is_ignored(rule: str) -> bool:
    """Return whether a NaN leaves the largest magnitude as it is, as `fmaxf` does, instead of becoming it."""
    return rule == "transformer_engine"


def largest_magnitude(magnitudes: Bits, axis: tuple[int, ...], rule: str) -> Bits:
    """Return the largest of non-negative patterns of float32; without finite or infinite ones, 0."""
    if nan_is_ignored(rule):
        magnitudes = np.where(magnitudes > _INFINITY, np.uint32(0), magnitudes)
    found: NDArray[np.uint32] = magnitudes.max(axis=axis, initial=0).astype(np.uint32)
    return found


FP8_FACTORS: Mapping[str, Callable[[Request], Factors]] = {
    "transformer_engine": transformer_engine,
    "torchao": torchao,
    "deepgemm": deepgemm,
    "deepgemm_cuda": _deepgemm_cuda,
}
"""The function of each rule."""

_FP8 = frozenset({"e4m3", "e5m2"})
_DEEPGEMM = "DeepGEMM (54e2261), deep_gemm/utils/math.py, per_token_cast_to_fp8 and per_block_cast_to_fp8"

FP8_RULES: tuple[ScaleRule, ...] = (
    ScaleRule(
        "transformer_engine",
        "f32",
        "In float32: encode = RNE of max / amax, 1 if amax is 0 or infinite; if the quotient is infinite, the largest "
        "float32, for blocks the largest number of the input's format. Powers of two: the fraction bits of encode are "
        "cleared. decode = RNE of 1 / encode. A NaN does not count in amax.",
        Evidence(
            "recorded",
            "Transformer Engine 2.20.0.dev0 (d0067d0), common/recipe/recipe_common.cuh, compute_scale_from_amax; "
            "recorded on an NVIDIA H200, 2026-11-28",
            _FP8,
        ),
    ),
    ScaleRule(
        "torchao",
        "f32",
        "encode = RNE float32 of the float64 quotient max / amax, amax at least 1e-12. Powers of two: 2**floor(l), "
        "l = RNE float32 of log2(encode), so that numbers just below a power of two become that power. decode = RNE of "
        "1 / encode. A NaN in amax makes everything NaN.",
        Evidence(
            "recorded",
            "torchao 0.18.0, float8/float8_utils.py, amax_to_scale, and prototype/blockwise_fp8_training/kernels.py; "
            "recorded on a processor with PyTorch 2.13.0 and on an NVIDIA H200 with 2.11.0, 2026-11-28",
            _FP8,
        ),
    ),
    ScaleRule(
        "deepgemm",
        "f32",
        "In float32: decode = RNE of amax / max, amax at least 1e-4. Powers of two: decode is rounded up to one. "
        "encode = RNE of 1 / decode.",
        Evidence("recorded", _DEEPGEMM + "; recorded on a processor with PyTorch 2.13.0, 2026-11-28", _FP8),
    ),
    ScaleRule(
        "deepgemm_cuda",
        "f32",
        "As deepgemm, but decode = RNE of amax * (1 / max): on a GPU, PyTorch divides by a Python number by "
        "multiplying with its reciprocal.",
        Evidence("recorded", _DEEPGEMM + "; recorded on an NVIDIA H200 with PyTorch 2.11.0+cu130, 2026-11-28", _FP8),
    ),
)
"""The rules for float32 scales of FP8."""


def fp8_rule_of(name: str) -> ScaleRule:
    """Look up a rule for float32 scales by its name.

    Examples
    --------
    >>> str(fp8_rule_of("torchao"))
    'torchao'
    """
    for rule in FP8_RULES:
        if rule.name == name:
            return rule
    names = [rule.name for rule in FP8_RULES]
    hint = did_you_mean(name, names, f"the rules are {', '.join(names)}") if isinstance(name, str) else ""
    raise UnknownNameError(f"there is no rule {shorten(name)} for float32 scales{hint}")
