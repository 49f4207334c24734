# SPDX-License-Identifier: MIT
"""Which bits of the bytes of a space nobody wrote, and where what was stored undefined comes from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.origins import Origins, spans
from wmma_emu.ptx.definedness.paddings import ELSEWHERE, UNIT, standing, units_of_bytes
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
    """One bit for each bit of a space.

    Pages that nobody touches cost nothing as long as they hold zeros. What is kept is therefore, of shared and local
    memory, which bits are written; of global memory, where most are in the beginning (``is_written``), which are not.
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

    def read(self, reached: ResolvedAccess, used: NDArray[np.bool_] | None) -> Undefined | None:
        """Tell which bits of a load are undefined, for the threads of a mask; None where no thread has any."""
        touch, positions, size, count = reached.access, reached.where.positions, reached.size, reached.length
        kept = gather(self._view(touch.unit), touch.unit, positions, size, count)
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
            touch.instruction, self._space, touch.addresses + step.astype(np.uint64), last, first, lost == every,
            self._standing(positions + step, size, lost == every),
        )  # fmt: skip
        if self._from is not None:
            known = self._from.take(positions + step + first >> _GRANULE)
            origin = np.where(known != 0, known, origin)
        return Undefined(lost, origin)

    def _standing(
        self, positions: NDArray[np.int64], size: int, are_whole: NDArray[np.bool_]
    ) -> NDArray[np.uint8] | int:
        """Say how elements without a written byte stand among others that have some."""
        if not are_whole.any():
            return ELSEWHERE
        kept = self.kept.reshape(-1, UNIT).take(positions >> 4, axis=0, mode="clip")
        units = units_of_bytes(kept != (0xFF if self._is_written else 0))
        return standing(units, np.left_shift((1 << size) - 1, positions & (UNIT - 1)).astype(np.uint16))

    def write(
        self, positions: NDArray[np.int64], size: int, count: int, unit: int, undefined: Undefined | None
    ) -> None:
        """Note a store at some positions; ``undefined`` has (count, *positions)."""
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

    def mark(self, positions: NDArray[np.int64], size: int, unit: int) -> None:
        """Say that the bytes at some positions are written."""
        unit = min(unit, 8)
        written = _EVERY[unit] * _EVERY[unit].dtype.type(not self._is_written)
        view, index = self._view(unit), positions >> unit.bit_length() - 1
        for k in range(size // unit):
            view[index + k if k else index] = written
