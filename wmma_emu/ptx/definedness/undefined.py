# SPDX-License-Identifier: MIT
"""Bits that nobody wrote: a mask beside a value, and of each thread where its undefined bits come from."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Active, Array

_NOWHERE = np.zeros((1, 1, 1), np.uint64)

COMPUTED = np.uint64(1 << 63)
"""Bit of an origin: the value has been computed with, rather than loaded, stored and moved alone."""


class Undefined(NamedTuple):
    """What is undefined of a value.

    ``bits`` are of the value's width, bool for predicates, and set where nobody wrote; they broadcast to the value, and
    may be narrower or wider than it is. ``origin`` (uint64) is where the undefined bits of each thread come from, as
    `Origins` numbers it; anything where none is undefined.
    """

    bits: Array
    origin: Array


def all_bits(dtype: "np.dtype[Any]") -> Any:
    """Give the value of a dtype whose bits are all set.

    Examples
    --------
    >>> all_bits(np.dtype(np.uint16)), all_bits(np.dtype(np.bool_))
    (np.uint16(65535), np.True_)
    """
    return np.True_ if dtype.kind == "b" else ~dtype.type(0)


def cast(undefined: Undefined | None, dtype: "np.dtype[Any]") -> Undefined | None:
    """Take the low bits, or extend with defined ones: zeros."""
    if undefined is None or undefined.bits.dtype == dtype:
        return undefined
    return undefined._replace(bits=undefined.bits.astype(dtype))


def everywhere(where: NDArray[np.bool_], dtype: "np.dtype[Any]") -> Array:
    """Set all bits where a mask says so.

    Examples
    --------
    >>> everywhere(np.array([True, False]), np.dtype(np.uint8)).tolist()
    [255, 0]
    """
    return where if dtype.kind == "b" else np.where(where, all_bits(dtype), dtype.type(0))


def computed(origins: Array) -> Array:
    """Mark origins as those of values that have been computed with: what comes of them is no copy.

    Examples
    --------
    >>> loaded = np.array([57], np.uint64)
    >>> is_copied(loaded), is_copied(computed(loaded))
    (array([ True]), array([False]))
    """
    return np.asarray(origins | COMPUTED)


def is_copied(origins: Array) -> Array:
    """Say which origins are those of values that were loaded, stored and moved, and nothing else."""
    return np.asarray(origins & COMPUTED == 0)


def origin_of(given: Iterable[Undefined | None]) -> Array:
    """Take, of each thread, the origin of the first of several values that has undefined bits.

    If any of them has been computed with, so has what is made of them.
    """
    some = [x for x in given if x is not None]
    if not some:
        return _NOWHERE
    found = some[-1].origin
    if len(some) == 1:
        return found
    for undefined in reversed(some[:-1]):
        found = np.where(undefined.bits != 0, undefined.origin, found)
    for undefined in some:
        found = found | np.where(undefined.bits != 0, undefined.origin & COMPUTED, np.uint64(0))
    return found


def origin_of_warp(undefined: Undefined) -> Array:
    """Take one origin for what all lanes of a warp compute together.

    From (*lead, blocks, warps, lanes) to (blocks or 1, warps or 1, 1).
    """
    known = np.where(undefined.bits != 0, computed(undefined.origin), all_bits(undefined.origin.dtype))
    lead = tuple(range(known.ndim - 3))
    return np.asarray(known.min(axis=(*lead, -1), keepdims=True)).reshape(*known.shape[-3:-1], 1)


def stacked(given: Sequence[Undefined | None], dtype: "np.dtype[Any]") -> Undefined | None:
    """Put the undefined bits of several values side by side: (number, ...); None where nothing is undefined."""
    if all(x is None for x in given):
        return None
    nothing = np.zeros((1, 1, 1), dtype)
    bits = np.stack(np.broadcast_arrays(*(nothing if x is None else x.bits.astype(dtype) for x in given)))
    return Undefined(bits, np.stack(np.broadcast_arrays(*(_NOWHERE if x is None else x.origin for x in given))))


def joined(active: Active, new: Undefined | None, old: Undefined | None) -> Undefined | None:
    """Take what is undefined of a value that active threads have just written, and the others before."""
    if active is None:
        return new
    if old is None:
        return None if new is None else new._replace(bits=np.where(active, new.bits, new.bits.dtype.type(0)))
    if new is None:
        return old._replace(bits=np.where(active, old.bits.dtype.type(0), old.bits))
    return Undefined(np.where(active, new.bits, old.bits), np.where(active, new.origin, old.origin))
