# SPDX-License-Identifier: MIT
"""Whether what nobody wrote, and a store copies to global memory, may be the padding of a structure."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.paddings import ALONE, PADDING, UNIT, standing, units_of_bytes
from wmma_emu.ptx.definedness.undefined import Undefined, is_copied
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.program.structure_copies import follows_in_copy
from wmma_emu.ptx.threads import Array

_WIDEST = 128
"""Bytes to which structures are aligned at most, to keep them in lines of the cache of their own."""


class Padding:
    """Tells the padding of structures, which compilers copy as elements of its own, from data that were forgotten.

    Padding is copied and never computed with; it stands behind data of the same structure, where a member of larger
    alignment may follow; and it is not in scalars, nor in CUDA's vectors.
    """

    def __init__(self, program: KernelProgram, heap: GlobalMemory) -> None:
        self._program, self._heap = program, heap
        self._follow: dict[tuple[int, int], tuple[bool, ...]] = {}

    def among(self, reached: ResolvedAccess, undefined: Undefined, parts: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Say which elements of a store to global memory may be padding, or end in it.

        ``parts`` are the bytes of the undefined bits (elements, blocks, warps, lanes), on a last axis of their own.
        """
        written = parts == 0
        copied = np.asarray(is_copied(undefined.origin) & ~written.all(axis=-1))
        if not copied.any():
            return copied
        pointees = self._heap.pointees_at(reached.where.positions)
        copied = np.asarray(copied & (pointees != "plain"))
        if not copied.any():
            return copied
        from_source = self._in_source(reached, undefined.origin, len(parts), pointees) & ~written.any(axis=-1)
        return np.asarray(copied & (self._in_store(reached, parts) | from_source))

    def _in_store(self, reached: ResolvedAccess, parts: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Say which elements stand as padding among the others of the store."""
        count, size = len(parts), parts.shape[-1]
        shape = np.broadcast_shapes(parts.shape[1:-1], reached.where.positions.shape)
        parts = np.broadcast_to(parts, (count, *shape, size))
        at = np.broadcast_to(reached.where.positions & (UNIT - 1), shape)
        place = at[..., None] + np.arange(count * size)
        written = np.zeros((*shape, 1 + count * size // UNIT, UNIT), np.bool_)
        in_order = np.moveaxis(parts == 0, 0, -2).reshape(*shape, count * size)
        np.put_along_axis(written.reshape(*shape, -1), place, in_order, axis=-1)
        units = units_of_bytes(written)
        found = np.zeros(parts.shape[:-1], np.bool_)
        for k in range(count):
            first = at + k * size
            unit = np.take_along_axis(units, (first >> 4)[..., None], axis=-1)[..., 0]
            lost = ~in_order[..., k * size : (k + 1) * size] << np.arange(size)
            mask = np.left_shift(lost.sum(axis=-1), first & (UNIT - 1)).astype(np.uint16)
            found[k] = standing(unit, mask) == PADDING
        return found

    def _in_source(
        self, reached: ResolvedAccess, origin: Array, count: int, pointees: NDArray[np.str_]
    ) -> NDArray[np.bool_]:
        """Say which elements were loaded where padding may be: of a class, or behind what the same thread copies."""
        how = self._heap.origins.standing(origin)
        is_class = pointees == "class"
        near = self._in_copy(reached.access.instruction, count, UNIT)
        found = (how == PADDING) & (is_class | near)
        if (how == ALONE).any() and is_class.any():
            found = found | ((how == ALONE) & is_class & self._in_copy(reached.access.instruction, count, _WIDEST))
        return np.asarray(found)

    def _in_copy(self, instruction: PtxInstruction, count: int, reach: int) -> NDArray[np.bool_]:
        """Say which elements of a store follow others in the copy of a structure: (elements, 1, 1, 1)."""
        if instruction.mnemonic != "st":
            return np.zeros((count, 1, 1, 1), np.bool_)
        key = id(instruction), reach
        if key not in self._follow:
            self._follow[key] = follows_in_copy(self._program, instruction, reach)
        found = self._follow[key]
        return np.array(found if len(found) == count else (False,) * count, np.bool_).reshape(-1, 1, 1, 1)
