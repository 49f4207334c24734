# SPDX-License-Identifier: MIT
"""Atomic operations on shared memory that ptxas makes of other instructions: loops, and increments by 1.

No chip adds floating-point numbers, or 64-bit integers, in shared memory. ptxas makes a loop: LDS loads the old value,
ATOMS.CAST.SPIN stores the new one if no other thread has changed it. It is never repeated within the instruction, so
that lanes whose words are in one bank take turns of the loop. Numbers of 16 bits are exchanged within their word, by
ATOMS.CAS, which returns the word that the next turn needs (ptxas 13.0, sm_75 to sm_90; measured on an H200).

All turns are counted as if no other warp interfered, and every operation changed its word: one that does not never
makes another lane wait, and ``min`` and ``max`` skip it.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.layouts.banks import BANK_BYTES, BANKS
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.profile.wavefronts import Lanes, Rows, atomic_wavefronts, shared_wavefronts
from wmma_emu.ptx.program.flow import reads, registers_in
from wmma_emu.ptx.program.program import Immediate, PtxInstruction

_OF_LOOPS = {"add": ("f32", "f64", "u64", "f16x2", "bf16x2"), "min": ("u64", "s64"), "max": ("u64", "s64"),
             "and": ("b64",), "or": ("b64",), "xor": ("b64",)}  # fmt: skip
"""The types with which an operation on shared memory becomes such a loop."""

_HALVES = "f16", "bf16"
"""The types of sums in a part of a word."""

_WAVEFRONTS_OF_SWAP = 2
"""The wavefronts of ATOMS.CAST.SPIN in each group of lanes."""


def is_loop(instruction: PtxInstruction) -> bool:
    """Return whether ptxas makes a loop of an atomic operation, if its address is in shared memory."""
    return any(x in instruction.modifiers and instruction.modifiers[-1] in _OF_LOOPS[x] for x in _OF_LOOPS)


def is_loop_of_halves(instruction: PtxInstruction) -> bool:
    """Return whether ptxas makes a loop of ATOMS.CAS of an atomic operation, if its address is in shared memory."""
    return "add" in instruction.modifiers and instruction.modifiers[-1] in _HALVES


def adds_one(instruction: PtxInstruction) -> bool:
    """Return whether ptxas makes ATOMS.POPC.INC of an operation whose result is unused: it adds the constant 1."""
    is_sum = "add" in instruction.modifiers and instruction.modifiers[-1] == "u32"
    one = instruction.operands[-1]
    return is_sum and isinstance(one, Immediate) and one.value == 1


def unused_results(instructions: Iterable[PtxInstruction]) -> frozenset[int]:
    """Return the atomic operations, by their index, whose results no instruction reads."""
    code = tuple(instructions)
    used = {register for x in code for register in reads(x)}
    return frozenset(
        i for i, x in enumerate(code)
        if x.mnemonic == "red" or (x.mnemonic == "atom" and not used & {*registers_in(x.operands[0])})
    )  # fmt: skip


def loop_costs(addresses: Rows, size: int, active: Lanes) -> tuple[NDArray[np.int64], ...]:
    """Count the requests, wavefronts and bank conflicts of loops: of the loads and of the compare-and-swaps.

    In each turn, the first lane of every bank stores, 16 lanes of 8 bytes at a time, unless lanes before it have
    stored to its address.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [[x.item() for x in loop_costs(lane * pitch, 4, everyone)] for pitch in (0, 4, 8)]
    [[64, 96, 0], [2, 3, 0], [4, 7, 1]]
    """
    found = np.zeros((3, len(addresses)), np.int64)
    left = active.copy()
    while left.any():
        loads = shared_wavefronts(addresses, size, left)
        begins = left.any(axis=1)
        swaps, stored = _swap(addresses, size, left)
        found += [2 * begins, loads.needed + _WAVEFRONTS_OF_SWAP * swaps, loads.needed - loads.without_conflicts]
        left &= ~stored
    return tuple(found)


def loop_of_halves_costs(addresses: Rows, size: int, active: Lanes) -> tuple[NDArray[np.int64], ...]:
    """Count the same of loops of 16 bits: in each turn, the first lane of every word stores.

    Examples
    --------
    >>> lane, everyone = np.arange(32)[None], np.ones((1, 32), bool)
    >>> [[x.item() for x in loop_of_halves_costs(lane * pitch, 2, everyone)] for pitch in (2, 4, 8)]
    [[3, 7, 1], [2, 3, 0], [2, 6, 2]]
    """
    load = shared_wavefronts(addresses, size, active)
    found = np.array([load.needed > 0, load.needed, load.needed - load.without_conflicts], np.int64)
    words, left = addresses // BANK_BYTES * BANK_BYTES, active.copy()
    while left.any():
        swaps = atomic_wavefronts(words, BANK_BYTES, left)
        found += [left.any(axis=1), _WAVEFRONTS_OF_SWAP * swaps.needed, swaps.needed - swaps.without_conflicts]
        for row, (starts, mine) in enumerate(zip(words.tolist(), left.copy(), strict=True)):
            first = {starts[lane]: lane for lane in reversed(np.flatnonzero(mine).tolist())}
            left[row, list(first.values())] = False
    return tuple(found)


def _swap(addresses: Rows, size: int, left: Lanes) -> tuple[NDArray[np.int64], Lanes]:
    """Return the groups of lanes that take part in a turn, and the lanes that store."""
    stored = np.zeros_like(left)
    groups = np.zeros(len(left), np.int64)
    width = LANES * BANK_BYTES // size
    for row, (starts, mine) in enumerate(zip(addresses.tolist(), left, strict=True)):
        written: set[int] = set()
        for first in range(0, LANES, width):
            lanes = first + np.flatnonzero(mine[first : first + width])
            groups[row] += bool(len(lanes))
            banks: dict[int, int] = {}
            for lane in lanes.tolist():
                banks.setdefault(starts[lane] // size % (BANKS * BANK_BYTES // size), lane)
            winners = [lane for lane in banks.values() if starts[lane] not in written]
            written.update(starts[lane] for lane in winners)
            stored[row, winners] = True
    return groups, stored
