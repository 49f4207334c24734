# SPDX-License-Identifier: MIT
"""The distance between two patterns of a format, in representable numbers."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ShapeError
from wmma_emu.formats.codec import Bits, unpack
from wmma_emu.formats.spec import Format
from wmma_emu.formats.table import format_of

NOT_COMPARABLE = (1 << 64) - 1
"""The distance between NaN and anything else: the largest uint64, greater than every real distance."""


def ulp_distance(x: Bits, y: Bits, fmt: Format | str) -> NDArray[np.uint64]:
    """Count the steps from x to y, where each step leads to the next representable number.

    Parameters
    ----------
    x, y : unsigned integer arrays
        Patterns of the format, of shapes that broadcast.
    fmt : Format or str
        Any format, floating-point or integer.

    Returns
    -------
    uint64 array
        0 for equal numbers; -0 and +0 are equal. The step after the largest finite number is infinity. The distance
        of a NaN to a number, or to a NaN with other bits, is `NOT_COMPARABLE`; two NaNs with the same bits are 0
        apart. Bits that a format ignores (the low 13 bits of tf32) do not count. For integers the distance is the
        difference.

    Examples
    --------
    >>> x, y = np.array([0x3C00, 0x8001, 0x7BFF, 0x8000], np.uint16), np.array([0x3C02, 0x0001, 0x7C00, 0], np.uint16)
    >>> ulp_distance(x, y, "f16")
    array([2, 2, 1, 0], dtype=uint64)
    >>> ulp_distance(np.array([0x7FFF], np.uint16), y[:1], "f16") == NOT_COMPARABLE
    array([ True])
    """
    fmt = format_of(fmt)
    for name, bits in (("x", x), ("y", y)):
        if getattr(getattr(bits, "dtype", None), "kind", "") != "u":
            given = getattr(bits, "dtype", type(bits).__name__)
            raise ArgumentError(
                f"{name} holds {fmt} patterns as unsigned integers such as {fmt.storage}, not {given}; "
                "wmma_emu.formats.dtypes.to_bits converts other arrays"
            )
    try:
        left, right = np.broadcast_arrays(x, y)
    except ValueError:
        raise ShapeError(f"x has shape {x.shape} and y {y.shape}, which do not broadcast") from None
    (x_negative, x_magnitude), (y_negative, y_magnitude) = _split(left, fmt), _split(right, fmt)
    # Magnitudes are below 2**63, so that no sum reaches 2**64.
    distance = np.where(
        x_negative == y_negative,
        np.maximum(x_magnitude, y_magnitude) - np.minimum(x_magnitude, y_magnitude),
        x_magnitude + y_magnitude,
    )
    if fmt.is_float and fmt.nan != "none":
        either = unpack(left, fmt).is_nan | unpack(right, fmt).is_nan
        same = (x_negative == y_negative) & (x_magnitude == y_magnitude)
        distance = np.where(either & ~same, np.uint64(NOT_COMPARABLE), distance)
    return distance.astype(np.uint64)


def _split(bits: Bits, fmt: Format) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """Return the sign and the number of steps from zero: floating-point magnitudes are ordered as their patterns."""
    word = bits.astype(np.uint64) & np.uint64(fmt.mask)
    negative = (word & np.uint64(fmt.sign_mask)) != 0
    if fmt.is_float:
        fields = np.uint64((1 << fmt.magnitude_bits) - 1)
        return negative, (word >> np.uint64(fmt.ignored_low_bits)) & fields
    return negative, np.where(negative, np.uint64(1 << fmt.bits) - word, word)
