# SPDX-License-Identifier: MIT
"""movmatrix: transposes a matrix in the registers of a warp."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.instructions import Arch
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES, lookup_move
from wmma_emu.warp.matrix_rows import require_registers

_MNEMONIC = "movmatrix.sync.aligned.m8n8.trans.b16"


def movmatrix(
    registers: NDArray[np.uint32], instruction: str = _MNEMONIC, *, arch: "str | Arch | None" = None
) -> NDArray[np.uint32]:
    """Transpose an 8 x 8 matrix of 16-bit elements across the lanes of a warp.

    Parameters
    ----------
    registers : uint32 array, shape (1, *warps, 32)
        Lane l holds the elements (l // 4, 2 (l % 4)) and, in its upper half, (l // 4, 2 (l % 4) + 1).
    instruction : str
    arch : str or Arch, optional
        The chip.

    Returns
    -------
    uint32 array, shape (1, *warps, 32)

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support it.
    FragmentMismatchError
        If the registers have the wrong shape or dtype.

    Notes
    -----
    PTX ISA 9.0, movmatrix.

    Examples
    --------
    >>> pairs = (np.arange(32, dtype=np.uint32) * 2 + 1 << 16 | np.arange(32, dtype=np.uint32) * 2)[None]
    >>> [hex(x) for x in movmatrix(pairs)[0, :5]]
    ['0x80000', '0x180010', '0x280020', '0x380030', '0x90001']
    """
    move, _ = lookup_move("movmatrix", instruction, arch)
    words = require_registers(registers, move)[0]
    plain = MATRIX_MOVES["ldmatrix.sync.aligned.m8n8.x1.shared.b16"]
    matrix = np.empty((*words.shape[:-1], 8, 8), np.uint32)
    row, column = (x[0] for x in plain.places)
    matrix[..., row, column] = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=-2)
    row, column = (x[0] for x in move.places)
    low, high = (matrix[..., row[i], column[i]] for i in (0, 1))
    transposed: NDArray[np.uint32] = (low | high << np.uint32(16))[None]
    return transposed
