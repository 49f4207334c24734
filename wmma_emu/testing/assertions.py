# SPDX-License-Identifier: MIT
"""A comparison of two arrays bit for bit, with the number of differences, the first ones, and their distances."""

import math

import numpy as np
from numpy.typing import NDArray

from wmma_emu.display import in_columns
from wmma_emu.formats import Format, decode
from wmma_emu.formats.codec import Bits
from wmma_emu.testing.patterns import distance, is_nan, patterns_of, same_dtype

_SHOWN = 8
_POWERS = np.array([1 << i for i in range(64)], np.uint64)


def assert_bits_equal(actual: object, expected: object, format: "Format | str | None" = None) -> None:
    """Fail unless two arrays have the same shape, dtype and bits: payloads of NaN and signs of zeros count.

    Parameters
    ----------
    actual, expected : array, scalar of NumPy, or anything with ``__array__`` or DLPack
        Arrays of one shape and one dtype: any floating-point type of NumPy or ml_dtypes, integers, bool. Nothing is
        broadcast or converted.
    format : Format or str, optional
        The format of the elements, if the dtypes do not determine it. Then each array may be in the format's own dtype
        or in raw unsigned patterns.

    Raises
    ------
    AssertionError
        If shapes, dtypes or bits differ. The message counts the elements that differ, shows the first of them with
        bits, values and distances in units in the last place (ulps), and counts distances.
    FragmentMismatchError, UnsupportedInstructionError
        If the arrays cannot be compared, such as objects or text, or the format does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> from wmma_emu.testing import assert_bits_equal
    >>> assert_bits_equal(np.array([0x3C00], np.uint16), np.array([1], np.float16), format="f16")
    >>> assert_bits_equal(np.float32([1, 2, -0.0, 3.0000007]), np.float32([1, np.nan, 0, 3]))
    Traceback (most recent call last):
        ...
    AssertionError: 3 of 4 elements differ (75 %): f32, shape (4,)
    <BLANKLINE>
      index  actual                 expected         ulps
      [1]    0x40000000  2.0        0x7fc00000  NaN  NaN
      [2]    0x80000000  -0.0       0x00000000  0.0  sign of zero
      [3]    0x40400003  3.0000007  0x40400000  3.0  3
    <BLANKLINE>
    ulps: 0 (sign of zero): 1 | 2-3: 1 | NaN: 1
    """
    __tracebackhide__ = True
    if format is None and (wrong := same_dtype(actual, expected, ("actual", "expected"))):
        raise AssertionError(wrong)
    (left, fmt), (right, _) = patterns_of(actual, format, "actual"), patterns_of(expected, format, "expected")
    if left.shape != right.shape:
        raise AssertionError(
            f"actual has shape {left.shape}, expected has shape {right.shape}: nothing is broadcast; "
            "compare arrays of one shape"
        )
    differ = left != right
    if differ.any():
        raise AssertionError(_message(left, right, differ, fmt))


def _message(left: Bits, right: Bits, differ: NDArray[np.bool_], fmt: Format) -> str:
    where = np.flatnonzero(differ)
    x, y = left.reshape(-1)[where], right.reshape(-1)[where]
    apart, (nan, other_nan) = distance(x, y, fmt), (is_nan(x, fmt), is_nan(y, fmt))
    payload = nan & other_nan
    nan = nan | other_nan
    total, shape = differ.size, "" if differ.ndim == 0 else f", shape {differ.shape}"
    count = f"{len(where)} of {total} elements differ ({_percent(len(where), total)})"
    if len(where) == total:
        count = "the only element differs" if total == 1 else f"all {total} elements differ"
    lines = [f"{count}: {fmt}{shape}", ""]
    digits = -(-fmt.bits // 4)
    rows: list[tuple[str, ...]] = [("index", "actual", "expected", "ulps" if fmt.is_float else "difference")]
    columns = []
    for words in (x[:_SHOWN], y[:_SHOWN]):
        columns.append(in_columns([(f"0x{int(w):0{digits}x}", value_text(int(w), fmt)) for w in words]))
    for i in range(min(_SHOWN, len(where))):
        index = [int(axis) for axis in np.unravel_index(where[i], differ.shape)] if differ.ndim else "()"
        far = str(int(apart[i])) if apart[i] else _zero_distance(int(x[i]), int(y[i]), fmt)
        far = ("NaN, other bits" if payload[i] else "NaN") if nan[i] else far
        rows.append((str(index), columns[0][i], columns[1][i], far))
    lines += in_columns(rows, "  ")
    if len(where) > _SHOWN:
        lines.append(f"  ... and {len(where) - _SHOWN} more{_largest(np.where(nan, 0, apart), where, differ.shape)}")
    lines += ["", f"{'ulps' if fmt.is_float else 'differences'}: {_histogram(apart, nan, payload, x, y, fmt)}"]
    return "\n".join(lines)


def value_text(word: int, fmt: Format) -> str:
    """Return the value of one pattern, in the shortest form that can be read back."""
    bits = np.array([word], fmt.storage)
    if not fmt.is_float:
        return str(word - (1 << fmt.bits) if word & fmt.sign_mask else word)
    if is_nan(bits, fmt)[0]:
        return "-NaN" if word & fmt.sign_mask and not fmt.name.endswith("fnuz") else "NaN"
    value = decode(bits, fmt)[0]
    if fmt.name == "f64" or value == 0 or not math.isfinite(value):
        return str(float(value))
    if fmt.name == "f16":
        return str(np.float16(value))
    if fmt.fraction_bits > 7:
        return str(np.float32(value))
    return str(float(f"{value:.9g}"))


def _zero_distance(x: int, y: int, fmt: Format) -> str:
    """Return why patterns at distance zero differ: zeros of two signs, or bits that the format does not read."""
    if fmt.is_float and (x ^ y) & fmt.sign_mask:
        return "sign of zero"
    return f"bits that {fmt} does not read"


def _histogram(
    apart: NDArray[np.uint64], nan: NDArray[np.bool_], payload: NDArray[np.bool_], x: Bits, y: Bits, fmt: Format
) -> str:
    parts = []
    none = (apart == 0) & ~nan
    if none.any():
        sign = none & (((x ^ y) & fmt.storage.type(fmt.sign_mask)) != 0)
        parts += [(f"0 ({_zero_distance(fmt.sign_mask, 0, fmt)})", int(sign.sum()))]
        parts += [(f"0 ({_zero_distance(0, 0, fmt)})", int((none & ~sign).sum()))]
    numbers = apart[~none & ~nan]
    # For the buckets 1, 2-3, 4-7, ...: the power of two at which each begins.
    starts = np.searchsorted(_POWERS, numbers, side="right") - 1
    for start, count in enumerate(np.bincount(starts, minlength=1).tolist()):
        if count:
            parts.append((_bucket(start), count))
    parts += [("NaN", int((nan & ~payload).sum())), ("NaN, other bits", int(payload.sum()))]
    return " | ".join(f"{name}: {count}" for name, count in parts if count)


def _bucket(start: int) -> str:
    """Return the distances from one power of two to the next."""
    if start > 16:
        return f"2^{start} to 2^{start + 1} - 1"
    low, high = 1 << start, (2 << start) - 1
    return str(low) if low == high else f"{low}-{high}"


def _largest(apart: NDArray[np.uint64], where: NDArray[np.intp], shape: tuple[int, ...]) -> str:
    if not apart.any():
        return ""
    i = int(apart.argmax())
    return f"; {int(apart[i])} at {[int(axis) for axis in np.unravel_index(where[i], shape)]} is the largest"


def _percent(part: int, whole: int) -> str:
    percent = 100 * part / whole
    if percent < 0.001:
        return "less than 0.001 %"
    text = f"{percent:.3g} %"
    return "more than 99.9 %" if text == "100 %" and part < whole else text
