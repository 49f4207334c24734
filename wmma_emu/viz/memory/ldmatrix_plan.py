# SPDX-License-Identifier: MIT
"""Plans of ldmatrix, stmatrix and movmatrix: the lane of each row's address, the register of each element."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import AlignmentError, OutOfBoundsError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Arch, default_arch
from wmma_emu.layouts.banks import PHASE_ROWS, conflict_of, words_of_banks
from wmma_emu.layouts.spec import LANES, Ints
from wmma_emu.viz.memory.matrix_move_plan import MatrixMovePlan
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES, MatrixMove, lookup_move
from wmma_emu.warp.matrix_rows import ROW_BYTES, row_positions

__all__ = ["MatrixMovePlan", "checked_rows", "ldmatrix_plan", "plain_addresses", "row_conflicts"]

_FAMILIES = ("ldmatrix", "stmatrix", "movmatrix")
_WINDOW = 1 << 32
"""Addresses of shared memory have 32 bits."""


def ldmatrix_plan(instruction: str, arch: "str | Arch | None" = None) -> MatrixMovePlan:
    """Return the lanes of addresses and of elements of one form of ldmatrix, stmatrix or movmatrix.

    Parameters
    ----------
    instruction : str
        The PTX mnemonic; ``.sync.aligned`` and ``.shared`` are optional.
    arch : str or Arch, optional
        The chip; by default the default chip, or the first that supports the form if the default does not.

    Raises
    ------
    UnsupportedInstructionError
        If no chip, or not this chip, supports the form; the message names the nearest forms.

    Examples
    --------
    >>> plan = ldmatrix_plan("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
    >>> plan.holders[1, 4, 3].tolist()                         # of matrix 1, row 4, element 3: lane 14, register 1, low
    [14, 1, 0]
    """
    family = instruction.split(".")[0] if isinstance(instruction, str) else ""
    if family not in _FAMILIES:
        raise UnsupportedInstructionError(
            f"{shorten(instruction)} does not move matrices; the first word must be {', '.join(_FAMILIES)}, such as "
            "'ldmatrix.sync.aligned.m8n8.x4.shared.b16'"
        )
    move, chip = lookup_move(family, instruction, arch if arch is not None else _first_chip(family, instruction))
    return _plan(move, chip.name)


def _first_chip(family: str, instruction: str) -> str:
    """Return the default chip, or the first that supports the form if the default does not."""
    newest = lookup_move(family, instruction, "sm_120")[0]
    default = default_arch().name
    return default if default in newest.archs else newest.first


@lru_cache(maxsize=256)
def _plan(move: MatrixMove, arch: str) -> MatrixMovePlan:
    has_rows = move.family != "movmatrix"
    addresses = np.arange(move.num_addresses if has_rows else 0).reshape(move.count, -1)
    elements = _elements(move)
    before = MATRIX_MOVES["ldmatrix.sync.aligned.m8n8.x1.shared.b16"]
    held = elements if has_rows else _elements(before)
    for array in (addresses, elements, held):
        array.setflags(write=False)
    bits = 32 // elements.shape[1]
    in_row = 8 * ROW_BYTES // (16 if bits == 16 else 8)
    return MatrixMovePlan(
        move.mnemonic, move.family, arch, move.shape, move.count, move.rows, in_row, bits, move.source_bits,
        move.trans, addresses, elements, held, move.evidence_on(arch),
    )  # fmt: skip


def _elements(move: MatrixMove) -> Ints:
    row, column = move.places
    per_matrix = np.stack([np.zeros_like(row), row, column], axis=-1)
    every = np.concatenate([per_matrix + np.array([i, 0, 0]) for i in range(move.count)])
    return every.astype(np.int64)


def plain_addresses(instruction: str, pitch: int | None = None) -> Ints:
    """Return the row addresses of a plain tile: matrices one below the other up to 16 rows, the next ones 16 bytes
    further.

    That is the order in which `mma` reads A: with x4 of m8n8, lane l gives row l % 16 from byte 16 (l / 16).

    Parameters
    ----------
    instruction : str
        A form of ldmatrix or stmatrix.
    pitch : int, optional
        Bytes from one row of the tile to the next, a multiple of 16; by default rows are contiguous.

    Returns
    -------
    int array, shape (32,)
        Lanes without a row repeat the addresses from lane 0.

    Raises
    ------
    AlignmentError
        If the pitch is not a multiple of 16, or so small that rows overlap.
    OutOfBoundsError
        If the pitch is so large that addresses do not fit into 32 bits.
    UnsupportedInstructionError
        If no chip supports the mnemonic, or it is movmatrix, which has no addresses.

    Examples
    --------
    >>> plain_addresses("ldmatrix.m8n8.x4.b16", pitch=144)[[0, 1, 8, 16, 17]].tolist()
    [0, 144, 1152, 16, 160]
    """
    plan = ldmatrix_plan(instruction)
    if plan.family == "movmatrix":
        raise UnsupportedInstructionError(f"{plan.mnemonic} has no addresses: it moves registers to registers")
    down = min(plan.matrices, max(16 // plan.rows, 1))
    dense = ROW_BYTES * (plan.matrices // down)
    chosen = dense if pitch is None else integer_of(pitch)
    if chosen is None or chosen % ROW_BYTES or chosen < dense:
        raise AlignmentError(
            f"pitch is {shorten(pitch)}; the rows of {plan.mnemonic} must be a multiple of {ROW_BYTES} bytes apart, "
            f"{dense} at "
            f"least: {dense}, {dense + ROW_BYTES}, ..."
        )
    most = (_WINDOW - dense) // (down * plan.rows - 1) // ROW_BYTES * ROW_BYTES
    if chosen > most:
        raise OutOfBoundsError(
            f"pitch is {shorten(pitch)}; legal values are {dense} to {most}: addresses of shared memory have 32 "
            f"bits, and the "
            f"tile has {down * plan.rows} rows"
        )
    lane = np.arange(LANES) % plan.lanes_with_address
    row, chunk = lane % (down * plan.rows), lane // (down * plan.rows)
    found: Ints = row * chosen + chunk * ROW_BYTES
    return found


def row_conflicts(instruction: str, addresses: ArrayLike, arch: "str | Arch | None" = None) -> tuple[Ints, Ints]:
    """Count the words that each phase requests of each bank: eight rows of 16 bytes, of lanes 0 to 7, 8 to 15, ...

    Parameters
    ----------
    instruction : str
        A form of ldmatrix or stmatrix.
    addresses : int array, shape (32,)
        Of each lane, in bytes.
    arch : str or Arch, optional

    Returns
    -------
    words : int array, (phases, 32)
        Different words requested of each bank.
    conflict : int array, (phases,)
        The largest number of a phase: 1 means no conflict.

    Raises
    ------
    AlignmentError, OutOfBoundsError, FragmentMismatchError, UnsupportedInstructionError
        As `ldmatrix` itself raises.

    Notes
    -----
    `wmma_emu.layouts.banks.phase_fact` documents the source of phases.

    Examples
    --------
    >>> name = "ldmatrix.m8n8.x2.b16"
    >>> row_conflicts(name, plain_addresses(name, pitch=128))[1].tolist()
    [8, 8]
    """
    plan = ldmatrix_plan(instruction, arch)
    rows = checked_rows(plan, addresses).reshape(-1, PHASE_ROWS)
    return words_of_banks(rows, ROW_BYTES), conflict_of(rows, ROW_BYTES)


def checked_rows(plan: MatrixMovePlan, addresses: ArrayLike) -> Ints:
    """Check addresses as the instruction does; return the start of each row, (matrices, rows)."""
    if plan.family == "movmatrix":
        raise UnsupportedInstructionError(f"{plan.mnemonic} has no addresses: it moves registers to registers")
    move, chip = lookup_move(plan.family, plan.mnemonic, plan.arch)
    everywhere: NDArray[np.uint8] = np.broadcast_to(np.uint8(0), (_WINDOW,))
    if np.ndim(addresses) > 1:
        raise ShapeError(
            f"a picture shows one warp, {LANES} addresses; the shape given is {np.shape(addresses)}: pass the "
            f"addresses of one "
            "warp, addresses[0]"
        )
    return row_positions(everywhere, addresses, move, chip)
