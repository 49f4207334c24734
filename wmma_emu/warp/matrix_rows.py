# SPDX-License-Identifier: MIT
"""Rows of 16 bytes in shared memory, one per lane's address: their positions, and checks of addresses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.chip_sets import chips_since
from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    ArgumentValueError,
    DivergenceError,
    FragmentMismatchError,
    OutOfBoundsError,
    as_finding,
    shorten,
)
from wmma_emu.formats.arrays import is_masked
from wmma_emu.instructions import Arch
from wmma_emu.layouts.spec import LANES
from wmma_emu.memory import as_memory
from wmma_emu.warp.matrix_moves_table import MatrixMove

ROW_BYTES = 16

EVERY_LANE_NEEDS_AN_ADDRESS = chips_since("sm_75f")
"""Chips on which lanes that provide no row must hold valid addresses too (PTX ISA 9.0, ldmatrix)."""


def bytes_of(shared: object) -> NDArray[np.uint8]:
    """View shared memory as bytes, without a copy, so that writes change the array."""
    memory = as_memory(shared, "shared")
    if memory.dtype.hasobject:
        raise ArgumentError("shared holds Python objects, which have no bytes; pass an array of numbers")
    if not memory.flags.c_contiguous or memory.ndim == 0:
        raise ArgumentValueError(
            f"shared is not contiguous memory: shape {memory.shape}, strides {memory.strides}; pass the whole array, "
            "and the distance of its rows in the addresses"
        )
    return memory.reshape(-1).view(np.uint8)


def row_positions(memory: NDArray[np.uint8], addresses: object, move: MatrixMove, chip: Arch) -> NDArray[np.int64]:
    """Check the addresses of the lanes that provide one.

    Return the beginning of each row of each matrix in the memory: (*warps, count, rows).
    """
    try:
        given = np.asarray(addresses) if isinstance(addresses, np.ndarray | list | tuple) else None
    except ValueError:  # rows of unequal length
        given = None
    if given is None or given.dtype.kind not in "iu" or given.ndim == 0 or given.shape[-1] != LANES:
        what = f"{given.dtype} of shape {given.shape}" if given is not None else shorten(addresses)
        raise ArgumentError(
            f"the addresses of {move.mnemonic} are integers of every lane, in bytes from the start of shared, an array "
            f"of shape (*warps, {LANES}), not {what}"
        )
    read = move.num_addresses
    for_validity = LANES if chip.name in EVERY_LANE_NEEDS_AN_ADDRESS and move.family == "ldmatrix" else read
    _require_inside(given[..., :for_validity], memory.size, move, chip)
    rows = given[..., :read].astype(np.int64)
    return rows.reshape(*rows.shape[:-1], move.count, move.rows)


def _require_inside(given: NDArray[Any], size: int, move: MatrixMove, chip: Arch) -> None:
    # Unsigned 64-bit addresses beyond the signed range are outside too: compare before anything is converted.
    misaligned = given % ROW_BYTES != 0
    outside = (given < 0) | (given > size - ROW_BYTES)
    for wrong in (misaligned, outside):
        if not wrong.any():
            continue
        where = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        address, lane = int(given[where]), where[-1]
        of_warp = f" of warp {where[0] if len(where) == 2 else where[:-1]}" if len(where) > 1 else ""
        who = f"lane {lane}{of_warp} gives the address {address}"
        if lane >= move.num_addresses:
            who += f" (which is not read, but on {chip.name} the addresses of all lanes must be valid)"
        if wrong is misaligned:
            low = address // ROW_BYTES * ROW_BYTES
            raise AlignmentError(
                f"{who}; rows of {move.mnemonic} begin at multiples of {ROW_BYTES} bytes: {low} or {low + ROW_BYTES}; "
                f"pad the distance of rows to a multiple of {ROW_BYTES} bytes"
            )
        raise OutOfBoundsError(
            f"{who}; a row is {ROW_BYTES} bytes, and shared has {size}: addresses go from 0 to "
            f"{max(size - ROW_BYTES, 0)}, nothing wraps; make shared larger, or keep that lane's row inside"
        )


def require_distinct(positions: NDArray[np.int64], move: MatrixMove) -> None:
    """Refuse lanes that write the same row: aligned rows overlap as a whole or not at all."""
    flat = positions.reshape(-1)
    order = np.argsort(flat, kind="stable")
    again = np.flatnonzero(np.diff(flat[order]) == 0)
    if not len(again):
        return
    first, second = (_lane(int(i), positions, move) for i in order[again[0] : again[0] + 2])
    raise as_finding(
        "lanes store to one place",
        DivergenceError(
            f"{first} and {second} both write the row at address {int(flat[order[again[0]]])}: a race on a GPU; give "
            "each lane a separate row"
        ),
    )


def _lane(index: int, positions: NDArray[np.int64], move: MatrixMove) -> str:
    warp, lane = divmod(index, move.num_addresses)
    where = tuple(int(i) for i in np.unravel_index(warp, positions.shape[:-2])) if positions.ndim > 2 else ()
    return f"lane {lane}" + (f" of warp {where[0] if len(where) == 1 else where}" if where else "")


def require_registers(registers: object, move: MatrixMove) -> NDArray[np.uint32]:
    """Reject an array that does not have the instruction's registers."""
    if (
        not isinstance(registers, np.ndarray)
        or is_masked(registers)
        or registers.dtype != np.uint32
        or registers.ndim < 2
        or registers.shape[0] != move.num_registers
        or registers.shape[-1] != LANES
    ):
        what = (
            f"{registers.dtype} of shape {registers.shape}" if isinstance(registers, np.ndarray) else shorten(registers)
        )
        raise FragmentMismatchError(
            f"{move.mnemonic} takes uint32 registers of shape ({move.num_registers}, *warps, {LANES}), not {what}"
        )
    return registers
