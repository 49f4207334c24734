# SPDX-License-Identifier: MIT
"""Probe cases of ldmatrix, stmatrix and movmatrix: every legal form, its PTX, memory, addresses, registers.

Few inputs suffice, because bits only move: random bytes, so that no two elements are likely alike, and rows in a random
order. All randomness is a SHAKE-128 stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recording_inputs import random_words
from wmma_emu.instructions import arch_of
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES, MatrixMove

__all__ = ["SHARED_BYTES", "VERSION", "MatrixMoveCase", "matrix_move_cases"]

VERSION = 1

SHARED_BYTES = 2048


@dataclass(frozen=True)
class MatrixMoveCase:
    """One instruction of one warp.

    Parameters
    ----------
    move : MatrixMove
        Row of the table.
    line : str
        PTX of the instruction; its registers are %r0, %r1, ..., its address %address, and %t0 the result of movmatrix.
    shared : uint8 array
        Shared memory before it, `SHARED_BYTES` long.
    addresses : uint32 array of 32
        Of each lane, from the start of shared memory; those of lanes that give no row are valid too.
    registers : uint32 array, shape (num_registers, 32)
        Of each lane before it (zeros for ldmatrix).
    """

    move: MatrixMove
    line: str
    shared: NDArray[np.uint8]
    addresses: NDArray[np.uint32]
    registers: NDArray[np.uint32]


def matrix_move_cases(chip: str = "sm_90") -> Iterator[MatrixMoveCase]:
    """Yield a case for every form that a chip has, in the order of the table."""
    name = arch_of(chip).name
    for move in MATRIX_MOVES.values():
        if name in move.archs:
            yield _case(move)


def _case(move: MatrixMove) -> MatrixMoveCase:
    words = random_words(f"wmma_emu {move.mnemonic} {VERSION}", SHARED_BYTES // 8 + 128 + 8 * 16).astype("<u8")
    shared = words[: SHARED_BYTES // 8].view(np.uint8).copy()
    order = np.argsort(words[SHARED_BYTES // 8 : SHARED_BYTES // 8 + 128], kind="stable")[:32]
    drawn: NDArray[Any] = words[-8 * 16 :].view("<u4").astype(np.uint32).reshape(8, 32)
    registers = drawn[: move.num_registers]
    if move.family == "ldmatrix":
        registers = np.zeros_like(registers)
    names = ", ".join(f"%r{i}" for i in range(move.num_registers))
    line = {
        "ldmatrix": f"{move.mnemonic} {{{names}}}, [%address];",
        "stmatrix": f"{move.mnemonic} [%address], {{{names}}};",
        "movmatrix": f"{move.mnemonic} %t0, %r0;",
    }[move.family]
    return MatrixMoveCase(move, line, shared, (order * 16).astype(np.uint32), registers)
