# SPDX-License-Identifier: MIT
"""The tensor and shared memories that an instruction of one CTA, or of a pair of CTAs, accesses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError, shorten
from wmma_emu.layouts.shared_memory_addresses import as_shared_memory
from wmma_emu.tcgen05.tensor_memory import TensorMemory

Memories = TensorMemory | tuple[TensorMemory, TensorMemory]
"""The tensor memory of one CTA, or of a pair."""


def tensor_memories(given: object, cta_group: int, what: str) -> tuple[TensorMemory, ...]:
    """Return one tensor memory for each CTA of an instruction.

    ``what`` is the instruction, used in messages.

    Examples
    --------
    >>> len(tensor_memories((TensorMemory(), TensorMemory()), 2, "tcgen05.shift"))
    2
    """
    several = _as_many(given)
    if len(several) != cta_group or not all(isinstance(memory, TensorMemory) for memory in several):
        wanted = "a TensorMemory" if cta_group == 1 else "a pair of TensorMemory, that of the even CTA first"
        raise ArgumentError(f"{what} works on {wanted}, not {shorten(given)}")
    if len({id(memory) for memory in several}) < len(several):
        raise ArgumentValueError(f"{what} works on the tensor memories of two CTAs; both are the same one")
    return several


def shared_memories(given: object, cta_group: int, what: str) -> tuple[NDArray[np.uint8], ...]:
    """Return the bytes of one shared memory, 1-D, for each CTA of an instruction.

    The same memory twice is legal: both CTAs may hold the same bytes.
    """
    several = _as_many(given)
    if len(several) != cta_group:
        wanted = "one shared memory" if cta_group == 1 else "two shared memories, that of the even CTA first"
        raise ArgumentError(f"{what} reads {wanted}; given are {len(several)}")
    found = tuple(as_shared_memory(memory) for memory in several)
    for memory in found:
        if memory.ndim != 1:
            raise ShapeError(f"shared memory must be a 1-D array of bytes, not one of shape {memory.shape}")
    return found


def _as_many(given: object) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, tuple | list) else (given,)
