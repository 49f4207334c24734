# SPDX-License-Identifier: MIT
"""A value in each of a warp's 32 lanes, usable as one value if all lanes agree."""

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, DivergenceError, FragmentMismatchError, shorten
from wmma_emu.ptx.machine.lane_ranges import ranges


class Lanes(np.ndarray):
    """A kernel's variable: its value in every lane of a warp.

    An array whose last axis is the lane; arithmetic, comparisons and NumPy's functions apply to each lane. As a truth
    value, an index or a bound, it is the value that all lanes share, so that ``if``, ``range`` and slices read as in
    CUDA. Indexing an array with it gives every lane its own element: from a plain array a plain array, whose shared
    value ``t.uniform`` reads; from a kernel's memory another `Lanes`.

    Write ``//`` for the integer division ``/`` of C++ (it rounds down, not toward zero; the result is the same for
    non-negative numbers). ``i += 1`` gives ``i`` a new value, as in C++, and does not change the variable that ``i``
    was copied from.

    Raises
    ------
    DivergenceError
        If one value is needed and the lanes differ: a warp-level kernel takes one branch.
    FragmentMismatchError
        If an index, a bound or a size is not an integer.

    Examples
    --------
    >>> thread = Lanes(np.arange(64, 96))
    >>> warp = thread // 32
    >>> [10, 20, 30, 40][warp:], bool(warp < 3), list(range(warp))
    ([30, 40], True, [0, 1])
    >>> np.arange(100)[thread % 4 * 16][:6]
    array([ 0, 16, 32, 48,  0, 16])
    >>> bool(thread < 70)
    Traceback (most recent call last):
        ...
    wmma_emu.errors.DivergenceError: one value is needed for the whole warp, and the lanes differ: True in lanes 0-5,
    False in lanes 6-31; let all lanes continue, and select with numpy.where(c, x, y), or write with a[i[c]] = x[c]
    """

    def __new__(cls, values: ArrayLike) -> "Lanes":
        """Take the values of all lanes unchanged."""
        return np.asarray(values).view(cls)

    which: "NDArray[np.int64] | None"
    """The lanes of these values, if they are a selection ``i[c]`` by a condition of the lanes; None if unknown."""

    def __array_finalize__(self, obj: Any) -> None:
        self.which = getattr(obj, "which", None)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(found, Lanes):
            is_mask = isinstance(key, np.ndarray) and key.dtype.kind == "b" and key.shape == self.shape
            lanes = np.arange(self.size) if self.which is None else self.which
            found.which = lanes[np.asarray(key)] if is_mask and lanes.shape == self.shape else None
        return found

    def uniform(self) -> Any:
        """Return the value that all lanes share, bit for bit, as a Python number."""
        return _shared(self, "use an array, which each lane indexes separately, or a value that all lanes share")

    def __bool__(self) -> bool:
        hint = "let all lanes continue, and select with numpy.where(c, x, y), or write with a[i[c]] = x[c]"
        return bool(_shared(self != 0, hint))

    def __int__(self) -> int:
        return int(self.uniform())

    def __float__(self) -> float:
        return float(self.uniform())

    def __index__(self) -> int:
        if self.dtype.kind not in "iub":
            raise not_an_integer(shorten(self.dtype, str))
        return operator.index(self.uniform())

    def __format__(self, spec: str) -> str:
        return format(self.uniform(), spec) if spec else str(self)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return a sum or a maximum over the lanes as a NumPy number, which all lanes share."""
        return array[()] if return_scalar else super().__array_wrap__(array, context, False)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Return the results of functions such as `numpy.where` as values of lanes."""
        result = super().__array_function__(func, types, args, kwargs)
        return Lanes(result) if type(result) is np.ndarray else result

    # A variable is a register: i += 1 changes only this one, not the one it was copied from.
    __iadd__: Any = np.ndarray.__add__
    __isub__: Any = np.ndarray.__sub__
    __imul__: Any = np.ndarray.__mul__
    __itruediv__: Any = np.ndarray.__truediv__
    __ifloordiv__: Any = np.ndarray.__floordiv__
    __imod__: Any = np.ndarray.__mod__
    __ipow__: Any = np.ndarray.__pow__
    __ilshift__: Any = np.ndarray.__lshift__
    __irshift__: Any = np.ndarray.__rshift__
    __iand__: Any = np.ndarray.__and__
    __ior__: Any = np.ndarray.__or__
    __ixor__: Any = np.ndarray.__xor__


def not_an_integer(given: str) -> FragmentMismatchError:
    """Return the error for a non-integer index."""
    return ArgumentError(
        f"an index, a bound or a size must be an integer, not {given}; for the integer division / of C++ write //"
    )


def _shared(lanes: NDArray[Any], hint: str) -> Any:
    """Return the one value of all lanes, as a Python number; their bits must be equal."""
    values = np.asarray(lanes)
    if values.dtype.kind in "OSUMm" or values.size == 0:
        raise ArgumentError(f"lanes must contain numbers, not {shorten(values)}")
    patterns = _patterns(values)
    if (patterns != patterns[0]).any():
        raise DivergenceError(
            f"one value is needed for the whole warp, and the lanes differ: {_groups(values)}; {hint}"
        )
    return values.flat[0].item()


def _patterns(values: NDArray[Any]) -> NDArray[Any]:
    """Return the bits of each value for comparison: NaN equals itself, and the zeros differ."""
    return np.ascontiguousarray(values).reshape(-1).view(f"V{values.dtype.itemsize}")


def _groups(values: NDArray[Any]) -> str:
    """Describe which lanes have which of the first two values: ``True in lanes 0-5, False in lanes 6-31``."""
    if values.ndim != 1:
        return f"an array of shape {values.shape}"
    lanes: dict[bytes, list[int]] = {}
    for lane, pattern in enumerate(_patterns(values)):
        lanes.setdefault(pattern.tobytes(), []).append(lane)
    shown = [f"{values[x[0]]} in lane{'s' * (len(x) > 1)} {ranges(x)}" for x in list(lanes.values())[:2]]
    more = len(lanes) - 2
    return ", ".join(shown) + (f", and {more} other value{'s' * (more > 1)}" if more > 0 else "")
