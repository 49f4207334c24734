# SPDX-License-Identifier: MIT
"""Bits of registers that no matrix says anything about: what an instruction leaves unread, and Volta's copies."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.codec import Bits
from wmma_emu.generators.words import random_words
from wmma_emu.warp.registers import BoundOperand


def has_unread(operand: BoundOperand) -> bool:
    """Whether registers have bits that the instruction does not read."""
    return operand.num_registers > 0 and bool((~_read_bits(operand)).any())


def has_copies(operand: BoundOperand) -> bool:
    """Whether the instruction reads copies of an element: `wmma.mma` of f16 on Volta."""
    return operand.num_registers > 0 and operand.layout.reads_copies


def with_other_words(operand: BoundOperand, words: Bits, seed: int) -> Bits:
    """Put random bits where the instruction reads none."""
    return _mixed(words, _read_bits(operand), f"wmma_emu registers|{seed}|{operand.operand}")


def with_other_copies(operand: BoundOperand, words: Bits, seed: int) -> Bits:
    """Put random bits in the place of copies that are read, and leave the first one of each element."""
    kept = _packed(operand, _first_copies(operand)) | ~_read_bits(operand)
    return _mixed(words, kept, f"wmma_emu registers|{seed}|{operand.operand}|copies")


def _mixed(words: Bits, kept: Bits, key: str) -> Bits:
    random = random_words(key, words.size) >> np.uint64(64 - 8 * words.itemsize)
    result: Bits = (words & kept) | (random.astype(words.dtype).reshape(words.shape) & ~kept)
    return result


@cache
def _read_bits(operand: BoundOperand) -> Bits:
    """Which bits of registers the instruction reads."""
    read = np.zeros((operand.num_elements, *operand.layout.lane_shape), np.bool_)
    read[: operand.layout.read_elements] = True
    return _packed(operand, read)


def _first_copies(operand: BoundOperand) -> NDArray[np.bool_]:
    shape = (operand.num_elements, *operand.layout.lane_shape)
    # What a scatter takes are the places that stand for the matrix.
    taken = operand.layout.scatter(np.arange(np.prod(shape)).reshape(shape))
    first = np.zeros(shape, np.bool_)
    first.reshape(-1)[taken.reshape(-1)] = True
    return first


def _packed(operand: BoundOperand, places: NDArray[Any]) -> Bits:
    """Set all bits of some elements."""
    fmt = operand.format
    return operand.pack_elements(np.where(places, fmt.storage.type(fmt.mask), fmt.storage.type(0)))
