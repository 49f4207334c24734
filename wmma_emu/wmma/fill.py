# SPDX-License-Identifier: MIT
"""`fill_fragment`: sets every element to one value, rounded once."""

from typing import Any

import numpy as np

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError, shorten
from wmma_emu.formats import encode, format_of
from wmma_emu.formats.codec import Bits, decode
from wmma_emu.formats.dtypes import dtype_of, format_of_dtype, to_bits
from wmma_emu.formats.reference import round_pack
from wmma_emu.layouts.spec import LANES
from wmma_emu.wmma.fragments import Fragment, require_fragment
from wmma_emu.wmma.names import FragmentUse


def fill_fragment(frag: Fragment, value: object) -> None:
    """Set every element of a fragment to one value.

    Parameters
    ----------
    frag : Fragment
        It keeps its batch of warps; an uninitialised one becomes a fragment of a single warp.
    value : number
        A NumPy scalar of the elements' dtype keeps its bits. Any other number is rounded once, to nearest even; tf32
        fragments hold float32, so the number is rounded to float32. Integers and bits are not rounded: the value must
        be representable.

    Raises
    ------
    FragmentMismatchError
        If the value is not a real number, or does not fit an integer type.

    Examples
    --------
    >>> from wmma_emu import wmma
    >>> c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.half)
    >>> wmma.fill_fragment(c, 1 + 2**-11 + 2**-40)         # float32 would lose the last bit, and tie to 1
    >>> hex(c.x.view('u2')[0, 0])
    '0x3c01'
    """
    frag = require_fragment(frag, "frag", *FragmentUse)
    bits = _value_bits(value, frag)
    frag.write_bits(np.full((frag.num_elements, *frag.warps, LANES), bits, frag.format.storage))


def _value_bits(value: object, frag: Fragment) -> Bits:
    """Return the value as a pattern of the fragment's elements, 0-d."""
    fmt = frag.format
    given: Any = value
    if isinstance(value, np.generic | np.ndarray):
        if value.ndim:
            raise ShapeError(
                f"one value fills a fragment, not an array of shape {value.shape}; frag.x takes arrays, and in a "
                "kernel t.uniform(value) is the same value in all lanes"
            )
        if value.dtype == dtype_of(fmt):
            return to_bits(value, fmt, "value")
        own = format_of_dtype(value.dtype)
        if own is not None:  # exact: every format of the table fits float64
            given = float(decode(to_bits(value, own, "value"), own))
        else:
            given = value.item()
    if not isinstance(given, int | float):
        raise ArgumentError(
            f"a fragment is filled with a number, not {shorten(value)}: pass an int, a float or a scalar of NumPy"
        )
    if not fmt.is_float:
        return _integer_bits(given, frag)
    target = format_of("f32") if fmt.name == "tf32" else fmt
    if isinstance(given, int):
        return np.asarray(round_pack(int(given < 0), abs(given), 0, target), target.storage)
    return encode(np.float64(given), target)


def _integer_bits(value: int | float, frag: Fragment) -> Bits:
    fmt = frag.format
    low, high = (0, 1) if fmt.kind == "bit" else (fmt.min_integer, fmt.max_integer)
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        raise ArgumentError(
            f"{shorten(value)} is not an integer, and {frag.cpp_type} holds integers; round it first, as in int(value)"
        )
    if not low <= value <= high:
        raise ArgumentValueError(
            f"{shorten(value)} does not fit {frag.cpp_type}: legal values are {low} to {high}, nothing wraps"
        )
    return np.asarray(int(value) & fmt.mask, fmt.storage)
