# SPDX-License-Identifier: MIT
"""Undefined bits: a mask for a value, and for each thread the origin of its undefined bits."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Active, Array

_NOWHERE = np.zeros((1, 1, 1), np.uint64)

COMPUTED = np.uint64(1 << 63)
"""The bit of an origin that is set if the value was computed with, rather than only loaded, stored and moved."""


class Undefined(NamedTuple):
    """The undefined bits of a value.

    ``bits`` has the value's width (bool for predicates), with ones for undefined bits; it broadcasts to the value, and
    may be narrower or wider than it is. ``origin`` (uint64) is the origin of the undefined bits of each thread, as
    numbered by `Origins`; it is arbitrary where no bit is undefined.
    """

    bits: Array
    origin: Array


def all_bits(dtype: "np.dtype[Any]") -> Any:
    """Return the value of a dtype whose bits are all set.

    Examples
    --------
    >>> all_bits(np.dtype(np.uint16)), all_bits(np.dtype(np.bool_))
    (np.uint16(65535), np.True_)
    """
    return np.True_ if dtype.kind == "b" else ~dtype.type(0)


def cast(undefined: Undefined | None, dtype: "np.dtype[Any]") -> Undefined | None:
    """Take the low bits, or extend with defined bits, zeros."""
    if undefined is None or undefined.bits.dtype == dtype:
        return undefined
    return undefined._replace(bits=undefined.bits.astype(dtype))


def everywhere(where: NDArray[np.bool_], dtype: "np.dtype[Any]") -> Array:
    """Return all bits set where a mask is true.

    Examples
    --------
    >>> everywhere(np.array([True, False]), np.dtype(np.uint8)).tolist()
    [255, 0]
    """
    return where if dtype.kind == "b" else np.where(where, all_bits(dtype), dtype.type(0))


def computed(origins: Array) -> Array:
    """Mark origins of values that were computed with, so that results do not count as copies.

    Examples
    --------
    >>> loaded = np.array([57], np.uint64)
    >>> is_copied(loaded), is_copied(computed(loaded))
    (array([ True]), array([False]))
    """
    return np.asarray(origins | COMPUTED)


def is_copied(origins: Array) -> Array:
    """Return which origins belong to values that were only loaded, stored and moved."""
    return np.asarray(origins & COMPUTED == 0)


def origin_of(given: Iterable[Undefined | None]) -> Array:
    """Return, for each thread, the origin of the first of several values that has undefined bits.

    The result is marked as computed if any of them is.
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
    """Return one origin for a value that all lanes of a warp compute together.

    The shape changes from (*lead, blocks, warps, lanes) to (blocks or 1, warps or 1, 1).
    """
    known = np.where(undefined.bits != 0, computed(undefined.origin), all_bits(undefined.origin.dtype))
    lead = tuple(range(known.ndim - 3))
    return np.asarray(known.min(axis=(*lead, -1), keepdims=True)).reshape(*known.shape[-3:-1], 1)


def stacked(given: Sequence[Undefined | None], dtype: "np.dtype[Any]") -> Undefined | None:
    """Stack the undefined bits of several values, (number, ...); None if nothing is undefined."""
    if all(x is None for x in given):
        return None
    nothing = np.zeros((1, 1, 1), dtype)
    bits = np.stack(np.broadcast_arrays(*(nothing if x is None else x.bits.astype(dtype) for x in given)))
    return Undefined(bits, np.stack(np.broadcast_arrays(*(_NOWHERE if x is None else x.origin for x in given))))


def joined(active: Active, new: Undefined | None, old: Undefined | None) -> Undefined | None:
    """Combine the undefined bits that active threads have just written with the old ones of the others."""
    if active is None:
        return new
    if old is None:
        return None if new is None else new._replace(bits=np.where(active, new.bits, new.bits.dtype.type(0)))
    if new is None:
        return old._replace(bits=np.where(active, old.bits.dtype.type(0), old.bits))
    return Undefined(np.where(active, new.bits, old.bits), np.where(active, new.origin, old.origin))
