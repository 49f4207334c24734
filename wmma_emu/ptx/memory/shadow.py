# SPDX-License-Identifier: MIT
"""What is known of each byte of shared or local memory: whether it was written, and whether it is on its way."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.findings import CHECKS
from wmma_emu.ptx.memory.access import gather, scatter, view_of
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.memory.reach import Reached
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.windows import Located, Window
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import Instruction
from wmma_emu.ptx.threads import Active, Array

__all__ = ["Shadow"]

DEFINED, UNDEFINED, PENDING = 1, 2, 4
_ONES: dict[int, Any] = {
    1: np.uint8(1), 2: np.uint16(0x0101), 4: np.uint32(0x01010101), 8: np.uint64(0x0101010101010101),
}  # fmt: skip


_PIECE = 16
"""Bytes that an asynchronous product reads at once."""

_ONE: dict[int, Any] = {size: ones.dtype.type(1) for size, ones in _ONES.items()}
_TWO: dict[int, Any] = {size: one + one for size, one in _ONE.items()}


class Shadow:
    """One byte of flags for each byte of a space.

    A byte is written with what a thread computed (1), or with what nobody had (2); and it may be about to be
    overwritten by an asynchronous copy (4). An element of which some byte is written counts as written: the rest is
    padding.

    Attributes
    ----------
    pending : int
        How many asynchronous copies are on their way.
    held : int
        How many pieces of 16 bytes asynchronous products may still read, each counted as often as it is read.
    is_kept : bool
        Whether any of ``checks`` needs the flags; where none does, nothing is noted.
    """

    def __init__(self, window: Window, reporter: Reporter, checks: frozenset[str] = frozenset(CHECKS)) -> None:
        self.window, self.reporter = window, reporter
        self._follows, self._waits = "undefined" in checks, "synchronisation" in checks
        self.is_kept = self._follows or self._waits
        self.pending = self.held = 0
        self.who_copies: Callable[[int], str] = lambda position: "an asynchronous copy"
        self._flags = zeroed(window.flat.shape if self.is_kept else 32)
        self._views: dict[int, NDArray[Any]] = {}
        self._readers = np.zeros(0, np.uint32)

    def _view(self, unit: int) -> NDArray[Any]:
        if unit not in self._views:
            self._views[unit] = view_of(self._flags, unit)
        return self._views[unit]

    def loaded(
        self, instruction: Instruction, where: Located, addresses: Array, size: int, count: int, unit: int,
        active: Active, *, whole: bool = False,
    ) -> Array | None:  # fmt: skip
        """Check a load of ``count`` elements of ``size`` bytes; return where it gives what nobody had computed.

        ``whole`` elements have no padding: each of their bytes has to be written.
        """
        waits = self.pending and self._waits
        if not (waits or self._follows):
            return None
        flags = gather(self._view(unit), unit, where.positions, size, count)
        if waits:
            self._check_pending(instruction, flags, where, addresses, size * count, active, False)
        if not self._follows:
            return None
        ones = _ONES[size]
        written = flags & ones
        if (written == ones).all() if whole else written.all():
            return None
        mask = _mask(where, active)
        missing = written != ones if whole else written == 0
        if mask is not None:
            missing &= mask
            if not missing.any():
                return None
        given = (flags | flags >> _ONE[size] | flags >> _TWO[size]) & ones  # what is on its way is another finding
        never = missing & (given != ones if whole else given == 0)
        if self.window.name == "local":
            # Structures are copied with their padding: an access is wrong if nothing of it was written.
            never &= never.all(axis=tuple(range(never.ndim - 3)), keepdims=True)
        if never.any():
            self.reporter.note(
                "uninitialised", instruction, never.any(axis=0), active, addresses,
                lambda address: self.reporter.unwritten(self.window.name, address, size * count),
            )  # fmt: skip
        undefined = missing & ~never & ((flags & (ones * ones.dtype.type(PENDING))) == 0)
        return undefined if undefined.any() else None

    def stored(
        self, instruction: Instruction, where: Located, addresses: Array, written: NDArray[np.int64], size: int,
        count: int, unit: int, active: Active, undefined: Array | None,
    ) -> None:  # fmt: skip
        """Note a store at the positions ``written``; ``undefined`` is (count, *positions) or None."""
        view = self._view(unit)
        if self.held:
            self._check_held(instruction, where, addresses, size * count, active)
        if self.pending and self._waits:
            flags = gather(view, unit, where.positions, size, count)
            self._check_pending(instruction, flags, where, addresses, size * count, active, True)
        if not (self._follows or self.pending):
            return
        if undefined is None or not self._follows:
            self.mark(written, size * count, unit)
            return
        ones = _ONES[size]
        scatter(view, unit, written, np.where(undefined, ones << ones.dtype.type(1), ones))

    def mark(self, positions: NDArray[np.int64], size: int, unit: int, flag: int = DEFINED) -> None:
        """Give the bytes at some positions the same flags."""
        if not self.is_kept:
            return
        if unit == 16:
            for k in range(size // 8):
                self._view(8)[(positions >> 3) + k] = _ONES[8] * np.uint64(flag)
            return
        shift = unit.bit_length() - 1
        for k in range(size // unit):
            self._view(unit)[(positions >> shift) + k] = _ONES[unit] * _ONES[unit].dtype.type(flag)

    def begin(self, reached: Reached, written: NDArray[np.int64], active: Active) -> None:
        """Say that a copy to the bytes at ``written`` is on its way, whatever they hold until then."""
        if not self.is_kept:
            return
        touch, where = reached.touch, reached.where
        if self.held:
            self._check_held(touch.instruction, where, touch.addresses, touch.size, active)
        if self.pending and self._waits:
            flags = gather(self._view(touch.unit), touch.unit, where.positions, reached.size, reached.length)
            self._check_pending(touch.instruction, flags, where, touch.addresses, touch.size, active, True)
        unit = min(touch.unit, 8)
        view, mark = self._view(unit), _ONES[unit] * _ONES[unit].dtype.type(PENDING)
        for k in range(touch.size // unit):
            view[(written >> (unit.bit_length() - 1)) + k] |= mark

    def hold(self, pieces: NDArray[np.int64]) -> None:
        """Say that asynchronous products will read these pieces of 16 bytes, counted from the start of all blocks."""
        if not self._waits:
            return
        if not len(self._readers):
            self._readers = np.zeros(-(-len(self._flags) // _PIECE), np.uint32)
        np.add.at(self._readers, pieces, np.uint32(1))
        self.held += len(pieces)

    def release(self, pieces: NDArray[np.int64]) -> None:
        """Say that products that were to read these pieces have been waited for."""
        if not self._waits:
            return
        np.subtract.at(self._readers, pieces, np.uint32(1))
        self.held -= len(pieces)

    def _check_held(
        self, instruction: Instruction, where: Located, addresses: Array, size: int, active: Active
    ) -> None:  # fmt: skip
        bad = self._readers.take(where.positions >> 4) != 0
        if size > _PIECE:
            bad |= self._readers.take(where.positions + (size - 1) >> 4) != 0
        mask = _mask(where, active)
        bad = bad if mask is None else bad & mask
        if bad.any() and not self.reporter.is_race(instruction):  # without a barrier it is one, which says enough
            self.reporter.note(
                "missing wait", instruction, bad, active, addresses,
                lambda address: self.reporter.too_early(
                    self.window.name, address, size, True,
                    "a wgmma.mma_async may still read: no wgmma.wait_group has waited for it",
                ),
            )  # fmt: skip

    def _check_pending(
        self, instruction: Instruction, flags: Array, where: Located, addresses: Array, size: int, active: Active,
        write: bool,
    ) -> None:  # fmt: skip
        mark = flags.dtype.type(int(_ONES[flags.dtype.itemsize]) * PENDING)
        if not int(np.bitwise_or.reduce(flags, axis=None)) & int(mark):
            return
        bad = ((flags & mark) != 0).any(axis=0)
        mask = _mask(where, active)
        bad = bad if mask is None else bad & mask
        if bad.any():
            shape = np.broadcast_shapes(bad.shape, where.positions.shape)
            full = np.broadcast_to(where.positions, shape)[np.broadcast_to(bad, shape)]
            self.reporter.note(
                "missing wait", instruction, bad, active, addresses,
                lambda address: self.reporter.too_early(
                    self.window.name, address, size, write, self.who_copies(int(full[0]))
                ),
            )  # fmt: skip


def _mask(where: Located, active: Active) -> NDArray[np.bool_] | None:
    mask = fit(active, where.positions.shape)
    if where.used is None:
        return mask
    return where.used if mask is None else mask & where.used
