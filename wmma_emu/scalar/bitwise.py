# SPDX-License-Identifier: MIT
"""Operations on bits: any Boolean function of three words, and reinterpretation of values as other types."""

import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, CallError, OptionError, ShapeError, shorten
from wmma_emu.formats.arrays import is_masked

__all__ = [
    "double_as_longlong",
    "float_as_int",
    "float_as_uint",
    "int_as_float",
    "longlong_as_double",
    "lop3",
    "lop3_lut",
    "uint_as_float",
]

_Words = int | np.uint32 | np.int32 | NDArray[np.uint32] | NDArray[np.int32]

_A, _B, _C = 0xF0, 0xCC, 0xAA
"""The tables of the inputs a, b and c themselves: bit 4a + 2b + c is the input's value (PTX ISA, lop3)."""


def lop3_lut(expression: Callable[[Any, Any, Any], Any]) -> int:
    """Compute immLut of `lop3`: the table of a Boolean expression of three inputs.

    Parameters
    ----------
    expression : callable
        A function of three integers with ``& | ^ ~``; each bit of its result may depend only on the same bit of the
        inputs.

    Raises
    ------
    UnsupportedInstructionError
        If the expression is not a function of single bits.

    Examples
    --------
    >>> hex(lop3_lut(lambda a, b, c: (a & b) | c)), hex(lop3_lut(lambda a, b, c: a ^ b ^ c))
    ('0xea', '0x96')
    """
    if not callable(expression):
        raise CallError(
            f"the expression is a function of three integers, as in lambda a, b, c: (a & b) | c, "
            f"not {shorten(expression)}"
        )
    try:
        table = operator.index(expression(_A, _B, _C)) & 0xFF
        right = all(operator.index(expression(*w)) & 0xFFFF_FFFF == _lop3(list(w), table) for w in _test_words())
    except Exception as error:
        raise OptionError(f"the expression could not be evaluated for three integers: {shorten(error, str)}") from error
    if not right:
        raise OptionError("the expression is not a function of single bits, so it has no table; use only & | ^ ~")
    return table


def _test_words() -> Iterator[tuple[int, int, int]]:
    """Yield words with the bits in different positions and order, and words that are all 0 or all 1.

    The latter distinguish ``and``, ``or``, ``not`` and ``if``, which test a whole word, from ``& | ~``.
    """
    a, b, c = (int.from_bytes(bytes([x] * 3 + [x ^ 0xFF]), "big") for x in (_A, _B, _C))
    yield a, b, c
    yield (a >> 3 | (a & 7) << 29), (b >> 3 | (b & 7) << 29), (c >> 3 | (c & 7) << 29)
    yield from product((0, 0xFFFF_FFFF), repeat=3)


def lop3(a: _Words, b: _Words, c: _Words, immLut: int) -> Any:
    """Compute any Boolean function of three words, bit by bit, from its table of eight bits.

    Parameters
    ----------
    a, b, c : uint32 or int32 arrays, or ints
        Arrays broadcast. Python integers count as 32 bits.
    immLut : int
        Bit 4a + 2b + c is the result for these bits; `lop3_lut` computes it from an expression.

    Returns
    -------
    array of the arrays' dtype, or int
        A non-negative int if all three are Python integers.

    Raises
    ------
    FragmentMismatchError, UnsupportedInstructionError
        If a dtype is not legal, an integer exceeds 32 bits, or the table exceeds 8 bits.

    Notes
    -----
    PTX ISA 9.1, lop3.b32.

    Examples
    --------
    >>> hex(lop3(0xFF00FF00, 0x0FF00FF0, 0x0000000F, 0xEA))
    '0xf000f0f'
    """
    if isinstance(immLut, bool) or not isinstance(immLut, int | np.integer) or not 0 <= immLut <= 0xFF:
        raise OptionError(f"immLut is an integer from 0 to 255, not {shorten(immLut)}; see lop3_lut")
    arrays = {name: x for name, x in zip("abc", (a, b, c), strict=True) if isinstance(x, np.ndarray | np.generic)}
    dtypes = {x.dtype for x in arrays.values()}
    for name, x in arrays.items():
        if is_masked(x):
            raise ArgumentError(f"{name} of lop3 is a masked array; pass {name}.filled(value)")
    if len(dtypes) > 1 or not dtypes <= {np.dtype(np.uint32), np.dtype(np.int32)}:
        given = ", ".join(f"{name} {shorten(x.dtype, str)}" for name, x in arrays.items())
        same = all(x.itemsize == 4 and x.isnative for x in dtypes)
        fix = "reinterpret the bits with .view(numpy.uint32)" if same else "convert with .astype(numpy.uint32)"
        raise ArgumentError(f"lop3 takes words of one dtype, uint32 or int32, not {given}; {fix}")
    words = [arrays[name].view(np.uint32) if name in arrays else _word(x, name)
             for name, x in zip("abc", (a, b, c), strict=True)]  # fmt: skip
    if not arrays:
        return _lop3(words, int(immLut))
    try:
        result = _lop3([np.uint32(x) if isinstance(x, int) else x for x in words], int(immLut))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise ShapeError(f"the shapes of lop3's operands do not broadcast: {shapes}") from None
    return result.view(dtypes.pop())


def _lop3(words: list[Any], table: int) -> Any:
    """Return the union of the combinations of bits whose entry in the table is 1."""
    a, b, c = words
    ones = a ^ a ^ (0xFFFF_FFFF if isinstance(a, int) else np.uint32(0xFFFF_FFFF))
    result = (a ^ a) & (b ^ b) & (c ^ c)
    for entry in range(8):
        if table >> entry & 1:
            x, y, z = (w if entry >> i & 1 else w ^ ones for w, i in ((a, 2), (b, 1), (c, 0)))
            result = result | (x & y & z)
    return result


def _word(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**32:
        raise ArgumentError(f"{name} of lop3 is a word of 32 bits, an integer or an array, not {shorten(value)}")
    return value & 0xFFFF_FFFF


def _reinterpret(value: Any, source: str, target: str, function: str) -> Any:
    if not isinstance(value, np.ndarray | np.generic) or value.dtype != source:
        given = shorten(value.dtype, str) if isinstance(value, np.ndarray | np.generic) else shorten(value)
        raise ArgumentError(f"{function} takes NumPy {source} values, such as numpy.{source}(...), not {given}")
    return value.view(target)


@overload
def float_as_uint(x: np.float32) -> np.uint32: ...
@overload
def float_as_uint(x: NDArray[np.float32]) -> NDArray[np.uint32]: ...
def float_as_uint(x: Any) -> Any:
    """Reinterpret the bits of a float32 as uint32 (`__float_as_uint`).

    Examples
    --------
    >>> hex(float_as_uint(np.float32(-1.5)))
    '0xbfc00000'
    """
    return _reinterpret(x, "float32", "uint32", "float_as_uint")


@overload
def uint_as_float(x: np.uint32) -> np.float32: ...
@overload
def uint_as_float(x: NDArray[np.uint32]) -> NDArray[np.float32]: ...
def uint_as_float(x: Any) -> Any:
    """Reinterpret the bits of a uint32 as float32 (`__uint_as_float`).

    Examples
    --------
    >>> uint_as_float(np.uint32(0xBFC00000))
    np.float32(-1.5)
    """
    return _reinterpret(x, "uint32", "float32", "uint_as_float")


@overload
def float_as_int(x: np.float32) -> np.int32: ...
@overload
def float_as_int(x: NDArray[np.float32]) -> NDArray[np.int32]: ...
def float_as_int(x: Any) -> Any:
    """Reinterpret the bits of a float32 as int32 (`__float_as_int`).

    Examples
    --------
    >>> float_as_int(np.float32(1.0))
    np.int32(1065353216)
    """
    return _reinterpret(x, "float32", "int32", "float_as_int")


@overload
def int_as_float(x: np.int32) -> np.float32: ...
@overload
def int_as_float(x: NDArray[np.int32]) -> NDArray[np.float32]: ...
def int_as_float(x: Any) -> Any:
    """Reinterpret the bits of an int32 as float32 (`__int_as_float`).

    Examples
    --------
    >>> int_as_float(np.int32(0x40490FDB))
    np.float32(3.1415927)
    """
    return _reinterpret(x, "int32", "float32", "int_as_float")


@overload
def double_as_longlong(x: np.float64) -> np.int64: ...
@overload
def double_as_longlong(x: NDArray[np.float64]) -> NDArray[np.int64]: ...
def double_as_longlong(x: Any) -> Any:
    """Reinterpret the bits of a float64 as int64 (`__double_as_longlong`).

    Examples
    --------
    >>> hex(double_as_longlong(np.float64(2.0)))
    '0x4000000000000000'
    """
    return _reinterpret(x, "float64", "int64", "double_as_longlong")


@overload
def longlong_as_double(x: np.int64) -> np.float64: ...
@overload
def longlong_as_double(x: NDArray[np.int64]) -> NDArray[np.float64]: ...
def longlong_as_double(x: Any) -> Any:
    """Reinterpret the bits of an int64 as float64 (`__longlong_as_double`).

    Examples
    --------
    >>> longlong_as_double(np.int64(0x3FF0000000000000))
    np.float64(1.0)
    """
    return _reinterpret(x, "int64", "float64", "longlong_as_double")
