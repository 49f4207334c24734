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
from wmma_emu.ptx.memory.masks import fit
from wmma_emu.ptx.memory.reporter import Reporter
from wmma_emu.ptx.memory.touch import Reached
from wmma_emu.ptx.memory.unwritten import UnwrittenBits
from wmma_emu.ptx.memory.windows import Located, Window
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import Instruction
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
        self.unwritten: UnwrittenBits | None = None
        if follows:
            self.unwritten = UnwrittenBits(window.name, len(window.flat), origins, is_written=is_written)
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

    def loaded(
        self, instruction: Instruction, where: Located, addresses: Array, size: int, count: int, unit: int,
        active: Active,
    ) -> Undefined | None:  # fmt: skip
        """Check a load of ``count`` elements of ``size`` bytes; return where it gives what nobody wrote."""
        coming = gather(self._view(unit), unit, where.positions, size, count) if self.pending else None
        if coming is not None and self._waits:
            self._check_pending(instruction, coming, where, addresses, size * count, active, False)
        if self.unwritten is None:
            return None
        used = _mask(where, active)
        undefined = self.unwritten.read(where.positions, addresses, size, count, unit, used, instruction)
        if undefined is None or coming is None:
            return undefined
        rest = undefined._replace(bits=undefined.bits & ~coming)  # what is on its way is another finding
        return rest if rest.bits.any() else None

    def stored(
        self, instruction: Instruction, where: Located, addresses: Array, written: NDArray[np.int64], size: int,
        count: int, unit: int, active: Active, undefined: Undefined | None,
    ) -> None:  # fmt: skip
        """Note a store at the positions ``written``; ``undefined`` is (count, *positions) or None."""
        if self.held:
            self._check_held(instruction, where, addresses, size * count, active)
        if self.pending and self._waits:
            coming = gather(self._view(unit), unit, where.positions, size, count)
            self._check_pending(instruction, coming, where, addresses, size * count, active, True)
        self.write(written, size, count, unit, undefined)

    def write(
        self, positions: NDArray[np.int64], size: int, count: int, unit: int, undefined: Undefined | None = None
    ) -> None:
        """Say that the bytes at some positions are there, and which of their bits are made of what nobody wrote."""
        if self.unwritten is not None:
            self.unwritten.write(positions, size, count, unit, undefined)
        if self.pending:
            self._set_coming(positions, size * count, unit, False)

    def _set_coming(self, positions: NDArray[np.int64], size: int, unit: int, coming: bool) -> None:
        unit = min(unit, 8)
        view, index = self._view(unit), positions >> unit.bit_length() - 1
        mark = view.dtype.type(0) if not coming else ~view.dtype.type(0)
        for k in range(size // unit):
            view[index + k if k else index] = mark

    def begin(self, reached: Reached, written: NDArray[np.int64], active: Active) -> None:
        """Say that a copy to the bytes at ``written`` is on its way, whatever they hold until then."""
        if not self.is_kept:
            return
        touch, where = reached.touch, reached.where
        if self.held:
            self._check_held(touch.instruction, where, touch.addresses, touch.size, active)
        if self.pending and self._waits:
            coming = gather(self._view(touch.unit), touch.unit, where.positions, reached.size, reached.length)
            self._check_pending(touch.instruction, coming, where, touch.addresses, touch.size, active, True)
        self._set_coming(written, touch.size, touch.unit, True)

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
                    ("a wgmma.mma_async may still read: no wgmma.wait_group has waited for it",), "product",
                ),
            )  # fmt: skip

    def _check_pending(
        self, instruction: Instruction, coming: Array, where: Located, addresses: Array, size: int, active: Active,
        write: bool,
    ) -> None:  # fmt: skip
        if not coming.any():
            return
        bad = (coming != 0).any(axis=0)
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
