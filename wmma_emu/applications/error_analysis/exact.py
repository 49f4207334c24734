# SPDX-License-Identifier: MIT
"""Dot products in exact rational arithmetic: the product of matrices before any chip rounds it.

Patterns are decoded by `wmma_emu.formats` alone; the engines and their models are not used, so that a test can compare
the two. Every number of a binary format is an integer over a power of two: sums and products use Python's integers,
over one common power of two.
"""

from fractions import Fraction
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError, shorten
from wmma_emu.formats import Format, format_of, unpack
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import format_of_dtype, to_bits


class Scaled(NamedTuple):
    """Exact numbers: ``integers * 2**exponent``; specials, infinities and NaN, are 0."""

    integers: NDArray[np.object_]
    exponent: int
    is_special: NDArray[np.bool_]

    def at(self, exponent: int) -> NDArray[np.object_]:
        """Return the integers over another power of two, no larger than this one's."""
        shifted: NDArray[np.object_] = self.integers * (1 << (self.exponent - exponent))
        return shifted


def exact_dot(
    a: ArrayLike,
    b: ArrayLike,
    c: Any = 0,
    *,
    a_format: str | Format | None = None,
    b_format: str | Format | None = None,
    c_format: str | Format | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    scale_format: str | Format | None = None,
) -> Fraction:
    """Compute a dot product plus c as a fraction: exactly, without any rounding.

    Parameters
    ----------
    a, b : array, shape (K,)
        Vectors of any floating-point or integer dtype that the package supports; or patterns in unsigned integers, with
        their format named. Named 4-bit formats are packed, two elements per byte, as for `wmma_emu.gemm`.
    c : number, or array of one element
        A Python number, a fraction, or a number of a supported dtype; a pattern if ``c_format`` is named.
    a_format, b_format, c_format : str, optional
        The formats of the bits, if the dtypes do not determine them: ``"tf32"``, ``"e4m3"``, ...
    scale_a, scale_b : array, shape (blocks,), optional
        Block scales: each multiplies K / blocks neighbouring elements. Numbers of any supported dtype (float8_e8m0fnu),
        or patterns, with ``scale_format``.
    scale_format : str, optional
        ``"ue8m0"`` or ``"ue4m3"``, if the scales are patterns.

    Returns
    -------
    fractions.Fraction

    Raises
    ------
    FragmentMismatchError
        For infinities and NaN, which are not fractions; if a dtype does not determine a format; for vectors of
        different lengths; if the number of scales does not divide K.

    Examples
    --------
    A Hopper GPU keeps 25 bits below a product of one, so 2**-26 is lost:

    >>> import numpy as np
    >>> a = b = np.array([1, 2**-13], np.float16)
    >>> exact_dot(a, b) - 1
    Fraction(1, 67108864)
    >>> exact_dot(np.array([0x3E00], np.uint16), np.array([3], np.int8), 0.5, a_format="f16")
    Fraction(5, 1)

    Block scales of 2 and of 1/2, for two elements each, in ue8m0:

    >>> ones = np.ones(4, np.float16)
    >>> exact_dot(ones, ones, scale_a=np.array([0x80, 0x7E], np.uint8), scale_format="ue8m0")
    Fraction(5, 1)
    """
    x, y = (read_numbers(v, name, fmt, -1) for v, name, fmt in ((a, "a", a_format), (b, "b", b_format)))
    for name, numbers in (("a", x), ("b", y)):
        if numbers.integers.ndim != 1:
            raise ShapeError(
                f"{name} has shape {numbers.integers.shape}; expected a vector; "
                "wmma_emu.testing.exact_matmul takes matrices"
            )
    if x.integers.shape != y.integers.shape:
        raise ShapeError(f"a has {x.integers.size} elements and b {y.integers.size}; a dot product needs equal lengths")
    x = _with_scales(x, scale_a, "scale_a", scale_format, -1)
    y = _with_scales(y, scale_b, "scale_b", scale_format, -1)
    total = sum((p * q for p, q in zip(x.integers.tolist(), y.integers.tolist(), strict=True)), 0)
    return as_fraction(total, x.exponent + y.exponent) + _one_number(c, c_format)


def exact_matmul(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    a_format: str | Format | None = None,
    b_format: str | Format | None = None,
    c_format: str | Format | None = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    scale_format: str | Format | None = None,
) -> NDArray[np.object_]:
    """Compute A B + C in fractions.

    Parameters
    ----------
    A : array, shape (..., M, K)
    B : array, shape (..., K, N)
    C : array, shape (..., M, N), optional
        Dtypes and formats as for `exact_dot`. Leading axes broadcast as in `numpy.matmul`.
    a_format, b_format, c_format : str, optional
    scale_a : array, shape (..., M, blocks), optional
    scale_b : array, shape (..., blocks, N), optional
        Block scales, as for `exact_dot`; ``scale_format`` likewise.
    scale_format : str, optional

    Returns
    -------
    object array of fractions.Fraction, shape (..., M, N)

    Raises
    ------
    FragmentMismatchError
        As for `exact_dot`; and if shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> exact_matmul(np.array([[0.5, 3]], np.float32), np.array([[2], [0.25]], np.float16))
    array([[Fraction(7, 4)]], dtype=object)
    """
    x = read_numbers(A, "A", a_format, -1)
    y = read_numbers(B, "B", b_format, -2)
    for name, numbers, axes in (("A", x, "(..., M, K)"), ("B", y, "(..., K, N)")):
        if numbers.integers.ndim < 2:
            raise ShapeError(
                f"{name} has shape {numbers.integers.shape}; expected {axes}: add an axis of length 1, or use "
                "wmma_emu.testing.exact_dot for vectors"
            )
    left, right = x.integers.shape, y.integers.shape
    if left[-1] != right[-2]:
        fix = "; B.T would fit" if left[-1] == right[-1] else ""
        raise ShapeError(f"A has shape {left} and B {right}: K is {left[-1]} in A and {right[-2]} in B{fix}")
    x = _with_scales(x, scale_a, "scale_a", scale_format, -1)
    y = _with_scales(y, scale_b, "scale_b", scale_format, -2)
    left, right = x.integers.shape, y.integers.shape
    _require_broadcast(left[:-2], right[:-2], f"A {left} and B {right} do not broadcast")
    exponent = x.exponent + y.exponent
    total = integer_products(x.integers, y.integers)
    if C is not None:
        z = read_numbers(C, "C", c_format)
        if z.integers.shape[-2:] != total.shape[-2:]:
            raise ShapeError(f"C has shape {z.integers.shape}; A B has shape {total.shape}")
        shape = z.integers.shape
        _require_broadcast(shape, total.shape, f"C {shape} do not broadcast to those of A B {total.shape}")
        low = min(exponent, z.exponent)
        total, exponent = total * (1 << (exponent - low)) + z.at(low), low
    return fractions_of(total, exponent)


def _require_broadcast(one: tuple[int, ...], other: tuple[int, ...], wrong: str) -> None:
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        raise ShapeError(f"the leading axes of {wrong}") from None


def integer_products(left: NDArray[np.object_], right: NDArray[np.object_]) -> NDArray[np.object_]:
    """Multiply matrices of Python integers."""
    if left.shape[-1] == 0:  # an empty sum of objects would not be an integer
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        return np.full((*batch, left.shape[-2], right.shape[-1]), 0, np.object_)
    product: NDArray[np.object_] = np.matmul(left, right)
    return product


def as_fraction(integer: int, exponent: int) -> Fraction:
    """Return ``integer * 2**exponent``.

    Examples
    --------
    >>> as_fraction(6, -2)
    Fraction(3, 2)
    """
    return Fraction(integer << exponent) if exponent >= 0 else Fraction(integer, 1 << -exponent)


def fractions_of(integers: NDArray[np.object_], exponent: int) -> NDArray[np.object_]:
    """Return ``integers * 2**exponent``, element by element."""
    result = np.empty(integers.shape, np.object_)
    for where, value in enumerate(integers.ravel().tolist()):
        result.flat[where] = as_fraction(value, exponent)
    return result


def numbers_of(bits: Bits, fmt: Format) -> Scaled:
    """Decode patterns, all over one power of two: the smallest last place among them.

    Examples
    --------
    >>> numbers_of(np.array([0x3C00, 0xC200], np.uint16), format_of("f16"))[:2]
    (array([1024, -3072], dtype=object), -10)
    """
    if not fmt.is_float:
        word = bits.astype(np.int64) & fmt.mask
        if fmt.signed:
            word = np.where(word & fmt.sign_mask, word - (1 << fmt.bits), word)
        return Scaled(word.astype(np.object_), 0, np.zeros(word.shape, np.bool_))
    u = unpack(bits, fmt)
    there = u.significand != 0
    low = int(u.exponent[there].min()) if there.any() else 0
    signed = np.where(u.sign, -u.significand, u.significand).astype(np.object_)
    places = np.where(there, u.exponent - low, 0).astype(np.object_)
    integers = np.asarray(np.left_shift(signed, places), np.object_)
    return Scaled(integers, low - fmt.fraction_bits, u.is_infinity | u.is_nan)


def read_numbers(array: ArrayLike, name: str, fmt: str | Format | None, packed_axis: int | None = None) -> Scaled:
    """Read a user's array exactly; values that are not finite raise an error."""
    named = None if fmt is None else format_of(fmt)
    given = as_numpy(array, name)
    meant = named or format_of_dtype(given.dtype)
    if meant is None:
        unsigned = f", or name the format of its bits with {name.lower()}_format=" if given.dtype.kind == "u" else ""
        raise ArgumentError(
            f"{name} is an array of {shorten(given.dtype, str)}, which does not determine a format; pass one whose "
            "dtype does "
            f"(float32, float16, ml_dtypes.bfloat16, int8, int32, ...){unsigned}"
        )
    if meant.kind == "bit":
        raise ArgumentError(
            f"{name} contains single bits, which are combined and counted, not multiplied; for products of 0 and 1 "
            "pass "
            f"{name}.astype(numpy.int8)"
        )
    axis = packed_axis if given.ndim >= -(packed_axis or 0) else None
    bits = to_bits(array, meant, name, packed_axis=None if named is None else axis)
    numbers = numbers_of(bits, meant)
    if numbers.is_special.any():
        count = int(numbers.is_special.sum())
        where = tuple(int(i) for i in np.argwhere(numbers.is_special)[0])
        at = f" at {list(where)}" if where else ""
        raise ArgumentValueError(
            f"{name} has {count} infinit{'y' if count == 1 else 'ies'} or NaN, the first{at} (pattern "
            f"{int(bits[where]):#x} of {meant}), which are not fractions; omit those rows and columns "
            "(see numpy.isfinite), or replace the values"
        )
    return numbers


def _with_scales(
    numbers: Scaled, scales: ArrayLike | None, name: str, fmt: str | Format | None, axis: int
) -> Scaled:  # fmt: skip
    """Multiply each block of k by its scale; ``axis`` is the axis of k."""
    if scales is None:
        return numbers
    if fmt is None and as_numpy(scales, name).dtype.kind in "ui":
        raise ArgumentError(
            f"{name} contains integers, which could be patterns of scales; set scale_format='ue8m0' or "
            "'ue4m3', or pass numbers: float8_e8m0fnu, float32, ..."
        )
    found, of = read_numbers(scales, name, fmt), numbers.integers
    shape, k = found.integers.shape, of.shape[axis]
    blocks = shape[axis] if len(shape) >= -axis else 0
    lines = of.ndim == 1 or (len(shape) > 1 and shape[-3 - axis] == of.shape[-3 - axis])
    if not blocks or k % blocks or len(shape) < min(of.ndim, 2) or not lines or (of.ndim == 1) != (len(shape) == 1):
        side = name[-1] if of.ndim == 1 else name[-1].upper()
        raise ShapeError(
            f"{name} has shape {shape}, {side} has {of.shape}: scales need the shape of {side}, with a number of "
            "blocks "
            f"instead of K that divides K = {k}"
        )
    each = np.repeat(found.integers, k // blocks, axis=axis)
    wrong = f"{name} {shape} do not broadcast to those of {name[-1].upper()} {of.shape}"
    _require_broadcast(of.shape[:-2], each.shape[:-2], wrong)
    product: NDArray[np.object_] = of * each
    return Scaled(product, numbers.exponent + found.exponent, np.zeros(product.shape, np.bool_))


def _one_number(c: Any, fmt: str | Format | None) -> Fraction:
    """Read c: a Python number, or an array of one element."""
    if fmt is None and isinstance(c, int | Fraction) and not isinstance(c, bool):
        return Fraction(c)
    if fmt is None and type(c) is float:
        if not isfinite(c):
            raise ArgumentValueError(f"c is {c}; pass a finite number")
        return Fraction(c)
    if fmt is not None and (pattern := integer_of(c)) is not None and not isinstance(c, np.generic):
        meant = format_of(fmt)
        if not 0 <= pattern <= meant.mask:
            raise ArgumentValueError(f"c is {shorten(c)}; expected a pattern of {meant}, 0 to {meant.mask:#x}")
        c = np.array(pattern, meant.storage)
    numbers = read_numbers(c, "c", fmt)
    if numbers.integers.size != 1:
        raise ShapeError(
            f"c has shape {numbers.integers.shape}; expected one number; wmma_emu.testing.exact_matmul takes matrices"
        )
    return as_fraction(numbers.integers.item(), numbers.exponent)
