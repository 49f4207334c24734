# SPDX-License-Identifier: MIT
"""ldmatrix: loads matrices from shared memory to registers, a row from the address of each lane."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.instructions import Arch
from wmma_emu.warp.matrix_moves_table import MatrixMove, lookup_move
from wmma_emu.warp.matrix_rows import ROW_BYTES, bytes_of, row_positions
from wmma_emu.watching import report_rows


def ldmatrix(
    shared: NDArray[Any], addresses: ArrayLike, instruction: str, *, arch: "str | Arch | None" = None
) -> NDArray[np.uint32]:
    """Load one, two or four matrices: rows of 16 bytes become fragments, transposed or not.

    Parameters
    ----------
    shared : array, contiguous
        Shared memory, of any dtype.
    addresses : int array, shape (*warps, 32)
        For each lane, the start of a row in bytes from the start of ``shared``. Lanes 0 to 7 provide the rows of
        the first matrix, 8 to 15 those of the second (m16n16: 0 to 15, 16 to 31); other lanes are ignored.
    instruction : str
        The PTX mnemonic, ``"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"``; ``.sync.aligned`` and
        ``.shared`` or ``.shared::cta`` may be omitted.
    arch : str or Arch, optional
        The chip.

    Returns
    -------
    uint32 array, shape (num_registers, *warps, 32)

    Raises
    ------
    AlignmentError
        If a row does not begin at a multiple of 16 bytes.
    OutOfBoundsError
        If a row is not completely inside ``shared``.
    UnsupportedInstructionError
        If the chip does not support the form.
    FragmentMismatchError
        If the addresses are not 32 integers per warp.

    Notes
    -----
    PTX ISA 9.0, ldmatrix. On sm_75 the addresses of all lanes must be valid. Values of 6 and 4 bits are stored in
    the low bits of their bytes; the rest of the byte is zero. `mma` of ``kind::f8f6f4`` and ``kind::mxf8f6f4`` expects
    6-bit values in this form, but e2m1 two bits higher: such registers must be shifted left by 2 first.

    Examples
    --------
    >>> tile = np.arange(64, dtype=np.uint16).reshape(8, 8)
    >>> rows = np.arange(32) % 8 * 16
    >>> [hex(x) for x in ldmatrix(tile, rows, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")[0, :5]]
    ['0x10000', '0x30002', '0x50004', '0x70006', '0x90008']
    >>> [hex(x) for x in ldmatrix(tile, rows, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16")[0, :5]]
    ['0x80000', '0x180010', '0x280020', '0x380030', '0x90001']
    """
    move, chip = lookup_move("ldmatrix", instruction, arch)
    memory = bytes_of(shared)
    start = row_positions(memory, addresses, move, chip)
    rows = memory[start[..., None] + np.arange(ROW_BYTES)]
    report_rows(memory, start, rows, "ld")
    return fragments_of_rows(rows, move)


def fragments_of_rows(rows: NDArray[np.uint8], move: MatrixMove) -> NDArray[np.uint32]:
    """Distribute the rows of matrices to the registers of the lanes, as ldmatrix does.

    Rows are contiguous bytes, (*warps, count, rows, 16), and become (num_registers, *warps, 32).
    """
    warps = rows.shape[:-3]
    if move.types == "b16":
        # Eight rows of four words are already in lane order; transposed, each word is a pair of a column.
        halves = rows.view("<u2")
        halves = np.ascontiguousarray(halves.swapaxes(-1, -2)) if move.trans else halves
        words: NDArray[np.uint32] = halves.view("<u4").reshape(*warps, move.count, 32)
        return np.ascontiguousarray(np.moveaxis(words, -2, 0))
    elements = rows if move.source_bits == 8 else sixteen_elements(rows, move.source_bits)
    row, column = move.places
    picked = elements[..., row, column]  # (*warps, count, registers, elements of a register, 32)
    bits = 32 // picked.shape[-2]
    word = np.zeros((*picked.shape[:-2], 32), np.uint32)
    for i in range(picked.shape[-2]):
        word |= picked[..., i, :].astype(np.uint32) << np.uint32(i * bits)
    flat = word.reshape(*warps, move.num_registers, 32)
    return np.ascontiguousarray(np.moveaxis(flat, -2, 0))


def sixteen_elements(chunks: NDArray[np.uint8], element_bits: int) -> NDArray[np.uint8]:
    """Expand each of the sixteen elements at the beginning of a chunk to a byte: (..., 16) to (..., 16)."""
    bits = np.unpackbits(chunks, axis=-1, bitorder="little")[..., : 16 * element_bits]
    apart = bits.reshape(*chunks.shape[:-1], 16, element_bits)
    return np.packbits(apart, axis=-1, bitorder="little")[..., 0]
