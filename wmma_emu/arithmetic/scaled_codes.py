# SPDX-License-Identifier: MIT
"""Elements with their block scales as 16-bit codes: the scale's pattern above the element's pattern.

So an engine splits and broadcasts one array instead of two, and a table has the value of each code. Codes are internal
to this package.
"""

import numpy as np

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.errors import ArgumentError, ShapeError, shorten
from wmma_emu.formats import Format, unpack
from wmma_emu.formats.codec import Bits, UnpackedArray
from wmma_emu.scalar import convert

ELEMENT_BITS = 8
"""The bits for an element below its scale."""


def with_scales(product: DotProduct, a: Bits, b: Bits, scale_a: Bits | None, scale_b: Bits | None) -> tuple[Bits, Bits]:
    """Join the scales of A and B with their elements.

    Leading axes of scales broadcast. For a product without block scales, A and B are returned unchanged.
    """
    given = {"scale_a": scale_a, "scale_b": scale_b}
    if product.scale is None:
        for name, scales in given.items():
            if scales is not None:
                raise ArgumentError(f"{name} was given, but the instruction has no block scales; omit it")
        return a, b
    blocks = a.shape[-1] // product.scale_block
    wanted = {"scale_a": (a.shape[-2], blocks), "scale_b": (blocks, b.shape[-1])}
    codes = []
    for (name, scales), operand, axis in zip(given.items(), (a, b), (-1, -2), strict=True):
        _check(product.scale, name, scales, wanted[name])
        repeated = np.repeat(np.asarray(scales).astype(np.uint16), product.scale_block, axis)
        codes.append(repeated << np.uint16(ELEMENT_BITS) | operand.astype(np.uint16))
    return codes[0], codes[1]


def _check(fmt: Format, name: str, scales: object, shape: tuple[int, int]) -> None:
    rows, columns = shape
    if scales is None:
        raise ArgumentError(
            f"the instruction has block scales, but {name} is missing; pass {fmt} patterns of shape "
            f"(..., {rows}, {columns})"
        )
    dtype = getattr(scales, "dtype", None)
    if not isinstance(scales, np.ndarray) or dtype is None or dtype.kind != "u":
        what = type(scales).__name__ if dtype is None else f"an array of {shorten(dtype, str)}"
        raise ArgumentError(f"{name} is {what}; pass {fmt} patterns as a NumPy array of uint8")
    if scales.shape[-2:] != shape:
        raise ShapeError(f"{name} has shape {scales.shape}; expected (..., {rows}, {columns})")


def split_codes(codes: Bits) -> tuple[Bits, Bits]:
    """Split codes into patterns of elements and patterns of scales."""
    return (codes & 0xFF).astype(np.uint8), (codes >> ELEMENT_BITS).astype(np.uint8)


def unpacked_codes(source: Format, target: Format, scale: Format | None) -> UnpackedArray:
    """Unpack every code in order; without a scale, every pattern, converted (exactly) to another format.

    The exponent is the sum of the exponents of element and scale; significands of scales are omitted. A NaN scale
    always gives NaN.
    """
    if scale is None:
        low = source.ignored_low_bits
        patterns = np.arange(1 << (source.bits - low), dtype=np.uint64) << np.uint64(low)
        return unpack(convert(patterns.astype(source.storage), source, target), target)
    codes = np.arange(1 << (2 * ELEMENT_BITS), dtype=np.uint64)
    element = unpack(codes & np.uint64(source.mask), source)
    factor = unpack(codes >> np.uint64(ELEMENT_BITS), scale)
    return UnpackedArray(
        element.sign, element.exponent + factor.exponent, np.where(factor.is_nan, 0, element.significand),
        element.is_infinity & ~factor.is_nan, element.is_nan | factor.is_nan,
    )  # fmt: skip
