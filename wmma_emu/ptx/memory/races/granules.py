# SPDX-License-Identifier: MIT
"""One number for each granule of some bytes: of four bytes, or of two or one where accesses are as small as that."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.memory.access import gather, scatter, view_of
from wmma_emu.ptx.memory.masks import pick, wide
from wmma_emu.ptx.memory.resolved_access import Access
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.threads import Array

_LARGEST = 4
_OTHER_PARTS = {
    size: np.array([15 & ~((1 << size) - 1 << at) for at in range(4)], np.uint8) for size in (1, 2)
}  # fmt: skip
"""The bytes of a word that are not those of an access, as bits, by the size of it and where it begins."""


class Granules:
    """Numbers, 0 at first, for the granules of ``size`` bytes that begin at the position ``base``.

    Pages of zeros are the system's until they are touched: what nobody accesses costs nothing. As long as the bytes of
    each word have one number or none, ``by_parts``, there is one number a word, and bits that say of which of its bytes
    it is not: a quarter of the memory that numbers of bytes take.

    Examples
    --------
    >>> granules = Granules(0, 64, np.dtype(np.uint32))
    >>> granules.refine(2)
    >>> granules.size, len(granules.flat)
    (2, 32)
    """

    def __init__(self, base: int, size: int, dtype: np.dtype[Any]) -> None:
        self.base, self.size = base & -32, _LARGEST
        count = -(-(base + size - self.base) // 32) * 32 // _LARGEST
        self.flat: Array = zeroed(count, dtype)
        self.is_used = False
        self._begin, self._end = self.base + size, self.base
        self._others: NDArray[np.uint8] | None = None
        self._last_words: tuple[NDArray[np.int64], NDArray[np.int64], Array] | None = None
        self._marks: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def refine(self, wanted: int) -> None:
        """Make the granules as small as an access is."""
        if wanted < self.size:
            more = self.size // wanted
            # A copy of nothing would take the pages that nobody has touched.
            new = np.repeat(self.flat, more) if self.is_used else zeroed(len(self.flat) * more, self.flat.dtype)
            if self._others is not None:
                for k in range(more):
                    new[k::more][self._others >> k * wanted & 1 == 1] = 0
            self.flat, self.size, self._others = new, wanted, None

    def words(self, touch: Access, positions: NDArray[np.int64]) -> Array:
        """Read the numbers of the words of an access by parts."""
        self._last_words = self._look_up(touch, positions)
        return self._last_words[2]

    def _look_up(
        self, touch: Access, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:  # fmt: skip
        at = (positions - self.base if self.base else positions)[None] >> 2
        if touch.size > 4:
            at = at + np.arange(touch.size // 4).reshape(-1, *(1,) * positions.ndim)
        return positions, at, self.flat.take(at)

    def put_parts(self, touch: Access, positions: NDArray[np.int64], values: Array) -> bool:
        """Write the numbers of an access by parts, where nothing else that is noted there matters any more.

        False, with nothing written, where threads come to one word at once.
        """
        if self._others is None:
            self._others = zeroed(len(self.flat))
        last = self._last_words
        if last is None or last[0] is not positions:
            last = self._look_up(touch, positions)
        (_, at, old), self._last_words = last, None
        rest = np.zeros((), np.uint8)
        if touch.size < 4:
            rest = _OTHER_PARTS[touch.size].take(positions & 3)
        same = old == values
        others = self._others.take(at)
        if not same.all():
            others = np.where(same, others, np.uint8(15))
            self.flat[at] = np.broadcast_to(values, at.shape)
            if (self.flat.take(at) != values).any():
                self._others[at] = others
                if not self.is_used:
                    self.flat[at] = 0
                return False
        self._others[at] = others & rest
        self.is_used = True
        return True

    def _geometry(self, touch: Access) -> tuple[int, int, int]:
        item = self.flat.dtype.itemsize
        scale = item // self.size
        return scale, min(touch.unit * scale, 16), touch.size // self.size

    def _scaled(self, positions: NDArray[np.int64], scale: int) -> NDArray[np.int64]:
        offsets = positions - self.base if self.base else positions
        return offsets * scale if scale > 1 else offsets

    def get(self, touch: Access, positions: NDArray[np.int64]) -> Array:
        """Read the numbers of an access at some positions: (granules of the access, *positions)."""
        scale, unit, count = self._geometry(touch)
        view = view_of(self.flat.view(np.uint8), unit)
        return gather(view, unit, self._scaled(positions, scale), self.flat.dtype.itemsize, count)

    @property
    def bytes(self) -> int:
        """Of the host's memory, at most: from the first position that was written to, to the last."""
        return max(0, self._end - self._begin) * self.flat.dtype.itemsize // self.size

    def reach(self, positions: NDArray[np.int64], size: int) -> None:
        """Say that something is noted at some positions."""
        self.is_used = True
        if positions.size:
            self._begin = min(self._begin, int(positions.min()))
            self._end = max(self._end, int(positions.max()) + size)

    def put(self, touch: Access, positions: NDArray[np.int64], values: Array) -> None:
        """Write the same number for all granules of an access, one for each position."""
        self.reach(positions, touch.size)
        scale, unit, count = self._geometry(touch)
        view: NDArray[Any] = view_of(self.flat.view(np.uint8), unit)
        scatter(view, unit, self._scaled(positions, scale), np.broadcast_to(values, (count, *values.shape)))

    def are_among(self, slots: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which of some granules are among others, both by their index."""
        if len(self._marks) != len(self.flat):
            self._marks = zeroed(len(self.flat), np.bool_)
        self._marks[others] = True
        found: NDArray[np.bool_] = self._marks[slots]
        self._marks[others] = False
        return found

    def places(self, touch: Access, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Index of every granule of an access, (granules of the access, *positions)."""
        first = (positions - self.base) // self.size
        steps = np.arange(touch.size // self.size).reshape(-1, *(1,) * first.ndim)
        return np.asarray(first + steps)


def chosen_of(touch: Access, positions: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Give the positions and the values of the threads that take part, each in one list, or whole where all do."""
    if touch.mask is None:
        shape = np.broadcast_shapes(positions.shape, values.shape)
        return wide(positions, shape), wide(values, shape)
    shape = np.broadcast_shapes(positions.shape, values.shape, touch.mask.shape)
    index = np.flatnonzero(wide(touch.mask, shape))
    return pick(positions, shape, index), pick(values, shape, index)
