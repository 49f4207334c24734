# SPDX-License-Identifier: MIT
"""One number for each granule of some bytes: of four bytes, or of two or one if accesses are that small."""

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
"""The bytes of a word that an access does not use, as bits, by the size of the access and its offset."""


class Granules:
    """Numbers, initially 0, for the granules of ``size`` bytes that begin at the position ``base``.

    The system allocates pages of zeros on first use: memory that is never accessed costs nothing. As long as all bytes
    of each word have the same number or 0, ``by_parts``, one number is kept for each word, and bits that mark the bytes
    with 0: a quarter of the memory that one number for each byte would take.

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

    def refine(self, size: int) -> None:
        """Split the granules to the size of an access."""
        if size < self.size:
            more = self.size // size
            # A copy of zeros would allocate pages that were never used.
            new = np.repeat(self.flat, more) if self.is_used else zeroed(len(self.flat) * more, self.flat.dtype)
            if self._others is not None:
                for k in range(more):
                    new[k::more][self._others >> k * size & 1 == 1] = 0
            self.flat, self.size, self._others = new, size, None

    def words(self, access: Access, positions: NDArray[np.int64]) -> Array:
        """Read the numbers of the words of an access by parts."""
        self._last_words = self._look_up(access, positions)
        return self._last_words[2]

    def _look_up(
        self, access: Access, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:  # fmt: skip
        at = (positions - self.base if self.base else positions)[None] >> 2
        if access.size > 4:
            at = at + np.arange(access.size // 4).reshape(-1, *(1,) * positions.ndim)
        return positions, at, self.flat.take(at)

    def put_parts(self, access: Access, positions: NDArray[np.int64], values: Array) -> bool:
        """Write the numbers of an access by parts, if nothing else that is recorded there still matters.

        Return False, with nothing written, if threads access one word at once.
        """
        if self._others is None:
            self._others = zeroed(len(self.flat))
        last = self._last_words
        if last is None or last[0] is not positions:
            last = self._look_up(access, positions)
        (_, at, old), self._last_words = last, None
        rest = np.zeros((), np.uint8)
        if access.size < 4:
            rest = _OTHER_PARTS[access.size].take(positions & 3)
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

    def _geometry(self, access: Access) -> tuple[int, int, int]:
        item = self.flat.dtype.itemsize
        scale = item // self.size
        return scale, min(access.unit * scale, 16), access.size // self.size

    def _scaled(self, positions: NDArray[np.int64], scale: int) -> NDArray[np.int64]:
        offsets = positions - self.base if self.base else positions
        return offsets * scale if scale > 1 else offsets

    def get(self, access: Access, positions: NDArray[np.int64]) -> Array:
        """Read the numbers of an access at some positions: (granules of the access, *positions)."""
        scale, unit, count = self._geometry(access)
        view = view_of(self.flat.view(np.uint8), unit)
        return gather(view, unit, self._scaled(positions, scale), self.flat.dtype.itemsize, count)

    @property
    def bytes(self) -> int:
        """Upper limit on the bytes of host memory in use: from the first position that was written to, to the last."""
        return max(0, self._end - self._begin) * self.flat.dtype.itemsize // self.size + self._marks.nbytes

    def extend(self, positions: NDArray[np.int64], size: int) -> None:
        """Extend the range of positions in use."""
        self.is_used = True
        if positions.size:
            self._begin = min(self._begin, int(positions.min()))
            self._end = max(self._end, int(positions.max()) + size)

    def put(self, access: Access, positions: NDArray[np.int64], values: Array) -> None:
        """Write the same number for all granules of an access, one for each position."""
        self.extend(positions, access.size)
        scale, unit, count = self._geometry(access)
        view: NDArray[Any] = view_of(self.flat.view(np.uint8), unit)
        scatter(view, unit, self._scaled(positions, scale), np.broadcast_to(values, (count, *values.shape)))

    def are_among(self, slots: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of some granules are among others, both given by index."""
        if len(self._marks) != len(self.flat):
            self._marks = zeroed(len(self.flat), np.bool_)
        self._marks[others] = True
        found: NDArray[np.bool_] = self._marks[slots]
        self._marks[others] = False
        return found

    def indices(self, access: Access, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of every granule of an access, (granules of the access, *positions)."""
        first = (positions - self.base) // self.size
        steps = np.arange(access.size // self.size).reshape(-1, *(1,) * first.ndim)
        return np.asarray(first + steps)


def chosen_of(access: Access, positions: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the positions and the values of the threads that take part, flattened unless all threads do."""
    if access.mask is None:
        shape = np.broadcast_shapes(positions.shape, values.shape)
        return wide(positions, shape), wide(values, shape)
    shape = np.broadcast_shapes(positions.shape, values.shape, access.mask.shape)
    index = np.flatnonzero(wide(access.mask, shape))
    return pick(positions, shape, index), pick(values, shape, index)
