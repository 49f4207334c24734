# SPDX-License-Identifier: MIT
"""Memory that counts accesses: requests, sectors, wavefronts, collisions."""

from typing import Any

import numpy as np

from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.profile.counting import UNITS, Counting
from wmma_emu.ptx.profile.patterns import patterns_of
from wmma_emu.ptx.profile.tile_accesses import tile_accesses
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_COUNTED = ("ld", "ldu", "st", "ldmatrix", "stmatrix", "wmma", "cp", "atom", "red")
"""The instructions whose accesses are counted: textures and mbarriers have other units."""

_ATOMIC = ("atom", "red")


class CountingMemory(WaveMemory):
    """The memory of one wave; its accesses are counted."""

    def __init__(self, counting: Counting, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._counting = counting

    def resolve(
        self, instruction: PtxInstruction, space: str, addresses: Array, size: int, count: int, alignment: int,
        active: Active, *, write: bool, ordering: str,
    ) -> ResolvedAccess:  # fmt: skip
        """Resolve the bytes of an access, and count it."""
        resolved = super().resolve(
            instruction, space, addresses, size, count, alignment, active, write=write, ordering=ordering
        )
        if instruction.mnemonic in _COUNTED and space in UNITS:
            self._count(instruction, space, addresses, size * count, resolved.mask)
        return resolved

    def _count(self, instruction: PtxInstruction, space: str, addresses: Array, size: int, mask: Active) -> None:
        counting, shape = self._counting, self.threads.shape
        if instruction.mnemonic == "cp" and "bulk" in instruction.modifiers:
            if space == "global":
                full = np.broadcast_shapes(addresses.shape, shape)
                lanes = int(np.prod(full)) if mask is None else int(np.broadcast_to(mask, full).sum())
                counting.simply(instruction, bulk_bytes=lanes * size)
            return
        if "const" in instruction.modifiers:
            found = patterns_of(addresses, mask, shape, 4)
            counting.simply(instruction, constant_requests=int(found.counts.sum()))
            return
        if instruction.mnemonic == "wmma":
            for one, bytes_each, taken in tile_accesses(instruction, self.chip, space, addresses, mask):
                counting.accessed(instruction, space, bytes_each, patterns_of(one, taken, shape, UNITS[space]))
            return
        found = patterns_of(addresses, mask, shape, UNITS[space])
        counting.accessed(instruction, space, size, found)
        if instruction.mnemonic in _ATOMIC:
            counting.collided(instruction, found)
