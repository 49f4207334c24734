# SPDX-License-Identifier: MIT
"""A value in each of a warp's 32 lanes, which counts as one value where all lanes agree."""

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, DivergenceError, FragmentMismatchError, shorten
from wmma_emu.ptx.machine.lane_ranges import ranges


class Lanes(np.ndarray):
    """What a variable of a kernel holds in every lane of a warp.

    An array whose last axis is the lane; arithmetic and comparisons go lane by lane, and so do NumPy's functions.
    As a truth value, an index or a bound it stands for the value that all lanes share, so that ``if``, ``range``
    and slices read as in CUDA. An array that is indexed with it gives every lane its own element: a plain array as a
    plain array, of which ``t.uniform`` reads the value that the lanes share; a kernel's memory as `Lanes`.

    Where C++ writes ``/`` for integers, Python writes ``//`` (which rounds down, not toward zero: the same for what
    is not negative). ``i += 1`` gives ``i`` a new value, as in C++, and leaves alone what ``i`` was copied from.

    Raises
    ------
    DivergenceError
        Where one value is needed and the lanes do not agree: a warp-level kernel takes one way.
    FragmentMismatchError
        For an index, a bound or a size that is no integer.

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
    wmma_emu.errors.DivergenceError: one value is needed for the whole warp, and the lanes differ: True in
    lanes 0-5, False in lanes 6-31; let all lanes go on, and choose with numpy.where(c, x, y), or write with
    a[i[c]] = x[c]
    """

    def __new__(cls, values: ArrayLike) -> "Lanes":
        """Take the values of all lanes as they are."""
        return np.asarray(values).view(cls)

    which: "NDArray[np.int64] | None"
    """Of values of some lanes, ``i[c]`` with a condition of the lanes: which they are; None where that is not known."""

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
        return _shared(self, "take an array, which each lane indexes for itself, or a value that all lanes share")

    def __bool__(self) -> bool:
        hint = "let all lanes go on, and choose with numpy.where(c, x, y), or write with a[i[c]] = x[c]"
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
        """Give a sum or a maximum over the lanes as a NumPy number, which all lanes share."""
        return array[()] if return_scalar else super().__array_wrap__(array, context, False)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Let functions such as `numpy.where` give what they are given: values of lanes."""
        result = super().__array_function__(func, types, args, kwargs)
        return Lanes(result) if type(result) is np.ndarray else result

    # A variable is a register: i += 1 changes it alone, not what it was copied from.
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
    """Say that an index is no integer."""
    return ArgumentError(
        f"an index, a bound or a size is an integer, not {given}; where C++ divides integers with /, Python writes //"
    )


def _shared(lanes: NDArray[Any], hint: str) -> Any:
    """Return the one value of all lanes, as a Python number; bits decide whether there is one."""
    values = np.asarray(lanes)
    if values.dtype.kind in "OSUMm" or values.size == 0:
        raise ArgumentError(f"lanes hold numbers, not {shorten(values)}")
    patterns = _patterns(values)
    if (patterns != patterns[0]).any():
        raise DivergenceError(
            f"one value is needed for the whole warp, and the lanes differ: {_groups(values)}; {hint}"
        )
    return values.flat[0].item()


def _patterns(values: NDArray[Any]) -> NDArray[Any]:
    """Bits of each value, to be compared: NaN equals itself, and the zeros differ."""
    return np.ascontiguousarray(values).reshape(-1).view(f"V{values.dtype.itemsize}")


def _groups(values: NDArray[Any]) -> str:
    """Say which lanes hold which of the first two values: ``True in lanes 0-5, False in lanes 6-31``."""
    if values.ndim != 1:
        return f"an array of shape {values.shape}"
    lanes: dict[bytes, list[int]] = {}
    for lane, pattern in enumerate(_patterns(values)):
        lanes.setdefault(pattern.tobytes(), []).append(lane)
    shown = [f"{values[x[0]]} in lane{'s' * (len(x) > 1)} {ranges(x)}" for x in list(lanes.values())[:2]]
    more = len(lanes) - 2
    return ", ".join(shown) + (f", and {more} other value{'s' * (more > 1)}" if more > 0 else "")
