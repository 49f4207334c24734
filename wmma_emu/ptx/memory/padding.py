# SPDX-License-Identifier: MIT
"""Uninitialised bytes that a store copies to global memory, and that may be the padding of a structure."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.definedness.paddings import ALONE, PADDING, UNIT, padding_class_of, units_of_bytes
from wmma_emu.ptx.definedness.undefined import Undefined, is_copied
from wmma_emu.ptx.memory.heap import GlobalMemory
from wmma_emu.ptx.memory.resolved_access import ResolvedAccess
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.program.structure_copies import follows_in_copy
from wmma_emu.ptx.threads import Array

_WIDEST = 128
"""The largest alignment of structures in bytes, which are aligned to keep them in separate cache lines."""


class Padding:
    """Distinguishes the padding of structures, which compilers copy as separate elements, from missing data.

    Padding is copied and never computed with; it follows data of the same structure, before a member of larger
    alignment; and scalars and CUDA's vectors do not contain padding.
    """

    def __init__(self, program: KernelProgram, heap: GlobalMemory) -> None:
        self._program, self._heap = program, heap
        self._follow: dict[tuple[int, int], tuple[bool, ...]] = {}

    def among(self, resolved: ResolvedAccess, undefined: Undefined, parts: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which elements of a store to global memory may be padding, or end in it.

        ``parts`` are the bytes of the undefined bits (elements, blocks, warps, lanes), on an additional last axis.
        """
        written = parts == 0
        copied = np.asarray(is_copied(undefined.origin) & ~written.all(axis=-1))
        if not copied.any():
            return copied
        pointees = self._heap.pointees_at(resolved.where.positions)
        copied = np.asarray(copied & (pointees != "plain"))
        if not copied.any():
            return copied
        from_source = self._in_source(resolved, undefined.origin, len(parts), pointees) & ~written.any(axis=-1)
        return np.asarray(copied & (self._in_store(resolved, parts) | from_source))

    def _in_store(self, resolved: ResolvedAccess, parts: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which elements have the position of padding among the other elements of the store."""
        count, size = len(parts), parts.shape[-1]
        shape = np.broadcast_shapes(parts.shape[1:-1], resolved.where.positions.shape)
        parts = np.broadcast_to(parts, (count, *shape, size))
        at = np.broadcast_to(resolved.where.positions & (UNIT - 1), shape)
        byte_positions = at[..., None] + np.arange(count * size)
        written = np.zeros((*shape, 1 + count * size // UNIT, UNIT), np.bool_)
        in_order = np.moveaxis(parts == 0, 0, -2).reshape(*shape, count * size)
        np.put_along_axis(written.reshape(*shape, -1), byte_positions, in_order, axis=-1)
        units = units_of_bytes(written)
        found = np.zeros(parts.shape[:-1], np.bool_)
        for k in range(count):
            first = at + k * size
            unit = np.take_along_axis(units, (first >> 4)[..., None], axis=-1)[..., 0]
            lost = ~in_order[..., k * size : (k + 1) * size] << np.arange(size)
            mask = np.left_shift(lost.sum(axis=-1), first & (UNIT - 1)).astype(np.uint16)
            found[k] = padding_class_of(unit, mask) == PADDING
        return found

    def _in_source(
        self, resolved: ResolvedAccess, origin: Array, count: int, pointees: NDArray[np.str_]
    ) -> NDArray[np.bool_]:
        """Return which elements were loaded where padding may be.

        That is in a class, or after data that the same thread copies.
        """
        how = self._heap.origins.padding_class(origin)
        is_class = pointees == "class"
        near = self._in_copy(resolved.access.instruction, count, UNIT)
        found = (how == PADDING) & (is_class | near)
        if (how == ALONE).any() and is_class.any():
            found = found | ((how == ALONE) & is_class & self._in_copy(resolved.access.instruction, count, _WIDEST))
        return np.asarray(found)

    def _in_copy(self, instruction: PtxInstruction, count: int, reach: int) -> NDArray[np.bool_]:
        """Return which elements of a store follow others in the copy of a structure: (elements, 1, 1, 1)."""
        if instruction.mnemonic != "st":
            return np.zeros((1, 1, 1, 1), np.bool_)
        key = id(instruction), reach
        if key not in self._follow:
            self._follow[key] = follows_in_copy(self._program, instruction, reach)
        found = self._follow[key]
        return np.array(found if len(found) == count else (False,) * count, np.bool_).reshape(-1, 1, 1, 1)
