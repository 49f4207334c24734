# SPDX-License-Identifier: MIT
"""Shadow of shared or local memory: which bits are uninitialised, and which bytes a pending copy will write."""

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
"""Bytes that an asynchronous product or a bulk copy reads at once."""

_PRODUCT: Message = ("a wgmma.mma_async may still read: no wgmma.wait_group has waited for it",)


class Shadow:
    """The uninitialised bits of an address space, and the bytes that asynchronous operations will access.

    ``pending`` counts the asynchronous copies in flight, and ``held`` the pieces of 16 bytes that asynchronous products
    may still read, each as often as it is read. The shadow is only kept if one of ``checks`` needs it. ``is_written``
    is whether all bytes count as initialised in the beginning.
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
        self.describe_copy: Callable[[int], tuple[Message, str]] = lambda position: (("an asynchronous copy",), "copy")
        self.describe_reader: Callable[[int], tuple[Message, str]] = lambda piece: (_PRODUCT, "product")
        self._in_flight = np.zeros(0, np.uint8)
        self._views: dict[int, NDArray[Any]] = {}
        self._readers = np.zeros(0, np.uint32)

    def _view(self, unit: int) -> NDArray[Any]:
        """Return a byte for each byte of the space, 0xFF if a copy to it is in flight: as elements of some bytes."""
        if not len(self._in_flight):
            self._in_flight = zeroed(len(self.window.flat))
        if unit not in self._views:
            self._views[unit] = view_of(self._in_flight, unit)
        return self._views[unit]

    def _in_flight_of(self, resolved: ResolvedAccess) -> Array:
        """Return which bytes of an access a copy in flight will write."""
        return gather(
            self._view(resolved.unit), resolved.unit, resolved.where.positions, resolved.size, resolved.length
        )

    def loaded(self, resolved: ResolvedAccess, active: Active) -> Undefined | None:
        """Check a load; return its uninitialised bits."""
        in_flight = self._in_flight_of(resolved) if self.pending else None
        if in_flight is not None and self._waits:
            self._check_pending(resolved, in_flight, active, False)
        if self.uninitialised is None:
            return None
        undefined = self.uninitialised.read(resolved, _mask(resolved.where, active))
        if undefined is None or in_flight is None:
            return undefined
        rest = undefined._replace(bits=undefined.bits & ~in_flight)  # bytes in flight are another finding
        return rest if rest.bits.any() else None

    def stored(
        self, resolved: ResolvedAccess, written: NDArray[np.int64], active: Active, undefined: Undefined | None
    ) -> None:  # fmt: skip
        """Check and record a store at the positions ``written``; ``undefined`` is (count, *positions) or None."""
        self._check_write(resolved, active)
        self.write(written, resolved.size, resolved.length, resolved.unit, undefined)

    def _check_write(self, resolved: ResolvedAccess, active: Active) -> None:
        if self.held:
            self._check_held(resolved, active)
        if self.pending and self._waits:
            self._check_pending(resolved, self._in_flight_of(resolved), active, True)

    def write(
        self, positions: NDArray[np.int64], size: int, count: int, unit: int, undefined: Undefined | None = None
    ) -> None:
        """Mark the bytes at some positions as arrived, and record which of their bits are undefined."""
        if self.uninitialised is not None:
            self.uninitialised.write(positions, size, count, unit, undefined)
        if self.pending:
            self._set_in_flight(positions, size * count, unit, False)

    def _set_in_flight(self, positions: NDArray[np.int64], size: int, unit: int, in_flight: bool) -> None:
        unit = min(unit, 8)
        view, index = self._view(unit), positions >> unit.bit_length() - 1
        mark = view.dtype.type(0) if not in_flight else ~view.dtype.type(0)
        for k in range(size // unit):
            view[index + k if k else index] = mark

    def begin(self, resolved: ResolvedAccess, written: NDArray[np.int64], active: Active) -> None:
        """Mark the bytes at ``written`` as the target of a copy in flight."""
        if self.is_kept:
            if not self.pending or not self.reporter.is_sighted("copy by several lanes", resolved.access.instruction):
                self._check_write(resolved, active)
            self._set_in_flight(written, resolved.access.size, resolved.unit, True)

    def hold(self, pieces: NDArray[np.int64]) -> None:
        """Mark pieces of 16 bytes, counted from the start of all blocks, as read by asynchronous products."""
        if not self._waits:
            return
        if not len(self._readers):
            self._readers = np.zeros(-(-len(self.window.flat) // _PIECE), np.uint32)
        np.add.at(self._readers, pieces, np.uint32(1))
        self.held += len(pieces)

    def release(self, pieces: NDArray[np.int64]) -> None:
        """Mark pieces as no longer read, when the products that read them have been waited for."""
        if not self._waits:
            return
        np.subtract.at(self._readers, pieces, np.uint32(1))
        self.held -= len(pieces)

    def _check_held(self, resolved: ResolvedAccess, active: Active) -> None:
        access, positions = resolved.access, resolved.where.positions
        bad = self._readers.take(positions >> 4) != 0
        if access.size > _PIECE:
            bad |= self._readers.take(positions + (access.size - 1) >> 4) != 0
        mask = _mask(resolved.where, active)
        bad = bad if mask is None else bad & mask
        if bad.any() and not self.reporter.is_race(
            access.instruction
        ):  # without a barrier it is a race, which is reported instead
            shape = np.broadcast_shapes(bad.shape, positions.shape)
            first = int(np.broadcast_to(positions, shape)[np.broadcast_to(bad, shape)][0])
            self.reporter.note(
                "missing wait", access.instruction, bad, active, access.addresses,
                lambda address: self.reporter.access_in_flight(
                    self.window.name, address, access.size, True, *self.describe_reader(first // _PIECE)
                ),
            )  # fmt: skip

    def _check_pending(self, resolved: ResolvedAccess, in_flight: Array, active: Active, write: bool) -> None:
        if not in_flight.any():
            return
        access, positions = resolved.access, resolved.where.positions
        bad = (in_flight != 0).any(axis=0)
        mask = _mask(resolved.where, active)
        bad = bad if mask is None else bad & mask
        if bad.any():
            shape = np.broadcast_shapes(bad.shape, positions.shape)
            full = np.broadcast_to(positions, shape)[np.broadcast_to(bad, shape)]
            self.reporter.note(
                "missing wait", access.instruction, bad, active, access.addresses,
                lambda address: self.reporter.access_in_flight(
                    self.window.name, address, access.size, write, *self.describe_copy(int(full[0]))
                ),
            )  # fmt: skip


def _mask(where: ResolvedAddresses, active: Active) -> NDArray[np.bool_] | None:
    return narrowest(fit(active, where.positions.shape), where.used)
