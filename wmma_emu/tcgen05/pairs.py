# SPDX-License-Identifier: MIT
"""Whose memory does an instruction of one CTA, or of a pair of CTAs, touch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import FragmentMismatchError, shorten
from wmma_emu.layouts.shared_memory_places import as_shared_memory
from wmma_emu.tcgen05.moves import Move
from wmma_emu.tcgen05.tensor_memory import TensorMemory

__all__ = ["Memories", "shared_memories", "tensor_memories"]

Memories = TensorMemory | tuple[TensorMemory, TensorMemory]
"""The tensor memory of one CTA, or of a pair."""


def tensor_memories(given: object, move: Move) -> tuple[TensorMemory, ...]:
    """Return one tensor memory for each CTA of an instruction.

    Raises
    ------
    FragmentMismatchError
        For another number of them, or for anything else.
    """
    several = _as_many(given, move, TensorMemory, "TensorMemory")
    for memory in several:
        if not isinstance(memory, TensorMemory):
            raise FragmentMismatchError(f"{move.mnemonic} takes a TensorMemory of each CTA, not {shorten(memory)}")
    if len({id(memory) for memory in several}) < len(several):
        raise FragmentMismatchError(f"{move.mnemonic} takes the tensor memories of two CTAs, not one twice")
    return several


def shared_memories(given: object, move: Move) -> tuple[NDArray[np.uint8], ...]:
    """Return the bytes of one shared memory, 1-D, for each CTA of an instruction.

    Raises
    ------
    FragmentMismatchError
        As `tensor_memories`.
    """
    found = tuple(as_shared_memory(memory) for memory in _as_many(given, move, np.ndarray, "uint8 array"))
    for memory in found:
        if memory.ndim != 1:
            raise FragmentMismatchError(f"shared memory is a 1-D array of bytes here, not one of shape {memory.shape}")
    return found


def _as_many(given: object, move: Move, one: type, what: str) -> tuple[Any, ...]:
    """What each CTA has: a tuple of as many as the instruction's cta_group says."""
    several = tuple(given) if isinstance(given, tuple | list) else (given,)
    if len(several) != move.cta_group:
        each = f"one {what}" if move.cta_group == 1 else f"two, (of the CTA, of its peer), each a {what}"
        raise FragmentMismatchError(f"{move.mnemonic} takes {each}; given are {len(several)}")
    return several
