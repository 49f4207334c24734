# SPDX-License-Identifier: MIT
"""NVFP4: the float32 scale of a tensor, the e4m3 scale of each block, and the elements; one function per recipe."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import Format, Rounding, format_of, round_pack, unpack
from wmma_emu.formats.rounding import Bits, Int64s, bit_length
from wmma_emu.quantise.spec import BlockFormat
from wmma_emu.quantise.stochastic import round_stochastically
from wmma_emu.scalar import convert, div, mul

_F32, _E4M3 = format_of("f32"), format_of("e4m3")
_ONE, _MAX_F32, _TINY_F32 = 0x3F80_0000, 0x7F7F_FFFF, 0x0000_0001
_SIX, _SIXTH, _TINY_E4M3 = 0x40C0_0000, 0x3E2A_AAAB, 0x3C80_0000
_RANGE = 448 * 6
_RANGE_F32 = 0x4528_0000


class TensorScale(NamedTuple):
    """The second-level scale as float32 patterns: the factor of elements and block scales, and the recipe's divisor.

    Each is the rounded reciprocal of the other; most recipes use only the first.
    """

    decode: int
    encode: int


def tensor_scale_of(amax: Bits, source: Format, rule: str) -> TensorScale:
    """Return the scale of a tensor whose largest magnitude is ``amax`` (a pattern of ``source``, shape ()).

    Examples
    --------
    >>> amax = np.array(2688.0, np.float32).view(np.uint32)
    >>> [hex(x) for x in tensor_scale_of(amax, format_of("f32"), "rne")]
    ['0x3f800000', '0x3f800000']
    """
    u = unpack(np.atleast_1d(amax), source)
    if not u.significand.any():
        return TensorScale(_ONE, _ONE)
    if rule == "rne":
        word = _quotient(
            u.sign, u.significand, u.exponent - source.fraction_bits, np.full(1, _RANGE), np.zeros(1, np.int64), _F32
        )
        decode = max(int(word[0]), _TINY_F32)
        return TensorScale(decode, reciprocal(decode))
    single = convert(np.atleast_1d(amax), source, _F32)
    if rule == "torchao_cuda":
        decode = int(mul(single, div(_word(_ONE), _word(_RANGE_F32), _F32), _F32)[0])
        return TensorScale(decode, reciprocal(decode))
    if rule in ("torchao", "division"):
        decode = int(div(single, _word(_RANGE_F32), _F32)[0])
        return TensorScale(decode, reciprocal(decode))
    encode = min(int(div(_word(_RANGE_F32), single, _F32)[0]), _MAX_F32)
    return TensorScale(reciprocal(encode), encode)


def scale_blocks(
    x: Bits,
    amax: Bits,
    source: Format,
    scale: TensorScale,
    fmt: BlockFormat,
    rule: str,
    rounding: Rounding,
    random: Bits | None = None,
) -> tuple[Bits, Bits]:
    """Return the block scales and the elements of blocks according to an NVFP4 rule.

    Blocks are finite patterns of ``source``, shape (blocks, 16), and ``amax`` is the largest magnitude of each. The
    scales are non-negative e4m3 patterns. ``rounding`` applies to the elements, unless random numbers
    decide; other steps round to nearest even.

    Examples
    --------
    >>> from wmma_emu.quantise import block_format_of
    >>> x = np.array([[6.0, -3.0] + [0.5] * 14], np.float32).view(np.uint32)
    >>> scales, elements = scale_blocks(
    ...     x, x[:, 0], format_of("f32"), TensorScale(0x3F800000, 0x3F800000), block_format_of("nvfp4"), "rne", "RNE")
    >>> scales.tolist(), elements[0, :3].tolist()
    ([56], [7, 13, 1])
    """
    if rule == "rne":
        return _rne(x, amax, source, scale, fmt, rounding)
    scales, scaled = _IN_FLOAT32[rule](convert(x, source, _F32), convert(amax, source, _F32), scale)
    if random is not None:
        return scales, round_stochastically(scaled, random, fmt.element)
    return scales, convert(scaled, _F32, fmt.element, rounding, "saturate")


def _rne(
    x: Bits, amax: Bits, source: Format, scale: TensorScale, fmt: BlockFormat, rounding: Rounding
) -> tuple[Bits, Bits]:
    t = unpack(_word(scale.decode), _F32)
    whole, last = t.significand[0], t.exponent[0] - _F32.fraction_bits
    a = unpack(amax, source)
    places = a.exponent - source.fraction_bits
    scales = _quotient(a.sign, a.significand, places, 6 * whole, last, _E4M3)
    s = unpack(scales, _E4M3)
    divisor = np.maximum(s.significand, 1)[:, None] * whole
    exponent = (s.exponent - _E4M3.fraction_bits)[:, None] + last
    u = unpack(x, source)
    u = u._replace(significand=np.where(s.significand[:, None] == 0, 0, u.significand))
    places = u.exponent - source.fraction_bits
    return scales, _quotient(u.sign, u.significand, places, divisor, exponent, fmt.element, rounding)


def _torchao(x: Bits, amax: Bits, scale: TensorScale) -> tuple[Bits, Bits]:
    return _by_reciprocal(x, _clamped_scales(div(amax, _word(_SIX), _F32), scale), scale)


def _torchao_cuda(x: Bits, amax: Bits, scale: TensorScale) -> tuple[Bits, Bits]:
    return _by_reciprocal(x, _clamped_scales(mul(amax, _word(_SIXTH), _F32), scale), scale)


def _by_reciprocal(x: Bits, scales: Bits, scale: TensorScale) -> tuple[Bits, Bits]:
    factor = div(div(_word(_ONE), _word(scale.decode), _F32), convert(scales, _E4M3, _F32), _F32)
    return scales, np.where(_is_zero(x), x, mul(x, factor[:, None], _F32))


def _division(x: Bits, amax: Bits, scale: TensorScale) -> tuple[Bits, Bits]:
    scales = _clamped_scales(div(amax, _word(_SIX), _F32), scale)
    total = mul(_word(scale.decode), convert(scales, _E4M3, _F32), _F32)
    return scales, np.where(_is_zero(x), x, div(x, total[:, None], _F32))


def _clamped_scales(sixth: Bits, scale: TensorScale) -> Bits:
    """Return torchao's block scales for a sixth of the largest magnitude, at least the smallest normal number."""
    quotient = div(sixth, _word(scale.decode), _F32)
    wanted = np.where(sixth == 0, 0, quotient)  # 0 / 0 if the tensor scale is also zero
    return convert(np.maximum(wanted, _TINY_E4M3).astype(np.uint32), _F32, _E4M3, "RNE", "saturate")


def _transformer_engine(x: Bits, amax: Bits, scale: TensorScale) -> tuple[Bits, Bits]:
    factor = mul(_word(scale.encode), _word(_SIXTH), _F32)
    scales = convert(mul(amax, factor, _F32), _F32, _E4M3, "RNE", "saturate")
    total = mul(convert(scales, _E4M3, _F32), _word(scale.decode), _F32)
    inverse = np.minimum(div(_word(_ONE), total, _F32), np.uint32(_MAX_F32)).astype(np.uint32)
    return scales, mul(x, inverse[:, None], _F32)


_IN_FLOAT32: dict[str, Callable[[Bits, Bits, TensorScale], tuple[Bits, Bits]]] = {
    "torchao": _torchao,
    "torchao_cuda": _torchao_cuda,
    "division": _division,
    "transformer_engine": _transformer_engine,
}
"""A function from the float32 numbers of blocks and their largest magnitudes to block scales and scaled numbers."""

FLOAT32_RULES = tuple(_IN_FLOAT32)
"""The rules that compute in float32; their inputs must be float32 numbers."""


def _quotient(
    sign: NDArray[np.bool_],
    significand: Int64s,
    exponent: Int64s,
    divisor: Int64s,
    divisor_exponent: Int64s,
    target: Format,
    rounding: Rounding = "RNE",
) -> Bits:
    """Divide integers with binary exponents exactly and round once; quotients that are too large saturate."""
    # The dividend is shifted up to 61 bits. Divisors have at most 28 bits, so the quotient has more than 32, and
    # rounding it to 24 bits or fewer depends only on whether the remainder is zero.
    places = np.where(significand == 0, 0, 61 - bit_length(significand))
    dividend = significand << places
    whole = dividend // divisor
    rest = dividend - whole * divisor
    return round_pack(sign, whole, exponent - places - divisor_exponent, target, rounding, "saturate", sticky=rest != 0)


def _word(pattern: int) -> Bits:
    return np.array([pattern], np.uint32)


def _is_zero(single: Bits) -> NDArray[np.bool_]:
    zero: NDArray[np.bool_] = (single & np.uint32(0x7FFF_FFFF)) == 0
    return zero


def reciprocal(pattern: int) -> int:
    """Return 1 / x in float32, or the largest number if that is infinite."""
    return min(int(div(_word(_ONE), _word(pattern), _F32)[0]), _MAX_F32)
