# SPDX-License-Identifier: MIT
"""The errors of a result against the exact one in a few figures, whatever computed the result."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.applications.error_analysis.exact import Scaled, exact_matmul, fractions_of, numbers_of
from wmma_emu.errors import ArgumentError, ShapeError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import format_of_dtype, to_bits
from wmma_emu.formats.reference import round_pack


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """The errors of the elements of D against the exact ones. ``str()`` gives one line.

    The error of an element is D minus the exact number; an ulp is the distance between two neighbouring numbers of D's
    format at the exact number, and at least the smallest number. All figures are computed exactly and rounded once, to
    float64; a figure beyond its range is infinite.

    Parameters
    ----------
    format : str
        The format of D.
    count : int
        The number of counted elements; ``excluded`` others have an infinity or NaN.
    excluded : int
    max_ulps, mean_ulps : float
        The largest and the mean absolute error, in ulps.
    bias_ulps : float
        The mean error in ulps, counted away from zero: negative if magnitudes are too small, as with truncation.
    relative_rms : float
        The square root of the sum of squared errors over the sum of squared exact numbers.
    correctly_rounded : int
        The number of elements that equal the exact number rounded to nearest even.
    worst : tuple of int, or None
        The index of the largest error in ulps; None if nothing is counted, or no element has an error.
    """

    format: str
    count: int
    excluded: int
    max_ulps: float
    mean_ulps: float
    bias_ulps: float
    relative_rms: float
    correctly_rounded: int
    worst: tuple[int, ...] | None

    def __str__(self) -> str:
        where = "" if self.worst is None else f" at {list(self.worst)}"
        left_out = f"; {self.excluded} with infinities or NaN omitted" if self.excluded else ""
        return (
            f"{self.count} element{'s' * (self.count != 1)} of {self.format}: max {self.max_ulps:.4g} ulps{where}, "
            f"mean {self.mean_ulps:.4g}, bias {self.bias_ulps:+.4g}, relative rms {self.relative_rms:.3g}, "
            f"{self.correctly_rounded} correctly rounded{left_out}"
        )


def error_summary(
    D: ArrayLike,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    d_format: str | Format | None = None,
    a_format: str | Format | None = None,
    b_format: str | Format | None = None,
    c_format: str | Format | None = None,
) -> ErrorSummary:
    """Compare a result with the exact A B + C, whatever its source: a GPU, a library, an emulation in several parts.

    Parameters
    ----------
    D : array, shape (..., M, N)
        The result, of a floating-point dtype. Elements that are infinite or NaN are omitted and counted.
    A : array, shape (..., M, K)
    B : array, shape (..., K, N)
    C : array, shape (..., M, N), optional
        The operands, in any dtype: all elements finite.
    d_format, a_format, b_format, c_format : str, optional
        Formats of patterns, as for `wmma_emu.testing.exact_matmul`.

    Returns
    -------
    ErrorSummary

    Raises
    ------
    FragmentMismatchError
        If shapes do not match, D is not floating-point, or A, B or C has an infinity or NaN.

    Examples
    --------
    The error of rounding A and B to tf32, compared with the float32 product:

    >>> import numpy as np, wmma_emu as we
    >>> A, B = (np.full(shape, 1 + 2**-12, np.float32) for shape in ((1, 8), (8, 1)))
    >>> print(error_summary(we.gemm(A, B, instr="fma.f32"), A, B))
    1 element of f32: max 0.5 ulps at [0, 0], mean 0.5, bias -0.5, relative rms 5.96e-08, 1 correctly rounded
    >>> error_summary(we.gemm(A, B, instr="m16n8k8.f32.tf32.tf32.f32"), A, B).max_ulps
    4096.5
    """
    given = as_numpy(D, "D")
    named = None if d_format is None else format_of(d_format)
    fmt = named or format_of_dtype(given.dtype)
    if fmt is None or not fmt.is_float:
        kind = shorten(given.dtype, str) if fmt is None else fmt.name
        raise ArgumentError(
            f"D is {kind}; expected a floating-point format: compare integers with "
            "wmma_emu.testing.assert_bits_equal; name the format of patterns with d_format="
        )
    bits = to_bits(D, fmt, "D")
    exact = exact_matmul(A, B, C, a_format=a_format, b_format=b_format, c_format=c_format)
    if bits.shape != exact.shape:
        raise ShapeError(f"D has shape {bits.shape}, but A B + C has shape {exact.shape}")
    return summarize(bits, fmt, exact)


def summarize(bits: Bits, fmt: Format, exact: NDArray[np.object_]) -> ErrorSummary:
    """Summarise patterns of D against the exact numbers; elements whose exact number is None are omitted."""
    d = numbers_of(bits, fmt)
    counted = np.array([x is not None for x in exact.flat], np.bool_).reshape(exact.shape) & ~d.is_special
    values = fractions_of(d.integers, d.exponent)
    total = away = squares = reference = Fraction(0)
    largest, worst, right = Fraction(0), None, 0
    for where in zip(*(x.tolist() for x in np.nonzero(counted)), strict=True):
        x, value = exact[where], values[where]
        error = value - x
        squares += error * error
        reference += x * x
        right += _is_correctly_rounded(x, value, fmt)
        size = abs(error) / ulp_of(x, fmt)
        total += size
        # If the exact number is 0, any other number is too large.
        away += size if not x or (error < 0) == (x < 0) else -size
        if size > largest:
            largest, worst = size, where
    count = int(counted.sum())
    relative = square_root(squares / reference) if reference else (inf if squares else 0.0)
    return ErrorSummary(
        format=fmt.name, count=count, excluded=int(counted.size) - count, max_ulps=as_float(largest),
        mean_ulps=as_float(total / max(count, 1)), bias_ulps=as_float(away / max(count, 1)), relative_rms=relative,
        correctly_rounded=right, worst=worst,
    )  # fmt: skip


def ulp_of(x: Fraction, fmt: Format) -> Fraction:
    """Return the distance between two neighbouring numbers of a format around x.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> ulp_of(Fraction(1), format_of("f16")), ulp_of(Fraction(0), format_of("f16")) == Fraction(2)**-24
    (Fraction(1, 1024), True)
    """
    exponent = fmt.emin
    if x:
        exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
        exponent -= abs(x) < Fraction(2) ** exponent
    return Fraction(2) ** (min(max(exponent, fmt.emin), fmt.emax) - fmt.fraction_bits)


def as_float(x: Fraction) -> float:
    """Return a fraction rounded to float64, infinite beyond its range.

    Examples
    --------
    >>> as_float(Fraction(1, 4)), as_float(-Fraction(2) ** 1024)
    (0.25, -inf)
    """
    try:
        return float(x)
    except OverflowError:
        return inf if x > 0 else -inf


def square_root(x: Fraction) -> float:
    """Return the square root of a fraction, rounded once.

    Examples
    --------
    >>> square_root(Fraction(1, 4)), square_root(Fraction(2)) == 2**0.5
    (0.5, True)
    """
    if not x:
        return 0.0
    # At least 65 bits, and a last bit that is set if the remainder is not zero.
    places = max(0, 66 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    scaled, rest = divmod(x.numerator << (2 * places), x.denominator)
    root = isqrt(scaled)
    return as_float(Fraction(2 * root + (rest != 0 or root * root != scaled), 1 << (places + 1)))


def _is_correctly_rounded(x: Fraction, value: Fraction, fmt: Format) -> bool:
    """Return whether a value is x rounded to nearest even; x is an integer over a power of two."""
    nearest = round_pack(int(x < 0), abs(x.numerator), 1 - x.denominator.bit_length(), fmt)
    rounded: Scaled = numbers_of(np.array([nearest], fmt.storage), fmt)
    if rounded.is_special[0]:
        return False
    found: Any = fractions_of(rounded.integers, rounded.exponent)[0]
    return bool(found == value)
