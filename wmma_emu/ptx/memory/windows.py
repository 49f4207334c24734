# SPDX-License-Identifier: MIT
"""Shared memory, local memory and parameters: a small space for each block, for each thread, or for all threads."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.memory.access import view_of
from wmma_emu.ptx.memory.address_map import round_up
from wmma_emu.ptx.threads import Array

_ZERO, _FAR = np.uint64(0), np.uint64((1 << 64) - 1)


class ResolvedAddresses(NamedTuple):
    """Positions in the bytes of a space.

    ``positions`` has no meaning where ``used`` is False: for inactive threads, and for accesses that are skipped.
    ``outside`` and ``misaligned`` mark the reasons; None if there are no such accesses. The heap adds ``read_only``.
    """

    positions: NDArray[np.int64]
    used: NDArray[np.bool_] | None
    outside: NDArray[np.bool_] | None = None
    misaligned: NDArray[np.bool_] | None = None
    read_only: NDArray[np.bool_] | None = None


class Window:
    """Bytes that begin at address 0 of a space, ``size`` of them for each of several owners.

    ``owners`` is (blocks, 1, 1) for shared memory, (blocks, warps, 32) for local memory, (1, 1, 1) for parameters.
    ``pieces`` are the ranges that may be accessed, in order: variables, with gaps between them. The default is the
    whole space.

    Examples
    --------
    >>> shared = Window("shared", 64, (2, 1, 1))
    >>> shared.locate(np.full((1, 1, 1), 60, np.uint64), 4, 4, None).positions.ravel()
    array([ 60, 124])
    >>> shared.locate(np.full((1, 1, 1), 62, np.uint64), 4, 4, None).outside.ravel()
    array([ True])
    """

    def __init__(
        self, name: str, size: int, owners: tuple[int, int, int], pieces: Sequence[tuple[int, int]] = (),
        fill: Fill = Fill(),  # noqa: B008 - zeros draw nothing
    ) -> None:  # fmt: skip
        self.name, self.size, self.owners = name, size, owners
        self._begins, self._ends = [lo for lo, _ in pieces], [hi for _, hi in pieces]
        self._is_whole, self._first = len(pieces) <= 1, min(self._begins, default=0)
        self._filler = np.uint64(self._first)
        self.stride = round_up(size, 32)
        count = owners[0] * owners[1] * owners[2]
        self.flat: NDArray[np.uint8] = fill.memory(max(self.stride * count, 32))
        self.origin = None if count == 1 else np.arange(count, dtype=np.int64).reshape(owners) * self.stride
        self._views: dict[int, NDArray[Any]] = {}

    def view(self, unit: int) -> NDArray[Any]:
        """Return the bytes of all owners as elements of 1, 2, 4, 8 or 16 bytes."""
        if unit not in self._views:
            self._views[unit] = view_of(self.flat, unit)
        return self._views[unit]

    def locate(self, addresses: Array, size: int, alignment: int, used: NDArray[np.bool_] | None) -> ResolvedAddresses:
        """Find the bytes of an access of ``size`` bytes; addresses are uint64, narrow or not."""
        kept = addresses if used is None else np.where(used, addresses, self._filler)
        first, last = self._first, self.size - size
        outside = misaligned = None
        if not self._is_whole:
            outside = self._in_no_piece(addresses, kept, size, used)
        elif last < first or int(kept.max()) > last or (first and int(kept.min()) < first):
            fits = last >= first
            outside = (kept > np.uint64(last)) | (kept < self._filler) if fits else np.ones(kept.shape, np.bool_)
            outside = outside if used is None else outside & used
        if alignment > 1 and int(np.bitwise_or.reduce(kept, axis=None)) & (alignment - 1):
            misaligned = (kept & np.uint64(alignment - 1)) != 0
            misaligned = misaligned if outside is None else misaligned & ~outside
        if outside is not None or misaligned is not None:
            wrong = outside if misaligned is None else misaligned if outside is None else outside | misaligned
            used = ~wrong if used is None else used & ~wrong  # type: ignore[operator]
            kept = np.where(used, kept, _ZERO)
        positions = kept.view(np.int64)
        return ResolvedAddresses(
            positions if self.origin is None else positions + self.origin, used, outside, misaligned
        )

    def _in_no_piece(
        self, addresses: Array, kept: Array, size: int, used: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_] | None:
        """Return which accesses are not within a single piece; usually all are within the same."""
        low = int((kept if used is None else np.where(used, addresses, _FAR)).min())
        i = bisect_right(self._begins, low) - 1
        if i >= 0 and int(kept.max()) <= self._ends[i] - size:
            return None
        at = np.searchsorted(np.array(self._begins, np.uint64), kept, side="right") - 1
        end = np.array(self._ends, np.uint64)[np.maximum(at, 0)]
        inside = (at >= 0) & (kept < end) & (end - np.minimum(kept, end) >= np.uint64(size))
        outside = ~inside if used is None else ~inside & used
        return outside if outside.any() else None
