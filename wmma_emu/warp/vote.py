# SPDX-License-Identifier: MIT
"""Votes, matches and reductions over the lanes of a warp."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.layouts.spec import LANES
from wmma_emu.warp.lane_words import FULL, word_of
from wmma_emu.warp.shuffle import lanes_of_mask, one_or_each, require_lanes


@dataclass(frozen=True, slots=True)
class Feature(Sourced):
    """A feature that older chips do not have, with the first chip that supports it."""

    since: str
    evidence: Evidence


REDUX = Feature("sm_80", Evidence("documented", "PTX ISA 9.1, redux.sync: target sm_80 or higher"))
"""The reductions over a warp."""

VOTES: dict[str, Callable[[Any, Any], Any]] = {
    "all": lambda yes, members: yes == members,
    "any": lambda yes, members: yes != 0,
    "uni": lambda yes, members: (yes == members) | (yes == 0),
    "ballot": lambda yes, members: yes,
}
"""The result, given the word of participating lanes with a true predicate and the word of all participating lanes
(9.7.13.5, vote)."""


def voted(mode: str, mask: SupportsIndex, predicate: ArrayLike) -> Any:
    """Return the result of a vote, one of `VOTES`, over the predicates of the lanes of a mask.

    Examples
    --------
    >>> lane = np.arange(32)
    >>> voted("all", 0x0000FFFF, lane < 16), voted("any", 0x0000FFFF, lane >= 16)
    (np.True_, np.False_)
    >>> hex(voted("ballot", 0xFFFFFFFF, lane % 4 == 0))
    '0x11111111'
    """
    yes, members = word_of(require_predicate(predicate))[0], word_of(lanes_of_mask(mask))[0]
    return VOTES[mode](yes & members, members)


def lanes_with_equal_values(value: NDArray[Any]) -> NDArray[np.uint32]:
    """Return for each lane the word of lanes that hold the same bits: (..., 32) of unsigned integers.

    Examples
    --------
    >>> hex(lanes_with_equal_values(np.arange(32, dtype=np.uint32) % 2)[1])
    '0xaaaaaaaa'
    """
    found: NDArray[np.uint32] = word_of(value[..., :, None] == value[..., None, :])[..., 0]
    return found


def match_any_sync(mask: SupportsIndex, value: NDArray[Any]) -> NDArray[np.uint32]:
    """Return for each lane of the mask the lanes that hold the same bits; 0 for the other lanes.

    Examples
    --------
    >>> [hex(x) for x in match_any_sync(0xFFFFFFFF, np.arange(32) % 2)[:2]]
    ['0x55555555', '0xaaaaaaaa']
    """
    words, lanes = _words(value), lanes_of_mask(mask)
    return np.where(lanes, lanes_with_equal_values(words) & word_of(lanes), np.uint32(0))


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
    "add": lambda x: np.add.reduce(x, axis=-1, keepdims=True, dtype=x.dtype),  # wraps in 32 bits
    "min": lambda x: np.minimum.reduce(x, axis=-1, keepdims=True),
    "max": lambda x: np.maximum.reduce(x, axis=-1, keepdims=True),
    "and": lambda x: np.bitwise_and.reduce(x, axis=-1, keepdims=True),
    "or": lambda x: np.bitwise_or.reduce(x, axis=-1, keepdims=True),
    "xor": lambda x: np.bitwise_xor.reduce(x, axis=-1, keepdims=True),
}
"""The reductions over the lanes, which are the last axis (9.7.13.8, redux.sync)."""

_IDENTITY: dict[str, int] = {
    "add": 0, "or": 0, "xor": 0, "and": 0xFFFF_FFFF,
    "min.u32": 0xFFFF_FFFF, "max.u32": 0, "min.s32": 0x7FFF_FFFF, "max.s32": 0x8000_0000,
}  # fmt: skip
"""The neutral element of each reduction, as a pattern."""

_NAN = np.uint32(0x7FFF_FFFF)
_SIGN = np.uint32(0x8000_0000)


def integer_reduction(operation: str, kind: str) -> Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.uint32]]:
    """Make the function that combines integers, "u32", "s32" or "b32", as patterns, of the participating lanes.

    Examples
    --------
    >>> integer_reduction("max", "s32")(np.arange(32, dtype=np.uint32), np.arange(32) < 8)
    array([7], dtype=uint32)
    """
    identity = np.uint32(_IDENTITY.get(operation, _IDENTITY.get(f"{operation}.{kind}", 0)))
    dtype = np.int32 if kind == "s32" else np.uint32
    reduce = REDUCTIONS[operation]

    def combine(value: NDArray[Any], takes_part: NDArray[np.bool_]) -> NDArray[np.uint32]:
        numbers = np.where(takes_part, value, identity).view(dtype)
        found: NDArray[np.uint32] = reduce(numbers).view(np.uint32)
        return found

    return combine


def float_reduction(
    operation: str, absolute: bool, nan: bool
) -> Callable[[NDArray[Any], NDArray[np.bool_]], NDArray[np.uint32]]:
    """Make the function that returns the smallest or largest float32 as a pattern.

    -0 is smaller than +0; a NaN is the result only with ``nan``, or if all values are NaN.
    """
    largest = operation == "max"
    nothing = np.uint32(0) if largest else FULL

    def combine(value: NDArray[Any], takes_part: NDArray[np.bool_]) -> NDArray[np.uint32]:
        bits = value & ~_SIGN if absolute else value
        is_nan = takes_part & ((bits & ~_SIGN) > np.uint32(0x7F80_0000))
        order = np.where(bits & _SIGN, ~bits, bits | _SIGN)  # increases with the numbers
        order = np.where(takes_part & ~is_nan, order, nothing)
        best = REDUCTIONS[operation](order)
        found = np.where(best & _SIGN, best & ~_SIGN, ~best)
        void = is_nan.any(axis=-1, keepdims=True) if nan else best == nothing
        return np.where(void, _NAN, found)

    return combine


def reduce_sync(operation: str, mask: SupportsIndex, value: NDArray[Any]) -> NDArray[Any]:
    """Combine a 32-bit integer of every lane of the mask; each lane receives the result (`redux.sync`, since sm_80).

    Lanes outside the mask keep their value. Sums wrap.

    Examples
    --------
    >>> reduce_sync("max", 0xFFFFFFFF, np.arange(32, dtype=np.int32))[0]
    np.int32(31)
    """
    if operation not in REDUCTIONS:
        raise OptionError(f"there is no reduction {shorten(operation)}; the reductions are {', '.join(REDUCTIONS)}")
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
    patterns = np.ascontiguousarray(values).view(np.ndarray).view(np.uint32)
    combined = integer_reduction(operation, "s32" if values.dtype.kind == "i" else "u32")(patterns, lanes)
    return np.where(lanes, combined.view(values.dtype), values)


def require_predicate(predicate: ArrayLike) -> NDArray[np.bool_]:
    """Return a predicate of every lane, given an integer or a truth value of every lane, or one for all of them.

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
