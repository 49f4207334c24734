# SPDX-License-Identifier: MIT
"""Products in flight: the accumulators and the shared memory of wgmma, until a wait completes it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.spec import WARPS
from wmma_emu.ptx.findings import Diagnosis
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active, Array

_MOST = (1 << 31) - 1
"""The most groups that may stay in flight: more than a warp ever commits."""


@dataclass(slots=True)
class _Pending:
    """A register that a product writes, and the group of each warp, -1 without a product in flight."""

    register: Register
    group: NDArray[np.int64]


@dataclass(slots=True)
class _LateProduct:
    """A product that has not been computed, with the group of each warp, -1 for warps that do not wait for it."""

    compute: Callable[[NDArray[np.bool_]], None]
    group: NDArray[np.int64]


class _PendingRead(NamedTuple):
    """Pieces of shared memory that products in flight may still read, with the warp and group of each piece."""

    pieces: NDArray[np.int64]
    warps: NDArray[np.int64]
    groups: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> "_PendingRead":
        return _PendingRead(self.pieces[chosen], self.warps[chosen], self.groups[chosen])


class PendingProducts:
    """Accumulators of wgmma that have not been waited for.

    A product belongs to the group that its warp commits next. ``wait_group N`` completes all but the last N committed
    groups. Until then, only another wgmma may use the accumulators. Registers with a pending product are in the state's
    ``watched``. A late product reads shared memory and registers, and writes its accumulators, when it is waited for,
    or when a product of its warps that is not late follows: products of a warpgroup are computed in their order.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._committed = np.zeros(state.shape[:2], np.int64)
        self._pending: dict[int, _Pending] = {}
        self._reads: list[_PendingRead] = []
        self._late: list[_LateProduct] = []

    def check(self, instruction: PtxInstruction, registers: tuple[int, ...], active: Active) -> None:
        """Report threads that use registers with a pending product, other than by wgmma."""
        for index in registers:
            found = self._pending.get(index)
            if found is None:
                continue
            where = np.broadcast_to((found.group >= 0)[..., None], self._state.shape)
            where = where & (self._state.live if active is None else active)
            if where.any():
                text = f"{found.register.name} is used before wgmma.wait_group has waited for the wgmma that writes it"
                note(self._state, instruction, "missing wait", where, Diagnosis((text,), "product"))
                return

    def add(self, registers: Iterable[Register | None], warps: NDArray[np.bool_] | None) -> None:
        """Note the accumulators of a product of some warps, (blocks, warps), or all."""
        for register in registers:
            if register is None:
                continue
            found = self._pending.get(register.index)
            if warps is None:
                self._pending[register.index] = _Pending(register, self._committed.copy())
            elif found is None:
                self._pending[register.index] = _Pending(register, np.where(warps, self._committed, -1))
            else:
                found.group = np.where(warps, self._committed, found.group)
            self._state.watched.add(register.index)

    def watch(self) -> None:
        """Examine the uses of all accumulators with a pending product, after some of them were written."""
        self._state.watched.update(self._pending)

    def postpone(self, compute: Callable[[NDArray[np.bool_]], None], warps: NDArray[np.bool_] | None) -> None:
        """Compute a product as late as the program allows: ``compute`` does it for some warps."""
        group = self._committed.copy() if warps is None else np.where(warps, self._committed, -1)
        self._late.append(_LateProduct(compute, group))

    def compute_late(self, below: NDArray[np.int64] | int, warps: NDArray[np.bool_] | None) -> None:
        """Compute the late products of the groups below a number, for some warps, in the order of issue."""
        for one in self._late:
            done = (one.group >= 0) & (one.group < below)
            if warps is not None:
                done &= warps
            if done.any():
                one.group[done] = -1
                one.compute(done)
        self._late = [x for x in self._late if (x.group >= 0).any()]

    def reads(self, instruction: PtxInstruction, addresses: Array, active: Active) -> None:
        """Record that a product reads 16 bytes of shared memory at each active thread's address until it completes."""
        pieces, warps = self._state.memory.hold(addresses, active)
        groups = self._committed.reshape(-1)[warps]
        self._reads.append(_PendingRead(pieces, warps, groups))
        if self._state.memory.proxies is not None:
            self._state.memory.proxies.products.read(pieces, warps, groups, instruction)

    def commit(self, warps: NDArray[np.bool_] | None) -> None:
        """Close the group of each warp."""
        self._committed += 1 if warps is None else warps

    def wait(self, left: int, warps: NDArray[np.bool_] | None) -> None:
        """Complete all but the last ``left`` groups of each warp."""
        left = min(left, _MOST)
        self._release(left, warps)
        if self._late:
            self.compute_late(self._committed - left, warps)
        for index, found in list(self._pending.items()):
            done = (found.group >= 0) & (found.group < self._committed - left)
            if warps is not None:
                done &= warps
            if not done.any():
                continue
            found.group = np.where(done, -1, found.group)
            if not (found.group >= 0).any():
                del self._pending[index]
                self._state.arrived(index)

    def _release(self, left: int, warps: NDArray[np.bool_] | None) -> None:
        """Release the shared memory that completed products have read.

        A product is one operation of four warps: it is complete for all of them when one has waited for it.
        """
        if self._state.memory.proxies is not None:
            self._state.memory.proxies.products.wait(self._committed - left, warps)
        limits = (self._committed - left) if warps is None else np.where(warps, self._committed - left, -1)
        blocks, count = limits.shape
        padded = np.full((blocks, -(-count // WARPS), WARPS), -1, np.int64)
        padded.reshape(blocks, -1)[:, :count] = limits
        of_warps = np.repeat(padded.max(axis=2), WARPS, axis=1)[:, :count].reshape(-1)
        kept = []
        for read in self._reads:
            done = read.groups < of_warps[read.warps]
            self._state.memory.release(read.pieces[done])
            if not done.all():
                kept.append(read.where(~done))
        self._reads = kept
