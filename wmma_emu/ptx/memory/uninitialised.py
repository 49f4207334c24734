# SPDX-License-Identifier: MIT
"""The uninitialised bits of an address space, and the origins of undefined bits that were stored."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.origins import Origins, spans
from wmma_emu.ptx.definedness.paddings import ELSEWHERE, UNIT, padding_class_of, units_of_bytes
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.memory.access import gather, scatter, view_of
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.pages import zeroed

_EVERY: dict[int, Any] = {
    1: np.uint8(0xFF), 2: np.uint16(0xFFFF), 4: np.uint32(0xFFFF_FFFF), 8: np.uint64(0xFFFF_FFFF_FFFF_FFFF),
}  # fmt: skip
_GRANULE = 2
"""An origin is kept for every four bytes."""


class UninitialisedBits:
    """One bit for each bit of an address space.

    Pages that are never accessed cost nothing as long as they hold zeros. For shared and local memory the mask
    therefore marks the bits that are written; for global memory, most of which is written in the beginning
    (``is_written``), those that are not.
    """

    def __init__(self, space: str, size: int, origins: Origins, *, is_written: bool = False) -> None:
        self._space, self._origins, self._is_written = space, origins, is_written
        self.kept = zeroed(size)
        self._views: dict[int, NDArray[Any]] = {}
        self._from: NDArray[np.uint64] | None = None

    def _view(self, unit: int) -> NDArray[Any]:
        if unit not in self._views:
            self._views[unit] = view_of(self.kept, unit)
        return self._views[unit]

    def read(self, resolved: ResolvedAccess, used: NDArray[np.bool_] | None) -> Undefined | None:
        """Return the undefined bits of a load, for the threads of a mask; None if no thread has any."""
        access, positions, size, count = resolved.access, resolved.where.positions, resolved.size, resolved.length
        kept = gather(self._view(access.unit), access.unit, positions, size, count)
        every = _EVERY[size]
        if self._is_written:
            if not kept.any():
                return None
            lost = kept
        else:
            if (kept == every).all():
                return None
            lost = ~kept
        if used is not None:
            lost = np.where(used, lost, every ^ every)
            if not lost.any():
                return None
        first, last = spans(lost)
        step = np.arange(0, count * size, size, dtype=np.int64).reshape(-1, *(1,) * positions.ndim)
        origin = self._origins.of_bytes(
            access.instruction, self._space, resolved.numbers + step.astype(np.uint64), last, first, lost == every,
            self._padding_class(positions + step, size, lost == every),
        )  # fmt: skip
        if self._from is not None:
            known = self._from.take(positions + step + first >> _GRANULE)
            origin = np.where(known != 0, known, origin)
        return Undefined(lost, origin)

    def _padding_class(
        self, positions: NDArray[np.int64], size: int, are_whole: NDArray[np.bool_]
    ) -> NDArray[np.uint8] | int:
        """Classify elements without a written byte by the written bytes around them."""
        if not are_whole.any():
            return ELSEWHERE
        kept = self.kept.reshape(-1, UNIT).take(positions >> 4, axis=0, mode="clip")
        units = units_of_bytes(kept != (0xFF if self._is_written else 0))
        return padding_class_of(units, np.left_shift((1 << size) - 1, positions & (UNIT - 1)).astype(np.uint16))

    def write(
        self, positions: NDArray[np.int64], size: int, count: int, unit: int, undefined: Undefined | None
    ) -> None:
        """Record a store at some positions; ``undefined`` has (count, *positions)."""
        if undefined is None:
            self.mark(positions, size * count, unit)
            return
        bits = undefined.bits if self._is_written else ~undefined.bits
        scatter(self._view(unit), unit, positions, bits)
        if self._from is None:
            self._from = zeroed(-(-len(self.kept) >> _GRANULE) + 1, np.uint64)
        origin = np.broadcast_to(undefined.origin, undefined.bits.shape)
        for k in range(count):
            lost = np.where(undefined.bits[k] != 0, origin[k], np.uint64(0))
            for byte in range(k * size, (k + 1) * size, 1 << _GRANULE):
                self._from[positions + byte >> _GRANULE] = lost

    def forget(self, positions: NDArray[np.int64]) -> None:
        """Mark eight bytes at each position, a multiple of eight, as not written; only of a space that marks writes."""
        self._view(8)[positions >> 3] = 0

    def mark(self, positions: NDArray[np.int64], size: int, unit: int) -> None:
        """Mark the bytes at some positions as written."""
        unit = min(unit, 8)
        written = _EVERY[unit] * _EVERY[unit].dtype.type(not self._is_written)
        view, index = self._view(unit), positions >> unit.bit_length() - 1
        for k in range(size // unit):
            view[index + k if k else index] = written
