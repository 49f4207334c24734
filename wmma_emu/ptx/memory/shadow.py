# SPDX-License-Identifier: MIT
"""What is known of each byte of shared or local memory: whether it was written, and whether it is on its way."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.origins import Origins
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.findings import CHECKS, Message
from wmma_emu.ptx.memory.access import gather, view_of
from wmma_emu.ptx.memory.masks import fit, narrowest
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.uninitialised import UninitialisedBits
from wmma_emu.ptx.memory.windows import ResolvedAddresses, Window
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.threads import Active, Array

_PIECE = 16
"""Bytes that an asynchronous product reads at once."""


class Shadow:
    """What is known of the bytes of a space beside their values: which bits nobody wrote, and which are on their way.

    ``pending`` counts the asynchronous copies that are, and ``held`` the pieces of 16 bytes that asynchronous products
    may still read, each as often as it is read. Where none of ``checks`` needs anything of this, it is not kept.
    ``is_written`` says that all bytes count as written in the beginning.
    """

    def __init__(
        self, window: Window, reporter: Reporter, origins: Origins, checks: frozenset[str] = frozenset(CHECKS), *,
        is_written: bool = False,
    ) -> None:  # fmt: skip
        self.window, self.reporter = window, reporter
        follows, self._waits = "undefined" in checks, "synchronisation" in checks
        self.is_kept = follows or self._waits
        self.uninitialised: UninitialisedBits | None = None
        if follows:
            self.uninitialised = UninitialisedBits(window.name, len(window.flat), origins, is_written=is_written)
        self.pending = self.held = 0
        self.who_copies: Callable[[int], Message] = lambda position: ("an asynchronous copy",)
        self._coming = np.zeros(0, np.uint8)
        self._views: dict[int, NDArray[Any]] = {}
        self._readers = np.zeros(0, np.uint32)

    def _view(self, unit: int) -> NDArray[Any]:
        """Return a byte for each byte of the space, 0xFF where a copy is on its way: as elements of some bytes."""
        if not len(self._coming):
            self._coming = zeroed(len(self.window.flat))
        if unit not in self._views:
            self._views[unit] = view_of(self._coming, unit)
        return self._views[unit]

    def _coming_to(self, reached: ResolvedAccess) -> Array:
        """Read which bytes of an access are on their way."""
        return gather(self._view(reached.unit), reached.unit, reached.where.positions, reached.size, reached.length)

    def loaded(self, reached: ResolvedAccess, active: Active) -> Undefined | None:
        """Check a load; return where it gives what nobody wrote."""
        coming = self._coming_to(reached) if self.pending else None
        if coming is not None and self._waits:
            self._check_pending(reached, coming, active, False)
        if self.uninitialised is None:
            return None
        undefined = self.uninitialised.read(reached, _mask(reached.where, active))
        if undefined is None or coming is None:
            return undefined
        rest = undefined._replace(bits=undefined.bits & ~coming)  # what is on its way is another finding
        return rest if rest.bits.any() else None

    def stored(
        self, reached: ResolvedAccess, written: NDArray[np.int64], active: Active, undefined: Undefined | None
    ) -> None:  # fmt: skip
        """Check and note a store at the positions ``written``; ``undefined`` is (count, *positions) or None."""
        self._check_write(reached, active)
        self.write(written, reached.size, reached.length, reached.unit, undefined)

    def _check_write(self, reached: ResolvedAccess, active: Active) -> None:
        if self.held:
            self._check_held(reached, active)
        if self.pending and self._waits:
            self._check_pending(reached, self._coming_to(reached), active, True)

    def write(
        self, positions: NDArray[np.int64], size: int, count: int, unit: int, undefined: Undefined | None = None
    ) -> None:
        """Say that the bytes at some positions are there, and which of their bits are made of what nobody wrote."""
        if self.uninitialised is not None:
            self.uninitialised.write(positions, size, count, unit, undefined)
        if self.pending:
            self._set_coming(positions, size * count, unit, False)

    def _set_coming(self, positions: NDArray[np.int64], size: int, unit: int, coming: bool) -> None:
        unit = min(unit, 8)
        view, index = self._view(unit), positions >> unit.bit_length() - 1
        mark = view.dtype.type(0) if not coming else ~view.dtype.type(0)
        for k in range(size // unit):
            view[index + k if k else index] = mark

    def begin(self, reached: ResolvedAccess, written: NDArray[np.int64], active: Active) -> None:
        """Say that a copy to the bytes at ``written`` is on its way, whatever they hold until then."""
        if self.is_kept:
            self._check_write(reached, active)
            self._set_coming(written, reached.access.size, reached.unit, True)

    def hold(self, pieces: NDArray[np.int64]) -> None:
        """Say that asynchronous products will read these pieces of 16 bytes, counted from the start of all blocks."""
        if not self._waits:
            return
        if not len(self._readers):
            self._readers = np.zeros(-(-len(self.window.flat) // _PIECE), np.uint32)
        np.add.at(self._readers, pieces, np.uint32(1))
        self.held += len(pieces)

    def release(self, pieces: NDArray[np.int64]) -> None:
        """Say that products that were to read these pieces have been waited for."""
        if not self._waits:
            return
        np.subtract.at(self._readers, pieces, np.uint32(1))
        self.held -= len(pieces)

    def _check_held(self, reached: ResolvedAccess, active: Active) -> None:
        touch, positions = reached.access, reached.where.positions
        bad = self._readers.take(positions >> 4) != 0
        if touch.size > _PIECE:
            bad |= self._readers.take(positions + (touch.size - 1) >> 4) != 0
        mask = _mask(reached.where, active)
        bad = bad if mask is None else bad & mask
        if bad.any() and not self.reporter.is_race(touch.instruction):  # without a barrier it is one, which says enough
            self.reporter.note(
                "missing wait", touch.instruction, bad, active, touch.addresses,
                lambda address: self.reporter.too_early(
                    self.window.name, address, touch.size, True,
                    ("a wgmma.mma_async may still read: no wgmma.wait_group has waited for it",), "product",
                ),
            )  # fmt: skip

    def _check_pending(self, reached: ResolvedAccess, coming: Array, active: Active, write: bool) -> None:
        if not coming.any():
            return
        touch, positions = reached.access, reached.where.positions
        bad = (coming != 0).any(axis=0)
        mask = _mask(reached.where, active)
        bad = bad if mask is None else bad & mask
        if bad.any():
            shape = np.broadcast_shapes(bad.shape, positions.shape)
            full = np.broadcast_to(positions, shape)[np.broadcast_to(bad, shape)]
            self.reporter.note(
                "missing wait", touch.instruction, bad, active, touch.addresses,
                lambda address: self.reporter.too_early(
                    self.window.name, address, touch.size, write, self.who_copies(int(full[0]))
                ),
            )  # fmt: skip


def _mask(where: ResolvedAddresses, active: Active) -> NDArray[np.bool_] | None:
    return narrowest(fit(active, where.positions.shape), where.used)
