# SPDX-License-Identifier: MIT
"""One rounding step of an aligned sum for many elements at once, for any operands including specials.

`wmma_emu.arithmetic.reference.fused_step` does the same for one element. This module holds terms exactly in float64: a
product has at most 22 significand bits and an exponent in float64's range, and truncated terms are integers whose sums
are below 2**53. Infinities and NaN need no special case, because float64 treats them as the unit does.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic.model import DotModel
from wmma_emu.arithmetic.operands import NONE, SPECIAL, codes_in, codes_of
from wmma_emu.formats import Format, decode, round_pack, unpack
from wmma_emu.formats.codec import Bits


class _Decoded(NamedTuple):
    """The value and exponent of every pattern of a format, without the bits that the hardware ignores."""

    value: NDArray[np.float64]
    exponent: NDArray[np.int16]


def fused_step(
    model: DotModel, a: Bits, a_format: Format, b: Bits, b_format: Format, c: Bits, scale: Format | None = None
) -> Bits:
    """Compute one rounding step of the unit for each element: align the terms, truncate, add, round once.

    Operands are patterns of at most 11 significand bits, shape (terms, ...), or, with ``scale``, codes with scales,
    whose exponents are added to the exponents of the products; c and the result, shape (...), are patterns in the
    accumulator's format.
    """
    out = model.output_format
    with np.errstate(all="ignore"):
        (x, x_exponent), (y, y_exponent) = _look_up(a, a_format, scale), _look_up(b, b_format, scale)
        x *= y
        x_exponent += y_exponent
        z, z_exponent = _decode_c(c, model.accumulator_format)
        exponent = np.maximum(np.maximum(x_exponent.max(0), z_exponent), model.min_exponent).astype(np.int64)
        power = ((model.fraction_bits - exponent + 1023) << 52).view(np.float64)
        x *= power
        total = np.trunc(x, out=x).sum(0) + np.trunc(z * power)
        finite = np.isfinite(total)
        whole = np.where(finite, total, 0).astype(np.int64)
    bits = round_pack(whole < 0, np.abs(whole), exponent - model.fraction_bits, out, model.rounding, "infinity")
    # A zero sum is +0: also if all terms are -0, after cancellation, and after rounding to zero from either side.
    bits = np.where(bits == out.sign_mask, 0, bits)
    special = np.where(
        np.isnan(total), out.canonical_nan, np.where(total < 0, out.infinity | out.sign_mask, out.infinity)
    )
    return np.where(finite, bits, special).astype(out.storage)


def _look_up(bits: Bits, fmt: Format, scale: Format | None) -> _Decoded:
    table, index = _decoded(fmt, scale), codes_in(bits, fmt)
    return _Decoded(table.value[index], table.exponent[index])


def _decode_c(bits: Bits, fmt: Format) -> _Decoded:
    u = unpack(bits, fmt)
    return _Decoded(decode(bits, fmt), np.where(u.significand != 0, u.exponent, NONE).astype(np.int16))


@cache
def _decoded(fmt: Format, scale: Format | None) -> _Decoded:
    codes = codes_of(fmt, fmt, scale)
    exponent = np.where(codes.exponent == SPECIAL, NONE, codes.exponent)
    power = np.where(exponent == NONE, 0, exponent)
    return _Decoded(np.ldexp(codes.value.astype(np.float64), power), exponent.astype(np.int16))
