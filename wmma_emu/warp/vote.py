# SPDX-License-Identifier: MIT
"""Votes, matches and reductions over the lanes of a warp."""

from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.layouts.spec import LANES
from wmma_emu.warp.shuffle import lanes_of_mask, one_or_each, require_lanes

__all__ = [
    "REDUCTIONS",
    "all_sync",
    "any_sync",
    "ballot_sync",
    "match_all_sync",
    "match_any_sync",
    "reduce_sync",
    "require_predicate",
]


def all_sync(mask: SupportsIndex, predicate: ArrayLike) -> bool:
    """Whether the predicate is non-zero in every lane of the mask.

    Examples
    --------
    >>> all_sync(0x0000FFFF, np.arange(32) < 16)
    True
    """
    return bool(require_predicate(predicate)[lanes_of_mask(mask)].all())


def any_sync(mask: SupportsIndex, predicate: ArrayLike) -> bool:
    """Whether the predicate is non-zero in any lane of the mask.

    Examples
    --------
    >>> any_sync(0x0000FFFF, np.arange(32) >= 16)
    False
    """
    return bool(require_predicate(predicate)[lanes_of_mask(mask)].any())


def ballot_sync(mask: SupportsIndex, predicate: ArrayLike) -> int:
    """Gather the lanes of the mask whose predicate is non-zero: lane l is bit l.

    Examples
    --------
    >>> hex(ballot_sync(0xFFFFFFFF, np.arange(32) % 4 == 0))
    '0x11111111'
    """
    return _bits(require_predicate(predicate) & lanes_of_mask(mask))


def match_any_sync(mask: SupportsIndex, value: NDArray[Any]) -> NDArray[np.uint32]:
    """Tell each lane of the mask which lanes hold the same bits as it; the others get 0.

    Examples
    --------
    >>> [hex(x) for x in match_any_sync(0xFFFFFFFF, np.arange(32) % 2)[:2]]
    ['0x55555555', '0xaaaaaaaa']
    """
    words, lanes = _words(value), lanes_of_mask(mask)
    same = (words[:, np.newaxis] == words) & lanes & lanes[:, np.newaxis]
    return np.array([_bits(row) for row in same], np.uint32)


def match_all_sync(mask: SupportsIndex, value: NDArray[Any]) -> tuple[int, bool]:
    """Return the mask and True if all its lanes hold the same bits, else 0 and False.

    Examples
    --------
    >>> match_all_sync(0xFF, np.arange(32) // 8)
    (255, True)
    """
    words = _words(value)[lanes_of_mask(mask)]
    same = bool((words == words[0]).all())
    return (int(mask) if same else 0), same


REDUCTIONS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "add": lambda x: np.add.reduce(x, dtype=x.dtype),  # wraps in 32 bits
    "min": np.minimum.reduce,
    "max": np.maximum.reduce,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


def reduce_sync(operation: str, mask: SupportsIndex, value: NDArray[Any]) -> NDArray[Any]:
    """Combine a 32-bit integer of every lane of the mask; each lane gets the result (`redux.sync`, sm_80 on).

    Lanes outside the mask keep their own value. Sums wrap.

    Examples
    --------
    >>> reduce_sync("max", 0xFFFFFFFF, np.arange(32, dtype=np.int32))[0]
    np.int32(31)
    """
    if operation not in REDUCTIONS:
        raise OptionError(
            f"there is no reduction {shorten(operation)}; there is {', '.join(REDUCTIONS)}"
        )
    values, lanes = require_lanes(value, "value"), lanes_of_mask(mask)
    legal = ("uint32",) if operation in ("and", "or", "xor") else ("int32", "uint32")
    if values.shape != (LANES,) or values.dtype not in legal:
        same_bits = values.dtype.itemsize == 4 and (values.dtype.kind in "iu" or legal == ("uint32",))
        fix = "pass value.view(numpy.uint32)" if same_bits else f"pass value.astype(numpy.{legal[0]})"
        if values.dtype.kind not in "iub" and not same_bits:
            fix = "it takes no floats: use shuffles"
        if values.shape != (LANES,):
            fix = "pass one value for each lane"
        raise ArgumentError(
            f"reduce_{operation}_sync takes 32 values of {' or '.join(legal)}, not {values.dtype} of shape "
            f"{values.shape}; {fix}"
        )
    return np.where(lanes, REDUCTIONS[operation](np.asarray(values)[lanes]), values)


def require_predicate(predicate: ArrayLike) -> NDArray[np.bool_]:
    """Read a predicate: an integer or a truth value of every lane, or one for all of them.

    Examples
    --------
    >>> require_predicate(3).all(), require_predicate(np.arange(32))[:2]
    (np.True_, array([False,  True]))
    """
    values = one_or_each(predicate, "biu")
    if values is None:
        raise ArgumentError(
            f"a predicate is an integer or a truth value, or one for each of the {LANES} lanes, as in x > 0, "
            f"not {shorten(predicate)}"
        )
    return np.broadcast_to(values != 0, (LANES,))


def _words(value: NDArray[Any]) -> NDArray[Any]:
    values = np.ascontiguousarray(require_lanes(value, "value"))
    if values.shape != (LANES,) or values.dtype.itemsize not in (4, 8):
        raise ArgumentError(
            f"a match takes 32 values of 4 or 8 bytes, not {values.dtype} of shape {values.shape}; "
            "widen the values to 4 bytes with .astype"
        )
    return np.asarray(values).view(f"u{values.dtype.itemsize}")


def _bits(lanes: NDArray[np.bool_]) -> int:
    return sum(1 << int(lane) for lane in np.flatnonzero(lanes))
