# SPDX-License-Identifier: MIT
"""Products that are under way: what wgmma computes is in its registers when it has been waited for, not before."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.undefined import Undefined, joined
from wmma_emu.ptx.findings import Said
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active, Array

_MOST = (1 << 31) - 1
"""Groups that may stay under way: more than a warp ever commits."""


@dataclass(slots=True)
class _Pending:
    """A register that a product will write: its value, and of each warp the group, -1 where none is under way."""

    register: Register
    value: Array
    group: NDArray[np.int64]
    undefined: Undefined | None = None


class _PendingRead(NamedTuple):
    """Pieces of shared memory that products may still read: for which warp, and in which of its groups."""

    pieces: NDArray[np.int64]
    warps: NDArray[np.int64]
    groups: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> "_PendingRead":
        return _PendingRead(self.pieces[chosen], self.warps[chosen], self.groups[chosen])


class PendingProducts:
    """Accumulators of wgmma that have not been waited for.

    A product takes part in the group that its warp commits next. ``wait_group N`` lets all but the last N committed
    groups arrive. Until then a register keeps what it had before, and only another wgmma on the same accumulators sees
    the sum. Registers that wait for something are among the state's ``watched``.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._committed = np.zeros(state.shape[:2], np.int64)
        self._pending: dict[int, _Pending] = {}
        self._reads: list[_PendingRead] = []

    def check(self, instruction: PtxInstruction, registers: tuple[int, ...], active: Active) -> None:
        """Note threads that use registers, other than by wgmma, whose product has not been waited for."""
        for index in registers:
            found = self._pending.get(index)
            if found is None:
                continue
            where = np.broadcast_to((found.group >= 0)[..., None], self._state.shape)
            where = where & (self._state.live if active is None else active)
            if where.any():
                text = f"{found.register.name} is used before wgmma.wait_group has waited for the wgmma that writes it"
                note(self._state, instruction, "missing wait", where, Said((text,), "product"))
                return

    def value(self, register: Register) -> tuple[Array, NDArray[np.bool_] | None]:
        """Return what the next wgmma adds to: the sum under way, or the register; and the warps of the former.

        The warps are (blocks, warps, 1), or None where nothing is under way.
        """
        own = self._state.read(register, register.type)
        found = self._pending.get(register.index)
        if found is None:
            return own, None
        there = (found.group >= 0)[..., None]
        return (found.value if there.all() else np.where(there, found.value, own)), there

    def undefined(self, register: Register) -> Undefined | None:
        """Tell what is undefined of that value."""
        own = self._state.undefined_in(register, self._state.read(register, register.type).dtype)
        found = self._pending.get(register.index)
        return own if found is None else joined((found.group >= 0)[..., None], found.undefined, own)

    def add(
        self, register: Register, value: Array, warps: NDArray[np.bool_] | None, undefined: Undefined | None
    ) -> None:
        """Put a product under way, for some warps, (blocks, warps), or all."""
        found = self._pending.get(register.index)
        if warps is None:
            self._pending[register.index] = _Pending(register, value, self._committed.copy(), undefined)
        elif found is None:
            group = np.where(warps, self._committed, -1)
            self._pending[register.index] = _Pending(register, value, group, undefined)
        else:
            found.undefined = joined(warps[..., None], undefined, found.undefined)
            found.value = np.where(warps[..., None], value, found.value)
            found.group = np.where(warps, self._committed, found.group)
        self._state.watched.add(register.index)

    def reads(self, addresses: Array, active: Active) -> None:
        """Say that a product reads 16 bytes of shared memory at each address of active threads, until it arrives."""
        pieces, warps = self._state.memory.hold(addresses, active)
        self._reads.append(_PendingRead(pieces, warps, self._committed.reshape(-1)[warps]))

    def commit(self, warps: NDArray[np.bool_] | None) -> None:
        """Close the group of each warp."""
        self._committed += 1 if warps is None else warps

    def wait(self, left: int, warps: NDArray[np.bool_] | None) -> None:
        """Let everything arrive but the last ``left`` groups of each warp."""
        left = min(left, _MOST)
        self._release(left, warps)
        for index, found in list(self._pending.items()):
            done = (found.group >= 0) & (found.group < self._committed - left)
            if warps is not None:
                done &= warps
            if not done.any():
                continue
            whole = bool(done.all())
            self._state.write(found.register, found.value, None if whole else done[..., None], found.undefined)
            found.group = np.where(done, -1, found.group)
            if whole or not (found.group >= 0).any():
                del self._pending[index]
            else:
                self._state.watched.add(index)

    def _release(self, left: int, warps: NDArray[np.bool_] | None) -> None:
        """Let the shared memory of what arrives be written again."""
        kept = []
        for read in self._reads:
            done = read.groups < (self._committed - left).reshape(-1)[read.warps]
            if warps is not None:
                done &= warps.reshape(-1)[read.warps]
            self._state.memory.release(read.pieces[done])
            if not done.all():
                kept.append(read.where(~done))
        self._reads = kept
