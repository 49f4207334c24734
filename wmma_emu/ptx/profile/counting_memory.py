# SPDX-License-Identifier: MIT
"""Memory that counts accesses: requests, sectors, wavefronts, collisions."""

from functools import partial
from typing import Any

import numpy as np

from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.memory.async_copies import AsyncCopies
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.memory.wave_memory import WaveMemory
from wmma_emu.ptx.profile.counting import ACCESS_RULES, Counting
from wmma_emu.ptx.profile.patterns import copy_patterns, patterns_of
from wmma_emu.ptx.profile.program_facts import ATOMICS
from wmma_emu.ptx.profile.tile_accesses import tile_accesses
from wmma_emu.ptx.profile.wavefronts import Lanes, Rows
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.threads import Active, Array

_OF_SHARED = {
    "ld": "load", "ldu": "load", "ldmatrix": "store", "wmma": "load", "st": "store", "stmatrix": "store",
    **dict.fromkeys(ATOMICS, "atomic"),
}  # fmt: skip
"""The rule by which accesses to shared memory are counted, by mnemonic. Textures and mbarriers have other units."""

_LINE, _OPERANDS_OF_COPY = 128, 3


class CountingMemory(WaveMemory):
    """The memory of one wave; its accesses are counted."""

    def __init__(self, counting: Counting, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.counting = counting
        self.copies = _CountingCopies(self)

    def resolve(
        self, instruction: PtxInstruction, space: str, addresses: Array, size: int, count: int, alignment: int,
        active: Active, *, write: bool, ordering: str,
    ) -> ResolvedAccess:  # fmt: skip
        """Resolve the bytes of an access, and count it."""
        resolved = super().resolve(
            instruction, space, addresses, size, count, alignment, active, write=write, ordering=ordering
        )
        mnemonic = instruction.mnemonic
        if mnemonic in _OF_SHARED:
            self._count(instruction, space, addresses, size * count, resolved.mask)
        elif mnemonic == "cp" and "bulk" in instruction.modifiers and space == "global":
            full = np.broadcast_shapes(addresses.shape, self.threads.shape)
            lanes = int(np.prod(full)) if resolved.mask is None else int(np.broadcast_to(resolved.mask, full).sum())
            self.counting.simply(instruction, bulk_bytes=lanes * size * count)
        return resolved

    def _count(self, instruction: PtxInstruction, space: str, addresses: Array, size: int, mask: Active) -> None:
        rule = self._rule(instruction, space)
        unit = ACCESS_RULES[rule].unit if rule in ACCESS_RULES else 1

        def count() -> None:
            if "const" in instruction.modifiers:
                found = patterns_of(addresses, mask, self.threads.shape, 4)
                self.counting.simply(instruction, constant_requests=int(found.counts.sum()))
            elif instruction.mnemonic == "wmma":
                self._count_tiles(instruction, space, addresses, mask)
            elif rule in ACCESS_RULES:  # no parameters
                found = patterns_of(addresses, mask, self.threads.shape, unit)
                self.counting.accessed(instruction, rule, size, found, partial(self._rows, addresses, mask))
                if instruction.mnemonic in ATOMICS:
                    self.counting.collided(instruction, found)

        self.counting.once(instruction, (addresses,), (mask,), self.threads.shape, unit, count)

    def _rule(self, instruction: PtxInstruction, space: str) -> str:
        """Return the rule by which an access is counted; not in the table for spaces that have none."""
        if instruction.mnemonic in ATOMICS and space != "local":
            return self.counting.atomic_rule(instruction) if space == "shared" else "global atomic"
        return f"shared {_OF_SHARED[instruction.mnemonic]}" if space == "shared" else space

    def _count_tiles(self, instruction: PtxInstruction, space: str, addresses: Array, mask: Active) -> None:
        """Count the accesses of a wmma.load or wmma.store."""
        for one, size, taken, is_matrix in tile_accesses(instruction, self.chip, space, addresses, mask):
            joins = instruction.modifiers[0] == "load" and not is_matrix
            rule = space if space != "shared" else "shared load" if joins else "shared store"
            found = patterns_of(one, taken, self.threads.shape, ACCESS_RULES[rule].unit)
            self.counting.accessed(instruction, rule, size, found, partial(self._rows, one, taken))

    def _rows(self, addresses: Array, mask: Active) -> tuple[Rows, Lanes]:
        """Return the accesses of all warps that take part: addresses and lanes, (accesses, 32)."""
        full = np.broadcast_shapes(addresses.shape, self.threads.shape, () if mask is None else mask.shape)
        active = np.broadcast_to(True if mask is None else mask, full).reshape(-1, LANES)
        rows = np.broadcast_to(addresses, full).reshape(-1, LANES).astype(np.int64)
        taken = active.any(axis=1)
        return rows[taken], active[taken]


def _may_fill(copy: PtxInstruction) -> bool:
    """Return whether a cp.async has an operand that lets it read less than it writes."""
    own = copy.operands[: len(copy.operands) - ("L2::cache_hint" in copy.modifiers)]
    return len(own) > _OPERANDS_OF_COPY and own[_OPERANDS_OF_COPY] != own[_OPERANDS_OF_COPY - 1]


class _CountingCopies(AsyncCopies):
    """The asynchronous copies of a wave; each is counted once, whatever it reads."""

    memory: CountingMemory

    def issue(
        self, instruction: PtxInstruction, target: Array, source: Array, size: int, read: Array, active: Active
    ) -> None:
        memory = self.memory
        active_now = memory.threads.exists if active is None else active
        reads = None if (read != 0).all() else read != 0

        def count() -> None:
            found = copy_patterns(source, target, active_now, reads, memory.threads.shape, _LINE)
            memory.counting.copied(
                instruction, size, found, bypasses="cg" in instruction.modifiers, may_fill=_may_fill(instruction)
            )

        masks = active_now, reads
        memory.counting.once(instruction, (source, target), masks, memory.threads.shape, _LINE, count)
        super().issue(instruction, target, source, size, read, active)
