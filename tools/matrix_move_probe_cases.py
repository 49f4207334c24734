# SPDX-License-Identifier: MIT
"""What to ask a GPU about ldmatrix, stmatrix and movmatrix: every legal form, its PTX, memory, addresses, registers.

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

__all__ = ["SHARED_BYTES", "VERSION", "MatrixMoveCase", "kernel_text", "matrix_move_cases"]

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


def kernel_text(case: MatrixMoveCase, chip: str = "sm_90", version: str = "9.0") -> str:
    """Write a kernel ``probe(shared, addresses, registers)`` of one warp; all three are read, and then written."""
    count = case.move.num_registers
    result = "t" if case.move.family == "movmatrix" else "r"
    load = "\n    ".join(f"ld.global.u32 %r{i}, [%registers + {128 * i}];" for i in range(count))
    store = "\n    ".join(f"st.global.u32 [%registers + {128 * i}], %{result}{i};" for i in range(count))
    words = SHARED_BYTES // 128
    copy_in = "\n    ".join(
        f"ld.global.u32 %word, [%global + {128 * i}]; st.shared.u32 [%own + {128 * i}], %word;" for i in range(words)
    )
    copy_out = "\n    ".join(
        f"ld.shared.u32 %word, [%own + {128 * i}]; st.global.u32 [%global + {128 * i}], %word;" for i in range(words)
    )
    return f""".version {version}
.target {chip}
.address_size 64
.visible .entry probe(.param .u64 p_shared, .param .u64 p_addresses, .param .u64 p_registers)
{{
    .shared .align 128 .b8 memory[{SHARED_BYTES}];
    .reg .b32 %lane, %own, %base, %address, %word, %r<{count + 1}>, %t<2>; .reg .b64 %global, %registers, %list;
    mov.u32 %lane, %tid.x; mov.u32 %base, memory; mad.lo.u32 %own, %lane, 4, %base;
    ld.param.u64 %global, [p_shared]; mad.wide.u32 %global, %lane, 4, %global;
    ld.param.u64 %registers, [p_registers]; mad.wide.u32 %registers, %lane, 4, %registers;
    ld.param.u64 %list, [p_addresses]; mad.wide.u32 %list, %lane, 4, %list;
    ld.global.u32 %address, [%list]; add.u32 %address, %address, %base;
    {load}
    {copy_in}
    bar.sync 0;
    {case.line}
    bar.sync 0;
    {store}
    {copy_out}
    ret;
}}
"""
