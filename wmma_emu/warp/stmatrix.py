# SPDX-License-Identifier: MIT
"""stmatrix: stores matrices from registers to shared memory, a row to the address of each lane."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ShapeError
from wmma_emu.instructions import Arch
from wmma_emu.memory import require_writable
from wmma_emu.warp.matrix_moves_table import MatrixMove, lookup_move
from wmma_emu.warp.matrix_rows import ROW_BYTES, bytes_of, require_distinct, require_registers, row_positions
from wmma_emu.watching import report_rows


def stmatrix(
    shared: NDArray[Any],
    addresses: ArrayLike,
    registers: NDArray[np.uint32],
    instruction: str,
    *,
    arch: "str | Arch | None" = None,
) -> None:
    """Store one, two or four matrices: fragments become rows of 16 bytes, transposed or not.

    Parameters
    ----------
    shared : array, contiguous
        Shared memory, of any dtype; its rows are written. If an error is raised, nothing is written.
    addresses : int array, shape (*warps, 32)
        As for `ldmatrix`. The warps' axes broadcast with those of the registers.
    registers : uint32 array, shape (num_registers, *warps, 32)
    instruction : str
        The PTX mnemonic, ``"stmatrix.sync.aligned.m8n8.x4.shared.b16"``.
    arch : str or Arch, optional
        The chip.

    Raises
    ------
    AlignmentError, OutOfBoundsError
        As for `ldmatrix`.
    DivergenceError
        If two rows have the same address, which is a race on a GPU.
    UnsupportedInstructionError
        If the chip does not support the form.
    FragmentMismatchError
        If registers or addresses have the wrong shape, or the memory is read-only.

    Notes
    -----
    PTX ISA 9.0, stmatrix.

    Examples
    --------
    >>> tile = np.zeros((8, 8), np.uint16)
    >>> pairs = (np.arange(32, dtype=np.uint32) * 2 + 1 << 16 | np.arange(32, dtype=np.uint32) * 2)[None]
    >>> stmatrix(tile, np.arange(32) * 16, pairs, "stmatrix.sync.aligned.m8n8.x1.shared.b16")
    >>> tile[0], tile[7, 7]
    (array([0, 1, 2, 3, 4, 5, 6, 7], dtype=uint16), np.uint16(63))
    """
    move, chip = lookup_move("stmatrix", instruction, arch)
    memory = bytes_of(shared)
    require_writable(memory)
    words = require_registers(registers, move)
    start = row_positions(memory, addresses, move, chip)
    try:
        warps = np.broadcast_shapes(start.shape[:-2], words.shape[1:-1])
    except ValueError:
        raise ShapeError(
            f"the warps' axes do not broadcast: addresses {start.shape[:-2]}, registers {words.shape[1:-1]}"
        ) from None
    start = np.broadcast_to(start, (*warps, *start.shape[-2:]))
    require_distinct(start, move)
    words = np.broadcast_to(words, (move.num_registers, *warps, 32))
    rows = rows_of_fragments(words, move)
    report_rows(memory, start, rows, "st")
    memory[start[..., None] + np.arange(ROW_BYTES)] = rows


def rows_of_fragments(registers: NDArray[np.uint32], move: MatrixMove) -> NDArray[np.uint8]:
    """Assemble the rows of matrices from the registers of the lanes, as stmatrix does.

    Registers, (num_registers, *warps, 32), become bytes, (*warps, count, rows, 16).
    """
    warps = registers.shape[1:-1]
    if move.types == "b16":
        halves = np.ascontiguousarray(np.moveaxis(registers, 0, -2)).view("<u2").reshape(*warps, move.count, 8, 8)
        halves = np.ascontiguousarray(halves.swapaxes(-1, -2)) if move.trans else halves
        return halves.view(np.uint8)
    row, column = move.places
    size = row.shape[1]
    words = np.moveaxis(registers, 0, -2).reshape(*warps, move.count, move.registers, 1, 32)
    shifts = (np.arange(size, dtype=np.uint32) * np.uint32(32 // size)).reshape(size, 1)
    elements = (words >> shifts).astype(f"<u{4 // size}")
    rows = np.empty((*warps, move.count, move.rows, ROW_BYTES * size // 4), elements.dtype)
    rows[..., row, column] = elements
    return rows.view(np.uint8)
